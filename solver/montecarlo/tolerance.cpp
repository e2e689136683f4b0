// SPDX-License-Identifier: Apache-2.0
#include "solver/montecarlo/tolerance.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <vector>

namespace optinc {

namespace {

constexpr std::size_t scanned_steps = 8;

/// Neighbouring steps of which the first keeps to the limit and the second does not.
struct Crossing {
  std::optional<std::size_t> kept;
  std::optional<std::size_t> missed;
};

class ToleranceSearch {
 public:
  ToleranceSearch(const ToleranceProbe& probe, std::size_t last_step) : probe_(probe) {
    for (std::size_t i = 0; i < scanned_steps; ++i) {
      const std::size_t step = last_step * i / (scanned_steps - 1);
      if (scan_.empty() || scan_.back() != step) scan_.push_back(step);
    }
  }

  const StatisticEstimate& at(std::size_t step) {
    const auto known = probed_.find(step);
    return known != probed_.end() ? known->second
                                  : probed_.emplace(step, probe_(step)).first->second;
  }

  /// Where `kept` first changes along the scan, to the step.
  Crossing crossing(const std::function<bool(const StatisticEstimate&)>& kept) {
    std::optional<std::size_t> before;
    for (const std::size_t step : scan_) {
      if (!kept(at(step))) return bisect(before, step, kept);
      before = step;
    }
    return {.kept = before, .missed = std::nullopt};
  }

  void probe_scan() {
    for (const std::size_t step : scan_) at(step);
  }

  const std::map<std::size_t, StatisticEstimate>& probed() const { return probed_; }

 private:
  Crossing bisect(std::optional<std::size_t> before, std::size_t after,
                  const std::function<bool(const StatisticEstimate&)>& kept) {
    if (!before) return {.kept = std::nullopt, .missed = after};
    while (after - *before > 1) {
      const std::size_t middle = *before + (after - *before) / 2;
      (kept(at(middle)) ? *before : after) = middle;
    }
    return {.kept = before, .missed = after};
  }

  const ToleranceProbe& probe_;
  std::vector<std::size_t> scan_;
  std::map<std::size_t, StatisticEstimate> probed_;
};

ToleranceOutcome outcome_of(const Crossing& crossing) {
  if (!crossing.missed) return ToleranceOutcome::never;
  return crossing.kept ? ToleranceOutcome::found : ToleranceOutcome::below;
}

bool is_monotone(const std::map<std::size_t, StatisticEstimate>& probed, const MetricLimit& limit) {
  bool missed = false;
  for (const auto& [step, estimate] : probed) {
    if (missed && limit.kept(estimate.value)) return false;
    missed = missed || !limit.kept(estimate.value);
  }
  return true;
}

}  // namespace

std::optional<LimitSense> limit_sense(const std::string& metric) {
  constexpr std::array<std::string_view, 6> larger_is_better = {
      "yield", "snr_db", "cosine", "sign_agreement", "fidelity", "fidelity_normalised"};
  if (metric == "bias_lsb" || metric == "contraction" || metric == "decoded_zero_share") {
    return std::nullopt;
  }
  return std::find(larger_is_better.begin(), larger_is_better.end(), metric) ==
                 larger_is_better.end()
             ? LimitSense::at_most
             : LimitSense::at_least;
}

Tolerance find_tolerance(const ToleranceProbe& probe, std::size_t last_step,
                         const MetricLimit& limit) {
  Tolerance result;
  result.off = probe(std::nullopt);
  result.at_kept = result.off;
  result.evaluations = 1;
  if (!limit.kept(result.off.value)) {
    result.outcome = ToleranceOutcome::none;
    return result;
  }
  ToleranceSearch search(probe, last_step);
  search.probe_scan();
  const Crossing crossing =
      search.crossing([&](const StatisticEstimate& at) { return limit.kept(at.value); });
  result.outcome = outcome_of(crossing);
  result.kept = crossing.kept;
  result.missed = crossing.missed;
  result.surely_kept = search
                           .crossing([&](const StatisticEstimate& at) {
                             return limit.kept(limit.worse_end(at.interval));
                           })
                           .kept;
  result.surely_missed = search
                             .crossing([&](const StatisticEstimate& at) {
                               return limit.kept(limit.better_end(at.interval));
                             })
                             .missed;
  if (result.kept) result.at_kept = search.at(*result.kept);
  result.monotone = is_monotone(search.probed(), limit);
  result.evaluations += search.probed().size();
  return result;
}

}  // namespace optinc
