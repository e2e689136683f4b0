// SPDX-License-Identifier: Apache-2.0
// Every kind of bad input has one message that helps, the documented exit code, and costs nothing
// that was there before.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/apps/bad_input.hpp"
#include "tests/support/scoped_locale.hpp"

namespace optinc {
namespace {

namespace fs = std::filesystem;
using test::BadInput;
using test::CliRun;
using test::contains;
using test::run;
using test::words;

const char* const sweep_of_two_points =
    "[workload]\ntrace = \"t.h5\"\nbits = 4\n[montecarlo]\nchips = 2\n[[axis]]\npath = "
    "\"imperfections.coupler.sigma_rad\"\nvalues = [0.01, 0.1]\n";

/// The current directory in a folder of its own for the length of a scope.
class ScopedFolder {
 public:
  ScopedFolder() : old_(fs::current_path()) { fs::current_path(folder_.path()); }
  ~ScopedFolder() {
    std::error_code ignored;
    fs::current_path(old_, ignored);
  }
  ScopedFolder(const ScopedFolder&) = delete;
  ScopedFolder& operator=(const ScopedFolder&) = delete;

 private:
  test::TemporaryFolder folder_;
  fs::path old_;
};

void compute_good_files() {
  REQUIRE(run(words("trace make --kind gaussian --servers 2 --elements 40 --out t.h5")).code == 0);
  REQUIRE(run(words("onn build --servers 2 --bits 4 --out n.h5")).code == 0);
  test::write_text("c.toml", sweep_of_two_points);
  test::write_text("m.json",
                   "{\"N\": 2, \"topology\": \"clements\", \"theta\": [1.5], \"phi\": [0], "
                   "\"phi_out\": [0, 0]}");
  test::write_text("u.json", "{\"re\": [[0.6, 0.8], [-0.8, 0.6]]}");
}

/// Name and content of every file here, links and folders by name alone.
std::map<std::string, std::string> files_here() {
  std::map<std::string, std::string> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(".")) {
    files[entry.path().filename().string()] =
        fs::is_regular_file(entry.symlink_status()) ? test::read_text(entry.path()) : "";
  }
  return files;
}

void make_good_files() {
  static const std::map<std::string, std::string> good_files = [] {
    const ScopedFolder folder;
    compute_good_files();
    return files_here();
  }();
  for (const auto& [name, content] : good_files) test::write_text(name, content);
}

/// Whether everything that was there is there still, byte for byte.
void check_nothing_lost(const std::map<std::string, std::string>& before) {
  const std::map<std::string, std::string> after = files_here();
  for (const auto& [name, content] : before) {
    INFO(name);
    REQUIRE(after.count(name) == 1);
    CHECK(after.at(name) == content);
  }
  for (const auto& [name, content] : after) {
    INFO("left behind: " << name);
    CHECK_FALSE(name.starts_with('.'));
  }
}

void check_message(const std::string& message) {
  CHECK(message.starts_with("optinc: error: "));
  CHECK(std::count(message.begin(), message.end(), '\n') == 1);
  CHECK(message.ends_with('\n'));
  for (const char* leak :
       {"exception", "what()", "std::", "nlohmann", "json.exc", "toml::", "CLI::", "basic_", "H5",
        "HDF5-DIAG", "errno", " = 0x", "internal error"}) {
    INFO("holds " << leak);
    CHECK_FALSE(contains(message, leak));
  }
}

void check_bad_input(const BadInput& bad) {
  const ScopedFolder folder;
  make_good_files();
  bad.make();
  const std::map<std::string, std::string> before = files_here();
  CliRun result;
  {
    const std::shared_ptr<void> held = bad.hold();
    result = run(bad.args);
  }
  INFO(bad.kind << ": " << result.err);
  CHECK(result.code == bad.code);
  CHECK(result.out.empty());
  check_message(result.err);
  for (const std::string& part : bad.parts) {
    INFO("lacks " << part);
    CHECK(contains(result.err, part));
  }
  check_nothing_lost(before);
}

void check_all(const std::vector<BadInput>& table) {
  for (const BadInput& bad : table) check_bad_input(bad);
}

TEST_CASE("bad input: traces") { check_all(test::bad_traces()); }
TEST_CASE("bad input: networks") { check_all(test::bad_networks()); }
TEST_CASE("bad input: meshes and matrices") { check_all(test::bad_meshes()); }
TEST_CASE("bad input: configurations") { check_all(test::bad_configurations()); }
TEST_CASE("bad input: options") { check_all(test::bad_options()); }
TEST_CASE("bad input: results") { check_all(test::bad_results()); }
TEST_CASE("bad input: outputs") { check_all(test::bad_outputs()); }

TEST_CASE("at least sixty kinds of bad input are in the table") {
  std::set<std::string> kinds;
  std::size_t cases = 0;
  for (const auto& theme :
       {test::bad_traces(), test::bad_networks(), test::bad_meshes(), test::bad_configurations(),
        test::bad_options(), test::bad_results(), test::bad_outputs()}) {
    CHECK(!theme.empty());
    for (const BadInput& bad : theme) {
      INFO(bad.kind);
      CHECK(!bad.parts.empty());
      kinds.insert(bad.kind);
      ++cases;
    }
  }
  CHECK(kinds.size() == cases);
  CHECK(kinds.size() >= 60);
}

TEST_CASE("standard output that is full is an error") {
  for (const char* line : {"info", "help --markdown", "mesh compose m.json", "trace info t.h5"}) {
    const ScopedFolder folder;
    make_good_files();
    std::ofstream full("/dev/full");
    std::ostringstream err;
    CHECK(run_cli(words(line), full, err) == 3);
    check_message(err.str());
    CHECK(contains(err.str(), "standard output cannot be written (full disk or closed pipe)"));
  }
}

TEST_CASE("a torn last row is cut with a notice, and the run goes on to the same bytes") {
  const ScopedFolder folder;
  make_good_files();
  REQUIRE(run(words("sweep c.toml --out r.csv --quiet")).code == 0);
  const std::string rows = test::read_text("r.csv");
  test::write_text("r.csv", rows.substr(0, rows.size() - 5));
  const CliRun result = run(words("sweep c.toml --out r.csv"));
  CHECK(result.code == 0);
  CHECK(contains(result.err, "cut an incomplete last line"));
  CHECK(contains(result.err, "continuing after 3 of 4 rows"));
  CHECK(test::read_text("r.csv") == rows);
}

/// Every command once, on files whose names are made from `name`; what each wrote or printed.
std::vector<std::string> outputs_of_all_commands(const std::string& name) {
  fs::create_directory(name);
  const auto file = [&](const std::string& extension) { return name + "/" + name + extension; };
  for (const char* good : {"t.h5", "n.h5", "m.json", "u.json"}) {
    fs::copy_file(good, file(std::string(".") + good));
  }
  std::string config = sweep_of_two_points;
  config.replace(config.find("t.h5"), 4, name + ".t.h5");
  test::write_text(file(".toml"), config);
  const std::string rows = file(".csv");
  std::vector<std::string> printed;
  for (const std::vector<std::string>& args : std::vector<std::vector<std::string>>{
           {"sweep", file(".toml"), "--out", rows, "--quiet"},
           {"combine", rows, "--out", file(".all.csv"), "--quiet"},
           {"plot", rows, "--out", file(".svg"), "--title", "t"},
           {"trace", "info", file(".t.h5"), "--bits", "4"},
           {"trace", "stats", file(".t.h5"), "--bits", "4"},
           {"average", file(".t.h5"), "--config", file(".toml"), "--point", "1", "--out",
            file(".average.h5")},
           {"onn", "check", file(".n.h5")},
           {"cost", "--network", file(".n.h5"), "--batch", "3", "--set", "loss.mzi_db=0.25"},
           {"mesh", "compose", file(".m.json"), "--coupler-sigma-rad", "0.5", "--out",
            file(".matrix.json")},
           {"mesh", "decompose", file(".u.json"), "--unitarity-tol", "1.5e-9"}}) {
    const CliRun result = run(args);
    INFO(args[0] << " " << args[1] << ": " << result.err);
    CHECK(result.code == 0);
    CHECK(result.err.empty());
    printed.push_back(result.out);
  }
  for (const char* written : {".csv", ".summary.csv", ".all.csv", ".svg", ".matrix.json"}) {
    INFO(written);
    CHECK(!test::read_text(file(written)).empty());
    printed.push_back(test::read_text(file(written)));
  }
  return printed;
}

TEST_CASE("names with spaces, quotes and letters of other scripts work everywhere") {
  const ScopedFolder folder;
  make_good_files();
  const std::vector<std::string> plain = outputs_of_all_commands("plain");
  for (const char* name : {"two words", "Größe", "勾配", "it's", "a=b", "50%"}) {
    INFO(name);
    const std::vector<std::string> outputs = outputs_of_all_commands(name);
    // Rows and summary do not hold the names of files.
    CHECK(outputs[10] == plain[10]);
    CHECK(outputs[11] == plain[11]);
    CHECK(outputs[12] == plain[12]);
    CHECK(outputs[14] == plain[14]);
  }
}

TEST_CASE("every command gives the same in a locale with decimal commas") {
  const ScopedFolder folder;
  make_good_files();
  const std::vector<std::string> plain = outputs_of_all_commands("plain");
  fs::rename("plain", "first");
  const test::ScopedLocale comma_numbers;
  CHECK(outputs_of_all_commands("plain") == plain);
  // In no locale is "0,1" a number.
  check_all({{"comma decimals",
              words("mesh compose m.json --coupler-sigma-rad 0,1"),
              2,
              {"--coupler-sigma-rad: '0,1'"}},
             {"comma decimals in --set",
              words("sweep c.toml --out r.csv --set imperfections.coupler.mean_rad=0,1"),
              2,
              {"--set imperfections.coupler.mean_rad=0,1"}}});
}

}  // namespace
}  // namespace optinc
