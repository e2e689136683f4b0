// SPDX-License-Identifier: Apache-2.0
#include "solver/interval.hpp"

#include <algorithm>
#include <cmath>

#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <boost/math/special_functions/beta.hpp>
#include <boost/math/special_functions/gamma.hpp>

namespace optinc {

namespace {

constexpr double tail = 0.025;

double student_quantile(double degrees_of_freedom) {
  const boost::math::students_t distribution(degrees_of_freedom);
  return boost::math::quantile(boost::math::complement(distribution, tail));
}

/// Clopper-Pearson limits for numbers that need not be whole.
Interval beta_interval(double successes, double trials) {
  // The limit is about tail^(1 / successes): below this count no double, and none that Boost finds.
  constexpr double smallest_count = 1e-3;
  // Few among very many: Poisson's limits, where Boost's beta quantiles fail.
  constexpr double very_many = 1e7;
  if (trials > very_many && successes < very_many * 1e-2) {
    return {
        .lo = successes < smallest_count ? 0 : boost::math::gamma_p_inv(successes, tail) / trials,
        .hi = boost::math::gamma_q_inv(successes + 1, tail) / trials};
  }
  const double failures = std::max(trials - successes, 0.0);
  return {
      .lo = successes < smallest_count ? 0 : boost::math::ibeta_inv(successes, failures + 1, tail),
      .hi = failures < smallest_count ? 1 : boost::math::ibetac_inv(successes + 1, failures, tail)};
}

}  // namespace

Interval clopper_pearson(std::uint64_t successes, std::uint64_t trials) {
  return beta_interval(static_cast<double>(successes), static_cast<double>(trials));
}

Interval student_interval(double mean, double standard_error, double degrees_of_freedom) {
  const double half_width = student_quantile(degrees_of_freedom) * standard_error;
  return {mean - half_width, mean + half_width};
}

Interval clustered_rate_interval(const SampledRate& sample) {
  const double rate = std::clamp(sample.rate, 0.0, 1.0);
  if (rate == 0 || rate == 1) return beta_interval(rate * sample.units, sample.units);
  if (sample.variance <= 0) return {rate, rate};
  const double z = boost::math::quantile(boost::math::complement(boost::math::normal(), tail));
  const double shrink = z / student_quantile(sample.units - 1);
  const double trials = shrink * shrink * rate * (1 - rate) / sample.variance;
  // Where the interval is a normal one, the beta quantiles are too, or are not found at all.
  constexpr double normal_counts = 1e5;
  if (std::min(rate, 1 - rate) * trials > normal_counts) {
    return student_interval(rate, std::sqrt(sample.variance), sample.units - 1);
  }
  return beta_interval(rate * trials, trials);
}

}  // namespace optinc
