// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "noise/static_errors.hpp"
#include "solver/backend/backend.hpp"
#include "solver/onn/mapping.hpp"
#include "solver/optinc/receiver.hpp"

namespace optinc {

/// How far the meshes of a chip are from ideal, over the direct sum of all of them
/// (N_tot = total number of modes).
struct MeshQuality {
  double matrix_error = 0;         ///< ||U' - U||_F / sqrt N_tot
  double fidelity = 1;             ///< |Tr(U^H U')|^2 / N_tot^2
  double fidelity_normalised = 1;  ///< |Tr(U^H U')|^2 / (N_tot Tr(U'^H U'))
};

/// Quality of a single mesh: `ideal` and `actual` are transfer matrices of the same shape.
MeshQuality mesh_quality(const Eigen::MatrixXcd& ideal, const Eigen::MatrixXcd& actual);

/// One chip's optics reduced to what its detectors see.
struct ChipOptics {
  std::vector<RealLayer> layers;
  MeshQuality quality;
};

/// The ideal transfer matrices of a mapped network, composed once and shared by all chips.
struct IdealMeshes {
  std::vector<Eigen::MatrixXcd> input;   ///< V^H per layer
  std::vector<Eigen::MatrixXcd> output;  ///< U per layer
};
IdealMeshes compose_ideal(const MappedNetwork& network, const Backend& backend);

/// Composes chip `chip` of `seed` with its static errors.
ChipOptics build_chip(const MappedNetwork& network, const IdealMeshes& ideal,
                      const Backend& backend, const StaticImperfections& imperfections,
                      std::uint64_t seed, std::uint32_t chip);

/// Integers the servers decode for each code: chain, calibration, slicer, decoder.
/// Args: inputs [K, codes]; targets Q(v) per code (calibration data).
std::vector<std::int64_t> decoded_values(const ChipOptics& chip, const Backend& backend,
                                         Calibration calibration, const Eigen::MatrixXd& inputs,
                                         const std::vector<std::int64_t>& targets);

}  // namespace optinc
