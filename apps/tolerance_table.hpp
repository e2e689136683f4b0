// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "apps/result_table.hpp"
#include "solver/montecarlo/tolerance.hpp"
#include "solver/montecarlo/tolerance_keys.hpp"

namespace optinc {

/// What rows of one run share, and the name of the row.
struct ToleranceIdentity {
  std::string run_id;
  std::string metric;
  MetricLimit limit;
  std::uint64_t chips{};
  std::uint64_t seed{};
  std::string backend;
  std::string precision;
};

/// Cells in the order of tolerance_columns().
using ToleranceRow = std::vector<TableCell>;

/// Columns of the table, documented by `optinc schema`.
const std::vector<CsvColumn>& tolerance_columns();

ToleranceRow tolerance_row(const ToleranceIdentity& identity, const VariedKey& key,
                           const StrengthSteps& steps, const Tolerance& tolerance);

/// The run_id of a row.
std::string row_id(const ToleranceRow& row);

/// What a user should know about a row; "" for nothing.
std::string tolerance_note(const ToleranceRow& row);

/// Column names, and a row, as RFC 4180 records without their line breaks.
std::string tolerance_header();
std::string tolerance_csv(const ToleranceRow& row);

/// Reads a record back; none for one that was not written by tolerance_csv.
std::optional<ToleranceRow> parse_tolerance_row(std::string_view record);

/// The main columns as an aligned table.
std::string tolerance_text(const std::vector<ToleranceRow>& rows);

/// Rows as objects.
nlohmann::ordered_json tolerance_json(const std::vector<ToleranceRow>& rows);

}  // namespace optinc
