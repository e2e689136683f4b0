// SPDX-License-Identifier: Apache-2.0
#include "solver/optinc/chip.hpp"

#include <cmath>
#include <complex>
#include <cstddef>
#include <utility>

#include <fmt/format.h>

#include "solver/error.hpp"

namespace optinc {

namespace {

/// Sums over the meshes of a chip from which MeshQuality follows.
struct QualitySums {
  double squared_error = 0;          ///< ||U' - U||_F^2
  std::complex<double> overlap = 0;  ///< Tr(U^H U')
  double transmitted = 0;            ///< Tr(U'^H U')
  Eigen::Index modes = 0;

  void add(const Eigen::MatrixXcd& ideal, const Eigen::MatrixXcd& actual) {
    squared_error += (actual - ideal).squaredNorm();
    overlap += (ideal.conjugate().cwiseProduct(actual)).sum();
    transmitted += actual.squaredNorm();
    modes += ideal.rows();
  }

  MeshQuality quality() const {
    const auto total = static_cast<double>(modes);
    return {.matrix_error = std::sqrt(squared_error / total),
            .fidelity = std::norm(overlap) / (total * total),
            .fidelity_normalised = std::norm(overlap) / (total * transmitted),
            .insertion_loss_db = -10 * std::log10(transmitted / total)};
  }
};

/// Transfer of a layer's optics, [out, in], without gain. Args: matrices: of the layer's meshes in
/// the order of their ids.
Eigen::MatrixXcd optical_transfer(const MappedLayer& layer, const Eigen::MatrixXcd* matrices) {
  Eigen::MatrixXcd transfer = Eigen::MatrixXcd::Zero(layer.outputs, layer.inputs);
  for (const MappedBlock& block : layer.blocks) {
    const Eigen::Index rank = block.attenuation.size();
    Eigen::MatrixXcd product = block.attenuation.asDiagonal() * matrices[0].topRows(rank);
    if (block.output_mesh) product = matrices[1].leftCols(rank) * product;
    transfer.block(block.first_row, block.first_column, block.rows, block.columns) =
        product.topLeftCorner(block.rows, block.columns);
    matrices += block.mesh_count();
  }
  return transfer;
}

/// Norms of every layer's optics, [layer].
std::vector<double> layer_norms(const MappedNetwork& network,
                                const std::vector<Eigen::MatrixXcd>& matrices) {
  std::vector<double> norms;
  const Eigen::MatrixXcd* next = matrices.data();
  for (const MappedLayer& layer : network.layers) {
    norms.push_back(optical_transfer(layer, next).norm());
    for (const MappedBlock& block : layer.blocks) next += block.mesh_count();
  }
  return norms;
}

bool lossless(const LossParameters& loss) {
  return loss.mzi_db == 0 && loss.waveguide_db_per_cm == 0 && loss.facet_db == 0;
}

bool acts_on(const Ablation& ablation, std::size_t layer, bool is_output) {
  if (ablation.layer && *ablation.layer != layer) return false;
  return ablation.meshes == Ablation::Meshes::all ||
         (ablation.meshes == Ablation::Meshes::output) == is_output;
}

}  // namespace

MeshQuality mesh_quality(const Eigen::MatrixXcd& ideal, const Eigen::MatrixXcd& actual) {
  QualitySums sums;
  sums.add(ideal, actual);
  return sums.quality();
}

std::vector<Eigen::MatrixXcd> compose_ideal(const MappedNetwork& network, const Backend& backend) {
  std::vector<Eigen::MatrixXcd> matrices;
  network.for_each_mesh([&](const MappedMesh& mesh, std::size_t, int, bool) {
    matrices.push_back(backend.compose(ideal_state(mesh.program)));
  });
  return matrices;
}

void validate(const Ablation& ablation, std::size_t layers, Mapping mapping) {
  if (ablation.layer && *ablation.layer >= layers) {
    throw ConfigError(fmt::format("ablation.layer = {} (the network has layers 0 .. {})",
                                  *ablation.layer, layers - 1));
  }
  if (ablation.meshes == Ablation::Meshes::output && mapping != Mapping::svd) {
    throw ConfigError(
        "ablation.meshes = \"output\" (this mapping has one mesh per block, an input mesh)");
  }
}

NetworkOptics::NetworkOptics(const MappedNetwork& network,
                             const std::vector<Eigen::MatrixXcd>& ideal, const Backend& backend,
                             const StaticImperfections& imperfections, const Ablation& ablation)
    : network_(network), ideal_(ideal), backend_(backend), perfect_(imperfections.none()) {
  validate(ablation, network.layers.size(), network.options.mapping);
  network.for_each_mesh([&](const MappedMesh& mesh, std::size_t layer, int facets, bool is_output) {
    const bool on = acts_on(ablation, layer, is_output);
    meshes_.emplace_back(mesh.program, on ? imperfections : StaticImperfections{}, mesh.id, facets);
  });
  set_gains(imperfections);
}

/// The mean losses are known to the designer: the nominal gain makes up for them.
void NetworkOptics::set_gains(const StaticImperfections& imperfections) {
  for (const MappedLayer& layer : network_.layers) layer_gains_.push_back(layer.gain);
  if (network_.options.gain == LayerGain::none || lossless(imperfections.loss)) return;
  std::vector<Eigen::MatrixXcd> lossy;
  for (const ChipMesh& mesh : meshes_) lossy.push_back(backend_.compose(mesh.lossy_state()));
  const std::vector<double> ideal_norms = layer_norms(network_, ideal_);
  const std::vector<double> lossy_norms = layer_norms(network_, lossy);
  for (std::size_t i = 0; i < layer_gains_.size(); ++i) {
    if (ideal_norms[i] > 0) layer_gains_[i] *= ideal_norms[i] / lossy_norms[i];
  }
}

ChipOptics NetworkOptics::chip(std::uint64_t seed, std::uint32_t chip) const {
  std::vector<Eigen::MatrixXcd> matrices;
  QualitySums sums;
  for (std::size_t i = 0; i < meshes_.size(); ++i) {
    matrices.push_back(std::move(
        backend_.compose_chips({.mesh = meshes_[i], .seed = seed, .chips = {&chip, 1}}).front()));
    sums.add(ideal_[i], matrices.back());
  }
  ChipOptics optics;
  const Eigen::MatrixXcd* next = matrices.data();
  for (std::size_t i = 0; i < network_.layers.size(); ++i) {
    const MappedLayer& layer = network_.layers[i];
    optics.layers.push_back({.weight = layer_gains_[i] * optical_transfer(layer, next).real(),
                             .bias = layer.bias,
                             .activation = layer.activation,
                             .clip = layer.clip});
    for (const MappedBlock& block : layer.blocks) next += block.mesh_count();
  }
  if (!perfect_) optics.quality = sums.quality();
  return optics;
}

std::vector<std::int64_t> decoded_values(const ChipOptics& chip, const Backend& backend,
                                         Calibration calibration, const Eigen::MatrixXd& inputs,
                                         const std::vector<std::int64_t>& targets) {
  const Eigen::MatrixXd outputs = backend.evaluate_codes(chip.layers, inputs);
  return decode(outputs, fit_calibration(calibration, outputs, targets));
}

}  // namespace optinc
