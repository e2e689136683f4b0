// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include <Eigen/Core>

#include "solver/optinc/code.hpp"

namespace optinc {

/// What the receiver fits per output on the chip's own codes before slicing.
enum class Calibration { none, gain, affine };

/// Scale and offset of one output: calibrated = (output - offset) / gain.
struct OutputCalibration {
  double gain = 1;
  double offset = 0;
};

/// Fits output = gain digit + offset by least squares over the codes (gain: offset = 0), so that
/// the mean response to each level lands on its digit. A fit without a usable positive gain gives
/// back the identity: no calibration can repair a dead output.
/// Args: outputs [M, codes]; targets, Q(v) per code.
std::vector<OutputCalibration> fit_calibration(Calibration mode, const Eigen::MatrixXd& outputs,
                                               const std::vector<std::int64_t>& targets);

/// Slices calibrated outputs at 0.5, 1.5, 2.5 digits and reassembles integers, one per code.
std::vector<std::int64_t> decode(const Eigen::MatrixXd& outputs,
                                 const std::vector<OutputCalibration>& calibration);

/// 0.5 - largest |output - digit| over the codes, in digits; negative when a symbol is wrong.
double margin_digits(const Eigen::MatrixXd& outputs, const std::vector<std::int64_t>& targets);

}  // namespace optinc
