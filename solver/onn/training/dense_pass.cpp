// SPDX-License-Identifier: Apache-2.0
#include "solver/onn/training/dense_pass.hpp"

#include <cmath>
#include <tuple>
#include <utility>

namespace optinc {

namespace {

std::pair<float, float> limits_of(const DenseLayer& layer) {
  const auto [floor, ceiling] =
      activation_limits(layer.activation, static_cast<double>(layer.clip));
  return {static_cast<float>(floor), static_cast<float>(ceiling)};
}

/// Loss of one output and its derivative.
struct LossAt {
  double value;
  float slope;
};

LossAt loss_at(float error, const DigitLoss& loss) {
  const float free = static_cast<float>(loss.free_digits);
  const float size = std::abs(error);
  if (size <= free) return {0, 0};
  const float excess = std::copysign(size - free, error);
  const float square = excess * excess;
  if (loss.exponent == 2) return {static_cast<double>(square) / 2, excess};
  return {static_cast<double>(square) * static_cast<double>(square) / 4, excess * square};
}

void zero(PanelMatrix<float>& matrix) {
  const CodePanels<float> view = matrix.view();
  std::fill_n(view.values, view.panels * view.panel_stride, 0.0F);
}

/// The rows of `matrix` as the weights of neurons that take its columns.
void pack_rows(const PanelMatrix<float>& matrix, PackedLayer<float>& rows) {
  float* to = rows.weight.data();
  for (std::size_t block = 0; block < rows.blocks; ++block) {
    for (std::size_t column = 0; column < matrix.columns(); ++column) {
      const float* from =
          matrix.row(column / matrix.width(), block * neurons_per_block) + column % matrix.width();
      for (std::size_t i = 0; i < neurons_per_block; ++i) *to++ = from[i * matrix.width()];
    }
  }
}

void transpose(const PanelMatrix<float>& matrix, PanelMatrix<float>& transposed) {
  for (std::size_t row = 0; row < matrix.rows(); ++row) {
    const std::size_t to_panel = row / transposed.width();
    const std::size_t to_place = row % transposed.width();
    for (std::size_t panel = 0; panel < matrix.panels(); ++panel) {
      const std::size_t first = panel * matrix.width();
      const std::size_t count = std::min(matrix.width(), matrix.columns() - first);
      const float* from = matrix.row(panel, row);
      float* to = transposed.row(to_panel, first) + to_place;
      for (std::size_t i = 0; i < count; ++i) to[i * transposed.width()] = from[i];
    }
  }
}

/// Sums of the rows.
void add_columns(const PanelMatrix<float>& matrix, std::vector<float>& sums) {
  for (std::size_t row = 0; row < sums.size(); ++row) {
    float sum = 0;
    for (std::size_t panel = 0; panel < matrix.panels(); ++panel) {
      const float* values = matrix.row(panel, row);
      for (std::size_t i = 0; i < matrix.width(); ++i) sum += values[i];
    }
    sums[row] = sum;
  }
}

}  // namespace

PackedChain packed_chain(std::span<const DenseLayer> layers) {
  PackedChain chain;
  for (const DenseLayer& layer : layers) {
    chain.forward.push_back(empty_layer<float>(layer.outputs, layer.inputs));
    std::tie(chain.forward.back().floor, chain.forward.back().ceiling) = limits_of(layer);
    chain.backward.push_back(empty_layer<float>(layer.inputs, layer.outputs));
  }
  return chain;
}

void pack(const DenseLayer& layer, std::span<const float> change, std::size_t index,
          PackedChain& chain) {
  PackedLayer<float>& forward = chain.forward[index];
  PackedLayer<float>& backward = chain.backward[index];
  std::copy(layer.bias.begin(), layer.bias.end(), forward.bias.begin());
  for (std::size_t row = 0; row < layer.outputs; ++row) {
    for (std::size_t column = 0; column < layer.inputs; ++column) {
      const std::size_t at = row * layer.inputs + column;
      const float weight = layer.weight[at] + (change.empty() ? 0.0F : change[at]);
      weight_at(forward, row, column) = weight;
      weight_at(backward, column, row) = weight;
    }
  }
}

DensePass::DensePass(const SimdKernels<float>& kernels, std::span<const DenseLayer> layers,
                     std::size_t codes)
    : kernels_(kernels) {
  values_.emplace_back(kernels, layers.front().inputs, codes);
  for (const DenseLayer& layer : layers) {
    ceilings_.push_back(limits_of(layer).second);
    values_.emplace_back(kernels, layer.outputs, codes);
    deltas_.emplace_back(kernels, layer.outputs, codes);
    transposed_.emplace_back(kernels, codes, layer.inputs);
    delta_rows_.push_back(empty_layer<float>(layer.outputs, codes));
  }
}

std::vector<LayerGradient> DensePass::gradients(const SimdKernels<float>& kernels,
                                                std::span<const DenseLayer> layers) {
  std::vector<LayerGradient> result;
  for (const DenseLayer& layer : layers) {
    result.push_back({.weight = PanelMatrix<float>(kernels, layer.outputs, layer.inputs),
                      .bias = std::vector<float>(layer.outputs)});
  }
  return result;
}

double DensePass::run(const PackedChain& chain, const CodeBatch& batch, std::size_t first,
                      std::size_t count, const DigitLoss& loss,
                      std::vector<LayerGradient>& gradient) {
  forward(chain, batch, first, count);
  const double sum = start_backward(batch, first, count, loss);
  for (std::size_t layer = deltas_.size(); layer-- > 0;) {
    weight_gradient(layer, gradient[layer]);
    if (layer == 0) break;
    kernels_.evaluate_layer(chain.backward[layer], deltas_[layer].view(),
                            deltas_[layer - 1].view());
    mask(layer - 1);
  }
  return sum;
}

void DensePass::forward(const PackedChain& chain, const CodeBatch& batch, std::size_t first,
                        std::size_t count) {
  zero(values_.front());
  for (std::size_t code = 0; code < count; ++code) {
    for (std::size_t input = 0; input < values_.front().rows(); ++input) {
      values_.front().at(input, code) = batch.inputs(eigen_index(input), eigen_index(first + code));
    }
  }
  for (std::size_t layer = 0; layer < deltas_.size(); ++layer) {
    kernels_.evaluate_layer(chain.forward[layer], values_[layer].view(), values_[layer + 1].view());
  }
}

double DensePass::start_backward(const CodeBatch& batch, std::size_t first, std::size_t count,
                                 const DigitLoss& loss) {
  PanelMatrix<float>& deltas = deltas_.back();
  zero(deltas);  // codes that only fill up the panel have no loss
  double sum = 0;
  for (std::size_t code = 0; code < count; ++code) {
    for (std::size_t output = 0; output < deltas.rows(); ++output) {
      const LossAt at = loss_at(values_.back().at(output, code) -
                                    batch.targets(eigen_index(output), eigen_index(first + code)),
                                loss);
      deltas.at(output, code) = at.slope;
      sum += at.value;
    }
  }
  return sum;
}

void DensePass::weight_gradient(std::size_t layer, LayerGradient& gradient) {
  pack_rows(deltas_[layer], delta_rows_[layer]);
  transpose(values_[layer], transposed_[layer]);
  kernels_.evaluate_layer(delta_rows_[layer], transposed_[layer].view(), gradient.weight.view());
  add_columns(deltas_[layer], gradient.bias);
}

void DensePass::mask(std::size_t layer) {
  const float ceiling = ceilings_[layer];
  const CodePanels<float> deltas = deltas_[layer].view();
  const float* values = values_[layer + 1].view().values;
  const std::size_t total = deltas.panels * deltas.panel_stride;
  for (std::size_t i = 0; i < total; ++i) {
    deltas.values[i] = values[i] > 0 && values[i] < ceiling ? deltas.values[i] : 0.0F;
  }
}

}  // namespace optinc
