// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "solver/montecarlo/summary.hpp"

namespace optinc {

/// Files beside the row file r.csv: r.summary.csv and r.manifest.json.
std::filesystem::path summary_file(const std::filesystem::path& rows);
std::filesystem::path manifest_file(const std::filesystem::path& rows);

/// Per-tensor files beside it: r.layers.csv and r.layers.summary.csv.
std::filesystem::path tensor_file(const std::filesystem::path& rows);
std::filesystem::path tensor_summary_file(const std::filesystem::path& rows);

/// Beginning of the first line of every row file: the identity columns.
std::string identity_header();

/// First line of the row file of a sweep over these axes, without the line break.
std::string row_header(const std::vector<std::string>& axis_paths);

/// First line of its summary file.
std::string summary_header(const std::vector<std::string>& axis_paths);

/// First lines of the per-tensor files.
std::string tensor_row_header(const std::vector<std::string>& axis_paths);
std::string tensor_summary_header(const std::vector<std::string>& axis_paths);

/// A line of the summary file. Args: start, the cells before the column `chips`; chips, the metrics
/// of each chip in the order of their numbers, at least one chip.
std::string summary_row(const std::string& start, const std::vector<std::vector<double>>& chips,
                        double yield_limit);

/// ",CELL" for every number that summarises these metrics over chips.
/// Args: kinds, of each metric; chips, the metrics of each.
std::string summary_cells(const std::vector<MetricKind>& kinds,
                          const std::vector<std::vector<double>>& chips);

}  // namespace optinc
