// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>
#include <vector>

namespace optinc {

/// Probability that a unit normal is at least x.
double upper_tail(double x);

/// Probability of each digit 0 to 3 of one decision.
using DigitProbabilities = std::array<double, 4>;

/// Values from which an output is decided as at least digit 1, 2 and 3, in increasing order;
/// -infinity: always, infinity: never.
using DecisionThresholds = std::array<double, 3>;

/// The digit that a value is decided as: the number of thresholds that it reaches.
int decided_digit(const DecisionThresholds& thresholds, double value);

/// Probabilities of the digits of a Gaussian value, from tails of the normal distribution, each to
/// full relative precision. With sigma = 0 the decision is certain.
DigitProbabilities digit_probabilities(const DecisionThresholds& thresholds, double mean,
                                       double sigma);

/// Probability that the value of these independent digits, least significant first, is not
/// `target`; to full relative precision also where it is far below 1e-16.
double wrong_probability(std::span<const DigitProbabilities> digits, std::int64_t target);

/// Distributions of values whose digits are decided independently.
struct ValueDistributions {
  std::size_t digits_per_value{};
  std::vector<DigitProbabilities> digits;  ///< [value][digit], least significant first

  std::size_t size() const { return digits_per_value == 0 ? 0 : digits.size() / digits_per_value; }
  std::span<const DigitProbabilities> operator[](std::size_t value) const {
    return {digits.data() + value * digits_per_value, digits_per_value};
  }
};

/// What is decoded for each of some entries: integers, or distributions where chance decides.
using Decoded = std::variant<std::vector<std::int64_t>, ValueDistributions>;

/// Number of entries.
std::size_t size_of(const Decoded& decoded);

/// Adds entries behind `all`; of one kind with them, unless there are none.
void append(std::vector<std::int64_t>& all, const std::vector<std::int64_t>& more);
void append(Decoded& all, const Decoded& more);

/// Entries places[0], places[1], ...
Decoded select(const Decoded& decoded, const std::vector<std::size_t>& places);

/// Probability that each entry is not its target; 0 or 1 for integers.
std::vector<double> wrong_probabilities(const Decoded& decoded,
                                        const std::vector<std::int64_t>& targets);

}  // namespace optinc
