// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "solver/onn/mapping.hpp"

namespace optinc {

/// What the chips of a sweep point are evaluated on.
struct EvaluationSize {
  std::size_t codes{};                ///< different codes that the gradient holds
  std::size_t entries{};              ///< those codes, sampled elements or tuples
  std::size_t servers{};              ///< whose values each entry keeps; 0 where entries are codes
  int random_digits{};                ///< whose distribution each entry keeps; 0: none is random
  std::size_t jitter_realizations{};  ///< of each chip
};

/// Bytes that a sweep point needs, from the sizes of its arrays. Libraries, file buffers, kernel
/// tiles and the passing peak of reducing the trace are not in it.
struct MemoryEstimate {
  std::uint64_t code_table = 0;     ///< statistics, inputs and targets of every code or entry
  std::uint64_t shared_meshes = 0;  ///< programs and ideal matrices, shared by all chips
  std::uint64_t per_thread = 0;     ///< one chip in work: its meshes, layers and decoded codes

  std::uint64_t total(unsigned threads) const {
    return code_table + shared_meshes + threads * per_thread;
  }
};

MemoryEstimate estimate_memory(const MappedNetwork& network, const EvaluationSize& size);

/// A unit of a cascade.
struct UnitSize {
  const MappedNetwork* network{};
  std::size_t codes{};  ///< different codes that reach it
};

/// Likewise of a cascade. Args: size: its codes are not looked at.
MemoryEstimate estimate_cascade_memory(const std::vector<UnitSize>& units,
                                       const EvaluationSize& size);

}  // namespace optinc
