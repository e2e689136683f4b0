// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

#include "devices/complex.hpp"

namespace optinc {

/// Weight of one input of a combiner that adds the fields of a common source: c e^{i psi}.
/// Args: transmission c, amplitude relative to the ideal one; phase_rad psi.
template <class Real>
OPTINC_HD Complex<Real> coherent_weight(Real transmission, Real phase_rad) {
  return {transmission * std::cos(phase_rad), transmission * std::sin(phase_rad)};
}

/// Weight of one input of a combiner that detects and remodulates: c^2.
template <class Real>
OPTINC_HD Complex<Real> incoherent_weight(Real transmission) {
  return {transmission * transmission, Real(0)};
}

}  // namespace optinc
