// SPDX-License-Identifier: Apache-2.0
#include "solver/montecarlo/result_files.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include "solver/montecarlo/chip_result.hpp"
#include "solver/montecarlo/columns.hpp"
#include "solver/montecarlo/summary.hpp"
#include "solver/text.hpp"

namespace optinc {

namespace {

std::filesystem::path beside(const std::filesystem::path& rows, const char* extension) {
  std::filesystem::path path = rows;
  return path.replace_extension(extension);
}

void add_axes(std::string& line, const std::vector<std::string>& axis_paths) {
  for (const std::string& path : axis_paths) line += "," + csv_field(path);
}

/// First line of a file with a row per chip: identity, axes, `columns`.
std::string header_of_rows(const std::vector<std::string>& axis_paths,
                           const std::vector<CsvColumn>& columns) {
  std::string line = identity_header();
  add_axes(line, axis_paths);
  for (const CsvColumn& column : columns) line += "," + csv_field(column.name);
  return line;
}

/// METRIC_mean, METRIC_std, ... of every metric.
void add_summaries(std::string& line, const std::vector<CsvColumn>& metrics) {
  for (const CsvColumn& column : metrics) {
    for (const std::string& suffix : summary_suffixes()) line += "," + column.name + "_" + suffix;
  }
}

}  // namespace

std::filesystem::path summary_file(const std::filesystem::path& rows) {
  return beside(rows, ".summary.csv");
}

std::filesystem::path manifest_file(const std::filesystem::path& rows) {
  return beside(rows, ".manifest.json");
}

std::filesystem::path tensor_file(const std::filesystem::path& rows) {
  return beside(rows, ".layers.csv");
}

std::filesystem::path tensor_summary_file(const std::filesystem::path& rows) {
  return summary_file(tensor_file(rows));
}

std::string identity_header() {
  std::string line;
  for (const CsvColumn& column : identity_columns()) {
    line += (line.empty() ? "" : ",") + csv_field(column.name);
  }
  return line;
}

std::string row_header(const std::vector<std::string>& axis_paths) {
  return header_of_rows(axis_paths, metric_columns());
}

std::string summary_header(const std::vector<std::string>& axis_paths) {
  std::string line = "task_id";
  add_axes(line, axis_paths);
  line += ",chips,yield,yield_ci_lo,yield_ci_hi";
  add_summaries(line, metric_columns());
  return line;
}

std::string tensor_row_header(const std::vector<std::string>& axis_paths) {
  return header_of_rows(axis_paths, tensor_columns());
}

std::string tensor_summary_header(const std::vector<std::string>& axis_paths) {
  std::string line = "task_id";
  add_axes(line, axis_paths);
  line += ",tensor,chips,elements";
  std::vector<CsvColumn> metrics;
  for (const GradientColumn& metric : gradient_table()) metrics.push_back(metric.column);
  add_summaries(line, metrics);
  return line;
}

std::string summary_row(const std::string& start, const std::vector<std::vector<double>>& chips,
                        double yield_limit) {
  const std::uint64_t good = good_chips(chips, yield_limit);
  const Interval interval = clopper_pearson(good, chips.size());
  std::vector<MetricKind> kinds;
  for (const MetricColumn& metric : metric_table()) kinds.push_back(metric.kind);
  return fmt::format("{},{},{},{},{}{}", start, chips.size(),
                     csv_number(static_cast<double>(good) / static_cast<double>(chips.size())),
                     csv_number(interval.lo), csv_number(interval.hi), summary_cells(kinds, chips));
}

std::string summary_cells(const std::vector<MetricKind>& kinds,
                          const std::vector<std::vector<double>>& chips) {
  std::string cells;
  for (std::size_t metric = 0; metric < kinds.size(); ++metric) {
    std::vector<double> values;
    for (const std::vector<double>& chip : chips) values.push_back(chip[metric]);
    for (const double value : summary_values(summarise(std::move(values), kinds[metric]))) {
      cells += "," + csv_number(value);
    }
  }
  return cells;
}

}  // namespace optinc
