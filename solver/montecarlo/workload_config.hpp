// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "solver/config/sweep_config.hpp"
#include "solver/gradient/quantiser.hpp"
#include "solver/gradient/sampling.hpp"
#include "solver/gradient/source.hpp"
#include "solver/gradient/synthetic.hpp"

namespace optinc {

/// Where the gradients of a sweep point come from.
struct WorkloadSource {
  std::optional<std::filesystem::path> trace = {};  ///< none: synthetic
  std::optional<int> trace_servers = {};            ///< the first ones of the trace; none: all
  SyntheticOptions synthetic = {};
  std::function<bool()> stop_requested = {};  ///< asked while the gradient is read; none: never

  /// A trace by its path and number of servers, a synthetic gradient by its options; equal names
  /// are equal gradients.
  std::string name() const;
};

/// The source that a configuration names. Throws ConfigError, or DataError when the trace is
/// nowhere.
WorkloadSource workload_source_of(const ResolvedConfig& config, const SweepConfig& sweep);

/// Opens a trace, or sets up the generator. Throws DataError, or ConfigError also for more servers
/// than the trace has. Reading throws Stopped once `stop_requested` says so.
std::unique_ptr<GradientSource> open_source(const WorkloadSource& source);

/// What the chips of a sweep point are evaluated on.
struct EvaluationOptions {
  Evaluation kind = Evaluation::codes;
  std::uint64_t sample_elements = 0;  ///< of Evaluation::sampled
  std::uint64_t seed = 0;             ///< of the sample
  std::uint64_t max_codes = 0;
  bool uniform_codes = false;  ///< also every code of the alphabet
};

/// The evaluation of a configuration; a sample is drawn from montecarlo.seed.
EvaluationOptions evaluation_of(const ResolvedConfig& config);

/// The quantiser of a configuration; stochastic rounding draws from montecarlo.seed.
QuantiserOptions quantiser_of(const ResolvedConfig& config);

}  // namespace optinc
