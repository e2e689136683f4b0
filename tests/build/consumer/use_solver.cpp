// SPDX-License-Identifier: Apache-2.0
#include "solver/backend/registry.hpp"
#include "solver/mesh/decomposition.hpp"

int main() {
  const Eigen::MatrixXcd swap = Eigen::Matrix2cd{{0, 1}, {1, 0}};
  const optinc::BackendRegistry registry({optinc::reference_backend_entry()});
  const auto backend = registry.create("reference", optinc::Precision::f64);
  const auto mesh = optinc::ideal_state(optinc::decompose(swap));
  return (backend->compose(mesh) - swap).norm() < 1e-12 ? 0 : 1;
}
