// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "solver/config/schema.hpp"
#include "solver/cost/link_budget.hpp"
#include "solver/cost/step_time.hpp"
#include "solver/cost/unit_structure.hpp"

namespace optinc {

/// Everything that the cost of a unit depends on besides its network.
struct Hardware {
  ComputeHardware compute;
  Fabric fabric;
  LossValues loss;
  LinkHardware link;
  ResnetShape resnet;
  LlamaShape llama;

  /// The models that a step can train: resnet50, resnet50_small_stem, llama.
  std::vector<Workload> workloads() const;
};

/// The keys of a hardware file with defaults, ranges, units and sources; the only place that knows
/// them.
const std::vector<ConfigKey>& hardware_keys();

/// Reads a TOML file (none where `path` is empty) over the defaults, then `settings`
/// ("path=value"). Throws ConfigError with the place of what is wrong, DataError when the file
/// cannot be read.
Hardware load_hardware(const std::filesystem::path& path, const std::vector<std::string>& settings);

/// Every key with its value, in the order of hardware_keys().
std::vector<std::pair<std::string, ConfigValue>> hardware_values(const Hardware& hardware);

}  // namespace optinc
