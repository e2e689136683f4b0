// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <sys/wait.h>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "devices/mzi.hpp"
#include "solver/error.hpp"
#include "solver/gradient/statistics.hpp"
#include "solver/montecarlo/journal.hpp"
#include "solver/montecarlo/memory_estimate.hpp"
#include "tests/solver/montecarlo/sweep_fixture.hpp"
#include "tests/support/scoped_locale.hpp"

using namespace optinc;
using namespace optinc::test;

namespace {

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line;
  return text;
}

/// Waits until the file is longer than `size` bytes; a second at most.
void wait_for_growth(const std::string& path, std::size_t size) {
  for (int i = 0; i < 1000; ++i) {
    std::error_code error;
    const std::uintmax_t now = std::filesystem::file_size(path, error);
    if (!error && now > size) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace

TEST_CASE("killed twenty times at random moments, then the same bytes") {
  const TinySweep tiny;
  const std::string chips = "2000";
  REQUIRE(tiny.sweep({"--chips", chips}).code == 0);
  const std::string rows = read_text(tiny.rows);
  const std::string summary = summary_of(tiny.rows);
  const std::string victim = tiny.path("k.csv");
  const std::vector<std::string> args = {"sweep",   tiny.config, "--out",     victim,
                                         "--chips", chips,       "--threads", "2"};
  std::mt19937 random(7);
  int killed = 0;
  for (int round = 0; round < 20; ++round) {
    const std::size_t before = read_text(victim).size();
    const pid_t child = start_program(args, tiny.path("err"));
    // Every third time anywhere from the start on, else among the rows.
    if (round % 3 != 0) wait_for_growth(victim, before);
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 20000));
    kill(child, SIGKILL);
    killed += WIFSIGNALED(wait_status(child)) ? 1 : 0;
    if (std::filesystem::exists(tiny.path("k.manifest.json"))) {
      CHECK(nlohmann::json::accept(manifest_of(victim)));
    }
    const std::string cut = read_text(victim);
    REQUIRE(rows.compare(0, cut.size(), cut) == 0);
  }
  CHECK(killed > 0);
  REQUIRE(tiny.sweep_to(victim, {"--chips", chips}).code == 0);
  CHECK(read_text(victim) == rows);
  CHECK(summary_of(victim) == summary);
}

TEST_CASE("a time limit stops with exit code 5, and the same command goes on to the same bytes") {
  const TinySweep tiny;
  REQUIRE(tiny.sweep().code == 0);
  const std::string rows = read_text(tiny.rows);
  const std::string summary = summary_of(tiny.rows);
  const std::string file = tiny.path("l.csv");
  const std::vector<std::string> limited = {"--threads", "1", "--time-limit", "0.000001s"};
  const CliRun first = tiny.sweep_to(file, limited);
  INFO(first.err);
  CHECK(first.code == 5);
  CHECK(contains(first.err, "--time-limit 0.000001s"));
  CHECK(contains(first.err, "of 21 rows"));
  CHECK(contains(first.err, "run the same command again"));
  int code = first.code;
  for (int round = 0; round < 300 && code == 5; ++round) {
    const std::string before = read_text(file);
    REQUIRE(rows.compare(0, before.size(), before) == 0);
    code = tiny.sweep_to(file, limited).code;
  }
  CHECK(code == 0);
  CHECK(read_text(file) == rows);
  CHECK(summary_of(file) == summary);
  CHECK(tiny.sweep_to(file, limited).code == 0);
}

TEST_CASE("time limits have units") {
  const TinySweep tiny;
  for (const char* limit : {"600", "600s", "10min", "0.5h", "1d", "none"}) {
    INFO(limit);
    CHECK(tiny.sweep({"--time-limit", limit}).code == 0);
  }
  for (const char* limit :
       {"0", "0s", "-1", "s", "10 min", "5m", "1e3", "1.2.3", "nan", "2hours"}) {
    INFO(limit);
    const CliRun refused = tiny.sweep({"--time-limit", limit});
    CHECK(refused.code == 2);
    CHECK(contains(refused.err, "min"));
  }
}

TEST_CASE("rows that were reordered, repeated, left out or hit by a bit flip are refused") {
  const TinySweep tiny;
  REQUIRE(tiny.sweep().code == 0);
  const std::vector<std::string> lines = lines_of(read_text(tiny.rows));
  const auto refused = [&](const std::string& content) {
    write_text(tiny.rows, content);
    const CliRun result = tiny.sweep();
    INFO(result.err);
    CHECK(result.code == 3);
    CHECK(contains(result.err, tiny.rows + ":"));
    CHECK(read_text(tiny.rows) == content);
  };
  std::vector<std::string> changed = lines;
  std::swap(changed[3], changed[4]);
  refused(joined(changed));
  changed = lines;
  changed.insert(changed.begin() + 5, lines[5]);
  refused(joined(changed));
  changed = lines;
  changed.erase(changed.begin() + 9);
  refused(joined(changed));
  // Every bit of what says which row it is.
  const std::size_t metrics_start = lines[2].find(",0.01,") + 6;
  for (std::size_t at = 0; at < metrics_start; at += 3) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      changed = lines;
      changed[2][at] = static_cast<char>(static_cast<unsigned char>(changed[2][at]) ^ (1U << bit));
      refused(joined(changed));
    }
  }
  // A quote must not make the rows behind it a torn line.
  changed = lines;
  changed[2][metrics_start] = '"';
  refused(joined(changed));
}

TEST_CASE("an edited manifest is refused") {
  const TinySweep tiny;
  REQUIRE(tiny.sweep().code == 0);
  const std::string rows = read_text(tiny.rows);
  const auto manifest = nlohmann::ordered_json::parse(manifest_of(tiny.rows));
  const auto refused = [&](const nlohmann::ordered_json& edited, const std::string& part) {
    write_text(tiny.path("r.manifest.json"), edited.dump());
    const CliRun result = tiny.sweep();
    INFO(result.err);
    CHECK(result.code == 3);
    CHECK(contains(result.err, part));
    CHECK(read_text(tiny.rows) == rows);
  };
  auto edited = manifest;
  edited["settings"]["montecarlo.seed"] = 2;
  refused(edited, "montecarlo.seed (2 there, 1 here)");
  edited = manifest;
  edited["settings"].erase("workload.block");
  refused(edited, "workload.block (nothing there");
  edited = manifest;
  edited["points"].erase(0);
  refused(edited, "damaged");
  edited = manifest;
  edited["points"][1]["task_id"] = "0123456789abcdef";
  refused(edited, "damaged");
  edited = manifest;
  edited["points"][1].erase("task_id");
  refused(edited, "damaged");
  edited = manifest;
  edited["format"] = "something/1";
  refused(edited, "damaged");
  edited = manifest;
  edited["settings"]["montecarlo.chips"] = "many";
  refused(edited, "damaged");
  refused(nlohmann::ordered_json::array(), "damaged");
}

TEST_CASE("a file that vanishes while it is written is an error") {
  const TemporaryFolder folder;
  Journal journal(folder / "r.csv");
  journal.append("a\n");
  std::filesystem::remove(folder / "r.csv");
  CHECK_THROWS_AS(journal.append("b\n"), DataError);
}

TEST_CASE("the locale changes no byte") {
  const TinySweep tiny;
  const auto plan = [&] { return run({"sweep", tiny.config, "--dry-run", "--json"}).out; };
  REQUIRE(tiny.sweep().code == 0);
  const std::string rows = read_text(tiny.rows);
  const std::string summary = summary_of(tiny.rows);
  const std::string dry_run = plan();
  const ScopedLocale comma_numbers;
  const std::string file = tiny.path("l.csv");
  REQUIRE(tiny.sweep_to(file, {"--set", "imperfections.coupler.sigma_rad=0.0"}).code == 0);
  REQUIRE(tiny.sweep_to(file, {"--fresh"}).code == 0);
  CHECK(read_text(file) == rows);
  CHECK(summary_of(file) == summary);
  CHECK(run({"combine", tiny.rows, file, "--out", tiny.path("c.csv")}).code == 0);
  CHECK(read_text(tiny.path("c.csv")) == rows);
  CHECK(summary_of(tiny.path("c.csv")) == summary);
  CHECK(plan() == dry_run);
}

TEST_CASE("the memory estimate counts the arrays") {
  Network network{.format = {.servers = 2, .bits = 4},
                  .kind = "test",
                  .layers = {{.weight = Eigen::MatrixXd::Constant(5, 3, 0.1),
                              .bias = Eigen::VectorXd::Zero(5),
                              .activation = Activation::relu},
                             {.weight = Eigen::MatrixXd::Constant(2, 5, 0.1),
                              .bias = Eigen::VectorXd::Zero(2),
                              .activation = Activation::identity}}};
  const MappedNetwork mapped = map_network(network, {});
  const MemoryEstimate none = estimate_memory(mapped, {});
  const MemoryEstimate jittered = estimate_memory(mapped, {.jitter_realizations = 9});
  CHECK(jittered.per_thread > none.per_thread);
  CHECK(jittered.shared_meshes == none.shared_meshes);
  const MemoryEstimate seven = estimate_memory(mapped, {.codes = 7, .entries = 7});
  // Meshes of 3, 5, 5 and 2 modes have 3, 10, 10 and 1 MZIs, two phases each, and a screen.
  constexpr std::size_t matrix_bytes = 16 * (9 + 25 + 25 + 4);
  CHECK(none.code_table == 0);
  CHECK(none.shared_meshes == matrix_bytes + 3 * 8 * (2 * 24 + 15));
  CHECK(none.per_thread == matrix_bytes + 24 * (15 + 10) + 10 * sizeof(MziState<double>));
  // Three inputs and two digits per code.
  CHECK(seven.code_table == 7 * (8 + sizeof(CodeStatistics) + 8 + 3 * 8));
  CHECK(seven.per_thread == none.per_thread + 7 * (2 * 8 + 8));
  const MemoryEstimate random =
      estimate_memory(mapped, {.codes = 7, .entries = 7, .random_digits = 2});
  CHECK(random.per_thread == none.per_thread + 7 * (2 * 8 + 2 * 4 * 8));
  CHECK(seven.total(4) == seven.code_table + seven.shared_meshes + 4 * seven.per_thread);
}

TEST_CASE("a dry run says how many rows and how much memory") {
  const TinySweep tiny;
  const auto plan = [&](const std::vector<std::string>& more) {
    std::vector<std::string> args = {"sweep", tiny.config, "--dry-run", "--json"};
    args.insert(args.end(), more.begin(), more.end());
    const CliRun result = run(args);
    INFO(result.err);
    REQUIRE(result.code == 0);
    return nlohmann::json::parse(result.out);
  };
  const auto whole = plan({"--threads", "2"});
  CHECK(whole.at("rows") == 21);
  CHECK(whole.at("threads") == 2);
  const auto bytes = [](const nlohmann::json& document, const char* part) {
    return document.at("memory_bytes").at(part).get<std::uint64_t>();
  };
  CHECK(bytes(whole, "total") == bytes(whole, "code_table") + bytes(whole, "shared_meshes") +
                                     2 * bytes(whole, "per_thread"));
  CHECK(bytes(plan({"--threads", "3"}), "total") ==
        bytes(whole, "total") + bytes(whole, "per_thread"));
  CHECK(bytes(plan({"--set", "workload.bits=8"}), "code_table") > bytes(whole, "code_table"));
  CHECK(bytes(plan({"--set", "network.mapping=real_part"}), "shared_meshes") <
        bytes(whole, "shared_meshes"));
  CHECK(plan({"--shard", "1/3"}).at("rows") == 6);
  CHECK(run({"sweep", tiny.config, "--dry-run", "--shard", "8/9"}).code == 2);
  CHECK(contains(run({"sweep", tiny.config, "--dry-run"}).out, "= 21 rows"));
}
