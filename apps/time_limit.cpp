// SPDX-License-Identifier: Apache-2.0
#include "apps/time_limit.hpp"

#include <algorithm>
#include <ostream>

#include <fmt/format.h>

#include "solver/error.hpp"
#include "solver/text.hpp"

namespace optinc {

namespace {

/// 0 for an unknown unit.
double unit_seconds(const std::string& unit) {
  if (unit.empty() || unit == "s") return 1;
  if (unit == "min") return 60;
  if (unit == "h") return 3600;
  return unit == "d" ? 86400 : 0;
}

}  // namespace

void add_time_limit_option(CLI::App& app, std::string& text, const std::string& description) {
  app.add_option("--time-limit", text, description + " (seconds, or with unit s, min, h, d)")
      ->type_name("TIME")
      ->default_str(text);
}

TimeLimit::TimeLimit(const std::string& text) {
  if (text == no_time_limit) return;
  const std::size_t unit_start = std::min(text.find_first_not_of("0123456789."), text.size());
  const double unit_s = unit_seconds(text.substr(unit_start));
  double number = 0;
  const bool valid = unit_start > 0 && unit_s > 0 &&
                     parse_number(text.substr(0, unit_start), number) && number > 0;
  if (!valid) {
    throw ConfigError(fmt::format(
        "--time-limit {} (must be a positive number with unit s, min, h or d, e.g. 10min)", text));
  }
  limit_s_ = number * unit_s;
}

ExitCode report_stop(const CommandContext& context, const SignalGuard& signals,
                     const std::string& time_limit, const std::string& done) {
  const bool by_signal = signals.caught();
  context.err << fmt::format("optinc: stopped{} after {}; run the same command again to continue\n",
                             by_signal ? "" : fmt::format(" by --time-limit {}", time_limit), done);
  return by_signal ? signals.exit_code() : ExitCode::time_limit;
}

}  // namespace optinc
