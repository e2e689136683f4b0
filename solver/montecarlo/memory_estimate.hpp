// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "solver/onn/mapping.hpp"

namespace optinc {

/// Bytes that a sweep point needs, from the sizes of its arrays. Libraries, file buffers, kernel
/// tiles and the passing peak of reducing the trace are not in it.
struct MemoryEstimate {
  std::uint64_t code_table = 0;     ///< statistics, network inputs and targets of every code
  std::uint64_t shared_meshes = 0;  ///< programs and ideal matrices, shared by all chips
  std::uint64_t per_thread = 0;     ///< one chip in work: its meshes, layers and decoded codes

  std::uint64_t total(unsigned threads) const {
    return code_table + shared_meshes + threads * per_thread;
  }
};

/// Args: codes, how many different ones the trace holds.
MemoryEstimate estimate_memory(const MappedNetwork& network, std::size_t codes);

}  // namespace optinc
