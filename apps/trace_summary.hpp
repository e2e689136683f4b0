// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include <nlohmann/json.hpp>

#include "apps/command.hpp"
#include "solver/gradient/metrics.hpp"
#include "solver/gradient/source.hpp"

namespace optinc {

/// Over the values of all servers of a tensor.
struct TensorSummary {
  double rms = 0;
  double max_abs = 0;
  double zero_share = 0;
};

/// Reads a tensor once, piece by piece. Throws DataError.
TensorSummary summarise_tensor(const GradientSource& trace, std::size_t tensor);

/// The main metrics of a gradient or a tensor; null for one that is not defined.
nlohmann::ordered_json gradient_json(const GradientMetrics& metrics);

/// Width of the column of tensor names.
std::size_t name_width(const GradientSource& trace);

/// The commands that `trace_commands` lists besides `trace info`.
Command trace_make_command();
Command trace_stats_command();

}  // namespace optinc
