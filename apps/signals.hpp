// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <csignal>
#include <functional>
#include <string>

#include "apps/command.hpp"
#include "solver/error.hpp"

namespace optinc {

/// While it lives, the first SIGINT or SIGTERM only asks for a stop; a second one ends the program.
/// One at a time.
class SignalGuard {
 public:
  SignalGuard();
  ~SignalGuard();
  SignalGuard(const SignalGuard&) = delete;
  SignalGuard& operator=(const SignalGuard&) = delete;

  /// Whether a signal has asked for a stop.
  bool caught() const;

  /// What to return after the signal that was caught.
  ExitCode exit_code() const;

 private:
  struct sigaction old_interrupt_ {};
  struct sigaction old_terminate_ {};
};

/// Runs `work` under a SignalGuard. It gets the question whether to stop; once it throws Stopped,
/// one line on standard error says so, with `loss` (what was not done), and the exit code is that
/// of the signal.
ExitCode run_stoppable(const CommandContext& context, const std::string& loss,
                       const std::function<ExitCode(const std::function<bool()>&)>& work);

}  // namespace optinc
