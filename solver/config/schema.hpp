// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
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
  std::vector<std::string> unbuilt_choices;  ///< part of the design, refused likewise
};

/// The network.mapping that leaves the choice to each layer of the network file.
inline constexpr const char* as_trained = "as_trained";

/// All keys, in the order of the documentation.
const std::vector<ConfigKey>& config_keys();

/// The key of that path, or nullptr.
const ConfigKey* find_config_key(const std::vector<ConfigKey>& keys, std::string_view path);
const ConfigKey* find_config_key(std::string_view path);  ///< of config_keys()

/// The path nearest to an unknown one: a path that it is the end of ("coupler.sigma_rad"), else the
/// one with the smallest edit distance.
std::string nearest_config_path(const std::vector<ConfigKey>& keys, std::string_view path);
std::string nearest_config_path(std::string_view path);  ///< of config_keys()

}  // namespace optinc
