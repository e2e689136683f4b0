// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "noise/static_errors.hpp"
#include "solver/backend/backend.hpp"
#include "solver/mesh/chip_mesh.hpp"
#include "solver/onn/mapping.hpp"
#include "solver/optinc/receiver.hpp"

namespace optinc {

/// How far the meshes of a chip are from ideal, over the direct sum of all of them
/// (N_tot = total number of modes).
struct MeshQuality {
  double matrix_error = 0;         ///< ||U' - U||_F / sqrt N_tot
  double fidelity = 1;             ///< |Tr(U^H U')|^2 / N_tot^2
  double fidelity_normalised = 1;  ///< |Tr(U^H U')|^2 / (N_tot Tr(U'^H U'))
  double insertion_loss_db = 0;    ///< -10 log10(Tr(U'^H U') / N_tot)
};

/// Sums over meshes from which MeshQuality follows.
struct MeshQualitySums {
  double squared_error = 0;          ///< ||U' - U||_F^2
  std::complex<double> overlap = 0;  ///< Tr(U^H U')
  double transmitted = 0;            ///< Tr(U'^H U')
  Eigen::Index modes = 0;

  void add(const Eigen::MatrixXcd& ideal, const Eigen::MatrixXcd& actual);
  void add(const MeshQualitySums& other);

  /// Needs at least one mode.
  MeshQuality quality() const;
};

/// Quality of a single mesh: `ideal` and `actual` are transfer matrices of the same shape.
MeshQuality mesh_quality(const Eigen::MatrixXcd& ideal, const Eigen::MatrixXcd& actual);

/// One chip's optics reduced to what its detectors see.
struct ChipOptics {
  std::vector<RealLayer> layers;
  /// Im(G W) of the first layer, [out, in]: what fields in quadrature contribute.
  Eigen::MatrixXd first_quadrature;
  /// Re(G W) of the first layer of the ideal optics, [out, in].
  Eigen::MatrixXd first_nominal;
  std::vector<double> layer_gains;  ///< G by layer
  MeshQuality quality;              ///< exactly ideal with all imperfections off
  MeshQualitySums quality_sums;     ///< behind it, to join units
};

/// The ideal transfer matrices of the meshes of a mapped network by mesh id, composed once and
/// shared by all chips.
std::vector<Eigen::MatrixXcd> compose_ideal(const MappedNetwork& network, const Backend& backend);

/// Where the imperfections act, for ablations.
struct Ablation {
  enum class Meshes { all, input, output };
  std::optional<std::size_t> layer = {};  ///< only this layer; none: all layers
  Meshes meshes = Meshes::all;            ///< only V (or single) meshes, only U meshes
};

/// What is done about the errors of each chip's meshes before use.
enum class MeshCalibration {
  none,   ///< the phases of the ideal mesh
  local,  ///< correct_locally: errors known
  self,   ///< self_configure: fields measured
};

/// How the chips of a network are made.
struct ChipOptions {
  StaticImperfections imperfections;
  Ablation ablation;
  MeshCalibration calibration = MeshCalibration::none;
  /// Added to the mesh ids of the network: units of one chip are numbered on.
  std::size_t first_mesh_id = 0;
};

/// Throws ConfigError when the ablation names a layer or meshes that a network of that many layers,
/// mapped that way, does not have.
void validate(const Ablation& ablation, std::size_t layers, bool has_output_meshes);

/// A mapped network under one set of imperfections: what all its chips share.
class NetworkOptics {
 public:
  /// Composes each layer once with its mean losses where there are any, for the nominal gain.
  /// `network`, `ideal` and `backend` must outlive this. Throws ConfigError for the ablation, and
  /// where mesh ids run out.
  NetworkOptics(const MappedNetwork& network, const std::vector<Eigen::MatrixXcd>& ideal,
                const Backend& backend, const ChipOptions& options);

  /// Composes chip `chip` of `seed` with its static errors. Calibration happens with exact drivers
  /// at the design wavelength and temperature; rounding, detuning, drift and the heat of the
  /// corrected phases come after it. Args: jitter: realization of its phase jitter; none: without.
  ChipOptics chip(std::uint64_t seed, std::uint32_t chip,
                  std::optional<std::uint32_t> jitter = {}) const;

  /// The same chip without jitter, then in realizations 0 to count - 1 of it; calibrated once.
  std::vector<ChipOptics> realizations(std::uint64_t seed, std::uint32_t chip,
                                       std::uint32_t count) const;

 private:
  using CalibratedMeshes = std::vector<std::optional<ChipMesh>>;
  CalibratedMeshes calibrated(std::uint64_t seed, std::uint32_t chip) const;
  std::optional<ChipMesh> corrected(std::size_t mesh, std::uint64_t seed, std::uint32_t chip) const;
  ChipOptics composed(const ChipDraw& draw, const CalibratedMeshes& calibrated) const;
  ChipOptics optics_of(const std::vector<Eigen::MatrixXcd>& matrices) const;
  void set_gains();

  const MappedNetwork& network_;
  const std::vector<Eigen::MatrixXcd>& ideal_;
  const Backend& backend_;
  ChipOptions options_;
  std::vector<ChipMesh> meshes_;              ///< by mesh id
  std::vector<ChipMesh> calibration_meshes_;  ///< the same at calibration; empty without one
  Eigen::MatrixXd first_nominal_;
  std::vector<double> layer_gains_;  ///< G, mean losses included where the gain is nominal
};

/// The layers of a chip without errors.
std::vector<RealLayer> ideal_layers(const MappedNetwork& network, const Backend& backend);

/// Integers the servers decode for each code: chain, calibration, slicer, decoder.
/// Args: inputs [K, codes]; targets Q(v) per code (calibration data).
std::vector<std::int64_t> decoded_values(const ChipOptics& chip, const Backend& backend,
                                         Calibration calibration, const Eigen::MatrixXd& inputs,
                                         const std::vector<std::int64_t>& targets);

}  // namespace optinc
