// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <numbers>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <Eigen/Dense>
#include <catch2/catch.hpp>

#include "solver/backend/registry.hpp"
#include "solver/error.hpp"
#include "solver/kernel/simd_kernels.hpp"
#include "tests/support/reference.hpp"

namespace optinc {

namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
const std::vector<int> mode_counts = {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65};
const std::vector<Precision> precisions = {Precision::f32, Precision::f64};

using testing::reference;

std::unique_ptr<Backend> cpu(const std::string& target, Precision precision) {
  return cpu_backend_entry(target).create(precision);
}

/// Every instruction set of this CPU in every precision.
template <class Check>
void for_each_cpu_backend(const Check& check) {
  for (const InstructionSet& set : cpu_instruction_sets()) {
    for (const Precision precision : precisions) {
      const std::unique_ptr<Backend> backend = cpu(std::string(set.name), precision);
      CAPTURE(backend->name(), precision == Precision::f32);
      check(*backend, precision);
    }
  }
}

/// A lossless mesh with random phases and splitting errors.
MeshState lossless_mesh(const Topology& topology, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::uniform_real_distribution<double> phase(0, 2 * std::numbers::pi);
  std::uniform_real_distribution<double> error(-0.1, 0.1);
  MeshState mesh{.topology = topology,
                 .mzis = std::vector<MziState<double>>(topology.mzi_count()),
                 .output_phase_rad = {}};
  for (MziState<double>& state : mesh.mzis) {
    state.theta_rad = phase(engine);
    state.phi_rad = phase(engine);
    state.alpha_rad = error(engine);
    state.beta_rad = error(engine);
    state.internal_lower.phase_rad = error(engine);
  }
  for (int mode = 0; mode < topology.modes; ++mode) {
    mesh.output_phase_rad.push_back(phase(engine));
  }
  return mesh;
}

/// The same with a loss of its own in every arm, losses between and optical crosstalk.
MeshState lossy_mesh(const Topology& topology, std::uint64_t seed) {
  MeshState mesh = lossless_mesh(topology, seed);
  std::mt19937_64 engine(seed + 1);
  std::uniform_real_distribution<double> transmission(0.9, 1);
  for (MziState<double>& state : mesh.mzis) {
    for (Arm<double>* arm :
         {&state.input_upper, &state.input_lower, &state.internal_upper, &state.internal_lower}) {
      arm->amplitude_transmission = transmission(engine);
    }
  }
  mesh.pass_amplitude_transmission = 0.97;
  mesh.common_amplitude_transmission = 0.9;
  mesh.optical_crosstalk_angle_rad = seed % 2 == 0 ? 0.05 : 0;
  return mesh;
}

/// Columns anywhere, some of them empty.
Topology random_columns(int modes, int columns, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  const auto up_to = [&](int most) { return std::uniform_int_distribution<int>(0, most)(engine); };
  std::vector<MeshColumn> list;
  for (int i = 0; i < columns; ++i) {
    const int first_mode = up_to(modes);
    list.push_back({first_mode, up_to((modes - first_mode) / 2)});
  }
  return column_topology(modes, list);
}

/// A triangle and its mirror image, as of a Reck mesh and a diamond.
Topology diamond(int modes) {
  std::vector<MeshColumn> list;
  for (int height = 1; height <= modes / 2; ++height) list.push_back({modes - 2 * height, height});
  for (int height = modes / 2; height >= 1; --height) list.push_back({0, height});
  return column_topology(modes, list);
}

/// One element at a time, from the bottom up and back.
Topology zigzag(int modes) {
  std::vector<MeshColumn> list;
  for (int mode = modes - 2; mode >= 0; --mode) list.push_back({mode, 1});
  for (int mode = 0; mode + 1 < modes; ++mode) list.push_back({mode, 1});
  return column_topology(modes, list);
}

/// The same column again and again.
Topology repeated(int modes, int columns) {
  return column_topology(
      modes, std::vector<MeshColumn>(static_cast<std::size_t>(columns), {1, (modes - 1) / 2}));
}

Eigen::MatrixXcd random_fields(int modes, Eigen::Index samples, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::normal_distribution<double> normal;
  return Eigen::MatrixXcd::NullaryExpr(
      modes, samples, [&] { return std::complex<double>(normal(engine), normal(engine)); });
}

Eigen::MatrixXd random_values(Eigen::Index rows, Eigen::Index columns, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::normal_distribution<double> normal;
  return Eigen::MatrixXd::NullaryExpr(rows, columns, [&] { return normal(engine); });
}

/// Widths of inputs, layers and outputs; activations in turn from `first`.
std::vector<RealLayer> random_layers(const std::vector<int>& widths, std::size_t first) {
  const std::vector<Activation> activations = {Activation::relu, Activation::clipped_relu,
                                               Activation::identity};
  std::vector<RealLayer> layers;
  for (std::size_t i = 0; i + 1 < widths.size(); ++i) {
    layers.push_back(
        {.weight = random_values(widths[i + 1], widths[i], 2 * i) / std::sqrt(widths[i]),
         .bias = random_values(widths[i + 1], 1, 2 * i + 1),
         .activation = activations[(first + i) % activations.size()],
         .clip = 0.7});
  }
  return layers;
}

/// Root mean square of the difference over that of `expected`.
template <class Matrix>
double relative_error(const Matrix& found, const Matrix& expected) {
  return (found - expected).norm() / std::max(expected.norm(), 1e-300);
}

/// Rounding that `steps` operations in a row may leave.
double tolerance(Precision precision, int steps) {
  return (precision == Precision::f32 ? 2e-7 : 4e-16) * std::sqrt(std::max(steps, 1) + 3.0);
}

/// The design's limit for float meshes is 1e-6 sqrt(N).
double float_limit(int modes) { return 3e-7 * std::sqrt(modes); }

double power_drift(const Eigen::MatrixXcd& unitary) {
  return (unitary.colwise().squaredNorm().array() - 1).abs().maxCoeff();
}

template <class Matrix>
bool same_bits(const Matrix& a, const Matrix& b) {
  return a.rows() == b.rows() && a.cols() == b.cols() &&
         std::memcmp(a.data(), b.data(),
                     static_cast<std::size_t>(a.size()) * sizeof(typename Matrix::Scalar)) == 0;
}

Eigen::MatrixXcd sent(const Backend& backend, const MeshState& mesh, Eigen::MatrixXcd fields) {
  backend.propagate(mesh, fields);
  return fields;
}

void check_against_reference(const MeshState& mesh) {
  const Eigen::MatrixXcd expected = reference()->compose(mesh);
  const auto depth = static_cast<int>(mesh.topology.columns.size());
  CAPTURE(mesh.topology.modes, depth);
  for_each_cpu_backend([&](const Backend& backend, Precision precision) {
    CHECK(relative_error(backend.compose(mesh), expected) < tolerance(precision, depth));
  });
}

}  // namespace

TEST_CASE("the cpu backend composes the meshes that the reference composes") {
  for (const int modes : mode_counts) {
    check_against_reference(lossless_mesh(clements_topology(modes), 1));
    check_against_reference(lossy_mesh(clements_topology(modes), 2));
  }
}

TEST_CASE("the cpu backend composes any list of columns") {
  for (const int modes : {2, 3, 7, 16, 33}) {
    check_against_reference(lossy_mesh(diamond(modes), 1));
    check_against_reference(lossy_mesh(zigzag(modes), 2));
    check_against_reference(lossy_mesh(repeated(modes, 11), 3));
    check_against_reference(lossy_mesh(column_topology(modes, {}), 4));
    check_against_reference(lossy_mesh(column_topology(modes, {{modes, 0}, {0, 0}}), 4));
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
      check_against_reference(
          lossy_mesh(random_columns(modes, 5 + 3 * static_cast<int>(seed), seed), seed));
    }
  }
}

TEST_CASE("float meshes stay close to double ones and keep their power") {
  for (const InstructionSet& set : cpu_instruction_sets()) {
    const auto backend = cpu(std::string(set.name), Precision::f32);
    for (const int modes : {2, 8, 33, 64}) {
      const MeshState mesh = lossless_mesh(clements_topology(modes), 5);
      const Eigen::MatrixXcd matrix = backend->compose(mesh);
      CAPTURE(set.name, modes);
      CHECK((matrix - reference()->compose(mesh)).norm() / std::sqrt(modes) < float_limit(modes));
      CHECK(power_drift(matrix) < float_limit(modes));
      // In single precision indeed.
      CHECK(power_drift(matrix) > 1e-9);
    }
  }
}

TEST_CASE("large float meshes stay close to double ones and keep their power", "[slow]") {
  for (const int modes : {256, 512}) {
    const MeshState mesh = lossless_mesh(clements_topology(modes), 6);
    const Eigen::MatrixXcd expected = reference()->compose(mesh);
    for (const InstructionSet& set : cpu_instruction_sets()) {
      const Eigen::MatrixXcd matrix = cpu(std::string(set.name), Precision::f32)->compose(mesh);
      CAPTURE(set.name, modes);
      CHECK((matrix - expected).norm() / std::sqrt(modes) < float_limit(modes));
      CHECK(power_drift(matrix) < float_limit(modes));
      CHECK(relative_error(cpu(std::string(set.name), Precision::f64)->compose(mesh), expected) <
            tolerance(Precision::f64, modes));
    }
  }
}

TEST_CASE("the cpu backend propagates fields as the reference does, for any number of samples") {
  for (const int modes : {1, 2, 9, 33}) {
    const MeshState mesh = lossy_mesh(clements_topology(modes), 3);
    for (const Eigen::Index samples : {0, 1, 2, 3, 7, 8, 9, 17, 63, 64, 65, 515}) {
      const Eigen::MatrixXcd fields = random_fields(modes, samples, 4);
      const Eigen::MatrixXcd expected = sent(*reference(), mesh, fields);
      CAPTURE(modes, samples);
      for_each_cpu_backend([&](const Backend& backend, Precision precision) {
        CHECK(relative_error(sent(backend, mesh, fields), expected) < tolerance(precision, modes));
      });
    }
  }
}

TEST_CASE("a sample's result has the same bits alone, in a batch and at another place") {
  const MeshState mesh = lossy_mesh(random_columns(13, 20, 8), 8);
  const Eigen::MatrixXcd fields = random_fields(13, 521, 9);
  for_each_cpu_backend([&](const Backend& backend, Precision) {
    const Eigen::MatrixXcd together = sent(backend, mesh, fields);
    const Eigen::MatrixXcd mirrored = sent(backend, mesh, fields.rowwise().reverse());
    CHECK(same_bits(Eigen::MatrixXcd(mirrored.rowwise().reverse()), together));
    for (const Eigen::Index sample : {0, 1, 7, 8, 62, 63, 64, 127, 128, 255, 256, 519, 520}) {
      CAPTURE(sample);
      CHECK(same_bits(sent(backend, mesh, fields.col(sample)),
                      Eigen::MatrixXcd(together.col(sample))));
    }
  });
}

TEST_CASE("a composed matrix equals the identity sent through the mesh, light cone or not") {
  for (const Topology& topology :
       {clements_topology(5), clements_topology(130), diamond(70), zigzag(40),
        random_columns(90, 50, 4), random_columns(300, 40, 5)}) {
    const MeshState mesh = lossy_mesh(topology, 5);
    const Eigen::MatrixXcd identity = Eigen::MatrixXcd::Identity(topology.modes, topology.modes);
    CAPTURE(topology.modes);
    for_each_cpu_backend([&](const Backend& backend, Precision) {
      // Equal values: the sign of a zero may differ.
      CHECK(backend.compose(mesh) == sent(backend, mesh, identity));
    });
  }
}

TEST_CASE("composed chips equal the composition of their perturbed meshes") {
  const MeshState mesh = lossless_mesh(clements_topology(9), 4);
  MeshProgram program{.topology = mesh.topology,
                      .theta_rad = {},
                      .phi_rad = {},
                      .output_phase_rad = mesh.output_phase_rad};
  for (const MziState<double>& state : mesh.mzis) {
    program.theta_rad.push_back(state.theta_rad);
    program.phi_rad.push_back(state.phi_rad);
  }
  StaticImperfections imperfections;
  imperfections.phase_fabrication_sigma_rad = 0.05;
  const std::vector<std::uint32_t> chips = {3, 0, 7};
  const ChipMesh mesh_of_chips(program, imperfections, 2);
  for_each_cpu_backend([&](const Backend& backend, Precision) {
    const auto matrices = backend.compose_chips({mesh_of_chips, 11, chips});
    REQUIRE(matrices.size() == chips.size());
    for (std::size_t i = 0; i < chips.size(); ++i) {
      CHECK(same_bits(matrices[i],
                      backend.compose(perturbed_state(program, imperfections, 11, chips[i], 2))));
    }
    CHECK_FALSE(same_bits(matrices[0], matrices[1]));
  });
}

TEST_CASE("the cpu backend evaluates codes as the reference does, for any shape") {
  const std::vector<std::vector<int>> shapes = {{1, 1},        {3, 5},         {4, 4, 4},
                                                {4, 17, 6, 3}, {5, 64, 33, 2}, {2, 300, 7}};
  for (const std::vector<int>& widths : shapes) {
    for (std::size_t first = 0; first < 3; ++first) {
      const std::vector<RealLayer> layers = random_layers(widths, first);
      for (const Eigen::Index codes : {0, 1, 2, 11, 12, 13, 23, 24, 25, 49, 1500}) {
        const Eigen::MatrixXd inputs = random_values(widths.front(), codes, 7);
        const Eigen::MatrixXd expected = reference()->evaluate_codes(layers, inputs);
        CAPTURE(widths.size(), widths[1], first, codes);
        for_each_cpu_backend([&](const Backend& backend, Precision precision) {
          const Eigen::MatrixXd found = backend.evaluate_codes(layers, inputs);
          REQUIRE(found.rows() == widths.back());
          // Layers that cut most of their values leave sums that cancel.
          CHECK(relative_error(found, expected) < 4 * tolerance(precision, 64));
        });
      }
    }
  }
}

TEST_CASE("a code's result has the same bits alone, in a batch and at another place") {
  const std::vector<RealLayer> layers = random_layers({6, 41, 9, 5}, 0);
  const Eigen::MatrixXd inputs = random_values(6, 2000, 3);
  for_each_cpu_backend([&](const Backend& backend, Precision) {
    const Eigen::MatrixXd together = backend.evaluate_codes(layers, inputs);
    const Eigen::MatrixXd mirrored = backend.evaluate_codes(layers, inputs.rowwise().reverse());
    CHECK(same_bits(Eigen::MatrixXd(mirrored.rowwise().reverse()), together));
    for (const Eigen::Index code : {0, 5, 11, 12, 23, 24, 1000, 1999}) {
      CAPTURE(code);
      CHECK(same_bits(backend.evaluate_codes(layers, inputs.col(code)),
                      Eigen::MatrixXd(together.col(code))));
    }
  });
}

TEST_CASE("activations cut where they should") {
  const Eigen::RowVectorXd values = (Eigen::RowVectorXd(5) << -2, -0.0, 0.5, 0.75, 3).finished();
  const auto outputs = [&](const Backend& backend, Activation activation) {
    const RealLayer layer{.weight = Eigen::MatrixXd::Identity(1, 1),
                          .bias = Eigen::VectorXd::Zero(1),
                          .activation = activation,
                          .clip = 0.75};
    return Eigen::RowVectorXd(backend.evaluate_codes({&layer, 1}, values));
  };
  for_each_cpu_backend([&](const Backend& backend, Precision) {
    CHECK(outputs(backend, Activation::identity) == values);
    CHECK(outputs(backend, Activation::relu) ==
          (Eigen::RowVectorXd(5) << 0, 0, 0.5, 0.75, 3).finished());
    CHECK(outputs(backend, Activation::clipped_relu) ==
          (Eigen::RowVectorXd(5) << 0, 0, 0.5, 0.75, 0.75).finished());
  });
}

TEST_CASE("NaN and infinity get through, and only where they belong") {
  MeshState mesh = lossless_mesh(clements_topology(6), 4);
  Eigen::MatrixXcd fields = random_fields(6, 20, 4);
  fields(2, 11) = nan;
  const std::vector<RealLayer> layers = random_layers({3, 5, 2}, 0);
  Eigen::MatrixXd inputs = random_values(3, 40, 5);
  inputs(1, 17) = nan;
  for_each_cpu_backend([&](const Backend& backend, Precision precision) {
    const Eigen::MatrixXcd out = sent(backend, mesh, fields);
    CHECK(out.col(11).hasNaN());
    CHECK_FALSE(out.leftCols(11).hasNaN());
    CHECK_FALSE(out.rightCols(8).hasNaN());
    const Eigen::MatrixXd values = backend.evaluate_codes(layers, inputs);
    CHECK(values.col(17).hasNaN());
    CHECK_FALSE(values.leftCols(17).hasNaN());
    CHECK_FALSE(values.rightCols(22).hasNaN());
    MeshState broken = mesh;
    broken.mzis[3].theta_rad = nan;
    CHECK(backend.compose(broken).hasNaN());
    if (precision == Precision::f32) {
      const Eigen::MatrixXcd huge = sent(backend, mesh, 1e39 * random_fields(6, 1, 1));
      CHECK_FALSE(huge.allFinite());
    }
  });
}

TEST_CASE("one backend serves several threads") {
  const MeshState mesh = lossy_mesh(clements_topology(40), 1);
  const std::vector<RealLayer> layers = random_layers({4, 50, 3}, 0);
  const Eigen::MatrixXd inputs = random_values(4, 3000, 1);
  for_each_cpu_backend([&](const Backend& backend, Precision) {
    const Eigen::MatrixXcd matrix = backend.compose(mesh);
    const Eigen::MatrixXd outputs = backend.evaluate_codes(layers, inputs);
    std::vector<int> same(4, 0);
    std::vector<std::thread> threads;
    for (int& result : same) {
      threads.emplace_back([&] {
        result = same_bits(backend.compose(mesh), matrix) &&
                 same_bits(backend.evaluate_codes(layers, inputs), outputs);
      });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(std::count(same.begin(), same.end(), 1) == 4);
  });
}

TEST_CASE("the name says which instruction set runs, several in one process") {
  std::vector<std::unique_ptr<Backend>> backends;
  for (const InstructionSet& set : cpu_instruction_sets()) {
    backends.push_back(cpu(std::string(set.name), Precision::f64));
  }
  for (std::size_t i = 0; i < backends.size(); ++i) {
    CHECK(backends[i]->name() == "cpu/" + std::string(cpu_instruction_sets()[i].name));
  }
  CHECK(cpu("auto", Precision::f32)->name() == backends.front()->name());
  CHECK(backends.back()->name() == "cpu/scalar");
}

TEST_CASE("instruction sets differ in their rounding, so each is what its name says") {
  const MeshState mesh = lossless_mesh(clements_topology(16), 2);
  const Eigen::MatrixXcd scalar = cpu("scalar", Precision::f64)->compose(mesh);
  for (const InstructionSet& set : cpu_instruction_sets()) {
    const bool fuses = set.name == "avx2" || set.name == "avx512";
    CAPTURE(set.name);
    CHECK((cpu(std::string(set.name), Precision::f64)->compose(mesh) != scalar) == fuses);
  }
}

TEST_CASE("an instruction set that is unknown or missing here is an error") {
  CHECK_THROWS_AS(cpu("avx1024", Precision::f64), ConfigError);
  CHECK_THROWS_WITH(cpu("avx1024", Precision::f64), Catch::Contains("auto, avx512, avx2, sse4"));
  CHECK_THROWS_AS(cpu("", Precision::f64), ConfigError);
  for (const std::string& name : instruction_set_names()) {
    const auto sets = cpu_instruction_sets();
    const bool here = std::any_of(sets.begin(), sets.end(),
                                  [&](const InstructionSet& set) { return set.name == name; });
    if (here) {
      CHECK_NOTHROW(cpu(name, Precision::f64));
    } else {
      CHECK_THROWS_AS(cpu(name, Precision::f64), BackendError);
      CHECK_THROWS_WITH(cpu(name, Precision::f64),
                        Catch::Contains(name) && Catch::Contains("scalar"));
    }
  }
}

TEST_CASE("shapes that do not fit are refused") {
  const auto backend = cpu("auto", Precision::f64);
  Eigen::MatrixXcd fields = Eigen::MatrixXcd::Zero(4, 2);
  CHECK_THROWS_AS(backend->propagate(lossless_mesh(clements_topology(5), 1), fields), ConfigError);
  const std::vector<RealLayer> layers = random_layers({3, 5, 2}, 0);
  CHECK_THROWS_AS(backend->evaluate_codes(layers, Eigen::MatrixXd::Zero(4, 2)), ConfigError);
  CHECK(backend->evaluate_codes({}, Eigen::MatrixXd::Ones(4, 2)) == Eigen::MatrixXd::Ones(4, 2));
}

}  // namespace optinc
