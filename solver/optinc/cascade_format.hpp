// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "solver/optinc/code.hpp"

namespace optinc {

/// How the servers are averaged.
enum class CascadeKind {
  none,      ///< by one unit
  fraction,  ///< by two levels of units, level 1 passing the exact average on, with its fraction
  naive,     ///< by two levels of ordinary units, each of which rounds
};

/// Two levels of units that average N = N1 N2 servers: unit j of level 1 takes the servers j N1 to
/// (j + 1) N1 - 1, the one unit of level 2 takes what the N2 units of level 1 give.
struct CascadeFormat {
  CodeFormat total;   ///< what the cascade does as a whole, N servers
  CodeFormat level1;  ///< N1 servers, with output fraction digits unless naive
  CodeFormat level2;  ///< N2 units of level 1 in place of servers

  int units() const { return level2.servers; }  ///< of level 1

  friend bool operator==(const CascadeFormat&, const CascadeFormat&) = default;
};

/// How a cascade divides its servers; unset: as many units as servers per unit, and the default
/// digits per input of level 2.
struct CascadeDivision {
  std::optional<int> level2_servers;
  std::optional<int> level2_digits_per_input;
};

/// The cascade that averages as `total` says, whose digits_per_input are those of level 1. Args:
/// kind: not none. Throws ConfigError where the servers do not divide so, or their average has no
/// exact fraction.
CascadeFormat make_cascade_format(CascadeKind kind, const CodeFormat& total,
                                  const CascadeDivision& division);

/// The cascade of units of these formats. Args: kind: not none. Throws ConfigError where they do
/// not go together.
CascadeFormat join_levels(CascadeKind kind, const CodeFormat& level1, const CodeFormat& level2);

}  // namespace optinc
