// SPDX-License-Identifier: Apache-2.0
#include "solver/kernel/compiled_mesh.hpp"

namespace optinc {

CompiledMesh compile(const MeshState& mesh) {
  CompiledMesh compiled{.modes = mesh.topology.modes,
                        .columns = mesh.topology.columns,
                        .transfers = {},
                        .output = {}};
  compiled.transfers.reserve(mesh.mzis.size());
  for (const MziState<double>& state : mesh.mzis) compiled.transfers.push_back(mzi(state));
  compiled.output.reserve(mesh.output_phase_rad.size());
  for (const double phase_rad : mesh.output_phase_rad) {
    compiled.output.push_back(arm_transmission(Arm<double>{phase_rad, 1}));
  }
  return compiled;
}

}  // namespace optinc
