// SPDX-License-Identifier: Apache-2.0
#include "solver/optinc/receiver.hpp"

#include <algorithm>

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
