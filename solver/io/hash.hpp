// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace optinc {

/// SHA-256 of `content` as 64 lower-case hex digits.
std::string sha256_hex(std::string_view content);

/// SHA-256 of a file's content, read in pieces. Throws DataError when it cannot be read.
std::string sha256_file_hex(const std::filesystem::path& path);

}  // namespace optinc
