// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "apps/command.hpp"

namespace optinc {

/// Runs `optinc ARGS...` in-process and returns the exit code. Never throws.
/// Args: args, without the program name; out, results; err, progress and messages.
int run_cli(const std::vector<std::string>& args, std::ostream& out, std::ostream& err,
            bool err_is_terminal = false);

/// Throws ConfigError for a name that is no command of this version: not built yet, or unknown
/// (with the nearest known name).
[[noreturn]] void fail_unknown_command(const std::string& name);

/// The backends of this program, best first.
BackendRegistry default_registry();

}  // namespace optinc
