// SPDX-License-Identifier: Apache-2.0
#include "tests/support/haar.hpp"

#include <complex>
#include <random>

#include <Eigen/QR>

namespace optinc::testing {

namespace {

Eigen::MatrixXcd haar_from(const Eigen::MatrixXcd& gaussian) {
  const Eigen::HouseholderQR<Eigen::MatrixXcd> factors(gaussian);
  Eigen::MatrixXcd unitary = factors.householderQ();
  for (Eigen::Index column = 0; column < unitary.cols(); ++column) {
    const std::complex<double> entry = factors.matrixQR()(column, column);
    unitary.col(column) *= entry / std::abs(entry);
  }
  return unitary;
}

}  // namespace

Eigen::MatrixXcd haar_unitary(int modes, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::normal_distribution<double> normal;
  Eigen::MatrixXcd gaussian(modes, modes);
  for (std::complex<double>& entry : gaussian.reshaped()) {
    entry.real(normal(engine));
    entry.imag(normal(engine));
  }
  return haar_from(gaussian);
}

Eigen::MatrixXd haar_orthogonal(int modes, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::normal_distribution<double> normal;
  Eigen::MatrixXd gaussian(modes, modes);
  for (double& entry : gaussian.reshaped()) entry = normal(engine);
  return haar_from(gaussian).real();
}

}  // namespace optinc::testing
