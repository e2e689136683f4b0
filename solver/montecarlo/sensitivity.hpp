// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include <Eigen/Core>

#include "solver/interval.hpp"

namespace optinc {

/// Points of the unit cube for Sobol indices (Saltelli et al., Comput. Phys. Commun. 181, 259,
/// 2010): two samples A and B of the same size, [sample, factor], from one Sobol sequence of twice
/// the factors. Its first point, the origin, is left out.
struct SaltelliDesign {
  Eigen::MatrixXd a;
  Eigen::MatrixXd b;

  /// Points of one sample: of A, of B, then of A with one factor from B, factor by factor.
  std::size_t points_per_sample() const { return static_cast<std::size_t>(a.cols()) + 2; }
  Eigen::RowVectorXd point(std::size_t sample, std::size_t index) const;
};

/// Args: samples, a power of two keeps the points balanced; factors, 1 to 50.
SaltelliDesign saltelli_design(std::size_t samples, std::size_t factors);

/// Shares of the variance of a model, each with its 95 % interval.
struct SobolIndex {
  double first{};  ///< by that factor alone
  double total{};  ///< by that factor and its interactions
  Interval first_interval;
  Interval total_interval;
};

/// The indices of every factor. Args: values, of the model, [sample, point of the sample] in the
/// order of SaltelliDesign::point; seed, of the resampling. First order as Saltelli et al. 2010
/// (table 2 b) of values less their mean, total as Jansen (Comput. Phys. Commun. 117, 35, 1999).
/// Intervals: 2.5 % to 97.5 % of 1000 bootstrap samples of rows. NaN where nothing varies.
std::vector<SobolIndex> sobol_indices(const Eigen::MatrixXd& values, std::uint64_t seed);

}  // namespace optinc
