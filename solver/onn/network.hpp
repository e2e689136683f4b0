// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <Eigen/Core>

#include "solver/backend/backend.hpp"
#include "solver/optinc/code.hpp"

namespace optinc {

/// One trained or constructed layer: y = f(weight x + bias).
struct NetworkLayer {
  Eigen::MatrixXd weight;  ///< [out, in]
  Eigen::VectorXd bias;    ///< [out]
  Activation activation{};
  double clip = 1;  ///< used by clipped_relu
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
