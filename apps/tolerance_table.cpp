// SPDX-License-Identifier: Apache-2.0
#include "apps/tolerance_table.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <utility>

#include <fmt/format.h>

#include "build_info.hpp"
#include "solver/config/schema.hpp"
#include "solver/config/sweep_config.hpp"
#include "solver/names.hpp"
#include "solver/text.hpp"

namespace optinc {

template <>
struct EnumNames<ToleranceOutcome> {
  static constexpr std::array<std::pair<ToleranceOutcome, std::string_view>, 4> table{
      {{ToleranceOutcome::found, "found"},
       {ToleranceOutcome::none, "none"},
       {ToleranceOutcome::below, "below"},
       {ToleranceOutcome::never, "never"}}};
};

template <>
struct EnumNames<LimitSense> {
  static constexpr std::array<std::pair<LimitSense, std::string_view>, 2> table{
      {{LimitSense::at_most, "at_most"}, {LimitSense::at_least, "at_least"}}};
};

namespace {

enum class CellKind { text, whole, number };

struct Column {
  CsvColumn column;
  CellKind kind{};
  bool shown = false;  ///< in the table on the screen
};

const std::vector<Column>& columns() {
  static const std::vector<Column> list = {
      {{"run_id", "", "16 hex digits naming everything that determines the row"}, CellKind::text},
      {{"key", "", "imperfection that was varied"}, CellKind::text, true},
      {{"unit", "", "unit of the key"}, CellKind::text, true},
      {{"outcome", "",
        "found; none: the limit is missed with the imperfection off; below: missed at the mildest "
        "value; never: kept to at the strongest value"},
       CellKind::text,
       true},
      {{"value", "",
        "strongest value that keeps to the limit, all milder ones tried too; with below the value "
        "that is off, empty where off is no value, with none empty"},
       CellKind::number,
       true},
      {{"missed_at", "", "next value, which misses the limit; empty with none and never"},
       CellKind::number,
       true},
      {{"ci_mild", "",
        "mild end of the 95 % interval of the value: up to it the worse end of the metric's "
        "interval keeps to the limit; empty where that is off and off is no value"},
       CellKind::number,
       true},
      {{"ci_strong", "",
        "strong end of it: there the better end of the metric's interval misses the limit; empty "
        "where no value does"},
       CellKind::number,
       true},
      {{"metric", "", "metric (mean over chips, _p05 .. _p95: quantile) or yield"}, CellKind::text},
      {{"sense", "", "at_most or at_least"}, CellKind::text},
      {{"limit", "", "limit of the metric"}, CellKind::number},
      {{"metric_at_value", "", "metric at the value"}, CellKind::number, true},
      {{"metric_ci_lo", "",
        "lower end of its 95 % interval over chips: Student t, of a quantile from order "
        "statistics, of the yield Clopper-Pearson"},
       CellKind::number},
      {{"metric_ci_hi", "", "upper end of it"}, CellKind::number},
      {{"metric_off", "", "metric with the imperfection off"}, CellKind::number},
      {{"mildest", "", "first value of the range"}, CellKind::number},
      {{"strongest", "", "last value of the range"}, CellKind::number},
      {{"monotone", "", "no where a value beyond one that misses the limit was seen to keep to it"},
       CellKind::text,
       true},
      {{"evaluations", "", "values tried, off included"}, CellKind::whole, true},
      {{"chips", "", "chips per value"}, CellKind::whole},
      {{"seed", "", "seed of all random numbers"}, CellKind::whole},
      {{"backend", "", "engine that ran, with its instruction set"}, CellKind::text},
      {{"precision", "", "f32 or f64"}, CellKind::text},
      {{"version", "", "version of optinc"}, CellKind::text}};
  return list;
}

std::size_t column_index(std::string_view name) {
  const auto found = std::find_if(columns().begin(), columns().end(),
                                  [&](const Column& column) { return column.column.name == name; });
  return static_cast<std::size_t>(found - columns().begin());
}

const std::string& text_at(const ToleranceRow& row, std::string_view name) {
  return std::get<std::string>(row[column_index(name)]);
}

TableCell off_cell(const StrengthSteps& steps) {
  const std::optional<ConfigValue> off = steps.off();
  if (!off) return std::monostate{};
  if (const auto* whole = std::get_if<std::int64_t>(&*off)) return static_cast<double>(*whole);
  return std::get<double>(*off);
}

TableCell step_cell(const StrengthSteps& steps, std::optional<std::size_t> step) {
  if (!step) return std::monostate{};
  return steps.value(*step);
}

TableCell step_or_off(const StrengthSteps& steps, std::optional<std::size_t> step) {
  return step ? step_cell(steps, step) : off_cell(steps);
}

TableCell parsed_cell(CellKind kind, const std::string& text, bool& valid) {
  if (kind == CellKind::text) return text;
  if (text.empty()) return std::monostate{};
  double number = 0;
  valid = valid && parse_number(text, number) &&
          (kind == CellKind::number || (number >= 0 && number == std::floor(number)));
  if (!valid) return std::monostate{};
  if (kind == CellKind::whole) return static_cast<std::int64_t>(number);
  return number;
}

ResultTable table_of(const std::vector<ToleranceRow>& rows, bool all) {
  ResultTable table{.name = "tolerance", .title = "", .columns = {}, .rows = {}};
  for (const Column& column : columns()) {
    if (all || column.shown) table.columns.push_back(column.column);
  }
  for (const ToleranceRow& row : rows) {
    std::vector<TableCell>& cells = table.rows.emplace_back();
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (all || columns()[i].shown) cells.push_back(row[i]);
    }
  }
  return table;
}

/// Lines of table_csv: the header, then the rows.
std::string csv_line(const ResultTable& table, std::size_t line) {
  std::string text = table_csv(table);
  for (std::size_t i = 0; i < line; ++i) text.erase(0, text.find('\n') + 1);
  return text.substr(0, text.find('\n'));
}

}  // namespace

const std::vector<CsvColumn>& tolerance_columns() {
  static const std::vector<CsvColumn> list = table_of({}, true).columns;
  return list;
}

ToleranceRow tolerance_row(const ToleranceIdentity& identity, const VariedKey& key,
                           const StrengthSteps& steps, const Tolerance& tolerance) {
  const bool none = tolerance.outcome == ToleranceOutcome::none;
  const TableCell empty = std::monostate{};
  return {identity.run_id,
          key.path,
          find_config_key(key.path)->unit,
          enum_name(tolerance.outcome),
          none ? empty : step_or_off(steps, tolerance.kept),
          step_cell(steps, tolerance.missed),
          none ? empty : step_or_off(steps, tolerance.surely_kept),
          step_cell(steps, tolerance.surely_missed),
          identity.metric,
          enum_name(identity.limit.sense),
          identity.limit.limit,
          tolerance.at_kept.value,
          tolerance.at_kept.interval.lo,
          tolerance.at_kept.interval.hi,
          tolerance.off.value,
          key.mildest,
          key.strongest,
          std::string(tolerance.monotone ? "yes" : "no"),
          static_cast<std::int64_t>(tolerance.evaluations),
          static_cast<std::int64_t>(identity.chips),
          static_cast<std::int64_t>(identity.seed),
          identity.backend,
          identity.precision,
          std::string(build_info::version)};
}

std::string row_id(const ToleranceRow& row) { return text_at(row, "run_id"); }

std::string tolerance_note(const ToleranceRow& row) {
  if (text_at(row, "monotone") == "yes") return "";
  return fmt::format(
      "{}: a stronger value than one that misses the limit keeps to it again (not monotone); the "
      "value given is where the limit is missed first",
      text_at(row, "key"));
}

std::string tolerance_header() { return csv_line(table_of({}, true), 0); }

std::string tolerance_csv(const ToleranceRow& row) { return csv_line(table_of({row}, true), 1); }

std::optional<ToleranceRow> parse_tolerance_row(std::string_view record) {
  std::vector<std::string> fields;
  if (!split_csv(record, fields) || fields.size() != columns().size()) return std::nullopt;
  ToleranceRow row;
  bool valid = true;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    row.push_back(parsed_cell(columns()[i].kind, fields[i], valid));
  }
  if (!valid) return std::nullopt;
  return row;
}

std::string tolerance_text(const std::vector<ToleranceRow>& rows) {
  if (rows.empty()) return "";
  ResultTable table = table_of(rows, false);
  const auto& sense = text_at(rows.front(), "sense");
  table.title =
      fmt::format("strongest imperfections with {} {} {}", text_at(rows.front(), "metric"),
                  sense == "at_most" ? "at most" : "at least",
                  csv_number(std::get<double>(rows.front()[column_index("limit")])));
  return table_text(table);
}

nlohmann::ordered_json tolerance_json(const std::vector<ToleranceRow>& rows) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (nlohmann::ordered_json& row : table_json(table_of(rows, true))) {
    row.erase("table");
    list.push_back(std::move(row));
  }
  return list;
}

}  // namespace optinc
