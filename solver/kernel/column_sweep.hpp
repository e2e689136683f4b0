// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "devices/mzi.hpp"
#include "solver/mesh/program.hpp"

namespace optinc {

/// Calls `visit(upper_mode, flat_index)` for every MZI in propagation order.
template <class Visitor>
void for_each_mzi(const Topology& topology, Visitor&& visit) {
  std::size_t flat_index = 0;
  for (const MeshColumn& column : topology.columns) {
    for (int i = 0; i < column.mzi_count; ++i) {
      visit(static_cast<std::size_t>(column.first_mode) + 2 * static_cast<std::size_t>(i),
            flat_index++);
    }
  }
}

/// Applies a 2 x 2 transfer to two rows of fields in place.
template <class Real>
void apply_transfer(const Transfer2x2<Real>& transfer, std::span<Complex<Real>> upper,
                    std::span<Complex<Real>> lower) {
  for (std::size_t sample = 0; sample < upper.size(); ++sample) {
    const Complex<Real> first = upper[sample];
    const Complex<Real> second = lower[sample];
    upper[sample] = transfer.m11 * first + transfer.m12 * second;
    lower[sample] = transfer.m21 * first + transfer.m22 * second;
  }
}

/// Sends fields through a mesh in place. `fields` is [mode][sample], row-major.
template <class Real>
void sweep_columns(const MeshState& mesh, std::span<Complex<Real>> fields, std::size_t samples) {
  const auto row = [&](std::size_t mode) { return fields.subspan(mode * samples, samples); };
  for_each_mzi(mesh.topology, [&](std::size_t mode, std::size_t flat_index) {
    apply_transfer(mzi(mesh.mzis[flat_index]), row(mode), row(mode + 1));
  });
  for (std::size_t mode = 0; mode < mesh.output_phase_rad.size(); ++mode) {
    const Complex<Real> phase = arm_transmission(Arm<Real>{mesh.output_phase_rad[mode], 1});
    for (Complex<Real>& field : row(mode)) field = phase * field;
  }
}

}  // namespace optinc
