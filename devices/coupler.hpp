// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

#include "devices/complex.hpp"

namespace optinc {

/// Directional coupler BS(eta) = [[cos eta, i sin eta], [i sin eta, cos eta]].
/// Args: `splitting_angle_rad`, pi/4 for the balanced (50:50) coupler.
template <class Real>
OPTINC_HD Transfer2x2<Real> coupler(Real splitting_angle_rad) {
  const Real cosine = std::cos(splitting_angle_rad);
  const Real sine = std::sin(splitting_angle_rad);
  return {{cosine, Real(0)}, {Real(0), sine}, {Real(0), sine}, {cosine, Real(0)}};
}

}  // namespace optinc
