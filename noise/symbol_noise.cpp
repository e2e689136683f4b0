// SPDX-License-Identifier: Apache-2.0
#include "noise/symbol_noise.hpp"

#include <cmath>
#include <numbers>

#include "devices/decibel.hpp"

namespace optinc {

double intensity_sigma(double rin_db_hz, double bandwidth_hz) {
  return std::sqrt(power_ratio(rin_db_hz) * bandwidth_hz);
}

double laser_phase_sigma_rad(double linewidth_hz, double delay_s) {
  return std::sqrt(2 * std::numbers::pi * linewidth_hz * delay_s);
}

double fibre_delay_s(double length_m) {
  constexpr double group_index = 1.468;
  constexpr double light_speed_m_s = 299792458;
  return group_index * length_m / light_speed_m_s;
}

UnitNormals symbol_normals(StreamAddress address, std::uint64_t index) {
  constexpr int element_bits = 16;
  address.symbol = static_cast<std::uint32_t>(index);
  address.element |= static_cast<std::uint32_t>(index >> 32U) << element_bits;
  return unit_normals(random_words(address));
}

}  // namespace optinc
