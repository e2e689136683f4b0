// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "devices/host_device.hpp"

namespace optinc {

/// Of the levels 0 to 3, lowest first.
template <class Real>
struct Pam4Powers {
  Real level[4];
};

/// Optical powers of the four PAM4 levels, in the unit of `top_power`. The outer levels are apart
/// by the extinction ratio (a power ratio, above 1); the level mismatch ratio (RLM, in (0, 1])
/// moves the inner two towards the middle: ES1 = ES2 = rlm / 3.
template <class Real>
OPTINC_HD constexpr Pam4Powers<Real> pam4_powers(Real top_power, Real extinction_ratio, Real rlm) {
  const Real bottom_power = top_power / extinction_ratio;
  const Real middle = (top_power + bottom_power) / 2;
  const Real inner = rlm / 3 * (top_power - bottom_power) / 2;
  return {{bottom_power, middle - inner, middle + inner, top_power}};
}

}  // namespace optinc
