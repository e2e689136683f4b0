// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "noise/static_errors.hpp"
#include "solver/backend/backend.hpp"
#include "solver/onn/mapping.hpp"
#include "solver/onn/training/dense_pass.hpp"

namespace optinc {

/// The chips that a network is trained against.
struct ChipErrorOptions {
  StaticImperfections imperfections;
  MappingOptions mapping;      ///< meshes, MZIs and gain; the mapping is that of each layer
  std::size_t chips = 4;       ///< at a time, taking turns over the chunks of a minibatch
  std::uint64_t interval = 8;  ///< steps for which they stay
};

/// Draws what imperfect chips make of weights, through the same mapping, meshes and imperfections
/// as a sweep. Any thread.
class ChipErrors {
 public:
  /// `backend` must outlive this.
  ChipErrors(const ChipErrorOptions& options, const Backend& backend, std::uint64_t seed)
      : options_(options), backend_(backend), seed_(seed) {}

  /// Weights of chip `chip` of draw `draw` minus the designed ones, [out][in], of every chip for
  /// one layer. Layers and draws are independent of each other.
  std::vector<std::vector<float>> draw(const NetworkLayer& designed, std::size_t layer,
                                       std::uint64_t draw) const;

 private:
  const ChipErrorOptions& options_;
  const Backend& backend_;
  std::uint64_t seed_;
};

}  // namespace optinc
