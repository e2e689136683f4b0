// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "solver/interval.hpp"
#include "solver/montecarlo/chip_statistic.hpp"

namespace optinc {

/// Which side of its limit a metric has to stay on.
enum class LimitSense { at_most, at_least };

/// The side of a metric of `optinc schema` or "yield"; none for one that is not better one way
/// (bias_lsb, contraction,
/// decoded_zero_share).
std::optional<LimitSense> limit_sense(const std::string& metric);

/// What a metric must keep to. A metric that is not defined does not keep to it.
struct MetricLimit {
  double limit{};
  LimitSense sense{};

  bool kept(double value) const {
    return sense == LimitSense::at_most ? value <= limit : value >= limit;
  }
  /// The end of an interval of the metric that keeps to the limit less easily.
  double worse_end(const Interval& interval) const {
    return sense == LimitSense::at_most ? interval.hi : interval.lo;
  }
  double better_end(const Interval& interval) const {
    return sense == LimitSense::at_most ? interval.lo : interval.hi;
  }
};

enum class ToleranceOutcome {
  found,
  none,   ///< the limit is missed with the imperfection off already
  below,  ///< the mildest step misses it already, off does not
  never,  ///< the strongest step still keeps to it
};

/// Where a metric leaves its limit, in steps of the strength of an imperfection, 0 the mildest.
/// A step that is not there: for `kept` off alone keeps to the limit (or, with `none`, nothing
/// does), for `missed` no step misses it.
struct Tolerance {
  ToleranceOutcome outcome{};
  std::optional<std::size_t> kept;    ///< largest step up to which the metric keeps to the limit
  std::optional<std::size_t> missed;  ///< the next step
  std::optional<std::size_t> surely_kept;    ///< `kept` for the worse end of the metric's interval
  std::optional<std::size_t> surely_missed;  ///< `missed` for the better end
  StatisticEstimate off;                     ///< the metric with the imperfection off
  StatisticEstimate at_kept;                 ///< at `kept`, or off
  bool monotone = true;  ///< false: a step above one that misses the limit keeps to it
  std::size_t evaluations = 0;
};

/// The metric at a step, or with the imperfection off.
using ToleranceProbe = std::function<StatisticEstimate(std::optional<std::size_t> step)>;

/// Finds it by bisection between the first of eight evenly spread steps that misses the limit and
/// the one before; likewise for both ends of the metric's interval, which gives an interval of the
/// tolerance. With the same chips at every step chance moves all steps alike. Each step is probed
/// once. Args: last_step, the strongest.
Tolerance find_tolerance(const ToleranceProbe& probe, std::size_t last_step,
                         const MetricLimit& limit);

}  // namespace optinc
