// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "devices/mzi.hpp"
#include "solver/mesh/program.hpp"

namespace optinc {

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

/// Multiplies a row of fields by a factor in place.
template <class Real>
void scale_row(Complex<Real> factor, std::span<Complex<Real>> row) {
  for (Complex<Real>& field : row) field = factor * field;
}

/// Sends fields through a mesh in place, effect by effect as the design describes them. `fields` is
/// [mode][sample], row-major.
template <class Real>
void sweep_columns(const MeshState& mesh, std::span<Complex<Real>> fields, std::size_t samples) {
  const auto row = [&](std::size_t mode) { return fields.subspan(mode * samples, samples); };
  const int modes = mesh.topology.modes;
  const Real pass_amplitude = static_cast<Real>(mesh.pass_amplitude_transmission);
  const Transfer2x2<Real> crosstalk = coupler(static_cast<Real>(mesh.optical_crosstalk_angle_rad));
  std::size_t flat_index = 0;
  for (const MeshColumn& column : mesh.topology.columns) {
    for (int i = 0; i < column.mzi_count; ++i) {
      const int upper = column.first_mode + 2 * i;
      const auto mode = static_cast<std::size_t>(upper);
      apply_transfer(mzi(mesh.mzis[flat_index++]), row(mode), row(mode + 1));
    }
    if (pass_amplitude != 1) {
      for_each_passing_mode(column, modes, [&](int mode) {
        scale_row<Real>({pass_amplitude, 0}, row(static_cast<std::size_t>(mode)));
      });
    }
    if (mesh.optical_crosstalk_angle_rad != 0) {
      for_each_unjoined_pair(column, modes, [&](int mode) {
        const auto upper = static_cast<std::size_t>(mode);
        apply_transfer(crosstalk, row(upper), row(upper + 1));
      });
    }
  }
  for (std::size_t mode = 0; mode < mesh.output_phase_rad.size(); ++mode) {
    scale_row(arm_transmission(Arm<Real>{static_cast<Real>(mesh.output_phase_rad[mode]),
                                         static_cast<Real>(mesh.common_amplitude_transmission)}),
              row(mode));
  }
}

}  // namespace optinc
