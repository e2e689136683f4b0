// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include <Eigen/Core>

#include "solver/mesh/program.hpp"
#include "solver/onn/network.hpp"

namespace optinc {

enum class LayerGain {
  nominal,  ///< G restores max|Sigma| (and, once modelled, the nominal loss)
  none,     ///< G = 1: what the passive optics alone deliver
};

/// A layer as hardware: y = f(Re(G U diag(attenuation) V^H x) + bias), U and V^H meshes.
struct MappedLayer {
  MeshProgram input_mesh;  ///< V^H, [in, in]
  std::uint16_t input_mesh_id{};
  Eigen::VectorXd attenuation;  ///< amplitude transmissions Sigma / max Sigma, min(in, out) of them
  MeshProgram output_mesh;      ///< U, [out, out]
  std::uint16_t output_mesh_id{};
  double gain = 1;       ///< G
  Eigen::VectorXd bias;  ///< [out]
  Activation activation{};
  double clip = 1;
};

struct MappedNetwork {
  CodeFormat format;
  std::vector<MappedLayer> layers;

  /// MZIs of all meshes plus one per attenuator, the count the paper uses.
  std::int64_t mzi_count() const;
};

/// Maps every layer by W = U Sigma V^H onto two Clements meshes.
MappedNetwork map_svd(const Network& network, LayerGain gain);

}  // namespace optinc
