// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "solver/backend/backend.hpp"
#include "solver/config/sweep_config.hpp"
#include "solver/montecarlo/manifest.hpp"
#include "solver/montecarlo/result_files.hpp"

namespace optinc {

/// State of a run, reported after every row.
struct SweepProgress {
  std::uint64_t done = 0;               ///< rows in the file
  std::uint64_t total = 0;              ///< rows wanted; the most, as far as points end by a rule
  std::uint64_t computed = 0;           ///< rows of this run
  double worst_element_error_rate = 0;  ///< of the rows of this run
};

struct SweepOptions {
  std::filesystem::path rows;  ///< r.csv; the other files lie beside it
  unsigned threads = 1;
  bool fresh = false;    ///< start over instead of continuing
  RunIdentity identity;  ///< of a shard only its chips are computed, counted and summarised
  std::function<bool()> stop_requested;  ///< asked at least ten times a second
  std::function<void(const SweepProgress&)> progress;
  std::function<void(const std::string&)> notice;  ///< a line for the user
};

/// Throws ConfigError for what a shard cannot do. Args: adaptive, whether points end by a rule.
void require_possible(const RunIdentity& identity, bool adaptive);

/// Runs or continues a sweep. Rows are appended in the order of sweep point, then chip; a torn last
/// line is cut first. A finished run changes no file. Returns what is in the file at the end; done
/// < total means that a stop was requested. Another chip count continues a file only where its rows
/// come first in the new order too: while they are all of the first point. Throws ConfigError for
/// settings that do not go together, DataError when the file belongs to another configuration,
/// holds rows that this one did not write, is in use, or cannot be written.
SweepProgress run_sweep(const SweepConfig& sweep, const Backend& backend,
                        const SweepOptions& options);

/// Throws ConfigError where two points of the sweep have the same task id: their rows could not be
/// told apart. Args: task_ids, one per point.
void require_distinct_points(const SweepConfig& sweep, const std::vector<std::string>& task_ids);

}  // namespace optinc
