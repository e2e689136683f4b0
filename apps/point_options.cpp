// SPDX-License-Identifier: Apache-2.0
#include "apps/point_options.hpp"

#include <fmt/format.h>

#include "apps/installed_data.hpp"
#include "apps/options.hpp"
#include "solver/error.hpp"

namespace optinc {

void add_point_options(CLI::App& app, PointOptions& options) {
  app.add_option("CONFIG", options.config, "sweep configuration without axes, TOML")->required();
  app.add_option("--chips", options.chips, "chips per value, instead of montecarlo.chips")
      ->check(whole_number_of_key("montecarlo.chips"))
      ->type_name("N");
  app.add_option("--seed", options.seed, "seed, instead of montecarlo.seed")
      ->check(whole_number_of_key("montecarlo.seed"))
      ->type_name("N");
  app.add_option("--set", options.set, "override one key, e.g. imperfections.preset=lab_best")
      ->type_name("PATH=VALUE")
      ->allow_extra_args(false);
}

SweepConfig load_point(const PointOptions& options) {
  std::vector<std::string> overrides = options.set;
  if (!options.chips.empty()) overrides.push_back("montecarlo.chips=" + options.chips);
  if (!options.seed.empty()) overrides.push_back("montecarlo.seed=" + options.seed);
  SweepConfig sweep = load_sweep_config(options.config, overrides);
  sweep.data_directory = installed_data_directory();
  if (!sweep.axes.empty()) {
    throw ConfigError(fmt::format(
        "{} has axes (--vary is what varies, around one point); take them out", options.config));
  }
  if (sweep.base.has("montecarlo.target.metric")) {
    throw ConfigError(
        "montecarlo.target.metric is given (the same chips are compared); leave it out and give "
        "montecarlo.chips");
  }
  return sweep.without_preset();
}

}  // namespace optinc
