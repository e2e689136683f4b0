// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "noise/combiner_errors.hpp"
#include "noise/symbol_noise.hpp"

namespace optinc {

/// The PAM4 transmitters of the servers.
struct Transmitter {
  std::optional<double> extinction_ratio_db = {};  ///< of powers, outer levels; none: infinite
  double rlm = 1;                                  ///< ratio of level mismatch, of what adds up

  friend bool operator==(const Transmitter&, const Transmitter&) = default;
};

/// What a transmitter sends for each level, in digits: the levels of `pam4_levels`, scaled so that
/// the outer ones lie 3 apart. What carries the digits is the field where the combiner is coherent
/// and the power where it is not. Without the effects exactly 0, 1, 2, 3.
std::array<double, 4> transmitted_levels(const Transmitter& transmitter, CombinerMode mode);

/// What makes the field of a unit depend on more than its code, beyond the combiner's weights.
struct SymbolEffects {
  CombinerMode mode = CombinerMode::coherent;
  Transmitter transmitter = {};
  SymbolNoise noise = {};
  /// Of a chip's phase jitter, which symbols take in turn; 0: no jitter.
  std::uint32_t jitter_realizations = 0;

  bool none() const {
    return transmitter == Transmitter{} && noise.none() && jitter_realizations == 0;
  }
};

/// The random streams of one unit.
struct SymbolStreams {
  std::uint64_t seed{};
  std::uint32_t chip{};
  std::uint16_t unit{};          ///< of a cascade; else 0
  std::uint16_t first_server{};  ///< number of the unit's first source on the chip
};

/// Factor 1 + epsilon on what layer `layer` detects of symbol `index`.
double intensity_factor(const SymbolNoise& noise, const SymbolStreams& streams, std::size_t layer,
                        std::uint64_t index);

/// Phase of server `server` of the unit in symbol `index`, rad.
double laser_phase_rad(const SymbolNoise& noise, const SymbolStreams& streams, std::uint16_t server,
                       std::uint64_t index);

/// Unit deviates of the amplifier noise of outputs 4 quad to 4 quad + 3 of a layer.
UnitNormals amplifier_deviates(const SymbolStreams& streams, std::size_t layer, std::size_t quad,
                               std::uint64_t index);

}  // namespace optinc
