// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "solver/gradient/metrics.hpp"
#include "solver/gradient/sampling.hpp"
#include "solver/montecarlo/columns.hpp"
#include "solver/montecarlo/summary.hpp"
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
  SamplingIntervals sampling;  ///< of `gradient`; of no width where every element was evaluated
  /// Share of codes whose integer is wrong, every code of the alphabet counting alike.
  double uniform_element_error_rate = std::numeric_limits<double>::quiet_NaN();
  MeshQuality meshes;
  std::vector<TensorMetrics> tensors = {};  ///< in trace order, where MetricDetail asks for them
};

/// A metric of a gradient with its column.
struct GradientColumn {
  CsvColumn column;
  MetricKind kind{};
  std::function<double(const GradientMetrics&)> value;
};

/// The metrics of a gradient or of a part of it, in file order.
const std::vector<GradientColumn>& gradient_table();

/// A metric column with the number it shows. The one table behind CSV, summary and docs.
struct MetricColumn {
  CsvColumn column;
  MetricKind kind{};
  std::function<double(const ChipResult&)> value;
};

/// The metrics of a chip, in file order: those of the gradient, then the others.
const std::vector<MetricColumn>& metric_table();

/// Metric values of a chip in column order.
std::vector<double> metric_values(const ChipResult& result);

/// Values of gradient_table().
std::vector<double> metric_values(const GradientMetrics& metrics);

}  // namespace optinc
