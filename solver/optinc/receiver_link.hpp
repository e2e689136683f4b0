// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>

#include "devices/photodiode.hpp"
#include "solver/optinc/decision.hpp"

namespace optinc {

/// Scale and offset of one output: calibrated = (output - offset) / gain.
struct OutputCalibration {
  double gain = 1;
  double offset = 0;
};

/// What lies between the outputs of the last layer and the slicer of one server. By default
/// nothing acts.
struct ReceiverImperfections {
  double power_w = 1;    ///< of the highest level, at the modulator
  double excess_db = 0;  ///< of the splitter, beside the division by the number of copies
  double extinction_ratio = std::numeric_limits<double>::infinity();  ///< power ratio, above 1
  double rlm = 1;                                                     ///< (0, 1]
  Photodiode diode{.responsivity_a_w = 1,
                   .dark_current_a = 0,
                   .thermal_a_rthz = 0,
                   .bandwidth_hz = 0};  ///< without bandwidth there is no noise
  double rin_per_hz = 0;                ///< relative to the power of the level, 1/Hz
  int adc_bits = 0;                     ///< 0: exact

  /// Whether the photocurrent has noise.
  bool noisy() const { return diode.bandwidth_hz > 0; }

  /// Whether any of it can change what is decoded.
  bool act() const;
};

/// A current in digits: 0 and 3 are the currents of the outer levels.
struct ReceivedDigit {
  double mean{};
  double sigma{};
};

/// Modulator, splitter, photodiode and converter of one output, in digits of current.
///
/// The modulator's power is linear in the output between the four levels (pam4_levels), and beyond
/// them with the slope of the outer gap, but never negative. The splitter divides it among the
/// copies. Noise of the photocurrent is that of photocurrent_noise at the mean power. The
/// converter has 2^bits steps over -1/2 .. 3 1/2 digits (a sixth of the span of the levels beyond
/// either end) and gives the middle of a step; values beyond saturate.
class ReceiverLink {
 public:
  /// Nothing acts: the current is the output, exactly.
  ReceiverLink() = default;

  /// Args: copies, receivers among which the splitter divides each output.
  ReceiverLink(const ReceiverImperfections& imperfections, int copies);

  /// Whether the current is the output, exactly.
  bool transparent() const { return !imperfections_.act(); }

  /// Whether the photocurrent has noise.
  bool noisy() const { return imperfections_.noisy(); }

  /// Current for an output of the last layer in digits. Args: output_sigma, standard deviation of
  /// noise that the output itself has, in digits.
  ReceivedDigit receive(double output, double output_sigma = 0) const;

  /// Where the current, ahead of the converter, passes from digit to digit when the slicer behind
  /// it decides at 1/2, 3/2 and 5/2 calibrated digits.
  DecisionThresholds thresholds(const OutputCalibration& calibration) const;

 private:
  ReceiverImperfections imperfections_;
  double levels_w_[4] = {0, 1, 2, 3};  ///< at the photodiode
};

}  // namespace optinc
