// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

#include <fmt/format.h>
#include <unistd.h>

#include "solver/error.hpp"

/// Entry point of libFuzzer and of replay_main.cpp.
// NOLINTNEXTLINE(readability-identifier-naming): the name is libFuzzer's.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace optinc::testing {

inline std::string_view as_text(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// A file of this process, in memory where the system allows, removed at its end.
class ScratchFile {
 public:
  explicit ScratchFile(const std::string& suffix) {
    const std::filesystem::path memory = "/dev/shm";
    const std::filesystem::path folder =
        std::filesystem::is_directory(memory) ? memory : std::filesystem::temp_directory_path();
    path_ = folder / fmt::format("optinc-fuzz-{}{}", static_cast<int>(getpid()), suffix);
  }
  ~ScratchFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  const std::filesystem::path& write(std::string_view content) const {
    std::ofstream file(path_, std::ios::binary);
    file.write(content.data(), static_cast<std::streamsize>(content.size()));
    return path_;
  }

 private:
  std::filesystem::path path_;
};

/// The input as a file, overwritten by the next input. A target uses one suffix.
inline const std::filesystem::path& as_file(std::string_view content, const std::string& suffix) {
  static const ScratchFile file(suffix);
  return file.write(content);
}

/// Runs a reader on the input: it may refuse it, and in no other way than with a UserError.
template <class Reader>
int accept_refusal(Reader&& reader) {
  try {
    reader();
  } catch (const UserError&) {
  }
  return 0;
}

/// Ends the program unless the property holds.
inline void require(bool property) {
  if (!property) std::abort();
}

}  // namespace optinc::testing
