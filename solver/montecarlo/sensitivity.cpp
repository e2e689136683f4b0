// SPDX-License-Identifier: Apache-2.0
#include "solver/montecarlo/sensitivity.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include <boost/random/sobol.hpp>

#include "solver/montecarlo/summary.hpp"

namespace optinc {

namespace {

constexpr Eigen::Index point_a = 0;
constexpr Eigen::Index point_b = 1;
constexpr Eigen::Index first_mixed = 2;

struct Estimates {
  Eigen::ArrayXd first;
  Eigen::ArrayXd total;
};

Estimates estimates_of(const Eigen::ArrayXXd& values) {
  const Eigen::Index factors = values.cols() - first_mixed;
  const auto both = values.leftCols(first_mixed);
  const double mean = both.mean();
  const double variance = (both - mean).square().mean();
  const Eigen::ArrayXd a = values.col(point_a);
  const Eigen::ArrayXd b = values.col(point_b) - mean;
  Estimates result{.first = Eigen::ArrayXd(factors), .total = Eigen::ArrayXd(factors)};
  for (Eigen::Index factor = 0; factor < factors; ++factor) {
    const Eigen::ArrayXd change = values.col(first_mixed + factor) - a;
    result.first(factor) = (b * change).mean() / variance;
    result.total(factor) = change.square().mean() / 2 / variance;
  }
  return result;
}

/// 2.5 % to 97.5 % of the finite ones.
Interval percentiles(const Eigen::ArrayXd& resampled) {
  constexpr double tail = 0.025;
  std::vector<double> sorted(resampled.begin(), resampled.end());
  std::erase_if(sorted, [](double value) { return !std::isfinite(value); });
  if (sorted.empty()) {
    constexpr double undefined = std::numeric_limits<double>::quiet_NaN();
    return {.lo = undefined, .hi = undefined};
  }
  std::sort(sorted.begin(), sorted.end());
  return {.lo = quantile(sorted, tail), .hi = quantile(sorted, 1 - tail)};
}

}  // namespace

Eigen::RowVectorXd SaltelliDesign::point(std::size_t sample, std::size_t index) const {
  const auto row = static_cast<Eigen::Index>(sample);
  const auto column = static_cast<Eigen::Index>(index);
  if (column == point_b) return b.row(row);
  Eigen::RowVectorXd result = a.row(row);
  if (column >= first_mixed) result(column - first_mixed) = b(row, column - first_mixed);
  return result;
}

SaltelliDesign saltelli_design(std::size_t samples, std::size_t factors) {
  // The generator gives one coordinate after another and begins behind the origin.
  boost::random::sobol sequence(2 * factors);
  const double scale = static_cast<double>(boost::random::sobol::max()) + 1;
  const auto rows = static_cast<Eigen::Index>(samples);
  const auto columns = static_cast<Eigen::Index>(factors);
  SaltelliDesign design{.a = Eigen::MatrixXd(rows, columns), .b = Eigen::MatrixXd(rows, columns)};
  for (Eigen::Index row = 0; row < rows; ++row) {
    for (auto* half : {&design.a, &design.b}) {
      for (Eigen::Index column = 0; column < columns; ++column) {
        (*half)(row, column) = static_cast<double>(sequence()) / scale;
      }
    }
  }
  return design;
}

std::vector<SobolIndex> sobol_indices(const Eigen::MatrixXd& values, std::uint64_t seed) {
  constexpr Eigen::Index resamples = 1000;
  const Eigen::Index factors = values.cols() - first_mixed;
  const Estimates all = estimates_of(values.array());
  Eigen::ArrayXXd first(resamples, factors);
  Eigen::ArrayXXd total(resamples, factors);
  std::mt19937_64 random(seed);
  Eigen::ArrayXXd drawn(values.rows(), values.cols());
  for (Eigen::Index resample = 0; resample < resamples; ++resample) {
    for (Eigen::Index row = 0; row < values.rows(); ++row) {
      const auto chosen =
          static_cast<Eigen::Index>(random() % static_cast<std::uint64_t>(values.rows()));
      drawn.row(row) = values.row(chosen).array();
    }
    const Estimates estimates = estimates_of(drawn);
    first.row(resample) = estimates.first.transpose();
    total.row(resample) = estimates.total.transpose();
  }
  std::vector<SobolIndex> indices;
  for (Eigen::Index factor = 0; factor < factors; ++factor) {
    indices.push_back({.first = all.first(factor),
                       .total = all.total(factor),
                       .first_interval = percentiles(first.col(factor)),
                       .total_interval = percentiles(total.col(factor))});
  }
  return indices;
}

}  // namespace optinc
