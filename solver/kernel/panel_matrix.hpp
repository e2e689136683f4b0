// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <limits>
#include <vector>

#include <hwy/aligned_allocator.h>

#include "solver/kernel/code_layer.hpp"
#include "solver/kernel/field_buffer.hpp"
#include "solver/kernel/simd_kernels.hpp"

namespace optinc {

/// A matrix [row, column] in the layout of the layer kernels, its columns filled up to whole panels
/// and its rows to whole blocks with what a kernel leaves there.
template <class Real>
class PanelMatrix {
 public:
  PanelMatrix(const SimdKernels<Real>& kernels, std::size_t rows, std::size_t columns)
      : rows_(rows),
        columns_(columns),
        width_(kernels.codes_per_panel),
        panels_((columns + width_ - 1) / width_),
        panel_stride_((rows + neurons_per_block - 1) / neurons_per_block * neurons_per_block *
                      width_),
        values_(aligned_zeros<Real>(panels_ * panel_stride_)) {}

  std::size_t rows() const { return rows_; }
  std::size_t columns() const { return columns_; }
  std::size_t width() const { return width_; }    ///< columns per panel
  std::size_t panels() const { return panels_; }  ///< the last one may be partly used

  CodePanels<Real> view() const { return {values_.get(), panels_, panel_stride_}; }

  /// Row of a panel, `width()` values.
  Real* row(std::size_t panel, std::size_t row) {
    return values_.get() + panel * panel_stride_ + row * width_;
  }
  const Real* row(std::size_t panel, std::size_t row) const {
    return values_.get() + panel * panel_stride_ + row * width_;
  }

  Real& at(std::size_t row_index, std::size_t column) {
    return row(column / width_, row_index)[column % width_];
  }
  const Real& at(std::size_t row_index, std::size_t column) const {
    return row(column / width_, row_index)[column % width_];
  }

 private:
  std::size_t rows_;
  std::size_t columns_;
  std::size_t width_;
  std::size_t panels_;
  std::size_t panel_stride_;
  hwy::AlignedFreeUniquePtr<Real[]> values_;
};

/// A layer of `neurons` without bias that cuts nothing: evaluating it is a matrix product.
template <class Real>
PackedLayer<Real> empty_layer(std::size_t neurons, std::size_t inputs) {
  constexpr Real infinity = std::numeric_limits<Real>::infinity();
  const std::size_t blocks = (neurons + neurons_per_block - 1) / neurons_per_block;
  return {.inputs = inputs,
          .blocks = blocks,
          .weight = std::vector<Real>(blocks * inputs * neurons_per_block),
          .bias = std::vector<Real>(blocks * neurons_per_block),
          .floor = -infinity,
          .ceiling = infinity};
}

/// The weight of one neuron for one input.
template <class Real>
Real& weight_at(PackedLayer<Real>& layer, std::size_t neuron, std::size_t input) {
  return layer.weight[(neuron / neurons_per_block * layer.inputs + input) * neurons_per_block +
                      neuron % neurons_per_block];
}

}  // namespace optinc
