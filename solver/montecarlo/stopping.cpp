// SPDX-License-Identifier: Apache-2.0
#include "solver/montecarlo/stopping.hpp"

#include <algorithm>
#include <cmath>

namespace optinc {

namespace {

constexpr const char* target_key = "montecarlo.target.metric";

std::optional<double> optional_real(const ResolvedConfig& config, const std::string& path) {
  if (!config.has(path)) return std::nullopt;
  return config.real(path);
}

}  // namespace

std::optional<StoppingRule> StoppingRule::of(const ResolvedConfig& config) {
  if (!config.has(target_key)) return std::nullopt;
  StoppingRule rule(
      ChipStatistic(config.text(target_key), config.real("report.yield_limit"), target_key));
  rule.min_chips_ = static_cast<std::uint64_t>(config.integer("montecarlo.min_chips"));
  rule.max_chips_ = static_cast<std::uint64_t>(config.integer("montecarlo.max_chips"));
  rule.abs_halfwidth_ = optional_real(config, "montecarlo.target.abs_halfwidth");
  rule.rel_halfwidth_ = optional_real(config, "montecarlo.target.rel_halfwidth");
  return rule;
}

bool StoppingRule::looks_after(std::uint64_t chips) const {
  std::uint64_t look = min_chips_;
  while (look < chips) look += std::max<std::uint64_t>(1, look / 50);
  return look == chips;
}

bool StoppingRule::narrow(double estimate, double half_width) const {
  return (abs_halfwidth_ && half_width <= *abs_halfwidth_) ||
         (rel_halfwidth_ && half_width <= *rel_halfwidth_ * std::abs(estimate));
}

bool StoppingRule::satisfied(const std::vector<std::vector<double>>& chips) const {
  if (!looks_after(chips.size())) return false;
  const StatisticEstimate estimate = target_.estimate(chips);
  return narrow(estimate.value, estimate.interval.half_width());
}

}  // namespace optinc
