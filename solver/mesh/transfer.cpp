// SPDX-License-Identifier: Apache-2.0
#include "solver/mesh/transfer.hpp"

#include <complex>

namespace optinc {

Eigen::Matrix2cd to_matrix(const Transfer2x2<double>& transfer) {
  const auto entry = [](Complex<double> value) { return std::complex<double>(value.re, value.im); };
  Eigen::Matrix2cd matrix;
  matrix << entry(transfer.m11), entry(transfer.m12), entry(transfer.m21), entry(transfer.m22);
  return matrix;
}

Eigen::Matrix2cd mzi_matrix(const MziState<double>& mzi_state) { return to_matrix(mzi(mzi_state)); }

}  // namespace optinc
