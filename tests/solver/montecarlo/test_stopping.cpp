// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "solver/interval.hpp"
#include "solver/montecarlo/chip_result.hpp"
#include "solver/montecarlo/stopping.hpp"
#include "solver/montecarlo/summary.hpp"
#include "tests/solver/montecarlo/sweep_fixture.hpp"

using namespace optinc;
using namespace optinc::test;

namespace {

bool covers(const Interval& interval, double value) {
  return interval.lo <= value && value <= interval.hi;
}

std::vector<std::string> with_target(const std::vector<std::string>& settings) {
  std::vector<std::string> args;
  for (const std::string& setting : settings) {
    args.insert(args.end(), {"--set", "montecarlo." + setting});
  }
  return args;
}

/// TinySweep without a fixed number of chips.
struct AdaptiveSweep : TinySweep {
  AdaptiveSweep() {
    std::string text = read_text(config);
    text.erase(text.find("chips = 7\n"), std::string("chips = 7\n").size());
    write_text(config, text);
  }

  std::map<std::string, std::size_t> chips_by_point() const {
    std::map<std::string, std::size_t> chips;
    for (const auto& row : parse_table(read_text(rows))) {
      ++chips[row.at("imperfections.phase.fabrication_sigma_rad")];
    }
    return chips;
  }
};

StoppingRule rule_of(const std::vector<std::string>& settings) {
  std::vector<std::string> overrides;
  for (const std::string& setting : settings) overrides.push_back("montecarlo." + setting);
  const SweepConfig sweep = config_from_overrides(overrides);
  return StoppingRule::of(sweep.point(0)).value();
}

std::size_t metric_index(const std::string& name) {
  std::size_t i = 0;
  while (metric_table()[i].column.name != name) ++i;
  return i;
}

}  // namespace

TEST_CASE("limits of tiny rates scale with the rate") {
  // Expected rates of noisy receivers are far below one in all elements: the same spread relative
  // to the rate has the same relative limits.
  const auto relative = [](double rate) {
    const Interval limits =
        clustered_rate_interval({.rate = rate, .variance = rate * rate / 4, .units = 5});
    return Interval{limits.lo / rate, limits.hi / rate};
  };
  // Seen from the other side, a rate of nearly one.
  const Interval high =
      clustered_rate_interval({.rate = 1 - 1e-9, .variance = 1e-18 / 4, .units = 5});
  CHECK(1 - high.hi == Approx(1e-9 * relative(1e-9).lo).epsilon(1e-3));
  CHECK(1 - high.lo == Approx(1e-9 * relative(1e-9).hi).epsilon(1e-3));
  const Interval usual = relative(1e-6);
  for (const double rate : {1e-9, 1e-12, 1e-20, 1e-100}) {
    CHECK(relative(rate).lo == Approx(usual.lo).epsilon(1e-4));
    CHECK(relative(rate).hi == Approx(usual.hi).epsilon(1e-4));
  }
}

TEST_CASE("a rate without spread has Clopper-Pearson limits over its units") {
  const Interval none = clustered_rate_interval({.rate = 0, .variance = 0, .units = 50});
  CHECK(none.lo == 0);
  CHECK(none.hi == Approx(1 - std::pow(0.025, 1.0 / 50)));
  const Interval all = clustered_rate_interval({.rate = 1, .variance = 0, .units = 50});
  CHECK(all.lo == Approx(std::pow(0.025, 1.0 / 50)));
  CHECK(all.hi == 1);
  const Interval same = clustered_rate_interval({.rate = 0.3, .variance = 0, .units = 50});
  CHECK(same.lo == 0.3);
  CHECK(same.hi == 0.3);
  // Spread far below the binomial one, as between chips that nearly agree.
  const Interval narrow = clustered_rate_interval({.rate = 0.3, .variance = 1e-24, .units = 3});
  CHECK(narrow.half_width() == Approx(4.302652729911275e-12).epsilon(1e-3));
  CHECK(narrow.lo < 0.3);
  // As many independent trials as the binomial variance says, but for the t quantile.
  const Interval binomial =
      clustered_rate_interval({.rate = 0.3, .variance = 0.3 * 0.7 / 1000, .units = 1e6});
  CHECK(binomial.lo == Approx(clopper_pearson(300, 1000).lo).epsilon(1e-4));
  CHECK(binomial.hi == Approx(clopper_pearson(300, 1000).hi).epsilon(1e-4));
}

TEST_CASE("intervals of rates, means and quantiles cover the truth over clusters") {
  // Each repetition: 40 chips, each with its own error rate, and 10^4 elements that share it. What
  // is nominally 950 +- 6.9 of 1000 has to be at least 922 (4 sigma: false alarm 3e-5 each).
  std::mt19937_64 random(11);
  constexpr int repetitions = 1000;
  constexpr int chips = 40;
  int beta = 0;
  int rare = 0;
  int normal = 0;
  int median = 0;
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    std::vector<double> beta_rates;
    std::vector<double> rare_rates;
    std::vector<double> values;
    for (int chip = 0; chip < chips; ++chip) {
      // Beta(1, 4): mean 1/5.
      const double uniform = std::generate_canonical<double, 53>(random);
      const double share = 1 - std::pow(uniform, 0.25);
      beta_rates.push_back(std::binomial_distribution<int>(10000, share)(random) / 10000.0);
      // One chip of five fails altogether, the others not at all.
      rare_rates.push_back(random() % 5 == 0 ? 1 : 0);
      values.push_back(std::normal_distribution<double>(3, 2)(random));
    }
    const auto mean_covers = [](const std::vector<double>& chip_values, MetricKind kind,
                                double truth) {
      const MetricSummary summary = summarise(chip_values, kind);
      return covers({summary.ci_lo, summary.ci_hi}, truth) ? 1 : 0;
    };
    beta += mean_covers(beta_rates, MetricKind::rate, 0.2);
    rare += mean_covers(rare_rates, MetricKind::rate, 0.2);
    normal += mean_covers(values, MetricKind::value, 3);
    std::sort(values.begin(), values.end());
    median += covers(quantile_interval(values, 0.5), 3) ? 1 : 0;
  }
  CAPTURE(beta, rare, normal, median);
  CHECK(beta >= 922);
  CHECK(rare >= 922);
  CHECK(normal >= 922);
  CHECK(normal <= 978);
  CHECK(median >= 922);
}

TEST_CASE("quantile intervals are order statistics of binomial ranks") {
  std::vector<double> values(100);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i + 1);
  // Published table for n = 100, p = 1/2, 95 %: ranks 40 and 61.
  CHECK(quantile_interval(values, 0.5).lo == 40);
  CHECK(quantile_interval(values, 0.5).hi == 61);
  values.resize(10);
  CHECK(std::isinf(quantile_interval(values, 0.95).hi));
  CHECK(std::isinf(quantile_interval(values, 0.05).lo));
}

TEST_CASE("a rule looks at its number only, and only where it is narrow enough") {
  const StoppingRule rule =
      rule_of({"target.metric=nmse", "target.abs_halfwidth=0.1", "min_chips=10"});
  CHECK(rule.max_chips() == 10000);
  const std::size_t nmse = metric_index("nmse");
  std::vector<std::vector<double>> chips;
  const auto add = [&](int count, double spread) {
    for (int i = 0; i < count; ++i) {
      chips.emplace_back(metric_table().size(), 1e9 * static_cast<double>(chips.size() % 2));
      chips.back()[nmse] = 5 + (chips.size() % 2 == 0 ? spread : -spread);
    }
  };
  add(9, 0);
  CHECK(!rule.satisfied(chips));  // before min_chips
  add(1, 0);
  CHECK(rule.satisfied(chips));
  chips.clear();
  // Half-width t(n - 1) s / sqrt n with s = sqrt(n / (n - 1)) / 2: below 0.1 from n = 99 on.
  std::size_t first = 0;
  while (first == 0 && chips.size() < 200) {
    add(1, 0.5);
    if (rule.satisfied(chips)) first = chips.size();
  }
  CHECK(first >= 99);
  CHECK(first <= 102);
  CHECK(rule_of({"target.metric=nmse", "target.rel_halfwidth=0.02", "min_chips=10"})
            .satisfied({chips.begin(), chips.begin() + static_cast<std::ptrdiff_t>(first)}));
}

TEST_CASE("a sweep ends its points by their own chips") {
  const AdaptiveSweep sweep;
  const std::vector<std::string> args =
      with_target({"target.metric=element_error_rate", "target.abs_halfwidth=0.05", "min_chips=8",
                   "max_chips=300"});
  REQUIRE(sweep.sweep(args).code == 0);
  const std::string rows = read_text(sweep.rows);
  const std::string summary = summary_of(sweep.rows);
  const auto chips = sweep.chips_by_point();
  REQUIRE(chips.size() == 3);
  const Table points = parse_table(summary);
  REQUIRE(points.size() == 3);
  std::size_t fewest = 1000;
  std::size_t most = 0;
  for (const auto& point : points) {
    const std::size_t count = chips.at(point.at("imperfections.phase.fabrication_sigma_rad"));
    CHECK(point.at("chips") == std::to_string(count));
    const double half_width =
        (number(point, "element_error_rate_ci_hi") - number(point, "element_error_rate_ci_lo")) / 2;
    CHECK((half_width <= 0.05 || count == 300));
    fewest = std::min(fewest, count);
    most = std::max(most, count);
  }
  CHECK(fewest >= 8);
  CHECK(most > fewest);
  // Nothing depends on the workers, on a stop, or on running it again.
  for (const std::string threads : {"1", "5"}) {
    std::vector<std::string> more = args;
    more.insert(more.end(), {"--fresh", "--threads", threads});
    REQUIRE(sweep.sweep(more).code == 0);
    CHECK(read_text(sweep.rows) == rows);
    CHECK(summary_of(sweep.rows) == summary);
  }
  const std::vector<std::string> lines = lines_of(rows);
  for (const std::size_t kept :
       {std::size_t{1}, std::size_t{5}, fewest + 1, fewest + 2, lines.size() - 1}) {
    std::string head;
    for (std::size_t i = 0; i < kept; ++i) head += lines[i];
    write_text(sweep.rows, head + "torn");
    REQUIRE(sweep.sweep(args).code == 0);
    CHECK(read_text(sweep.rows) == rows);
    CHECK(summary_of(sweep.rows) == summary);
  }
  // Combining leaves it as it is, and finds nothing missing.
  const std::string combined = sweep.path("combined.csv");
  const CliRun merge = run({"combine", sweep.rows, "--out", combined});
  CHECK(merge.code == 0);
  CHECK(merge.err.empty());
  CHECK(read_text(combined) == rows);
  CHECK(summary_of(combined) == summary);
  // The same chips as a sweep of a fixed number has.
  const std::string fixed = sweep.path("fixed.csv");
  REQUIRE(sweep.sweep_to(fixed, {"--chips", "8"}).code == 0);
  for (std::size_t i = 1; i <= 8; ++i) CHECK(lines_of(read_text(fixed))[i] == lines[i]);
}

TEST_CASE("every kind of target, limit and count changes where points end") {
  const AdaptiveSweep sweep;
  const auto counts = [&](const std::vector<std::string>& settings) {
    std::vector<std::string> args = with_target(settings);
    args.emplace_back("--fresh");
    const CliRun result = sweep.sweep(args);
    INFO(result.err);
    REQUIRE(result.code == 0);
    return sweep.chips_by_point();
  };
  const std::string most = "max_chips=120";
  const auto base = counts({"target.metric=nmse", "target.rel_halfwidth=0.2", most});
  CHECK(base != counts({"target.metric=nmse", "target.rel_halfwidth=0.1", most}));
  CHECK(base != counts({"target.metric=nmse_p50", "target.rel_halfwidth=0.2", most}));
  CHECK(base != counts({"target.metric=cosine", "target.rel_halfwidth=0.2", most}));
  CHECK(base != counts({"target.metric=nmse", "target.rel_halfwidth=0.2", "min_chips=70", most}));
  CHECK(base != counts({"target.metric=nmse", "target.rel_halfwidth=0.2", "max_chips=31"}));
  // Either half-width suffices.
  const auto either =
      counts({"target.metric=nmse", "target.rel_halfwidth=0.2", "target.abs_halfwidth=1e9", most});
  for (const auto& [point, chips] : either) CHECK(chips == 30);
  // 1 - 0.025^(1/n), the width of the interval of a yield of 0 or 1, is below 0.1 from 36 on.
  const auto yield = counts({"target.metric=yield", "target.abs_halfwidth=0.05", most});
  for (const auto& [point, chips] : yield) CHECK(chips >= 36);
}

TEST_CASE("stopping rules that do not work are refused") {
  const AdaptiveSweep sweep;
  const auto refused = [&](const std::vector<std::string>& settings,
                           const std::vector<std::string>& more, const std::string& text) {
    std::vector<std::string> args = with_target(settings);
    args.insert(args.end(), more.begin(), more.end());
    const CliRun result = sweep.sweep(args);
    CAPTURE(result.err);
    CHECK(result.code == 2);
    CHECK_THAT(result.err, Catch::Contains(text));
  };
  const std::string target = "target.metric=nmse";
  const std::string narrow = "target.abs_halfwidth=0.1";
  refused({target}, {}, "half-width");
  refused({narrow}, {}, "target.metric is not");
  refused({"min_chips=5"}, {}, "target.metric is not");
  refused({"max_chips=5"}, {}, "target.metric is not");
  refused({target, narrow, "min_chips=20", "max_chips=10"}, {}, "above");
  refused({target, narrow, "chips=10"}, {}, "montecarlo.max_chips");
  refused({target, narrow}, {"--chips", "10"}, "montecarlo.max_chips");
  refused({target, narrow}, {"--shard", "0/2"}, "--shard");
  refused({target, narrow}, {"--shard", "0/2", "--dry-run"}, "--shard");
  refused({"target.metric=nmsee", narrow}, {}, "nmse");
  refused({target, "target.abs_halfwidth=0"}, {}, "abs_halfwidth");
  std::vector<std::string> dry = {"sweep", sweep.config, "--dry-run"};
  for (const std::string& arg : with_target({target, narrow})) dry.push_back(arg);
  CHECK_THAT(run(dry).out, Catch::Contains("3 points x at most 10000 chips"));
  // A file is continued by its own rule only.
  REQUIRE(sweep.sweep(with_target({target, narrow, "max_chips=30"})).code == 0);
  const CliRun other = sweep.sweep(with_target({target, narrow, "max_chips=40"}));
  CHECK(other.code == 3);
  CHECK_THAT(other.err, Catch::Contains("montecarlo.max_chips"));
}
