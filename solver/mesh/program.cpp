// SPDX-License-Identifier: Apache-2.0
#include "solver/mesh/program.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "solver/error.hpp"

namespace optinc {

std::size_t Topology::mzi_count() const {
  std::size_t total = 0;
  for (const MeshColumn& column : columns) total += static_cast<std::size_t>(column.mzi_count);
  return total;
}

std::vector<std::size_t> column_starts(const std::vector<MeshColumn>& columns) {
  std::vector<std::size_t> starts;
  starts.reserve(columns.size());
  std::size_t start = 0;
  for (const MeshColumn& column : columns) {
    starts.push_back(start);
    start += static_cast<std::size_t>(column.mzi_count);
  }
  return starts;
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

Topology reck_topology(int modes) {
  if (modes < 1) {
    throw ConfigError(fmt::format("mesh with {} modes (must be at least 1)", modes));
  }
  Topology topology{.kind = Topology::Kind::reck, .modes = modes, .columns = {}};
  for (int column = 0; column < 2 * modes - 3; ++column) {
    const int depth = std::min(column, 2 * modes - 4 - column);
    topology.columns.push_back({modes - 2 - depth, depth / 2 + 1});
  }
  return topology;
}

Topology standard_topology(Topology::Kind kind, int modes) {
  switch (kind) {
    case Topology::Kind::clements:
      return clements_topology(modes);
    case Topology::Kind::reck:
      return reck_topology(modes);
    case Topology::Kind::columns:
      break;
  }
  throw ConfigError("a list of columns has no size of its own; name clements or reck");
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
    state.mzis[i].kind = program.topology.mzi_kind;
  }
  return state;
}

void reprogram(const MeshProgram& programmed, const MeshProgram& program, MeshState& state) {
  for (std::size_t i = 0; i < state.mzis.size(); ++i) {
    state.mzis[i].theta_rad += program.theta_rad[i] - programmed.theta_rad[i];
    state.mzis[i].phi_rad += program.phi_rad[i] - programmed.phi_rad[i];
  }
  for (std::size_t mode = 0; mode < state.output_phase_rad.size(); ++mode) {
    state.output_phase_rad[mode] +=
        program.output_phase_rad[mode] - programmed.output_phase_rad[mode];
  }
}

}  // namespace optinc
