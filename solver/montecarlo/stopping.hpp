// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "solver/config/sweep_config.hpp"
#include "solver/montecarlo/chip_statistic.hpp"

namespace optinc {

/// When a sweep point has chips enough: once the 95 % interval of a number over them is narrow.
/// Looks at min_chips, then each time the number of chips grew by 2 %, so that neither the time nor
/// the error rate of the interval grows with the number of looks as it would after every chip.
class StoppingRule {
 public:
  /// The rule of a configuration, none where montecarlo.target.metric is not given. Throws
  /// ConfigError for an unknown metric.
  static std::optional<StoppingRule> of(const ResolvedConfig& config);

  std::uint64_t max_chips() const { return max_chips_; }

  /// Whether chips 0 .. n - 1 are enough. Args: chips, the metrics of each in column order.
  bool satisfied(const std::vector<std::vector<double>>& chips) const;

 private:
  explicit StoppingRule(ChipStatistic target) : target_(std::move(target)) {}
  bool looks_after(std::uint64_t chips) const;
  bool narrow(double estimate, double half_width) const;

  ChipStatistic target_;
  std::uint64_t min_chips_ = 0;
  std::uint64_t max_chips_ = 0;
  std::optional<double> abs_halfwidth_;
  std::optional<double> rel_halfwidth_;
};

}  // namespace optinc
