// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace optinc {

/// Exit status and error output of a program.
struct ProcessResult {
  int exit_code{};  ///< 128 + signal when it was killed
  std::string error_output;
};

/// Runs a program directly (no shell) without standard input and waits for it.
/// Its standard output is dropped. Throws BackendError when it cannot be started.
ProcessResult run_program(const std::filesystem::path& program,
                          const std::vector<std::string>& arguments);

}  // namespace optinc
