// SPDX-License-Identifier: Apache-2.0
#include "solver/config/preset.hpp"

#include <fmt/format.h>

#include "solver/config/toml_values.hpp"

namespace optinc {

std::optional<std::string> file_of_value(const std::string& path, const ConfigValue& value) {
  if (path == preset_key) {
    const auto& name = std::get<std::string>(value);
    if (name == ideal_preset) return std::nullopt;
    return fmt::format("data/presets/{}.toml", name);
  }
  const ConfigKey* key = find_config_key(path);
  if (key == nullptr || key->type != ConfigType::file) return std::nullopt;
  return std::get<std::string>(value);
}

ResolvedConfig load_preset(const std::filesystem::path& path) {
  ResolvedConfig preset;
  toml_values::read_table(config_keys(), toml_values::parse_toml_file(path), path.string(), preset);
  for (const auto& [key, value] : preset.values()) {
    if (key == preset_key || !key.starts_with("imperfections.")) {
      toml_values::fail(path.string(),
                        fmt::format("{} does not belong in a preset (only other keys "
                                    "under imperfections do); take it out",
                                    key));
    }
  }
  return preset;
}

}  // namespace optinc
