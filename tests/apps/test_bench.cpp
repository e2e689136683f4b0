// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "solver/kernel/simd_kernels.hpp"
#include "tests/apps/cli_run.hpp"

using namespace optinc;
using namespace optinc::test;

namespace {

using Json = nlohmann::json;

/// The shortest benchmark that has these options.
Json bench(const std::vector<std::string>& more) {
  std::vector<std::string> args = {"bench", "--json", "--seconds", "0.001"};
  if (std::find(more.begin(), more.end(), "--rounds") == more.end()) {
    args.insert(args.end(), {"--rounds", "1"});
  }
  args.insert(args.end(), more.begin(), more.end());
  const CliRun result = run(args);
  INFO(result.err);
  REQUIRE(result.code == 0);
  return Json::parse(result.out);
}

std::set<std::string> names_of(const Json& report) {
  std::set<std::string> names;
  for (const Json& entry : report.at("results")) names.insert(entry.at("name"));
  return names;
}

}  // namespace

TEST_CASE("the peak kernel does its multiply-adds in every instruction set") {
  for (const InstructionSet& set : cpu_instruction_sets()) {
    CAPTURE(set.name);
    // Each chain tends to 2 start.
    CHECK(set.f32.multiply_adds(100, 1.5F) ==
          Approx(2 * 1.5 * static_cast<double>(set.f32.multiply_adds_per_round)));
    CHECK(set.f64.multiply_adds(100, 1.5) ==
          Approx(2 * 1.5 * static_cast<double>(set.f64.multiply_adds_per_round)));
    // One round of x / 2 + 1 from 1, 2, 3, 4: 1.5, 2, 2.5, 3.
    CHECK(set.f64.multiply_adds(1, 1) ==
          Approx(9.0 / 4 * static_cast<double>(set.f64.multiply_adds_per_round)));
  }
}

TEST_CASE("bench reports times, rates and shares that belong together") {
  const Json report = bench({"--filter", "/64"});
  CHECK(report.at("threads") == 1);
  CHECK(report.at("peak_gflops").at("f32").get<double>() > 0);
  CHECK(report.at("copy_gbytes_per_s").get<double>() > 0);
  CHECK(report.at("results").size() == 7);
  for (const Json& entry : report.at("results")) {
    CAPTURE(entry.dump());
    const double samples = entry.at("name") == "propagate/64" ? 1024 : 64;
    const double flops = 28.0 * (64.0 * 63 / 2) * samples;
    const double seconds = entry.at("median_s");
    CHECK(entry.at("gflops").get<double>() == Approx(flops / seconds / 1e9));
    const double peak = report.at("peak_gflops").at(entry.at("precision").get<std::string>());
    // The peak of that moment and the median over all differ.
    CHECK(entry.at("share_of_peak").get<double>() > 0);
    CHECK(entry.at("share_of_peak").get<double>() < 100 * entry.at("gflops").get<double>() / peak);
  }
}

TEST_CASE("every option of bench changes what is timed") {
  const std::vector<std::string> small = {"--filter", "compose/128"};
  const auto with = [&](const std::vector<std::string>& more) {
    std::vector<std::string> args = small;
    args.insert(args.end(), more.begin(), more.end());
    return bench(args);
  };
  CHECK(names_of(with({})) == std::set<std::string>{"compose/128"});
  CHECK(with({}).at("results").size() == 2);
  CHECK(with({"--precision", "f32"}).at("results").size() == 1);
  CHECK(with({"--threads", "2"}).at("threads") == 2);
  CHECK(with({"--rounds", "3"}).at("rounds") == 3);
  CHECK(with({"--cpu-target", "scalar"}).at("target") == "scalar");
  CHECK(names_of(bench({"--filter", "chips"})) ==
        std::set<std::string>{"chips/ripple-8bit-4servers"});
  CHECK(bench({"--filter", "chips", "--precision", "f64"})
            .at("results")[0]
            .at("chips_per_s")
            .get<double>() > 0);
  CHECK(bench({"--filter", "reduce-trace"}).at("results")[0].at("share_of_copy_bandwidth") > 0);
  const Json reference = bench({"--filter", "/64", "--backend", "reference", "--precision", "f64"});
  CHECK(reference.at("backend") == "reference");
  CHECK(names_of(reference).count("compose/64") == 0);
  CHECK(names_of(reference).count("compose-chip/64") == 1);
  const CliRun text =
      run({"bench", "--filter", "compose/64", "--rounds", "2", "--seconds", "0.001"});
  CHECK(text.code == 0);
  CHECK(contains(text.out, "compose/64"));
  CHECK(contains(text.err, "round 2/2"));
  CHECK(run({"bench", "--filter", "compose/64", "--rounds", "1", "--seconds", "0.001", "--quiet"})
            .err.empty());
}

TEST_CASE("wrong use of bench has a message and a code") {
  const CliRun unknown = run({"bench", "--filter", "nothing"});
  CHECK(unknown.code == 2);
  CHECK(contains(unknown.err, "compose/256"));
  CHECK(run({"bench", "--seconds", "0"}).code == 2);
  CHECK(run({"bench", "--rounds", "0"}).code == 2);
  CHECK(run({"bench", "--threads", "0"}).code == 2);
  CHECK(run({"bench", "--backend", "cuda"}).code == 4);
  CHECK(run({"bench", "--backend", "reference", "--precision", "f32"}).code == 4);
}
