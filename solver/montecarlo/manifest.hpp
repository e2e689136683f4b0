// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "solver/config/sweep_config.hpp"

namespace optinc {

/// What fixes the bytes of a result file besides the code itself.
struct RunIdentity {
  std::string backend;
  std::string precision;
  std::string version;
};

/// Time spent on a sweep point so far; what a killed run spent since it last saved is not in it.
struct PointTime {
  double wall_s = 0;  ///< while its rows were being written
  double core_s = 0;  ///< of all its chips, processor time
};

/// The file beside a result that says what it is: resolved configuration, meaning of the columns,
/// machine and time spent. Members are in the order in which they are printed.
struct Manifest {
  std::string format = "optinc-sweep-manifest/1";
  /// Everything that has to agree for a run to continue the file, name to JSON text: keys by their
  /// path, "axis PATH", "content of FILE" (SHA-256), backend, precision, version.
  std::map<std::string, std::string> settings;
  std::vector<PointTime> points;  ///< in sweep order
};

/// The manifest of a run that starts now.
Manifest make_manifest(const SweepConfig& sweep, const RunIdentity& identity, FileHashes& hashes);

/// Names of the settings that differ, sorted.
std::vector<std::string> differing_settings(const Manifest& left, const Manifest& right);

/// Replaces the file atomically. Throws DataError.
void write_manifest(const std::filesystem::path& path, const SweepConfig& sweep,
                    const Manifest& manifest);

/// Throws DataError when the file is missing, damaged or of another format.
Manifest read_manifest(const std::filesystem::path& path);

}  // namespace optinc
