// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <toml++/toml.h>

#include "solver/config/sweep_config.hpp"

/// TOML as values of configuration keys. Every function throws ConfigError, its message beginning
/// with `where`.
namespace optinc::toml_values {

/// Where a value came from, for messages: "sweep.toml:14:3".
std::string place(const std::string& name, const toml::source_region& source);

[[noreturn]] void fail(const std::string& where, const std::string& problem);

/// The key of that path. An unknown one and one that is not built are refused.
const ConfigKey& require_key(const std::vector<ConfigKey>& keys, const std::string& path,
                             const std::string& where);

/// `number` where the key allows it.
double require_in_range(const ConfigKey& key, double number, const std::string& where);

/// A node as a value of the key: its type, range and choices.
ConfigValue key_value(const ConfigKey& key, const toml::node& node, const std::string& where);

/// Parses a file. Throws DataError when it cannot be read.
toml::table parse_toml_file(const std::filesystem::path& path);

/// Walks nested tables and stores every value under its full path.
void read_table(const std::vector<ConfigKey>& keys, const toml::table& table,
                const std::string& name, ResolvedConfig& config);

/// The argument of a --set option.
struct Setting {
  std::string text;  ///< "path=value"
  std::string path;
  std::string value;

  std::string where() const { return "--set " + text; }
};
Setting split_setting(const std::string& text);

/// Its value in TOML syntax; for a key that takes text a bare word will do.
ConfigValue setting_value(const ConfigKey& key, const Setting& setting);

}  // namespace optinc::toml_values
