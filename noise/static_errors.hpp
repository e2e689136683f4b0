// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "devices/mzi.hpp"
#include "noise/stream.hpp"

namespace optinc {

/// Static imperfections of the meshes of a chip, the `[imperfections]` section of a configuration.
/// Zero switches an effect off and gives back the ideal device exactly.
struct StaticImperfections {
  double phase_fabrication_sigma_rad = 0;  ///< Gaussian error of every phase
  bool phase_on_output_screen = true;      ///< whether the screen has that error too
  double coupler_sigma_rad = 0;            ///< Gaussian splitting-angle error of every coupler
  double coupler_mean_rad = 0;             ///< common splitting-angle error (detuning)

  /// True when no effect is on.
  bool none() const;
};

/// Adds the static errors of one MZI. `normals` are those of its DrawId::static_mzi block, in the
/// order theta, phi, alpha, beta.
void apply_static_errors(const StaticImperfections& imperfections, const UnitNormals& normals,
                         MziState<double>& mzi_state);

/// Phase error of one output-screen mode from its DrawId::static_output_screen block, rad.
double output_screen_error_rad(const StaticImperfections& imperfections,
                               const UnitNormals& normals);

}  // namespace optinc
