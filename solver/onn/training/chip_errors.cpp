// SPDX-License-Identifier: Apache-2.0
#include "solver/onn/training/chip_errors.hpp"

#include "solver/optinc/chip.hpp"

namespace optinc {

std::vector<std::vector<float>> ChipErrors::draw(const NetworkLayer& designed, std::size_t layer,
                                                 std::uint64_t draw) const {
  // A network of this layer alone: its mesh ids start at 0, so that layers are told apart by the
  // seed.
  const MappedNetwork mapped =
      map_network({.format = {}, .kind = "", .layers = {designed}}, options_.mapping);
  const std::vector<Eigen::MatrixXcd> ideal = compose_ideal(mapped, backend_);
  const NetworkOptics optics(
      mapped, ideal, backend_,
      {.imperfections = options_.imperfections, .ablation = {}, .calibration = {}});
  const std::uint64_t layer_seed = seed_ + (std::uint64_t{layer + 1} << 32U);
  std::vector<std::vector<float>> changes;
  for (std::size_t chip = 0; chip < options_.chips; ++chip) {
    const ChipOptics actual =
        optics.chip(layer_seed, static_cast<std::uint32_t>(draw * options_.chips + chip), 0);
    const Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> change =
        (actual.layers.front().weight - designed.weight).cast<float>();
    changes.emplace_back(change.data(), change.data() + change.size());
  }
  return changes;
}

}  // namespace optinc
