// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <vector>

#include <catch2/catch.hpp>

#include "noise/stream.hpp"
#include "solver/gradient/metrics.hpp"
#include "solver/gradient/quantised_stream.hpp"
#include "solver/gradient/quantiser.hpp"
#include "solver/gradient/sampling.hpp"
#include "solver/gradient/statistics.hpp"
#include "solver/gradient/synthetic.hpp"
#include "tests/support/brute_force_gradient.hpp"

namespace optinc {
namespace {

SyntheticGradient gaussian(int servers, std::uint64_t elements, double correlation) {
  return SyntheticGradient({.kind = SyntheticKind::gaussian,
                            .servers = servers,
                            .elements = elements,
                            .correlation = correlation});
}

/// Distributions of the digits of each entry: some spread out, some nearly certain.
ValueDistributions random_distributions(std::size_t entries, int digits, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform(0, 1);
  ValueDistributions result{.digits_per_value = static_cast<std::size_t>(digits), .digits = {}};
  for (std::size_t i = 0; i < entries * result.digits_per_value; ++i) {
    DigitProbabilities weights{};
    const double power = i % 3 == 0 ? 20 : 1;
    double sum = 0;
    for (double& weight : weights) sum += weight = std::pow(uniform(random), power);
    for (double& weight : weights) weight /= sum;
    result.digits.push_back(weights);
  }
  return result;
}

double chance_of(std::span<const DigitProbabilities> digits, long value) {
  double chance = 1;
  for (const DigitProbabilities& digit : digits) {
    chance *= digit[static_cast<std::size_t>(value % 4)];
    value /= 4;
  }
  return chance;
}

/// All integers of `bits` bits once, both servers sending alike: g = (u - o) s exactly, s = 1.
CodeTable every_value(const CodeFormat& format) {
  CodeTable table;
  for (std::uint32_t value = 0; value <= static_cast<std::uint32_t>(format.max_value()); ++value) {
    const std::vector<std::uint32_t> sent(static_cast<std::size_t>(format.servers), value);
    const double g = static_cast<double>(value) - static_cast<double>(format.code_offset);
    table.codes.push_back(code_of(format, sent.data()));
    CodeStatistics statistics;
    statistics.count = 1;
    statistics.count_positive = g > 0 ? 1 : 0;
    statistics.count_negative = g < 0 ? 1 : 0;
    statistics.sum_s = statistics.sum_s2 = statistics.max_s = 1;
    statistics.sum_g = g;
    statistics.sum_g2 = g * g;
    statistics.min_deviation_lsb = statistics.max_deviation_lsb = 0;
    table.statistics.push_back(statistics);
  }
  return table;
}

/// Decisions of every value with the same noise on all its digits.
ValueDistributions noisy_values(const CodeFormat& format, const CodeTable& table, double sigma) {
  ValueDistributions result{.digits_per_value = static_cast<std::size_t>(format.digits()),
                            .digits = {}};
  for (const std::int64_t target : target_values(format, table.codes)) {
    for (int i = 0; i < format.digits(); ++i) {
      result.digits.push_back(digit_probabilities({0.5, 1.5, 2.5}, digit_of(target, i), sigma));
    }
  }
  return result;
}

/// Distance d / sigma at which PAM4 has a symbol error rate, by bisection on the definition.
double distance_for(double symbol_error_rate) {
  double low = 0;
  double high = 10;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (0.75 * std::erfc(middle / std::sqrt(2)) > symbol_error_rate ? low : high) = middle;
  }
  return low;
}

/// SNR of the values of server 0 alone when they are rounded stochastically. Two servers round
/// independently, so that their average would be better.
double stochastic_snr_db(const SyntheticGradient& source, const CodeFormat& format,
                         std::uint64_t block) {
  std::vector<double> uniforms(block);
  double error2 = 0;
  double value2 = 0;
  std::uint64_t first = 0;
  quantise_stream(source, format, {.block = block}, [&](const QuantisedPiece& piece) {
    uniform_sequence({.seed = 9, .draw = DrawId::stochastic_rounding}, first,
                     {uniforms.data(), piece.count});
    first += piece.count;
    for (std::size_t i = 0; i < piece.count; ++i) {
      const double value = static_cast<double>(piece.gradients[i]);
      const std::uint32_t code =
          quantise_stochastically(format, piece.gradients[i], piece.scale, uniforms[i]);
      const double decoded =
          (static_cast<double>(code) - static_cast<double>(format.code_offset)) * piece.scale;
      error2 += (decoded - value) * (decoded - value);
      value2 += value * value;
    }
  });
  return 10 * std::log10(value2 / error2);
}

/// SNR = 12 / E[s^2] of unit normals with the smallest power of two s for which the largest of a
/// block is at most (2^(b-1) - 1) s; that largest one is below x with probability erf(x/sqrt 2)^n.
double power_of_two_snr_db(int bits, std::uint64_t block) {
  const double steps = std::exp2(bits - 1) - 1;
  const auto below = [&](double x) {
    return std::pow(std::erf(x / std::sqrt(2)), static_cast<double>(block));
  };
  double mean_square = 0;
  for (int exponent = -20; exponent < 5; ++exponent) {
    const double scale = std::exp2(exponent);
    mean_square += scale * scale * (below(steps * scale) - below(steps * scale / 2));
  }
  return 10 * std::log10(12 / mean_square);
}

}  // namespace

TEST_CASE("Expected metrics equal the sum over every integer that can be decoded") {
  const int bits = GENERATE(4, 6);
  const int servers = GENERATE(2, 3);
  const SyntheticGradient source = gaussian(servers, 150, 0.8);
  CodeFormat format = make_code_format(servers, bits);
  format.code_offset -= 1;
  const QuantiserOptions options{.block = 40};
  const TraceStatistics statistics = reduce_trace(source, format, options);
  const CodeTable& table = statistics.total;
  const ValueDistributions decoded = random_distributions(table.codes.size(), bits / 2, 4);
  std::map<CodeKey, std::size_t> place;
  for (std::size_t i = 0; i < table.codes.size(); ++i) place[table.codes[i]] = i;

  test::Expected expected(format);
  const std::vector<test::Element> elements =
      test::elements_of(test::concatenation(source), format, options);
  std::vector<double> squares(table.codes.size(), 0);
  for (const test::Element& element : elements) {
    const std::size_t entry = place.at(element.code);
    const auto count = static_cast<double>(table.statistics[entry].count);
    double best = 0;
    for (long value = 0; value < 1L << bits; ++value) {
      best = std::max(best, chance_of(decoded[entry], value));
    }
    for (long value = 0; value < 1L << bits; ++value) {
      const double chance = chance_of(decoded[entry], value);
      expected.add(element, value, static_cast<long double>(chance),
                   chance * count >= 0.5 || chance == best);
      const long double error =
          static_cast<long double>(value - format.code_offset) * element.scale - element.gradient;
      squares[entry] += static_cast<double>(error * error) * chance;
    }
  }
  // Unlike integers, probabilities of an element sum up to 1 to rounding only.
  const GradientMetrics metrics = gradient_metrics(format, table, decoded);
  test::check_metrics(metrics, expected);
  const std::vector<double> errors = squared_errors(format, table, decoded);
  for (std::size_t i = 0; i < errors.size(); ++i) {
    CHECK(errors[i] == Approx(squares[i]).epsilon(1e-11));
  }
}

TEST_CASE("Certain decisions give the metrics of their integers, written either way") {
  const SyntheticGradient source = gaussian(4, 3000, 0.5);
  const CodeFormat format = make_code_format(4, 8);
  const CodeTable table = reduce_trace(source, format, {.block = 500}).total;
  std::vector<std::int64_t> integers = target_values(format, table.codes);
  for (std::size_t i = 0; i < integers.size(); i += 3) {
    integers[i] = static_cast<std::int64_t>(i * 37 % 256);
  }
  ValueDistributions certain{.digits_per_value = 4, .digits = {}};
  for (const std::int64_t value : integers) {
    for (int i = 0; i < 4; ++i) {
      DigitProbabilities digit{};
      digit[static_cast<std::size_t>(digit_of(value, i))] = 1;
      certain.digits.push_back(digit);
    }
  }
  const GradientMetrics one = gradient_metrics(format, table, integers);
  const GradientMetrics other = gradient_metrics(format, table, certain);
  CHECK(one.element_error_rate == other.element_error_rate);
  CHECK(one.bit_error_rate == other.bit_error_rate);
  CHECK(one.sign_agreement == other.sign_agreement);
  CHECK(one.max_error_lsb == other.max_error_lsb);
  CHECK(one.error_share_pm4 == other.error_share_pm4);
  CHECK(one.error_share_other == other.error_share_other);
  CHECK(one.nmse == Approx(other.nmse).epsilon(1e-12));
  CHECK(one.cosine == Approx(other.cosine).epsilon(1e-12));

  std::vector<std::size_t> places = {5, 0, 5};
  CHECK(std::get<std::vector<std::int64_t>>(select(Decoded(integers), places)) ==
        std::vector<std::int64_t>{integers[5], integers[0], integers[5]});
  const auto chosen = std::get<ValueDistributions>(select(Decoded(certain), places));
  CHECK(chosen.size() == 3);
  CHECK(wrong_probability(chosen[1], integers[0]) == 0);
  CHECK(wrong_probability(chosen[1], integers[0] ^ 1) == 1);
}

TEST_CASE("Mean square error of wrong digits is SER (4^b - 1) / 15, b bits in b / 2 digits") {
  struct Row {
    int bits;
    double break_even;  ///< SER at which it is 1/12 LSB^2
  };
  const auto& row =
      GENERATE(Row{4, 4.9e-3}, Row{6, 3.1e-4}, Row{8, 1.9e-5}, Row{12, 7.5e-8}, Row{16, 2.9e-10});
  const CodeFormat format = make_code_format(2, row.bits);
  const CodeTable table = every_value(format);
  double g2 = 0;
  for (const CodeStatistics& statistics : table.statistics) g2 += statistics.sum_g2;
  const auto values = static_cast<double>(table.codes.size());
  CAPTURE(row.bits);
  for (const double rate : {1e-3, 1e-6, row.break_even}) {
    const double sigma = 0.5 / distance_for(rate);
    const GradientMetrics metrics =
        gradient_metrics(format, table, noisy_values(format, table, sigma));
    CHECK(metrics.symbol_error_rate == Approx(rate).epsilon(1e-9));
    // Gray code: one wrong bit of two per neighbour.
    CHECK(metrics.bit_error_rate == Approx(rate / 2).epsilon(1e-6));
    const double mean_square = metrics.nmse * g2 / values;
    CHECK(mean_square == Approx(rate * (std::pow(4, row.bits) - 1) / 15).epsilon(1e-6));
    if (rate == row.break_even) CHECK(mean_square == Approx(1.0 / 12).epsilon(0.02));
  }
}

TEST_CASE("A sampled element counts with its probability in the interval of the error rate") {
  const SyntheticGradient source = gaussian(2, 4000, 0.5);
  const CodeFormat format = make_code_format(2, 6);
  const CodeTable codes = reduce_trace(source, format, {.block = 1000}).total;
  const TraceStatistics sample =
      sample_trace(source, format, {.block = 1000}, codes, {.elements = 500});
  const ValueDistributions decoded = noisy_values(format, sample.total, 0.25);
  const GradientMetrics metrics = gradient_metrics(format, sample.total, decoded);
  const SamplingIntervals intervals = sampling_intervals(sample, decoded, metrics);
  // Probabilities vary less over the elements than what is drawn with them would.
  std::mt19937_64 random(3);
  std::vector<std::int64_t> drawn;
  for (std::size_t i = 0; i < decoded.size(); ++i) {
    std::int64_t value = 0;
    for (std::size_t k = 3; k-- > 0;) {
      const DigitProbabilities& digit = decoded[i][k];
      value = 4 * value + std::discrete_distribution<int>(digit.begin(), digit.end())(random);
    }
    drawn.push_back(value);
  }
  const SamplingIntervals wider =
      sampling_intervals(sample, drawn, gradient_metrics(format, sample.total, drawn));
  CHECK(intervals.element_error_rate.lo < metrics.element_error_rate);
  CHECK(intervals.element_error_rate.hi > metrics.element_error_rate);
  CHECK(intervals.element_error_rate.hi - intervals.element_error_rate.lo <
        0.5 * (wider.element_error_rate.hi - wider.element_error_rate.lo));
  const GradientMetrics all = gradient_metrics(format, codes, noisy_values(format, codes, 0.25));
  CHECK(all.element_error_rate == Approx(metrics.element_error_rate).epsilon(0.02));
}

TEST_CASE("Signal-to-noise ratios of the quantisers on Gaussian values") {
  // Table of the literature review, in dB; both servers send the same, so that the average is the
  // quantised value. Its column of powers of two is for exponents that let the largest value of a
  // block saturate, where ours never does: the rows in which the two are alike.
  struct Row {
    int bits;
    std::uint64_t block;
    double real_scale;
    double stochastic;
    std::optional<double> power_of_two;
  };
  for (const Row& row :
       {Row{8, 64, 44.5, 41.5, 41.0}, Row{8, 1024, 42.1, 39.1, 40.1}, Row{8, 16384, 40.8, 37.8, {}},
        Row{6, 64, 32.3, 29.3, 28.9}, Row{6, 1024, 29.8, 26.8, {}}, Row{4, 64, 19.4, 16.4, {}},
        Row{4, 1024, 16.9, 13.9, {}}}) {
    const SyntheticGradient source =
        gaussian(2, std::max<std::uint64_t>(32 * row.block, 1U << 17U), 1);
    const CodeFormat format = make_code_format(2, row.bits);
    const auto snr_db = [&](const QuantiserOptions& options) {
      const CodeTable table = reduce_trace(source, format, options).total;
      return gradient_metrics(format, table, target_values(format, table.codes)).snr_db;
    };
    CAPTURE(row.bits, row.block);
    CHECK(snr_db({.block = row.block}) == Approx(row.real_scale).margin(0.3));
    CHECK(stochastic_snr_db(source, format, row.block) == Approx(row.stochastic).margin(0.3));
    const double power_of_two = snr_db({.block = row.block, .power_of_two_scale = true});
    if (row.power_of_two) CHECK(power_of_two == Approx(*row.power_of_two).margin(0.3));
    // Which of two scales a block of 16384 gets is chance, with 4 times the error: 0.8 dB for 32.
    const double margin = row.block > 1024 ? 1.0 : 0.3;
    CHECK(power_of_two == Approx(power_of_two_snr_db(row.bits, row.block)).margin(margin));
  }
}

}  // namespace optinc
