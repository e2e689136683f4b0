// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include <cmath>
#include <limits>
#include <vector>

#include "solver/optinc/receiver.hpp"

namespace optinc {
namespace {

/// Outputs gain * digit + offset of every value of two digits, plus an error per code.
Eigen::MatrixXd outputs_of(const std::vector<std::int64_t>& targets,
                           const std::vector<OutputCalibration>& response) {
  Eigen::MatrixXd outputs(2, static_cast<Eigen::Index>(targets.size()));
  for (Eigen::Index code = 0; code < outputs.cols(); ++code) {
    for (int row = 0; row < 2; ++row) {
      const OutputCalibration& line = response[static_cast<std::size_t>(row)];
      outputs(row, code) =
          line.gain * digit_of(targets[static_cast<std::size_t>(code)], row) + line.offset;
    }
  }
  return outputs;
}

std::vector<std::int64_t> all_values() {
  std::vector<std::int64_t> values(16);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::int64_t>(i);
  return values;
}

std::int64_t decode_one(double output, OutputCalibration calibration = {}) {
  return decode(Eigen::MatrixXd::Constant(1, 1, output), {calibration}).front();
}

TEST_CASE("slicer thresholds lie at 0.5, 1.5 and 2.5 digits, the upper digit included",
          "[receiver]") {
  for (int digit = 1; digit <= 3; ++digit) {
    const double threshold = digit - 0.5;
    CHECK(decode_one(threshold) == digit);
    CHECK(decode_one(std::nextafter(threshold, -1)) == digit - 1);
    CHECK(decode_one(std::nextafter(threshold, 9)) == digit);
  }
  CHECK(decode_one(-7.2) == 0);
  CHECK(decode_one(250.0) == 3);
  CHECK(decode_one(std::numeric_limits<double>::infinity()) == 3);
  CHECK(decode_one(-std::numeric_limits<double>::infinity()) == 0);
}

TEST_CASE("the calibration is taken out before slicing", "[receiver]") {
  const OutputCalibration calibration{.gain = 2, .offset = -1};
  CHECK(decode_one(-1 + 2 * 1.5, calibration) == 2);
  CHECK(decode_one(-1 + 2 * 1.4999, calibration) == 1);
}

TEST_CASE("values are reassembled least significant digit first", "[receiver]") {
  Eigen::MatrixXd outputs(3, 2);
  outputs << 1, 3, 2, 0, 3, 1;
  const std::vector<OutputCalibration> identity(3);
  CHECK(decode(outputs, identity) == std::vector<std::int64_t>{1 + 4 * 2 + 16 * 3, 3 + 16});
}

TEST_CASE("affine calibration finds the gain and offset of each output", "[receiver]") {
  const std::vector<OutputCalibration> response = {{0.7, 0.4}, {1.9, -2.5}};
  const std::vector<std::int64_t> targets = all_values();
  const Eigen::MatrixXd outputs = outputs_of(targets, response);
  const auto fits = fit_calibration(Calibration::affine, outputs, targets);
  REQUIRE(fits.size() == 2);
  for (std::size_t row = 0; row < 2; ++row) {
    CHECK(fits[row].gain == Approx(response[row].gain).epsilon(1e-13));
    CHECK(fits[row].offset == Approx(response[row].offset).epsilon(1e-12));
  }
  CHECK(decode(outputs, fits) == targets);
  CHECK(decode(outputs, fit_calibration(Calibration::none, outputs, targets)) != targets);
}

TEST_CASE("gain calibration leaves the offset alone", "[receiver]") {
  const std::vector<OutputCalibration> response = {{0.3, 0}, {4, 0}};
  const std::vector<std::int64_t> targets = all_values();
  const Eigen::MatrixXd outputs = outputs_of(targets, response);
  const auto fits = fit_calibration(Calibration::gain, outputs, targets);
  for (std::size_t row = 0; row < 2; ++row) {
    CHECK(fits[row].gain == Approx(response[row].gain).epsilon(1e-13));
    CHECK(fits[row].offset == 0.0);
  }
  CHECK(decode(outputs, fits) == targets);
  // With offset o, least squares through the origin: gain + o sum(d) / sum(d^2) = gain + o 6 / 14.
  const Eigen::MatrixXd shifted = outputs.array() + 0.1;
  CHECK(fit_calibration(Calibration::gain, shifted, targets)[0].gain ==
        Approx(0.3 + 0.1 * 6 / 14).epsilon(1e-13));
}

TEST_CASE("errors that average out at each level do not move the calibration", "[receiver]") {
  std::vector<std::int64_t> targets = all_values();
  const std::vector<OutputCalibration> response = {{0.7, 0.4}, {1.9, -2.5}};
  Eigen::MatrixXd outputs = outputs_of(targets, response);
  const Eigen::MatrixXd both =
      (Eigen::MatrixXd(2, 32) << outputs.array() + 0.2, outputs.array() - 0.2).finished();
  targets.insert(targets.end(), targets.begin(), targets.begin() + 16);
  const auto fits = fit_calibration(Calibration::affine, both, targets);
  CHECK(fits[0].gain == Approx(0.7).epsilon(1e-13));
  CHECK(fits[0].offset == Approx(0.4).epsilon(1e-12));
}

TEST_CASE("a dead or inverted output keeps the identity", "[receiver]") {
  const std::vector<std::int64_t> targets = all_values();
  const Eigen::MatrixXd outputs = outputs_of(targets, {{0, 1.2}, {-1, 3}});
  for (const OutputCalibration& fit : fit_calibration(Calibration::affine, outputs, targets)) {
    CHECK(fit.gain == 1.0);
    CHECK(fit.offset == 0.0);
  }
  // A digit that is the same in all codes cannot fix a gain either.
  const std::vector<std::int64_t> constant(16, 5);
  CHECK(fit_calibration(Calibration::affine, outputs, constant)[0].gain == 1.0);
  CHECK(fit_calibration(Calibration::affine, Eigen::MatrixXd(2, 0), {}).size() == 2);
}

TEST_CASE("margin is half a digit less the largest error", "[receiver]") {
  const std::vector<std::int64_t> targets = all_values();
  Eigen::MatrixXd outputs = outputs_of(targets, {{1, 0}, {1, 0}});
  CHECK(margin_digits(outputs, targets) == 0.5);
  outputs(1, 7) -= 0.125;
  CHECK(margin_digits(outputs, targets) == 0.375);
  outputs(0, 3) += 0.75;
  CHECK(margin_digits(outputs, targets) == -0.25);
}

}  // namespace
}  // namespace optinc
