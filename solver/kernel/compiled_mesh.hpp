// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "devices/complex.hpp"
#include "solver/mesh/program.hpp"

namespace optinc {

/// A mesh reduced to what a kernel multiplies: one 2 x 2 transfer per two-mode element, no device
/// parameters. U = diag(output) T_last ... T_first.
struct CompiledMesh {
  int modes{};
  std::vector<MeshColumn> columns;             ///< propagation order
  std::vector<Transfer2x2<double>> transfers;  ///< flat order of `columns`
  std::vector<Complex<double>> output;         ///< per mode: the output screen with its losses
};

/// Forms the transfers in double precision, whatever the precision of the kernel that uses them:
/// entries rounded once keep the power drift of a deep mesh random (0.8 sqrt(N) eps) where chained
/// rounded couplers lose power systematically.
CompiledMesh compile(const MeshState& mesh);

}  // namespace optinc
