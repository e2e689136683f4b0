// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

#include "devices/host_device.hpp"

namespace optinc {

/// A photodiode with its amplifier.
struct Photodiode {
  double responsivity_a_w{};
  double dark_current_a{};
  double thermal_a_rthz{};  ///< input-referred current noise of the amplifier, A / sqrt(Hz)
  double bandwidth_hz{};    ///< noise bandwidth
};

/// Variances of the current, A^2.
struct CurrentNoise {
  double shot{};
  double dark{};
  double thermal{};
  double intensity{};  ///< relative intensity noise of the source

  OPTINC_HD double total() const { return shot + dark + thermal + intensity; }
};

inline constexpr double elementary_charge_c = 1.602176634e-19;

/// Noise of the photocurrent of one diode: 2 q (R P + I_dark) B + i_thermal^2 B + RIN (R P)^2 B.
/// Args: power_w P; rin_per_hz, relative to the detected power, 1/Hz.
OPTINC_HD inline CurrentNoise photocurrent_noise(const Photodiode& diode, double power_w,
                                                 double rin_per_hz) {
  const double current_a = diode.responsivity_a_w * power_w;
  const double band = diode.bandwidth_hz;
  return {.shot = 2 * elementary_charge_c * current_a * band,
          .dark = 2 * elementary_charge_c * diode.dark_current_a * band,
          .thermal = diode.thermal_a_rthz * diode.thermal_a_rthz * band,
          .intensity = rin_per_hz * current_a * current_a * band};
}

/// Difference current of a balanced pair in phase with its local oscillator: 2 R sqrt(P P_LO).
OPTINC_HD inline double homodyne_current_a(const Photodiode& diode, double signal_power_w,
                                           double local_power_w) {
  return 2 * diode.responsivity_a_w * std::sqrt(signal_power_w * local_power_w);
}

/// Its noise: shot noise of both diodes, one amplifier, and the common source's intensity noise,
/// which scales the difference as it does the powers.
OPTINC_HD inline CurrentNoise homodyne_noise(const Photodiode& diode, double signal_power_w,
                                             double local_power_w, double rin_per_hz) {
  CurrentNoise noise = photocurrent_noise(diode, signal_power_w + local_power_w, 0);
  const double current_a = homodyne_current_a(diode, signal_power_w, local_power_w);
  noise.dark *= 2;
  noise.intensity = rin_per_hz * current_a * current_a * diode.bandwidth_hz;
  return noise;
}

}  // namespace optinc
