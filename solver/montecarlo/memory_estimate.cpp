// SPDX-License-Identifier: Apache-2.0
#include "solver/montecarlo/memory_estimate.hpp"

#include <algorithm>
#include <complex>

#include "devices/mzi.hpp"
#include "solver/gradient/statistics.hpp"
#include "solver/optinc/decision.hpp"

namespace optinc {

namespace {

std::uint64_t elements(Eigen::Index rows, Eigen::Index columns) {
  return static_cast<std::uint64_t>(rows) * static_cast<std::uint64_t>(columns);
}

std::uint64_t program_bytes(const MeshProgram& program) {
  return sizeof(double) *
         (program.theta_rad.size() + program.phi_rad.size() + program.output_phase_rad.size());
}

/// What one chip's meshes and the layers made of them take.
std::uint64_t chip_optics_bytes(const MappedNetwork& network, std::size_t jitter_realizations) {
  std::uint64_t matrices = 0;
  std::uint64_t largest_state = 0;
  network.for_each_mesh([&](const MappedMesh& mesh, std::size_t, int, bool) {
    const auto modes = static_cast<Eigen::Index>(mesh.program.topology.modes);
    matrices += sizeof(std::complex<double>) * elements(modes, modes);
    largest_state = std::max<std::uint64_t>(
        largest_state, sizeof(MziState<double>) * mesh.program.theta_rad.size());
  });
  std::uint64_t layers = 0;
  for (const MappedLayer& layer : network.layers) {
    layers +=
        (sizeof(std::complex<double>) + sizeof(double)) * elements(layer.outputs, layer.inputs);
  }
  // Realizations are kept as composed and as their unit evaluates them.
  return matrices + largest_state + (1 + 2 * jitter_realizations) * layers;
}

/// What is decoded for the entries.
std::uint64_t decoded_bytes(const EvaluationSize& size) {
  const std::uint64_t entry =
      size.random_digits == 0
          ? sizeof(std::int64_t)
          : static_cast<std::uint64_t>(size.random_digits) * sizeof(DigitProbabilities);
  return size.entries * entry;
}

}  // namespace

MemoryEstimate estimate_memory(const MappedNetwork& network, const EvaluationSize& size) {
  MemoryEstimate estimate;
  const Eigen::Index network_inputs = network.layers.front().inputs;
  const Eigen::Index digits = network.layers.back().outputs;
  const std::uint64_t input_bytes = sizeof(double) * static_cast<std::uint64_t>(network_inputs);
  estimate.code_table =
      size.entries * (sizeof(CodeKey) + sizeof(CodeStatistics)) + size.codes * sizeof(std::int64_t);
  estimate.code_table += size.servers == 0 ? size.codes * input_bytes
                                           : size.entries * size.servers * sizeof(std::uint32_t) +
                                                 size.codes * sizeof(CodeKey);
  network.for_each_mesh([&](const MappedMesh& mesh, std::size_t, int, bool) {
    const auto modes = static_cast<Eigen::Index>(mesh.program.topology.modes);
    // The program is kept as it was decomposed, as given to a chip, and as its drivers set it.
    estimate.shared_meshes +=
        3 * program_bytes(mesh.program) + sizeof(std::complex<double>) * elements(modes, modes);
  });
  estimate.per_thread = chip_optics_bytes(network, size.jitter_realizations) +
                        size.codes * sizeof(double) * static_cast<std::uint64_t>(digits) +
                        decoded_bytes(size);
  if (size.servers != 0) estimate.per_thread += 2 * size.codes * input_bytes;
  return estimate;
}

MemoryEstimate estimate_cascade_memory(const std::vector<UnitSize>& units,
                                       const EvaluationSize& size) {
  // A node of the hash table of a unit's codes.
  constexpr std::uint64_t table_entry = 4 * sizeof(std::uint64_t);
  MemoryEstimate total;
  for (const UnitSize& unit : units) {
    const MemoryEstimate one = estimate_memory(
        *unit.network, {.codes = unit.codes, .jitter_realizations = size.jitter_realizations});
    total.code_table += one.code_table;
    total.shared_meshes += one.shared_meshes;
    // Outputs are kept, beside those that are being computed.
    const std::uint64_t outputs = sizeof(double) * elements(unit.network->layers.back().outputs, 1);
    total.per_thread += one.per_thread + unit.codes * (table_entry + outputs);
  }
  total.code_table += size.entries * (sizeof(CodeKey) + sizeof(CodeStatistics) +
                                      size.servers * sizeof(std::uint32_t));
  total.per_thread += decoded_bytes(size);
  return total;
}

}  // namespace optinc
