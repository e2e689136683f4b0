// SPDX-License-Identifier: Apache-2.0
#include "apps/result_table.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include <fmt/format.h>

#include "solver/text.hpp"

namespace optinc {

namespace {

std::string text_of(const TableCell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  if (const auto* whole = std::get_if<std::int64_t>(&cell)) return fmt::format("{}", *whole);
  const auto* number = std::get_if<double>(&cell);
  return number == nullptr || std::isnan(*number) ? "-" : fmt::format("{:.4g}", *number);
}

std::string csv_of(const TableCell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return csv_field(*text);
  if (const auto* whole = std::get_if<std::int64_t>(&cell)) return fmt::format("{}", *whole);
  const auto* number = std::get_if<double>(&cell);
  return number == nullptr ? "" : csv_number(*number);
}

nlohmann::ordered_json json_of(const TableCell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  if (const auto* whole = std::get_if<std::int64_t>(&cell)) return *whole;
  const auto* number = std::get_if<double>(&cell);
  if (number == nullptr || !std::isfinite(*number)) return nullptr;
  return *number;
}

std::vector<std::string> header_of(const ResultTable& table) {
  std::vector<std::string> names;
  for (const CsvColumn& column : table.columns) names.push_back(column.name);
  return names;
}

/// Text to the left, numbers to the right.
bool is_text_column(const ResultTable& table, std::size_t column) {
  return std::all_of(table.rows.begin(), table.rows.end(), [&](const auto& row) {
    return std::holds_alternative<std::string>(row[column]);
  });
}

}  // namespace

std::string table_text(const ResultTable& table) {
  std::vector<std::vector<std::string>> lines = {header_of(table)};
  for (const std::vector<TableCell>& row : table.rows) {
    lines.emplace_back();
    for (const TableCell& cell : row) lines.back().push_back(text_of(cell));
  }
  std::vector<std::size_t> widths(table.columns.size(), 0);
  for (const std::vector<std::string>& line : lines) {
    for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  }
  std::string text = fmt::format("{}: {}\n", table.name, table.title);
  for (const std::vector<std::string>& line : lines) {
    for (std::size_t i = 0; i < line.size(); ++i) {
      text += is_text_column(table, i) ? fmt::format("  {:<{}}", line[i], widths[i])
                                       : fmt::format("  {:>{}}", line[i], widths[i]);
    }
    while (text.back() == ' ') text.pop_back();
    text += '\n';
  }
  return text;
}

std::string table_csv(const ResultTable& table) {
  std::string text = fmt::format("{}\n", fmt::join(header_of(table), ","));
  for (const std::vector<TableCell>& row : table.rows) {
    std::vector<std::string> fields;
    for (const TableCell& cell : row) fields.push_back(csv_of(cell));
    text += fmt::format("{}\n", fmt::join(fields, ","));
  }
  return text;
}

std::vector<nlohmann::ordered_json> table_json(const ResultTable& table) {
  std::vector<nlohmann::ordered_json> rows;
  for (const std::vector<TableCell>& row : table.rows) {
    nlohmann::ordered_json object = {{"table", table.name}};
    for (std::size_t i = 0; i < row.size(); ++i) object[table.columns[i].name] = json_of(row[i]);
    rows.push_back(std::move(object));
  }
  return rows;
}

}  // namespace optinc
