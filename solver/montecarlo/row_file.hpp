// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "solver/montecarlo/manifest.hpp"

namespace optinc {

/// Where a row lies and what it is; small, because there is one per row.
struct RowPosition {
  std::uint64_t offset{};  ///< in bytes
  std::uint64_t line{};    ///< from 1
  std::uint32_t length{};  ///< in bytes, without the line break
  std::uint32_t point{};   ///< index of the sweep point
  std::uint32_t chip{};
  std::uint32_t file{};  ///< for the reader of several files
};

/// A row as text and as numbers.
struct ParsedRow {
  std::string text;             ///< without the line break
  std::string start;            ///< cells of a summary row before `chips`: task_id and axes
  std::vector<double> metrics;  ///< in column order
};

/// A row file open for reading, with its manifest. Nothing is written to it.
class RowFile {
 public:
  /// Opens the file, reads its manifest and compares its columns. Throws DataError.
  explicit RowFile(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  const Manifest& manifest() const { return manifest_; }

  /// Calls `visit` with the position of every row (its `file` is 0), in file order, after checking
  /// that the row is one that the manifest allows; its metrics are left to `read`. Returns the
  /// bytes of a torn last line, 0 for none. Throws DataError naming the line.
  std::uint64_t index(const std::function<void(const RowPosition&)>& visit);

  /// Reads one row. Throws DataError for a metric that is no number, and when the file changed
  /// meanwhile.
  ParsedRow read(const RowPosition& position);

  /// Lets go of the task ids, which are as large as the rest of the manifest.
  void drop_task_ids() { manifest_.task_ids = {}; }

  /// Throws DataError "FILE:LINE: problem; restore the file".
  [[noreturn]] void fail(std::uint64_t line, const std::string& problem) const;

 private:
  using Points = std::unordered_map<std::string, std::uint32_t>;

  void require_row_file();
  std::uint64_t next_record(std::string& record);
  RowPosition position(const std::string& record, const Points& points) const;
  std::vector<std::string> fields(const std::string& record, std::uint64_t line) const;
  std::uint32_t chip(const std::string& text) const;
  std::vector<double> metrics(const std::vector<std::string>& cells, std::uint64_t line) const;

  std::filesystem::path path_;
  std::ifstream file_;
  Manifest manifest_;
  std::size_t axes_ = 0;
  Shard shard_;
  double all_chips_ = 0;               ///< per point, of all shards
  std::vector<std::string> identity_;  ///< cells between chip and the axes, of every row
  std::uint64_t line_ = 0;             ///< lines read
  std::uint64_t record_line_ = 0;      ///< first line of the last record
};

}  // namespace optinc
