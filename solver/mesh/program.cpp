// SPDX-License-Identifier: Apache-2.0
#include "solver/mesh/program.hpp"

#include <utility>

#include <fmt/format.h>

#include "solver/error.hpp"

namespace optinc {

std::size_t Topology::mzi_count() const {
  std::size_t total = 0;
  for (const MeshColumn& column : columns) total += static_cast<std::size_t>(column.mzi_count);
  return total;
}

Topology clements_topology(int modes) {
  if (modes < 1) {
    throw ConfigError(fmt::format("mesh with {} modes (must be at least 1)", modes));
  }
  Topology topology{.kind = Topology::Kind::clements, .modes = modes, .columns = {}};
  const int column_count = modes == 1 ? 0 : (modes == 2 ? 1 : modes);
  for (int column = 0; column < column_count; ++column) {
    const int first_mode = column % 2;
    topology.columns.push_back({first_mode, (modes - first_mode) / 2});
  }
  return topology;
}

Topology column_topology(int modes, std::vector<MeshColumn> columns) {
  if (modes < 1) throw DataError(fmt::format("mesh with {} modes (must be at least 1)", modes));
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const MeshColumn& column = columns[i];
    const bool fits = column.first_mode >= 0 && column.mzi_count >= 0 &&
                      column.first_mode <= modes &&
                      column.mzi_count <= (modes - column.first_mode) / 2;
    if (!fits) {
      throw DataError(
          fmt::format("column {} of the mesh does not fit (first mode {}, {} MZIs, {} modes)", i,
                      column.first_mode, column.mzi_count, modes));
    }
  }
  return {.kind = Topology::Kind::columns, .modes = modes, .columns = std::move(columns)};
}

MeshState ideal_state(const MeshProgram& program) {
  MeshState state{.topology = program.topology,
                  .mzis = std::vector<MziState<double>>(program.theta_rad.size()),
                  .output_phase_rad = program.output_phase_rad};
  for (std::size_t i = 0; i < state.mzis.size(); ++i) {
    state.mzis[i].theta_rad = program.theta_rad[i];
    state.mzis[i].phi_rad = program.phi_rad[i];
  }
  return state;
}

void add_static_errors(const StaticImperfections& imperfections, std::uint64_t seed,
                       std::uint32_t chip, std::uint16_t mesh_id, MeshState& state) {
  if (imperfections.none()) return;
  StreamAddress address{.seed = seed, .chip = chip, .mesh_id = mesh_id, .draw = DrawId::static_mzi};
  for (std::size_t i = 0; i < state.mzis.size(); ++i) {
    address.element = static_cast<std::uint32_t>(i);
    apply_static_errors(imperfections, unit_normals(random_words(address)), state.mzis[i]);
  }
  address.draw = DrawId::static_output_screen;
  for (std::size_t mode = 0; mode < state.output_phase_rad.size(); ++mode) {
    address.element = static_cast<std::uint32_t>(mode);
    state.output_phase_rad[mode] +=
        output_screen_error_rad(imperfections, unit_normals(random_words(address)));
  }
}

MeshState perturbed_state(const MeshProgram& program, const StaticImperfections& imperfections,
                          std::uint64_t seed, std::uint32_t chip, std::uint16_t mesh_id) {
  MeshState state = ideal_state(program);
  add_static_errors(imperfections, seed, chip, mesh_id, state);
  return state;
}

}  // namespace optinc
