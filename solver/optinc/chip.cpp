// SPDX-License-Identifier: Apache-2.0
#include "solver/optinc/chip.hpp"

#include <cmath>
#include <complex>
#include <cstddef>

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
            .fidelity_normalised = std::norm(overlap) / (total * transmitted)};
  }
};

Eigen::MatrixXcd compose_one(const Backend& backend, const MeshProgram& program,
                             const StaticImperfections& imperfections, std::uint64_t seed,
                             std::uint32_t chip, std::uint16_t mesh_id) {
  return std::move(backend
                       .compose_chips({.program = program,
                                       .imperfections = imperfections,
                                       .seed = seed,
                                       .mesh_id = mesh_id,
                                       .chips = {&chip, 1}})
                       .front());
}

/// Re(G U diag(attenuation) V^H), what homodyne detection of a real input sees.
Eigen::MatrixXd detected_weight(const MappedLayer& layer, const Eigen::MatrixXcd& output,
                                const Eigen::MatrixXcd& input) {
  const Eigen::Index rank = layer.attenuation.size();
  return layer.gain *
         (output.leftCols(rank) * layer.attenuation.asDiagonal() * input.topRows(rank)).real();
}

}  // namespace

MeshQuality mesh_quality(const Eigen::MatrixXcd& ideal, const Eigen::MatrixXcd& actual) {
  QualitySums sums;
  sums.add(ideal, actual);
  return sums.quality();
}

IdealMeshes compose_ideal(const MappedNetwork& network, const Backend& backend) {
  IdealMeshes meshes;
  for (const MappedLayer& layer : network.layers) {
    meshes.input.push_back(backend.compose(ideal_state(layer.input_mesh)));
    meshes.output.push_back(backend.compose(ideal_state(layer.output_mesh)));
  }
  return meshes;
}

ChipOptics build_chip(const MappedNetwork& network, const IdealMeshes& ideal,
                      const Backend& backend, const StaticImperfections& imperfections,
                      std::uint64_t seed, std::uint32_t chip) {
  ChipOptics optics;
  QualitySums sums;
  for (std::size_t i = 0; i < network.layers.size(); ++i) {
    const MappedLayer& layer = network.layers[i];
    const Eigen::MatrixXcd input =
        compose_one(backend, layer.input_mesh, imperfections, seed, chip, layer.input_mesh_id);
    const Eigen::MatrixXcd output =
        compose_one(backend, layer.output_mesh, imperfections, seed, chip, layer.output_mesh_id);
    sums.add(ideal.input[i], input);
    sums.add(ideal.output[i], output);
    optics.layers.push_back({.weight = detected_weight(layer, output, input),
                             .bias = layer.bias,
                             .activation = layer.activation,
                             .clip = layer.clip});
  }
  if (!imperfections.none()) optics.quality = sums.quality();
  return optics;
}

std::vector<std::int64_t> decoded_values(const ChipOptics& chip, const Backend& backend,
                                         Calibration calibration, const Eigen::MatrixXd& inputs,
                                         const std::vector<std::int64_t>& targets) {
  const Eigen::MatrixXd outputs = backend.evaluate_codes(chip.layers, inputs);
  return decode(outputs, fit_calibration(calibration, outputs, targets));
}

}  // namespace optinc
