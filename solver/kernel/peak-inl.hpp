// SPDX-License-Identifier: Apache-2.0
// Compiled once per instruction set by simd_kernels.cpp, hence no #pragma once.
#if defined(OPTINC_PEAK_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef OPTINC_PEAK_INL
#undef OPTINC_PEAK_INL
#else
#define OPTINC_PEAK_INL
#endif

#include <cstddef>

#include <hwy/highway.h>

#include "solver/kernel/code_layer-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace optinc {
namespace HWY_NAMESPACE {

template <class Real>
HWY_INLINE void multiply_add(const PanelLanes<Real>& factor, const PanelLanes<Real>& addend,
                             PanelLanes<Real>& value) {
  value.a = hn::MulAdd(value.a, factor.a, addend.a);
  value.b = hn::MulAdd(value.b, factor.b, addend.b);
  value.c = hn::MulAdd(value.c, factor.c, addend.c);
}

/// Multiply-adds of one round of multiply_adds.
template <class Real>
std::size_t multiply_adds_per_round() {
  return 12 * hn::Lanes(hn::ScalableTag<Real>());
}

/// See SimdKernels::multiply_adds. Twelve independent chains: more than latency times throughput
/// of any processor known to us, and with factor and addend they fit in 16 registers.
template <class Real>
Real multiply_adds(std::size_t rounds, Real start) {
  const hn::ScalableTag<Real> d;
  const auto factor_lanes = hn::Set(d, Real(0.5));
  const auto addend_lanes = hn::Set(d, start);
  const PanelLanes<Real> factor{factor_lanes, factor_lanes, factor_lanes};
  const PanelLanes<Real> addend{addend_lanes, addend_lanes, addend_lanes};
  PanelLanes<Real> chains0 = broadcast_panel(start);
  PanelLanes<Real> chains1 = broadcast_panel(start + 1);
  PanelLanes<Real> chains2 = broadcast_panel(start + 2);
  PanelLanes<Real> chains3 = broadcast_panel(start + 3);
  for (std::size_t round = 0; round < rounds; ++round) {
    multiply_add(factor, addend, chains0);
    multiply_add(factor, addend, chains1);
    multiply_add(factor, addend, chains2);
    multiply_add(factor, addend, chains3);
  }
  const auto sum =
      hn::Add(hn::Add(hn::Add(chains0.a, chains0.b), hn::Add(chains0.c, chains1.a)),
              hn::Add(hn::Add(hn::Add(chains1.b, chains1.c), hn::Add(chains2.a, chains2.b)),
                      hn::Add(hn::Add(chains2.c, chains3.a), hn::Add(chains3.b, chains3.c))));
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

}  // namespace HWY_NAMESPACE
}  // namespace optinc
HWY_AFTER_NAMESPACE();

#endif
