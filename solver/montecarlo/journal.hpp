// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <istream>
#include <string>
#include <string_view>

namespace optinc {

/// An append-only text file that one process at a time may write.
class Journal {
 public:
  /// Opens or creates the file and locks it until destruction. Throws DataError when another
  /// process holds it, when it is not a regular file, or with the system's reason.
  explicit Journal(const std::filesystem::path& path);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  /// The whole content. Throws DataError.
  std::string read() const;

  /// Cuts the file after `size` bytes. Throws DataError.
  void truncate(std::uint64_t size);

  /// Appends a record at once. Throws DataError when the file was removed or replaced meanwhile;
  /// the record would be lost. When that fails (a full disk) what was written of it is cut off
  /// again, as far as possible, and DataError says that the earlier records are safe.
  void append(std::string_view record);

 private:
  std::filesystem::path path_;
  int descriptor_;
};

/// Takes the next CSV record off `content`, without its line break; breaks inside quotes do not
/// count. Returns false, leaving `content`, when no complete record is left (end or torn line).
bool take_csv_record(std::string_view& content, std::string_view& record);

/// Reads the next CSV record of a file, without its line break, into `record` and adds its lines to
/// `lines`. Returns its bytes with the line break, 0 when no complete record is left; `record` then
/// holds what there is.
std::uint64_t read_csv_record(std::istream& file, std::string& record, std::uint64_t& lines);

}  // namespace optinc
