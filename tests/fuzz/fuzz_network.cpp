// SPDX-License-Identifier: Apache-2.0
// Networks: bytes as an HDF5 file.
#include "solver/onn/network_file.hpp"
#include "tests/fuzz/fuzz_target.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace optinc;
  return testing::accept_refusal([&] {
    const Network network = read_network(testing::as_file(testing::as_text(data, size), ".h5"));
    testing::require(!network.layers.empty());
    for (const NetworkLayer& layer : network.layers) {
      testing::require(layer.weight.allFinite() && layer.bias.size() == layer.weight.rows());
    }
  });
}
