// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace optinc {

struct CombineOptions {
  std::vector<std::filesystem::path> inputs;       ///< row files, each with its manifest beside it
  std::filesystem::path out;                       ///< row file to write
  std::function<void(const std::string&)> notice;  ///< a line for the user
};

/// What a combined file holds.
struct CombineReport {
  std::size_t files = 0;       ///< read
  std::size_t points = 0;      ///< of the sweep
  std::uint64_t rows = 0;      ///< written
  std::uint64_t repeated = 0;  ///< rows that were there already, equal
  std::uint64_t missing = 0;   ///< rows of the sweep that no file has
};

/// Merges row files of one sweep (its shards, or copies of parts of it) into `out`, its summary and
/// its manifest, each replaced atomically, the rows last. Rows are ordered by sweep point, as the
/// manifests list them, then chip, and equal rows are written once: the result does not depend on
/// the order of the inputs or on how often they are combined, and that of all shards has the bytes
/// of the sweep without shards. The summary covers the chips that are there. Times in the manifest
/// are sums, in proportion to the rows a file contributes. An `out` that exists is one more input,
/// so that no row of it is lost.
///
/// Memory: 32 bytes per row read, 16 bytes per sweep point and file, and the metrics of the chips
/// of one point. Files stay open: as many as the system lets a process open; combine more in
/// groups.
///
/// Throws DataError when a file is missing, damaged, no row file, or of another sweep (settings
/// other than shard and chip count differ); when rows of the same chip differ, naming file and line
/// of both; when `out` is being written by a sweep or cannot be written. A torn last line is left
/// out with a notice.
CombineReport combine_results(const CombineOptions& options);

}  // namespace optinc
