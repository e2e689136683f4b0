// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <Eigen/Core>

#include "solver/mesh/program.hpp"
#include "solver/onn/network.hpp"

namespace optinc {

enum class LayerGain {
  nominal,  ///< G restores the scale of the weights and the mean losses of the layer
  none,     ///< G = 1: what the passive optics alone deliver
};

struct MappingOptions {
  std::optional<Mapping> mapping = Mapping::svd;  ///< none: the one that each layer is made for
  int segment = 0;                                ///< of `mapping`, as LayerMapping has it
  Topology::Kind mesh = Topology::Kind::clements;
  MziKind mzi = MziKind::standard;
  LayerGain gain = LayerGain::nominal;
};

/// Throws ConfigError for a negative segment, and for one without a mapping.
void validate(const MappingOptions& options);

/// A mesh of a chip and the id of its random streams.
struct MappedMesh {
  MeshProgram program;
  std::uint16_t id{};
};

/// One block of a layer as optics: output mesh * diag(attenuation) * input mesh, of which the upper
/// left `rows` x `columns` part is used (the rest is padding).
struct MappedBlock {
  Eigen::Index first_row{};
  Eigen::Index first_column{};
  Eigen::Index rows{};
  Eigen::Index columns{};
  MappedMesh input_mesh;                  ///< V^H, or the only mesh
  Eigen::VectorXd attenuation;            ///< amplitude transmissions behind it, at most 1
  bool has_attenuators = true;            ///< false: all are 1 by construction
  std::optional<MappedMesh> output_mesh;  ///< U

  std::size_t mesh_count() const { return output_mesh ? 2 : 1; }
  /// MZIs of the meshes plus one per attenuator.
  std::int64_t mzi_count() const;
  /// Columns of MZIs on the longest path, attenuators included.
  std::int64_t depth() const;
};

/// A layer as hardware: y = f(Re(G W_optical x) + bias), W_optical the sum of its blocks; the
/// outputs of blocks in one row are summed coherently, the inputs of a column are split.
struct MappedLayer {
  Eigen::Index outputs{};
  Eigen::Index inputs{};
  std::vector<MappedBlock> blocks;  ///< by block row, then block column
  double gain = 1;                  ///< G without the mean losses
  Eigen::VectorXd bias;             ///< [out]
  Activation activation{};
  double clip = 1;
};

struct MappedNetwork {
  CodeFormat format;
  MappingOptions options;
  std::vector<MappedLayer> layers;

  /// MZIs of all meshes plus one per attenuator, the count the paper uses.
  std::int64_t mzi_count() const;
  /// Calls `visit(mesh, layer, facets, is_output)` for every mesh in the order of their ids, which
  /// run from 0; `facets`: passages between chip and outside at this mesh.
  template <class Visitor>
  void for_each_mesh(Visitor&& visit) const {
    for (std::size_t layer = 0; layer < layers.size(); ++layer) {
      for (const MappedBlock& block : layers[layer].blocks) {
        visit(block.input_mesh, layer, block.output_mesh ? 1 : 2, false);
        if (block.output_mesh) visit(*block.output_mesh, layer, 1, true);
      }
    }
  }
};

/// Side of the square blocks of a weight matrix: `segment`, but no more than the smaller side of
/// the matrix; that where `segment` is 0.
Eigen::Index block_size(Eigen::Index outputs, Eigen::Index inputs, int segment);

/// Whether a network mapped that way has blocks of two meshes.
bool has_output_meshes(const Network& network, const MappingOptions& options);

/// Maps every layer. Throws ConfigError as `validate` does, and when the network needs more meshes
/// than ids of 16 bits can name.
MappedNetwork map_network(const Network& network, const MappingOptions& options);

/// Nearest Sigma U with U real orthogonal and Sigma diagonal, not negative, in the Frobenius norm,
/// found by alternating from Sigma = I: U = polar(Sigma W), Sigma_ii = (W U^T)_ii.
struct DiagonalOrthogonal {
  Eigen::VectorXd sigma;
  Eigen::MatrixXd orthogonal;
};
DiagonalOrthogonal nearest_diagonal_orthogonal(const Eigen::MatrixXd& square);

/// A unitary whose real part is `contraction` (square, real, singular values <= 1):
/// P (C + i sqrt(1 - C^2)) Q^T of its singular value decomposition P C Q^T.
Eigen::MatrixXcd unitary_with_real_part(const Eigen::MatrixXd& contraction);

}  // namespace optinc
