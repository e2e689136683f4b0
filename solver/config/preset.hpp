// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "solver/config/sweep_config.hpp"

namespace optinc {

/// The key that names a preset.
inline constexpr const char* preset_key = "imperfections.preset";

/// The preset that is the defaults of all keys; the others are files.
inline constexpr const char* ideal_preset = "ideal";

/// The file that a value of a key stands for, as SweepConfig::find_file takes it: that of a file
/// key or of a preset. None for every other key, and for the ideal preset.
std::optional<std::string> file_of_value(const std::string& path, const ConfigValue& value);

/// Reads the keys of a preset file, all under [imperfections]. Throws ConfigError with file, line
/// and column for an unknown key, a bad value, a key of another section and a preset in a preset;
/// DataError when the file cannot be read.
ResolvedConfig load_preset(const std::filesystem::path& path);

}  // namespace optinc
