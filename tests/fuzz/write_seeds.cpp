// SPDX-License-Identifier: Apache-2.0
// Writes the seeds that are HDF5 files into the folder of the command line.
#include <filesystem>

#include "solver/gradient/trace.hpp"
#include "solver/onn/network_file.hpp"

namespace {

using namespace optinc;

Network small_network() {
  NetworkLayer first{.weight = Eigen::MatrixXd::Constant(2, 1, 0.5),
                     .bias = Eigen::VectorXd::Zero(2),
                     .activation = Activation::clipped_relu,
                     .clip = 1};
  NetworkLayer last{.weight = Eigen::MatrixXd::Constant(2, 2, 1.0),
                    .bias = Eigen::VectorXd::Zero(2),
                    .activation = Activation::identity,
                    .clip = 1};
  return {.format = {.servers = 2,
                     .bits = 4,
                     .digits_per_input = 2,
                     .rounding = Rounding::half_up,
                     .code_offset = 8},
          .kind = "trained",
          .layers = {first, last}};
}

TraceData small_trace() {
  return {.servers = 2,
          .workload = "w",
          .model = "m",
          .step = 3,
          .batch_per_server = 4,
          .note = "",
          .tensors = {{"a.weight", 3}, {"b", 1}},
          .values = {{1, -2, 0.5F, 0, 3, 1e-9F}, {0, 7}}};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const std::filesystem::path folder = argv[1];
  std::filesystem::create_directories(folder / "network");
  std::filesystem::create_directories(folder / "trace");
  write_network(folder / "network" / "network.h5", small_network());
  write_trace(folder / "trace" / "trace.h5", small_trace());
  return 0;
}
