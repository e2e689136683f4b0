// SPDX-License-Identifier: Apache-2.0
#include "solver/gradient/quantiser.hpp"

#include <algorithm>
#include <cmath>

namespace optinc {

double block_scale(const CodeFormat& format, const float* values, std::size_t stride,
                   std::size_t count) {
  float largest = 0;
  for (int server = 0; server < format.servers; ++server) {
    const float* row = values + static_cast<std::size_t>(server) * stride;
    for (std::size_t i = 0; i < count; ++i) largest = std::max(largest, std::abs(row[i]));
  }
  const std::int64_t steps = std::min(format.code_offset, format.max_value() - format.code_offset);
  return static_cast<double>(largest) / static_cast<double>(steps);
}

double power_of_two_scale(double scale) {
  int exponent = 0;
  const double fraction = std::frexp(scale, &exponent);  // in [0.5, 1)
  return fraction == 0 || fraction == 0.5 ? scale : std::ldexp(1.0, exponent);
}

namespace {

std::uint32_t code_of_steps(const CodeFormat& format, double steps) {
  const auto offset = static_cast<double>(format.code_offset);
  return static_cast<std::uint32_t>(
      std::clamp(steps + offset, 0.0, static_cast<double>(format.max_value())));
}

}  // namespace

std::uint32_t quantise(const CodeFormat& format, float value, double scale) {
  if (scale == 0) return static_cast<std::uint32_t>(format.code_offset);
  // Half to even: the default rounding mode, which nothing here changes.
  return code_of_steps(format, std::nearbyint(static_cast<double>(value) / scale));
}

std::uint32_t quantise_stochastically(const CodeFormat& format, float value, double scale,
                                      double uniform) {
  if (scale == 0) return static_cast<std::uint32_t>(format.code_offset);
  const double exact = static_cast<double>(value) / scale;
  const double below = std::floor(exact);
  return code_of_steps(format, uniform < exact - below ? below + 1 : below);
}

}  // namespace optinc
