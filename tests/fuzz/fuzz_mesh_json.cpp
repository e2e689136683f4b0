// SPDX-License-Identifier: Apache-2.0
// Mesh programs and matrices: bytes as JSON.
#include <string>

#include "solver/mesh/mesh_json.hpp"
#include "tests/fuzz/fuzz_target.hpp"
#include "tests/support/reference.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace optinc;
  const std::string text(testing::as_text(data, size));
  testing::accept_refusal([&] { parse_matrix(text, "input", {"U"}); });
  return testing::accept_refusal([&] {
    const MeshFile file = parse_mesh(text, "input");
    const MeshFile again = parse_mesh(mesh_json(file.program, std::nullopt), "again");
    testing::require(again.program.topology == file.program.topology);
    testing::require(again.program.theta_rad == file.program.theta_rad);
    testing::require(testing::reference()->compose(file.state).rows() ==
                     file.program.topology.modes);
  });
}
