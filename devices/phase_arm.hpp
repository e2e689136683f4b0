// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

#include "devices/complex.hpp"

namespace optinc {

/// One waveguide arm: a phase and an amplitude transmission (1 = lossless).
template <class Real>
struct Arm {
  Real phase_rad{};
  Real amplitude_transmission{1};
};

/// Field transmission a e^{i x} of one arm.
template <class Real>
OPTINC_HD Complex<Real> arm_transmission(Arm<Real> arm) {
  return {arm.amplitude_transmission * std::cos(arm.phase_rad),
          arm.amplitude_transmission * std::sin(arm.phase_rad)};
}

/// Pair of parallel, uncoupled arms: diag(a e^{i x}, a' e^{i x'}).
template <class Real>
OPTINC_HD Transfer2x2<Real> arm_pair(Arm<Real> upper, Arm<Real> lower) {
  return {arm_transmission(upper), {}, {}, arm_transmission(lower)};
}

}  // namespace optinc
