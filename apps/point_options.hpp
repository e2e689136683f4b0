// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "apps/command.hpp"
#include "solver/config/sweep_config.hpp"

namespace optinc {

/// The configuration of a command that varies keys by itself.
struct PointOptions {
  std::string config;
  std::string chips;  ///< empty: montecarlo.chips
  std::string seed;   ///< empty: montecarlo.seed
  std::vector<std::string> set;
};

/// Declares CONFIG, --chips, --seed and --set.
void add_point_options(CLI::App& app, PointOptions& options);

/// The one point of the configuration; the keys of its preset are fixed keys. Throws ConfigError
/// for axes and for a rule that ends points by itself.
SweepConfig load_point(const PointOptions& options);

}  // namespace optinc
