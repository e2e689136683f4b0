// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "solver/optinc/code.hpp"

namespace optinc {

/// How float gradients become integers, besides the code format.
struct QuantiserOptions {
  std::uint64_t block = 1024;       ///< elements that share a scale
  bool power_of_two_scale = false;  ///< block scales rounded up to powers of two
  /// Seed of stochastic rounding; none: round half to even. The draw of an element depends on this
  /// seed, its server and its index in the concatenation of the tensors alone: not on the chip.
  std::optional<std::uint64_t> rounding_seed = {};

  friend bool operator==(const QuantiserOptions&, const QuantiserOptions&) = default;
};

/// Scale of one block: max |g| over servers and elements divided by min(o, 2^b - 1 - o), in double;
/// 0 for an all-zero block. `values[server * stride + i]`, i < count.
double block_scale(const CodeFormat& format, const float* values, std::size_t stride,
                   std::size_t count);

/// The smallest power of two that is not below `scale`; 0 for 0.
double power_of_two_scale(double scale);

/// Code u = clamp(round_half_even(g / s)) + o in 0..2^b-1; o where s = 0.
std::uint32_t quantise(const CodeFormat& format, float value, double scale);

/// Code of stochastic rounding: as `quantise`, but g / s is rounded up where `uniform`, a deviate
/// in (0, 1), is below its distance to the integer below. Its mean over the deviates is g / s.
std::uint32_t quantise_stochastically(const CodeFormat& format, float value, double scale,
                                      double uniform);

}  // namespace optinc
