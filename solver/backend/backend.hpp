// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <Eigen/Core>

#include "solver/mesh/chip_mesh.hpp"

namespace optinc {

enum class Precision { f32, f64 };

enum class Activation {
  identity,      ///< the last layer
  relu,          ///< homodyne_relu
  clipped_relu,  ///< min(max(y, 0), clip)
};

/// Lowest and highest value that an activation lets through; infinite where nothing is cut. Args:
/// clip, used by clipped_relu.
std::pair<double, double> activation_limits(Activation activation, double clip);

/// One layer of one chip as homodyne detection sees it: y = f(weight x + bias), weight =
/// Re(G W) of the chip's optics.
struct RealLayer {
  Eigen::MatrixXd weight;  ///< [out, in]
  Eigen::VectorXd bias;    ///< [out]
  Activation activation{};
  double clip = 1;  ///< used by clipped_relu
};

/// Which chips of which mesh to compose.
struct ComposeRequest {
  const ChipMesh& mesh;
  std::uint64_t seed{};
  std::span<const std::uint32_t> chips;
  std::optional<std::uint32_t> jitter = {};  ///< realization of the fast noise; none: without
};

/// Throws ConfigError when `fields` [mode, sample] has another number of modes than the mesh.
void require_modes(const Topology& topology, const Eigen::MatrixXcd& fields);

/// An engine for the heavy steps. Implementations are stateless and may be called from several
/// threads at once. One virtual call handles a whole mesh, chip batch or code table.
class Backend {
 public:
  virtual ~Backend() = default;

  /// Name with instruction set as written to CSV, e.g. "reference", "cpu/avx2".
  virtual std::string name() const = 0;

  /// Transfer matrices [out][in] of the requested chips, in the order of `request.chips`.
  virtual std::vector<Eigen::MatrixXcd> compose_chips(const ComposeRequest& request) const = 0;

  /// Transfer matrix [out][in] of a mesh whose errors are given.
  virtual Eigen::MatrixXcd compose(const MeshState& mesh) const = 0;

  /// Sends fields through the mesh in place; `fields` is [mode, sample].
  /// Throws ConfigError when the number of modes differs.
  virtual void propagate(const MeshState& mesh, Eigen::MatrixXcd& fields) const = 0;

  /// Network outputs [output, code] for inputs [input, code].
  virtual Eigen::MatrixXd evaluate_codes(std::span<const RealLayer> layers,
                                         const Eigen::MatrixXd& inputs) const = 0;
};

}  // namespace optinc
