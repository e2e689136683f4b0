// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "solver/interval.hpp"

namespace optinc {

/// Summary of one metric over the chips of a point, over its finite values; what is not defined
/// for so few of them is NaN.
struct MetricSummary {
  double mean{};
  double std{};    ///< sample standard deviation (n - 1)
  double ci_lo{};  ///< 95 % interval of the mean
  double ci_hi{};
  double p05{};  ///< quantiles
  double p50{};
  double p95{};
};

/// What a metric is, which decides on the interval of its mean.
enum class MetricKind {
  value,  ///< Student t
  rate,   ///< a share of elements, 0..1: clustered_rate_interval, the chips being the units
};

MetricSummary summarise(std::vector<double> values, MetricKind kind);

/// Quantile of sorted values, linear between order statistics (Hyndman-Fan type 7).
double quantile(const std::vector<double>& sorted, double probability);

/// Interval of a quantile of the distribution behind `sorted` that holds for every continuous
/// distribution: the order statistics whose ranks enclose it with 95 % (binomial). An end that so
/// few values do not give is infinite.
Interval quantile_interval(const std::vector<double>& sorted, double probability);

/// How many chips count towards the yield. Args: chips, the metrics of each in column order.
std::uint64_t good_chips(const std::vector<std::vector<double>>& chips, double yield_limit);

/// Suffixes of the summary columns of a metric, in file order: mean, std, ci_lo, ...
const std::vector<std::string>& summary_suffixes();

/// The numbers behind those suffixes.
std::vector<double> summary_values(const MetricSummary& summary);

}  // namespace optinc
