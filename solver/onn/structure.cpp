// SPDX-License-Identifier: Apache-2.0
#include "solver/onn/structure.hpp"

#include <algorithm>
#include <cstddef>

namespace optinc {

namespace {

BlockPlan whole_matrix(Eigen::Index outputs, Eigen::Index inputs) {
  return {.first_row = 0,
          .first_column = 0,
          .rows = outputs,
          .columns = inputs,
          .input_modes = static_cast<int>(inputs),
          .output_modes = static_cast<int>(outputs),
          .attenuators = static_cast<int>(std::min(outputs, inputs))};
}

}  // namespace

std::vector<BlockPlan> plan_blocks(Eigen::Index outputs, Eigen::Index inputs,
                                   const LayerMapping& mapping) {
  if (mapping.mapping == Mapping::svd && mapping.segment == 0) {
    return {whole_matrix(outputs, inputs)};
  }
  const Eigen::Index size = block_size(outputs, inputs, mapping.segment);
  const auto modes = static_cast<int>(size);
  std::vector<BlockPlan> plans;
  for (Eigen::Index row = 0; row < outputs; row += size) {
    for (Eigen::Index column = 0; column < inputs; column += size) {
      plans.push_back({.first_row = row,
                       .first_column = column,
                       .rows = std::min(size, outputs - row),
                       .columns = std::min(size, inputs - column),
                       .input_modes = modes,
                       .output_modes = mapping.mapping == Mapping::svd ? std::optional<int>(modes)
                                                                       : std::nullopt,
                       .attenuators = mapping.mapping == Mapping::real_part ? 0 : modes});
    }
  }
  return plans;
}

Eigen::MatrixXd padded_block(const Eigen::MatrixXd& weight, const BlockPlan& plan) {
  Eigen::MatrixXd padded =
      Eigen::MatrixXd::Zero(plan.output_modes.value_or(plan.input_modes), plan.input_modes);
  padded.topLeftCorner(plan.rows, plan.columns) =
      weight.block(plan.first_row, plan.first_column, plan.rows, plan.columns);
  return padded;
}

HardwareSize hardware_size(const Topology& input, const Topology* output,
                           std::int64_t attenuators) {
  std::size_t mzis = input.mzi_count();
  std::size_t columns = input.columns.size();
  if (output != nullptr) {
    mzis += output->mzi_count();
    columns += output->columns.size();
  }
  return {.mzi_count = static_cast<std::int64_t>(mzis) + attenuators,
          .depth = static_cast<std::int64_t>(columns) + (attenuators > 0 ? 1 : 0)};
}

HardwareSize hardware_size(const BlockPlan& plan, Topology::Kind mesh) {
  const Topology input = standard_topology(mesh, plan.input_modes);
  if (!plan.output_modes) return hardware_size(input, nullptr, plan.attenuators);
  const Topology output = standard_topology(mesh, *plan.output_modes);
  return hardware_size(input, &output, plan.attenuators);
}

}  // namespace optinc
