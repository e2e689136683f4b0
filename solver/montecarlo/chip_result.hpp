// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "solver/gradient/metrics.hpp"
#include "solver/montecarlo/columns.hpp"
#include "solver/optinc/chip.hpp"

namespace optinc {

/// What a chip did to one tensor of the gradient.
struct TensorMetrics {
  std::string name;
  std::uint64_t elements{};
  GradientMetrics gradient;
};

/// What one chip of one sweep point did to the gradient.
struct ChipResult {
  GradientMetrics gradient;
  MeshQuality meshes;
  std::vector<TensorMetrics> tensors = {};  ///< in trace order, where MetricDetail asks for them
};

/// A metric column with the number it shows. The one table behind CSV, summary and docs.
struct MetricColumn {
  CsvColumn column;
  std::function<double(const ChipResult&)> value;
};

const std::vector<MetricColumn>& metric_table();

/// Metric values of a chip in column order.
std::vector<double> metric_values(const ChipResult& result);

}  // namespace optinc
