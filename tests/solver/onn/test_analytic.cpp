// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "solver/error.hpp"
#include "solver/onn/accuracy.hpp"
#include "solver/onn/analytic.hpp"
#include "solver/onn/mapping.hpp"

namespace optinc {
namespace {

constexpr double exhaustive_limit = 5e6;
/// Outputs of an exact network differ from digits by rounding of doubles only. Ramps amplify it
/// by up to 2^16 * 2 N; the slicer would forgive 0.5.
constexpr double largest_output_error_digits = 1e-6;

const std::vector<Rounding> all_roundings = {Rounding::half_up, Rounding::half_even,
                                             Rounding::floor};
const std::vector<Activation> all_steps = {Activation::clipped_relu, Activation::relu};

CodeFormat format_of(int servers, int bits, Rounding rounding, int digits_per_input) {
  CodeFormat format = make_code_format(servers, bits);
  format.rounding = rounding;
  format.digits_per_input = digits_per_input;
  validate(format);
  return format;
}

/// Q of N v by its definition, in integers.
std::int64_t defined_rounding(Rounding rounding, std::int64_t scaled, std::int64_t servers) {
  if (rounding == Rounding::floor) return scaled / servers;
  const std::int64_t half_up = (2 * scaled + servers) / (2 * servers);
  const bool tie = (2 * scaled + servers) % (2 * servers) == 0;
  return rounding == Rounding::half_even && tie && half_up % 2 != 0 ? half_up - 1 : half_up;
}

/// The network in plain double loops.
std::vector<double> propagate(const Network& network, std::vector<double> values) {
  for (const NetworkLayer& layer : network.layers) {
    std::vector<double> next(static_cast<std::size_t>(layer.weight.rows()));
    for (Eigen::Index row = 0; row < layer.weight.rows(); ++row) {
      double sum = layer.bias(row);
      for (Eigen::Index column = 0; column < layer.weight.cols(); ++column) {
        sum += layer.weight(row, column) * values[static_cast<std::size_t>(column)];
      }
      if (layer.activation != Activation::identity) sum = std::max(sum, 0.0);
      if (layer.activation == Activation::clipped_relu) sum = std::min(sum, layer.clip);
      next[static_cast<std::size_t>(row)] = sum;
    }
    values = std::move(next);
  }
  return values;
}

/// Largest |output - digit of Q(v)| where the inputs are levels[k] / N.
double output_error(const Network& network, const std::vector<std::int64_t>& levels) {
  const CodeFormat& format = network.format;
  std::vector<double> inputs;
  std::int64_t scaled = 0;
  for (std::size_t k = 0; k < levels.size(); ++k) {
    inputs.push_back(static_cast<double>(levels[k]) / format.servers);
    scaled += levels[k] << (2 * format.digits_per_input * static_cast<int>(k));
  }
  const std::vector<double> outputs = propagate(network, inputs);
  if (outputs.size() != static_cast<std::size_t>(format.digits())) FAIL("number of outputs");
  std::int64_t value = defined_rounding(format.rounding, scaled, format.servers);
  double error = 0;
  for (const double output : outputs) {
    error = std::max(error, std::abs(output - static_cast<double>(value % 4)));
    value /= 4;
  }
  return error;
}

bool next_levels(const CodeFormat& format, std::vector<std::int64_t>& levels) {
  for (std::int64_t& level : levels) {
    if (++level < format.levels()) return true;
    level = 0;
  }
  return false;
}

double exhaustive_error(const Network& network) {
  std::vector<std::int64_t> levels(static_cast<std::size_t>(network.format.inputs()), 0);
  double error = 0;
  do {
    error = std::max(error, output_error(network, levels));
  } while (next_levels(network.format, levels));
  return error;
}

/// Levels with sum_k 4^{m k} level_k = scaled, chosen at random among those that reach it.
std::vector<std::int64_t> levels_with_sum(const CodeFormat& format, std::int64_t scaled,
                                          std::mt19937_64& random) {
  const std::int64_t top = format.levels() - 1;
  std::vector<std::int64_t> levels(static_cast<std::size_t>(format.inputs()));
  for (int k = format.inputs() - 1; k >= 0; --k) {
    const std::int64_t weight = std::int64_t{1} << (2 * format.digits_per_input * k);
    const std::int64_t rest = top * (weight - 1) / ((1 << (2 * format.digits_per_input)) - 1);
    const std::int64_t lowest = std::max<std::int64_t>(0, (scaled - rest + weight - 1) / weight);
    const std::int64_t highest = std::min(top, scaled / weight);
    const std::int64_t level =
        lowest +
        static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(highest - lowest + 1));
    levels[static_cast<std::size_t>(k)] = level;
    scaled -= level * weight;
  }
  if (scaled != 0) FAIL("no levels with this sum");
  return levels;
}

/// Sums N v around a threshold of Q: the integer itself and the half below it, two steps each way.
std::vector<std::int64_t> sums_around(const CodeFormat& format, std::int64_t integer) {
  const std::int64_t servers = format.servers;
  std::vector<std::int64_t> sums;
  for (std::int64_t offset = -2; offset <= 2; ++offset) {
    sums.push_back(servers * integer + offset);
    sums.push_back(servers * integer - servers / 2 + offset);
  }
  return sums;
}

/// Largest error over codes at every digit threshold t 4^i, at random integers, at both ends, and
/// at random levels.
double adversarial_error(const Network& network, int random_codes, std::uint64_t seed) {
  const CodeFormat& format = network.format;
  std::mt19937_64 random(seed);
  const auto largest = static_cast<std::uint64_t>(format.max_value());
  std::vector<std::int64_t> integers = {0, format.max_value()};
  for (int digit = 0; digit < format.digits(); ++digit) {
    for (std::int64_t t = 1; t <= 3; ++t) integers.push_back(t << (2 * digit));
  }
  for (int i = 0; i < random_codes / 20; ++i) {
    integers.push_back(static_cast<std::int64_t>(random() % (largest + 1)));
  }
  double error = 0;
  for (const std::int64_t integer : integers) {
    for (const std::int64_t sum : sums_around(format, integer)) {
      if (sum < 0 || sum > format.max_value() * format.servers) continue;
      error = std::max(error, output_error(network, levels_with_sum(format, sum, random)));
    }
  }
  std::vector<std::int64_t> levels(static_cast<std::size_t>(format.inputs()));
  for (int i = 0; i < random_codes / 2; ++i) {
    for (std::int64_t& level : levels) {
      level = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(format.levels()));
    }
    error = std::max(error, output_error(network, levels));
  }
  return error;
}

void check_exact(const CodeFormat& format, AnalyticForm form, int random_codes) {
  for (const Activation step : all_steps) {
    const Network network = build_analytic_network(format, {form, step});
    validate(network);
    const bool exhaustive = format.alphabet_size() <= exhaustive_limit && random_codes == 0;
    const double error =
        exhaustive ? exhaustive_error(network)
                   : adversarial_error(network, random_codes > 0 ? random_codes : 4000, 1);
    INFO("N " << format.servers << ", b " << format.bits << ", m " << format.digits_per_input
              << ", rounding " << static_cast<int>(format.rounding) << ", " << network.kind
              << ", step " << static_cast<int>(step));
    CHECK(error <= largest_output_error_digits);
  }
}

std::vector<Eigen::Index> widths_of(const Network& network) {
  std::vector<Eigen::Index> widths = {network.layers.front().weight.cols()};
  for (const NetworkLayer& layer : network.layers) widths.push_back(layer.weight.rows());
  return widths;
}

void check_networks(const std::vector<int>& servers, const std::vector<int>& bits) {
  for (const int n : servers) {
    for (const int b : bits) {
      for (const Rounding rounding : all_roundings) {
        const CodeFormat format = format_of(n, b, rounding, 1);
        check_exact(format, AnalyticForm::pipeline, 0);
        if (n == 2 || n == 4) check_exact(format, AnalyticForm::ripple, 0);
      }
    }
  }
}

TEST_CASE("analytic networks give the digits of Q(v) on every code", "[analytic]") {
  check_networks({2, 3, 4, 5, 7, 8, 16, 64}, {4, 6});
  check_networks({2, 3, 4}, {8});
}

TEST_CASE("analytic networks of 8 bits give the digits of Q(v) for more servers",
          "[analytic][slow]") {
  check_networks({5, 7, 8, 16, 64}, {8});
}

TEST_CASE("analytic networks stay exact at ties and thresholds for every N and long codes",
          "[analytic]") {
  for (int n = 2; n <= 64; ++n) {
    for (const int b : {10, 12, 16}) {
      for (const Rounding rounding : all_roundings) {
        check_exact(format_of(n, b, rounding, default_digits_per_input(b)), AnalyticForm::pipeline,
                    200);
      }
    }
  }
}

TEST_CASE("analytic networks are exact for every grouping of digits", "[analytic]") {
  for (const Rounding rounding : all_roundings) {
    for (const int m : {1, 2, 3, 6}) {
      check_exact(format_of(4, 12, rounding, m), AnalyticForm::pipeline, 1000);
      check_exact(format_of(5, 12, rounding, m), AnalyticForm::pipeline, 1000);
    }
    for (const int n : {2, 4}) {
      for (const int b : {10, 12, 14, 16}) {
        check_exact(format_of(n, b, rounding, 1), AnalyticForm::ripple, 1000);
      }
    }
  }
}

TEST_CASE("a wrong rounding rule is noticed", "[analytic]") {
  // Guards the tests above: the codes that tell the rules apart are among those they look at.
  for (const int n : {4, 6, 64}) {
    const CodeFormat format = format_of(n, 12, Rounding::half_up, 2);
    Network network = build_analytic_network(format, {AnalyticForm::pipeline});
    network.format.rounding = Rounding::half_even;
    CHECK(adversarial_error(network, 200, 1) >= 1.0 - largest_output_error_digits);
  }
}

TEST_CASE("the ripple network of 8 bits and 4 servers has 906 MZIs", "[analytic]") {
  const CodeFormat format = make_code_format(4, 8);
  const Network network = build_analytic_network(format, {AnalyticForm::ripple});
  CHECK(widths_of(network) == std::vector<Eigen::Index>{4, 6, 17, 17, 17, 4});
  const MappedNetwork mapped = map_network(network, {});
  CHECK(mapped.mzi_count() == 906);
  // A staircase layer repeats the row (12 on the carried input, 1 on each of three carry steps)
  // 15 times with slope 1 / width = 2; its other rows add next to nothing.
  CHECK(mapped.layers[1].gain == Approx(2 * std::sqrt(15.0 * (12 * 12 + 3))).epsilon(1e-3));
}

TEST_CASE("sizes at the edges of the range", "[analytic]") {
  const CodeFormat four_bits = make_code_format(2, 4);
  CHECK(widths_of(build_analytic_network(four_bits, {AnalyticForm::ripple})) ==
        std::vector<Eigen::Index>{2, 4, 15, 2});
  CHECK(widths_of(build_analytic_network(four_bits, {AnalyticForm::pipeline})) ==
        std::vector<Eigen::Index>{2, 4, 4, 2});
  CodeFormat half_even = four_bits;
  half_even.rounding = Rounding::half_even;
  CHECK(widths_of(build_analytic_network(half_even, {AnalyticForm::ripple})) ==
        std::vector<Eigen::Index>{2, 15, 2});
  CHECK(widths_of(build_analytic_network(half_even, {AnalyticForm::ripple, Activation::relu})) ==
        std::vector<Eigen::Index>{2, 30, 2});
  CHECK(widths_of(build_analytic_network(make_code_format(64, 16), {AnalyticForm::pipeline})) ==
        std::vector<Eigen::Index>{4, 4, 5, 6, 7, 8, 9, 10, 10, 8});
}

TEST_CASE("forms that do not exist are refused", "[analytic]") {
  CHECK_THROWS_AS(build_analytic_network(make_code_format(3, 8), {AnalyticForm::ripple}),
                  ConfigError);
  CHECK_THROWS_AS(build_analytic_network(make_code_format(4, 16), {AnalyticForm::ripple}),
                  ConfigError);
  CHECK_THROWS_AS(
      build_analytic_network(make_code_format(4, 8), {AnalyticForm::ripple, Activation::identity}),
      ConfigError);
  CodeFormat bad = make_code_format(4, 8);
  bad.servers = 65;
  CHECK_THROWS_AS(build_analytic_network(bad, {AnalyticForm::pipeline}), ConfigError);
}

}  // namespace
}  // namespace optinc
