// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>

#include <Eigen/Core>

#include "devices/mzi.hpp"

namespace optinc {

/// Amplitudes of a unitary at or below this are rounding residue and count as zero.
inline constexpr double amplitude_residue = 16 * std::numeric_limits<double>::epsilon();

/// A two-mode transfer as a matrix, element [out][in], mode 0 the upper one.
Eigen::Matrix2cd to_matrix(const Transfer2x2<double>& transfer);

/// Transfer matrix of one MZI, element [out][in], mode 0 the upper one.
Eigen::Matrix2cd mzi_matrix(const MziState<double>& mzi_state);

}  // namespace optinc
