// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <memory>
#include <numbers>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include <Eigen/Dense>
#include <catch2/catch.hpp>

#include "noise/stream.hpp"
#include "solver/backend/registry.hpp"
#include "solver/error.hpp"
#include "solver/mesh/decomposition.hpp"
#include "solver/mesh/program.hpp"
#include "tests/solver/mesh/dense_mesh.hpp"
#include "tests/support/haar.hpp"
#include "tests/support/reference.hpp"

namespace optinc {

namespace {

using testing::dense_mesh;
using testing::dense_mzi;
using testing::haar_orthogonal;
using testing::haar_unitary;

using std::numbers::pi;
const std::complex<double> i_unit(0, 1);

using testing::reference;

Eigen::Matrix2cd to_matrix(const Transfer2x2<double>& transfer) {
  const auto entry = [](Complex<double> value) { return std::complex<double>(value.re, value.im); };
  Eigen::Matrix2cd matrix;
  matrix << entry(transfer.m11), entry(transfer.m12), entry(transfer.m21), entry(transfer.m22);
  return matrix;
}

MziState<double> programmed(double theta_rad, double phi_rad) {
  MziState<double> state{};
  state.theta_rad = theta_rad;
  state.phi_rad = phi_rad;
  return state;
}

/// A mesh with every kind of error, from a fixed seed.
MeshState imperfect_mesh(const Topology& topology, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::uniform_real_distribution<double> phase(0, 2 * pi);
  std::uniform_real_distribution<double> error(-0.1, 0.1);
  MeshState mesh{.topology = topology,
                 .mzis = std::vector<MziState<double>>(topology.mzi_count()),
                 .output_phase_rad = {}};
  for (MziState<double>& state : mesh.mzis) {
    state = programmed(phase(engine), phase(engine));
    state.alpha_rad = error(engine);
    state.beta_rad = error(engine);
    for (Arm<double>* arm :
         {&state.input_upper, &state.input_lower, &state.internal_upper, &state.internal_lower}) {
      *arm = {error(engine), 0.95 + error(engine) / 2};
    }
  }
  for (int mode = 0; mode < topology.modes; ++mode) {
    mesh.output_phase_rad.push_back(phase(engine));
  }
  return mesh;
}

MeshProgram random_program(int modes, std::uint64_t seed) {
  return decompose(haar_unitary(modes, seed));
}

bool same_bits(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

double residual(const Eigen::MatrixXcd& a, const Eigen::MatrixXcd& b) {
  return (a - b).norm() / std::sqrt(static_cast<double>(a.rows()));
}

/// Decomposes, composes, and checks the promises of `decompose`.
void check_round_trip(const Eigen::MatrixXcd& unitary, const std::string& what,
                      Topology::Kind kind) {
  CAPTURE(what, unitary.rows(), static_cast<int>(kind));
  const MeshProgram program = decompose(unitary, kind);
  REQUIRE(program.topology == standard_topology(kind, static_cast<int>(unitary.rows())));
  REQUIRE(program.theta_rad.size() == program.topology.mzi_count());
  REQUIRE(program.phi_rad.size() == program.topology.mzi_count());
  const auto in_turn = [](double angle_rad) { return angle_rad >= 0 && angle_rad < 2 * pi; };
  CHECK(std::all_of(program.theta_rad.begin(), program.theta_rad.end(), in_turn));
  CHECK(std::all_of(program.phi_rad.begin(), program.phi_rad.end(), in_turn));
  CHECK(std::all_of(program.output_phase_rad.begin(), program.output_phase_rad.end(), in_turn));
  for (std::size_t i = 0; i < program.theta_rad.size(); ++i) {
    const double theta_rad = program.theta_rad[i];
    const bool routes_only = theta_rad < 1e-15 || std::abs(theta_rad - pi) < 1e-15;
    if (routes_only && program.phi_rad[i] != 0) FAIL_CHECK("phi is not 0 at a routing MZI");
  }
  CHECK(residual(reference()->compose(ideal_state(program)), unitary) < 1e-12);
}

void check_round_trip(const Eigen::MatrixXcd& unitary, const std::string& what) {
  check_round_trip(unitary, what, Topology::Kind::clements);
  check_round_trip(unitary, what, Topology::Kind::reck);
}

bool only_routes(const MeshProgram& program) {
  return std::all_of(program.theta_rad.begin(), program.theta_rad.end(),
                     [](double theta_rad) { return theta_rad == 0 || theta_rad == pi; });
}

Eigen::MatrixXcd permutation_matrix(const std::vector<int>& target) {
  const auto modes = static_cast<Eigen::Index>(target.size());
  Eigen::MatrixXcd matrix = Eigen::MatrixXcd::Zero(modes, modes);
  for (Eigen::Index i = 0; i < modes; ++i) matrix(target[static_cast<std::size_t>(i)], i) = 1;
  return matrix;
}

std::vector<int> shuffled_modes(int modes, std::uint64_t seed) {
  std::vector<int> target(static_cast<std::size_t>(modes));
  std::iota(target.begin(), target.end(), 0);
  std::mt19937_64 engine(seed);
  std::shuffle(target.begin(), target.end(), engine);
  return target;
}

Eigen::VectorXcd unit_phases(int modes) {
  Eigen::VectorXcd phases = haar_unitary(modes, 1).col(0);
  for (std::complex<double>& entry : phases) entry /= std::abs(entry);
  return phases;
}

Eigen::MatrixXcd block_diagonal(int modes) {
  const int first = modes / 3;
  Eigen::MatrixXcd matrix = Eigen::MatrixXcd::Zero(modes, modes);
  if (first > 0) matrix.topLeftCorner(first, first) = haar_unitary(first, 5);
  matrix.bottomRightCorner(modes - first, modes - first) = haar_unitary(modes - first, 6);
  return matrix;
}

/// exp(i size H) to first order, made unitary: an identity with elements near `size`.
Eigen::MatrixXcd near_identity(int modes, double size) {
  const Eigen::MatrixXcd noise = haar_unitary(modes, 9);
  const Eigen::MatrixXcd start = Eigen::MatrixXcd::Identity(modes, modes) + size * noise;
  const Eigen::JacobiSVD<Eigen::MatrixXcd> svd(start, Eigen::ComputeFullU | Eigen::ComputeFullV);
  return svd.matrixU() * svd.matrixV().adjoint();
}

Eigen::MatrixXcd fourier(int modes) {
  Eigen::MatrixXcd matrix(modes, modes);
  for (int row = 0; row < modes; ++row) {
    for (int column = 0; column < modes; ++column) {
      matrix(row, column) = std::polar(1 / std::sqrt(static_cast<double>(modes)),
                                       2 * pi * ((row * column) % modes) / modes);
    }
  }
  return matrix;
}

Eigen::MatrixXcd reflection(int modes) {
  const Eigen::VectorXcd normal = haar_unitary(modes, 11).col(0);
  return Eigen::MatrixXcd::Identity(modes, modes) - 2.0 * normal * normal.adjoint();
}

}  // namespace

TEST_CASE("a balanced coupler splits in half with a quarter turn of phase") {
  const Eigen::Matrix2cd matrix = to_matrix(coupler(pi / 4));
  Eigen::Matrix2cd expected;
  expected << 1, i_unit, i_unit, 1;
  CHECK((matrix - expected / std::sqrt(2.0)).norm() < 1e-15);
  CHECK((to_matrix(coupler(0.0)) - Eigen::Matrix2cd::Identity()).norm() == 0);
  // Two quarter couplers in a row are one full crossing.
  Eigen::Matrix2cd crossing;
  crossing << 0, i_unit, i_unit, 0;
  CHECK((to_matrix(coupler(pi / 4) * coupler(pi / 4)) - crossing).norm() < 1e-15);
}

TEST_CASE("an arm turns the phase and scales the amplitude") {
  const Eigen::Matrix2cd matrix =
      to_matrix(arm_pair(Arm<double>{pi / 2, 0.5}, Arm<double>{pi, 1.0}));
  Eigen::Matrix2cd expected;
  expected << 0.5 * i_unit, 0, 0, -1;
  CHECK((matrix - expected).norm() < 1e-15);
}

TEST_CASE("the ideal MZI has its closed form, with cross at 0 and bar at pi") {
  for (const double theta_rad : {0.0, 0.3, pi / 2, 2.9, pi, 4.4, 6.2}) {
    for (const double phi_rad : {0.0, 1.1, 5.0}) {
      const std::complex<double> upper_input = std::polar(1.0, phi_rad);
      Eigen::Matrix2cd expected;
      expected << upper_input * std::sin(theta_rad / 2), std::cos(theta_rad / 2),
          upper_input * std::cos(theta_rad / 2), -std::sin(theta_rad / 2);
      expected *= i_unit * std::polar(1.0, theta_rad / 2);
      CAPTURE(theta_rad, phi_rad);
      CHECK((to_matrix(mzi(programmed(theta_rad, phi_rad))) - expected).norm() < 1e-15 * 4);
    }
  }
  CHECK(std::abs(to_matrix(mzi(programmed(0, 0.4)))(0, 0)) < 1e-15);
  CHECK(std::abs(to_matrix(mzi(programmed(pi, 0.4)))(0, 1)) < 1e-15);
}

TEST_CASE("an MZI with every error equals the product of textbook matrices") {
  const MeshState mesh = imperfect_mesh(clements_topology(8), 3);
  for (const MziState<double>& state : mesh.mzis) {
    CHECK((to_matrix(mzi(state)) - dense_mzi(state)).norm() < 1e-15 * 8);
  }
}

TEST_CASE("a lossless MZI is unitary and reciprocal for any coupler error") {
  MziState<double> state = programmed(1.2, 4.5);
  state.alpha_rad = 0.3;
  state.beta_rad = -0.2;
  const Eigen::Matrix2cd forward = to_matrix(mzi(state));
  CHECK((forward.adjoint() * forward - Eigen::Matrix2cd::Identity()).norm() < 1e-15 * 4);
  // Light sent backwards meets the same parts in the opposite order.
  const Eigen::Matrix2cd backward =
      to_matrix(arm_pair(Arm<double>{4.5, 1}, Arm<double>{}) * coupler(pi / 4 + 0.3) *
                arm_pair(Arm<double>{1.2, 1}, Arm<double>{}) * coupler(pi / 4 - 0.2));
  CHECK((forward.transpose() - backward).norm() < 1e-15 * 4);
}

TEST_CASE("coupler errors bound the bar transmission: sin^2(a + b) <= T <= cos^2(a - b)") {
  MziState<double> state{};
  state.alpha_rad = 0.12;
  state.beta_rad = 0.07;
  double least = 1;
  double most = 0;
  for (int step = 0; step <= 1000; ++step) {
    state.theta_rad = 2 * pi * step / 1000;
    const double bar = std::norm(to_matrix(mzi(state))(0, 0));
    least = std::min(least, bar);
    most = std::max(most, bar);
  }
  CHECK(least == Approx(std::pow(std::sin(0.19), 2)).epsilon(1e-12));
  CHECK(most == Approx(std::pow(std::cos(0.05), 2)).epsilon(1e-12));
}

TEST_CASE("Clements topologies have the published shape") {
  CHECK(clements_topology(1).columns.empty());
  CHECK(clements_topology(2).columns == std::vector<MeshColumn>{{0, 1}});
  CHECK(clements_topology(3).columns == std::vector<MeshColumn>{{0, 1}, {1, 1}, {0, 1}});
  CHECK(clements_topology(4).columns == std::vector<MeshColumn>{{0, 2}, {1, 1}, {0, 2}, {1, 1}});
  for (int modes = 1; modes <= 64; ++modes) {
    CHECK(clements_topology(modes).mzi_count() ==
          static_cast<std::size_t>(modes * (modes - 1) / 2));
  }
  CHECK_THROWS_AS(clements_topology(0), ConfigError);
}

TEST_CASE("Reck topologies have the published shape") {
  CHECK(reck_topology(1).columns.empty());
  CHECK(reck_topology(2).columns == std::vector<MeshColumn>{{0, 1}});
  CHECK(reck_topology(6).columns ==
        std::vector<MeshColumn>{
            {4, 1}, {3, 1}, {2, 2}, {1, 2}, {0, 3}, {1, 2}, {2, 2}, {3, 1}, {4, 1}});
  for (int modes = 2; modes <= 40; ++modes) {
    CHECK(reck_topology(modes).columns.size() == static_cast<std::size_t>(2 * modes - 3));
    CHECK(reck_topology(modes).mzi_count() == static_cast<std::size_t>(modes * (modes - 1) / 2));
  }
  CHECK_THROWS_AS(reck_topology(0), ConfigError);
  CHECK_THROWS_AS(decompose(haar_unitary(2, 1), Topology::Kind::columns), ConfigError);
}

TEST_CASE("a column that leaves the mesh is refused") {
  CHECK(column_topology(5, {{1, 2}, {4, 0}}).mzi_count() == 2);
  CHECK_THROWS_AS(column_topology(5, {{1, 2}, {2, 2}}), DataError);
  CHECK_THROWS_AS(column_topology(5, {{-1, 1}}), DataError);
  CHECK_THROWS_AS(column_topology(5, {{6, 0}}), DataError);
  CHECK_THROWS_AS(column_topology(5, {{0, -1}}), DataError);
  CHECK_THROWS_AS(column_topology(0, {}), DataError);
}

TEST_CASE("composing and propagating agree with a product of dense matrices") {
  const std::vector<Topology> topologies = {
      clements_topology(1),
      clements_topology(2),
      clements_topology(7),
      clements_topology(12),
      column_topology(6, {{4, 1}, {3, 1}, {2, 2}, {1, 2}, {0, 3}}),
      column_topology(3, {})};
  for (const Topology& topology : topologies) {
    const MeshState mesh = imperfect_mesh(topology, 7);
    const Eigen::MatrixXcd expected = dense_mesh(mesh);
    CAPTURE(topology.modes, topology.columns.size());
    CHECK((reference()->compose(mesh) - expected).norm() < 1e-14);
    Eigen::MatrixXcd fields = Eigen::MatrixXcd::Random(topology.modes, 5);
    const Eigen::MatrixXcd sent = expected * fields;
    reference()->propagate(mesh, fields);
    CHECK((fields - sent).norm() < 1e-13);
  }
}

TEST_CASE("a mesh with lossless errors stays unitary and with loss no field grows") {
  MeshState mesh = imperfect_mesh(clements_topology(24), 13);
  const Eigen::JacobiSVD<Eigen::MatrixXcd> lossy(reference()->compose(mesh));
  CHECK(lossy.singularValues()(0) < 1);
  for (MziState<double>& state : mesh.mzis) {
    for (Arm<double>* arm :
         {&state.input_upper, &state.input_lower, &state.internal_upper, &state.internal_lower}) {
      arm->amplitude_transmission = 1;
    }
  }
  CHECK(unitarity_residual(reference()->compose(mesh)) < 1e-13);
}

TEST_CASE("an ideal state carries the program and no error") {
  const MeshProgram program = random_program(5, 8);
  const MeshState state = ideal_state(program);
  REQUIRE(state.mzis.size() == 10);
  for (std::size_t i = 0; i < state.mzis.size(); ++i) {
    CHECK(same_bits(state.mzis[i].theta_rad, program.theta_rad[i]));
    CHECK(same_bits(state.mzis[i].phi_rad, program.phi_rad[i]));
    CHECK(state.mzis[i].alpha_rad == 0);
    CHECK(state.mzis[i].internal_lower.amplitude_transmission == 1);
  }
  CHECK(state.output_phase_rad == program.output_phase_rad);
}

TEST_CASE("static errors come from the addressed deviates, MZIs in flat order") {
  const MeshProgram program = random_program(6, 8);
  const StaticImperfections imperfections{
      .phase_fabrication_sigma_rad = 0.01, .coupler_sigma_rad = 0.02, .coupler_mean_rad = 0.003};
  const MeshState state = perturbed_state(program, imperfections, 99, 7, 12);
  StreamAddress address{.seed = 99, .chip = 7, .mesh_id = 12, .draw = DrawId::static_mzi};
  for (std::size_t i = 0; i < state.mzis.size(); ++i) {
    address.element = static_cast<std::uint32_t>(i);
    const UnitNormals normals = unit_normals(random_words(address));
    CHECK(state.mzis[i].theta_rad == program.theta_rad[i] + 0.01 * normals.value[0]);
    CHECK(state.mzis[i].phi_rad == program.phi_rad[i] + 0.01 * normals.value[1]);
    CHECK(state.mzis[i].alpha_rad == 0.003 + 0.02 * normals.value[2]);
    CHECK(state.mzis[i].beta_rad == 0.003 + 0.02 * normals.value[3]);
  }
  address.draw = DrawId::static_output_screen;
  for (std::size_t mode = 0; mode < 6; ++mode) {
    address.element = static_cast<std::uint32_t>(mode);
    const double normal = unit_normals(random_words(address)).value[0];
    CHECK(state.output_phase_rad[mode] == program.output_phase_rad[mode] + 0.01 * normal);
  }
}

TEST_CASE("a chip with every sigma at 0 is bit-identical to the ideal mesh") {
  const MeshProgram program = random_program(9, 8);
  const Eigen::MatrixXcd ideal = reference()->compose(ideal_state(program));
  const std::vector<std::uint32_t> chips = {0, 5};
  for (const bool on_output_screen : {true, false}) {
    const StaticImperfections off{.phase_on_output_screen = on_output_screen};
    const ChipMesh mesh(program, off, 2);
    for (const Eigen::MatrixXcd& matrix :
         reference()->compose_chips({.mesh = mesh, .seed = 1, .chips = chips})) {
      CHECK(matrix == ideal);
    }
  }
  // Couplers on, phases off: the phases keep their bits.
  const MeshState couplers = perturbed_state(program, {.coupler_sigma_rad = 0.1}, 1, 0, 0);
  for (std::size_t i = 0; i < couplers.mzis.size(); ++i) {
    CHECK(same_bits(couplers.mzis[i].theta_rad, program.theta_rad[i]));
    CHECK(same_bits(couplers.mzis[i].phi_rad, program.phi_rad[i]));
  }
  CHECK(couplers.output_phase_rad == program.output_phase_rad);
}

TEST_CASE("a batch of chips gives each chip what it gets alone, in the order asked for") {
  const MeshProgram program = random_program(7, 8);
  const StaticImperfections imperfections{.phase_fabrication_sigma_rad = 0.05};
  const std::vector<std::uint32_t> chips = {4, 0, 4000000000U};
  const ChipMesh mesh(program, imperfections, 1);
  const std::vector<Eigen::MatrixXcd> batch =
      reference()->compose_chips({.mesh = mesh, .seed = 3, .chips = chips});
  REQUIRE(batch.size() == 3);
  for (std::size_t i = 0; i < chips.size(); ++i) {
    const MeshState alone = perturbed_state(program, imperfections, 3, chips[i], 1);
    CHECK(batch[i] == reference()->compose(alone));
  }
  CHECK(batch[0] != batch[1]);
}

TEST_CASE("decompose then compose returns the matrix, N = 1 .. 64") {
  for (int modes = 1; modes <= 64; ++modes) {
    const auto seed = static_cast<std::uint64_t>(modes);
    check_round_trip(haar_unitary(modes, seed), "Haar");
    check_round_trip(haar_orthogonal(modes, seed).cast<std::complex<double>>(), "orthogonal");
    check_round_trip(block_diagonal(modes), "block diagonal");
    check_round_trip(fourier(modes), "Fourier");
    check_round_trip(reflection(modes), "reflection");
    check_round_trip(
        permutation_matrix(shuffled_modes(modes, seed)) * unit_phases(modes).asDiagonal(),
        "permutation with phases");
  }
}

TEST_CASE("nearly diagonal matrices decompose", "[mesh]") {
  for (const int modes : {2, 3, 8, 17, 32}) {
    for (const double size : {1e-4, 1e-8, 1e-12, 1e-15}) {
      CAPTURE(size);
      check_round_trip(near_identity(modes, size), "near identity");
    }
  }
}

TEST_CASE("identity, crossings and permutations need routing MZIs only") {
  for (int modes = 1; modes <= 64; ++modes) {
    const Eigen::MatrixXcd identity = Eigen::MatrixXcd::Identity(modes, modes);
    std::vector<int> cyclic(static_cast<std::size_t>(modes));
    for (int i = 0; i < modes; ++i) cyclic[static_cast<std::size_t>(i)] = (i + 1) % modes;
    const std::vector<Eigen::MatrixXcd> matrices = {
        identity, identity.rowwise().reverse(), permutation_matrix(cyclic),
        permutation_matrix(shuffled_modes(modes, 21)), Eigen::MatrixXcd(-i_unit * identity)};
    for (std::size_t i = 0; i < matrices.size(); ++i) {
      CAPTURE(modes, i);
      check_round_trip(matrices[i], "permutation");
      CHECK(only_routes(decompose(matrices[i])));
    }
  }
}

TEST_CASE("a 256-mode Haar matrix decomposes to 1e-12", "[slow]") {
  check_round_trip(haar_unitary(256, 256), "Haar");
}

TEST_CASE("a 1024-mode Haar matrix decomposes to 1e-11", "[slow]") {
  const Eigen::MatrixXcd unitary = haar_unitary(1024, 1);
  const MeshProgram program = decompose(unitary);
  CHECK(residual(reference()->compose(ideal_state(program)), unitary) < 1e-11);
}

/// Rank of every MZI in flat order (law A2): its bar transmission is Beta(1, rank) distributed.
std::vector<int> clements_ranks(int modes) {
  std::vector<int> ranks;
  const Topology topology = clements_topology(modes);
  for (int column = 0; column < static_cast<int>(topology.columns.size()); ++column) {
    const MeshColumn& place = topology.columns[static_cast<std::size_t>(column)];
    for (int i = 0; i < place.mzi_count; ++i) {
      const int mode = place.first_mode + 2 * i;
      const bool early = mode + column <= modes - 2;
      const int j = early ? column : modes - 1 - column;
      const int l = early ? mode + column + 1 : 2 * modes - 2 - mode - column;
      ranks.push_back(std::min(2 * j + 1, 2 * (l - j)));
    }
  }
  return ranks;
}

/// In a Reck mesh that nulls row after row, each from its end, the MZI on (mode, mode + 1) that
/// light of row r meets has rank N - 1 - mode.
std::vector<int> reck_ranks(int modes) {
  std::vector<int> ranks;
  for (const MeshColumn& place : reck_topology(modes).columns) {
    for (int i = 0; i < place.mzi_count; ++i) {
      ranks.push_back(modes - 1 - place.first_mode - 2 * i);
    }
  }
  return ranks;
}

TEST_CASE("Haar matrices give the transmissions of the known Beta distributions") {
  // Rank k occurs N - k times with mean 1/(k + 1) (Russell et al., arXiv 1506.06220); 0.2123
  // pooled for 16.
  constexpr int modes = 16;
  constexpr int meshes = 400;
  constexpr int mzis = modes * (modes - 1) / 2;
  for (const auto kind : {Topology::Kind::clements, Topology::Kind::reck}) {
    const std::vector<int> ranks =
        kind == Topology::Kind::reck ? reck_ranks(modes) : clements_ranks(modes);
    REQUIRE(ranks.size() == mzis);
    for (int rank = 1; rank < modes; ++rank) {
      CHECK(std::count(ranks.begin(), ranks.end(), rank) == modes - rank);
    }
    std::vector<double> sums(mzis, 0.0);
    for (std::uint64_t seed = 0; seed < meshes; ++seed) {
      const MeshProgram program = decompose(haar_unitary(modes, 1000 + seed), kind);
      for (std::size_t i = 0; i < sums.size(); ++i) {
        sums[i] += std::pow(std::sin(program.theta_rad[i] / 2), 2);
      }
    }
    double pooled = 0;
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const double rank = ranks[i];
      const double variance = rank / (std::pow(rank + 1, 2) * (rank + 2));
      const double mean = sums[i] / meshes;
      pooled += mean / mzis;
      // 240 comparisons, means of 400 bounded draws: 7.5 standard errors, false alarm below 1e-9.
      CAPTURE(i, rank, static_cast<int>(kind));
      CHECK(std::abs(mean - 1 / (rank + 1)) < 7.5 * std::sqrt(variance / meshes));
    }
    CHECK(pooled == Approx(0.2123).epsilon(0.02));
  }
}

TEST_CASE("the nearest unitary is offered and is the nearest") {
  const Eigen::MatrixXcd unitary = haar_unitary(6, 2);
  CHECK(residual(nearest_unitary(unitary), unitary) < 1e-14);
  CHECK(residual(nearest_unitary(0.3 * unitary), unitary) < 1e-14);
  const Eigen::MatrixXcd noisy = unitary + 0.05 * haar_unitary(6, 3);
  const Eigen::MatrixXcd nearest = nearest_unitary(noisy);
  CHECK(unitarity_residual(nearest) < 1e-14);
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const Eigen::MatrixXcd turn = haar_unitary(6, 100 + seed);
    const Eigen::MatrixXcd other = nearest_unitary(nearest + 0.01 * turn);
    CHECK((other - noisy).norm() > (nearest - noisy).norm());
  }
  CHECK_THROWS_AS(nearest_unitary(Eigen::MatrixXcd::Zero(3, 3)), DataError);
  CHECK_THROWS_AS(nearest_unitary(Eigen::MatrixXcd::Ones(3, 3)), DataError);
}

TEST_CASE("matrices that are no unitaries are refused with the reason") {
  const Eigen::MatrixXcd unitary = haar_unitary(5, 1);
  CHECK_THROWS_AS(decompose(unitary.leftCols(4)), DataError);
  CHECK_THROWS_AS(decompose(Eigen::MatrixXcd(0, 0)), DataError);
  CHECK_THROWS_WITH(decompose(1.001 * unitary), Catch::Contains("not unitary"));
  CHECK_NOTHROW(decompose(1.001 * unitary, Topology::Kind::clements, 0.1));
  Eigen::MatrixXcd broken = unitary;
  broken(2, 3) = std::numeric_limits<double>::quiet_NaN();
  CHECK_THROWS_WITH(decompose(broken), Catch::Contains("NaN"));
  broken(2, 3) = std::numeric_limits<double>::infinity();
  CHECK_THROWS_AS(decompose(broken), DataError);
}

TEST_CASE("the registry never falls back silently") {
  const BackendRegistry registry({cpu_backend_entry(), reference_backend_entry()});
  CHECK_THAT(registry.create("auto", Precision::f64)->name(), Catch::StartsWith("cpu/"));
  CHECK_THAT(registry.create("auto", Precision::f32)->name(), Catch::StartsWith("cpu/"));
  CHECK(registry.create("reference", Precision::f64)->name() == "reference");
  CHECK_THROWS_AS(registry.create("reference", Precision::f32), BackendError);
  const BackendRegistry oracle_only({reference_backend_entry()});
  CHECK(oracle_only.create("auto", Precision::f64)->name() == "reference");
  CHECK_THROWS_AS(oracle_only.create("auto", Precision::f32), BackendError);
  const BackendRegistry one_missing({{.name = "absent",
                                      .description = "",
                                      .unavailable_reason = "not built",
                                      .precisions = {Precision::f32, Precision::f64},
                                      .create = nullptr},
                                     reference_backend_entry()});
  CHECK(one_missing.create("auto", Precision::f64)->name() == "reference");
  CHECK_THROWS_AS(one_missing.create("absent", Precision::f64), BackendError);
  CHECK_THROWS_WITH(one_missing.create("absent", Precision::f64), Catch::Contains("not built"));
  CHECK_THROWS_AS(registry.create("abacus", Precision::f64), ConfigError);
  CHECK_THROWS_WITH(registry.create("abacus", Precision::f64),
                    Catch::Contains("auto, cpu, reference"));
}

TEST_CASE("propagate refuses fields with another number of modes") {
  Eigen::MatrixXcd fields = Eigen::MatrixXcd::Zero(4, 2);
  const MeshState mesh = ideal_state(random_program(5, 1));
  CHECK_THROWS_AS(reference()->propagate(mesh, fields), ConfigError);
}

TEST_CASE("code evaluation equals a plain loop over neurons, whatever the tile") {
  std::mt19937_64 engine(5);
  std::normal_distribution<double> normal;
  const std::vector<int> widths = {4, 17, 6, 3};
  std::vector<RealLayer> layers;
  for (std::size_t i = 0; i + 1 < widths.size(); ++i) {
    RealLayer layer{.weight = Eigen::MatrixXd(widths[i + 1], widths[i]),
                    .bias = Eigen::VectorXd(widths[i + 1]),
                    .activation = std::vector{Activation::relu, Activation::clipped_relu,
                                              Activation::identity}[i],
                    .clip = 0.75};
    for (double& entry : layer.weight.reshaped()) entry = normal(engine);
    for (double& entry : layer.bias) entry = normal(engine);
    layers.push_back(layer);
  }
  Eigen::MatrixXd inputs(4, 1025);
  for (double& entry : inputs.reshaped()) entry = normal(engine);
  const Eigen::MatrixXd outputs = reference()->evaluate_codes(layers, inputs);
  REQUIRE(outputs.rows() == 3);
  REQUIRE(outputs.cols() == 1025);
  double worst = 0;
  for (Eigen::Index code = 0; code < inputs.cols(); ++code) {
    std::vector<double> values(inputs.col(code).begin(), inputs.col(code).end());
    for (const RealLayer& layer : layers) {
      std::vector<double> next;
      for (Eigen::Index row = 0; row < layer.weight.rows(); ++row) {
        double sum = layer.bias(row);
        for (std::size_t i = 0; i < values.size(); ++i) {
          sum += layer.weight(row, static_cast<Eigen::Index>(i)) * values[i];
        }
        if (layer.activation != Activation::identity) sum = std::max(sum, 0.0);
        if (layer.activation == Activation::clipped_relu) sum = std::min(sum, 0.75);
        next.push_back(sum);
      }
      values = next;
    }
    for (std::size_t i = 0; i < 3; ++i) {
      worst = std::max(worst, std::abs(outputs(static_cast<Eigen::Index>(i), code) - values[i]));
    }
  }
  CHECK(worst < 1e-13);
  CHECK(reference()->evaluate_codes(layers, inputs.leftCols(1024)) == outputs.leftCols(1024));
  CHECK(reference()->evaluate_codes({}, inputs) == inputs);
}

}  // namespace optinc
