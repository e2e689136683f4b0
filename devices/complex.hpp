// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "devices/host_device.hpp"

namespace optinc {

/// A complex amplitude usable on host and device; same layout as std::complex<Real>.
template <class Real>
struct Complex {
  Real re{};
  Real im{};
};

template <class Real>
OPTINC_HD constexpr Complex<Real> operator+(Complex<Real> a, Complex<Real> b) {
  return {a.re + b.re, a.im + b.im};
}

template <class Real>
OPTINC_HD constexpr Complex<Real> operator*(Complex<Real> a, Complex<Real> b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

/// Transfer matrix of a two-mode component; entry `mRC` maps input C to output R (1 = upper mode).
template <class Real>
struct Transfer2x2 {
  Complex<Real> m11;
  Complex<Real> m12;
  Complex<Real> m21;
  Complex<Real> m22;
};

/// Matrix product: light passes `first`, then `second`.
template <class Real>
OPTINC_HD constexpr Transfer2x2<Real> operator*(const Transfer2x2<Real>& second,
                                                const Transfer2x2<Real>& first) {
  return {second.m11 * first.m11 + second.m12 * first.m21,
          second.m11 * first.m12 + second.m12 * first.m22,
          second.m21 * first.m11 + second.m22 * first.m21,
          second.m21 * first.m12 + second.m22 * first.m22};
}

}  // namespace optinc
