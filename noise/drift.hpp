// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "noise/stream.hpp"

namespace optinc {

/// Drift of every programmed phase since it was calibrated: an Ornstein-Uhlenbeck process that
/// starts at 0, dx = -x dt / tau + sigma sqrt(2 / tau) dW. Variance sigma^2 (1 - e^{-2 t / tau});
/// long after calibration it is stationary with autocorrelation e^{-|t - t'| / tau}.
struct PhaseDrift {
  double sigma_rad = 0;  ///< standard deviation long after calibration
  double tau_s = 1;      ///< correlation time
  double time_s = 0;     ///< since calibration

  /// True when phases have moved.
  bool on() const { return sigma_rad != 0 && time_s != 0; }
};

/// Unit Ornstein-Uhlenbeck paths that start at 0, read at one time. The value of a path depends on
/// its address and the time alone, and values of one path at several times are those of one
/// process, so that a chip drifts along the same path whatever times a sweep looks at.
///
/// x(t) = e^{-s} W(e^{2 s} - 1), s = t / tau (Doob, Ann. Math. 43, 351, 1942), with W a Brownian
/// motion built from independent increments over octaves of its time and Brownian bridges within an
/// octave (Levy's construction), 2^-16 of an octave fine and linear below: variances are right to
/// 1e-5.
class OrnsteinUhlenbeck {
 public:
  /// Args: time s = t / tau >= 0, finite.
  explicit OrnsteinUhlenbeck(double time);

  /// Four independent paths. `address.symbol` is overwritten: 11 bits octave, 21 bits place in it.
  UnitNormals at(StreamAddress address) const;

 private:
  std::int64_t octave_ = 0;  ///< W is read at (1 + place_) 2^octave_
  double place_ = 0;
  double scale_ = 0;  ///< x / W in units of 2^(octave / 2)
};

}  // namespace optinc
