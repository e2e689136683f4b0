// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <csignal>
#include <limits>
#include <numbers>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "solver/error.hpp"
#include "solver/montecarlo/tolerance.hpp"
#include "solver/montecarlo/tolerance_keys.hpp"
#include "solver/onn/network_file.hpp"
#include "tests/solver/montecarlo/sweep_fixture.hpp"

namespace optinc {
namespace {

using test::CliRun;
using test::contains;
using test::json_of;
using test::number;
using test::parse_table;
using test::read_text;
using test::run;
using test::Table;
using test::TinySweep;
using test::write_text;

const std::string p = "imperfections.";

/// A metric of every step, the one with the imperfection off, and the half-width of its interval.
struct Response {
  std::vector<double> steps;
  double off = 0;
  double half_width = 0;

  StatisticEstimate at(std::optional<std::size_t> step) const {
    const double value = step ? steps[*step] : off;
    return {.value = value, .interval = {value - half_width, value + half_width}};
  }
};

Tolerance tolerance_of(const Response& response, const MetricLimit& limit) {
  std::set<std::size_t> asked;
  const Tolerance result = find_tolerance(
      [&](std::optional<std::size_t> step) {
        if (step) CHECK(asked.insert(*step).second);  // none twice
        return response.at(step);
      },
      response.steps.size() - 1, limit);
  CHECK(result.evaluations == asked.size() + 1);
  return result;
}

/// Of a monotone response: the last step with metric + shift within the limit, one by one.
std::optional<std::size_t> last_kept(const Response& response, double limit, double shift) {
  std::optional<std::size_t> last;
  for (std::size_t i = 0; i < response.steps.size(); ++i) {
    if (response.steps[i] + shift <= limit) last = i;
  }
  return last;
}

/// A point of a tiny network, without axes.
struct TinyPoint : TinySweep {
  std::string out = (folder / "tolerance.csv").string();

  TinyPoint() { set_config(""); }
  void set_config(const std::string& more) const {
    write_text(config, "[workload]\ntrace = \"t.h5\"\nbits = 4\n[montecarlo]\nchips = 8\n" + more);
  }
  std::vector<std::string> args(const std::vector<std::string>& more) const {
    std::vector<std::string> all = {"tolerance", config, "--quiet"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  CliRun tolerance(const std::vector<std::string>& more) const { return run(args(more)); }
  nlohmann::json row(const std::vector<std::string>& more) const {
    const nlohmann::json table = json_of(args(more));
    REQUIRE(table.size() == 1);
    return table[0];
  }
};

const std::vector<std::string> vary_coupler = {"--vary", p + "coupler.sigma_rad"};

std::vector<std::string> coupler_with(const std::vector<std::string>& more) {
  std::vector<std::string> all = vary_coupler;
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

/// Sums over the meshes of a network of which every weight matrix is a pair of meshes.
struct MeshSums {
  double modes = 0;
  double phases = 0;
  double couplers = 0;

  void add(double size) {
    modes += size;
    phases += size * size;
    couplers += size * (size - 1);
  }
};

MeshSums mesh_sums(const TinyPoint& point) {
  const std::string file = (point.folder / "n.h5").string();
  REQUIRE(run({"onn", "build", "--servers", "2", "--bits", "4", "--out", file}).code == 0);
  MeshSums sums;
  for (const auto& layer : read_network(file).layers) {
    sums.add(static_cast<double>(layer.weight.rows()));
    sums.add(static_cast<double>(layer.weight.cols()));
  }
  return sums;
}

}  // namespace

TEST_CASE("bisection finds the step that a search through all steps finds") {
  for (const std::size_t size : {2U, 3U, 8U, 9U, 100U, 257U}) {
    Response response{.steps = {}, .off = 0, .half_width = 0.31};
    for (std::size_t i = 0; i < size; ++i) response.steps.push_back(static_cast<double>(i * i));
    const auto top = static_cast<double>((size - 1) * (size - 1));
    for (const double share : {0.0, 0.01, 0.1, 0.37, 0.9, 0.999}) {
      const double limit = share * top + 0.5;
      CAPTURE(size, share);
      for (const bool mirrored : {false, true}) {
        Response seen = response;
        if (mirrored) {
          for (double& value : seen.steps) value = -value;
        }
        const Tolerance found =
            tolerance_of(seen, {.limit = mirrored ? -limit : limit,
                                .sense = mirrored ? LimitSense::at_least : LimitSense::at_most});
        const auto kept = last_kept(response, limit, 0);
        REQUIRE(kept.has_value());
        CHECK(found.kept == kept);
        CHECK(found.monotone);
        CHECK(found.surely_kept == last_kept(response, limit, response.half_width));
        CHECK(found.at_kept.value == seen.steps[*kept]);
        if (*kept + 1 == size) {
          CHECK(found.outcome == ToleranceOutcome::never);
          CHECK_FALSE(found.missed.has_value());
        } else {
          CHECK(found.outcome == ToleranceOutcome::found);
          CHECK(found.missed == *kept + 1);
          const std::size_t maybe = *last_kept(response, limit, -response.half_width);
          CHECK(found.surely_missed.value_or(size) == maybe + 1);
        }
        CHECK(found.evaluations <= 9 + 3 * 6);
      }
    }
  }
}

TEST_CASE("what bisection cannot find is said") {
  const MetricLimit limit{.limit = 1, .sense = LimitSense::at_most};
  const Response rising{.steps = {2, 3, 4, 5}, .off = 0, .half_width = 0};
  const Tolerance below = tolerance_of(rising, limit);
  CHECK(below.outcome == ToleranceOutcome::below);
  CHECK_FALSE(below.kept.has_value());
  CHECK(below.missed == 0);
  CHECK(below.at_kept.value == 0);
  Response bad = rising;
  bad.off = 1.5;
  const Tolerance none = tolerance_of(bad, limit);
  CHECK(none.outcome == ToleranceOutcome::none);
  CHECK(none.evaluations == 1);
  const Response undefined{.steps = {0, 0, 0, std::numeric_limits<double>::quiet_NaN()}, .off = 0};
  CHECK(tolerance_of(undefined, limit).missed == 3);
  // Misses the limit in the middle only: the first miss counts.
  Response hump{.steps = std::vector<double>(64, 0.0), .off = 0, .half_width = 0};
  std::fill(hump.steps.begin() + 20, hump.steps.begin() + 40, 2.0);
  const Tolerance first = tolerance_of(hump, limit);
  CHECK(first.outcome == ToleranceOutcome::found);
  CHECK(first.kept == 19);
  CHECK_FALSE(first.monotone);
}

TEST_CASE("keys are varied in equal ratios of their strength") {
  for (const VariedKey& key : varied_keys()) {
    CAPTURE(key.path);
    const ConfigKey* known = find_config_key(key.path);
    REQUIRE(known != nullptr);
    for (const double value : {key.mildest, key.strongest}) {
      CHECK(value >= known->minimum);
      CHECK(value <= known->maximum);
      CHECK(value_of_strength(key.strength, strength_of(key.strength, value)) == Approx(value));
    }
    const StrengthSteps steps(key, 0.1);
    CHECK(steps.value(0) == key.mildest);
    CHECK(steps.value(steps.last()) == key.strongest);
    for (std::size_t i = 1; i <= steps.last(); ++i) {
      const double ratio =
          strength_of(key.strength, steps.value(i)) / strength_of(key.strength, steps.value(i - 1));
      CHECK(ratio > 1);
      if (key.strength == Strength::bits) {
        CHECK(ratio == 2);
      } else {
        CHECK(ratio < 1.1 + 1e-9);
      }
    }
  }
  const StrengthSteps bits(parse_varied_key("--vary", p + "phase.dac_bits:6:10"), 0.05);
  CHECK(bits.last() == 4);
  CHECK(bits.value(1) == 9);
  const StrengthSteps extinction(
      parse_varied_key("--vary", p + "transmitter.extinction_ratio_db:3:20"), 0.05);
  CHECK(extinction.value(0) == 20);
  CHECK_FALSE(extinction.off().has_value());
}

TEST_CASE("mistakes in --vary are named") {
  const auto error = [](const std::string& text) -> std::string {
    try {
      parse_varied_key("--vary", text);
    } catch (const ConfigError& problem) {
      return problem.what();
    }
    return "";
  };
  CHECK(error(p + "coupler.sigma_rad").empty());
  CHECK(contains(error("coupler.sigma_rad"), "did you mean 'imperfections.coupler.sigma_rad'"));
  CHECK(contains(error("workload.bits"), "cannot be varied"));
  CHECK(contains(error(p + "preset"), "cannot be varied"));
  CHECK(contains(error(p + "phase.jitter_realizations:1:9"), "cannot be varied"));
  CHECK(contains(error(p + "coupler.sigma_rad:0.1"), "one end"));
  CHECK(contains(error(p + "coupler.sigma_rad:x:1"), "'x' is no number"));
  CHECK(contains(error(p + "coupler.sigma_rad:0:0.1"), "begin where it acts"));
  CHECK(contains(error(p + "coupler.sigma_rad:0.1:0.1"), "the same"));
  CHECK(contains(error(p + "coupler.sigma_rad:0.1:7"), "must lie in"));
  CHECK(contains(error(p + "phase.correlation_um"), "no range of its own"));
  CHECK(error(p + "phase.correlation_um:1:100").empty());
}

TEST_CASE("the tolerance of the matrix error is the limit over the law's slope") {
  // First order in the errors, any feed-forward mesh: E^2 modes = phases sigma^2, or two couplers
  // per MZI, each 2 sigma^2, over the direct sum of the meshes.
  const TinyPoint point;
  const MeshSums sums = mesh_sums(point);
  const double limit = 0.02;
  const auto tolerance = [&](const std::string& key) {
    return point.row({"--vary", p + key, "--metric", "matrix_error", "--limit", "0.02", "--chips",
                      "150", "--resolution", "0.01"});
  };
  for (const auto& [key, slope_squared] :
       {std::pair<std::string, double>{"phase.fabrication_sigma_rad", sums.phases / sums.modes},
        {"coupler.sigma_rad", 2 * sums.couplers / sums.modes}}) {
    CAPTURE(key);
    const double law = limit / std::sqrt(slope_squared);
    const nlohmann::json row = tolerance(key);
    CHECK(row.at("outcome") == "found");
    CHECK(row.at("value").get<double>() == Approx(law).epsilon(0.03));
    CHECK(row.at("missed_at").get<double>() <= row.at("value").get<double>() * 1.0101);
    CHECK(row.at("ci_mild").get<double>() < law);
    // The mean of E lies below its root mean square by half its relative variance.
    CHECK(row.at("ci_strong").get<double>() > law);
    CHECK(row.at("monotone") == "yes");
  }
}

TEST_CASE("a tolerance is what a sweep over the same chips says") {
  const TinyPoint point;
  const nlohmann::json row = point.row(coupler_with({"--metric", "nmse_p95", "--limit", "0.05"}));
  REQUIRE(row.at("outcome") == "found");
  for (const char* end : {"value", "missed_at"}) {
    const std::string value = csv_number(row.at(end).get<double>());
    const CliRun sweep = point.sweep({"--fresh", "--set", p + "coupler.sigma_rad=" + value});
    INFO(sweep.err);
    REQUIRE(sweep.code == 0);
    const double metric = number(parse_table(test::summary_of(point.rows)).at(0), "nmse_p95");
    CHECK((metric <= 0.05) == (std::string(end) == "value"));
    if (std::string(end) == "value") CHECK(metric == row.at("metric_at_value").get<double>());
  }
}

TEST_CASE("every option of tolerance is applied") {
  const TinyPoint point;
  const std::string data = (point.folder / "data/presets").string();
  std::filesystem::create_directories(data);
  write_text(data + "/sin.toml", "imperfections.phase.fabrication_sigma_rad = 0.03\n");
  const std::vector<std::string> base = coupler_with({"--metric", "nmse", "--limit", "0.05"});
  const nlohmann::json first = point.row(base);
  std::set<std::string> ids = {first.at("run_id").get<std::string>()};
  const auto with = [&](const std::vector<std::string>& more) {
    std::vector<std::string> all = base;
    all.insert(all.end(), more.begin(), more.end());
    const nlohmann::json row = point.row(all);
    CHECK(ids.insert(row.at("run_id").get<std::string>()).second);
    return row;
  };
  CHECK(with({"--chips", "3"}).at("metric_at_value") != first.at("metric_at_value"));
  CHECK(with({"--seed", "7"}).at("metric_at_value") != first.at("metric_at_value"));
  CHECK(with({"--resolution", "0.5"}).at("evaluations") < first.at("evaluations"));
  CHECK(with({"--set", p + "phase.fabrication_sigma_rad=0.02"}).at("metric_off") >
        first.at("metric_off"));
  const nlohmann::json preset = with({"--set", p + "preset=sin"});
  CHECK(preset.at("metric_off") > first.at("metric_off"));
  CHECK(with({"--backend", "reference"}).at("backend") == "reference");
  CHECK(with({"--precision", "f32"}).at("precision") == "f32");
  const nlohmann::json narrow = point.row(
      {"--vary", p + "coupler.sigma_rad:1e-5:1e-4", "--metric", "nmse", "--limit", "0.05"});
  CHECK(narrow.at("outcome") == "never");
  CHECK(narrow.at("value") == 1e-4);
  CHECK(narrow.at("missed_at").is_null());
  const nlohmann::json strong =
      point.row({"--vary", p + "coupler.sigma_rad:0.5:0.6", "--metric", "nmse", "--limit", "0.05"});
  CHECK(strong.at("outcome") == "below");
  CHECK(strong.at("value") == 0);
  CHECK(point.row(coupler_with({"--metric", "cosine", "--limit", "0.9999999"})).at("outcome") ==
        "none");
  CHECK(point.row(coupler_with({"--metric", "yield"})).at("limit") == 0.9);
  CHECK(point.row(vary_coupler).at("limit") == 1e-3);
  CHECK(point.row(coupler_with({"--metric", "yield"})).at("sense") == "at_least");
  CHECK(point.row({"--vary", p + "phase.dac_bits", "--metric", "nmse", "--limit", "0.05"})
            .at("ci_mild")
            .is_number());
  const CliRun text = run({"tolerance", point.config, "--vary", p + "coupler.sigma_rad"});
  CHECK(text.code == 0);
  CHECK(contains(text.out, "element_error_rate at most 0.001"));
  CHECK(point.tolerance(vary_coupler).out.empty());
}

TEST_CASE("without --vary everything that the configuration lets vary is") {
  const TinyPoint point;
  const std::vector<std::string> args = {"tolerance",    point.config, "--chips", "1",
                                         "--resolution", "1",          "--json"};
  const CliRun plain = run(args);
  REQUIRE(plain.code == 0);
  CHECK(contains(plain.err,
                 "imperfections.laser.rin_db_hz is left out (it acts with "
                 "imperfections.receiver.bandwidth_ghz only)"));
  const nlohmann::json rows = nlohmann::json::parse(plain.out);
  std::set<std::string> varied;
  for (const auto& row : rows) varied.insert(row.at("key").get<std::string>());
  CHECK(varied.size() == rows.size());
  for (const VariedKey& key : varied_keys()) {
    const bool possible = key.needs.empty() || key.needs.back() == "combiner.mode=coherent";
    CHECK((varied.count(key.path) == 1) == (possible && key.needs.size() < 2));
  }
}

TEST_CASE("a table of tolerances continues, whatever the threads") {
  const TinyPoint point;
  const std::vector<std::string> keys = {"--vary",       p + "coupler.sigma_rad",
                                         "--vary",       p + "phase.fabrication_sigma_rad",
                                         "--vary",       p + "loss.mzi_db",
                                         "--chips",      "3",
                                         "--resolution", "0.3"};
  const auto to = [&](const std::string& file, const std::vector<std::string>& more) {
    std::vector<std::string> all = keys;
    all.insert(all.end(), {"--out", file});
    all.insert(all.end(), more.begin(), more.end());
    return point.tolerance(all);
  };
  REQUIRE(to(point.out, {"--threads", "3"}).code == 0);
  const std::string whole = read_text(point.out);
  REQUIRE(parse_table(whole).size() == 3);
  REQUIRE(to(point.out, {}).code == 0);
  CHECK(read_text(point.out) == whole);
  const std::vector<std::string> lines = test::lines_of(whole);
  for (const std::string& start :
       {lines[0].substr(0, 5), lines[0], lines[0] + lines[1] + lines[2].substr(0, 40)}) {
    write_text(point.out, start);
    REQUIRE(to(point.out, {"--threads", "1"}).code == 0);
    CHECK(read_text(point.out) == whole);
  }
  // A row that is there is believed, not computed again.
  std::string marked = lines[0] + lines[1];
  marked.replace(marked.find(",found,"), 7, ",never,");
  write_text(point.out, marked);
  REQUIRE(to(point.out, {}).code == 0);
  CHECK(read_text(point.out) == marked + lines[2] + lines[3]);
  const CliRun other = to(point.out, {"--seed", "2"});
  CHECK(other.code == 3);
  CHECK(contains(other.err, "another configuration, range or option"));
  CHECK(read_text(point.out) == marked + lines[2] + lines[3]);
  CHECK(to(point.out, {"--fresh"}).code == 0);
  CHECK(read_text(point.out) == whole);
  write_text(point.out, "something else\n");
  CHECK(to(point.out, {}).code == 3);
  write_text(point.out, lines[0] + "a,b\n");
  CHECK(contains(to(point.out, {}).err, "is damaged"));
}

TEST_CASE("tolerance refuses what it cannot use") {
  const TinyPoint point;
  const auto refused = [&](const std::vector<std::string>& more, const std::string& part) {
    const CliRun result = point.tolerance(more);
    INFO(result.err);
    CHECK(result.code == 2);
    CHECK(contains(result.err, part));
  };
  refused({"--metric", "nmsee"}, "did you mean 'nmse'");
  refused({"--metric", "bias_lsb", "--limit", "1"}, "neither more nor less");
  refused({"--metric", "nmse"}, "give --limit");
  refused({"--vary", p + "laser.rin_db_hz"}, "receiver.bandwidth_ghz only");
  refused({"--resolution", "0"}, "0.0001");
  refused({"--fresh"}, "--out is not");
  refused({"--out", point.config}, "must end in .csv");
  refused(
      {"--set", "montecarlo.target.metric=nmse", "--set", "montecarlo.target.rel_halfwidth=0.1"},
      "montecarlo.target.metric");
  point.set_config("[[axis]]\npath = \"imperfections.coupler.mean_rad\"\nvalues = [0, 0.1]\n");
  refused(vary_coupler, "has axes");
}

TEST_CASE("a stopped tolerance keeps its rows and says how to go on") {
  const TinyPoint point;
  const CliRun late =
      point.tolerance(coupler_with({"--time-limit", "0.000001", "--out", point.out}));
  CHECK(late.code == 5);
  CHECK(contains(late.err, "stopped by --time-limit 0.000001 after 0 of 1 keys, all saved in"));
  const CliRun unsaved = point.tolerance(coupler_with({"--time-limit", "0.000001"}));
  CHECK(unsaved.code == 5);
  CHECK(contains(unsaved.err, "printed but not saved"));
  std::vector<std::string> args =
      point.args({"--chips", "300", "--threads", "1", "--out", point.out});
  // More keys than are done before the signal comes, on any machine.
  std::size_t keys = 0;
  for (const VariedKey& key : varied_keys()) {
    if (!key.needs.empty()) continue;
    args.insert(args.end(), {"--vary", key.path});
    ++keys;
  }
  args.emplace_back("--fresh");
  const std::string err_file = (point.folder / "err").string();
  const pid_t child = test::start_program(args, err_file);
  test::wait_for_lines(point.out, 2);
  kill(child, SIGINT);
  const int status = test::wait_status(child);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 130);
  CHECK(contains(read_text(err_file), fmt::format("of {} keys, all saved in", keys)));
  const std::size_t saved = parse_table(read_text(point.out)).size();
  CHECK(saved >= 1);
  CHECK(saved < keys);
}

}  // namespace optinc
