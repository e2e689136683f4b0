// SPDX-License-Identifier: Apache-2.0
#include "apps/signals.hpp"

#include <ostream>

#include <fmt/format.h>

#include "solver/gradient/stoppable.hpp"

namespace optinc {

namespace {

volatile std::sig_atomic_t caught_signal = 0;

void remember_signal(int signal) { caught_signal = signal; }

}  // namespace

SignalGuard::SignalGuard() {
  caught_signal = 0;
  struct sigaction ask_to_stop {};
  ask_to_stop.sa_handler = remember_signal;
  ask_to_stop.sa_flags = SA_RESTART | static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &ask_to_stop, &old_interrupt_);
  sigaction(SIGTERM, &ask_to_stop, &old_terminate_);
}

SignalGuard::~SignalGuard() {
  sigaction(SIGINT, &old_interrupt_, nullptr);
  sigaction(SIGTERM, &old_terminate_, nullptr);
}

bool SignalGuard::caught() const { return caught_signal != 0; }

ExitCode SignalGuard::exit_code() const {
  return caught_signal == SIGTERM ? ExitCode::terminated : ExitCode::interrupted;
}

ExitCode run_stoppable(const CommandContext& context, const std::string& loss,
                       const std::function<ExitCode(const std::function<bool()>&)>& work) {
  const SignalGuard signals;
  try {
    return work([&] { return signals.caught(); });
  } catch (const Stopped&) {
    context.err << fmt::format("optinc: stopped by a signal ({}); run the same command again\n",
                               loss);
    return signals.exit_code();
  }
}

}  // namespace optinc
