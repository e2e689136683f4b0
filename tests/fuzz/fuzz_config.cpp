// SPDX-License-Identifier: Apache-2.0
// Sweep configurations: bytes as a TOML file.
#include "solver/config/sweep_config.hpp"
#include "tests/fuzz/fuzz_target.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace optinc;
  return testing::accept_refusal([&] {
    const std::filesystem::path file = testing::as_file(testing::as_text(data, size), ".toml");
    const SweepConfig sweep = load_sweep_config(file, {});
    const std::size_t points = sweep.points();
    testing::require(points > 0);
    FileHashes hashes;
    const std::string id = task_id(sweep, sweep.point(points - 1), hashes);
    testing::require(id.size() == 16);
  });
}
