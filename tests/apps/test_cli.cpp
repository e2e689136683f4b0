// SPDX-License-Identifier: Apache-2.0
#include <new>
#include <ostream>
#include <set>
#include <stdexcept>
#include <streambuf>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "solver/config/schema.hpp"
#include "solver/cost/hardware.hpp"
#include "solver/montecarlo/columns.hpp"
#include "tests/apps/cli_run.hpp"
#include "tests/apps/words.hpp"

namespace optinc {
namespace {

using test::contains;
using test::run;
using test::words;
using test::words_and;

std::vector<std::string> visible_option_names(const Command& command) {
  CLI::App app;
  app.set_help_flag();
  command.declare(app);
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_group().empty()) names.push_back(option->get_name());
  }
  return names;
}

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> result;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) result.push_back(line);
  return result;
}

/// Standard output whose device throws `Error`, and lets it out of the stream.
template <class Error>
class ThrowingOutput : public std::streambuf {
 protected:
  int_type overflow(int_type) override {
    if constexpr (std::is_constructible_v<Error, const char*>) {
      throw Error("device on fire");
    } else {
      throw Error();
    }
  }
};

template <class Error>
test::CliRun run_into_throwing_output() {
  ThrowingOutput<Error> device;
  std::ostream out(&device);
  out.exceptions(std::ios::badbit);
  std::ostringstream err;
  const int code = run_cli({"--version"}, out, err);
  return {code, "", err.str()};
}

TEST_CASE("every command has a manual page with every option") {
  const std::vector<Command> commands = all_commands();
  REQUIRE(commands.size() >= 8);
  std::set<std::string> names;
  for (const Command& command : commands) {
    INFO("command " << command.name);
    CHECK(names.insert(command.name).second);
    CHECK(!command.summary.empty());
    CHECK(command.summary.size() <= 70);
    CHECK(!command.description.empty());
    CHECK(!command.examples.empty());
    const test::CliRun page = run(words_and(command.name, "--help"));
    CHECK(page.code == 0);
    CHECK(page.err.empty());
    CHECK(run(words("help " + command.name)).out == page.out);
    for (const char* section :
         {"NAME\n", "SYNOPSIS\n", "DESCRIPTION\n", "OPTIONS\n", "EXAMPLES\n", "EXIT CODES\n"}) {
      CHECK(contains(page.out, section));
    }
    for (const std::string& option : visible_option_names(command)) {
      CHECK(contains(page.out, "\n    " + option));
    }
  }
}

TEST_CASE("help asked for wins over missing arguments") {
  CHECK(run({"sweep", "-h"}).code == 0);
  CHECK(run({"plot", "--nonsense", "--help"}).code == 0);
}

TEST_CASE("the overview lists every command and what is promised") {
  const test::CliRun overview = run({"help"});
  CHECK(overview.code == 0);
  CHECK(run({"--help"}).out == overview.out);
  CHECK(run({"-h"}).out == overview.out);
  for (const Command& command : all_commands()) {
    CHECK(contains(overview.out, "\n    " + command.name + " "));
    CHECK(contains(overview.out, command.summary));
  }
  CHECK(contains(overview.out, "identical bytes"));
  CHECK(contains(overview.out, "OPTINC_BACKEND"));

  const test::CliRun alone = run({});
  CHECK(alone.code == 2);
  CHECK(alone.out.empty());
  CHECK(alone.err == overview.out);
}

TEST_CASE("version") {
  const test::CliRun version = run({"--version"});
  CHECK(version.code == 0);
  CHECK(version.out.rfind("optinc ", 0) == 0);
  CHECK(lines(version.out).size() == 1);
}

TEST_CASE("groups of commands") {
  const test::CliRun group = run({"help", "mesh"});
  CHECK(group.code == 0);
  for (const char* name : {"mesh decompose", "mesh compose", "mesh propagate"}) {
    CHECK(contains(group.out, name));
  }
  CHECK(run({"mesh", "--help"}).out == group.out);
  const test::CliRun alone = run({"mesh"});
  CHECK(alone.code == 2);
  CHECK(contains(alone.err, "optinc help mesh"));
}

TEST_CASE("the Markdown reference covers every command and option") {
  const test::CliRun reference = run({"help", "--markdown"});
  CHECK(reference.code == 0);
  for (const Command& command : all_commands()) {
    INFO("command " << command.name);
    CHECK(contains(reference.out, "\n## optinc " + command.name + "\n"));
    for (const std::string& option : visible_option_names(command)) {
      CHECK(contains(reference.out, "| `" + option));
    }
  }
  CHECK(run({"help", "--markdown", "sweep"}).code == 2);
}

TEST_CASE("generated documentation is up to date") {
  const std::filesystem::path docs = std::filesystem::path(OPTINC_SOURCE_DIR) / "docs";
  CHECK(test::read_text(docs / "cli.md") == run({"help", "--markdown"}).out);
  CHECK(test::read_text(docs / "csv.md") == run({"schema", "--markdown"}).out);
  CHECK(test::read_text(docs / "config.md") == run({"schema", "--config", "--markdown"}).out);
}

TEST_CASE("unknown commands and options name the nearest known one") {
  const auto fails = [](const std::vector<std::string>& args, const std::string& nearest) {
    const test::CliRun result = run(args);
    INFO(result.err);
    CHECK(result.code == 2);
    CHECK(result.out.empty());
    CHECK(result.err.rfind("optinc: error: ", 0) == 0);
    CHECK(lines(result.err).size() == 1);
    CHECK(contains(result.err, "'" + nearest + "'"));
  };
  fails({"swep"}, "sweep");
  fails({"mesh", "decompse"}, "mesh decompose");
  fails({"help", "plto"}, "plot");
  fails({"--verison"}, "--version");
  fails({"plot", "r.csv", "--ouput", "r.svg"}, "--out");
  fails({"plot", "r.csv", "--heigth=3"}, "--height");
  fails({"info", "--jsn"}, "--json");
}

TEST_CASE("wrong arguments are usage errors") {
  for (const std::vector<std::string>& args : std::vector<std::vector<std::string>>{
           {"plot"},
           {"plot", "r.csv"},
           {"plot", "r.csv", "--out"},
           {"plot", "r.csv", "--out", "r.svg", "--band", "p10-p90"},
           {"plot", "r.csv", "--out", "r.svg", "--width", "ten"},
           {"plot", "r.csv", "--out", "r.svg", "--height", "-5"},
           {"info", "surplus"},
           {"schema", "--json", "--markdown"}}) {
    const test::CliRun result = run(args);
    INFO(result.err);
    CHECK(result.code == 2);
    CHECK(lines(result.err).size() == 1);
    CHECK(contains(result.err, "see `optinc help " + args.front() + "`"));
  }
}

TEST_CASE("what the design has and this version lacks is refused as such") {
  for (const char* name : {"onn show"}) {
    for (const std::vector<std::string>& args :
         {words(name), words_and(name, "file"), words("help " + std::string(name))}) {
      const test::CliRun result = run(args);
      INFO(result.err);
      CHECK(result.code == 2);
      CHECK(contains(result.err, "not built yet in this version"));
    }
  }
}

TEST_CASE("exit codes of failures") {
  const test::CliRun memory = run_into_throwing_output<std::bad_alloc>();
  CHECK(memory.code == 1);
  CHECK(contains(memory.err, "out of memory"));

  const test::CliRun internal = run_into_throwing_output<std::runtime_error>();
  CHECK(internal.code == 1);
  CHECK(contains(internal.err, "internal error: device on fire"));

  std::ostringstream err;
  std::ostream closed(nullptr);
  CHECK(run_cli({"info"}, closed, err) == 3);
  CHECK(contains(err.str(), "cannot be written"));

  CHECK(run({"trace", "info", "/nonexistent/trace.h5"}).code == 3);
}

TEST_CASE("info as JSON") {
  const test::CliRun result = run({"info", "--json"});
  CHECK(result.code == 0);
  const auto info = nlohmann::json::parse(result.out);
  for (const char* key : {"version", "commit", "compiler", "build_type", "eigen", "hdf5"}) {
    CHECK(!info.at(key).get<std::string>().empty());
  }
  std::set<std::string> names;
  for (const auto& backend : info.at("backends")) {
    names.insert(backend.at("name").get<std::string>());
    CHECK(backend.at("available").get<bool>() == !backend.contains("reason"));
    if (backend.contains("reason")) CHECK(!backend.at("reason").get<std::string>().empty());
  }
  CHECK(names == std::set<std::string>{"cuda", "cpu", "reference"});

  const test::CliRun text = run({"info"});
  for (const std::string& name : names) CHECK(contains(text.out, "\n  " + name + " "));
}

TEST_CASE("info says whether gnuplot is there") {
  const test::TemporaryFolder empty;
  const test::ScopedEnvironment path("PATH", empty.path().string());
  CHECK(contains(run({"info"}).out, "not found"));
  CHECK(nlohmann::json::parse(run({"info", "--json"}).out).at("gnuplot") == "");
}

TEST_CASE("schema documents every column and key") {
  const std::string text = run({"schema"}).out;
  const std::string markdown = run({"schema", "--markdown"}).out;
  const auto json = nlohmann::json::parse(run({"schema", "--json"}).out);
  CHECK(json.at("metric").size() == metric_columns().size());
  CHECK(json.at("tensor").size() == tensor_columns().size());
  for (const CsvColumn& column : metric_columns()) {
    CHECK(contains(text, "  " + column.name + " "));
    CHECK(contains(markdown, "| `" + column.name + "` |"));
  }

  const std::string keys = run({"schema", "--config"}).out;
  const std::string key_table = run({"schema", "--config", "--markdown"}).out;
  CHECK(nlohmann::json::parse(run({"schema", "--config", "--json"}).out).size() ==
        config_keys().size());
  for (const ConfigKey& key : config_keys()) {
    CHECK(contains(keys, key.path + (key.built ? "\n" : "  (not built yet)\n")));
    CHECK(contains(key_table, "| `" + key.path + "` |"));
  }

  const std::string hardware = run({"schema", "--hardware"}).out;
  const std::string hardware_table = run({"schema", "--hardware", "--markdown"}).out;
  for (const ConfigKey& key : hardware_keys()) {
    CHECK(contains(hardware, key.path + "\n"));
    CHECK(contains(hardware_table, "| `" + key.path + "` |"));
  }
}

TEST_CASE("Markdown tables have as many cells as their heads") {
  for (const std::vector<std::string>& args :
       std::vector<std::vector<std::string>>{{"help", "--markdown"},
                                             {"schema", "--markdown"},
                                             {"schema", "--config", "--markdown"},
                                             {"schema", "--hardware", "--markdown"}}) {
    std::size_t columns = 0;
    for (std::string line : lines(run(args).out)) {
      for (std::size_t at = 0; (at = line.find("\\|", at)) != std::string::npos;) line.erase(at, 2);
      if (line.rfind('|', 0) != 0) {
        columns = 0;
        continue;
      }
      const auto bars = static_cast<std::size_t>(std::count(line.begin(), line.end(), '|'));
      INFO(line);
      if (columns != 0) CHECK(bars == columns);
      columns = bars;
    }
  }
}

}  // namespace
}  // namespace optinc
