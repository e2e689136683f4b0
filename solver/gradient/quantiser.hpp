// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "solver/optinc/code.hpp"

namespace optinc {

/// Scale of one block: max |g| over servers and elements divided by min(o, 2^b - 1 - o), in double;
/// 0 for an all-zero block. `values[server * stride + i]`, i < count.
double block_scale(const CodeFormat& format, const float* values, std::size_t stride,
                   std::size_t count);

/// Code u = clamp(round_half_even(g / s)) + o in 0..2^b-1; o where s = 0.
std::uint32_t quantise(const CodeFormat& format, float value, double scale);

}  // namespace optinc
