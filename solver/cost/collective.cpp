// SPDX-License-Identifier: Apache-2.0
#include "solver/cost/collective.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace optinc {

namespace {

/// Servers of a unit, as CodeFormat::servers.
constexpr int largest_unit = 64;

/// 1 - 1/n: what one of n servers passes on in a reduce-scatter.
double all_but_own_share(int servers) { return 1 - 1.0 / servers; }

CollectiveCost ring_cost(int servers) {
  const double share = all_but_own_share(servers);
  return {.sent = 2 * share, .serial = 2 * share, .added = share, .messages = 2 * (servers - 1)};
}

CollectiveCost halving_doubling_cost(int servers) {
  const auto paired = std::bit_floor(static_cast<unsigned>(servers));
  const double share = all_but_own_share(static_cast<int>(paired));
  const int rounds = std::countr_zero(paired);
  CollectiveCost cost{
      .sent = 2 * share, .serial = 2 * share, .added = share, .messages = 2 * rounds};
  if (paired == static_cast<unsigned>(servers)) return cost;
  // The gradients of the servers left over go in first and come back last.
  cost.sent += 1;
  cost.serial += 2;
  cost.added += 1;
  cost.messages += 2;
  return cost;
}

CollectiveCost double_tree_cost(int servers) {
  // A server inside one tree sends half a gradient up and two halves down, and as a leaf of the
  // other half a gradient up; fewer than four servers leave no one with two children.
  const double sent = std::min(servers, 4) / 2.0;
  const auto depth = static_cast<int>(std::bit_width(static_cast<unsigned>(servers - 1)));
  return {
      .sent = sent, .serial = sent, .added = std::min(servers - 1, 2) / 2.0, .messages = 2 * depth};
}

CollectiveCost parameter_server_cost(int servers) {
  return {.sent = 1, .serial = 2.0 * servers, .added = servers - 1.0, .messages = 2};
}

CollectiveCost unit_cost(int levels) {
  return {
      .sent = 1, .serial = 1, .added = 0, .messages = 0, .switch_passes = 0, .unit_passes = levels};
}

}  // namespace

int cascade_units(int servers) {
  const auto side = static_cast<int>(std::lround(std::sqrt(servers)));
  return side >= 2 && side <= largest_unit && side * side == servers ? side + 1 : 0;
}

std::optional<CollectiveCost> collective_cost(Collective collective, int servers,
                                              const InNetworkShape& shape) {
  switch (collective) {
    case Collective::ring:
      return ring_cost(servers);
    case Collective::halving_doubling:
      return halving_doubling_cost(servers);
    case Collective::double_tree:
      return double_tree_cost(servers);
    case Collective::parameter_server:
      return parameter_server_cost(servers);
    case Collective::in_network:
      return CollectiveCost{.sent = 1,
                            .serial = 1,
                            .added = 0,
                            .messages = 0,
                            .switch_passes = 2 * shape.switch_levels};
    case Collective::optinc:
      if (servers > largest_unit) return std::nullopt;
      return unit_cost(1);
    case Collective::optinc_cascade:
      if (cascade_units(servers) == 0) return std::nullopt;
      return unit_cost(2);
  }
  return std::nullopt;
}

}  // namespace optinc
