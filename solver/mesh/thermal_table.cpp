// SPDX-License-Identifier: Apache-2.0
#include "solver/mesh/thermal_table.hpp"

#include <cstddef>
#include <sstream>

#include <fmt/format.h>

#include "solver/error.hpp"
#include "solver/text.hpp"

namespace optinc {

namespace {

constexpr const char* header = "distance_um,coupling";

/// The entry of a line, or the reason why there is none.
std::string read_entry(const std::string& line, double least_distance_um,
                       ThermalCrosstalk::Entry& entry) {
  std::vector<std::string> fields;
  if (!split_csv(line, fields) || fields.size() != 2 || fields[0].empty() || fields[1].empty() ||
      !parse_number(fields[0], entry.distance_um) || !parse_number(fields[1], entry.coupling)) {
    return "must be two numbers: distance_um,coupling";
  }
  if (!(entry.distance_um > least_distance_um && entry.distance_um < 1e9)) {
    return "distances must ascend from 0 or more";
  }
  if (!(entry.coupling >= 0 && entry.coupling <= 1)) return "a coupling must lie in 0 .. 1";
  return "";
}

}  // namespace

std::vector<ThermalCrosstalk::Entry> parse_thermal_table(const std::string& text,
                                                         const std::string& name) {
  std::istringstream lines(text);
  std::string line;
  std::vector<ThermalCrosstalk::Entry> table;
  bool has_header = false;
  for (std::size_t number = 1; std::getline(lines, line); ++number) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (line.empty() || line.front() == '#') continue;
    const auto fail = [&](const std::string& problem) {
      throw DataError(fmt::format("{}:{}: {}", name, number, problem));
    };
    if (!has_header) {
      if (line != header) fail(fmt::format("the first line must be {}", header));
      has_header = true;
      continue;
    }
    ThermalCrosstalk::Entry entry;
    const double least_um = table.empty() ? -1e-300 : table.back().distance_um;
    const std::string problem = read_entry(line, least_um, entry);
    if (!problem.empty()) fail(problem);
    table.push_back(entry);
  }
  if (table.size() < 2) {
    throw DataError(fmt::format("{}: holds {} entries (a table needs two)", name, table.size()));
  }
  return table;
}

}  // namespace optinc
