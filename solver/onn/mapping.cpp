// SPDX-License-Identifier: Apache-2.0
#include "solver/onn/mapping.hpp"

#include <algorithm>
#include <complex>
#include <limits>

#include <fmt/format.h>
#include <Eigen/SVD>

#include "solver/error.hpp"
#include "solver/mesh/correction.hpp"
#include "solver/mesh/decomposition.hpp"
#include "solver/onn/structure.hpp"

namespace optinc {

namespace {

using Svd = Eigen::JacobiSVD<Eigen::MatrixXd>;

Svd full_svd(const Eigen::MatrixXd& matrix) {
  return Svd(matrix, Eigen::ComputeFullU | Eigen::ComputeFullV);
}

/// Orthogonal factor of the polar decomposition.
Eigen::MatrixXd polar_orthogonal(const Eigen::MatrixXd& matrix) {
  const Svd svd = full_svd(matrix);
  return svd.matrixU() * svd.matrixV().transpose();
}

/// Numbers the meshes of a network and programs them.
class Mapper {
 public:
  explicit Mapper(const MappingOptions& options) : options_(options) {}

  MappedLayer layer(const NetworkLayer& source) {
    MappedLayer mapped{.outputs = source.weight.rows(),
                       .inputs = source.weight.cols(),
                       .blocks = {},
                       .gain = 1,
                       .bias = source.bias,
                       .activation = source.activation,
                       .clip = source.clip};
    const double scale = add_blocks(source.weight, mapped);
    if (options_.gain == LayerGain::nominal && scale > 0) mapped.gain = scale;
    return mapped;
  }

 private:
  /// Returns the scale of the layer: what its passive optics are divided by.
  double add_blocks(const Eigen::MatrixXd& weight, MappedLayer& mapped) {
    switch (options_.mapping) {
      case Mapping::svd:
        return add_svd(weight, mapped);
      case Mapping::segmented:
        return add_segmented(weight, mapped);
      case Mapping::real_part:
        return add_real_part(weight, mapped);
    }
    return 1;
  }

  double add_svd(const Eigen::MatrixXd& weight, MappedLayer& mapped) {
    const Svd svd = full_svd(weight);
    const double largest = svd.singularValues().maxCoeff();
    MappedBlock block = place(plan(weight).front());
    block.input_mesh = program(svd.matrixV().transpose().cast<std::complex<double>>());
    block.output_mesh = program(svd.matrixU().cast<std::complex<double>>());
    block.attenuation = svd.singularValues();
    if (largest > 0) block.attenuation /= largest;
    mapped.blocks.push_back(std::move(block));
    return largest;
  }

  double add_segmented(const Eigen::MatrixXd& weight, MappedLayer& mapped) {
    double largest = 0;
    for_each_block(weight, [&](MappedBlock block, const Eigen::MatrixXd& padded) {
      const DiagonalOrthogonal factors = nearest_diagonal_orthogonal(padded);
      block.input_mesh = program(factors.orthogonal.cast<std::complex<double>>());
      block.attenuation = factors.sigma;
      largest = std::max(largest, factors.sigma.maxCoeff());
      mapped.blocks.push_back(std::move(block));
    });
    if (largest > 0) {
      for (MappedBlock& block : mapped.blocks) block.attenuation /= largest;
    }
    return largest;
  }

  double add_real_part(const Eigen::MatrixXd& weight, MappedLayer& mapped) {
    double largest = 0;
    for_each_block(weight, [&](const MappedBlock&, const Eigen::MatrixXd& padded) {
      largest = std::max(largest, Svd(padded).singularValues().maxCoeff());
    });
    const double scale = largest > 0 ? largest : 1;
    for_each_block(weight, [&](MappedBlock block, const Eigen::MatrixXd& padded) {
      block.input_mesh = program(unitary_with_real_part(padded / scale));
      block.attenuation = Eigen::VectorXd::Ones(padded.rows());
      mapped.blocks.push_back(std::move(block));
    });
    return scale;
  }

  std::vector<BlockPlan> plan(const Eigen::MatrixXd& weight) const {
    return plan_blocks(weight.rows(), weight.cols(), options_);
  }

  /// Calls `visit(place, padded block)` by block row, then block column.
  template <class Visitor>
  void for_each_block(const Eigen::MatrixXd& weight, Visitor&& visit) const {
    for (const BlockPlan& block : plan(weight)) {
      Eigen::MatrixXd padded = Eigen::MatrixXd::Zero(block.input_modes, block.input_modes);
      padded.topLeftCorner(block.rows, block.columns) =
          weight.block(block.first_row, block.first_column, block.rows, block.columns);
      visit(place(block), padded);
    }
  }

  static MappedBlock place(const BlockPlan& plan) {
    MappedBlock block;
    block.first_row = plan.first_row;
    block.first_column = plan.first_column;
    block.rows = plan.rows;
    block.columns = plan.columns;
    block.has_attenuators = plan.attenuators > 0;
    return block;
  }

  MappedMesh program(const Eigen::MatrixXcd& unitary) {
    if (next_id_ > std::numeric_limits<std::uint16_t>::max()) {
      throw ConfigError(
          "network needs more than 65536 meshes (mesh ids are 16 bits); choose a "
          "larger network.segment");
    }
    return {.program = with_mzi_kind(decompose(unitary, options_.mesh), options_.mzi),
            .id = static_cast<std::uint16_t>(next_id_++)};
  }

  MappingOptions options_;
  std::uint32_t next_id_ = 0;
};

}  // namespace

namespace {

BlockSize size_of(const MappedBlock& block) {
  return block_size(block.input_mesh.program.topology,
                    block.output_mesh ? &block.output_mesh->program.topology : nullptr,
                    block.has_attenuators ? block.attenuation.size() : 0);
}

}  // namespace

std::int64_t MappedBlock::mzi_count() const { return size_of(*this).mzi_count; }

std::int64_t MappedBlock::depth() const { return size_of(*this).depth; }

std::int64_t MappedNetwork::mzi_count() const {
  std::int64_t total = 0;
  for (const MappedLayer& layer : layers) {
    for (const MappedBlock& block : layer.blocks) total += block.mzi_count();
  }
  return total;
}

void validate(const MappingOptions& options) {
  if (options.segment < 0 || (options.segment > 0 && options.mapping == Mapping::svd)) {
    throw ConfigError(
        "network.segment goes with network.mapping = \"segmented\" or \"real_part\" and must be "
        "positive; leave it out");
  }
}

MappedNetwork map_network(const Network& network, const MappingOptions& options) {
  validate(options);
  MappedNetwork mapped{.format = network.format, .options = options, .layers = {}};
  Mapper mapper(options);
  for (const NetworkLayer& layer : network.layers) mapped.layers.push_back(mapper.layer(layer));
  return mapped;
}

DiagonalOrthogonal nearest_diagonal_orthogonal(const Eigen::MatrixXd& square) {
  constexpr int most_rounds = 1000;
  constexpr double stalled = 1e-13;
  const Eigen::Index size = square.rows();
  DiagonalOrthogonal best{.sigma = Eigen::VectorXd::Ones(size),
                          .orthogonal = Eigen::MatrixXd::Identity(size, size)};
  if (square.isZero(0)) {
    best.sigma.setZero();
    return best;
  }
  double captured = 0;
  for (int round = 0; round < most_rounds; ++round) {
    best.orthogonal = polar_orthogonal(best.sigma.asDiagonal() * square);
    best.sigma = (square * best.orthogonal.transpose()).diagonal();
    // ||W - Sigma U||^2 = ||W||^2 - ||Sigma||^2 at the best Sigma.
    const double now_captured = best.sigma.squaredNorm();
    if (now_captured - captured <= stalled * now_captured) break;
    captured = now_captured;
  }
  for (Eigen::Index row = 0; row < size; ++row) {
    if (best.sigma(row) >= 0) continue;
    best.sigma(row) = -best.sigma(row);
    best.orthogonal.row(row) *= -1;
  }
  return best;
}

Eigen::MatrixXcd unitary_with_real_part(const Eigen::MatrixXd& contraction) {
  const Svd svd = full_svd(contraction);
  const Eigen::ArrayXd cosine = svd.singularValues().array().min(1.0);
  const Eigen::ArrayXd sine = (1 - cosine.square()).sqrt();
  Eigen::VectorXcd phase(cosine.size());
  phase.real() = cosine;
  phase.imag() = sine;
  return svd.matrixU() * phase.asDiagonal() * svd.matrixV().transpose();
}

}  // namespace optinc
