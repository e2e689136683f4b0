// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "solver/backend/backend.hpp"
#include "solver/kernel/panel_matrix.hpp"

namespace optinc {

/// A layer that is being trained: y = f(weight x + bias), in single precision.
struct DenseLayer {
  std::size_t outputs{};
  std::size_t inputs{};
  std::vector<float> weight;  ///< [out][in]
  std::vector<float> bias;    ///< [out]
  Activation activation{};
  float clip = 1;  ///< used by clipped_relu
};

/// Layers as the kernels read them, for light and for derivatives.
struct PackedChain {
  std::vector<PackedLayer<float>> forward;
  std::vector<PackedLayer<float>> backward;  ///< weights transposed, nothing cut
};

/// Memory for `layers`; weights zero.
PackedChain packed_chain(std::span<const DenseLayer> layers);

/// Copies the weights and biases of one layer. Args: change, added to the weights [out][in], or
/// empty.
void pack(const DenseLayer& layer, std::span<const float> change, std::size_t index,
          PackedChain& chain);

/// Derivatives of a loss by the weights and biases of one layer.
struct LayerGradient {
  PanelMatrix<float> weight;  ///< [out, in]
  std::vector<float> bias;    ///< [out]
};

/// What an output's distance from its digit costs: |e|^exponent / exponent with exponent 2 or 4.
/// Errors up to `free_digits` cost nothing.
struct DigitLoss {
  int exponent = 2;
  double free_digits = 0;
};

/// Codes and the digits they are to give.
struct CodeBatch {
  Eigen::MatrixXf inputs;   ///< [input, code]
  Eigen::MatrixXf targets;  ///< [output, code]
};

/// Takes up to a fixed number of codes forward and back through all layers. Not for several threads
/// at once. A result depends on the codes, their order and the instruction set alone.
class DensePass {
 public:
  DensePass(const SimdKernels<float>& kernels, std::span<const DenseLayer> layers,
            std::size_t codes);

  /// Memory for the derivatives of `layers`.
  static std::vector<LayerGradient> gradients(const SimdKernels<float>& kernels,
                                              std::span<const DenseLayer> layers);

  /// Derivatives of the sum of losses over the codes [first, first + count) of `batch` and over
  /// outputs, into `gradient`. Returns that sum. NaN where outputs overflow.
  double run(const PackedChain& chain, const CodeBatch& batch, std::size_t first, std::size_t count,
             const DigitLoss& loss, std::vector<LayerGradient>& gradient);

 private:
  void forward(const PackedChain& chain, const CodeBatch& batch, std::size_t first,
               std::size_t count);
  double start_backward(const CodeBatch& batch, std::size_t first, std::size_t count,
                        const DigitLoss& loss);
  void weight_gradient(std::size_t layer, LayerGradient& gradient);
  void mask(std::size_t layer);

  const SimdKernels<float>& kernels_;
  std::vector<float> ceilings_;                 ///< of the outputs of each layer
  std::vector<PanelMatrix<float>> values_;      ///< inputs, then outputs of each layer
  std::vector<PanelMatrix<float>> deltas_;      ///< derivative by what is activated, per layer
  std::vector<PanelMatrix<float>> transposed_;  ///< inputs of each layer, [code, input]
  std::vector<PackedLayer<float>> delta_rows_;  ///< deltas as weights
};

}  // namespace optinc
