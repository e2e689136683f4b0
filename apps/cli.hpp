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

/// The backends of this program, best first.
BackendRegistry default_registry();

}  // namespace optinc
