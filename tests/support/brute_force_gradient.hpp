// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include <catch2/catch.hpp>

#include "noise/stream.hpp"
#include "solver/gradient/metrics.hpp"
#include "solver/gradient/quantiser.hpp"
#include "solver/gradient/source.hpp"

/// Quantiser, average and metrics element by element, written from their definitions.
namespace optinc::test {

/// The whole trace in memory: gradient[server][element] over the concatenation of the tensors.
struct Concatenation {
  std::vector<std::vector<double>> gradient;
  std::vector<std::size_t> tensor_of;
};

inline Concatenation concatenation(const GradientSource& gradients) {
  Concatenation all;
  all.gradient.resize(static_cast<std::size_t>(gradients.servers()));
  for (std::size_t t = 0; t < gradients.tensors().size(); ++t) {
    const std::uint64_t n = gradients.tensors()[t].elements;
    std::vector<float> values(n * all.gradient.size());
    gradients.read(t, 0, n, values.data(), n);
    for (std::size_t s = 0; s < all.gradient.size(); ++s) {
      all.gradient[s].insert(all.gradient[s].end(), &values[s * n], &values[s * n] + n);
    }
    all.tensor_of.insert(all.tensor_of.end(), n, t);
  }
  return all;
}

/// One element sent through quantisers and average, written straight from the system design.
struct Element {
  long double gradient = 0;
  long double scale = 0;
  CodeKey code = 0;
  long average_rounded = 0;           ///< Q(v)
  std::vector<std::uint32_t> values;  ///< u by server
};

/// The documented draw of stochastic rounding for one element of one server.
inline double rounding_deviate(std::uint64_t seed, std::size_t server, std::uint64_t index) {
  const RandomWords words = random_words({.seed = seed,
                                          .chip = 0,
                                          .mesh_id = static_cast<std::uint16_t>(server),
                                          .draw = DrawId::stochastic_rounding,
                                          .element = static_cast<std::uint32_t>(index / 4),
                                          .symbol = static_cast<std::uint32_t>(index / 4 >> 32U)});
  return (words.word[index % 4] + 0.5) / 4294967296.0;
}

inline std::vector<Element> elements_of(const Concatenation& all, const CodeFormat& format,
                                        const QuantiserOptions& options) {
  const std::size_t count = all.tensor_of.size();
  const std::size_t servers = all.gradient.size();
  const long top = (1L << format.bits) - 1;
  const long offset = format.code_offset;
  const auto block = static_cast<std::size_t>(options.block);
  const long base = 1L << (2 * format.digits_per_input);
  std::vector<Element> elements(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t begin = i / block * block;
    double scale = static_cast<double>(elements[begin].scale);
    if (i == begin) {
      double largest = 0;
      for (const auto& row : all.gradient) {
        for (std::size_t j = begin; j < std::min(count, begin + block); ++j) {
          largest = std::max(largest, std::fabs(row[j]));
        }
      }
      scale = largest / static_cast<double>(std::min(offset, top - offset));
      if (options.power_of_two_scale && scale > 0) scale = std::exp2(std::ceil(std::log2(scale)));
    }
    Element& element = elements[i];
    element.scale = static_cast<long double>(scale);
    std::vector<long> inputs(static_cast<std::size_t>(format.inputs()), 0);
    long sum = 0;
    for (std::size_t server = 0; server < servers; ++server) {
      const double value_exact = all.gradient[server][i];
      element.gradient += static_cast<long double>(value_exact);
      long value = offset;
      if (scale > 0 && !options.rounding_seed) value += std::lrint(value_exact / scale);
      if (scale > 0 && options.rounding_seed) {
        const double dither = rounding_deviate(*options.rounding_seed, server, i);
        value += std::lrint(std::ceil(value_exact / scale - dither));
      }
      value = std::min(std::max(value, 0L), top);
      sum += value;
      element.values.push_back(static_cast<std::uint32_t>(value));
      for (long& input : inputs) {
        input += value % base;
        value /= base;
      }
    }
    element.gradient /= static_cast<long double>(servers);
    const double average = static_cast<double>(sum) / static_cast<double>(servers);
    const double rounded = format.rounding == Rounding::half_up     ? std::floor(average + 0.5)
                           : format.rounding == Rounding::half_even ? std::rint(average)
                                                                    : std::floor(average);
    element.average_rounded = static_cast<long>(rounded);
    for (std::size_t k = inputs.size(); k-- > 0;) {
      element.code = element.code * static_cast<CodeKey>((base - 1) * format.servers + 1) +
                     static_cast<CodeKey>(inputs[k]);
    }
  }
  return elements;
}

inline int digits_wrong(long a, long b, int digits) {
  int wrong = 0;
  for (int i = 0; i < digits; ++i, a /= 4, b /= 4) wrong += a % 4 != b % 4 ? 1 : 0;
  return wrong;
}

inline int gray_bits_wrong(long a, long b, int digits) {
  // Distances between the Gray words 00, 01, 11, 10 of two levels.
  constexpr int distance[4][4] = {{0, 1, 2, 1}, {1, 0, 1, 2}, {2, 1, 0, 1}, {1, 2, 1, 0}};
  int wrong = 0;
  for (int i = 0; i < digits; ++i, a /= 4, b /= 4) wrong += distance[a % 4][b % 4];
  return wrong;
}

/// Metrics element by element, from their definitions.
struct Expected {
  explicit Expected(const CodeFormat& code_format) : format(code_format) {}

  /// Args: weight, probability of that integer; likely, whether max_error_lsb looks at it.
  void add(const Element& element, long decoded, long double weight = 1, bool likely = true) {
    const auto steps = static_cast<long double>(decoded - format.code_offset);
    const long double output = steps * element.scale;
    const long error = decoded - element.average_rounded;
    elements += weight;
    wrong_elements += error != 0 ? weight : 0;
    wrong_symbols += weight * digits_wrong(decoded, element.average_rounded, format.digits());
    wrong_bits += weight * gray_bits_wrong(decoded, element.average_rounded, format.digits());
    bool power_of_four = false;
    for (std::size_t i = 0; i < 8; ++i) {
      if (std::labs(error) != std::lround(std::pow(4.0, static_cast<double>(i)))) continue;
      power_of_four = true;
      wrong_by_digit[i] += weight;
    }
    wrong_otherwise += error != 0 && !power_of_four ? weight : 0;
    error2 += weight * (output - element.gradient) * (output - element.gradient);
    output2 += weight * output * output;
    gradient2 += weight * element.gradient * element.gradient;
    product += weight * output * element.gradient;
    if (element.scale > 0) {
      const long double lsb = steps - element.gradient / element.scale;
      scaled += weight;
      lsb_sum += weight * lsb;
      if (likely) lsb_max = std::max(lsb_max, std::fabs(lsb));
    }
    if (element.gradient != 0) {
      with_sign += weight;
      agreeing += output * element.gradient > 0 ? weight : 0;
      zeros += decoded == format.code_offset ? weight : 0;
    }
  }

  CodeFormat format;
  long double elements = 0, wrong_elements = 0, wrong_symbols = 0, wrong_bits = 0;
  long double wrong_by_digit[8] = {};
  long double wrong_otherwise = 0;
  long double error2 = 0, output2 = 0, gradient2 = 0, product = 0;
  long double scaled = 0, lsb_sum = 0, lsb_max = 0;
  long double with_sign = 0, agreeing = 0, zeros = 0;
};

/// A ratio without a denominator is not a number.
inline long double ratio(long double numerator, long double denominator) {
  return denominator == 0 ? std::numeric_limits<long double>::quiet_NaN() : numerator / denominator;
}

/// Equal to 1e-12 of the larger of the value and `scale`; NaN only where NaN is expected.
inline bool close(double value, long double expected, double scale = 0) {
  if (std::isnan(expected)) return std::isnan(value);
  const double reference = std::fabs(static_cast<double>(expected));
  return std::fabs(value - static_cast<double>(expected)) <= 1e-12 * std::max(scale, reference);
}

inline void check_metrics(const GradientMetrics& metrics, const Expected& expected) {
  const long double digits = expected.elements * expected.format.digits();
  // A single deviation g/s - v' is a difference of numbers up to 2^b.
  const double code_rounding = static_cast<double>(1L << expected.format.bits) * 1e-3;
  CHECK(close(metrics.element_error_rate, expected.wrong_elements / expected.elements));
  CHECK(close(metrics.symbol_error_rate, expected.wrong_symbols / digits));
  CHECK(close(metrics.bit_error_rate, expected.wrong_bits / (2 * digits)));
  const long double nmse = ratio(expected.error2, expected.gradient2);
  CAPTURE(metrics.nmse, nmse, metrics.bias_lsb, metrics.max_error_lsb, expected.lsb_max);
  CHECK(close(metrics.nmse, nmse));
  CHECK(close(metrics.snr_db, -10 * std::log10(nmse), 1));
  CHECK(close(metrics.relative_l2, std::sqrt(nmse)));
  CHECK(close(metrics.cosine,
              ratio(expected.product, std::sqrt(expected.output2 * expected.gradient2)), 1));
  CHECK(close(metrics.contraction, ratio(expected.product, expected.gradient2), 1));
  CHECK(close(metrics.bias_lsb, ratio(expected.lsb_sum, expected.scaled), 1));
  CHECK(close(metrics.sign_agreement, ratio(expected.agreeing, expected.with_sign)));
  CHECK(close(metrics.decoded_zero_share, ratio(expected.zeros, expected.with_sign)));
  CHECK(close(metrics.max_error_lsb, ratio(expected.lsb_max * expected.scaled, expected.scaled),
              code_rounding));
  for (std::size_t i = 0; i < 8; ++i) {
    CHECK(close(metrics.error_share_pm4[i], expected.wrong_by_digit[i] / expected.elements));
  }
  CHECK(close(metrics.error_share_other, expected.wrong_otherwise / expected.elements));
}

}  // namespace optinc::test
