// SPDX-License-Identifier: Apache-2.0
#include "solver/gradient/metrics.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <span>
#include <stdexcept>
#include <variant>

namespace optinc {
namespace {

double ratio(double numerator, double denominator) {
  return denominator == 0 ? std::numeric_limits<double>::quiet_NaN() : numerator / denominator;
}

double as_double(std::uint64_t count) { return static_cast<double>(count); }

/// e = (decoded - o) - (v - o), in steps of the quantiser. Args: scaled, N v.
double error_steps(const CodeFormat& format, std::int64_t scaled, std::int64_t decoded) {
  return static_cast<double>(format.servers * decoded - scaled) /
         static_cast<double>(format.servers);
}

/// An entry: what was averaged and what an ideal unit decodes.
struct Sent {
  std::int64_t scaled{};  ///< N v
  std::int64_t target{};  ///< Q(v)
};

Sent sent_of(const CodeFormat& format, CodeKey code) {
  const std::int64_t scaled = scaled_average(format, code);
  return {scaled, round_average(format, scaled)};
}

/// What is decoded for an element of an entry, x: probabilities and expected values.
struct Outcome {
  double wrong = 0;
  double wrong_symbols = 0;
  double wrong_bits = 0;
  std::array<double, 8> off_by_digit{};  ///< |x - Q(v)| = 4^i
  double off_otherwise = 0;
  double steps = 0;         ///< x - o
  double square_steps = 0;  ///< its square
  double error = 0;         ///< e
  double square_error = 0;
  double least_error = 0;
  double largest_error = 0;
  double above = 0;  ///< x > o
  double below = 0;
  double zero = 0;  ///< x = o
};

int bits_apart(int digit, int other) {
  return std::popcount(static_cast<unsigned>(gray_of(digit) ^ gray_of(other)));
}

/// Where an integer error of this magnitude is counted.
double& error_class(Outcome& outcome, std::int64_t magnitude) {
  for (std::size_t i = 0; i < outcome.off_by_digit.size(); ++i) {
    if (magnitude == std::int64_t{1} << (2 * i)) return outcome.off_by_digit[i];
  }
  return outcome.off_otherwise;
}

/// The outcome of a certain integer.
Outcome outcome_of(const CodeFormat& format, const Sent& sent, std::int64_t decoded) {
  Outcome outcome;
  outcome.steps = static_cast<double>(decoded - format.code_offset);
  outcome.square_steps = outcome.steps * outcome.steps;
  outcome.error = error_steps(format, sent.scaled, decoded);
  outcome.square_error = outcome.error * outcome.error;
  outcome.least_error = outcome.largest_error = outcome.error;
  outcome.above = decoded > format.code_offset ? 1 : 0;
  outcome.below = decoded < format.code_offset ? 1 : 0;
  outcome.zero = decoded == format.code_offset ? 1 : 0;
  if (decoded == sent.target) return outcome;
  outcome.wrong = 1;
  for (int i = 0; i < format.digits(); ++i) {
    const int digit = digit_of(decoded, i);
    outcome.wrong_symbols += digit_of(sent.target, i) != digit ? 1 : 0;
    outcome.wrong_bits += bits_apart(digit_of(sent.target, i), digit);
  }
  error_class(outcome, std::abs(decoded - sent.target)) = 1;
  return outcome;
}

using Digits = std::span<const DigitProbabilities>;

double probability(const Digits& digits, std::int64_t value) {
  if (value < 0 || value >> (2 * digits.size()) != 0) return 0;
  double product = 1;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    product *= digits[i][static_cast<std::size_t>(digit_of(value, static_cast<int>(i)))];
  }
  return product;
}

void add_symbols(const Digits& digits, std::int64_t target, Outcome& outcome) {
  for (std::size_t i = 0; i < digits.size(); ++i) {
    const int sent = digit_of(target, static_cast<int>(i));
    for (int digit = 0; digit < 4; ++digit) {
      if (digit == sent) continue;
      const double chance = digits[i][static_cast<std::size_t>(digit)];
      outcome.wrong_symbols += chance;
      outcome.wrong_bits += chance * bits_apart(sent, digit);
    }
  }
}

void add_error_classes(const Digits& digits, std::int64_t target, Outcome& outcome) {
  outcome.off_otherwise = outcome.wrong;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    const std::int64_t step = std::int64_t{1} << (2 * i);
    outcome.off_by_digit[i] =
        probability(digits, target + step) + probability(digits, target - step);
    outcome.off_otherwise -= outcome.off_by_digit[i];
  }
  outcome.off_otherwise = std::max(outcome.off_otherwise, 0.0);
}

/// Mean and mean square of x - target.
struct Shift {
  double mean = 0;
  double square = 0;
};

Shift shift_from(const Digits& digits, std::int64_t target) {
  Shift shift;
  double variance = 0;
  double weight = 1;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    double mean = 0;
    double square = 0;
    for (int digit = 0; digit < 4; ++digit) {
      const double distance = digit - digit_of(target, static_cast<int>(i));
      const double part = distance * digits[i][static_cast<std::size_t>(digit)];
      mean += part;
      square += part * distance;
    }
    shift.mean += weight * mean;
    variance += weight * weight * (square - mean * mean);
    weight *= 4;
  }
  shift.square = variance + shift.mean * shift.mean;
  return shift;
}

/// E[(start + shift)^2].
double square_from(double start, const Shift& shift) {
  return start * start + 2 * start * shift.mean + shift.square;
}

/// Probabilities that x is above, below and at `value`: the first digit from the top that differs
/// decides.
void add_order(const Digits& digits, std::int64_t value, Outcome& outcome) {
  double equal_so_far = 1;
  for (std::size_t i = digits.size(); i-- > 0;) {
    const int own = digit_of(value, static_cast<int>(i));
    for (int digit = 0; digit < 4; ++digit) {
      const double chance = equal_so_far * digits[i][static_cast<std::size_t>(digit)];
      if (digit > own) outcome.above += chance;
      if (digit < own) outcome.below += chance;
    }
    equal_so_far *= digits[i][static_cast<std::size_t>(own)];
  }
  outcome.zero = equal_so_far;
}

std::size_t likeliest(const DigitProbabilities& digit) {
  return static_cast<std::size_t>(std::max_element(digit.begin(), digit.end()) - digit.begin());
}

/// The largest x (or the smallest, `order` walks the digits the other way) whose probability is at
/// least `least` or that of the likeliest x. A digit is taken where the likeliest rest completes
/// it to that, so no step has to be undone.
std::int64_t extreme_value(const Digits& digits, double least, const std::array<int, 4>& order) {
  std::array<double, 16> best_below{};  // probability of the likeliest digits below each
  double best = 1;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    best_below[i] = best;
    best *= digits[i][likeliest(digits[i])];
  }
  double chance = 1;
  std::int64_t value = 0;
  for (std::size_t i = digits.size(); i-- > 0;) {
    auto taken = likeliest(digits[i]);
    for (const int digit : order) {
      const auto candidate = static_cast<std::size_t>(digit);
      if (chance * digits[i][candidate] * best_below[i] < std::min(least, best)) continue;
      taken = candidate;
      break;
    }
    chance *= digits[i][taken];
    value = 4 * value + static_cast<std::int64_t>(taken);
  }
  return value;
}

/// The expected outcome of random decisions on the digits. Args: count, of elements.
Outcome outcome_of(const CodeFormat& format, const Sent& sent, const Digits& digits,
                   std::uint64_t count) {
  Outcome outcome;
  outcome.wrong = wrong_probability(digits, sent.target);
  add_symbols(digits, sent.target, outcome);
  add_error_classes(digits, sent.target, outcome);
  add_order(digits, format.code_offset, outcome);
  const Shift shift = shift_from(digits, sent.target);
  const auto steps = static_cast<double>(sent.target - format.code_offset);
  const double error = error_steps(format, sent.scaled, sent.target);
  outcome.steps = steps + shift.mean;
  outcome.square_steps = square_from(steps, shift);
  outcome.error = error + shift.mean;
  outcome.square_error = square_from(error, shift);
  const double least = 0.5 / as_double(count);
  outcome.least_error =
      error_steps(format, sent.scaled, extreme_value(digits, least, {0, 1, 2, 3}));
  outcome.largest_error =
      error_steps(format, sent.scaled, extreme_value(digits, least, {3, 2, 1, 0}));
  return outcome;
}

Outcome outcome_at(const CodeFormat& format, const CodeTable& table, const Sent& sent,
                   const Decoded& decoded, std::size_t entry) {
  if (const auto* integers = std::get_if<std::vector<std::int64_t>>(&decoded)) {
    return outcome_of(format, sent, (*integers)[entry]);
  }
  return outcome_of(format, sent, std::get<ValueDistributions>(decoded)[entry],
                    table.statistics[entry].count);
}

/// sum (e s - r)^2, expected.
double squared_error_sum(const Outcome& outcome, const CodeStatistics& statistics) {
  return outcome.square_error * statistics.sum_s2 - 2 * outcome.error * statistics.sum_sr +
         statistics.sum_r2;
}

/// Sums over the entries of a table. Counts times 0 or 1 are exact below 2^53.
class MetricSums {
 public:
  explicit MetricSums(const CodeFormat& format) : format_(format) {}

  void add(const CodeStatistics& statistics, const Sent& sent, const Outcome& outcome) {
    add_symbols(statistics, outcome);
    add_vectors(statistics, sent.scaled, outcome);
    add_signs(statistics, outcome);
  }

  GradientMetrics metrics() const {
    GradientMetrics result;
    const double elements = as_double(elements_);
    const double digits = elements * format_.digits();
    result.element_error_rate = ratio(wrong_elements_, elements);
    result.symbol_error_rate = ratio(wrong_symbols_, digits);
    result.bit_error_rate = ratio(wrong_bits_, 2 * digits);
    result.nmse = ratio(error2_, g2_);
    result.snr_db = -10 * std::log10(result.nmse);
    result.relative_l2 = std::sqrt(result.nmse);
    result.cosine = ratio(product_, std::sqrt(decoded2_) * std::sqrt(g2_));
    result.contraction = ratio(product_, g2_);
    result.bias_lsb = ratio(error_lsb_, as_double(scaled_elements_));
    result.sign_agreement = ratio(agreeing_, as_double(signed_));
    result.decoded_zero_share = ratio(decoded_zero_, as_double(signed_));
    result.max_error_lsb =
        scaled_elements_ == 0 ? std::numeric_limits<double>::quiet_NaN() : max_error_lsb_;
    for (std::size_t i = 0; i < off_by_digit_.size(); ++i) {
      result.error_share_pm4[i] = ratio(off_by_digit_[i], elements);
    }
    result.error_share_other = ratio(off_otherwise_, elements);
    return result;
  }

 private:
  void add_symbols(const CodeStatistics& statistics, const Outcome& outcome) {
    elements_ += statistics.count;
    if (outcome.wrong == 0) return;
    const double count = as_double(statistics.count);
    wrong_elements_ += count * outcome.wrong;
    wrong_symbols_ += count * outcome.wrong_symbols;
    wrong_bits_ += count * outcome.wrong_bits;
    for (std::size_t i = 0; i < off_by_digit_.size(); ++i) {
      off_by_digit_[i] += count * outcome.off_by_digit[i];
    }
    off_otherwise_ += count * outcome.off_otherwise;
  }

  /// With v' = v - o and e = (decoded - o) - v': g = v' s + r and g_hat - g = e s - r.
  void add_vectors(const CodeStatistics& statistics, std::int64_t scaled, const Outcome& outcome) {
    const auto servers = static_cast<double>(format_.servers);
    const double average_steps =
        static_cast<double>(scaled - format_.servers * format_.code_offset) / servers;
    g2_ += statistics.sum_g2;
    decoded2_ += outcome.square_steps * statistics.sum_s2;
    product_ += outcome.steps * (average_steps * statistics.sum_s2 + statistics.sum_sr);
    error2_ += squared_error_sum(outcome, statistics);
    const std::uint64_t scaled_elements = statistics.count - statistics.count_zero_scale;
    if (scaled_elements == 0) return;
    scaled_elements_ += scaled_elements;
    error_lsb_ += outcome.error * as_double(scaled_elements) - statistics.sum_deviation_lsb;
    for (const double error : {outcome.least_error, outcome.largest_error}) {
      max_error_lsb_ = std::max({max_error_lsb_, std::abs(error - statistics.min_deviation_lsb),
                                 std::abs(error - statistics.max_deviation_lsb)});
    }
  }

  void add_signs(const CodeStatistics& statistics, const Outcome& outcome) {
    const std::uint64_t with_sign = statistics.count_positive + statistics.count_negative;
    signed_ += with_sign;
    agreeing_ += as_double(statistics.count_positive) * outcome.above +
                 as_double(statistics.count_negative) * outcome.below;
    decoded_zero_ += as_double(with_sign) * outcome.zero;
  }

  const CodeFormat& format_;
  std::uint64_t elements_ = 0;
  double wrong_elements_ = 0;
  double wrong_symbols_ = 0;
  double wrong_bits_ = 0;
  std::array<double, 8> off_by_digit_{};
  double off_otherwise_ = 0;
  double g2_ = 0;
  double decoded2_ = 0;
  double product_ = 0;
  double error2_ = 0;
  double error_lsb_ = 0;
  double max_error_lsb_ = 0;
  std::uint64_t scaled_elements_ = 0;
  std::uint64_t signed_ = 0;
  double agreeing_ = 0;
  double decoded_zero_ = 0;
};

void require_entries(const CodeTable& table, const Decoded& decoded) {
  const std::size_t entries = table.codes.size();
  if (size_of(decoded) != entries || table.statistics.size() != entries) {
    throw std::invalid_argument("gradient metrics: one decoded value per code is needed");
  }
}

}  // namespace

std::vector<double> squared_errors(const CodeFormat& format, const CodeTable& table,
                                   const Decoded& decoded) {
  require_entries(table, decoded);
  std::vector<double> errors;
  errors.reserve(table.codes.size());
  for (std::size_t i = 0; i < table.codes.size(); ++i) {
    const Sent sent = sent_of(format, table.codes[i]);
    errors.push_back(
        squared_error_sum(outcome_at(format, table, sent, decoded, i), table.statistics[i]));
  }
  return errors;
}

GradientMetrics gradient_metrics(const CodeFormat& format, const CodeTable& table,
                                 const Decoded& decoded) {
  require_entries(table, decoded);
  MetricSums sums(format);
  for (std::size_t i = 0; i < table.codes.size(); ++i) {
    const Sent sent = sent_of(format, table.codes[i]);
    sums.add(table.statistics[i], sent, outcome_at(format, table, sent, decoded, i));
  }
  return sums.metrics();
}

}  // namespace optinc
