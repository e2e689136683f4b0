// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "solver/gradient/metrics.hpp"
#include "solver/montecarlo/columns.hpp"
#include "solver/optinc/chip.hpp"

namespace optinc {

/// What one chip of one sweep point did to the gradient.
struct ChipResult {
  GradientMetrics gradient;
  MeshQuality meshes;
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
