// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>
#include <cstddef>
#include <numbers>

#include <Eigen/Core>

#include "solver/mesh/program.hpp"

namespace optinc::testing {

/// The MZI of the design as a product of textbook matrices, independent of `devices/`.
inline Eigen::Matrix2cd dense_mzi(const MziState<double>& state) {
  using std::complex;
  const complex<double> i(0, 1);
  const auto splitter = [&](double angle_rad) {
    Eigen::Matrix2cd matrix;
    matrix << std::cos(angle_rad), i * std::sin(angle_rad), i * std::sin(angle_rad),
        std::cos(angle_rad);
    return matrix;
  };
  const auto arms = [&](const Arm<double>& upper, double phase_rad, const Arm<double>& lower) {
    Eigen::Matrix2cd matrix = Eigen::Matrix2cd::Zero();
    matrix(0, 0) = upper.amplitude_transmission * std::exp(i * (upper.phase_rad + phase_rad));
    matrix(1, 1) = lower.amplitude_transmission * std::exp(i * lower.phase_rad);
    return matrix;
  };
  const double balanced_rad = std::numbers::pi / 4;
  const Eigen::Matrix2cd standard =
      splitter(balanced_rad + state.beta_rad) *
      arms(state.internal_upper, state.theta_rad, state.internal_lower) *
      splitter(balanced_rad + state.alpha_rad) *
      arms(state.input_upper, state.phi_rad, state.input_lower);
  if (state.kind == MziKind::three_splitter) {
    return standard * splitter(balanced_rad + state.gamma_rad);
  }
  Eigen::Matrix2cd crossing;
  crossing << 0, 1, 1, 0;
  return state.kind == MziKind::crossing ? crossing * standard : standard;
}

/// Transfer matrix of a mesh as a product of full N x N matrices: the oracle of the column sweep.
inline Eigen::MatrixXcd dense_mesh(const MeshState& mesh) {
  Eigen::MatrixXcd product = Eigen::MatrixXcd::Identity(mesh.topology.modes, mesh.topology.modes);
  std::size_t flat_index = 0;
  for (const MeshColumn& column : mesh.topology.columns) {
    for (int i = 0; i < column.mzi_count; ++i) {
      Eigen::MatrixXcd factor =
          Eigen::MatrixXcd::Identity(mesh.topology.modes, mesh.topology.modes);
      const int mode = column.first_mode + 2 * i;
      factor.block<2, 2>(mode, mode) = dense_mzi(mesh.mzis[flat_index++]);
      product = factor * product;
    }
  }
  for (Eigen::Index mode = 0; mode < product.rows(); ++mode) {
    product.row(mode) *= std::polar(1.0, mesh.output_phase_rad[static_cast<std::size_t>(mode)]);
  }
  return product;
}

}  // namespace optinc::testing
