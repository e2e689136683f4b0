// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

namespace optinc {

/// Ways to average a gradient over N servers.
enum class Collective {
  ring,              ///< reduce-scatter and all-gather around a ring
  halving_doubling,  ///< recursive halving, then doubling (Rabenseifner)
  double_tree,       ///< two binary trees, each with half of the gradient, pipelined
  parameter_server,  ///< one more machine that takes and returns all gradients
  in_network,        ///< electrical switches that add
  optinc,            ///< one optical unit
  optinc_cascade,    ///< sqrt(N) units and one above them
};

/// What a collective does, in gradient sizes and passes; the alpha-beta model turns it into time.
struct CollectiveCost {
  double sent{};        ///< by the busiest server
  double serial{};      ///< transferred one after the other on the critical path
  double added{};       ///< added up by the busiest machine
  int messages{};       ///< between machines, one after the other
  int switch_passes{};  ///< through electrical switches that add, up and down
  int unit_passes{};    ///< through optical units
};

/// Depth of the network that adds.
struct InNetworkShape {
  int switch_levels = 1;
};

/// Costs of a collective over `servers`, at least 2. Empty where it does not exist: a unit takes up
/// to 64 servers, a cascade the square of such a number. halving_doubling folds servers beyond a
/// power of two into others first.
std::optional<CollectiveCost> collective_cost(Collective collective, int servers,
                                              const InNetworkShape& shape);

/// Units of a two-level cascade over a square number of servers: sqrt(N) + 1. 0 for other
/// numbers.
int cascade_units(int servers);

}  // namespace optinc
