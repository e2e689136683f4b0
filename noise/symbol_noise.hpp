// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "noise/stream.hpp"

namespace optinc {

/// Noise that is new for every symbol, on its way through a unit. Zero switches an effect off.
struct SymbolNoise {
  /// Relative intensity of the source that feeds a layer, per layer: what it detects is scaled by
  /// 1 + a Gaussian of this.
  double intensity_sigma = 0;
  double laser_phase_sigma_rad = 0;  ///< phase of each server's field against the others
  /// Each detected output ahead of the gain G of its layer, in digits.
  double amplifier_sigma = 0;

  bool none() const {
    return intensity_sigma == 0 && laser_phase_sigma_rad == 0 && amplifier_sigma == 0;
  }
};

/// Relative intensity noise within a bandwidth: sqrt(RIN B). Args: rin_db_hz, 10 log10 of 1/Hz.
double intensity_sigma(double rin_db_hz, double bandwidth_hz);

/// Phase between two paths of one laser of Lorentzian linewidth that differ in length by a delay:
/// sqrt(2 pi linewidth delay).
double laser_phase_sigma_rad(double linewidth_hz, double delay_s);

/// Delay of light in a standard single-mode fibre (group index 1.468).
double fibre_delay_s(double length_m);

/// The block of a draw that belongs to symbol `index`, whose low 32 bits are the address's symbol
/// and whose high bits stand above the low 16 of its element. Args: address.element < 2^16.
UnitNormals symbol_normals(StreamAddress address, std::uint64_t index);

}  // namespace optinc
