// SPDX-License-Identifier: Apache-2.0
#include "solver/optinc/cascade_format.hpp"

#include <cmath>

#include <fmt/format.h>

#include "solver/error.hpp"

namespace optinc {

namespace {

/// Digits behind the point that level 1 passes on.
int passed_digits(CascadeKind kind, int level1_servers) {
  return kind == CascadeKind::fraction ? fraction_digits(level1_servers) : 0;
}

int divided_servers(int servers, const std::optional<int>& level2_servers) {
  const int units = level2_servers.value_or(static_cast<int>(std::lround(std::sqrt(servers))));
  if (!level2_servers && units * units != servers) {
    throw ConfigError(
        fmt::format("{} servers are no square, so the cascade could be divided in several ways; "
                    "give network.level2_servers, the number of level-1 units",
                    servers));
  }
  if (servers % units != 0 || servers / units < 2) {
    throw ConfigError(
        fmt::format("network.level2_servers = {} ({} servers are not that many units of equally "
                    "many servers, two or more); give a divisor of {}",
                    units, servers, servers));
  }
  return units;
}

void require(bool condition, const std::string& problem) {
  if (condition) return;
  throw ConfigError(
      fmt::format("the two network files are not the levels of a cascade ({}); build them for each "
                  "other (docs/cascade.md)",
                  problem));
}

}  // namespace

CascadeFormat make_cascade_format(CascadeKind kind, const CodeFormat& total,
                                  const CascadeDivision& division) {
  validate(total);
  CascadeFormat cascade{.total = total, .level1 = total, .level2 = total};
  cascade.level2.servers = divided_servers(total.servers, division.level2_servers);
  cascade.level1.servers = total.servers / cascade.level2.servers;
  const int digits = passed_digits(kind, cascade.level1.servers);
  cascade.level1.output_fraction_digits = digits;
  cascade.level2.input_fraction_digits = digits;
  const int merged =
      division.level2_digits_per_input.value_or(default_digits_per_input(total.bits, digits));
  if (cascade.level2.input_digits() % merged != 0) {
    throw ConfigError(fmt::format(
        "network.level2_digits_per_input = {} does not divide the {} digits that level 1 passes "
        "on; give a divisor",
        merged, cascade.level2.input_digits()));
  }
  cascade.level2.digits_per_input = merged;
  validate(cascade.level1);
  validate(cascade.level2);
  return cascade;
}

CascadeFormat join_levels(CascadeKind kind, const CodeFormat& level1, const CodeFormat& level2) {
  require(level1.bits == level2.bits, fmt::format("{} bits and {} bits", level1.bits, level2.bits));
  require(level1.code_offset == level2.code_offset,
          fmt::format("code offsets {} and {}", level1.code_offset, level2.code_offset));
  require(level1.rounding == level2.rounding, "roundings differ");
  require(level1.input_fraction_digits == 0 && level2.output_fraction_digits == 0,
          "level 1 takes fraction digits or level 2 gives some");
  const int digits = passed_digits(kind, level1.servers);
  require(
      level1.output_fraction_digits == digits && level2.input_fraction_digits == digits,
      fmt::format("level 1 gives {} fraction digits and level 2 takes {}; this cascade passes {}",
                  level1.output_fraction_digits, level2.input_fraction_digits, digits));
  CascadeFormat cascade{.total = level1, .level1 = level1, .level2 = level2};
  cascade.total.servers = level1.servers * level2.servers;
  cascade.total.output_fraction_digits = 0;
  validate(cascade.total);
  return cascade;
}

}  // namespace optinc
