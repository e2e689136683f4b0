// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#include "solver/montecarlo/columns.hpp"

namespace optinc {

/// Empty where a number is not defined.
using TableCell = std::variant<std::monostate, std::int64_t, double, std::string>;

/// A table as a command prints it.
struct ResultTable {
  std::string name;
  std::string title;
  std::vector<CsvColumn> columns;
  std::vector<std::vector<TableCell>> rows;  ///< [row][column]
};

/// Aligned columns under a title; numbers with four significant digits.
std::string table_text(const ResultTable& table);

/// RFC 4180 with a header; shortest round-trip numbers.
std::string table_csv(const ResultTable& table);

/// Rows as objects, the first member "table" its name; null for what is not a finite number.
std::vector<nlohmann::ordered_json> table_json(const ResultTable& table);

}  // namespace optinc
