// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "solver/optinc/decision.hpp"

namespace optinc {

/// Elements that are decoded together, so that memory does not grow with their number.
inline constexpr std::size_t batch_elements = 16384;

/// Joins what `decode(part, first)` makes of batches of `values[element * servers + server]`; first
/// is the number of the part's first element.
template <class Result, class Decode>
Result in_batches(int servers, std::span<const std::uint32_t> values, const Decode& decode) {
  const auto stride = static_cast<std::size_t>(servers);
  const std::size_t batch = batch_elements * stride;
  Result all;
  for (std::size_t first = 0; first < values.size(); first += batch) {
    append(all, decode(values.subspan(first, std::min(batch, values.size() - first)),
                       std::uint64_t{first / stride}));
  }
  return all;
}

}  // namespace optinc
