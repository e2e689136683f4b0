// SPDX-License-Identifier: Apache-2.0
#include "solver/montecarlo/journal.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "solver/error.hpp"

namespace optinc {

namespace {

std::string reason() { return std::generic_category().message(errno); }

bool is_regular(int descriptor) {
  struct stat status {};
  return ::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
}

int open_locked(const std::filesystem::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (descriptor < 0) {
    throw DataError(
        fmt::format("cannot open {} for writing ({}); check the folder and its permissions",
                    path.string(), reason()));
  }
  std::string problem;
  if (!is_regular(descriptor)) {
    problem =
        fmt::format("cannot write {} (it is not a regular file); give a file name", path.string());
  } else if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    problem = errno == EWOULDBLOCK
                  ? fmt::format(
                        "{} is being written by another optinc; wait for it or use another "
                        "--out file",
                        path.string())
                  : fmt::format("cannot lock {} ({}); use a file system with locks", path.string(),
                                reason());
  }
  if (problem.empty()) return descriptor;
  ::close(descriptor);
  throw DataError(problem);
}

/// Whether the open file still has a name.
bool is_in_a_folder(int descriptor) {
  struct stat status {};
  return ::fstat(descriptor, &status) != 0 || status.st_nlink > 0;
}

/// Writes all of `text`; false with errno set when that fails.
bool write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace

Journal::Journal(const std::filesystem::path& path) : path_(path), descriptor_(open_locked(path)) {}

Journal::~Journal() { ::close(descriptor_); }

std::string Journal::read() const {
  std::string content;
  std::array<char, 65536> piece{};
  while (true) {
    const ssize_t count =
        ::pread(descriptor_, piece.data(), piece.size(), static_cast<off_t>(content.size()));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw DataError(fmt::format("cannot read {} ({})", path_.string(), reason()));
    if (count == 0) return content;
    content.append(piece.data(), static_cast<std::size_t>(count));
  }
}

void Journal::truncate(std::uint64_t size) {
  if (::ftruncate(descriptor_, static_cast<off_t>(size)) != 0) {
    throw DataError(fmt::format("cannot shorten {} ({})", path_.string(), reason()));
  }
}

void Journal::append(std::string_view record) {
  if (!is_in_a_folder(descriptor_)) {
    throw DataError(fmt::format(
        "{} was removed or replaced while it was written, so its rows are lost; leave it in place "
        "and run the same command again",
        path_.string()));
  }
  const off_t before = ::lseek(descriptor_, 0, SEEK_END);
  if (before >= 0 && write_all(descriptor_, record)) return;
  const std::string why = reason();
  if (before >= 0 && ::ftruncate(descriptor_, before) != 0) {
    // The torn record stays; the next run cuts it off.
  }
  throw DataError(fmt::format(
      "cannot write {} ({}); the rows before are safe: make room, then run the same command again "
      "to resume",
      path_.string(), why));
}

bool take_csv_record(std::string_view& content, std::string_view& record) {
  bool quoted = false;
  for (std::size_t i = 0; i < content.size(); ++i) {
    if (content[i] == '"') quoted = !quoted;
    if (content[i] != '\n' || quoted) continue;
    record = content.substr(0, i);
    content.remove_prefix(i + 1);
    return true;
  }
  return false;
}

std::uint64_t read_csv_record(std::istream& file, std::string& record, std::uint64_t& lines) {
  record.clear();
  std::string line;
  while (std::getline(file, line)) {
    record += line;
    if (file.eof()) return 0;
    ++lines;
    if (std::count(record.begin(), record.end(), '"') % 2 == 0) return record.size() + 1;
    record += '\n';
  }
  return 0;
}

}  // namespace optinc
