// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "solver/backend/backend.hpp"
#include "solver/onn/network.hpp"

namespace optinc {

/// How well a network gives the digits of Q(v).
struct NetworkAccuracy {
  std::uint64_t codes = 0;      ///< looked at
  std::uint64_t correct = 0;    ///< all digits right after slicing, without calibration
  double max_error_digits = 0;  ///< largest |output - digit|
  bool exhaustive = false;      ///< every code of the alphabet, not a sample

  double accuracy() const { return static_cast<double>(correct) / static_cast<double>(codes); }
  /// 0.5 - max_error_digits.
  double margin_digits() const { return 0.5 - max_error_digits; }
};

/// The layers as they are in the network, without optics: weight = W.
std::vector<RealLayer> dense_layers(const Network& network);

/// Evaluates `layers` on every code of `format`, or, where the alphabet is larger than `max_codes`,
/// on `max_codes` codes whose levels are independent and uniform, drawn from `seed` with
/// DrawId::code_sample. Memory does not grow with the number of codes.
/// Throws ConfigError when max_codes is 0 or does not fit in 32 bits, DataError when an output is
/// not finite.
NetworkAccuracy measure_accuracy(std::span<const RealLayer> layers, const CodeFormat& format,
                                 const Backend& backend, std::uint64_t max_codes,
                                 std::uint64_t seed);

}  // namespace optinc
