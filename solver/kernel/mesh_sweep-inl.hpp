// SPDX-License-Identifier: Apache-2.0
// Compiled once per instruction set by simd_kernels.cpp, hence no #pragma once.
#if defined(OPTINC_MESH_SWEEP_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef OPTINC_MESH_SWEEP_INL
#undef OPTINC_MESH_SWEEP_INL
#else
#define OPTINC_MESH_SWEEP_INL
#endif

#include <algorithm>
#include <cstddef>
#include <span>

#include <hwy/highway.h>

#include "devices/complex.hpp"
#include "solver/kernel/mesh_sweep.hpp"

HWY_BEFORE_NAMESPACE();
namespace optinc {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// One complex value per lane.
template <class Real>
struct ComplexLanes {
  hn::Vec<hn::ScalableTag<Real>> re;
  hn::Vec<hn::ScalableTag<Real>> im;
};

template <class Real>
HWY_INLINE ComplexLanes<Real> broadcast(Complex<Real> value) {
  const hn::ScalableTag<Real> d;
  return {hn::Set(d, value.re), hn::Set(d, value.im)};
}

/// The amplitude that arrives at one output: entries of a row of the transfer times both inputs.
template <class Real>
HWY_INLINE ComplexLanes<Real> output(const ComplexLanes<Real>& from_upper,
                                     const ComplexLanes<Real>& upper,
                                     const ComplexLanes<Real>& from_lower,
                                     const ComplexLanes<Real>& lower) {
  auto re = hn::Mul(from_upper.re, upper.re);
  auto im = hn::Mul(from_upper.re, upper.im);
  re = hn::NegMulAdd(from_upper.im, upper.im, re);
  im = hn::MulAdd(from_upper.im, upper.re, im);
  re = hn::MulAdd(from_lower.re, lower.re, re);
  im = hn::MulAdd(from_lower.re, lower.im, im);
  re = hn::NegMulAdd(from_lower.im, lower.im, re);
  im = hn::MulAdd(from_lower.im, lower.re, im);
  return {re, im};
}

/// Applies a transfer in place to `count` samples of two modes; `upper` is the first real part of
/// the upper one.
template <class Real>
HWY_INLINE void apply_lanes(const Transfer2x2<Real>& transfer, Real* upper, std::size_t width,
                            std::size_t count) {
  const hn::ScalableTag<Real> d;
  const ComplexLanes<Real> m11 = broadcast(transfer.m11);
  const ComplexLanes<Real> m12 = broadcast(transfer.m12);
  const ComplexLanes<Real> m21 = broadcast(transfer.m21);
  const ComplexLanes<Real> m22 = broadcast(transfer.m22);
  for (std::size_t sample = 0; sample < count; sample += hn::Lanes(d)) {
    Real* at = upper + sample;
    const ComplexLanes<Real> first{hn::Load(d, at), hn::Load(d, at + width)};
    const ComplexLanes<Real> second{hn::Load(d, at + 2 * width), hn::Load(d, at + 3 * width)};
    const ComplexLanes<Real> new_first = output(m11, first, m12, second);
    const ComplexLanes<Real> new_second = output(m21, first, m22, second);
    hn::Store(new_first.re, d, at);
    hn::Store(new_first.im, d, at + width);
    hn::Store(new_second.re, d, at + 2 * width);
    hn::Store(new_second.im, d, at + 3 * width);
  }
}

/// See SimdKernels::sweep.
template <class Real>
void sweep(std::span<const SweepStep<Real>> steps, FieldTile<Real> tile) {
  const std::size_t tile_end = tile.first_sample + tile.width;
  for (const SweepStep<Real>& step : steps) {
    const std::size_t first = std::max<std::size_t>(step.first_sample, tile.first_sample);
    const std::size_t end = std::min<std::size_t>(step.end_sample, tile_end);
    if (first >= end) continue;
    Real* row = tile.rows + 2 * std::size_t(step.upper_mode) * tile.width;
    apply_lanes(step.transfer, row + (first - tile.first_sample), tile.width, end - first);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace optinc
HWY_AFTER_NAMESPACE();

#endif
