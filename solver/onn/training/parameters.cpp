// SPDX-License-Identifier: Apache-2.0
#include "solver/onn/training/parameters.hpp"

#include <algorithm>
#include <cmath>

#include "noise/stream.hpp"
#include "solver/onn/mapping.hpp"
#include "solver/onn/structure.hpp"

namespace optinc {

namespace {

using RowMajorFloat = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using SquareMap = Eigen::Map<RowMajorFloat>;
using ConstSquareMap = Eigen::Map<const RowMajorFloat>;
using ArrayMap = Eigen::Map<Eigen::ArrayXf>;
using ConstArrayMap = Eigen::Map<const Eigen::ArrayXf>;

/// Rows of free weights in one piece.
constexpr std::size_t free_rows = 32;

/// Alternations in a projection: the next one goes on where it ends.
constexpr int projection_rounds = 10;

/// Smallest matrices for which the layer kernels pay.
constexpr std::size_t kernel_side = 24;

std::vector<double> normals(std::uint64_t seed, std::uint64_t& draws, std::size_t count) {
  std::vector<double> values(count);
  normal_sequence({.seed = seed, .draw = DrawId::training_start}, draws, values);
  draws += count;
  return values;
}

/// Adds the part of a row that starts at `first` to `sum`.
void add_run(const PanelMatrix<float>& from, std::size_t row, std::size_t first,
             std::span<float> sum) {
  std::size_t done = 0;
  while (done < sum.size()) {
    const std::size_t panel = (first + done) / from.width();
    const std::size_t place = (first + done) % from.width();
    const std::size_t run = std::min(from.width() - place, sum.size() - done);
    const float* values = from.row(panel, row) + place;
    for (std::size_t i = 0; i < run; ++i) sum[done + i] += values[i];
    done += run;
  }
}

/// Gradient of the biases of a layer: the sum over chunks.
std::vector<float> summed_bias(std::span<const std::vector<LayerGradient>> gradients,
                               std::size_t layer, float scale) {
  std::vector<float> sum(gradients.front()[layer].bias.size(), 0.0F);
  for (const std::vector<LayerGradient>& chunk : gradients) {
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += scale * chunk[layer].bias[i];
  }
  return sum;
}

/// C = A B for row-major squares, by the layer kernels.
void multiply(const SimdKernels<float>& kernels, const RowMajorFloat& a, const RowMajorFloat& b,
              RowMajorFloat& c) {
  const std::size_t side = unsigned_size(a.rows());
  PackedLayer<float> rows = empty_layer<float>(side, side);
  PanelMatrix<float> right(kernels, side, side);
  PanelMatrix<float> product(kernels, side, side);
  for (std::size_t i = 0; i < side; ++i) {
    for (std::size_t j = 0; j < side; ++j) {
      weight_at(rows, i, j) = a(eigen_index(i), eigen_index(j));
      right.at(i, j) = b(eigen_index(i), eigen_index(j));
    }
  }
  kernels.evaluate_layer(rows, right.view(), product.view());
  for (std::size_t i = 0; i < side; ++i) {
    for (std::size_t j = 0; j < side; ++j) c(eigen_index(i), eigen_index(j)) = product.at(i, j);
  }
}

/// The blocks of a layer.
std::vector<BlockPlan> blocks_of(const LayerPlan& plan) {
  return plan_blocks(eigen_index(plan.outputs), eigen_index(plan.inputs), plan.mapping);
}

}  // namespace

std::size_t Parameters::Piece::count() const {
  return kind == Kind::orthogonal ? side * side + side : rows * columns;
}

Parameters::Parameters(const SimdKernels<float>& kernels, std::span<const LayerPlan> plans,
                       double input_range, std::uint64_t seed)
    : kernels_(kernels), plans_(plans.begin(), plans.end()) {
  for (std::size_t layer = 0; layer < plans_.size(); ++layer) plan_layer(layer);
  first_.resize(values_.size());
  second_.resize(values_.size());
  start(seed, input_range);
}

void Parameters::plan_layer(std::size_t layer) {
  const LayerPlan& plan = plans_[layer];
  if (plan.on_orthogonal_blocks) {
    for (const BlockPlan& block : blocks_of(plan)) {
      add({.kind = Kind::orthogonal,
           .layer = layer,
           .first_row = unsigned_size(block.first_row),
           .first_column = unsigned_size(block.first_column),
           .rows = unsigned_size(block.rows),
           .columns = unsigned_size(block.columns),
           .side = unsigned_size(block.input_modes)});
    }
  } else {
    for (std::size_t row = 0; row < plan.outputs; row += free_rows) {
      add({.kind = Kind::free,
           .layer = layer,
           .first_row = row,
           .rows = std::min(free_rows, plan.outputs - row),
           .columns = plan.inputs});
    }
  }
  add({.kind = Kind::bias, .layer = layer, .rows = plan.outputs, .columns = 1});
}

void Parameters::add(Piece piece) {
  piece.first = values_.size();
  values_.resize(values_.size() + piece.count());
  pieces_.push_back(piece);
}

void Parameters::start(std::uint64_t seed, double input_range) {
  std::uint64_t draws = 0;
  for (const Piece& piece : pieces_) {
    const double weight_sigma = std::sqrt(2.0 / static_cast<double>(plans_[piece.layer].inputs));
    if (piece.kind == Kind::orthogonal) {
      start_orthogonal(piece, seed, draws);
    } else if (piece.kind == Kind::bias) {
      start_bias(piece, input_range, seed, draws);
    } else {
      const std::vector<double> unit = normals(seed, draws, piece.count());
      for (std::size_t i = 0; i < unit.size(); ++i) {
        values_[piece.first + i] = static_cast<float>(weight_sigma * unit[i]);
      }
    }
  }
}

void Parameters::start_orthogonal(const Piece& piece, std::uint64_t seed, std::uint64_t& draws) {
  const std::vector<double> unit = normals(seed, draws, piece.side * piece.side);
  const Eigen::Index side = eigen_index(piece.side);
  const Eigen::MatrixXd orthogonal =
      nearest_orthogonal(Eigen::Map<const Eigen::MatrixXd>(unit.data(), side, side));
  SquareMap(values_.data() + piece.first, side, side) = orthogonal.cast<float>();
  const double sigma = std::sqrt(2.0 * static_cast<double>(piece.side) /
                                 static_cast<double>(plans_[piece.layer].inputs));
  std::fill_n(values_.begin() + static_cast<std::ptrdiff_t>(piece.first + piece.side * piece.side),
              piece.side, static_cast<float>(sigma));
}

/// b = -w x for a random point x of the inputs: every unit changes slope where codes are.
void Parameters::start_bias(const Piece& piece, double input_range, std::uint64_t seed,
                            std::uint64_t& draws) {
  if (piece.layer > 0) return;
  const DenseLayer layer = dense_layer(0);
  std::vector<double> points(layer.weight.size());
  uniform_sequence({.seed = seed, .mesh_id = 1, .draw = DrawId::training_start}, draws, points);
  for (std::size_t row = 0; row < layer.outputs; ++row) {
    double bias = 0;
    for (std::size_t column = 0; column < layer.inputs; ++column) {
      const std::size_t at = row * layer.inputs + column;
      bias -= static_cast<double>(layer.weight[at]) * input_range * points[at];
    }
    values_[piece.first + row] = static_cast<float>(bias);
  }
}

void Parameters::write(const Piece& piece, DenseLayer& layer) const {
  const float* from = values_.data() + piece.first;
  if (piece.kind == Kind::bias) {
    std::copy_n(from, piece.rows, layer.bias.begin());
    return;
  }
  const bool is_orthogonal = piece.kind == Kind::orthogonal;
  const std::size_t stride = is_orthogonal ? piece.side : piece.columns;
  for (std::size_t row = 0; row < piece.rows; ++row) {
    const float sigma = is_orthogonal ? from[piece.side * piece.side + row] : 1.0F;
    float* to = layer.weight.data() + (piece.first_row + row) * layer.inputs + piece.first_column;
    for (std::size_t column = 0; column < piece.columns; ++column) {
      to[column] = sigma * from[row * stride + column];
    }
  }
}

void Parameters::update(std::size_t index, const AdamStep& step,
                        std::span<const std::vector<LayerGradient>> gradients, float scale,
                        std::vector<DenseLayer>& layers) {
  const Piece& piece = pieces_[index];
  adam(piece, step, gradient_of(piece, gradients, scale));
  if (piece.kind == Kind::orthogonal) retract(piece);
  write(piece, layers[piece.layer]);
}

std::vector<float> Parameters::gradient_of(const Piece& piece,
                                           std::span<const std::vector<LayerGradient>> gradients,
                                           float scale) const {
  switch (piece.kind) {
    case Kind::bias:
      return summed_bias(gradients, piece.layer, scale);
    case Kind::free:
      return summed_weights(gradients, piece, scale);
    case Kind::orthogonal:
      return factor_gradient(piece, summed_weights(gradients, piece, scale));
  }
  return {};
}

/// Gradient of a rectangle of weights: the sum over chunks, row-major.
std::vector<float> Parameters::summed_weights(std::span<const std::vector<LayerGradient>> gradients,
                                              const Piece& piece, float scale) {
  std::vector<float> sum(piece.rows * piece.columns, 0.0F);
  for (const std::vector<LayerGradient>& chunk : gradients) {
    for (std::size_t row = 0; row < piece.rows; ++row) {
      add_run(chunk[piece.layer].weight, piece.first_row + row, piece.first_column,
              std::span(sum).subspan(row * piece.columns, piece.columns));
    }
  }
  for (float& value : sum) value *= scale;
  return sum;
}

/// W_ij = Sigma_i U_ij
std::vector<float> Parameters::factor_gradient(const Piece& piece,
                                               const std::vector<float>& by_weight) const {
  std::vector<float> gradient(piece.count(), 0.0F);
  const float* orthogonal = values_.data() + piece.first;
  const float* sigma = orthogonal + piece.side * piece.side;
  for (std::size_t row = 0; row < piece.rows; ++row) {
    for (std::size_t column = 0; column < piece.columns; ++column) {
      const float slope = by_weight[row * piece.columns + column];
      const std::size_t at = row * piece.side + column;
      gradient[at] = sigma[row] * slope;
      gradient[piece.side * piece.side + row] += orthogonal[at] * slope;
    }
  }
  return gradient;
}

void Parameters::adam(const Piece& piece, const AdamStep& step, std::span<const float> gradient) {
  constexpr double beta_1 = 0.9;
  constexpr double beta_2 = 0.999;
  constexpr float epsilon = 1e-8F;
  const auto count = eigen_index(piece.count());
  const auto number = static_cast<double>(step.number);
  const auto rate = static_cast<float>(step.learning_rate / (1 - std::pow(beta_1, number)));
  const auto correction = static_cast<float>(1 / (1 - std::pow(beta_2, number)));
  const ConstArrayMap slope(gradient.data(), count);
  ArrayMap first(first_.data() + piece.first, count);
  ArrayMap second(second_.data() + piece.first, count);
  ArrayMap value(values_.data() + piece.first, count);
  first = static_cast<float>(beta_1) * first + static_cast<float>(1 - beta_1) * slope;
  second = static_cast<float>(beta_2) * second + static_cast<float>(1 - beta_2) * slope.square();
  value -= rate * first / ((correction * second).sqrt() + epsilon);
}

/// One step of Newton-Schulz, U (3 - U^T U) / 2: enough for what a step of Adam moves.
void Parameters::retract(const Piece& piece) {
  const Eigen::Index side = eigen_index(piece.side);
  SquareMap orthogonal(values_.data() + piece.first, side, side);
  RowMajorFloat gram(side, side);
  RowMajorFloat corrected(side, side);
  if (piece.side < kernel_side) {
    gram.noalias() = orthogonal.transpose() * orthogonal;
    corrected.noalias() = orthogonal * gram;
  } else {
    multiply(kernels_, orthogonal.transpose(), orthogonal, gram);
    multiply(kernels_, orthogonal, gram, corrected);
  }
  orthogonal = 1.5F * orthogonal - 0.5F * corrected;
}

void Parameters::project(std::size_t index) {
  const LayerPlan& plan = plans_[index];
  if (plan.mapping.mapping != Mapping::segmented) return;
  NetworkLayer layer = network_layer(index);
  for (const BlockPlan& block : blocks_of(plan)) {
    const DiagonalOrthogonal nearest =
        nearest_diagonal_orthogonal(padded_block(layer.weight, block), projection_rounds);
    layer.weight.block(block.first_row, block.first_column, block.rows, block.columns) =
        (nearest.sigma.asDiagonal() * nearest.orthogonal).topLeftCorner(block.rows, block.columns);
  }
  for (const Piece& piece : pieces_) {
    if (piece.layer != index || piece.kind != Kind::free) continue;
    SquareMap(values_.data() + piece.first, eigen_index(piece.rows), eigen_index(piece.columns)) =
        layer.weight.middleRows(eigen_index(piece.first_row), eigen_index(piece.rows))
            .cast<float>();
  }
}

std::vector<DenseLayer> Parameters::layers() const {
  std::vector<DenseLayer> result;
  for (std::size_t i = 0; i < plans_.size(); ++i) result.push_back(dense_layer(i));
  return result;
}

DenseLayer Parameters::dense_layer(std::size_t index) const {
  const LayerPlan& plan = plans_[index];
  DenseLayer layer{.outputs = plan.outputs,
                   .inputs = plan.inputs,
                   .weight = std::vector<float>(plan.outputs * plan.inputs),
                   .bias = std::vector<float>(plan.outputs),
                   .activation = plan.activation,
                   .clip = static_cast<float>(plan.clip)};
  for (const Piece& piece : pieces_) {
    if (piece.layer == index) write(piece, layer);
  }
  return layer;
}

NetworkLayer Parameters::network_layer(std::size_t index) const {
  const LayerPlan& plan = plans_[index];
  const DenseLayer dense = dense_layer(index);
  NetworkLayer layer{
      .weight =
          ConstSquareMap(dense.weight.data(), eigen_index(plan.outputs), eigen_index(plan.inputs))
              .cast<double>(),
      .bias = Eigen::Map<const Eigen::VectorXf>(dense.bias.data(), eigen_index(plan.outputs))
                  .cast<double>(),
      .activation = plan.activation,
      .clip = plan.clip,
      .mapping = plan.mapping};
  for (const Piece& piece : pieces_) {
    if (piece.layer == index && piece.kind == Kind::orthogonal) write_exactly(piece, layer);
  }
  return layer;
}

void Parameters::write_exactly(const Piece& piece, NetworkLayer& layer) const {
  const Eigen::Index side = eigen_index(piece.side);
  const float* from = values_.data() + piece.first;
  const Eigen::MatrixXd orthogonal =
      nearest_orthogonal(ConstSquareMap(from, side, side).cast<double>());
  const Eigen::VectorXd sigma =
      Eigen::Map<const Eigen::VectorXf>(from + side * side, side).cast<double>();
  const Eigen::Index rows = eigen_index(piece.rows);
  const Eigen::Index columns = eigen_index(piece.columns);
  layer.weight.block(eigen_index(piece.first_row), eigen_index(piece.first_column), rows, columns) =
      (sigma.asDiagonal() * orthogonal).topLeftCorner(rows, columns);
}

std::vector<NetworkLayer> Parameters::network_layers() const {
  std::vector<NetworkLayer> result;
  for (std::size_t i = 0; i < plans_.size(); ++i) result.push_back(network_layer(i));
  return result;
}

}  // namespace optinc
