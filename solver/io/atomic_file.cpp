// SPDX-License-Identifier: Apache-2.0
#include "solver/io/atomic_file.hpp"

#include <cerrno>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "solver/error.hpp"

namespace optinc {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void throw_errno(const char* action, const fs::path& path) {
  throw DataError(fmt::format("cannot {} {} ({}); check the folder, its permissions and free space",
                              action, path.string(), std::generic_category().message(errno)));
}

class Descriptor {
 public:
  Descriptor(const fs::path& path, int flags)
      : descriptor_(::open(path.c_str(), flags | O_CLOEXEC, 0666)) {}
  ~Descriptor() {
    if (is_open()) ::close(descriptor_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  bool is_open() const { return descriptor_ >= 0; }

  /// Writes everything; false with errno set when that fails.
  bool write(std::string_view content) const {
    while (!content.empty()) {
      const ssize_t written = ::write(descriptor_, content.data(), content.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return false;
      content.remove_prefix(static_cast<std::size_t>(written));
    }
    return true;
  }

  bool sync() const { return ::fsync(descriptor_) == 0; }

 private:
  int descriptor_;
};

/// An empty file beside the target, removed again unless it was renamed.
class Temporary {
 public:
  explicit Temporary(const fs::path& target) : target_(target) {
    for (int attempt = 0;; ++attempt) {
      path_ = target.parent_path() /
              fmt::format(".{}.{}-{}.tmp", target.filename().string(), ::getpid(), attempt);
      if (Descriptor(path_, O_WRONLY | O_CREAT | O_EXCL).is_open()) return;
      if (errno != EEXIST || attempt == 1000) throw_errno("write", target);
    }
  }
  ~Temporary() {
    if (!renamed_) ::unlink(path_.c_str());
  }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;

  const fs::path& path() const { return path_; }

  void sync() const {
    const Descriptor file(path_, O_RDONLY);
    if (!file.is_open() || !file.sync()) throw_errno("write", target_);
  }

  void rename_to_target() {
    if (::rename(path_.c_str(), target_.c_str()) != 0) throw_errno("write", target_);
    renamed_ = true;
  }

 private:
  fs::path target_;
  fs::path path_;
  bool renamed_ = false;
};

fs::path resolved(const fs::path& target) {
  std::error_code ignored;
  fs::path file = fs::is_symlink(target, ignored) ? fs::weakly_canonical(target) : target;
  if (fs::exists(file, ignored) && !fs::is_regular_file(file, ignored)) {
    throw DataError(fmt::format("cannot write {} (it is not a regular file); give a file name",
                                target.string()));
  }
  return file;
}

void sync_folder_of(const fs::path& file) {
  const fs::path folder = file.parent_path();
  const Descriptor descriptor(folder.empty() ? fs::path(".") : folder, O_RDONLY | O_DIRECTORY);
  // Some file systems cannot sync folders; the renamed file itself is complete by now.
  if (descriptor.is_open()) (void)descriptor.sync();
}

}  // namespace

void replace_atomically(const fs::path& target,
                        const std::function<void(const fs::path& temporary)>& write) {
  const fs::path file = resolved(target);
  Temporary temporary(file);
  write(temporary.path());
  temporary.sync();
  temporary.rename_to_target();
  sync_folder_of(file);
}

void write_file_atomically(const fs::path& path, std::string_view content) {
  replace_atomically(path, [&](const fs::path& temporary) {
    const Descriptor file(temporary, O_WRONLY);
    if (!file.is_open() || !file.write(content)) throw_errno("write", path);
  });
}

std::string read_text_file(const std::filesystem::path& path) {
  std::error_code error;
  std::ifstream file(path, std::ios::binary);
  if (!file || std::filesystem::is_directory(path, error)) {
    throw DataError(fmt::format("{}: cannot be read (no such file, a folder, or no permission)",
                                path.string()));
  }
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace optinc
