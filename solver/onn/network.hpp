// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <Eigen/Core>

#include "solver/backend/backend.hpp"
#include "solver/optinc/code.hpp"

namespace optinc {

/// How a weight matrix becomes meshes.
enum class Mapping {
  svd,        ///< W = U Sigma V^H, two meshes and attenuators
  segmented,  ///< square blocks W_s ~ Sigma_a U_a, U_a real orthogonal: one mesh and attenuators
  real_part,  ///< square blocks W_s / c = Re U: one mesh, no attenuators
};

/// The mapping that a layer is made for.
struct LayerMapping {
  Mapping mapping = Mapping::svd;
  /// Side of the blocks, at most the smaller side of the weight matrix, which is also meant by 0;
  /// with svd 0 means the whole matrix.
  int segment = 0;

  friend bool operator==(const LayerMapping&, const LayerMapping&) = default;
};

/// One trained or constructed layer: y = f(weight x + bias).
struct NetworkLayer {
  Eigen::MatrixXd weight;  ///< [out, in]
  Eigen::VectorXd bias;    ///< [out]
  Activation activation{};
  double clip = 1;  ///< used by clipped_relu
  LayerMapping mapping = {};
};

/// An optical neural network that turns averaged digit groups (digit units, 0 .. 4^m - 1) into
/// the PAM4 digits of Q(v), least significant first.
struct Network {
  CodeFormat format;
  std::string kind;  ///< "analytic-pipeline", "analytic-ripple", "trained", ...
  std::vector<NetworkLayer> layers;
};

/// Throws DataError when layer shapes do not chain from format.inputs() to format.digits(), or a
/// number is not finite.
void validate(const Network& network);

}  // namespace optinc
