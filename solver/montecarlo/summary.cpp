// SPDX-License-Identifier: Apache-2.0
#include "solver/montecarlo/summary.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <boost/math/distributions/binomial.hpp>
#include <boost/math/distributions/students_t.hpp>

namespace optinc {

namespace {

constexpr double undefined = std::numeric_limits<double>::quiet_NaN();
constexpr double tail = 0.025;

double quantile(const std::vector<double>& sorted, double probability) {
  const double position = probability * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  const double fraction = position - static_cast<double>(below);
  return sorted[below] + (sorted[above] - sorted[below]) * fraction;
}

}  // namespace

MetricSummary summarise(std::vector<double> values) {
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
    const boost::math::students_t distribution(count - 1);
    const double half_width = boost::math::quantile(boost::math::complement(distribution, tail)) *
                              summary.std / std::sqrt(count);
    summary.ci_lo = mean - half_width;
    summary.ci_hi = mean + half_width;
  }
  std::sort(values.begin(), values.end());
  summary.p05 = quantile(values, 0.05);
  summary.p50 = quantile(values, 0.50);
  summary.p95 = quantile(values, 0.95);
  return summary;
}

Interval clopper_pearson(std::uint64_t successes, std::uint64_t trials) {
  using Binomial = boost::math::binomial_distribution<double>;
  const auto all = static_cast<double>(trials);
  const auto good = static_cast<double>(successes);
  return {Binomial::find_lower_bound_on_p(all, good, tail),
          Binomial::find_upper_bound_on_p(all, good, tail)};
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
