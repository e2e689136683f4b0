// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include <catch2/catch.hpp>

#include "solver/optinc/receiver.hpp"

namespace optinc {
namespace {

/// Probability that a unit normal exceeds x, in long double.
template <class Real>
long double q_function(Real x) {
  return std::erfc(static_cast<long double>(x) / std::sqrt(2.0L)) / 2;
}

double dbm_w(double dbm) { return 1e-3 * std::pow(10, dbm / 10); }

double ratio_of(double db) { return std::pow(10, db / 10); }

/// R = 0.8 A/W, 16.9 pA/sqrt(Hz): the receiver of the published sensitivity.
ReceiverImperfections published(double power_dbm, double bandwidth_ghz) {
  ReceiverImperfections receiver;
  receiver.power_w = dbm_w(power_dbm);
  receiver.diode = {.responsivity_a_w = 0.8,
                    .dark_current_a = 0,
                    .thermal_a_rthz = 16.9e-12,
                    .bandwidth_hz = bandwidth_ghz * 1e9};
  return receiver;
}

/// Share of wrong decisions over equally frequent digits.
double symbol_error_rate(const ReceiverLink& link, double output_sigma = 0) {
  double wrong = 0;
  for (int digit = 0; digit < 4; ++digit) {
    const ReceivedDigit received = link.receive(digit, output_sigma);
    const DigitProbabilities probabilities =
        digit_probabilities(link.thresholds({}), received.mean, received.sigma);
    wrong += wrong_probability({&probabilities, 1}, digit) / 4;
  }
  return wrong;
}

std::vector<std::int64_t> digit_values() { return {0, 1, 2, 3}; }

/// Outputs that are exactly their digits.
Eigen::MatrixXd exact_outputs() { return Eigen::RowVector4d(0, 1, 2, 3); }

Receiver receiver_of(const ReceiverImperfections& imperfections, int copies = 1,
                     Calibration calibration = Calibration::none) {
  ReceiverOptions options(calibration);
  options.link = ReceiverLink(imperfections, copies);
  options.noise.seed = 3;
  return {options, exact_outputs(), digit_values()};
}

}  // namespace

TEST_CASE("PAM4 symbol error rates are 3/2 Q(d / sigma), far into the tail", "[receiver]") {
  // Noise of the outputs alone is the same at every level; d is half a digit.
  for (const double distance : {1.0, 2.0, 3.414, 4.835, 6.063, 7.091, 8.0}) {
    const auto expected = static_cast<double>(1.5L * q_function(distance));
    CHECK(symbol_error_rate(ReceiverLink(), 0.5 / distance) == Approx(expected).epsilon(1e-12));
  }
  // The table of the literature: 4.8e-4 is the limit of Ethernet, 1.9e-5 that of 8-bit values.
  struct Row {
    double rate;
    double distance;
  };
  for (const Row& row : {Row{4.8e-4, 3.414}, Row{1.9e-5, 4.212}, Row{1e-6, 4.835}, Row{1e-9, 6.063},
                         Row{1e-12, 7.091}}) {
    CHECK(symbol_error_rate(ReceiverLink(), 0.5 / row.distance) == Approx(row.rate).epsilon(0.01));
  }
}

TEST_CASE("unequal levels: the sum over the gaps", "[receiver]") {
  ReceiverImperfections imperfections;
  imperfections.rlm = 0.9;
  const ReceiverLink link(imperfections, 1);
  const std::array<double, 4> levels = {0, 1.05, 1.95, 3};
  for (std::size_t i = 0; i < levels.size(); ++i) {
    CHECK(link.receive(static_cast<double>(i)).mean == Approx(levels[i]).margin(1e-15));
  }
  for (const double sigma : {0.3, 0.2, 0.15, 0.1, 0.07}) {
    long double expected = 0;
    double rate = 0;
    for (int digit = 0; digit < 4; ++digit) {
      const double level = levels[static_cast<std::size_t>(digit)];
      if (digit > 0) expected += q_function((level - (digit - 0.5)) / sigma) / 4;
      if (digit < 3) expected += q_function((digit + 0.5 - level) / sigma) / 4;
      const DigitProbabilities probabilities =
          digit_probabilities(link.thresholds({}), link.receive(digit).mean, sigma);
      rate += wrong_probability({&probabilities, 1}, digit) / 4;
    }
    CHECK(rate == Approx(static_cast<double>(expected)).epsilon(1e-12));
  }
}

TEST_CASE("every digit's probability keeps its precision", "[receiver]") {
  const DecisionThresholds thresholds = {0.5, 1.5, 2.5};
  for (const double mean : {-4.0, 0.0, 0.49, 1.1, 1.5, 2.0, 3.0, 9.0}) {
    for (const double sigma : {0.05, 0.3, 2.0}) {
      const DigitProbabilities digits = digit_probabilities(thresholds, mean, sigma);
      CHECK(std::accumulate(digits.begin(), digits.end(), 0.0) == Approx(1).epsilon(1e-14));
      for (std::size_t i = 0; i < digits.size(); ++i) {
        const auto digit = static_cast<double>(i);
        const long double above = i == 0 ? 1 : q_function((digit - 0.5 - mean) / sigma);
        const long double beyond = i == 3 ? 0 : q_function((digit + 0.5 - mean) / sigma);
        // Where the tails above cancel, those below do not.
        const long double under = i == 3 ? 1 : q_function((mean - digit - 0.5) / sigma);
        const long double below = i == 0 ? 0 : q_function((mean - digit + 0.5) / sigma);
        const long double expected = above > 0.5L ? under - below : above - beyond;
        CAPTURE(mean, sigma, i);
        CHECK(digits[i] == Approx(static_cast<double>(expected)).epsilon(1e-11));
      }
    }
  }
  const DigitProbabilities certain = digit_probabilities(thresholds, 1.5, 0);
  CHECK(certain == DigitProbabilities{0, 0, 1, 0});
}

TEST_CASE("probabilities of wrong values do not drown in 1", "[receiver]") {
  const DigitProbabilities nearly = {1 - 1e-20, 1e-20, 0, 0};
  const std::vector<DigitProbabilities> digits(4, nearly);
  CHECK(wrong_probability(digits, 0) == Approx(4e-20).epsilon(1e-12));
  CHECK(wrong_probability(digits, 1) == 1);
  const std::vector<DigitProbabilities> coins(2, {0.5, 0.5, 0, 0});
  CHECK(wrong_probability(coins, 5) == Approx(0.75).epsilon(1e-14));
}

TEST_CASE("amplifier noise alone: sensitivity of 16.9 pA/sqrt(Hz) in 26.6 and 53.1 GHz",
          "[receiver]") {
  struct Row {
    double bandwidth_ghz;
    double oma_dbm;
  };
  for (const Row& row : {Row{26.6, -11.5}, Row{53.1, -10.0}}) {
    const ReceiverImperfections imperfections = published(row.oma_dbm, row.bandwidth_ghz);
    // Level 0 is dark: the noise there is the amplifier's.
    const double sigma = ReceiverLink(imperfections, 1).receive(0).sigma;
    const double sigma_a = sigma * 0.8 * imperfections.power_w / 3;
    CHECK(sigma_a == Approx(16.9e-12 * std::sqrt(row.bandwidth_ghz * 1e9)).epsilon(1e-12));
    if (row.bandwidth_ghz < 30) CHECK(sigma_a == Approx(2.76e-6).epsilon(2e-3));
    // 10^4 times noise and power leave nothing of the shot noise. 0.05 dB is 1.2 % of the distance.
    CHECK(0.5 / sigma == Approx(3.414).epsilon(0.012));
    ReceiverImperfections amplified = published(row.oma_dbm + 40, row.bandwidth_ghz);
    amplified.diode.thermal_a_rthz *= 1e4;
    CHECK(symbol_error_rate(ReceiverLink(amplified, 1)) == Approx(4.8e-4).epsilon(0.17));
  }
}

TEST_CASE("intensity noise limits the distance whatever the power", "[receiver]") {
  // RIN is relative to the power of the level: Q = (1 - 1/ER) / (6 sqrt(RIN B)) at the highest.
  // Relative to the outer modulation amplitude it is that of an infinite extinction ratio.
  ReceiverImperfections imperfections = published(60, 26.6);
  imperfections.rin_per_hz = ratio_of(-136);
  struct Row {
    double extinction_db;
    double q;
  };
  for (const Row& row : {Row{3.5, 3.57}, Row{300, 6.45}}) {
    imperfections.extinction_ratio = ratio_of(row.extinction_db);
    const double sigma = ReceiverLink(imperfections, 1).receive(3).sigma;
    CHECK(0.5 / sigma == Approx(row.q).epsilon(3e-3));
  }
}

TEST_CASE("variances of the receiver follow its parameters", "[receiver]") {
  const ReceiverImperfections base = published(-10, 26.6);
  const auto variance = [](const ReceiverImperfections& receiver, double digit, int copies = 1) {
    return std::pow(ReceiverLink(receiver, copies).receive(digit).sigma, 2);
  };
  ReceiverImperfections other = base;
  other.diode.thermal_a_rthz *= 2;
  CHECK(variance(other, 0) == Approx(4 * variance(base, 0)).epsilon(1e-13));
  other = base;
  other.diode.bandwidth_hz *= 2;
  CHECK(variance(other, 1.3) == Approx(2 * variance(base, 1.3)).epsilon(1e-13));
  // By hand, A^2: shot, dark, amplifier, intensity noise at two thirds of the power.
  other = base;
  other.diode.dark_current_a = 1e-5;
  other.rin_per_hz = 1e-14;
  const double current_a = 0.8 * 1e-4 * 2 / 3;
  const double by_hand = (2 * 1.602176634e-19 * (current_a + 1e-5) + 16.9e-12 * 16.9e-12 +
                          1e-14 * current_a * current_a) *
                         26.6e9;
  const double digit_a = 0.8 * 1e-4 / 3;
  CHECK(variance(other, 2) == Approx(by_hand / (digit_a * digit_a)).epsilon(1e-12));
  // Four copies behind 3 dB of excess are 8 times less light; so is a laser 9.03 dB weaker.
  ReceiverImperfections weaker = base;
  weaker.power_w /= 4 * std::pow(10, 0.3);
  other = base;
  other.excess_db = 3;
  CHECK(variance(other, 2, 4) == Approx(variance(weaker, 2)).epsilon(1e-12));
  // The span shrinks with the extinction ratio; levels stay where they are.
  other = base;
  other.extinction_ratio = 2;
  CHECK(variance(other, 3) == Approx(4 * variance(base, 3)).epsilon(1e-12));
  CHECK(ReceiverLink(other, 1).receive(1.25).mean == Approx(1.25).epsilon(1e-14));
  // No light is negative: level 0 is half the power here, three digits above darkness.
  CHECK(ReceiverLink(other, 1).receive(-7).mean == Approx(-3));
  CHECK(ReceiverLink(base, 1).receive(-7).mean == 0);
  CHECK(ReceiverLink(base, 1).receive(4.5).mean == Approx(4.5));
  // Noise of the output adds in quadrature, with the slope of the modulator.
  other = base;
  other.rlm = 0.9;
  CHECK(std::pow(ReceiverLink(other, 1).receive(1.5, 0.2).sigma, 2) ==
        Approx(variance(other, 1.5) + std::pow(0.9 * 0.2, 2)).epsilon(1e-12));
}

TEST_CASE("a converter decides by the middle of its step", "[receiver]") {
  for (const int bits : {1, 2, 3, 5, 8, 16}) {
    ReceiverImperfections imperfections;
    imperfections.adc_bits = bits;
    const ReceiverLink link(imperfections, 1);
    const double step = 4 / std::exp2(bits);
    for (const OutputCalibration& calibration :
         {OutputCalibration{}, OutputCalibration{0.93, 0.11}, OutputCalibration{1.2, -0.37}}) {
      const DecisionThresholds thresholds = link.thresholds(calibration);
      for (int i = -100; i <= 500; ++i) {
        const double current = i / 100.0 + 0.00123;
        const double code = std::clamp(std::floor((current + 0.5) / step), 0.0, 4 / step - 1);
        const double converted = (code + 0.5) * step - 0.5;
        const double digits = (converted - calibration.offset) / calibration.gain;
        const int expected =
            (digits >= 0.5 ? 1 : 0) + (digits >= 1.5 ? 1 : 0) + (digits >= 2.5 ? 1 : 0);
        CAPTURE(bits, current, calibration.gain);
        CHECK(decided_digit(thresholds, current) == expected);
      }
    }
  }
  // Probabilities: those of the steps that decide alike, step by step.
  ReceiverImperfections imperfections;
  imperfections.adc_bits = 4;
  const OutputCalibration calibration{0.9, 0.2};
  const DigitProbabilities digits =
      digit_probabilities(ReceiverLink(imperfections, 1).thresholds(calibration), 1.4, 0.6);
  std::array<long double, 4> expected{};
  for (int code = 0; code < 16; ++code) {
    const double low = code == 0 ? -1e9 : code * 0.25 - 0.5;
    const double high = code == 15 ? 1e9 : code * 0.25 - 0.25;
    const double value = (code * 0.25 - 0.375 - calibration.offset) / calibration.gain;
    const auto digit = static_cast<std::size_t>(std::clamp(std::floor(value + 0.5), 0.0, 3.0));
    expected[digit] += q_function((low - 1.4) / 0.6) - q_function((high - 1.4) / 0.6);
  }
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(digits[i] == Approx(static_cast<double>(expected[i])).epsilon(1e-12));
  }
}

TEST_CASE("a receiver on which nothing acts is the slicer, bit for bit", "[receiver]") {
  Eigen::MatrixXd outputs(2, 40);
  std::vector<std::int64_t> targets(40);
  for (Eigen::Index i = 0; i < outputs.cols(); ++i) {
    targets[static_cast<std::size_t>(i)] = (i * 7) % 16;
    outputs(0, i) = static_cast<double>((i * 7) % 4) + 0.49 * std::sin(static_cast<double>(i));
    outputs(1, i) = 0.8 * digit_of((i * 7) % 16, 1) - 0.5;
  }
  for (const Calibration mode : {Calibration::none, Calibration::gain, Calibration::affine}) {
    const std::vector<std::int64_t> expected =
        decode(outputs, fit_calibration(mode, outputs, targets));
    ReceiverImperfections nothing;
    nothing.power_w = 1e-6;
    nothing.excess_db = 3;
    nothing.extinction_ratio = 2;
    nothing.diode.thermal_a_rthz = 1e-9;  // in no bandwidth
    ReceiverOptions options(mode);
    options.link = ReceiverLink(nothing, 4);
    options.output_sigma_digits = {0, 0};
    const Receiver receiver(options, outputs, targets);
    CHECK_FALSE(receiver.random());
    CHECK(receiver.decode(outputs, 5) == expected);
    CHECK(std::get<std::vector<std::int64_t>>(receiver.decisions(outputs)) == expected);
  }
}

TEST_CASE("calibration moves the thresholds to the response of an output", "[receiver]") {
  ReceiverImperfections imperfections = published(-10, 26.6);
  ReceiverOptions options(Calibration::affine);
  options.link = ReceiverLink(imperfections, 1);
  const Eigen::MatrixXd outputs = 0.7 * exact_outputs().array() + 0.4;
  const Receiver receiver(options, outputs, digit_values());
  const auto decisions = std::get<ValueDistributions>(receiver.decisions(outputs));
  for (std::size_t i = 0; i < 4; ++i) {
    const ReceivedDigit received = options.link.receive(0.7 * static_cast<double>(i) + 0.4);
    const double half = 0.35 / received.sigma;
    const double tails = static_cast<double>(q_function(half));
    CHECK(wrong_probability(decisions[i], static_cast<std::int64_t>(i)) ==
          Approx((i == 0 || i == 3 ? 1 : 2) * tails).epsilon(1e-9));
  }
}

TEST_CASE("drawn decisions have the closed-form probabilities", "[receiver]") {
  // Hoeffding: a share of 400,000 draws is off by more than 0.0063 with odds below 3e-14, for all
  // 40 shares here together below 2e-12.
  constexpr Eigen::Index draws = 400000;
  constexpr double band = 0.0063;
  ReceiverImperfections imperfections = published(-17, 26.6);
  imperfections.extinction_ratio = 3;
  imperfections.rlm = 0.9;
  imperfections.rin_per_hz = 1e-14;
  for (const int bits : {0, 3}) {
    imperfections.adc_bits = bits;
    const Receiver receiver = receiver_of(imperfections, 1, Calibration::affine);
    for (const double output : {-0.3, 0.0, 1.2, 2.4, 3.1}) {
      const Eigen::MatrixXd outputs = Eigen::MatrixXd::Constant(1, draws, output);
      std::array<double, 4> share{};
      for (const std::int64_t digit : receiver.decode(outputs, std::uint64_t{1} << 33U)) {
        share[static_cast<std::size_t>(digit)] += 1.0 / static_cast<double>(draws);
      }
      const auto expected = std::get<ValueDistributions>(receiver.decisions(outputs.leftCols(1)));
      for (std::size_t i = 0; i < 4; ++i) {
        CAPTURE(bits, output, i);
        CHECK(share[i] == Approx(expected[0][0][i]).margin(band));
      }
      CHECK(*std::max_element(share.begin(), share.end()) < 0.999);
    }
  }
}

TEST_CASE("noise belongs to seed, chip, unit, digit and element and to nothing else",
          "[receiver]") {
  const ReceiverImperfections imperfections = published(-18, 26.6);
  ReceiverOptions options;
  options.link = ReceiverLink(imperfections, 1);
  const auto receiver = [&] {
    return Receiver(options, Eigen::MatrixXd(exact_outputs().replicate(2, 1)), {0, 5, 10, 15});
  };
  const Eigen::MatrixXd outputs = Eigen::MatrixXd::Constant(2, 500, 1.4);
  const std::vector<std::int64_t> whole = receiver().decode(outputs, 7);
  // Any cutting gives the same.
  std::vector<std::int64_t> parts = receiver().decode(outputs.leftCols(123), 7);
  append(parts, receiver().decode(outputs.rightCols(377), 130));
  CHECK(parts == whole);
  CHECK(receiver().decode(outputs, 8) != whole);
  CHECK(receiver().decode(outputs, 7 + (std::uint64_t{1} << 32U)) != whole);
  // The two digits of an element have noise of their own.
  CHECK(std::any_of(whole.begin(), whole.end(),
                    [](std::int64_t value) { return digit_of(value, 0) != digit_of(value, 1); }));
  // The documented deviate: the first normal of the element's block.
  const ReceivedDigit received = options.link.receive(1.4);
  for (std::uint32_t i = 0; i < 500; ++i) {
    for (std::uint32_t digit = 0; digit < 2; ++digit) {
      const double normal =
          unit_normals(
              random_words({.draw = DrawId::receiver_noise, .element = digit, .symbol = 7 + i}))
              .value[0];
      CHECK(digit_of(whole[i], static_cast<int>(digit)) ==
            decided_digit({0.5, 1.5, 2.5}, received.mean + received.sigma * normal));
    }
  }
  options.noise.seed = 1;
  CHECK(receiver().decode(outputs, 7) != whole);
  options.noise.seed = 0;
  options.noise.chip = 1;
  CHECK(receiver().decode(outputs, 7) != whole);
  options.noise.chip = 0;
  options.noise.mesh_id = 1;
  CHECK(receiver().decode(outputs, 7) != whole);
}

}  // namespace optinc
