// SPDX-License-Identifier: Apache-2.0
#include "solver/mesh/chip_mesh.hpp"

#include <cmath>
#include <cstddef>
#include <vector>

#include <fmt/format.h>

#include "devices/angle.hpp"
#include "solver/error.hpp"

namespace optinc {

namespace {

/// Phases that drivers can set: in [0, 2 pi), on the grid of the converters where there is one.
MeshProgram driven_program(const MeshProgram& program, const StaticImperfections& imperfections) {
  MeshProgram driven = program;
  for (std::vector<double>* phases_rad :
       {&driven.theta_rad, &driven.phi_rad, &driven.output_phase_rad}) {
    for (double& phase_rad : *phases_rad) {
      phase_rad = imperfections.phase_dac_bits > 0
                      ? driver_phase_rad(phase_rad, imperfections.phase_dac_bits)
                      : wrap_rad(phase_rad);
    }
  }
  return driven;
}

/// The deviates of the heaters in the order of `heater_positions`.
std::vector<double> heater_deviates(const std::vector<UnitNormals>& mzis,
                                    const std::vector<UnitNormals>& screen) {
  std::vector<double> deviates;
  for (const UnitNormals& normals : mzis) {
    deviates.push_back(normals.value[0]);
    deviates.push_back(normals.value[1]);
  }
  for (const UnitNormals& normals : screen) deviates.push_back(normals.value[0]);
  return deviates;
}

void replace_deviates(const std::vector<double>& deviates, std::vector<UnitNormals>& mzis,
                      std::vector<UnitNormals>& screen) {
  auto next = deviates.begin();
  for (UnitNormals& normals : mzis) {
    normals.value[0] = *next++;
    normals.value[1] = *next++;
  }
  for (UnitNormals& normals : screen) normals.value[0] = *next++;
}

std::vector<UnitNormals> draw_blocks(StreamAddress address, std::size_t elements) {
  std::vector<UnitNormals> normals(elements);
  for (std::size_t i = 0; i < elements; ++i) {
    address.element = static_cast<std::uint32_t>(i);
    normals[i] = unit_normals(random_words(address));
  }
  return normals;
}

/// Args: screen: a block per mode, of which the first normal counts.
void add_screen_errors(const StaticImperfections& imperfections, double sigma_rad,
                       const std::vector<UnitNormals>& screen, MeshState& state) {
  for (std::size_t mode = 0; mode < screen.size(); ++mode) {
    state.output_phase_rad[mode] += output_screen_error_rad(imperfections, sigma_rad, screen[mode]);
  }
}

void add_thermal(const ThermalShifts& shifts, MeshState& state) {
  for (std::size_t i = 0; i < state.mzis.size(); ++i) {
    const ThermalShifts::OfMzi& shift = shifts.mzis[i];
    state.mzis[i].input_upper.phase_rad += shift.input_upper_rad;
    state.mzis[i].input_lower.phase_rad += shift.input_lower_rad;
    state.mzis[i].internal_upper.phase_rad += shift.internal_upper_rad;
    state.mzis[i].internal_lower.phase_rad += shift.internal_lower_rad;
  }
  for (std::size_t mode = 0; mode < state.output_phase_rad.size(); ++mode) {
    state.output_phase_rad[mode] += shifts.output_rad[mode];
  }
}

void scale_phases(double factor, MziState<double>& state) {
  state.theta_rad *= factor;
  state.phi_rad *= factor;
  for (Arm<double>* arm :
       {&state.input_upper, &state.input_lower, &state.internal_upper, &state.internal_lower}) {
    arm->phase_rad *= factor;
  }
}

void attenuate(double loss_db, MziState<double>& state) {
  const double amplitude = amplitude_transmission(loss_db);
  state.input_upper.amplitude_transmission *= amplitude;
  state.input_lower.amplitude_transmission *= amplitude;
}

}  // namespace

void validate(const StaticImperfections& imperfections, MziKind mzi_kind) {
  if (imperfections.loss.crossing_db != 0 && mzi_kind != MziKind::crossing) {
    throw ConfigError(fmt::format(
        "imperfections.loss.crossing_db = {} but the meshes have no crossings; leave it "
        "out or choose MZIs with one (network.mzi or a mesh program's mzi = "
        "\"crossing\")",
        imperfections.loss.crossing_db));
  }
}

ChipMesh::ChipMesh(const MeshProgram& program, const StaticImperfections& imperfections,
                   std::uint16_t mesh_id, int facets)
    : imperfections_(imperfections), mesh_id_(mesh_id), facets_(facets) {
  validate(imperfections, program.topology.mzi_kind);
  set_program(program);
  if (imperfections.phase_correlation_um > 0) {
    correlation_ = std::make_shared<const SparseMap>(
        correlation_filter(heater_positions(program.topology, imperfections.layout),
                           imperfections.phase_correlation_um));
  }
}

void ChipMesh::set_program(const MeshProgram& program) {
  program_ = program;
  driven_ = driven_program(program, imperfections_);
  if (imperfections_.thermal) {
    thermal_ = thermal_shifts(driven_, imperfections_.layout, *imperfections_.thermal);
  }
}

StreamAddress ChipMesh::address(const ChipDraw& draw, DrawId id) const {
  return {.seed = draw.seed, .chip = draw.chip, .mesh_id = mesh_id_, .draw = id};
}

MeshState ChipMesh::chip(const ChipDraw& draw) const { return chip(draw, ideal_state(program_)); }

MeshState ChipMesh::chip(const ChipDraw& draw, const MeshState& own) const {
  MeshState state = own;
  if (imperfections_.none()) return state;
  set_drivers(state);
  if (thermal_) add_thermal(*thermal_, state);
  draw_errors(draw, state);
  draw_drift(draw, state);
  draw_jitter(draw, state);
  draw_losses(draw, state);
  set_losses(state);
  if (imperfections_.optical_crosstalk_db) {
    state.optical_crosstalk_angle_rad =
        optical_crosstalk_angle_rad(*imperfections_.optical_crosstalk_db);
  }
  detune(state);
  return state;
}

MeshState ChipMesh::lossy_state() const {
  MeshState state = ideal_state(program_);
  for (MziState<double>& mzi_state : state.mzis)
    attenuate(imperfections_.loss.block_db(), mzi_state);
  set_losses(state);
  return state;
}

ChipMesh ChipMesh::reprogrammed(const MeshProgram& program) const {
  ChipMesh other = *this;
  other.set_program(program);
  return other;
}

void ChipMesh::set_drivers(MeshState& state) const {
  // Without rounding only whole turns differ, and those matter only where phases are scaled.
  const bool detuned = imperfections_.detuning.effective_nm() != 0;
  if (imperfections_.phase_dac_bits == 0 && !detuned) return;
  reprogram(program_, driven_, state);
}

void ChipMesh::draw_errors(const ChipDraw& draw, MeshState& state) const {
  std::vector<UnitNormals> mzis = draw_blocks(address(draw, DrawId::static_mzi), state.mzis.size());
  if (state.topology.mzi_kind == MziKind::three_splitter) {
    const std::vector<UnitNormals> third =
        draw_blocks(address(draw, DrawId::third_coupler), state.mzis.size());
    for (std::size_t i = 0; i < third.size(); ++i) {
      state.mzis[i].gamma_rad += third_coupler_error_rad(imperfections_, third[i]);
    }
  }
  std::vector<UnitNormals> screen =
      draw_blocks(address(draw, DrawId::static_output_screen), state.output_phase_rad.size());
  if (correlation_) replace_deviates((*correlation_)(heater_deviates(mzis, screen)), mzis, screen);
  for (std::size_t i = 0; i < state.mzis.size(); ++i) {
    apply_static_errors(imperfections_, mzis[i], state.mzis[i]);
  }
  add_screen_errors(imperfections_, imperfections_.phase_fabrication_sigma_rad, screen, state);
}

void ChipMesh::draw_drift(const ChipDraw& draw, MeshState& state) const {
  const PhaseDrift& drift = imperfections_.drift;
  if (!drift.on()) return;
  const OrnsteinUhlenbeck paths(drift.time_s / drift.tau_s);
  StreamAddress of_mzi = address(draw, DrawId::drift);
  for (std::size_t i = 0; i < state.mzis.size(); ++i) {
    of_mzi.element = static_cast<std::uint32_t>(i);
    add_phase_errors(drift.sigma_rad, paths.at(of_mzi), state.mzis[i]);
  }
  StreamAddress of_screen = address(draw, DrawId::drift_output_screen);
  std::vector<UnitNormals> screen;
  for (std::size_t mode = 0; mode < state.output_phase_rad.size(); ++mode) {
    of_screen.element = static_cast<std::uint32_t>(mode);
    screen.push_back(paths.at(of_screen));
  }
  add_screen_errors(imperfections_, drift.sigma_rad, screen, state);
}

void ChipMesh::draw_jitter(const ChipDraw& draw, MeshState& state) const {
  const double sigma_rad = imperfections_.phase_jitter_sigma_rad;
  if (sigma_rad == 0 || !draw.jitter) return;
  StreamAddress of_mzi = address(draw, DrawId::jitter);
  of_mzi.symbol = *draw.jitter;
  const std::vector<UnitNormals> mzis = draw_blocks(of_mzi, state.mzis.size());
  for (std::size_t i = 0; i < mzis.size(); ++i) {
    add_phase_errors(sigma_rad, mzis[i], state.mzis[i]);
  }
  StreamAddress of_screen = address(draw, DrawId::jitter_output_screen);
  of_screen.symbol = *draw.jitter;
  add_screen_errors(imperfections_, sigma_rad,
                    draw_blocks(of_screen, state.output_phase_rad.size()), state);
}

void ChipMesh::draw_losses(const ChipDraw& draw, MeshState& state) const {
  const LossParameters& loss = imperfections_.loss;
  if (loss.block_db() == 0 && loss.mzi_sigma_db == 0) return;
  const std::vector<UnitNormals> normals =
      loss.mzi_sigma_db == 0 ? std::vector<UnitNormals>(state.mzis.size())
                             : draw_blocks(address(draw, DrawId::mzi_loss), state.mzis.size());
  for (std::size_t i = 0; i < state.mzis.size(); ++i) {
    attenuate(block_loss_db(loss, normals[i].value[0]), state.mzis[i]);
  }
}

void ChipMesh::set_losses(MeshState& state) const {
  constexpr double um_per_cm = 1e4;
  const LossParameters& loss = imperfections_.loss;
  const auto columns = static_cast<double>(state.topology.columns.size());
  const double length_cm = columns * imperfections_.layout.column_pitch_um / um_per_cm;
  state.common_amplitude_transmission *=
      amplitude_transmission(loss.waveguide_db_per_cm * length_cm + facets_ * loss.facet_db);
  if (loss.placement == LossPlacement::balanced) {
    state.pass_amplitude_transmission *= amplitude_transmission(loss.block_db());
  }
}

void ChipMesh::detune(MeshState& state) const {
  const Detuning& detuning = imperfections_.detuning;
  const double detuning_nm = detuning.effective_nm();
  if (detuning_nm == 0) return;
  const double factor = detuned_phase_factor(detuning);
  for (MziState<double>& mzi_state : state.mzis) {
    scale_phases(factor, mzi_state);
    mzi_state.alpha_rad += detuning.coupler_rad_per_nm * detuning_nm;
    mzi_state.beta_rad += detuning.coupler_rad_per_nm * detuning_nm;
    mzi_state.gamma_rad += detuning.coupler_rad_per_nm * detuning_nm;
  }
  for (double& phase_rad : state.output_phase_rad) phase_rad *= factor;
}

MeshState perturbed_state(const MeshProgram& program, const StaticImperfections& imperfections,
                          std::uint64_t seed, std::uint32_t chip, std::uint16_t mesh_id) {
  return ChipMesh(program, imperfections, mesh_id).chip({.seed = seed, .chip = chip});
}

}  // namespace optinc
