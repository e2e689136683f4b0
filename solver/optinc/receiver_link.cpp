// SPDX-License-Identifier: Apache-2.0
#include "solver/optinc/receiver_link.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "devices/decibel.hpp"
#include "devices/modulator.hpp"

namespace optinc {

namespace {

constexpr double lowest_digits = -0.5;  // of the converter
constexpr double range_digits = 4;

/// Steps of the converter that give a value below `threshold` digits.
double steps_below(double threshold, int bits) {
  const double steps = std::exp2(bits);
  const double position = (threshold - lowest_digits) * steps / range_digits;
  return std::clamp(std::ceil(position - 0.5), 0.0, steps);
}

/// Lower end of the first step that reaches `threshold`.
double converter_threshold(double threshold, int bits) {
  constexpr double never = std::numeric_limits<double>::infinity();
  const double steps = std::exp2(bits);
  const double below = steps_below(threshold, bits);
  if (below == 0) return -never;
  if (below == steps) return never;
  return lowest_digits + below * range_digits / steps;
}

}  // namespace

bool ReceiverImperfections::act() const { return rlm != 1 || adc_bits != 0 || noisy(); }

ReceiverLink::ReceiverLink(const ReceiverImperfections& imperfections, int copies)
    : imperfections_(imperfections) {
  const double top_w = imperfections.power_w / copies * power_ratio(-imperfections.excess_db);
  const Pam4Levels<double> powers =
      pam4_levels(top_w, imperfections.extinction_ratio, imperfections.rlm);
  std::copy(std::begin(powers.level), std::end(powers.level), std::begin(levels_w_));
}

ReceivedDigit ReceiverLink::receive(double output, double output_sigma) const {
  if (transparent()) return {output, output_sigma};
  const std::size_t gap = output >= 2 ? 2 : output >= 1 ? 1 : 0;
  const double slope_w = levels_w_[gap + 1] - levels_w_[gap];
  const double power_w = levels_w_[gap] + (output - static_cast<double>(gap)) * slope_w;
  const double digits_per_w = 3 / (levels_w_[3] - levels_w_[0]);
  const double detected_w = std::max(power_w, 0.0);
  const CurrentNoise noise =
      photocurrent_noise(imperfections_.diode, detected_w, imperfections_.rin_per_hz);
  const double noise_w = std::sqrt(noise.total()) / imperfections_.diode.responsivity_a_w;
  const double output_noise_w = power_w > 0 ? slope_w * output_sigma : 0;
  return {.mean = (detected_w - levels_w_[0]) * digits_per_w,
          .sigma = std::hypot(noise_w, output_noise_w) * digits_per_w};
}

DecisionThresholds ReceiverLink::thresholds(const OutputCalibration& calibration) const {
  DecisionThresholds thresholds{};
  for (std::size_t i = 0; i < thresholds.size(); ++i) {
    const double digits = static_cast<double>(i) + 0.5;
    thresholds[i] = calibration.offset + calibration.gain * digits;
    if (imperfections_.adc_bits != 0) {
      thresholds[i] = converter_threshold(thresholds[i], imperfections_.adc_bits);
    }
  }
  return thresholds;
}

}  // namespace optinc
