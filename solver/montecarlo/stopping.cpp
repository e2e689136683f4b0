// SPDX-License-Identifier: Apache-2.0
#include "solver/montecarlo/stopping.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "solver/error.hpp"
#include "solver/interval.hpp"
#include "solver/montecarlo/chip_result.hpp"
#include "solver/montecarlo/summary.hpp"
#include "solver/text.hpp"

namespace optinc {

namespace {

constexpr const char* target_key = "montecarlo.target.metric";

std::optional<double> optional_real(const ResolvedConfig& config, const std::string& path) {
  if (!config.has(path)) return std::nullopt;
  return config.real(path);
}

/// Ending of a name that asks for a quantile, as in the summary file.
std::optional<double> quantile_of(const std::string& name) {
  for (const auto& [suffix, probability] :
       {std::pair{"_p05", 0.05}, std::pair{"_p50", 0.50}, std::pair{"_p95", 0.95}}) {
    if (name.ends_with(suffix)) return probability;
  }
  return std::nullopt;
}

std::vector<double> finite_values(const std::vector<std::vector<double>>& chips,
                                  std::size_t metric) {
  std::vector<double> values;
  for (const std::vector<double>& chip : chips) {
    if (std::isfinite(chip[metric])) values.push_back(chip[metric]);
  }
  return values;
}

}  // namespace

std::optional<StoppingRule> StoppingRule::of(const ResolvedConfig& config) {
  if (!config.has(target_key)) return std::nullopt;
  StoppingRule rule;
  rule.min_chips_ = static_cast<std::uint64_t>(config.integer("montecarlo.min_chips"));
  rule.max_chips_ = static_cast<std::uint64_t>(config.integer("montecarlo.max_chips"));
  rule.abs_halfwidth_ = optional_real(config, "montecarlo.target.abs_halfwidth");
  rule.rel_halfwidth_ = optional_real(config, "montecarlo.target.rel_halfwidth");
  rule.yield_limit_ = config.real("report.yield_limit");
  rule.set_target(config.text(target_key));
  return rule;
}

void StoppingRule::set_target(const std::string& name) {
  if (name == "yield") {
    statistic_ = Statistic::yield;
    return;
  }
  std::string metric = name;
  if (const std::optional<double> probability = quantile_of(name)) {
    statistic_ = Statistic::quantile;
    probability_ = *probability;
    metric.resize(name.size() - std::string("_p05").size());
  }
  std::vector<std::string> known = {"yield"};
  for (const MetricColumn& column : metric_table()) {
    if (column.column.name == metric) {
      metric_ = known.size() - 1;
      return;
    }
    known.push_back(column.column.name);
  }
  throw ConfigError(
      fmt::format("{} = \"{}\" is no metric (did you mean '{}'? \"yield\", a metric "
                  "of `optinc schema`, or one with _p05, _p50 or _p95)",
                  target_key, name, nearest_name(metric, known)));
}

bool StoppingRule::looks_after(std::uint64_t chips) const {
  std::uint64_t look = min_chips_;
  while (look < chips) look += std::max<std::uint64_t>(1, look / 50);
  return look == chips;
}

bool StoppingRule::narrow(double estimate, double half_width) const {
  return (abs_halfwidth_ && half_width <= *abs_halfwidth_) ||
         (rel_halfwidth_ && half_width <= *rel_halfwidth_ * std::abs(estimate));
}

bool StoppingRule::satisfied(const std::vector<std::vector<double>>& chips) const {
  if (!looks_after(chips.size())) return false;
  if (statistic_ == Statistic::yield) {
    const std::uint64_t good = good_chips(chips, yield_limit_);
    const double yield = static_cast<double>(good) / static_cast<double>(chips.size());
    return narrow(yield, clopper_pearson(good, chips.size()).half_width());
  }
  std::vector<double> values = finite_values(chips, metric_);
  if (statistic_ == Statistic::mean) {
    const MetricSummary summary = summarise(std::move(values), metric_table()[metric_].kind);
    return narrow(summary.mean, Interval{summary.ci_lo, summary.ci_hi}.half_width());
  }
  if (values.empty()) return false;
  std::sort(values.begin(), values.end());
  const Interval interval = quantile_interval(values, probability_);
  return narrow(quantile(values, probability_), interval.half_width());
}

}  // namespace optinc
