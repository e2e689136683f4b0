// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "solver/backend/backend.hpp"
#include "solver/config/sweep_config.hpp"
#include "solver/montecarlo/chip_runner.hpp"

namespace optinc {

struct PointEvaluatorOptions {
  std::uint64_t chips = 1;
  unsigned threads = 1;
  std::function<bool()> stop_requested = [] { return false; };
  /// Called after every chip with the number of chips done of this configuration.
  std::function<void(std::uint64_t)> progress = [](std::uint64_t) {};
};

/// Simulates the same chips in one configuration after another: a chip has the same unit deviates
/// in all of them, so that they differ by what was changed and not by chance. Workloads and
/// networks that configurations share are prepared once.
class PointEvaluator {
 public:
  /// Args: base, without axes; its files and seed are those of every configuration. The backend
  /// must outlive the evaluator.
  PointEvaluator(SweepConfig base, const Backend& backend, PointEvaluatorOptions options);

  /// Metrics of chips 0 .. n - 1 in column order, with `values` as the fixed keys. Throws
  /// ConfigError and DataError as ChipRunner::task, and Stopped where a stop is requested first.
  std::vector<std::vector<double>> evaluate(const ResolvedConfig& values);

 private:
  SweepConfig sweep_;  ///< its fixed keys are those of the configuration at work
  PointEvaluatorOptions options_;
  ChipRunner runner_;
  std::size_t evaluations_ = 0;
};

}  // namespace optinc
