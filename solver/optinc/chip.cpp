// SPDX-License-Identifier: Apache-2.0
#include "solver/optinc/chip.hpp"

#include <cmath>
#include <complex>
#include <cstddef>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "solver/error.hpp"
#include "solver/mesh/correction.hpp"
#include "solver/mesh/self_configuration.hpp"

namespace optinc {

namespace {

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

/// The same of every layer, `matrices` by mesh id.
std::vector<Eigen::MatrixXcd> optical_transfers(const MappedNetwork& network,
                                                const std::vector<Eigen::MatrixXcd>& matrices) {
  std::vector<Eigen::MatrixXcd> transfers;
  const Eigen::MatrixXcd* next = matrices.data();
  for (const MappedLayer& layer : network.layers) {
    transfers.push_back(optical_transfer(layer, next));
    for (const MappedBlock& block : layer.blocks) next += block.mesh_count();
  }
  return transfers;
}

/// What calibration meets: not the rounding of the drivers, not the detuning.
StaticImperfections at_calibration(const StaticImperfections& imperfections) {
  StaticImperfections met = when_calibrated(imperfections);
  met.phase_dac_bits = 0;
  met.detuning = {};
  return met;
}

bool acts_on(const Ablation& ablation, std::size_t layer, bool is_output) {
  if (ablation.layer && *ablation.layer != layer) return false;
  return ablation.meshes == Ablation::Meshes::all ||
         (ablation.meshes == Ablation::Meshes::output) == is_output;
}

/// Id of a mesh among all those of its chip.
std::uint16_t id_on_chip(const MappedMesh& mesh, const ChipOptions& options) {
  const std::size_t id = mesh.id + options.first_mesh_id;
  if (id > std::numeric_limits<std::uint16_t>::max()) {
    throw ConfigError(
        "the units of the cascade need more than 65536 meshes (mesh ids are 16 bits); choose a "
        "larger network.segment");
  }
  return static_cast<std::uint16_t>(id);
}

}  // namespace

void MeshQualitySums::add(const Eigen::MatrixXcd& ideal, const Eigen::MatrixXcd& actual) {
  squared_error += (actual - ideal).squaredNorm();
  overlap += (ideal.conjugate().cwiseProduct(actual)).sum();
  transmitted += actual.squaredNorm();
  modes += ideal.rows();
}

void MeshQualitySums::add(const MeshQualitySums& other) {
  squared_error += other.squared_error;
  overlap += other.overlap;
  transmitted += other.transmitted;
  modes += other.modes;
}

MeshQuality MeshQualitySums::quality() const {
  const auto total = static_cast<double>(modes);
  return {.matrix_error = std::sqrt(squared_error / total),
          .fidelity = std::norm(overlap) / (total * total),
          .fidelity_normalised = std::norm(overlap) / (total * transmitted),
          .insertion_loss_db = -10 * std::log10(transmitted / total)};
}

MeshQuality mesh_quality(const Eigen::MatrixXcd& ideal, const Eigen::MatrixXcd& actual) {
  MeshQualitySums sums;
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

void validate(const Ablation& ablation, std::size_t layers, bool has_output_meshes) {
  if (ablation.layer && *ablation.layer >= layers) {
    throw ConfigError(fmt::format("ablation.layer = {} (the network has layers 0 .. {})",
                                  *ablation.layer, layers - 1));
  }
  if (ablation.meshes == Ablation::Meshes::output && !has_output_meshes) {
    throw ConfigError(
        "ablation.meshes = \"output\" (this mapping has one mesh per block, an input mesh)");
  }
}

NetworkOptics::NetworkOptics(const MappedNetwork& network,
                             const std::vector<Eigen::MatrixXcd>& ideal, const Backend& backend,
                             const ChipOptions& options)
    : network_(network), ideal_(ideal), backend_(backend), options_(options) {
  bool has_outputs = false;
  network.for_each_mesh([&](const MappedMesh&, std::size_t, int, bool is_output) {
    has_outputs = has_outputs || is_output;
  });
  validate(options.ablation, network.layers.size(), has_outputs);
  network.for_each_mesh([&](const MappedMesh& mesh, std::size_t layer, int facets, bool is_output) {
    const StaticImperfections imperfections =
        acts_on(options.ablation, layer, is_output) ? options.imperfections : StaticImperfections{};
    const std::uint16_t id = id_on_chip(mesh, options);
    meshes_.emplace_back(mesh.program, imperfections, id, facets);
    if (options.calibration == MeshCalibration::none) return;
    calibration_meshes_.emplace_back(mesh.program, at_calibration(imperfections), id, facets);
  });
  set_gains();
}

/// The mean losses are known to the designer: the nominal gain makes up for them.
void NetworkOptics::set_gains() {
  for (const MappedLayer& layer : network_.layers) layer_gains_.push_back(layer.gain);
  const MappedLayer& first = network_.layers.front();
  first_nominal_ = first.gain * optical_transfer(first, ideal_.data()).real();
  if (network_.options.gain == LayerGain::none || options_.imperfections.loss.lossless()) return;
  std::vector<Eigen::MatrixXcd> lossy;
  for (const ChipMesh& mesh : meshes_) lossy.push_back(backend_.compose(mesh.lossy_state()));
  const std::vector<Eigen::MatrixXcd> ideal_layers = optical_transfers(network_, ideal_);
  const std::vector<Eigen::MatrixXcd> lossy_layers = optical_transfers(network_, lossy);
  for (std::size_t i = 0; i < layer_gains_.size(); ++i) {
    const double ideal_norm = ideal_layers[i].norm();
    if (ideal_norm > 0) layer_gains_[i] *= ideal_norm / lossy_layers[i].norm();
  }
}

/// The mesh with the phases that its calibration found; none where there is nothing to calibrate.
std::optional<ChipMesh> NetworkOptics::corrected(std::size_t mesh, std::uint64_t seed,
                                                 std::uint32_t chip) const {
  const ChipMesh& in_use = meshes_[mesh];
  if (options_.calibration == MeshCalibration::none || in_use.imperfections().none()) {
    return std::nullopt;
  }
  const MeshState measured = calibration_meshes_[mesh].chip({.seed = seed, .chip = chip});
  const Correction correction =
      options_.calibration == MeshCalibration::local
          ? correct_locally(in_use.program(), measured, ideal_[mesh], backend_)
          : self_configure(in_use.program(), measured, ideal_[mesh], backend_);
  return in_use.reprogrammed(correction.program);
}

NetworkOptics::CalibratedMeshes NetworkOptics::calibrated(std::uint64_t seed,
                                                          std::uint32_t chip) const {
  CalibratedMeshes meshes;
  for (std::size_t i = 0; i < meshes_.size(); ++i) meshes.push_back(corrected(i, seed, chip));
  return meshes;
}

ChipOptics NetworkOptics::composed(const ChipDraw& draw, const CalibratedMeshes& calibrated) const {
  std::vector<Eigen::MatrixXcd> matrices;
  for (std::size_t i = 0; i < meshes_.size(); ++i) {
    const ComposeRequest request{.mesh = calibrated[i] ? *calibrated[i] : meshes_[i],
                                 .seed = draw.seed,
                                 .chips = {&draw.chip, 1},
                                 .jitter = draw.jitter};
    matrices.push_back(std::move(backend_.compose_chips(request).front()));
  }
  return optics_of(matrices);
}

ChipOptics NetworkOptics::optics_of(const std::vector<Eigen::MatrixXcd>& matrices) const {
  ChipOptics optics;
  for (std::size_t i = 0; i < matrices.size(); ++i) optics.quality_sums.add(ideal_[i], matrices[i]);
  const std::vector<Eigen::MatrixXcd> transfers = optical_transfers(network_, matrices);
  for (std::size_t i = 0; i < network_.layers.size(); ++i) {
    const MappedLayer& layer = network_.layers[i];
    optics.layers.push_back({.weight = layer_gains_[i] * transfers[i].real(),
                             .bias = layer.bias,
                             .activation = layer.activation,
                             .clip = layer.clip});
  }
  optics.first_quadrature = layer_gains_.front() * transfers.front().imag();
  optics.first_nominal = first_nominal_;
  optics.layer_gains = layer_gains_;
  if (!options_.imperfections.none()) optics.quality = optics.quality_sums.quality();
  return optics;
}

ChipOptics NetworkOptics::chip(std::uint64_t seed, std::uint32_t chip,
                               std::optional<std::uint32_t> jitter) const {
  return composed({.seed = seed, .chip = chip, .jitter = jitter}, calibrated(seed, chip));
}

std::vector<ChipOptics> NetworkOptics::realizations(std::uint64_t seed, std::uint32_t chip,
                                                    std::uint32_t count) const {
  const CalibratedMeshes meshes = calibrated(seed, chip);
  ChipDraw draw{.seed = seed, .chip = chip};
  std::vector<ChipOptics> optics = {composed(draw, meshes)};
  for (std::uint32_t r = 0; r < count; ++r) {
    draw.jitter = r;
    optics.push_back(composed(draw, meshes));
  }
  return optics;
}

std::vector<RealLayer> ideal_layers(const MappedNetwork& network, const Backend& backend) {
  const std::vector<Eigen::MatrixXcd> ideal = compose_ideal(network, backend);
  return NetworkOptics(network, ideal, backend, {}).chip(0, 0).layers;
}

std::vector<std::int64_t> decoded_values(const ChipOptics& chip, const Backend& backend,
                                         Calibration calibration, const Eigen::MatrixXd& inputs,
                                         const std::vector<std::int64_t>& targets) {
  const Eigen::MatrixXd outputs = backend.evaluate_codes(chip.layers, inputs);
  return decode(outputs, fit_calibration(calibration, outputs, targets));
}

}  // namespace optinc
