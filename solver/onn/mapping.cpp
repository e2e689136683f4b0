// SPDX-License-Identifier: Apache-2.0
#include "solver/onn/mapping.hpp"

#include <complex>
#include <limits>

#include <fmt/format.h>
#include <Eigen/SVD>

#include "solver/error.hpp"
#include "solver/mesh/decomposition.hpp"

namespace optinc {

namespace {

MeshProgram program_orthogonal(const Eigen::MatrixXd& orthogonal) {
  return decompose_clements(orthogonal.cast<std::complex<double>>());
}

MappedLayer map_layer(const NetworkLayer& layer, LayerGain gain) {
  const Eigen::JacobiSVD<Eigen::MatrixXd> svd(layer.weight,
                                              Eigen::ComputeFullU | Eigen::ComputeFullV);
  const double largest = svd.singularValues().maxCoeff();
  MappedLayer mapped{.input_mesh = program_orthogonal(svd.matrixV().transpose()),
                     .input_mesh_id = 0,
                     .attenuation = svd.singularValues(),
                     .output_mesh = program_orthogonal(svd.matrixU()),
                     .output_mesh_id = 0,
                     .gain = 1,
                     .bias = layer.bias,
                     .activation = layer.activation,
                     .clip = layer.clip};
  if (largest > 0) mapped.attenuation /= largest;
  if (gain == LayerGain::nominal && largest > 0) mapped.gain = largest;
  return mapped;
}

}  // namespace

std::int64_t MappedNetwork::mzi_count() const {
  std::int64_t total = 0;
  for (const MappedLayer& layer : layers) {
    total += static_cast<std::int64_t>(layer.input_mesh.topology.mzi_count() +
                                       layer.output_mesh.topology.mzi_count()) +
             layer.attenuation.size();
  }
  return total;
}

MappedNetwork map_svd(const Network& network, LayerGain gain) {
  if (network.layers.size() > std::numeric_limits<std::uint16_t>::max() / 2) {
    throw ConfigError(
        fmt::format("network of {} layers (mesh ids are 16 bits)", network.layers.size()));
  }
  MappedNetwork mapped{.format = network.format, .layers = {}};
  std::uint16_t mesh_id = 0;
  for (const NetworkLayer& layer : network.layers) {
    mapped.layers.push_back(map_layer(layer, gain));
    mapped.layers.back().input_mesh_id = mesh_id++;
    mapped.layers.back().output_mesh_id = mesh_id++;
  }
  return mapped;
}

}  // namespace optinc
