// SPDX-License-Identifier: Apache-2.0
#include "noise/thermal_crosstalk.hpp"

#include <algorithm>
#include <cmath>

namespace optinc {

namespace {

double interpolated(const std::vector<ThermalCrosstalk::Entry>& table, double distance_um) {
  const auto next = std::upper_bound(table.begin(), table.end(), distance_um,
                                     [](double distance, const ThermalCrosstalk::Entry& entry) {
                                       return distance < entry.distance_um;
                                     });
  if (next == table.begin()) return table.front().coupling;
  const ThermalCrosstalk::Entry& before = *(next - 1);
  if (next == table.end()) return before.coupling;
  const double share =
      (distance_um - before.distance_um) / (next->distance_um - before.distance_um);
  return before.coupling + share * (next->coupling - before.coupling);
}

}  // namespace

double ThermalCrosstalk::reach_um() const {
  return model == Model::table ? std::min(radius_um, table.back().distance_um) : radius_um;
}

double ThermalCrosstalk::coupling(double distance_um) const {
  if (distance_um > reach_um()) return 0;
  if (model == Model::table) return interpolated(table, distance_um);
  return coefficient * std::exp(-distance_um / decay_um);
}

}  // namespace optinc
