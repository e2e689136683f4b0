// SPDX-License-Identifier: Apache-2.0
#include "noise/static_errors.hpp"

namespace optinc {

bool StaticImperfections::none() const {
  return phase_fabrication_sigma_rad == 0 && coupler_sigma_rad == 0 && coupler_mean_rad == 0;
}

void apply_static_errors(const StaticImperfections& imperfections, const UnitNormals& normals,
                         MziState<double>& mzi_state) {
  mzi_state.theta_rad += imperfections.phase_fabrication_sigma_rad * normals.value[0];
  mzi_state.phi_rad += imperfections.phase_fabrication_sigma_rad * normals.value[1];
  mzi_state.alpha_rad +=
      imperfections.coupler_mean_rad + imperfections.coupler_sigma_rad * normals.value[2];
  mzi_state.beta_rad +=
      imperfections.coupler_mean_rad + imperfections.coupler_sigma_rad * normals.value[3];
}

double output_screen_error_rad(const StaticImperfections& imperfections,
                               const UnitNormals& normals) {
  if (!imperfections.phase_on_output_screen) return 0;
  return imperfections.phase_fabrication_sigma_rad * normals.value[0];
}

}  // namespace optinc
