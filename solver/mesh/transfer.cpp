// SPDX-License-Identifier: Apache-2.0
#include "solver/mesh/transfer.hpp"

#include <cmath>
#include <complex>
#include <numbers>

namespace optinc {

double wrap_rad(double angle_rad) {
  constexpr double turn_rad = 2.0 * std::numbers::pi;
  double wrapped_rad = std::fmod(angle_rad, turn_rad);
  if (wrapped_rad < 0) wrapped_rad += turn_rad;
  return wrapped_rad < turn_rad ? wrapped_rad : 0.0;
}

Eigen::Matrix2cd to_matrix(const Transfer2x2<double>& transfer) {
  const auto entry = [](Complex<double> value) { return std::complex<double>(value.re, value.im); };
  Eigen::Matrix2cd matrix;
  matrix << entry(transfer.m11), entry(transfer.m12), entry(transfer.m21), entry(transfer.m22);
  return matrix;
}

Eigen::Matrix2cd mzi_matrix(const MziState<double>& mzi_state) { return to_matrix(mzi(mzi_state)); }

}  // namespace optinc
