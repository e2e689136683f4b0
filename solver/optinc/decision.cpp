// SPDX-License-Identifier: Apache-2.0
#include "solver/optinc/decision.hpp"

#include <cmath>
#include <numbers>

#include "solver/optinc/code.hpp"

namespace optinc {

namespace {

/// Probability that a unit normal lies in [low, high): a difference of tails that are both on the
/// side of the interval, so that nothing cancels.
double between(double low, double high) {
  if (low >= 0) return upper_tail(low) - upper_tail(high);
  if (high <= 0) return upper_tail(-high) - upper_tail(-low);
  return (std::erf(high / std::numbers::sqrt2) + std::erf(-low / std::numbers::sqrt2)) / 2;
}

DigitProbabilities certain(int digit) {
  DigitProbabilities probabilities{};
  probabilities[static_cast<std::size_t>(digit)] = 1;
  return probabilities;
}

}  // namespace

double upper_tail(double x) { return std::erfc(x / std::numbers::sqrt2) / 2; }

int decided_digit(const DecisionThresholds& thresholds, double value) {
  int digit = 0;
  for (const double threshold : thresholds) digit += static_cast<int>(value >= threshold);
  return digit;
}

DigitProbabilities digit_probabilities(const DecisionThresholds& thresholds, double mean,
                                       double sigma) {
  if (!(sigma > 0) || !std::isfinite(mean)) return certain(decided_digit(thresholds, mean));
  DecisionThresholds at{};
  for (std::size_t i = 0; i < at.size(); ++i) at[i] = (thresholds[i] - mean) / sigma;
  return {upper_tail(-at[0]), between(at[0], at[1]), between(at[1], at[2]), upper_tail(at[2])};
}

double wrong_probability(std::span<const DigitProbabilities> digits, std::int64_t target) {
  double log_right = 0;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    const auto sent = static_cast<std::size_t>(digit_of(target, static_cast<int>(i)));
    double wrong = 0;
    for (std::size_t level = 0; level < digits[i].size(); ++level) {
      if (level != sent) wrong += digits[i][level];
    }
    if (wrong >= 1) return 1;
    log_right += std::log1p(-wrong);
  }
  return log_right == 0 ? 0 : -std::expm1(log_right);
}

std::size_t size_of(const Decoded& decoded) {
  return std::visit([](const auto& entries) { return entries.size(); }, decoded);
}

void append(std::vector<std::int64_t>& all, const std::vector<std::int64_t>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

void append(Decoded& all, const Decoded& more) {
  if (size_of(all) == 0) {
    all = more;
  } else if (auto* integers = std::get_if<std::vector<std::int64_t>>(&all)) {
    append(*integers, std::get<std::vector<std::int64_t>>(more));
  } else {
    std::vector<DigitProbabilities>& digits = std::get<ValueDistributions>(all).digits;
    const std::vector<DigitProbabilities>& added = std::get<ValueDistributions>(more).digits;
    digits.insert(digits.end(), added.begin(), added.end());
  }
}

namespace {

std::vector<std::int64_t> select_entries(const std::vector<std::int64_t>& integers,
                                         const std::vector<std::size_t>& places) {
  std::vector<std::int64_t> selected;
  selected.reserve(places.size());
  for (const std::size_t place : places) selected.push_back(integers[place]);
  return selected;
}

ValueDistributions select_entries(const ValueDistributions& distributions,
                                  const std::vector<std::size_t>& places) {
  ValueDistributions selected{.digits_per_value = distributions.digits_per_value, .digits = {}};
  selected.digits.reserve(places.size() * distributions.digits_per_value);
  for (const std::size_t place : places) {
    const std::span<const DigitProbabilities> digits = distributions[place];
    selected.digits.insert(selected.digits.end(), digits.begin(), digits.end());
  }
  return selected;
}

double wrong_probability(std::int64_t value, std::int64_t target) {
  return value == target ? 0 : 1;
}

}  // namespace

Decoded select(const Decoded& decoded, const std::vector<std::size_t>& places) {
  return std::visit([&](const auto& entries) -> Decoded { return select_entries(entries, places); },
                    decoded);
}

std::vector<double> wrong_probabilities(const Decoded& decoded,
                                        const std::vector<std::int64_t>& targets) {
  return std::visit(
      [&](const auto& entries) {
        std::vector<double> wrong(targets.size());
        for (std::size_t i = 0; i < wrong.size(); ++i) {
          wrong[i] = wrong_probability(entries[i], targets[i]);
        }
        return wrong;
      },
      decoded);
}

}  // namespace optinc
