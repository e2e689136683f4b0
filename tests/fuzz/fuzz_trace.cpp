// SPDX-License-Identifier: Apache-2.0
// Gradient traces: bytes as an HDF5 file.
#include <algorithm>
#include <vector>

#include "solver/gradient/trace.hpp"
#include "tests/fuzz/fuzz_target.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace optinc;
  return testing::accept_refusal([&] {
    const GradientTrace trace(testing::as_file(testing::as_text(data, size), ".h5"));
    constexpr std::uint64_t most = 64;
    std::vector<float> values(most * static_cast<std::size_t>(trace.servers()));
    for (std::size_t tensor = 0; tensor < trace.tensors().size(); ++tensor) {
      const std::uint64_t count = std::min(most, trace.tensors()[tensor].elements);
      trace.read(tensor, 0, count, values.data(), most);
      trace.read(tensor, trace.tensors()[tensor].elements - count, count, values.data(), most);
    }
  });
}
