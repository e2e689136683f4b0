// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include <Eigen/Core>

#include "solver/onn/mapping.hpp"

namespace optinc {

/// Shape of a weight matrix.
struct LayerShape {
  Eigen::Index outputs{};
  Eigen::Index inputs{};
};

/// Shapes of the layers between consecutive widths. Throws ConfigError for less than two widths or
/// one outside 1 .. 4096.
std::vector<LayerShape> layer_shapes(const std::vector<int>& widths);

/// Shapes of the layers of a network.
std::vector<LayerShape> layer_shapes(const Network& network);

/// A layer as hardware, whatever its weights are.
struct LayerStructure {
  LayerShape shape;
  MappingOptions options;
  int modes{};                   ///< of its largest mesh
  std::int64_t block_rows{};     ///< copies that every input is split into
  std::int64_t block_columns{};  ///< block outputs that are summed into an output
  std::int64_t mzi_count{};
  std::int64_t depth{};  ///< columns of MZIs on the longest path, attenuators included
};

struct UnitStructure {
  std::vector<LayerStructure> layers;

  std::int64_t mzi_count() const;
  std::int64_t depth() const;
};

/// The structure of layers, `options` one per layer. Throws ConfigError as `validate`.
UnitStructure unit_structure(const std::vector<LayerShape>& shapes,
                             const std::vector<MappingOptions>& options);

/// Losses in dB of power and what they depend on.
struct LossValues {
  double mzi_db = 0.3;
  double waveguide_db_per_cm = 1.5;
  double column_pitch_um = 400;  ///< length of a column of MZIs
  double facet_db = 1.5;         ///< between chip and outside
  double modulator_db = 4;
  double combiner_db = 0.5;  ///< excess of the combiner
  double splitter_db = 0.5;  ///< excess of the splitter that serves all servers
};

/// Losses on the longest path of a layer, dB; without what the attenuators take.
struct LayerLoss {
  double split_db{};  ///< of an input over the block rows
  double mzi_db{};
  double waveguide_db{};
  double facet_db{};  ///< in and out: every layer is a conversion to light and back
  double sum_db{};    ///< of the outputs of a block row

  double total_db() const { return split_db + mzi_db + waveguide_db + facet_db + sum_db; }
};
LayerLoss layer_loss(const LayerStructure& layer, const LossValues& loss);

}  // namespace optinc
