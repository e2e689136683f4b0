// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <Eigen/Core>

#include "solver/onn/mapping.hpp"

namespace optinc {

/// What a block of a layer is built of, whatever its weights are.
struct BlockPlan {
  Eigen::Index first_row{};
  Eigen::Index first_column{};
  Eigen::Index rows{};              ///< used part of the outputs, the rest is padding
  Eigen::Index columns{};           ///< used part of the inputs
  int input_modes{};                ///< of V^H, or of the only mesh
  std::optional<int> output_modes;  ///< of U
  int attenuators{};                ///< 0: none
};

/// The blocks of a weight matrix [outputs, inputs] by block row, then block column.
std::vector<BlockPlan> plan_blocks(Eigen::Index outputs, Eigen::Index inputs,
                                   const LayerMapping& mapping);

/// The weights of a block, filled up with zeros to the size of its meshes.
Eigen::MatrixXd padded_block(const Eigen::MatrixXd& weight, const BlockPlan& plan);

struct HardwareSize {
  std::int64_t mzi_count{};  ///< of the meshes, plus one per attenuator
  std::int64_t depth{};      ///< columns of MZIs on the longest path, attenuators included
};

/// Size of a block from its meshes; `output` is null where there is only one.
HardwareSize hardware_size(const Topology& input, const Topology* output, std::int64_t attenuators);

/// Size of a planned block with meshes of that arrangement.
HardwareSize hardware_size(const BlockPlan& plan, Topology::Kind mesh);

}  // namespace optinc
