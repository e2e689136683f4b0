// SPDX-License-Identifier: Apache-2.0
#include "solver/montecarlo/summary.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <boost/math/distributions/binomial.hpp>

namespace optinc {

namespace {

constexpr double undefined = std::numeric_limits<double>::quiet_NaN();
Interval mean_interval(MetricKind kind, double mean, double standard_error, double count) {
  if (kind == MetricKind::value) return student_interval(mean, standard_error, count - 1);
  return clustered_rate_interval(
      {.rate = mean, .variance = standard_error * standard_error, .units = count});
}

}  // namespace

double quantile(const std::vector<double>& sorted, double probability) {
  const double position = probability * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  const double fraction = position - static_cast<double>(below);
  return sorted[below] + (sorted[above] - sorted[below]) * fraction;
}

MetricSummary summarise(std::vector<double> values, MetricKind kind) {
  std::erase_if(values, [](double value) { return !std::isfinite(value); });
  if (values.empty()) {
    return {undefined, undefined, undefined, undefined, undefined, undefined, undefined};
  }
  const auto count = static_cast<double>(values.size());
  double sum = 0;
  for (const double value : values) sum += value;
  const double mean = sum / count;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  MetricSummary summary{mean, undefined, undefined, undefined, 0, 0, 0};
  if (values.size() > 1) {
    summary.std = std::sqrt(squares / (count - 1));
    const Interval interval = mean_interval(kind, mean, summary.std / std::sqrt(count), count);
    summary.ci_lo = interval.lo;
    summary.ci_hi = interval.hi;
  }
  std::sort(values.begin(), values.end());
  summary.p05 = quantile(values, 0.05);
  summary.p50 = quantile(values, 0.50);
  summary.p95 = quantile(values, 0.95);
  return summary;
}

Interval quantile_interval(const std::vector<double>& sorted, double probability) {
  constexpr double tail = 0.025;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  // The number of values below the quantile is binomial.
  const boost::math::binomial_distribution<double> below(static_cast<double>(sorted.size()),
                                                         probability);
  Interval interval{.lo = -infinity, .hi = infinity};
  for (std::size_t rank = 0; rank < sorted.size(); ++rank) {
    const double cumulative = boost::math::cdf(below, static_cast<double>(rank));
    if (cumulative <= tail) interval.lo = sorted[rank];
    if (cumulative < 1 - tail) continue;
    interval.hi = sorted[rank];
    break;
  }
  return interval;
}

std::uint64_t good_chips(const std::vector<std::vector<double>>& chips, double yield_limit) {
  return static_cast<std::uint64_t>(std::count_if(
      chips.begin(), chips.end(),
      [&](const std::vector<double>& metrics) { return metrics.front() < yield_limit; }));
}

const std::vector<std::string>& summary_suffixes() {
  static const std::vector<std::string> suffixes = {"mean", "std", "ci_lo", "ci_hi",
                                                    "p05",  "p50", "p95"};
  return suffixes;
}

std::vector<double> summary_values(const MetricSummary& summary) {
  return {summary.mean, summary.std, summary.ci_lo, summary.ci_hi,
          summary.p05,  summary.p50, summary.p95};
}

}  // namespace optinc
