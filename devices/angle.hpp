// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <numbers>

namespace optinc {

/// The same angle in [0, 2 pi).
inline double wrap_rad(double angle_rad) {
  constexpr double turn_rad = 2.0 * std::numbers::pi;
  double wrapped_rad = std::fmod(angle_rad, turn_rad);
  if (wrapped_rad < 0) wrapped_rad += turn_rad;
  return wrapped_rad < turn_rad ? wrapped_rad + 0.0 : 0.0;  // + 0.0: no negative zero
}

}  // namespace optinc
