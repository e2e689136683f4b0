// SPDX-License-Identifier: Apache-2.0
#include "apps/summary_table.hpp"

#include <algorithm>
#include <fstream>
#include <system_error>

#include <fmt/format.h>

#include "solver/error.hpp"
#include "solver/text.hpp"

namespace optinc {

namespace {

SummaryTable read_csv(const std::filesystem::path& path) {
  std::error_code error;
  std::ifstream file(path, std::ios::binary);
  if (!file || std::filesystem::is_directory(path, error)) {
    throw DataError(
        fmt::format("{}: cannot be read (no such file or no permission)", path.string()));
  }
  SummaryTable table{.path = path, .header = {}, .rows = {}};
  std::vector<std::string> fields;
  std::size_t line_number = 0;
  for (std::string line; std::getline(file, line);) {
    ++line_number;
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (!split_csv(line, fields)) {
      throw DataError(fmt::format("{}:{}: malformed CSV", path.string(), line_number));
    }
    if (line_number == 1) {
      table.header = fields;
      continue;
    }
    if (fields.size() != table.header.size()) {
      throw DataError(fmt::format("{}:{}: {} fields (the header has {})", path.string(),
                                  line_number, fields.size(), table.header.size()));
    }
    table.rows.push_back(fields);
  }
  return table;
}

bool is_summary(const SummaryTable& table) {
  return std::find(table.header.begin(), table.header.end(), "yield_ci_lo") != table.header.end();
}

}  // namespace

std::vector<std::string> SummaryTable::axes() const {
  const auto chips = std::find(header.begin(), header.end(), "chips");
  if (header.empty() || header.front() != "task_id" || chips == header.end()) {
    throw DataError(
        fmt::format("{}: is not a summary of `optinc sweep` (columns task_id, axes, "
                    "chips, ...)",
                    path.string()));
  }
  return {header.begin() + 1, chips};
}

std::size_t SummaryTable::column(const std::string& name) const {
  const auto found = std::find(header.begin(), header.end(), name);
  if (found == header.end()) {
    throw ConfigError(fmt::format("{}: no column '{}' (did you mean '{}'?)", path.string(), name,
                                  nearest_name(name, header)));
  }
  return static_cast<std::size_t>(found - header.begin());
}

double SummaryTable::number(std::size_t row, std::size_t column) const {
  double value = 0;
  if (!parse_number(rows[row][column], value)) {
    throw DataError(fmt::format("{}:{}: column '{}' holds '{}' (must be a number)", path.string(),
                                row + 2, header[column], rows[row][column]));
  }
  return value;
}

SummaryTable read_summary(const std::filesystem::path& path) {
  SummaryTable table = read_csv(path);
  if (!is_summary(table)) table = read_csv(summary_path(path));
  if (!is_summary(table)) {
    throw DataError(fmt::format("{}: is not a result of `optinc sweep`", path.string()));
  }
  return table;
}

std::filesystem::path summary_path(const std::filesystem::path& rows) {
  std::filesystem::path path = rows;
  path.replace_extension(".summary.csv");
  return path;
}

std::string resolve_name(const std::string& name, const std::vector<std::string>& known) {
  if (std::find(known.begin(), known.end(), name) != known.end()) return name;
  std::vector<std::string> matches;
  for (const std::string& entry : known) {
    const std::string ending = "." + name;
    if (entry.size() > ending.size() && entry.ends_with(ending)) matches.push_back(entry);
  }
  if (matches.size() == 1) return matches.front();
  if (matches.size() > 1) {
    throw ConfigError(
        fmt::format("'{}' may mean {}; give the full name", name, fmt::join(matches, " or ")));
  }
  throw ConfigError(
      fmt::format("no column '{}' (did you mean '{}'?)", name, nearest_name(name, known)));
}

}  // namespace optinc
