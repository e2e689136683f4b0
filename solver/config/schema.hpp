// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace optinc {

using ConfigValue = std::variant<bool, std::int64_t, double, std::string>;

enum class ConfigType { boolean, integer, real, text, choice, file };

/// One key of a sweep configuration. The table of keys is the only place that knows names,
/// defaults, ranges and units: parser, --set, axes, docs and error messages all read it.
struct ConfigKey {
  std::string path;  ///< full path, e.g. "imperfections.coupler.sigma_rad"
  ConfigType type{};
  std::optional<ConfigValue> default_value;                   ///< none: unset unless given
  double minimum = -std::numeric_limits<double>::infinity();  ///< inclusive
  double maximum = std::numeric_limits<double>::infinity();   ///< inclusive
  std::vector<std::string> choices;
  std::string unit;         ///< "rad", "dB", "" for none
  std::string description;  ///< one line
  bool built = true;        ///< false: part of the design, refused with a message that says so
};

/// All keys, in the order of the documentation.
const std::vector<ConfigKey>& config_keys();

}  // namespace optinc
