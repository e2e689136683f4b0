// SPDX-License-Identifier: Apache-2.0
#include "solver/montecarlo/chip_statistic.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "solver/error.hpp"
#include "solver/montecarlo/chip_result.hpp"
#include "solver/text.hpp"

namespace optinc {

namespace {

constexpr double no_value = std::numeric_limits<double>::quiet_NaN();

/// Ending of a name that asks for a quantile, as in the summary file.
std::optional<double> quantile_of(const std::string& name) {
  for (const auto& [suffix, probability] :
       {std::pair{"_p05", 0.05}, std::pair{"_p50", 0.50}, std::pair{"_p95", 0.95}}) {
    if (name.ends_with(suffix)) return probability;
  }
  return std::nullopt;
}

std::vector<double> finite_values(const std::vector<std::vector<double>>& chips,
                                  std::size_t column) {
  std::vector<double> values;
  for (const std::vector<double>& chip : chips) {
    if (std::isfinite(chip[column])) values.push_back(chip[column]);
  }
  return values;
}

}  // namespace

ChipStatistic::ChipStatistic(const std::string& name, double yield_limit, const std::string& source)
    : metric_(name), yield_limit_(yield_limit) {
  if (name == "yield") {
    kind_ = Kind::yield;
    return;
  }
  if (const std::optional<double> probability = quantile_of(name)) {
    kind_ = Kind::quantile;
    probability_ = *probability;
    metric_.resize(name.size() - std::string("_p05").size());
  }
  set_column(name, source);
}

void ChipStatistic::set_column(const std::string& name, const std::string& source) {
  std::vector<std::string> known = {"yield"};
  for (const MetricColumn& column : metric_table()) {
    if (column.column.name == metric_) {
      column_ = known.size() - 1;
      return;
    }
    known.push_back(column.column.name);
  }
  throw ConfigError(
      fmt::format("{} = \"{}\" is no metric (did you mean '{}'? \"yield\", a metric "
                  "of `optinc schema`, or one with _p05, _p50 or _p95)",
                  source, name, nearest_name(metric_, known)));
}

StatisticEstimate ChipStatistic::estimate(const std::vector<std::vector<double>>& chips) const {
  return estimate_as(metric_table()[column_].kind, chips);
}

StatisticEstimate ChipStatistic::student_estimate(
    const std::vector<std::vector<double>>& chips) const {
  return estimate_as(MetricKind::value, chips);
}

StatisticEstimate ChipStatistic::estimate_as(MetricKind kind,
                                             const std::vector<std::vector<double>>& chips) const {
  if (kind_ == Kind::yield) {
    const std::uint64_t good = good_chips(chips, yield_limit_);
    return {.value = static_cast<double>(good) / static_cast<double>(chips.size()),
            .interval = clopper_pearson(good, chips.size())};
  }
  std::vector<double> values = finite_values(chips, column_);
  if (kind_ == Kind::mean) {
    const MetricSummary summary = summarise(std::move(values), kind);
    return {.value = summary.mean, .interval = {.lo = summary.ci_lo, .hi = summary.ci_hi}};
  }
  if (values.empty()) return {.value = no_value, .interval = {no_value, no_value}};
  std::sort(values.begin(), values.end());
  return {.value = quantile(values, probability_),
          .interval = quantile_interval(values, probability_)};
}

}  // namespace optinc
