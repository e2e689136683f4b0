// SPDX-License-Identifier: Apache-2.0
#include "solver/backend/backend.hpp"

#include <fmt/format.h>

#include "solver/error.hpp"

namespace optinc {

void require_modes(const Topology& topology, const Eigen::MatrixXcd& fields) {
  if (fields.rows() == topology.modes) return;
  throw ConfigError(fmt::format("fields of {} modes for a mesh of {} (give one row per mode)",
                                fields.rows(), topology.modes));
}

}  // namespace optinc
