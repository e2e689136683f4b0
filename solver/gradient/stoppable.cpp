// SPDX-License-Identifier: Apache-2.0
#include "solver/gradient/stoppable.hpp"

#include <algorithm>
#include <utility>

namespace optinc {

StoppableGradient::StoppableGradient(std::unique_ptr<GradientSource> source,
                                     std::function<bool()> stop_requested)
    : source_(std::move(source)), stop_requested_(std::move(stop_requested)) {}

void StoppableGradient::read(std::size_t tensor, std::uint64_t first, std::uint64_t count,
                             float* out, std::size_t stride) const {
  constexpr std::uint64_t piece = 65536;
  for (std::uint64_t done = 0; done < count; done += piece) {
    if (stop_requested_()) throw Stopped();
    source_->read(tensor, first + done, std::min(piece, count - done), out + done, stride);
  }
}

}  // namespace optinc
