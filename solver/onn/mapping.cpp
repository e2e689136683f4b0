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
    const double scale = add_blocks(source.weight, mapping_of(source), mapped);
    if (options_.gain == LayerGain::nominal && scale > 0) mapped.gain = scale;
    return mapped;
  }

 private:
  /// Returns the scale of the layer: what its passive optics are divided by.
  double add_blocks(const Eigen::MatrixXd& weight, const LayerMapping& mapping,
                    MappedLayer& mapped) {
    switch (mapping.mapping) {
      case Mapping::svd:
        return add_svd(weight, mapping, mapped);
      case Mapping::segmented:
        return add_segmented(weight, mapping, mapped);
      case Mapping::real_part:
        return add_real_part(weight, mapping, mapped);
    }
    return 1;
  }

  double add_svd(const Eigen::MatrixXd& weight, const LayerMapping& mapping, MappedLayer& mapped) {
    for_each_block(weight, mapping, [&](MappedBlock block, const Eigen::MatrixXd& padded) {
      const Svd svd = full_svd(padded);
      block.input_mesh = program(svd.matrixV().transpose().cast<std::complex<double>>());
      block.output_mesh = program(svd.matrixU().cast<std::complex<double>>());
      block.attenuation = svd.singularValues();
      mapped.blocks.push_back(std::move(block));
    });
    return normalise_attenuation(mapped);
  }

  double add_segmented(const Eigen::MatrixXd& weight, const LayerMapping& mapping,
                       MappedLayer& mapped) {
    for_each_block(weight, mapping, [&](MappedBlock block, const Eigen::MatrixXd& padded) {
      const DiagonalOrthogonal factors = nearest_diagonal_orthogonal(padded);
      block.input_mesh = program(factors.orthogonal.cast<std::complex<double>>());
      block.attenuation = factors.sigma;
      mapped.blocks.push_back(std::move(block));
    });
    return normalise_attenuation(mapped);
  }

  /// Divides the attenuations of a layer by the largest, which it returns.
  static double normalise_attenuation(MappedLayer& mapped) {
    double largest = 0;
    for (const MappedBlock& block : mapped.blocks) {
      largest = std::max(largest, block.attenuation.maxCoeff());
    }
    if (largest > 0) {
      for (MappedBlock& block : mapped.blocks) block.attenuation /= largest;
    }
    return largest;
  }

  double add_real_part(const Eigen::MatrixXd& weight, const LayerMapping& mapping,
                       MappedLayer& mapped) {
    double largest = 0;
    for_each_block(weight, mapping, [&](const MappedBlock&, const Eigen::MatrixXd& padded) {
      largest = std::max(largest, Svd(padded).singularValues().maxCoeff());
    });
    const double scale = largest > 0 ? largest : 1;
    for_each_block(weight, mapping, [&](MappedBlock block, const Eigen::MatrixXd& padded) {
      block.input_mesh = program(unitary_with_real_part(padded / scale));
      block.attenuation = Eigen::VectorXd::Ones(padded.rows());
      mapped.blocks.push_back(std::move(block));
    });
    return scale;
  }

  LayerMapping mapping_of(const NetworkLayer& layer) const {
    if (!options_.mapping) return layer.mapping;
    return {.mapping = *options_.mapping, .segment = options_.segment};
  }

  /// Calls `visit(place, padded block)` by block row, then block column.
  template <class Visitor>
  static void for_each_block(const Eigen::MatrixXd& weight, const LayerMapping& mapping,
                             Visitor&& visit) {
    for (const BlockPlan& block : plan_blocks(weight.rows(), weight.cols(), mapping)) {
      visit(place(block), padded_block(weight, block));
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

HardwareSize size_of(const MappedBlock& block) {
  return hardware_size(block.input_mesh.program.topology,
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
  if (options.segment < 0) {
    throw ConfigError(
        fmt::format("network.segment = {} is negative; leave it out or give a block "
                    "size",
                    options.segment));
  }
  if (options.segment > 0 && !options.mapping) {
    throw ConfigError(
        "network.segment is given but network.mapping = \"as_trained\" takes the block sizes of "
        "the network file; leave it out or choose a mapping");
  }
}

Eigen::Index block_size(Eigen::Index outputs, Eigen::Index inputs, int segment) {
  const Eigen::Index smaller = std::min(outputs, inputs);
  return segment > 0 ? std::min<Eigen::Index>(segment, smaller) : smaller;
}

bool has_output_meshes(const Network& network, const MappingOptions& options) {
  return std::any_of(network.layers.begin(), network.layers.end(), [&](const NetworkLayer& layer) {
    return options.mapping.value_or(layer.mapping.mapping) == Mapping::svd;
  });
}

MappedNetwork map_network(const Network& network, const MappingOptions& options) {
  validate(options);
  MappedNetwork mapped{.format = network.format, .options = options, .layers = {}};
  Mapper mapper(options);
  for (const NetworkLayer& layer : network.layers) mapped.layers.push_back(mapper.layer(layer));
  return mapped;
}

Eigen::MatrixXd nearest_orthogonal(const Eigen::MatrixXd& square) {
  const Eigen::BDCSVD<Eigen::MatrixXd> svd(square, Eigen::ComputeFullU | Eigen::ComputeFullV);
  return svd.matrixU() * svd.matrixV().transpose();
}

DiagonalOrthogonal nearest_diagonal_orthogonal(const Eigen::MatrixXd& square, int most_rounds) {
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
    best.orthogonal = nearest_orthogonal(best.sigma.asDiagonal() * square);
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
