// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "apps/command.hpp"
#include "solver/clock.hpp"

namespace optinc {

/// "35 s", "12 min", "3.4 h".
std::string duration_text(double time_s);

/// Progress on stderr: one rewritten line on a terminal, a plain line every 10 s elsewhere.
class ProgressLine {
 public:
  ProgressLine(CommandContext& context, bool quiet) : context_(context), quiet_(quiet) {}
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// Shows `text` where it is time to, or the work is done. May be called often.
  void show(bool done, const std::function<std::string()>& text);

  /// Since construction.
  double elapsed_s() const { return seconds_since(start_); }

 private:
  CommandContext& context_;
  bool quiet_;
  bool line_open_ = false;
  Clock::time_point start_ = Clock::now();
  Clock::time_point shown_ = Clock::now();
};

}  // namespace optinc
