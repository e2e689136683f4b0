// SPDX-License-Identifier: Apache-2.0
#include "solver/config/toml_values.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include <fmt/format.h>

#include "solver/error.hpp"
#include "solver/io/atomic_file.hpp"

namespace optinc::toml_values {

namespace {

std::string join(const std::vector<std::string>& names) {
  return fmt::format("{}", fmt::join(names, ", "));
}

template <class Number>
[[noreturn]] void fail_range(const ConfigKey& key, Number number, const std::string& where) {
  fail(where,
       fmt::format("{} = {} (must lie in {} .. {})", key.path, number, key.minimum, key.maximum));
}

ConfigValue real_value(const ConfigKey& key, const toml::node& node, const std::string& where) {
  if (!node.is_number()) fail(where, fmt::format("{} must be a number", key.path));
  // Adding zero turns -0 into 0, so that both have the same text and task id.
  return require_in_range(key, *node.value<double>() + 0.0, where);
}

ConfigValue integer_value(const ConfigKey& key, const toml::node& node, const std::string& where) {
  if (!node.is_integer()) fail(where, fmt::format("{} must be an integer", key.path));
  const std::int64_t number = *node.value_exact<std::int64_t>();
  // All ranges end here: beyond it a double would round the number back into the range.
  constexpr std::int64_t largest_exact = std::int64_t{1} << 53;
  if (number > largest_exact || number < -largest_exact) fail_range(key, number, where);
  require_in_range(key, static_cast<double>(number), where);
  return number;
}

ConfigValue choice_value(const ConfigKey& key, const std::string& text, const std::string& where) {
  const auto listed = [&](const std::vector<std::string>& names) {
    return std::find(names.begin(), names.end(), text) != names.end();
  };
  if (listed(key.choices)) return text;
  if (listed(key.unbuilt_choices)) {
    fail(where, fmt::format("{} = \"{}\" is part of the design, not built yet in this version "
                            "(built: {})",
                            key.path, text, join(key.choices)));
  }
  fail(where, fmt::format("{} = \"{}\" (known: {})", key.path, text, join(key.choices)));
}

void read_nested(const std::vector<ConfigKey>& keys, const toml::table& table,
                 const std::string& prefix, const std::string& name, ResolvedConfig& config) {
  for (const auto& [raw_key, node] : table) {
    const std::string path = prefix + std::string(raw_key.str());
    const std::string where = place(name, raw_key.source());
    if (const toml::table* nested = node.as_table()) {
      read_nested(keys, *nested, path + ".", name, config);
      continue;
    }
    config.set(path, key_value(require_key(keys, path, where), node, where));
  }
}

}  // namespace

std::string place(const std::string& name, const toml::source_region& source) {
  return fmt::format("{}:{}:{}", name, source.begin.line, source.begin.column);
}

void fail(const std::string& where, const std::string& problem) {
  throw ConfigError(fmt::format("{}: {}", where, problem));
}

const ConfigKey& require_key(const std::vector<ConfigKey>& keys, const std::string& path,
                             const std::string& where) {
  const ConfigKey* key = find_config_key(keys, path);
  if (key == nullptr) {
    fail(where, fmt::format("unknown key '{}' (did you mean '{}'?)", path,
                            nearest_config_path(keys, path)));
  }
  if (!key->built) {
    fail(where, fmt::format("{} is part of the design, not built yet in this version ({}); leave "
                            "it out",
                            path, key->description));
  }
  return *key;
}

double require_in_range(const ConfigKey& key, double number, const std::string& where) {
  if (!std::isfinite(number))
    fail(where, fmt::format("{} = {} (must be finite)", key.path, number));
  if (number < key.minimum || number > key.maximum) fail_range(key, number, where);
  return number;
}

ConfigValue key_value(const ConfigKey& key, const toml::node& node, const std::string& where) {
  switch (key.type) {
    case ConfigType::real:
      return real_value(key, node, where);
    case ConfigType::integer:
      return integer_value(key, node, where);
    case ConfigType::boolean:
      if (!node.is_boolean()) fail(where, fmt::format("{} must be true or false", key.path));
      return *node.value<bool>();
    case ConfigType::text:
    case ConfigType::file:
    case ConfigType::choice:
      break;
  }
  if (!node.is_string()) fail(where, fmt::format("{} must be a string", key.path));
  const std::string text = *node.value<std::string>();
  if (text.empty())
    fail(where, fmt::format("{} is empty (give a value or leave it out)", key.path));
  return key.type == ConfigType::choice ? choice_value(key, text, where) : ConfigValue(text);
}

toml::table parse_toml_file(const std::filesystem::path& path) {
  const std::string name = path.string();
  try {
    return toml::parse(read_text_file(path), name);
  } catch (const toml::parse_error& error) {
    fail(place(name, error.source()), std::string(error.description()));
  }
}

void read_table(const std::vector<ConfigKey>& keys, const toml::table& table,
                const std::string& name, ResolvedConfig& config) {
  read_nested(keys, table, "", name, config);
}

Setting split_setting(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    fail("--set " + text, "must have the form path=value");
  }
  return {.text = text, .path = text.substr(0, equals), .value = text.substr(equals + 1)};
}

ConfigValue setting_value(const ConfigKey& key, const Setting& setting) {
  const std::string& value = setting.value;
  const bool textual = key.type != ConfigType::real && key.type != ConfigType::integer &&
                       key.type != ConfigType::boolean;
  if (textual && value.find('"') == std::string::npos && value.find('\'') == std::string::npos) {
    return key_value(key, toml::value<std::string>(value), setting.where());
  }
  try {
    const toml::table table = toml::parse("value = " + value);
    if (table.size() != 1) fail(setting.where(), "must be one value");
    return key_value(key, *table.get("value"), setting.where());
  } catch (const toml::parse_error& error) {
    fail(setting.where(), fmt::format("is not a TOML value ({})", error.description()));
  }
}

}  // namespace optinc::toml_values
