// SPDX-License-Identifier: Apache-2.0
// Compiled once per instruction set by simd_kernels.cpp, hence no #pragma once.
#if defined(OPTINC_CODE_LAYER_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef OPTINC_CODE_LAYER_INL
#undef OPTINC_CODE_LAYER_INL
#else
#define OPTINC_CODE_LAYER_INL
#endif

#include <cstddef>

#include <hwy/highway.h>

#include "solver/kernel/code_layer.hpp"

HWY_BEFORE_NAMESPACE();
namespace optinc {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// One value per code of a panel. With neurons_per_block of these as sums, the inputs and one
/// weight, the 16 registers of AVX2 are in use.
template <class Real>
struct PanelLanes {
  hn::Vec<hn::ScalableTag<Real>> a;
  hn::Vec<hn::ScalableTag<Real>> b;
  hn::Vec<hn::ScalableTag<Real>> c;
};

template <class Real>
HWY_INLINE std::size_t codes_per_panel() {
  return 3 * hn::Lanes(hn::ScalableTag<Real>());
}

template <class Real>
HWY_INLINE PanelLanes<Real> broadcast_panel(Real value) {
  const auto lanes = hn::Set(hn::ScalableTag<Real>(), value);
  return {lanes, lanes, lanes};
}

template <class Real>
HWY_INLINE PanelLanes<Real> load_panel(const Real* from) {
  const hn::ScalableTag<Real> d;
  return {hn::Load(d, from), hn::Load(d, from + hn::Lanes(d)),
          hn::Load(d, from + 2 * hn::Lanes(d))};
}

template <class Real>
HWY_INLINE void store_panel(const PanelLanes<Real>& panel, Real* to) {
  const hn::ScalableTag<Real> d;
  hn::Store(panel.a, d, to);
  hn::Store(panel.b, d, to + hn::Lanes(d));
  hn::Store(panel.c, d, to + 2 * hn::Lanes(d));
}

template <class Real>
HWY_INLINE void accumulate(Real weight, const PanelLanes<Real>& input, PanelLanes<Real>& sum) {
  const auto factor = hn::Set(hn::ScalableTag<Real>(), weight);
  sum.a = hn::MulAdd(factor, input.a, sum.a);
  sum.b = hn::MulAdd(factor, input.b, sum.b);
  sum.c = hn::MulAdd(factor, input.c, sum.c);
}

/// Comparisons rather than Min and Max, whose treatment of NaN depends on the instruction set:
/// NaN passes.
template <class Real, class Vector>
HWY_INLINE Vector cut_lanes(const PackedLayer<Real>& layer, Vector value) {
  const hn::ScalableTag<Real> d;
  const Vector floor = hn::Set(d, layer.floor);
  const Vector ceiling = hn::Set(d, layer.ceiling);
  value = hn::IfThenElse(hn::Lt(value, floor), floor, value);
  return hn::IfThenElse(hn::Lt(ceiling, value), ceiling, value);
}

template <class Real>
HWY_INLINE PanelLanes<Real> cut(const PackedLayer<Real>& layer, const PanelLanes<Real>& sum) {
  return {cut_lanes(layer, sum.a), cut_lanes(layer, sum.b), cut_lanes(layer, sum.c)};
}

/// One block of neurons for one panel of codes. Sums start at the bias and add inputs in order.
template <class Real>
HWY_INLINE void evaluate_block(const PackedLayer<Real>& layer, std::size_t block,
                               const Real* inputs, Real* outputs) {
  static_assert(neurons_per_block == 4);
  const std::size_t codes = codes_per_panel<Real>();
  const Real* bias = layer.bias.data() + block * neurons_per_block;
  const Real* weight = layer.weight.data() + block * layer.inputs * neurons_per_block;
  PanelLanes<Real> sum0 = broadcast_panel(bias[0]);
  PanelLanes<Real> sum1 = broadcast_panel(bias[1]);
  PanelLanes<Real> sum2 = broadcast_panel(bias[2]);
  PanelLanes<Real> sum3 = broadcast_panel(bias[3]);
  for (std::size_t i = 0; i < layer.inputs; ++i) {
    const PanelLanes<Real> input = load_panel(inputs + i * codes);
    accumulate(weight[0], input, sum0);
    accumulate(weight[1], input, sum1);
    accumulate(weight[2], input, sum2);
    accumulate(weight[3], input, sum3);
    weight += neurons_per_block;
  }
  store_panel(cut(layer, sum0), outputs);
  store_panel(cut(layer, sum1), outputs + codes);
  store_panel(cut(layer, sum2), outputs + 2 * codes);
  store_panel(cut(layer, sum3), outputs + 3 * codes);
}

/// See SimdKernels::evaluate_layer.
template <class Real>
void evaluate_layer(const PackedLayer<Real>& layer, CodePanels<Real> inputs,
                    CodePanels<Real> outputs) {
  const std::size_t block_values = neurons_per_block * codes_per_panel<Real>();
  for (std::size_t block = 0; block < layer.blocks; ++block) {
    for (std::size_t panel = 0; panel < inputs.panels; ++panel) {
      evaluate_block(layer, block, inputs.values + panel * inputs.panel_stride,
                     outputs.values + panel * outputs.panel_stride + block * block_values);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace optinc
HWY_AFTER_NAMESPACE();

#endif
