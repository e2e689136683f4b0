// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Eigen/Core>

#include "solver/mesh/program.hpp"

namespace optinc {

/// ||U^H U - I||_F / sqrt N.
double unitarity_residual(const Eigen::MatrixXcd& matrix);

/// E = ||U' - U||_F / sqrt N of one mesh.
double matrix_error(const Eigen::MatrixXcd& actual, const Eigen::MatrixXcd& ideal);

/// Default largest unitarity residual that `decompose_clements` accepts.
inline constexpr double default_unitarity_tolerance = 1e-9;

/// The unitary matrix nearest to `matrix` in the Frobenius norm: U V^H of its singular value
/// decomposition. Throws DataError when the matrix is not square, not finite or has no full rank.
Eigen::MatrixXcd nearest_unitary(const Eigen::MatrixXcd& matrix);

/// Programs a mesh of the named topology to realise `unitary` (element [out][in]), O(N^3).
/// Phases lie in [0, 2 pi); phi = 0 where theta is 0 or pi.
/// Throws DataError when the matrix is not square, not finite, or its unitarity residual exceeds
/// `unitarity_tolerance`, ConfigError for Topology::Kind::columns. Sources: Clements et al., arXiv
/// 1603.08788, section 3; Reck et al., PRL 73, 58 (1994).
MeshProgram decompose(const Eigen::MatrixXcd& unitary,
                      Topology::Kind topology = Topology::Kind::clements,
                      double unitarity_tolerance = default_unitarity_tolerance);

}  // namespace optinc
