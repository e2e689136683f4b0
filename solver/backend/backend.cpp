// SPDX-License-Identifier: Apache-2.0
#include "solver/backend/backend.hpp"

#include <limits>

#include <fmt/format.h>

#include "solver/error.hpp"

namespace optinc {

std::pair<double, double> activation_limits(Activation activation, double clip) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  switch (activation) {
    case Activation::identity:
      return {-infinity, infinity};
    case Activation::relu:
      return {0, infinity};
    case Activation::clipped_relu:
      return {0, clip};
  }
  return {-infinity, infinity};
}

void require_modes(const Topology& topology, const Eigen::MatrixXcd& fields) {
  if (fields.rows() == topology.modes) return;
  throw ConfigError(fmt::format("fields of {} modes for a mesh of {} (give one row per mode)",
                                fields.rows(), topology.modes));
}

}  // namespace optinc
