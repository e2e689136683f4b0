// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "solver/config/sweep_config.hpp"
#include "solver/montecarlo/shard.hpp"

namespace optinc {

/// Setting of runs that write the per-tensor file.
inline constexpr const char* layers_key = "layers";

/// Setting of the number of chips, the one in which runs of one file may differ.
inline constexpr const char* chips_key = "montecarlo.chips";

/// What fixes the bytes of a result file besides the code itself.
struct RunIdentity {
  std::string backend;
  std::string precision;
  std::string version;
  Shard shard = {};
  bool per_tensor = false;  ///< whether the per-tensor file is written
};

/// Time spent on a sweep point so far; what a killed run spent since it last saved is not in it.
struct PointTime {
  double wall_s = 0;  ///< while its rows were being written
  double core_s = 0;  ///< of all its chips, processor time
};

/// The file beside a result that says what it is: resolved configuration, meaning of the columns,
/// machine and time spent.
struct Manifest {
  std::string format = "optinc-sweep-manifest/1";
  /// Everything that has to agree for a run to continue the file, name to JSON text: keys by their
  /// path, "axis PATH", "content of FILE" (SHA-256), backend, precision, version, shard unless that
  /// is the whole sweep, and layers where the per-tensor file is written.
  std::map<std::string, std::string> settings;
  std::map<std::string, std::string> files;  ///< key to the name it gives, keys of all points
  std::vector<std::string> task_ids;         ///< in sweep order
  std::vector<PointTime> points;             ///< in sweep order
};

/// The manifest of a run that starts now.
Manifest make_manifest(const SweepConfig& sweep, const RunIdentity& identity, FileHashes& hashes);

/// Names of the settings that differ, sorted.
std::vector<std::string> differing_settings(const Manifest& left, const Manifest& right);

/// Those settings for a message: "name (VALUE there, VALUE here), ..."; long values are left out.
std::string differences_text(const std::vector<std::string>& names, const Manifest& there,
                             const Manifest& here);

/// Paths of the axes in column order.
std::vector<std::string> axis_paths(const Manifest& manifest);

/// Value of a numeric setting. Throws DataError when it is not there or not a number.
double number_setting(const Manifest& manifest, const std::string& name);

/// The part of the sweep that the file beside it holds. Throws DataError for junk.
Shard shard_of(const Manifest& manifest);

/// Replaces the file atomically. Throws DataError.
void write_manifest(const std::filesystem::path& path, const Manifest& manifest);

/// Throws DataError when the file is missing, damaged or of another format; `advice` ends the
/// message.
Manifest read_manifest(const std::filesystem::path& path, const std::string& advice);

}  // namespace optinc
