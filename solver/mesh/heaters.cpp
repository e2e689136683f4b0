// SPDX-License-Identifier: Apache-2.0
#include "solver/mesh/heaters.hpp"

#include <cmath>
#include <unordered_map>
#include <utility>

namespace optinc {

namespace {

/// Finds the places near another in time independent of their total number.
class Neighbours {
 public:
  Neighbours(const std::vector<Position>& places, double radius_um)
      : places_(places), radius_um_(radius_um) {
    for (std::size_t i = 0; i < places.size(); ++i) {
      cells_[key(cell(places[i].x_um), cell(places[i].y_um))].push_back(
          static_cast<std::uint32_t>(i));
    }
  }

  /// Calls `visit(index, distance_um)` for every place within the radius, in a fixed order.
  template <class Visitor>
  void for_each(const Position& center, Visitor&& visit) const {
    const std::int64_t column = cell(center.x_um);
    const std::int64_t row = cell(center.y_um);
    for (std::int64_t x = column - 1; x <= column + 1; ++x) {
      for (std::int64_t y = row - 1; y <= row + 1; ++y) {
        const auto found = cells_.find(key(x, y));
        if (found == cells_.end()) continue;
        for (const std::uint32_t index : found->second) {
          const double distance_um =
              std::hypot(places_[index].x_um - center.x_um, places_[index].y_um - center.y_um);
          if (distance_um <= radius_um_) visit(index, distance_um);
        }
      }
    }
  }

 private:
  std::int64_t cell(double place_um) const {
    return static_cast<std::int64_t>(std::floor(place_um / radius_um_));
  }
  static std::uint64_t key(std::int64_t column, std::int64_t row) {
    return static_cast<std::uint64_t>(column) * 0x100000000U + static_cast<std::uint32_t>(row);
  }

  const std::vector<Position>& places_;
  double radius_um_;
  std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> cells_;
};

template <class Visitor>
void for_each_mzi_arms(const Topology& topology, const MeshLayout& layout, Visitor&& visit) {
  for (std::size_t column = 0; column < topology.columns.size(); ++column) {
    const MeshColumn& place = topology.columns[column];
    for (int i = 0; i < place.mzi_count; ++i) {
      visit(arm_positions(layout, static_cast<int>(column), place.first_mode + 2 * i));
    }
  }
}

/// Sum over the heaters near an arm, without the arm's own.
class HeatSum {
 public:
  HeatSum(const std::vector<Position>& heaters, const std::vector<double>& phases_rad,
          const ThermalCrosstalk& model)
      : neighbours_(heaters, model.reach_um()), phases_rad_(phases_rad), model_(model) {}

  double at(const Position& arm, std::size_t own_heater) const {
    double sum_rad = 0;
    neighbours_.for_each(arm, [&](std::uint32_t heater, double distance_um) {
      if (heater != own_heater) sum_rad += model_.coupling(distance_um) * phases_rad_[heater];
    });
    return sum_rad;
  }

 private:
  Neighbours neighbours_;
  const std::vector<double>& phases_rad_;
  const ThermalCrosstalk& model_;
};

std::vector<double> heater_phases_rad(const MeshProgram& program) {
  std::vector<double> phases_rad;
  for (std::size_t i = 0; i < program.theta_rad.size(); ++i) {
    phases_rad.push_back(program.theta_rad[i]);
    phases_rad.push_back(program.phi_rad[i]);
  }
  phases_rad.insert(phases_rad.end(), program.output_phase_rad.begin(),
                    program.output_phase_rad.end());
  return phases_rad;
}

constexpr std::size_t no_heater = static_cast<std::size_t>(-1);

}  // namespace

std::vector<Position> heater_positions(const Topology& topology, const MeshLayout& layout) {
  std::vector<Position> heaters;
  for_each_mzi_arms(topology, layout, [&](const ArmPositions& arms) {
    heaters.push_back(arms.internal_upper);
    heaters.push_back(arms.input_upper);
  });
  for (int mode = 0; mode < topology.modes; ++mode) {
    heaters.push_back(screen_position(layout, static_cast<int>(topology.columns.size()), mode));
  }
  return heaters;
}

std::vector<double> SparseMap::operator()(const std::vector<double>& in) const {
  std::vector<double> out(row_start.size() - 1, 0.0);
  for (std::size_t row = 0; row < out.size(); ++row) {
    for (std::size_t term = row_start[row]; term < row_start[row + 1]; ++term) {
      out[row] += terms[term].weight * in[terms[term].column];
    }
  }
  return out;
}

SparseMap correlation_filter(const std::vector<Position>& heaters, double length_um) {
  constexpr double reach_in_lengths = 3;
  const Neighbours neighbours(heaters, reach_in_lengths * length_um);
  SparseMap filter{.row_start = {0}, .terms = {}};
  for (const Position& heater : heaters) {
    const std::size_t first = filter.terms.size();
    double squares = 0;
    neighbours.for_each(heater, [&](std::uint32_t other, double distance_um) {
      const double ratio = distance_um / length_um;
      const double weight = std::exp(-ratio * ratio);
      squares += weight * weight;
      filter.terms.push_back({other, weight});
    });
    for (std::size_t term = first; term < filter.terms.size(); ++term) {
      filter.terms[term].weight /= std::sqrt(squares);
    }
    filter.row_start.push_back(filter.terms.size());
  }
  return filter;
}

ThermalShifts thermal_shifts(const MeshProgram& driven, const MeshLayout& layout,
                             const ThermalCrosstalk& model) {
  const std::vector<Position> heaters = heater_positions(driven.topology, layout);
  const std::vector<double> phases_rad = heater_phases_rad(driven);
  const HeatSum heat(heaters, phases_rad, model);
  ThermalShifts shifts;
  for_each_mzi_arms(driven.topology, layout, [&](const ArmPositions& arms) {
    const std::size_t theta_heater = 2 * shifts.mzis.size();
    shifts.mzis.push_back({.input_upper_rad = heat.at(arms.input_upper, theta_heater + 1),
                           .input_lower_rad = heat.at(arms.input_lower, no_heater),
                           .internal_upper_rad = heat.at(arms.internal_upper, theta_heater),
                           .internal_lower_rad = heat.at(arms.internal_lower, no_heater)});
  });
  const std::size_t first_screen_heater = 2 * shifts.mzis.size();
  for (std::size_t mode = 0; first_screen_heater + mode < heaters.size(); ++mode) {
    const std::size_t own = first_screen_heater + mode;
    shifts.output_rad.push_back(heat.at(heaters[own], own));
  }
  return shifts;
}

}  // namespace optinc
