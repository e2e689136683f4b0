// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/solver/montecarlo/sweep_fixture.hpp"

using namespace optinc;
using namespace optinc::test;

namespace {

using Settings = std::vector<std::string>;

const std::string p = "imperfections.";

Table effect_rows(const TinySweep& tiny, const Settings& settings, const Settings& options = {}) {
  Settings args = options;
  for (const std::string& setting : settings) args.insert(args.end(), {"--set", setting});
  args.emplace_back("--fresh");
  const CliRun result = tiny.sweep(args);
  INFO(result.err);
  REQUIRE(result.code == 0);
  Table rows = parse_table(read_text(tiny.rows));
  for (auto& row : rows) {
    row.erase("task_id");
    row.erase("seconds");
  }
  return rows;
}

/// What differs between two values of a setting, and what it needs beside it.
struct Effect {
  std::string key;
  std::string off;  ///< without effect; empty: the key alone switches it on
  std::string on;
  std::string more;
  Settings needs = {};
};

const std::vector<Effect>& effects() {
  static const std::vector<Effect> list = {
      {.key = "phase.drift_sigma_rad",
       .off = "0",
       .on = "0.05",
       .more = "0.1",
       .needs = {"phase.drift_tau_s=10", "phase.time_s=5"}},
      {.key = "phase.drift_tau_s",
       .off = "",
       .on = "10",
       .more = "1",
       .needs = {"phase.drift_sigma_rad=0.1", "phase.time_s=5"}},
      {.key = "phase.time_s",
       .off = "0",
       .on = "5",
       .more = "10",
       .needs = {"phase.drift_sigma_rad=0.1", "phase.drift_tau_s=10"}},
      {.key = "phase.jitter_sigma_rad", .off = "0", .on = "0.05", .more = "0.1"},
      {.key = "phase.jitter_realizations",
       .off = "",
       .on = "5",
       .more = "6",
       .needs = {"phase.jitter_sigma_rad=0.1"}},
      {.key = "laser.rin_db_hz",
       .off = "",
       .on = "-120",
       .more = "-115",
       .needs = {"receiver.bandwidth_ghz=26.6"}},
      {.key = "receiver.bandwidth_ghz",
       .off = "",
       .on = "10",
       .more = "50",
       .needs = {"laser.rin_db_hz=-120"}},
      {.key = "laser.linewidth_hz",
       .off = "0",
       .on = "1e6",
       .more = "1e7",
       .needs = {"laser.path_mismatch_m=1"}},
      {.key = "laser.path_mismatch_m",
       .off = "0",
       .on = "0.5",
       .more = "5",
       .needs = {"laser.linewidth_hz=1e6"}},
      {.key = "transmitter.extinction_ratio_db", .off = "", .on = "10", .more = "4.5"},
      {.key = "transmitter.rlm", .off = "1", .on = "0.9", .more = "0.6"},
      {.key = "amplifier.noise_sigma", .off = "0", .on = "0.02", .more = "0.05"}};
  return list;
}

Settings with(const Effect& effect, const std::string& value) {
  Settings settings = {p + effect.key + "=" + value};
  for (const std::string& needed : effect.needs) settings.push_back(p + needed);
  return settings;
}

}  // namespace

TEST_CASE("every effect of time and of symbols changes the result by its size") {
  const TinySweep tiny;
  const Table none = effect_rows(tiny, {});
  const Table sampled = effect_rows(tiny, {"evaluation=sampled"});
  for (const Effect& effect : effects()) {
    CAPTURE(effect.key);
    const Table on = effect_rows(tiny, with(effect, effect.on));
    CHECK(on != none);
    CHECK(on != sampled);
    CHECK(on != effect_rows(tiny, with(effect, effect.more)));
    // The same again, whatever the number of threads.
    CHECK(on == effect_rows(tiny, with(effect, effect.on), {"--threads", "1"}));
    if (effect.off.empty()) continue;
    const Table off = effect_rows(tiny, with(effect, effect.off));
    for (std::size_t i = 0; i < off.size(); ++i) {
      CHECK(off[i].at("matrix_error") == none[i].at("matrix_error"));
      CHECK(off[i].at("element_error_rate") == none[i].at("element_error_rate"));
    }
  }
}

TEST_CASE("an effect without what it needs is an error that names it") {
  const TinySweep tiny;
  struct Case {
    Settings settings;
    std::string named;
  };
  const std::vector<Case> cases = {
      {{"phase.drift_sigma_rad=0.1"}, "phase.drift_tau_s"},
      {{"phase.time_s=1"}, "phase.drift_sigma_rad"},
      {{"phase.jitter_realizations=4"}, "phase.jitter_sigma_rad"},
      {{"laser.rin_db_hz=-150"}, "receiver.bandwidth_ghz"},
      {{"laser.rin_db_hz=-150", "receiver.bandwidth_ghz=20", "receiver.responsivity_a_w=1"},
       "laser.power_dbm"},
      {{"laser.linewidth_hz=1e5"}, "laser.path_mismatch_m"},
      {{"laser.path_mismatch_m=1"}, "laser.linewidth_hz"},
  };
  for (const Case& wrong : cases) {
    Settings args;
    for (const std::string& setting : wrong.settings) {
      args.insert(args.end(), {"--set", p + setting});
    }
    const CliRun result = tiny.sweep(args);
    CAPTURE(result.err);
    CHECK(result.code == 2);
    CHECK_THAT(result.err, Catch::Contains(wrong.named));
  }
  const CliRun blind =
      tiny.sweep({"--set", "combiner.mode=incoherent", "--set", p + "laser.linewidth_hz=1e5",
                  "--set", p + "laser.path_mismatch_m=1"});
  CHECK(blind.code == 2);
  CHECK_THAT(blind.err, Catch::Contains("incoherent"));
  const CliRun codes =
      tiny.sweep({"--set", p + "amplifier.noise_sigma=0.1", "--set", "evaluation=codes"});
  CHECK(codes.code == 2);
  CHECK_THAT(codes.err, Catch::Contains("amplifier.noise_sigma"));
  const CliRun uniform =
      tiny.sweep({"--set", p + "transmitter.rlm=0.9", "--set", "report.uniform_codes=true"});
  CHECK(uniform.code == 2);
  CHECK_THAT(uniform.err, Catch::Contains("transmitter.rlm"));
}

TEST_CASE("jitter shows in the matrix error: it quadruples in square when sigma doubles") {
  const TinySweep tiny;
  const auto mean_square = [&](const std::string& key, const std::string& value,
                               const Settings& more) {
    Settings settings = more;
    settings.push_back(p + key + "=" + value);
    TinySweep other;
    double sum = 0;
    for (const auto& row : effect_rows(other, settings)) {
      if (row.at(p + "phase.fabrication_sigma_rad") != "0.01") continue;
      sum += std::pow(number(row, "matrix_error"), 2);
    }
    return sum;
  };
  // Without the fabrication error of the axis' first point, which stays: E^2 adds up.
  const double base = mean_square("phase.jitter_sigma_rad", "0", {});
  const double small = mean_square("phase.jitter_sigma_rad", "0.01", {}) - base;
  const double large = mean_square("phase.jitter_sigma_rad", "0.02", {}) - base;
  CHECK(large / small == Approx(4).epsilon(0.15));
}

TEST_CASE("average gives the integers of a sweep's symbols, and a cascade takes the effects") {
  const TinySweep tiny;
  Settings args = {"average",         tiny.path("t.h5"), "--out",
                   tiny.path("a.h5"), "--json",          "--set",
                   "workload.bits=4", "--set",           p + "amplifier.noise_sigma=0.05"};
  const CliRun noisy = run(args);
  INFO(noisy.err);
  REQUIRE(noisy.code == 0);
  const auto metrics = nlohmann::json::parse(noisy.out).at("metrics");
  CHECK(metrics.at("element_error_rate").get<double>() > 0);
  const Settings cascade = {"network.cascade=fraction", "workload.kind=gaussian",
                            "workload.elements=500"};
  std::string text = read_text(tiny.config);
  text.erase(text.find("trace = "), text.find("bits") - text.find("trace = "));
  write_text(tiny.config, text);
  const Table quiet = effect_rows(tiny, cascade);
  for (const std::string setting :
       {"amplifier.noise_sigma=0.05", "phase.jitter_sigma_rad=0.1", "transmitter.rlm=0.7"}) {
    Settings with_effect = cascade;
    with_effect.push_back(p + setting);
    CHECK(effect_rows(tiny, with_effect) != quiet);
  }
}
