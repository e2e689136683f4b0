// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "devices/mzi.hpp"

namespace optinc {

/// One mesh column: `mzi_count` MZIs on modes (first_mode, first_mode + 1),
/// (first_mode + 2, first_mode + 3), ...
struct MeshColumn {
  int first_mode{};
  int mzi_count{};

  /// Whether an MZI of the column joins (mode, mode + 1).
  bool joins(int mode) const {
    const int offset = mode - first_mode;
    return offset >= 0 && offset % 2 == 0 && offset / 2 < mzi_count;
  }
  /// Which MZI of the column that is, from the top.
  std::size_t index_of(int mode) const { return static_cast<std::size_t>((mode - first_mode) / 2); }

  friend bool operator==(const MeshColumn&, const MeshColumn&) = default;
};

/// Where the MZIs of a mesh sit. Flat MZI order: column by column in propagation order, each from
/// the top.
struct Topology {
  enum class Kind { clements, reck, columns };
  Kind kind{};
  int modes{};
  std::vector<MeshColumn> columns;
  MziKind mzi_kind{};  ///< of all its MZIs

  std::size_t mzi_count() const;
  friend bool operator==(const Topology&, const Topology&) = default;
};

/// Flat index of the first MZI of every column.
std::vector<std::size_t> column_starts(const std::vector<MeshColumn>& columns);

/// Rectangular mesh (Clements et al., arXiv 1603.08788): 0, 1, N columns for N = 1, 2, >= 3;
/// column c starts at mode c mod 2. Throws ConfigError for modes < 1.
Topology clements_topology(int modes);

/// Triangular mesh (Reck et al., PRL 73, 58): 0 columns for N = 1, else 2N - 3; column c starts at
/// mode N - 2 - k with floor(k / 2) + 1 MZIs, k = min(c, 2N - 4 - c). Throws ConfigError for
/// modes < 1.
Topology reck_topology(int modes);

/// The arrangement that decomposition can program. Throws ConfigError for Kind::columns.
Topology standard_topology(Topology::Kind kind, int modes);

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
  /// Per column, of modes that pass it without an MZI.
  double pass_amplitude_transmission = 1;
  /// Common to all paths: waveguides and facets.
  double common_amplitude_transmission = 1;
  /// Angle of the coupler that every adjacent pair not joined by an MZI passes after each column.
  double optical_crosstalk_angle_rad = 0;
};

/// The mesh without errors.
MeshState ideal_state(const MeshProgram& program);

/// Sets other phases on a mesh that has `programmed` on it; its errors stay. The three meshes have
/// the same shape.
void reprogram(const MeshProgram& programmed, const MeshProgram& program, MeshState& state);

/// Calls `visit(upper_mode)` for every adjacent pair of modes that no MZI of the column joins, from
/// the top.
template <class Visitor>
void for_each_unjoined_pair(const MeshColumn& column, int modes, Visitor&& visit) {
  for (int mode = 0; mode + 1 < modes; ++mode) {
    if (!column.joins(mode)) visit(mode);
  }
}

/// Calls `visit(mode)` for every mode that passes the column without an MZI, from the top.
template <class Visitor>
void for_each_passing_mode(const MeshColumn& column, int modes, Visitor&& visit) {
  for (int mode = 0; mode < modes; ++mode) {
    const bool in_mzi =
        mode >= column.first_mode && mode < column.first_mode + 2 * column.mzi_count;
    if (!in_mzi) visit(mode);
  }
}

}  // namespace optinc
