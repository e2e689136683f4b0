// SPDX-License-Identifier: Apache-2.0
#include "solver/optinc/receiver.hpp"

#include <algorithm>
#include <utility>

#include "noise/symbol_noise.hpp"

namespace optinc {

namespace {

Eigen::RowVectorXd target_digits(const std::vector<std::int64_t>& targets, int index) {
  Eigen::RowVectorXd digits(static_cast<Eigen::Index>(targets.size()));
  for (std::size_t i = 0; i < targets.size(); ++i) {
    digits(static_cast<Eigen::Index>(i)) = digit_of(targets[i], index);
  }
  return digits;
}

OutputCalibration fit_gain(const Eigen::RowVectorXd& output, const Eigen::RowVectorXd& digits) {
  const double power = digits.squaredNorm();
  return {.gain = power > 0 ? output.dot(digits) / power : 0, .offset = 0};
}

OutputCalibration fit_affine(const Eigen::RowVectorXd& output, const Eigen::RowVectorXd& digits) {
  const double mean_digit = digits.mean();
  const double mean_output = output.mean();
  const Eigen::RowVectorXd centred = digits.array() - mean_digit;
  const double power = centred.squaredNorm();
  const double gain = power > 0 ? output.dot(centred) / power : 0;
  return {.gain = gain, .offset = mean_output - gain * mean_digit};
}

int slice(double calibrated_digits) {
  return static_cast<int>(calibrated_digits >= 0.5) + static_cast<int>(calibrated_digits >= 1.5) +
         static_cast<int>(calibrated_digits >= 2.5);
}

}  // namespace

std::vector<OutputCalibration> fit_calibration(Calibration mode, const Eigen::MatrixXd& outputs,
                                               const std::vector<std::int64_t>& targets) {
  constexpr double smallest_gain = 1e-6;
  std::vector<OutputCalibration> fits(static_cast<std::size_t>(outputs.rows()));
  if (mode == Calibration::none || targets.empty()) return fits;
  for (Eigen::Index row = 0; row < outputs.rows(); ++row) {
    const Eigen::RowVectorXd digits = target_digits(targets, static_cast<int>(row));
    const Eigen::RowVectorXd output = outputs.row(row);
    const OutputCalibration fit =
        mode == Calibration::gain ? fit_gain(output, digits) : fit_affine(output, digits);
    if (fit.gain > smallest_gain) fits[static_cast<std::size_t>(row)] = fit;
  }
  return fits;
}

std::vector<std::int64_t> decode(const Eigen::MatrixXd& outputs,
                                 const std::vector<OutputCalibration>& calibration) {
  std::vector<std::int64_t> values(static_cast<std::size_t>(outputs.cols()), 0);
  for (Eigen::Index code = 0; code < outputs.cols(); ++code) {
    std::int64_t value = 0;
    for (Eigen::Index row = outputs.rows() - 1; row >= 0; --row) {
      const OutputCalibration& fit = calibration[static_cast<std::size_t>(row)];
      value = 4 * value + slice((outputs(row, code) - fit.offset) / fit.gain);
    }
    values[static_cast<std::size_t>(code)] = value;
  }
  return values;
}

Receiver::Receiver(ReceiverOptions options, const Eigen::MatrixXd& outputs,
                   const std::vector<std::int64_t>& targets)
    : options_(std::move(options)), random_(options_.link.noisy()) {
  for (const double sigma : options_.output_sigma_digits) random_ = random_ || sigma > 0;
  if (options_.link.transparent()) {
    calibration_ = fit_calibration(options_.calibration, outputs, targets);
  } else {
    const Eigen::MatrixXd currents =
        outputs.unaryExpr([&](double output) { return options_.link.receive(output).mean; });
    calibration_ = fit_calibration(options_.calibration, currents, targets);
  }
  for (const OutputCalibration& fit : calibration_) {
    thresholds_.push_back(options_.link.thresholds(fit));
  }
}

ReceivedDigit Receiver::receive(const Eigen::MatrixXd& outputs, Eigen::Index row,
                                Eigen::Index code) const {
  const std::vector<double>& sigmas = options_.output_sigma_digits;
  return options_.link.receive(outputs(row, code),
                               sigmas.empty() ? 0 : sigmas[static_cast<std::size_t>(row)]);
}

double Receiver::deviate(Eigen::Index row, std::uint64_t element) const {
  StreamAddress address = options_.noise;
  address.element = static_cast<std::uint32_t>(row);
  return symbol_normals(address, element).value[0];
}

Decoded Receiver::decisions(const Eigen::MatrixXd& outputs) const {
  if (!random_) return decode(outputs);
  ValueDistributions result{.digits_per_value = static_cast<std::size_t>(outputs.rows()),
                            .digits = {}};
  result.digits.reserve(static_cast<std::size_t>(outputs.size()));
  for (Eigen::Index code = 0; code < outputs.cols(); ++code) {
    for (Eigen::Index row = 0; row < outputs.rows(); ++row) {
      const ReceivedDigit received = receive(outputs, row, code);
      result.digits.push_back(digit_probabilities(thresholds_[static_cast<std::size_t>(row)],
                                                  received.mean, received.sigma));
    }
  }
  return result;
}

std::vector<std::int64_t> Receiver::decode(const Eigen::MatrixXd& outputs,
                                           std::uint64_t first_element) const {
  if (!random_ && options_.link.transparent()) return optinc::decode(outputs, calibration_);
  std::vector<std::int64_t> values(static_cast<std::size_t>(outputs.cols()), 0);
  for (Eigen::Index code = 0; code < outputs.cols(); ++code) {
    const auto place = static_cast<std::size_t>(code);
    for (Eigen::Index row = outputs.rows() - 1; row >= 0; --row) {
      ReceivedDigit received = receive(outputs, row, code);
      if (received.sigma > 0) received.mean += received.sigma * deviate(row, first_element + place);
      values[place] = 4 * values[place] +
                      decided_digit(thresholds_[static_cast<std::size_t>(row)], received.mean);
    }
  }
  return values;
}

double margin_digits(const Eigen::MatrixXd& outputs, const std::vector<std::int64_t>& targets) {
  double largest_error = 0;
  for (Eigen::Index row = 0; row < outputs.rows(); ++row) {
    const Eigen::RowVectorXd digits = target_digits(targets, static_cast<int>(row));
    if (digits.size() == 0) continue;
    largest_error = std::max(largest_error, (outputs.row(row) - digits).cwiseAbs().maxCoeff());
  }
  return 0.5 - largest_error;
}

}  // namespace optinc
