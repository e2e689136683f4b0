// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace optinc::test {

/// A shipped trace by its file name.
inline std::filesystem::path shipped(const std::string& name) {
  return std::filesystem::path(OPTINC_SOURCE_DIR) / "data" / "traces" / name;
}

}  // namespace optinc::test
