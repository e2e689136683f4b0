// SPDX-License-Identifier: Apache-2.0
#include "apps/summary_table.hpp"

#include <algorithm>
#include <fstream>
#include <map>
#include <system_error>

#include <fmt/format.h>

#include "solver/error.hpp"
#include "solver/montecarlo/result_files.hpp"
#include "solver/text.hpp"

namespace optinc {

namespace {

/// Records of an RFC 4180 file, one after the other.
class CsvReader {
 public:
  explicit CsvReader(const std::filesystem::path& path) : path_(path), file_(path) {
    std::error_code error;
    if (!file_ || std::filesystem::is_directory(path, error)) {
      throw DataError(
          fmt::format("{}: cannot be read (no such file or no permission)", path.string()));
    }
  }

  /// The next record; false at the end of the file.
  bool next(std::vector<std::string>& fields) {
    std::string record;
    if (!next_line(record)) return false;
    record_line_ = lines_;
    for (std::string more; has_open_quote(record) && next_line(more);) record += "\n" + more;
    if (record.ends_with('\r')) record.pop_back();
    if (!split_csv(record, fields)) fail("malformed CSV (a stray or missing quote)");
    return true;
  }

  [[noreturn]] void fail(const std::string& problem) const {
    throw DataError(fmt::format("{}:{}: {}; write the file anew with `optinc sweep`",
                                path_.string(), record_line_, problem));
  }

 private:
  bool next_line(std::string& line) {
    if (!std::getline(file_, line)) return false;
    ++lines_;
    return true;
  }

  static bool has_open_quote(const std::string& record) {
    return std::count(record.begin(), record.end(), '"') % 2 == 1;
  }

  std::filesystem::path path_;
  std::ifstream file_;
  std::size_t lines_ = 0;
  std::size_t record_line_ = 0;
};

/// Summaries per tensor have no yield.
bool is_summary(const std::vector<std::string>& header) {
  const auto has = [&](const char* name) {
    return std::find(header.begin(), header.end(), name) != header.end();
  };
  return has("yield_ci_lo") || (has("chips") && has("tensor"));
}

SummaryTable read_records(const std::filesystem::path& path) {
  CsvReader reader(path);
  SummaryTable table{.path = path, .header = {}, .rows = {}};
  reader.next(table.header);
  if (!is_summary(table.header)) return table;
  for (std::vector<std::string> fields; reader.next(fields);) {
    if (fields.size() != table.header.size()) {
      reader.fail(fmt::format("{} fields (the header has {})", fields.size(), table.header.size()));
    }
    table.rows.push_back(fields);
  }
  return table;
}

/// The known name with an ending nearest to `name`, since endings are accepted too.
std::string nearest_column(const std::string& name, const std::vector<std::string>& known) {
  std::map<std::string, std::string> full_names;
  for (const std::string& entry : known) {
    full_names[entry] = entry;
    for (std::size_t dot = 0; (dot = entry.find('.', dot)) != std::string::npos;) {
      full_names[entry.substr(++dot)] = entry;
    }
  }
  std::vector<std::string> endings;
  for (const auto& [ending, full_name] : full_names) endings.push_back(ending);
  const std::string nearest = nearest_name(name, endings);
  return nearest.empty() ? nearest : full_names[nearest];
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
  SummaryTable table = read_records(path);
  const std::vector<std::string>& header = table.header;
  const bool has_rows_of_chips = std::find(header.begin(), header.end(), "chip") != header.end();
  if (has_rows_of_chips) table = read_records(summary_file(path));
  if (!is_summary(table.header)) {
    throw DataError(fmt::format("{}: is not a result of `optinc sweep`", table.path.string()));
  }
  (void)table.axes();  // refuses a file without them
  return table;
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
      fmt::format("no column '{}' (did you mean '{}'?)", name, nearest_column(name, known)));
}

}  // namespace optinc
