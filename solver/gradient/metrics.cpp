// SPDX-License-Identifier: Apache-2.0
#include "solver/gradient/metrics.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <stdexcept>

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

/// sum (e s - r)^2 for one error e.
double squared_error_sum(double error, const CodeStatistics& statistics) {
  return error * error * statistics.sum_s2 - 2 * error * statistics.sum_sr + statistics.sum_r2;
}

/// Sums over the codes of a table, one code at a time.
class MetricSums {
 public:
  explicit MetricSums(const CodeFormat& format) : format_(format) {}

  void add(CodeKey code, const CodeStatistics& statistics, std::int64_t decoded) {
    const std::int64_t scaled = scaled_average(format_, code);
    add_symbols(statistics, round_average(format_, scaled), decoded);
    add_vectors(statistics, scaled, decoded);
    add_signs(statistics, decoded);
  }

  GradientMetrics metrics() const {
    GradientMetrics result;
    const double elements = as_double(elements_);
    const double digits = elements * format_.digits();
    result.element_error_rate = ratio(as_double(wrong_elements_), elements);
    result.symbol_error_rate = ratio(as_double(wrong_symbols_), digits);
    result.bit_error_rate = ratio(as_double(wrong_bits_), 2 * digits);
    result.nmse = ratio(error2_, g2_);
    result.snr_db = -10 * std::log10(result.nmse);
    result.relative_l2 = std::sqrt(result.nmse);
    result.cosine = ratio(product_, std::sqrt(decoded2_) * std::sqrt(g2_));
    result.contraction = ratio(product_, g2_);
    result.bias_lsb = ratio(error_lsb_, as_double(scaled_elements_));
    result.sign_agreement = ratio(as_double(agreeing_), as_double(signed_));
    result.decoded_zero_share = ratio(as_double(decoded_zero_), as_double(signed_));
    result.max_error_lsb =
        scaled_elements_ == 0 ? std::numeric_limits<double>::quiet_NaN() : max_error_lsb_;
    for (std::size_t i = 0; i < wrong_by_digit_.size(); ++i) {
      result.error_share_pm4[i] = ratio(as_double(wrong_by_digit_[i]), elements);
    }
    result.error_share_other = ratio(as_double(wrong_otherwise_), elements);
    return result;
  }

 private:
  void add_symbols(const CodeStatistics& statistics, std::int64_t target, std::int64_t decoded) {
    elements_ += statistics.count;
    if (decoded == target) return;
    wrong_elements_ += statistics.count;
    for (int i = 0; i < format_.digits(); ++i) {
      const int sent = digit_of(target, i);
      const int received = digit_of(decoded, i);
      const auto difference = static_cast<unsigned>(gray_of(sent) ^ gray_of(received));
      if (sent != received) wrong_symbols_ += statistics.count;
      wrong_bits_ += statistics.count * static_cast<std::uint64_t>(std::popcount(difference));
    }
    error_count(std::abs(decoded - target)) += statistics.count;
  }

  /// Where an integer error of this magnitude is counted.
  std::uint64_t& error_count(std::int64_t magnitude) {
    for (std::size_t i = 0; i < wrong_by_digit_.size(); ++i) {
      if (magnitude == std::int64_t{1} << (2 * i)) return wrong_by_digit_[i];
    }
    return wrong_otherwise_;
  }

  /// With v' = v - o and e = (decoded - o) - v': g = v' s + r and g_hat - g = e s - r.
  void add_vectors(const CodeStatistics& statistics, std::int64_t scaled, std::int64_t decoded) {
    const auto servers = static_cast<double>(format_.servers);
    const auto steps = static_cast<double>(decoded - format_.code_offset);
    const double average_steps =
        static_cast<double>(scaled - format_.servers * format_.code_offset) / servers;
    const double error = error_steps(format_, scaled, decoded);
    g2_ += statistics.sum_g2;
    decoded2_ += steps * steps * statistics.sum_s2;
    product_ += steps * (average_steps * statistics.sum_s2 + statistics.sum_sr);
    error2_ += squared_error_sum(error, statistics);
    const std::uint64_t scaled_elements = statistics.count - statistics.count_zero_scale;
    if (scaled_elements == 0) return;
    scaled_elements_ += scaled_elements;
    error_lsb_ += error * as_double(scaled_elements) - statistics.sum_deviation_lsb;
    max_error_lsb_ = std::max({max_error_lsb_, std::abs(error - statistics.min_deviation_lsb),
                               std::abs(error - statistics.max_deviation_lsb)});
  }

  void add_signs(const CodeStatistics& statistics, std::int64_t decoded) {
    const std::uint64_t with_sign = statistics.count_positive + statistics.count_negative;
    signed_ += with_sign;
    if (decoded > format_.code_offset) agreeing_ += statistics.count_positive;
    if (decoded < format_.code_offset) agreeing_ += statistics.count_negative;
    if (decoded == format_.code_offset) decoded_zero_ += with_sign;
  }

  const CodeFormat& format_;
  std::uint64_t elements_ = 0;
  std::uint64_t wrong_elements_ = 0;
  std::uint64_t wrong_symbols_ = 0;
  std::uint64_t wrong_bits_ = 0;
  std::array<std::uint64_t, 8> wrong_by_digit_{};
  std::uint64_t wrong_otherwise_ = 0;
  double g2_ = 0;
  double decoded2_ = 0;
  double product_ = 0;
  double error2_ = 0;
  double error_lsb_ = 0;
  double max_error_lsb_ = 0;
  std::uint64_t scaled_elements_ = 0;
  std::uint64_t signed_ = 0;
  std::uint64_t agreeing_ = 0;
  std::uint64_t decoded_zero_ = 0;
};

}  // namespace

double squared_error(const CodeFormat& format, CodeKey code, const CodeStatistics& statistics,
                     std::int64_t decoded) {
  return squared_error_sum(error_steps(format, scaled_average(format, code), decoded), statistics);
}

GradientMetrics gradient_metrics(const CodeFormat& format, const CodeTable& table,
                                 const std::vector<std::int64_t>& decoded) {
  if (decoded.size() != table.codes.size() || table.statistics.size() != table.codes.size()) {
    throw std::invalid_argument("gradient_metrics: one decoded value per code is needed");
  }
  MetricSums sums(format);
  for (std::size_t i = 0; i < decoded.size(); ++i) {
    sums.add(table.codes[i], table.statistics[i], decoded[i]);
  }
  return sums.metrics();
}

}  // namespace optinc
