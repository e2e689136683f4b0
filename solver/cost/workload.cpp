// SPDX-License-Identifier: Apache-2.0
#include "solver/cost/workload.hpp"

#include <array>

namespace optinc {

namespace {

/// Sums parameters and multiply-adds of convolutions over a shrinking image.
class ConvolutionCounter {
 public:
  explicit ConvolutionCounter(int pixels) : pixels_(pixels) {}

  void halve() { pixels_ = halved(); }
  std::int64_t pixels() const { return pixels_; }

  /// A convolution whose output has `pixels` a side, followed by a normalisation.
  void convolve(std::int64_t in, std::int64_t out, std::int64_t kernel, std::int64_t pixels) {
    const std::int64_t weights = kernel * kernel * in * out;
    parameters += weights + 2 * out;
    multiply_adds += static_cast<double>(weights) * static_cast<double>(pixels * pixels);
  }

  /// 1x1, 3x3, 1x1 around a shortcut, which is a convolution where the shape changes.
  void bottleneck(std::int64_t in, std::int64_t width, bool shrinks) {
    const std::int64_t out = 4 * width;
    const std::int64_t after = shrinks ? halved() : pixels_;
    convolve(in, width, 1, pixels_);
    convolve(width, width, 3, after);
    convolve(width, out, 1, after);
    if (in != out) convolve(in, out, 1, after);
    pixels_ = after;
  }

  std::int64_t parameters = 0;
  double multiply_adds = 0;

 private:
  std::int64_t halved() const { return (pixels_ + 1) / 2; }

  std::int64_t pixels_;
};

void add_stem(ConvolutionCounter& counter, bool small) {
  if (!small) counter.halve();
  counter.convolve(3, 64, small ? 3 : 7, counter.pixels());
  if (!small) counter.halve();
}

}  // namespace

Workload resnet50(const ResnetShape& shape) {
  constexpr std::array<int, 4> blocks = {3, 4, 6, 3};
  ConvolutionCounter counter(shape.image_pixels);
  add_stem(counter, shape.small_stem);
  std::int64_t channels = 64;
  std::int64_t width = 64;
  for (std::size_t stage = 0; stage < blocks.size(); ++stage) {
    for (int block = 0; block < blocks[stage]; ++block) {
      counter.bottleneck(channels, width, stage > 0 && block == 0);
      channels = 4 * width;
    }
    width *= 2;
  }
  const std::int64_t classifier = channels * shape.classes;
  counter.multiply_adds += static_cast<double>(classifier);
  return {.name = shape.small_stem ? "resnet50_small_stem" : "resnet50",
          .sample = "image",
          .parameters = counter.parameters + classifier + shape.classes,
          .forward_flops = 2 * counter.multiply_adds,
          .published_reduction = 0.25};
}

Workload llama(const LlamaShape& shape) {
  const std::int64_t hidden = shape.hidden;
  const std::int64_t layer_weights = 4 * hidden * hidden + 3 * hidden * shape.feed_forward;
  const std::int64_t output_weights = hidden * shape.vocabulary;
  const std::int64_t embeddings = (shape.tied_embeddings ? 1 : 2) * output_weights;
  const std::int64_t norms = (2 * std::int64_t{shape.layers} + 1) * hidden;
  const auto matrices = static_cast<double>(shape.layers * layer_weights + output_weights);
  const double scores = 2.0 * shape.layers * shape.hidden * shape.context;
  return {.name = "llama",
          .sample = "sequence",
          .parameters = shape.layers * layer_weights + embeddings + norms,
          .forward_flops = 2 * (matrices + scores) * shape.context,
          .published_reduction = 0.17};
}

}  // namespace optinc
