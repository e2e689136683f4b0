// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "solver/interval.hpp"
#include "solver/montecarlo/summary.hpp"

namespace optinc {

/// A number over chips with its 95 % interval; NaN where so few chips do not define it.
struct StatisticEstimate {
  double value{};
  Interval interval;
};

/// A number over the chips of a sweep point: the mean of a metric, a quantile of it, or the yield.
class ChipStatistic {
 public:
  /// Args: name, "yield", a metric (its mean), or one with _p05, _p50 or _p95 (its quantile);
  /// yield_limit, as report.yield_limit; source, what gave the name, for the message. Throws
  /// ConfigError for an unknown metric.
  ChipStatistic(const std::string& name, double yield_limit, const std::string& source);

  /// The metric behind: "cosine" of "cosine_p05", or "yield".
  const std::string& metric() const { return metric_; }

  /// Args: chips, the metrics of each in column order. Intervals: of a mean as in the summary file
  /// (chips are the units, so that errors which come together in a chip count once), of a quantile
  /// by order statistics, of the yield Clopper-Pearson.
  StatisticEstimate estimate(const std::vector<std::vector<double>>& chips) const;

  /// The same, with the interval of every mean Student's, also of a rate: where all chips agree it
  /// has no width.
  StatisticEstimate student_estimate(const std::vector<std::vector<double>>& chips) const;

 private:
  enum class Kind { mean, quantile, yield };

  StatisticEstimate estimate_as(MetricKind kind,
                                const std::vector<std::vector<double>>& chips) const;
  void set_column(const std::string& name, const std::string& source);

  Kind kind_ = Kind::mean;
  std::string metric_;
  std::size_t column_ = 0;
  double probability_ = 0;  ///< of the quantile
  double yield_limit_ = 0;
};

}  // namespace optinc
