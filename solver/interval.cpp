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

constexpr double normal_counts = 1e5;  // from which on an interval of a count is a normal one

/// Limits of the rate of a few among very many: Poisson's.
Interval poisson_interval(double count, double trials) {
  // The lower limit is about tail^(1 / count): below this no double, and none that Boost finds.
  constexpr double smallest_count = 1e-3;
  return {.lo = count < smallest_count ? 0 : boost::math::gamma_p_inv(count, tail) / trials,
          .hi = boost::math::gamma_q_inv(count + 1, tail) / trials};
}

/// Clopper-Pearson limits for numbers that need not be whole.
Interval beta_interval(double successes, double trials) {
  // From here on Boost's beta quantiles fail where one of the numbers is small.
  constexpr double very_many = 1e7;
  const double failures = std::max(trials - successes, 0.0);
  if (trials > very_many && successes < normal_counts) return poisson_interval(successes, trials);
  if (trials > very_many && failures < normal_counts) {
    const Interval failing = poisson_interval(failures, trials);
    return {.lo = 1 - failing.hi, .hi = 1 - failing.lo};
  }
  return {.lo = successes <= 0 ? 0 : boost::math::ibeta_inv(successes, failures + 1, tail),
          .hi = failures <= 0 ? 1 : boost::math::ibetac_inv(successes + 1, failures, tail)};
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
  if (std::min(rate, 1 - rate) * trials > normal_counts) {
    return student_interval(rate, std::sqrt(sample.variance), sample.units - 1);
  }
  return beta_interval(rate * trials, trials);
}

}  // namespace optinc
