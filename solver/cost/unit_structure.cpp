// SPDX-License-Identifier: Apache-2.0
#include "solver/cost/unit_structure.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include <fmt/format.h>

#include "solver/error.hpp"
#include "solver/onn/structure.hpp"

namespace optinc {

namespace {

LayerStructure layer_structure(const LayerShape& shape, const MappingOptions& options) {
  LayerStructure layer{.shape = shape, .options = options};
  validate(options);
  const LayerMapping mapping{.mapping = options.mapping.value_or(Mapping::svd),
                             .segment = options.segment};
  for (const BlockPlan& plan : plan_blocks(shape.outputs, shape.inputs, mapping)) {
    const HardwareSize size = hardware_size(plan, options.mesh);
    layer.modes = std::max({layer.modes, plan.input_modes, plan.output_modes.value_or(0)});
    layer.block_rows += plan.first_column == 0 ? 1 : 0;
    layer.block_columns += plan.first_row == 0 ? 1 : 0;
    layer.mzi_count += size.mzi_count;
    layer.depth = std::max(layer.depth, size.depth);
  }
  return layer;
}

double fan_out_db(std::int64_t ways) { return 10 * std::log10(static_cast<double>(ways)); }

}  // namespace

std::vector<LayerShape> layer_shapes(const std::vector<int>& widths) {
  constexpr int largest_width = 4096;
  if (widths.size() < 2) {
    throw ConfigError("one width makes no layer; give the inputs and the outputs of every layer");
  }
  for (const int width : widths) {
    if (width >= 1 && width <= largest_width) continue;
    throw ConfigError(fmt::format("width {} (must lie in 1 .. {})", width, largest_width));
  }
  std::vector<LayerShape> shapes;
  for (std::size_t i = 1; i < widths.size(); ++i) shapes.push_back({widths[i], widths[i - 1]});
  return shapes;
}

std::vector<LayerShape> layer_shapes(const Network& network) {
  std::vector<LayerShape> shapes;
  for (const NetworkLayer& layer : network.layers) {
    shapes.push_back({layer.weight.rows(), layer.weight.cols()});
  }
  return shapes;
}

std::int64_t UnitStructure::mzi_count() const {
  std::int64_t total = 0;
  for (const LayerStructure& layer : layers) total += layer.mzi_count;
  return total;
}

std::int64_t UnitStructure::depth() const {
  std::int64_t total = 0;
  for (const LayerStructure& layer : layers) total += layer.depth;
  return total;
}

UnitStructure unit_structure(const std::vector<LayerShape>& shapes,
                             const std::vector<MappingOptions>& options) {
  UnitStructure unit;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    unit.layers.push_back(layer_structure(shapes[i], options[i]));
  }
  return unit;
}

LayerLoss layer_loss(const LayerStructure& layer, const LossValues& loss) {
  constexpr double um_per_cm = 1e4;
  const auto depth = static_cast<double>(layer.depth);
  return {.split_db = fan_out_db(layer.block_rows),
          .mzi_db = depth * loss.mzi_db,
          .waveguide_db = depth * loss.column_pitch_um / um_per_cm * loss.waveguide_db_per_cm,
          .facet_db = 2 * loss.facet_db,
          .sum_db = fan_out_db(layer.block_columns)};
}

}  // namespace optinc
