// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace optinc {

/// Ends of a 95 % confidence interval.
struct Interval {
  double lo{};
  double hi{};

  double half_width() const { return (hi - lo) / 2; }
};

/// Exact interval of a rate (Clopper and Pearson, Biometrika 26, 404, 1934).
/// Args: successes of trials, trials >= 1.
Interval clopper_pearson(std::uint64_t successes, std::uint64_t trials);

/// Student t interval of a mean. Args: standard_error of `mean`; degrees_of_freedom >= 1.
Interval student_interval(double mean, double standard_error, double degrees_of_freedom);

/// A rate that is the mean of shares observed on sampling units (chips, or elements of a sample),
/// which may be equal within a unit.
struct SampledRate {
  double rate{};
  double variance{};  ///< estimated, of `rate`
  double units{};     ///< number of sampling units, at least 2
};

/// Interval of such a rate (Korn and Graubard, Survey Methodology 24, 193, 1998): Clopper-Pearson
/// with the number of independent trials that has the observed variance, rate (1 - rate) /
/// variance, times (z / t)^2 for the degrees of freedom, units - 1. A rate of 0 or 1 without
/// variance counts as one trial per unit, as if each were all right or all wrong; another rate
/// without variance is known exactly.
Interval clustered_rate_interval(const SampledRate& sample);

}  // namespace optinc
