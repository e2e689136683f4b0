// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

namespace optinc {

/// Whole content of a file. Throws DataError when it is missing, a folder, or cannot be read.
std::string read_text_file(const std::filesystem::path& path);

/// Makes `content` the whole content of `path`: readers see the old file or the new one, never a
/// part. Throws DataError with the system's reason (full disk, missing folder, no permission); the
/// old file is then untouched.
void write_file_atomically(const std::filesystem::path& path, std::string_view content);

/// Replaces `target` by what `write` puts at the temporary path it is given, which lies in the same
/// folder and exists, empty. The file is synced before it is renamed; when anything fails, or
/// `write` throws, the temporary is removed and `target` untouched. A symbolic link is followed;
/// a target that exists and is no regular file is refused. Throws DataError.
void replace_atomically(const std::filesystem::path& target,
                        const std::function<void(const std::filesystem::path& temporary)>& write);

}  // namespace optinc
