// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <memory>
#include <random>
#include <vector>

#include <Eigen/Dense>
#include <catch2/catch.hpp>

#include "solver/backend/registry.hpp"
#include "solver/cost/unit_structure.hpp"
#include "solver/error.hpp"
#include "solver/onn/analytic.hpp"
#include "solver/optinc/chip.hpp"

namespace optinc {

namespace {

const std::vector<int> eight_bits = {4, 64, 128, 256, 128, 64, 4};
const std::vector<int> sixteen_bits = {4, 64, 128, 256, 512, 256, 128, 64, 8};

MappingOptions mapped(Mapping mapping, int segment = 0,
                      Topology::Kind mesh = Topology::Kind::clements) {
  MappingOptions options;
  options.mapping = mapping;
  options.segment = segment;
  options.mesh = mesh;
  return options;
}

UnitStructure unit(const std::vector<int>& widths, const MappingOptions& options) {
  const std::vector<LayerShape> shapes = layer_shapes(widths);
  return unit_structure(shapes, std::vector<MappingOptions>(shapes.size(), options));
}

double ratio(std::int64_t part, std::int64_t whole) {
  return static_cast<double>(part) / static_cast<double>(whole);
}

Eigen::MatrixXd random_matrix(Eigen::Index rows, Eigen::Index columns, unsigned seed) {
  std::mt19937_64 engine(seed);
  std::normal_distribution<double> normal;
  Eigen::MatrixXd matrix(rows, columns);
  for (double& entry : matrix.reshaped()) entry = normal(engine);
  return matrix;
}

}  // namespace

TEST_CASE("MZIs of the paper's networks") {
  const std::int64_t svd = unit(eight_bits, mapped(Mapping::svd)).mzi_count();
  CHECK(svd == 106260);
  CHECK(unit(eight_bits, mapped(Mapping::segmented)).mzi_count() == 41664);
  CHECK(ratio(41664, svd) == Approx(0.392).margin(0.003));
  CHECK(unit(eight_bits, mapped(Mapping::real_part)).mzi_count() == 40768);
  CHECK(ratio(40768, svd) == Approx(0.384).margin(0.001));
  CHECK(unit(eight_bits, mapped(Mapping::real_part, 8)).mzi_count() == 36032);
  CHECK(unit(eight_bits, mapped(Mapping::svd, 8)).mzi_count() == 82432);
  CHECK(unit(eight_bits, mapped(Mapping::real_part, 4)).mzi_count() == 30912);
}

TEST_CASE("16 bits with layers 4 to 6 segmented") {
  const std::vector<LayerShape> shapes = layer_shapes(sixteen_bits);
  std::vector<MappingOptions> options(shapes.size(), mapped(Mapping::svd));
  const std::int64_t svd = unit_structure(shapes, options).mzi_count();
  for (const std::size_t layer : {3U, 4U, 5U}) options[layer] = mapped(Mapping::segmented);
  CHECK(ratio(unit_structure(shapes, options).mzi_count(), svd) == Approx(0.492).margin(0.003));
}

TEST_CASE("two more 64 x 64 layers of a cascade") {
  const std::int64_t added = unit({64, 64, 64}, mapped(Mapping::segmented)).mzi_count();
  CHECK(added == 4160);
  CHECK(ratio(added, 41664) == Approx(0.1).margin(0.001));
}

TEST_CASE("the structure of a network is that of its mapped weights") {
  const Network network = build_analytic_network(make_code_format(4, 8), {});
  for (const auto mesh : {Topology::Kind::clements, Topology::Kind::reck}) {
    for (const auto& [mapping, segment] :
         {std::pair{Mapping::svd, 0}, std::pair{Mapping::segmented, 0},
          std::pair{Mapping::segmented, 3}, std::pair{Mapping::real_part, 5}}) {
      const MappingOptions options = mapped(mapping, segment, mesh);
      const MappedNetwork optics = map_network(network, options);
      const std::vector<LayerShape> shapes = layer_shapes(network);
      const UnitStructure structure =
          unit_structure(shapes, std::vector<MappingOptions>(shapes.size(), options));
      CHECK(structure.mzi_count() == optics.mzi_count());
      for (std::size_t i = 0; i < shapes.size(); ++i) {
        const LayerStructure& layer = structure.layers[i];
        CHECK(layer.block_rows * layer.block_columns ==
              static_cast<std::int64_t>(optics.layers[i].blocks.size()));
        CHECK(layer.depth == optics.layers[i].blocks.front().depth());
      }
    }
  }
}

TEST_CASE("losses of a layer are those of its simulated meshes") {
  // With equal loss on all paths the matrix of a lossy layer is the ideal one times a factor.
  Network network{.format = make_code_format(4, 8), .kind = "random", .layers = {}};
  network.layers.push_back({.weight = random_matrix(4, 12, 1),
                            .bias = Eigen::VectorXd::Zero(4),
                            .activation = Activation::identity,
                            .clip = 1});
  LossValues loss;
  StaticImperfections lossy;
  lossy.loss.mzi_db = loss.mzi_db;
  lossy.loss.waveguide_db_per_cm = loss.waveguide_db_per_cm;
  lossy.loss.facet_db = loss.facet_db;
  lossy.loss.placement = LossPlacement::balanced;
  lossy.layout.column_pitch_um = loss.column_pitch_um;
  MappingOptions options = mapped(Mapping::real_part, 4);
  options.gain = LayerGain::none;
  const std::unique_ptr<Backend> backend = reference_backend_entry().create(Precision::f64);
  const MappedNetwork optics = map_network(network, options);
  const std::vector<Eigen::MatrixXcd> ideal = compose_ideal(optics, *backend);
  const auto weight = [&](const StaticImperfections& imperfections) {
    return NetworkOptics(optics, ideal, *backend,
                         {.imperfections = imperfections,
                          .ablation = {},
                          .calibration = MeshCalibration::none})
        .chip(1, 0)
        .layers.front()
        .weight;
  };
  const double simulated_db = -20 * std::log10(weight(lossy).norm() / weight({}).norm());
  const LayerLoss expected =
      layer_loss(unit_structure(layer_shapes(network), {options}).layers.front(), loss);
  CHECK(simulated_db ==
        Approx(expected.mzi_db + expected.waveguide_db + expected.facet_db).epsilon(1e-9));
}

TEST_CASE("losses of a layer by hand") {
  // 128 x 256 by svd: 256 + 128 columns and the attenuators; 0.04 cm a column.
  const LayerStructure svd = unit({256, 128}, mapped(Mapping::svd)).layers.front();
  CHECK(svd.depth == 385);
  const LayerLoss loss = layer_loss(svd, LossValues());
  CHECK(loss.mzi_db == Approx(115.5));
  CHECK(loss.waveguide_db == Approx(385 * 0.04 * 1.5));
  CHECK(loss.facet_db == 3);
  CHECK(loss.split_db == 0);
  CHECK(loss.sum_db == 0);
  const LayerStructure blocks = unit({256, 128}, mapped(Mapping::segmented, 8)).layers.front();
  CHECK(blocks.depth == 9);
  const LayerLoss less = layer_loss(blocks, LossValues());
  CHECK(less.split_db == Approx(10 * std::log10(16)));
  CHECK(less.sum_db == Approx(10 * std::log10(32)));
  CHECK(less.total_db() == Approx(9 * (0.3 + 0.04 * 1.5) + 3 + 10 * std::log10(16.0 * 32.0)));
}

TEST_CASE("widths that make no network") {
  CHECK_THROWS_AS(layer_shapes(std::vector<int>{4}), ConfigError);
  CHECK_THROWS_AS(layer_shapes(std::vector<int>{4, 0, 4}), ConfigError);
  CHECK_THROWS_AS(layer_shapes(std::vector<int>{4, 5000, 4}), ConfigError);
  CHECK_THROWS_AS(unit(eight_bits, mapped(Mapping::segmented, -1)), ConfigError);
}

}  // namespace optinc
