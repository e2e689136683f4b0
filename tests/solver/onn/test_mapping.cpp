// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <complex>
#include <memory>
#include <random>
#include <vector>

#include <Eigen/Dense>
#include <catch2/catch.hpp>

#include "solver/backend/registry.hpp"
#include "solver/error.hpp"
#include "solver/mesh/decomposition.hpp"
#include "solver/onn/mapping.hpp"
#include "solver/onn/structure.hpp"
#include "solver/optinc/chip.hpp"

namespace optinc {

namespace {

Eigen::MatrixXd random_matrix(Eigen::Index rows, Eigen::Index columns, unsigned seed) {
  std::mt19937_64 engine(seed);
  std::normal_distribution<double> normal;
  Eigen::MatrixXd matrix(rows, columns);
  for (double& entry : matrix.reshaped()) entry = normal(engine);
  return matrix;
}

/// A network of the paper's kind with random weights.
Network random_network(const std::vector<Eigen::Index>& widths) {
  Network network{.format = make_code_format(4, 8), .kind = "random", .layers = {}};
  for (std::size_t i = 0; i + 1 < widths.size(); ++i) {
    const bool last = i + 2 == widths.size();
    network.layers.push_back(
        {.weight = random_matrix(widths[i + 1], widths[i], static_cast<unsigned>(i)),
         .bias = Eigen::VectorXd::Zero(widths[i + 1]),
         .activation = last ? Activation::identity : Activation::relu,
         .clip = 1});
  }
  return network;
}

/// A network mapped to optics, ready to draw chips.
struct Mapped {
  std::unique_ptr<Backend> backend = reference_backend_entry().create(Precision::f64);
  MappedNetwork network;
  std::vector<Eigen::MatrixXcd> ideal;

  Mapped(const Network& source, const MappingOptions& options)
      : network(map_network(source, options)), ideal(compose_ideal(network, *backend)) {}

  ChipOptics chip(const StaticImperfections& imperfections, const Ablation& ablation = {}) const {
    return NetworkOptics(network, ideal, *backend,
                         {.imperfections = imperfections,
                          .ablation = ablation,
                          .calibration = MeshCalibration::none})
        .chip(1, 0);
  }
};

MappingOptions options_of(Mapping mapping, int segment = 0) {
  MappingOptions options;
  options.mapping = mapping;
  options.segment = segment;
  return options;
}

double weight_error(const ChipOptics& chip, const Network& network) {
  double squares = 0;
  double total = 0;
  for (std::size_t i = 0; i < network.layers.size(); ++i) {
    squares += (chip.layers[i].weight - network.layers[i].weight).squaredNorm();
    total += network.layers[i].weight.squaredNorm();
  }
  return std::sqrt(squares / total);
}

}  // namespace

TEST_CASE("svd and real_part realise any weights exactly, on both topologies") {
  const Network network = random_network({4, 9, 7, 4});
  for (const auto mesh : {Topology::Kind::clements, Topology::Kind::reck}) {
    for (const auto& [mapping, segment] :
         {std::pair{Mapping::svd, 0}, std::pair{Mapping::real_part, 0}, std::pair{Mapping::svd, 1},
          std::pair{Mapping::svd, 3}, std::pair{Mapping::svd, 20}, std::pair{Mapping::real_part, 1},
          std::pair{Mapping::real_part, 3}, std::pair{Mapping::real_part, 20}}) {
      MappingOptions options = options_of(mapping, segment);
      options.mesh = mesh;
      CHECK(weight_error(Mapped(network, options).chip({}), network) < 1e-12);
    }
  }
}

TEST_CASE("a block is the real part of its unitary") {
  for (const Eigen::Index size : {1, 2, 5, 12}) {
    const Eigen::MatrixXd matrix = random_matrix(size, size, 3);
    const double norm = Eigen::JacobiSVD<Eigen::MatrixXd>(matrix).singularValues()(0);
    for (const double scale : {norm, 3 * norm}) {
      const Eigen::MatrixXcd unitary = unitary_with_real_part(matrix / scale);
      CHECK(unitarity_residual(unitary) < 1e-13);
      CHECK((unitary.real() - matrix / scale).norm() < 1e-13);
    }
  }
}

TEST_CASE("the nearest Sigma U beats its start and reproduces matrices of that form") {
  for (const Eigen::Index size : {1, 2, 6}) {
    const Eigen::MatrixXd matrix = random_matrix(size, size, 9);
    const DiagonalOrthogonal factors = nearest_diagonal_orthogonal(matrix);
    CHECK((factors.orthogonal * factors.orthogonal.transpose() -
           Eigen::MatrixXd::Identity(size, size))
              .norm() < 1e-13);
    CHECK(factors.sigma.minCoeff() >= 0);
    const double error = (matrix - factors.sigma.asDiagonal() * factors.orthogonal).norm();
    const Eigen::JacobiSVD<Eigen::MatrixXd> svd(matrix, Eigen::ComputeFullU | Eigen::ComputeFullV);
    const Eigen::MatrixXd polar = svd.matrixU() * svd.matrixV().transpose();
    CHECK(error <= (matrix - polar).norm());
    // Stationary: each factor is the best for the other.
    const Eigen::VectorXd best = (matrix * factors.orthogonal.transpose()).diagonal();
    CHECK((best - factors.sigma).norm() < 1e-5 * best.norm());
    Eigen::VectorXd sigma = random_matrix(size, 1, 4).cwiseAbs();
    const Eigen::MatrixXd exact = sigma.asDiagonal() * polar;
    const DiagonalOrthogonal again = nearest_diagonal_orthogonal(exact);
    CHECK((exact - again.sigma.asDiagonal() * again.orthogonal).norm() < 1e-5 * exact.norm());
  }
  CHECK(nearest_diagonal_orthogonal(Eigen::MatrixXd::Zero(3, 3)).sigma.isZero(0));
}

TEST_CASE("MZI counts are those of the formulas, padding included") {
  // svd of out x in: two meshes and min(out, in) attenuators; blocks of n: n (n - 1) / 2 MZIs, with
  // n attenuators more when segmented.
  const Network network = random_network({4, 8, 8, 4});
  const auto count = [&](const MappingOptions& options) {
    return map_network(network, options).mzi_count();
  };
  CHECK(count(options_of(Mapping::svd)) == (6 + 28 + 4) + (28 + 28 + 8) + (28 + 6 + 4));
  CHECK(count(options_of(Mapping::segmented)) == 2 * 10 + 36 + 2 * 10);
  CHECK(count(options_of(Mapping::segmented, 8)) == 2 * 10 + 36 + 2 * 10);
  CHECK(count(options_of(Mapping::real_part)) == 2 * 6 + 28 + 2 * 6);
  CHECK(count(options_of(Mapping::real_part, 4)) == 2 * 6 + 4 * 6 + 2 * 6);
  CHECK(count(options_of(Mapping::segmented, 3)) == (6 + 9 + 6) * 6);
  const MappedNetwork blocks = map_network(network, options_of(Mapping::real_part, 4));
  std::uint16_t next = 0;
  blocks.for_each_mesh([&](const MappedMesh& mesh, std::size_t, int facets, bool is_output) {
    CHECK(mesh.id == next++);
    CHECK(facets == 2);
    CHECK_FALSE(is_output);
  });
  CHECK(next == 8);
  CHECK(count(options_of(Mapping::svd, 4)) == (2 + 4 + 2) * (6 + 6 + 4));
  CHECK_THROWS_AS(count(options_of(Mapping::segmented, -1)), ConfigError);
}

TEST_CASE("planned blocks are those of the mapped network, size for size") {
  const Network network = random_network({4, 9, 7, 16, 4});
  for (const auto mesh : {Topology::Kind::clements, Topology::Kind::reck}) {
    for (const auto& [mapping, segment] :
         {std::pair{Mapping::svd, 0}, std::pair{Mapping::svd, 3}, std::pair{Mapping::segmented, 0},
          std::pair{Mapping::segmented, 1}, std::pair{Mapping::segmented, 3},
          std::pair{Mapping::real_part, 0}, std::pair{Mapping::real_part, 2},
          std::pair{Mapping::real_part, 20}}) {
      MappingOptions options = options_of(mapping, segment);
      options.mesh = mesh;
      const MappedNetwork mapped = map_network(network, options);
      std::int64_t total = 0;
      for (const MappedLayer& layer : mapped.layers) {
        const std::vector<BlockPlan> plans =
            plan_blocks(layer.outputs, layer.inputs, {.mapping = mapping, .segment = segment});
        REQUIRE(plans.size() == layer.blocks.size());
        for (std::size_t i = 0; i < plans.size(); ++i) {
          const HardwareSize size = hardware_size(plans[i], mesh);
          CHECK(size.mzi_count == layer.blocks[i].mzi_count());
          CHECK(size.depth == layer.blocks[i].depth());
          CHECK(plans[i].first_row == layer.blocks[i].first_row);
          CHECK(plans[i].first_column == layer.blocks[i].first_column);
          total += size.mzi_count;
        }
      }
      CHECK(total == mapped.mzi_count());
    }
  }
}

TEST_CASE("layers keep the mappings that they are made for") {
  Network network = random_network({4, 8, 8, 4});
  network.layers[0].mapping = {.mapping = Mapping::real_part, .segment = 2};
  network.layers[1].mapping = {.mapping = Mapping::segmented, .segment = 0};
  MappingOptions options;
  options.mapping = std::nullopt;
  CHECK(map_network(network, options).mzi_count() == 8 * 1 + 36 + (28 + 6 + 4));
  CHECK(has_output_meshes(network, options));
  network.layers[2].mapping.mapping = Mapping::real_part;
  CHECK_FALSE(has_output_meshes(network, options));
  CHECK(has_output_meshes(network, {}));
  options.segment = 2;
  CHECK_THROWS_AS(map_network(network, options), ConfigError);
}

TEST_CASE("the nominal gain makes up for mean losses") {
  const Network network = random_network({4, 9, 4});
  for (const Mapping mapping : {Mapping::svd, Mapping::real_part}) {
    StaticImperfections lossy;
    lossy.loss = {.mzi_db = 0.3,
                  .mzi_sigma_db = 0,
                  .waveguide_db_per_cm = 2,
                  .facet_db = 1.5,
                  .placement = LossPlacement::balanced};
    const Mapped mapped(network, options_of(mapping));
    const ChipOptics chip = mapped.chip(lossy);
    // Balanced loss is a scalar per mesh: restored exactly, and two facets per layer are in it.
    CHECK(weight_error(chip, network) < 1e-12);
    CHECK(chip.quality.insertion_loss_db > 1.5);
    CHECK(chip.quality.fidelity_normalised < 1);
    lossy.loss.placement = LossPlacement::mzi_only;
    const double imbalance = weight_error(mapped.chip(lossy), network);
    CHECK(imbalance > 1e-4);
    CHECK(imbalance < 0.2);
    MappingOptions bare = options_of(mapping);
    bare.gain = LayerGain::none;
    CHECK(weight_error(Mapped(network, bare).chip(lossy), network) > 0.3);
  }
}

TEST_CASE("ablations confine the imperfections") {
  const Network network = random_network({4, 6, 5, 4});
  const Mapped mapped(network, {});
  StaticImperfections errors;
  errors.phase_fabrication_sigma_rad = 0.02;
  const auto changed = [&](const Ablation& ablation) {
    const ChipOptics chip = mapped.chip(errors, ablation);
    std::vector<bool> layers;
    for (std::size_t i = 0; i < network.layers.size(); ++i) {
      layers.push_back((chip.layers[i].weight - network.layers[i].weight).norm() > 1e-6);
    }
    return layers;
  };
  CHECK(changed({}) == std::vector<bool>{true, true, true});
  CHECK(changed({.layer = 1, .meshes = Ablation::Meshes::all}) ==
        std::vector<bool>{false, true, false});
  const auto weight = [&](Ablation::Meshes meshes) {
    return mapped.chip(errors, {.layer = {}, .meshes = meshes}).layers[0].weight;
  };
  CHECK(weight(Ablation::Meshes::input) != weight(Ablation::Meshes::output));
  CHECK(weight(Ablation::Meshes::input) != weight(Ablation::Meshes::all));
  CHECK_THROWS_AS(changed({.layer = 3, .meshes = Ablation::Meshes::all}), ConfigError);
  const Mapped single(network, options_of(Mapping::real_part));
  CHECK_THROWS_AS(single.chip(errors, {.layer = {}, .meshes = Ablation::Meshes::output}),
                  ConfigError);
}

TEST_CASE("mappings of one network under the same errors: size and weight error") {
  // real_part needs a third of the MZIs of svd for the same accuracy; segmented is not exact for
  // weights that were not trained for it.
  const Network network = random_network({4, 32, 64, 32, 4});
  StaticImperfections errors;
  errors.phase_fabrication_sigma_rad = 0.01;
  const Mapped svd(network, options_of(Mapping::svd));
  const Mapped real_part(network, options_of(Mapping::real_part, 8));
  const Mapped segmented(network, options_of(Mapping::segmented, 8));
  CHECK(real_part.network.mzi_count() < segmented.network.mzi_count());
  CHECK(segmented.network.mzi_count() < svd.network.mzi_count());
  CHECK(weight_error(segmented.chip({}), network) > 0.1);
  const double svd_error = weight_error(svd.chip(errors), network);
  const double real_part_error = weight_error(real_part.chip(errors), network);
  CHECK(real_part_error == Approx(svd_error).epsilon(0.3));
}

}  // namespace optinc
