// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "devices/mzi.hpp"
#include "noise/static_errors.hpp"

namespace optinc {

/// One mesh column: `mzi_count` MZIs on modes (first_mode, first_mode + 1),
/// (first_mode + 2, first_mode + 3), ...
struct MeshColumn {
  int first_mode{};
  int mzi_count{};
  friend bool operator==(const MeshColumn&, const MeshColumn&) = default;
};

/// Where the MZIs of a mesh sit. Flat MZI order: column by column in propagation order, each from
/// the top.
struct Topology {
  enum class Kind { clements, columns };
  Kind kind{};
  int modes{};
  std::vector<MeshColumn> columns;

  std::size_t mzi_count() const;
  friend bool operator==(const Topology&, const Topology&) = default;
};

/// Rectangular mesh (Clements et al., arXiv 1603.08788): 0, 1, N columns for N = 1, 2, >= 3;
/// column c starts at mode c mod 2. Throws ConfigError for modes < 1.
Topology clements_topology(int modes);

/// Any column list. Throws DataError when a column leaves the mesh.
Topology column_topology(int modes, std::vector<MeshColumn> columns);

/// The phases that program a mesh: U = diag(e^{i output_phase}) T_last ... T_first, y = U x.
struct MeshProgram {
  Topology topology;
  std::vector<double> theta_rad;         ///< per MZI, flat order
  std::vector<double> phi_rad;           ///< per MZI, flat order
  std::vector<double> output_phase_rad;  ///< per mode
};

/// A mesh with the errors of one chip: the complete input of composition and propagation.
struct MeshState {
  Topology topology;
  std::vector<MziState<double>> mzis;    ///< flat order
  std::vector<double> output_phase_rad;  ///< per mode, errors included
};

/// The mesh without errors.
MeshState ideal_state(const MeshProgram& program);

/// Adds the static errors drawn for (seed, chip, mesh_id) to a mesh that may carry others already.
void add_static_errors(const StaticImperfections& imperfections, std::uint64_t seed,
                       std::uint32_t chip, std::uint16_t mesh_id, MeshState& state);

/// The mesh of one chip: programmed phases plus the static errors drawn for (seed, chip, mesh_id).
/// With all imperfections off the result equals `ideal_state` bit for bit.
MeshState perturbed_state(const MeshProgram& program, const StaticImperfections& imperfections,
                          std::uint64_t seed, std::uint32_t chip, std::uint16_t mesh_id);

}  // namespace optinc
