// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace optinc {

/// Summary of one metric over the chips of a point, over its finite values; what is not defined
/// for so few of them is NaN.
struct MetricSummary {
  double mean{};
  double std{};    ///< sample standard deviation (n - 1)
  double ci_lo{};  ///< 95 % Student t interval of the mean
  double ci_hi{};
  double p05{};  ///< quantiles, linear between order statistics (Hyndman-Fan type 7)
  double p50{};
  double p95{};
};

MetricSummary summarise(std::vector<double> values);

struct Interval {
  double lo{};
  double hi{};
};

/// 95 % Clopper-Pearson interval of a rate.
Interval clopper_pearson(std::uint64_t successes, std::uint64_t trials);

/// Suffixes of the summary columns of a metric, in file order: mean, std, ci_lo, ...
const std::vector<std::string>& summary_suffixes();

/// The numbers behind those suffixes.
std::vector<double> summary_values(const MetricSummary& summary);

}  // namespace optinc
