// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "devices/host_device.hpp"

namespace optinc {

/// Of the levels 0 to 3, lowest first.
template <class Real>
struct Pam4Levels {
  Real level[4];
};

/// The four PAM4 levels, powers or fields, in the unit of `top`. The outer levels are apart by
/// `extinction_ratio`, a ratio of what they are, above 1; the level mismatch ratio (RLM, in (0, 1])
/// moves the inner two towards the middle: ES1 = ES2 = rlm / 3.
template <class Real>
OPTINC_HD constexpr Pam4Levels<Real> pam4_levels(Real top, Real extinction_ratio, Real rlm) {
  const Real bottom = top / extinction_ratio;
  const Real middle = (top + bottom) / 2;
  const Real inner = rlm / 3 * (top - bottom) / 2;
  return {{bottom, middle - inner, middle + inner, top}};
}

}  // namespace optinc
