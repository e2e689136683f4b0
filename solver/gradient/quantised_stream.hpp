// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "solver/gradient/quantiser.hpp"
#include "solver/gradient/source.hpp"

namespace optinc {

/// A run of elements of one tensor within one block, with what the servers transmit for them.
struct QuantisedPiece {
  std::size_t tensor{};
  std::uint64_t first{};  ///< index within the tensor
  std::size_t count{};
  double scale{};                 ///< s of the block
  const float* gradients{};       ///< gradients[server * stride + i], i < count
  std::size_t stride{};           ///< between the servers of `gradients`
  const std::uint32_t* values{};  ///< u: values[i * servers + server]
};

/// Goes through a gradient once, in trace order, in bounded memory: one block. Blocks of
/// `options.block` elements run over the concatenation of the tensors (they may cross tensors, the
/// last is short); `visit` gets every block cut at the tensors' ends.
/// Throws ConfigError when the source's servers differ from the format's, DataError from reading.
void quantise_stream(const GradientSource& source, const CodeFormat& format,
                     const QuantiserOptions& options,
                     const std::function<void(const QuantisedPiece&)>& visit);

}  // namespace optinc
