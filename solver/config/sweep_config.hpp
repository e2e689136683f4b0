// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "solver/config/schema.hpp"

namespace optinc {

/// Where a file is: in the first of `folders` that has it, else in `data_directory` (installed
/// data, what is data/ in the sources: the name may begin with that; empty: none). Empty when it is
/// nowhere.
std::filesystem::path find_in_folders(const std::vector<std::filesystem::path>& folders,
                                      const std::filesystem::path& data_directory,
                                      const std::string& name);

/// Every key of one sweep point with its value; keys without a value are absent.
class ResolvedConfig {
 public:
  bool has(const std::string& path) const { return values_.count(path) != 0; }
  double real(const std::string& path) const;
  std::int64_t integer(const std::string& path) const;
  bool boolean(const std::string& path) const;
  const std::string& text(const std::string& path) const;
  void set(const std::string& path, ConfigValue value) { values_[path] = std::move(value); }
  void erase(const std::string& path) { values_.erase(path); }

  const std::map<std::string, ConfigValue>& values() const { return values_; }

 private:
  const ConfigValue& at(const std::string& path) const;
  std::map<std::string, ConfigValue> values_;
};

/// Axes that advance together (one, or all of one zip name).
struct AxisGroup {
  std::vector<std::string> paths;
  std::vector<std::vector<ConfigValue>> rows;  ///< [step][path]
};

/// A parsed configuration: fixed values plus the axes of the sweep.
struct SweepConfig {
  std::filesystem::path directory;  ///< of the configuration file; files are looked up from here
  std::filesystem::path data_directory;  ///< installed data, looked up last; empty: none
  ResolvedConfig base;
  std::vector<AxisGroup> axes;

  /// Number of sweep points, the product over the axis groups.
  std::size_t points() const;

  /// The sweep of that point alone: its axis values as fixed keys.
  SweepConfig single(std::size_t index) const;

  /// The same point, for a configuration without axes: the keys of its preset as fixed keys in
  /// place of the preset. Throws as `point`.
  SweepConfig without_preset() const;

  /// Configuration of one point; the first axis varies slowest. The point's preset is read and
  /// overridden by the keys that are given; defaults that depend on other keys are filled in.
  /// Throws ConfigError for keys that do not go together and for what a preset file holds,
  /// DataError for a preset that is nowhere.
  ResolvedConfig point(std::size_t index) const;

  /// Paths of all axes in column order.
  std::vector<std::string> axis_paths() const;

  /// Where a file named in the configuration is: absolute, or relative to the configuration, the
  /// current directory or the installed data. Throws DataError when it is nowhere.
  std::filesystem::path find_file(const std::string& name) const;
};

/// Reads a TOML file and applies `overrides` ("path=value", TOML value syntax; a bare word is a
/// string). Throws ConfigError with file, line and column, and for an unknown key the nearest
/// known name; DataError when the file cannot be read.
SweepConfig load_sweep_config(const std::filesystem::path& path,
                              const std::vector<std::string>& overrides);

/// A configuration of one point from `overrides` alone, over the defaults; for commands that take
/// single keys. Throws ConfigError.
SweepConfig config_from_overrides(const std::vector<std::string>& overrides);

/// A value as text for CSV and messages: shortest round-trip numbers, bare strings.
std::string value_text(const ConfigValue& value);

/// Bumped whenever the same configuration gives other numbers.
inline constexpr int physics_version = 1;

/// A value as JSON: shortest round-trip numbers, escaped strings.
std::string value_json(const ConfigValue& value);

/// SHA-256 of files that a configuration names, each computed once.
class FileHashes {
 public:
  /// Throws DataError when the file is nowhere or cannot be read.
  const std::string& hex(const SweepConfig& sweep, const std::string& name);

 private:
  std::map<std::string, std::string> hex_by_name_;
};

/// What determines the rows of a point: JSON with sorted keys and shortest round-trip numbers,
/// without seed, chip count and stopping rule; files enter by the SHA-256 of their content.
std::string canonical_json(const SweepConfig& sweep, const ResolvedConfig& point,
                           FileHashes& hashes);

/// First 16 hex digits of the SHA-256 of `canonical_json`.
std::string task_id(const SweepConfig& sweep, const ResolvedConfig& point, FileHashes& hashes);

}  // namespace optinc
