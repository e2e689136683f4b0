// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace optinc {

/// What a training step costs, from the shapes of a model's layers.
struct Workload {
  std::string name;
  std::string sample;            ///< what the batch counts
  std::int64_t parameters{};     ///< elements of the gradient
  double forward_flops{};        ///< per sample; 2 per multiply-add of matrices and convolutions
  double published_reduction{};  ///< of the step time against ring all-reduce, by the paper

  /// A backward pass costs two forward passes.
  double step_flops() const { return 3 * forward_flops; }
};

struct ResnetShape {
  int image_pixels = 32;  ///< side of the square input
  int classes = 100;
  bool small_stem = false;  ///< 3x3 convolution of stride 1 instead of 7x7 of stride 2 and pooling
};

/// ResNet-50 (He et al., arXiv 1512.03385; stride in the 3x3 convolution). Biases only in the
/// classifier, two parameters per normalised channel.
Workload resnet50(const ResnetShape& shape);

struct LlamaShape {
  int layers = 8;
  int hidden = 384;
  int feed_forward = 1024;
  int vocabulary = 32000;
  int context = 256;  ///< tokens of a sequence
  bool tied_embeddings = false;
};

/// A decoder as LLaMA's (arXiv 2302.13971): attention of four hidden x hidden matrices, a gated
/// feed-forward of three matrices, two norms per layer and one at the end, embedding and output
/// matrix. Attention scores are counted over the whole context.
Workload llama(const LlamaShape& shape);

}  // namespace optinc
