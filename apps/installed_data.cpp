// SPDX-License-Identifier: Apache-2.0
#include "apps/installed_data.hpp"

#include <system_error>

#include "solver/config/sweep_config.hpp"

namespace optinc {

std::filesystem::path installed_data_directory() {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::filesystem::path folder = program.parent_path().parent_path() / "share" / "optinc";
  return std::filesystem::is_directory(folder, error) ? folder : std::filesystem::path();
}

std::filesystem::path find_data_file(const std::string& name) {
  const std::filesystem::path found = find_in_folders({""}, installed_data_directory(), name);
  return found.empty() ? std::filesystem::path(name) : found;
}

}  // namespace optinc
