// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "devices/layout.hpp"
#include "noise/thermal_crosstalk.hpp"
#include "solver/mesh/program.hpp"

namespace optinc {

/// Centres of all heaters of a mesh: theta and phi of each MZI in flat order (heaters 2 i and
/// 2 i + 1), then one per mode of the output screen.
std::vector<Position> heater_positions(const Topology& topology, const MeshLayout& layout);

/// A sparse linear map over the heaters of a mesh: out[r] = sum of weight * in[column].
struct SparseMap {
  struct Term {
    std::uint32_t column{};
    double weight{};
  };
  std::vector<std::size_t> row_start;  ///< rows + 1 entries
  std::vector<Term> terms;             ///< of row r: row_start[r] .. row_start[r + 1]

  std::vector<double> operator()(const std::vector<double>& in) const;
};

/// Turns independent unit normals, one per heater, into correlated ones: a moving average with
/// weights exp(-d^2 / length^2) within 3 lengths, scaled so that every variance stays 1. Where
/// heaters are dense the correlation is exp(-d^2 / (2 length^2)); length 0 changes nothing.
SparseMap correlation_filter(const std::vector<Position>& heaters, double length_um);

/// Phases that thermal crosstalk adds to the four arms of every MZI and to the screen.
struct ThermalShifts {
  struct OfMzi {
    double input_upper_rad{};
    double input_lower_rad{};
    double internal_upper_rad{};
    double internal_lower_rad{};
  };
  std::vector<OfMzi> mzis;         ///< flat order
  std::vector<double> output_rad;  ///< per mode
};

/// Shift of every arm: sum over all heaters other than its own of coupling(distance) times that
/// heater's phase. The cost is linear in the number of heaters.
/// Args: driven: phases as the drivers set them, in [0, 2 pi).
ThermalShifts thermal_shifts(const MeshProgram& driven, const MeshLayout& layout,
                             const ThermalCrosstalk& model);

}  // namespace optinc
