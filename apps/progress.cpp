// SPDX-License-Identifier: Apache-2.0
#include "apps/progress.hpp"

#include <ostream>

#include <fmt/format.h>

namespace optinc {

std::string duration_text(double time_s) {
  if (time_s < 90) return fmt::format("{:.0f} s", time_s);
  if (time_s < 5400) return fmt::format("{:.0f} min", time_s / 60);
  return fmt::format("{:.1f} h", time_s / 3600);
}

ProgressLine::~ProgressLine() {
  if (line_open_) context_.err << "\n";
}

void ProgressLine::show(bool done, const std::function<std::string()>& text) {
  const double interval_s = context_.err_is_terminal ? 0.1 : 10;
  const bool last = done && context_.err_is_terminal;
  if (quiet_ || (!last && seconds_since(shown_) < interval_s)) return;
  shown_ = Clock::now();
  if (context_.err_is_terminal) {
    context_.err << "\r\033[K" << text() << std::flush;
    line_open_ = true;
  } else {
    context_.err << text() << "\n" << std::flush;
  }
}

}  // namespace optinc
