// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace optinc {

/// A summary CSV in memory.
struct SummaryTable {
  std::filesystem::path path;
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;

  /// Names of the swept axes: the columns between task_id and chips.
  std::vector<std::string> axes() const;

  /// Index of a column by its full name. Throws ConfigError naming the nearest one.
  std::size_t column(const std::string& name) const;

  /// Number in a cell; NaN for an empty one. Throws DataError for text.
  double number(std::size_t row, std::size_t column) const;
};

/// Reads a summary file, or the summary beside a row file (r.csv -> r.summary.csv; of the row file
/// only the header is read).
/// Throws DataError with file and line.
SummaryTable read_summary(const std::filesystem::path& path);

/// Of `known` the entry that is `name` or ends in ".name". Throws ConfigError when there is none
/// (with the nearest) or several.
std::string resolve_name(const std::string& name, const std::vector<std::string>& known);

}  // namespace optinc
