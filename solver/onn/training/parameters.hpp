// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "solver/onn/network.hpp"
#include "solver/onn/training/dense_pass.hpp"

namespace optinc {

/// Shape of a layer that is to be trained.
struct LayerPlan {
  std::size_t outputs{};
  std::size_t inputs{};
  Activation activation{};
  double clip = 1;
  LayerMapping mapping;
  /// Keep every block on Sigma U, U orthogonal; otherwise the weights are free.
  bool on_orthogonal_blocks = false;
};

/// How far Adam goes in one step (Kingma and Ba, arXiv 1412.6980, Algorithm 1, with beta_1 = 0.9,
/// beta_2 = 0.999).
struct AdamStep {
  double learning_rate{};
  std::uint64_t number{};  ///< of the step, from 1
};

/// What training changes: for each block of a layer U and Sigma or free weights, for each layer its
/// biases, with the two moments of Adam. Values lie in flat arrays, so that they can be saved.
class Parameters {
 public:
  /// Random orthogonal blocks or Gaussian weights of variance 2 / inputs, from `seed` with
  /// DrawId::training_start. First-layer units start with their kink inside [0, input_range].
  Parameters(const SimdKernels<float>& kernels, std::span<const LayerPlan> plans,
             double input_range, std::uint64_t seed);

  /// Pieces that can be updated independently, in any order and on any thread.
  std::size_t pieces() const { return pieces_.size(); }

  /// One step of a piece against the sum of `gradients` (by chunk, then layer) times `scale`, then
  /// U back to the orthogonal matrices, and the result into `layers`.
  void update(std::size_t piece, const AdamStep& step,
              std::span<const std::vector<LayerGradient>> gradients, float scale,
              std::vector<DenseLayer>& layers);

  /// The layers as they stand.
  std::vector<DenseLayer> layers() const;

  /// Likewise in double precision, every U made orthogonal to rounding.
  std::vector<NetworkLayer> network_layers() const;
  NetworkLayer network_layer(std::size_t layer) const;

  /// Replaces the free weights of a layer of mapping segmented by the nearest Sigma U of each
  /// block.
  void project(std::size_t layer);

  /// Values, first moments, second moments; each has the length of values.
  std::span<float> values() { return values_; }
  std::span<float> first_moments() { return first_; }
  std::span<float> second_moments() { return second_; }

 private:
  enum class Kind { free, orthogonal, bias };

  /// A part of the parameters.
  struct Piece {
    Kind kind{};
    std::size_t layer{};
    std::size_t first_row{};
    std::size_t first_column{};
    std::size_t rows{};
    std::size_t columns{};
    std::size_t side{};   ///< of U [side, side], followed by Sigma [side]
    std::size_t first{};  ///< in values_
    std::size_t count() const;
  };

  void plan_layer(std::size_t layer);
  void add(Piece piece);
  void start(std::uint64_t seed, double input_range);
  void start_orthogonal(const Piece& piece, std::uint64_t seed, std::uint64_t& draws);
  void start_bias(const Piece& piece, double input_range, std::uint64_t seed, std::uint64_t& draws);
  DenseLayer dense_layer(std::size_t layer) const;
  std::vector<float> gradient_of(const Piece& piece,
                                 std::span<const std::vector<LayerGradient>> gradients,
                                 float scale) const;
  static std::vector<float> summed_weights(std::span<const std::vector<LayerGradient>> gradients,
                                           const Piece& piece, float scale);
  std::vector<float> factor_gradient(const Piece& piece, const std::vector<float>& by_weight) const;
  void write(const Piece& piece, DenseLayer& layer) const;
  void write_exactly(const Piece& piece, NetworkLayer& layer) const;
  void adam(const Piece& piece, const AdamStep& step, std::span<const float> gradient);
  void retract(const Piece& piece);

  const SimdKernels<float>& kernels_;
  std::vector<LayerPlan> plans_;
  std::vector<Piece> pieces_;
  std::vector<float> values_;
  std::vector<float> first_;
  std::vector<float> second_;
};

}  // namespace optinc
