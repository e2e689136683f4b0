// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include <Eigen/Core>

#include "noise/stream.hpp"
#include "solver/optinc/code.hpp"
#include "solver/optinc/decision.hpp"
#include "solver/optinc/receiver_link.hpp"

namespace optinc {

/// What the receiver fits per output on the chip's own codes before slicing.
enum class Calibration { none, gain, affine };

/// Fits output = gain digit + offset by least squares over the codes (gain: offset = 0), so that
/// the mean response to each level lands on its digit. A fit without a usable positive gain gives
/// back the identity: no calibration can repair a dead output.
/// Args: outputs [M, codes]; targets, Q(v) per code.
std::vector<OutputCalibration> fit_calibration(Calibration mode, const Eigen::MatrixXd& outputs,
                                               const std::vector<std::int64_t>& targets);

/// Slices calibrated outputs at 0.5, 1.5, 2.5 digits and reassembles integers, one per code.
std::vector<std::int64_t> decode(const Eigen::MatrixXd& outputs,
                                 const std::vector<OutputCalibration>& calibration);

/// What a receiver is made of.
struct ReceiverOptions {
  /// A receiver on which nothing acts.
  ReceiverOptions(Calibration mode = Calibration::none) : calibration(mode) {}

  Calibration calibration;
  ReceiverLink link;
  /// Standard deviation of Gaussian noise that each output of the last layer has by itself, in
  /// digits; empty: none.
  std::vector<double> output_sigma_digits;
  /// Whose noise is drawn: seed, chip, and as mesh_id the unit of a cascade.
  StreamAddress noise{.draw = DrawId::receiver_noise};
};

/// The receiver of one unit of a chip, from the outputs of its last layer to integers: those that
/// one server decodes. The noise of other servers is independent of it.
class Receiver {
 public:
  /// Calibrates on the mean currents (fit_calibration). Args: outputs [M, codes]; targets, Q(v) per
  /// code.
  Receiver(ReceiverOptions options, const Eigen::MatrixXd& outputs,
           const std::vector<std::int64_t>& targets);

  /// Whether chance has a part in the decisions.
  bool random() const { return random_; }

  /// What is decoded for each column of `outputs`: integers, or where chance decides their
  /// distributions.
  Decoded decisions(const Eigen::MatrixXd& outputs) const;

  /// One realisation of it. Args: first_element, number of the first column in the stream of the
  /// noise: the deviate of an element and digit depends on nothing but their numbers.
  std::vector<std::int64_t> decode(const Eigen::MatrixXd& outputs,
                                   std::uint64_t first_element = 0) const;

 private:
  ReceivedDigit receive(const Eigen::MatrixXd& outputs, Eigen::Index row, Eigen::Index code) const;
  double deviate(Eigen::Index row, std::uint64_t element) const;

  ReceiverOptions options_;
  bool random_;
  std::vector<OutputCalibration> calibration_;
  std::vector<DecisionThresholds> thresholds_;  ///< by output
};

/// 0.5 - largest |output - digit| over the codes, in digits; negative when a symbol is wrong.
double margin_digits(const Eigen::MatrixXd& outputs, const std::vector<std::int64_t>& targets);

}  // namespace optinc
