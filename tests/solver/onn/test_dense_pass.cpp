// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <random>
#include <vector>

#include <Eigen/Dense>
#include <catch2/catch.hpp>

#include "solver/kernel/simd_kernels.hpp"
#include "solver/onn/training/dense_pass.hpp"

namespace optinc {
namespace {

std::vector<DenseLayer> random_layers(const std::vector<std::size_t>& widths, Activation hidden,
                                      unsigned seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal;
  std::vector<DenseLayer> layers;
  for (std::size_t i = 0; i + 1 < widths.size(); ++i) {
    DenseLayer layer{.outputs = widths[i + 1],
                     .inputs = widths[i],
                     .weight = std::vector<float>(widths[i + 1] * widths[i]),
                     .bias = std::vector<float>(widths[i + 1]),
                     .activation = i + 2 == widths.size() ? Activation::identity : hidden,
                     .clip = 1.5F};
    for (float& weight : layer.weight) weight = 0.5F * normal(engine);
    for (float& bias : layer.bias) bias = 0.3F * normal(engine);
    layers.push_back(layer);
  }
  return layers;
}

CodeBatch random_batch(std::size_t inputs, std::size_t outputs, std::size_t codes, unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<float> uniform(0, 3);
  const auto fill = [&](std::size_t rows) {
    Eigen::MatrixXf matrix(eigen_index(rows), eigen_index(codes));
    for (Eigen::Index i = 0; i < matrix.size(); ++i) matrix(i) = uniform(engine);
    return matrix;
  };
  return {.inputs = fill(inputs), .targets = fill(outputs)};
}

/// The loss by plain loops in double.
double plain_loss(const std::vector<DenseLayer>& layers, const CodeBatch& batch, std::size_t first,
                  std::size_t count, const DigitLoss& loss) {
  double sum = 0;
  for (std::size_t code = first; code < first + count; ++code) {
    std::vector<double> values;
    for (Eigen::Index i = 0; i < batch.inputs.rows(); ++i) {
      values.push_back(static_cast<double>(batch.inputs(i, eigen_index(code))));
    }
    for (const DenseLayer& layer : layers) {
      std::vector<double> next(layer.outputs);
      for (std::size_t row = 0; row < layer.outputs; ++row) {
        next[row] = static_cast<double>(layer.bias[row]);
        for (std::size_t column = 0; column < layer.inputs; ++column) {
          next[row] +=
              static_cast<double>(layer.weight[row * layer.inputs + column]) * values[column];
        }
        if (layer.activation != Activation::identity) next[row] = std::max(next[row], 0.0);
        if (layer.activation == Activation::clipped_relu) {
          next[row] = std::min(next[row], static_cast<double>(layer.clip));
        }
      }
      values = next;
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double error =
          values[i] - static_cast<double>(batch.targets(eigen_index(i), eigen_index(code)));
      const double excess = std::max(std::abs(error) - loss.free_digits, 0.0);
      sum += std::pow(excess, loss.exponent) / loss.exponent;
    }
  }
  return sum;
}

/// Central difference of the loss by one parameter.
double slope_by(float& parameter, const std::vector<DenseLayer>& layers, const CodeBatch& batch,
                std::size_t first, std::size_t count, const DigitLoss& loss) {
  constexpr float step = 1.0F / 1024;
  const float middle = parameter;
  parameter = middle + step;
  const double above = plain_loss(layers, batch, first, count, loss);
  const float highest = parameter;
  parameter = middle - step;
  const double below = plain_loss(layers, batch, first, count, loss);
  const double width = static_cast<double>(highest) - static_cast<double>(parameter);
  parameter = middle;
  return (above - below) / width;
}

void check_gradient(std::vector<DenseLayer> layers, const SimdKernels<float>& kernels,
                    std::size_t codes, std::size_t first, const DigitLoss& loss) {
  const CodeBatch batch =
      random_batch(layers.front().inputs, layers.back().outputs, first + codes, 5);
  DensePass pass(kernels, layers, codes + 7);
  PackedChain chain = packed_chain(layers);
  for (std::size_t i = 0; i < layers.size(); ++i) pack(layers[i], {}, i, chain);
  std::vector<LayerGradient> gradient = DensePass::gradients(kernels, layers);
  // A pass with other codes first: nothing of it may stay.
  pass.run(chain, batch, 0, 1, loss, gradient);
  const double sum = pass.run(chain, batch, first, codes, loss, gradient);
  CHECK(sum == Approx(plain_loss(layers, batch, first, codes, loss)).epsilon(1e-4));
  double squares = 0;
  double difference = 0;
  const auto compare = [&](float& parameter, float found) {
    const double expected = slope_by(parameter, layers, batch, first, codes, loss);
    squares += expected * expected;
    difference += std::pow(static_cast<double>(found) - expected, 2);
  };
  for (std::size_t i = 0; i < layers.size(); ++i) {
    for (std::size_t row = 0; row < layers[i].outputs; ++row) {
      compare(layers[i].bias[row], gradient[i].bias[row]);
      for (std::size_t column = 0; column < layers[i].inputs; ++column) {
        compare(layers[i].weight[row * layers[i].inputs + column],
                gradient[i].weight.at(row, column));
      }
    }
  }
  REQUIRE(squares > 0);
  // Some kinks lie within the step of the difference.
  CHECK(std::sqrt(difference / squares) < 0.02);
}

}  // namespace

TEST_CASE("derivatives are those of finite differences of a plain evaluation", "[training]") {
  for (const InstructionSet& set : cpu_instruction_sets()) {
    INFO(set.name);
    for (const std::vector<std::size_t>& widths :
         {std::vector<std::size_t>{4, 9, 30, 3}, {2, 5}, {3, 25, 2}}) {
      for (const Activation hidden : {Activation::relu, Activation::clipped_relu}) {
        check_gradient(random_layers(widths, hidden, 1), set.f32, 19, 0,
                       {.exponent = 2, .free_digits = 0});
      }
    }
    const std::vector<DenseLayer> layers = random_layers({4, 9, 6, 3}, Activation::relu, 2);
    for (const std::size_t codes : {1U, 23U, 24U, 25U, 70U}) {
      check_gradient(layers, set.f32, codes, 3, {.exponent = 2, .free_digits = 0});
    }
    check_gradient(layers, set.f32, 20, 0, {.exponent = 4, .free_digits = 0});
    check_gradient(layers, set.f32, 20, 0, {.exponent = 2, .free_digits = 0.5});
    check_gradient(layers, set.f32, 20, 0, {.exponent = 4, .free_digits = 0.5});
  }
}

TEST_CASE("changes of weights are added before light passes", "[training]") {
  const SimdKernels<float>& kernels = cpu_instruction_sets().front().f32;
  std::vector<DenseLayer> layers = random_layers({3, 7, 2}, Activation::relu, 3);
  const CodeBatch batch = random_batch(3, 2, 11, 4);
  const DigitLoss loss{.exponent = 2, .free_digits = 0};
  const auto loss_of = [&](const std::vector<float>& change) {
    DensePass pass(kernels, layers, 16);
    PackedChain chain = packed_chain(layers);
    pack(layers[0], change, 0, chain);
    pack(layers[1], {}, 1, chain);
    std::vector<LayerGradient> gradient = DensePass::gradients(kernels, layers);
    return pass.run(chain, batch, 0, 11, loss, gradient);
  };
  std::vector<float> change(21, 0.0F);
  for (std::size_t i = 0; i < change.size(); ++i) change[i] = 0.01F * static_cast<float>(i);
  const double changed = loss_of(change);
  CHECK(changed != loss_of({}));
  for (std::size_t i = 0; i < change.size(); ++i) layers[0].weight[i] += change[i];
  CHECK(changed == loss_of({}));
}

}  // namespace optinc
