// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>
#include <string>

#include "apps/command.hpp"
#include "apps/signals.hpp"
#include "solver/clock.hpp"

namespace optinc {

/// The value of --time-limit that sets none.
inline constexpr const char* no_time_limit = "none";

/// Declares --time-limit. Args: description, what happens then.
void add_time_limit_option(CLI::App& app, std::string& text, const std::string& description);

/// A span of time from now on.
class TimeLimit {
 public:
  /// Args: text, "90", "90s", "10min", "2h", "1d" or "none". Throws ConfigError.
  explicit TimeLimit(const std::string& text);

  bool passed() const { return seconds_since(start_) > limit_s_; }

 private:
  Clock::time_point start_ = Clock::now();
  double limit_s_ = std::numeric_limits<double>::infinity();
};

/// Says that the work was stopped before its end, by a signal or by --time-limit, after `done`, and
/// that the same command goes on. Returns the exit code.
ExitCode report_stop(const CommandContext& context, const SignalGuard& signals,
                     const std::string& time_limit, const std::string& done);

}  // namespace optinc
