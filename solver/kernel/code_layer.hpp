// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

namespace optinc {

/// Neurons that a kernel computes at once.
inline constexpr std::size_t neurons_per_block = 4;

/// A real layer y = min(max(weight x + bias, floor), ceiling) as a kernel reads it, its neurons
/// filled up to whole blocks with zeros.
template <class Real>
struct PackedLayer {
  std::size_t inputs{};
  std::size_t blocks{};
  std::vector<Real> weight;  ///< [block][input][neuron of the block]
  std::vector<Real> bias;    ///< [neuron]
  Real floor{};              ///< -infinity where nothing is cut
  Real ceiling{};            ///< infinity where nothing is cut
};

/// Values of some codes between two layers, in panels as wide as one kernel step. Does not own the
/// memory.
template <class Real>
struct CodePanels {
  Real* values{};  ///< [panel][neuron][code of the panel], aligned to a cache line
  std::size_t panels{};
  std::size_t panel_stride{};  ///< values from panel to panel
};

}  // namespace optinc
