// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <fstream>
#include <memory>
#include <numbers>
#include <random>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "solver/backend/registry.hpp"
#include "solver/error.hpp"
#include "solver/mesh/correction.hpp"
#include "solver/mesh/decomposition.hpp"
#include "solver/mesh/mesh_json.hpp"
#include "tests/solver/mesh/dense_mesh.hpp"
#include "tests/support/haar.hpp"

namespace optinc {

namespace {

using testing::dense_mesh;
using testing::dense_mzi;
using testing::haar_orthogonal;
using testing::haar_unitary;

constexpr double pi = std::numbers::pi;

const Backend& reference() {
  static const std::unique_ptr<Backend> backend =
      BackendRegistry({reference_backend_entry()}).create("reference", Precision::f64);
  return *backend;
}

/// E from matrices that are formed without the sweep under test.
double dense_error(const MeshProgram& target, const MeshState& chip, const MeshProgram& program) {
  const Eigen::MatrixXcd ideal = dense_mesh(ideal_state(target));
  return (dense_mesh(reprogrammed(chip, target, program)) - ideal).norm() /
         std::sqrt(static_cast<double>(ideal.rows()));
}

MeshState splitter_chip(const MeshProgram& program, double sigma_rad, std::uint32_t chip = 0) {
  return perturbed_state(program, {.coupler_sigma_rad = sigma_rad}, 11, chip, 0);
}

/// A lossless chip with errors on all phases, couplers and arms, up to `size_rad` each.
MeshState imperfect_chip(const MeshProgram& program, double size_rad, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::uniform_real_distribution<double> error(-size_rad, size_rad);
  MeshState chip = ideal_state(program);
  for (MziState<double>& state : chip.mzis) {
    for (double* value : {&state.theta_rad, &state.phi_rad, &state.alpha_rad, &state.beta_rad,
                          &state.input_upper.phase_rad, &state.input_lower.phase_rad,
                          &state.internal_upper.phase_rad, &state.internal_lower.phase_rad}) {
      *value += error(engine);
    }
  }
  for (double& phase : chip.output_phase_rad) phase += error(engine);
  return chip;
}

bool in_turn(const std::vector<double>& angles_rad) {
  return std::all_of(angles_rad.begin(), angles_rad.end(),
                     [](double angle) { return angle >= 0 && angle < 2 * pi; });
}

/// A program whose splits stay far from bar and cross, on any topology.
MeshProgram moderate_program(const Topology& topology, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::uniform_real_distribution<double> theta(0.3 * pi, 0.7 * pi);
  std::uniform_real_distribution<double> phase(-2 * pi, 4 * pi);
  MeshProgram program = {
      .topology = topology, .theta_rad = {}, .phi_rad = {}, .output_phase_rad = {}};
  for (std::size_t i = 0; i < topology.mzi_count(); ++i) {
    program.theta_rad.push_back((i % 2 == 0 ? 1 : -1) * theta(engine));
    program.phi_rad.push_back(phase(engine));
  }
  for (int mode = 0; mode < topology.modes; ++mode) {
    program.output_phase_rad.push_back(phase(engine));
  }
  return program;
}

/// A target with bar power `split` and arbitrary phases everywhere else.
Eigen::Matrix2cd unitary_with_split(double split) {
  Eigen::Matrix2cd target;
  const double bar = std::sqrt(split);
  const double cross = std::sqrt(1 - split);
  target << std::polar(bar, 0.3), std::polar(cross, 1.1), std::polar(cross, -0.4),
      std::polar(bar, 0.4 + pi);
  return target;
}

/// Largest deviation of the MZI, with its output phases added, from the target.
double shortfall(const Eigen::Matrix2cd& target, MziState<double> state,
                 const MziSetting& setting) {
  state.theta_rad += setting.theta_rad;
  state.phi_rad += setting.phi_rad;
  Eigen::Matrix2cd actual = dense_mzi(state);
  actual.row(0) *= std::polar(1.0, setting.upper_output_phase_rad);
  actual.row(1) *= std::polar(1.0, setting.lower_output_phase_rad);
  return (actual - target).cwiseAbs().maxCoeff();
}

MziState<double> errors_of_mzi(double alpha_rad, double beta_rad) {
  MziState<double> state{};
  state.theta_rad = 0.2;
  state.phi_rad = -0.3;
  state.alpha_rad = alpha_rad;
  state.beta_rad = beta_rad;
  state.input_upper.phase_rad = 0.5;
  state.input_lower.phase_rad = 0.15;
  state.internal_upper.phase_rad = -0.25;
  state.internal_lower.phase_rad = 0.35;
  return state;
}

}  // namespace

TEST_CASE("one MZI attains every split of its range and no other") {
  // Law A1: sin^2(alpha + beta) <= T <= cos^2(alpha - beta).
  for (const auto& [alpha, beta] : std::vector<std::pair<double, double>>{
           {0, 0}, {0.05, -0.02}, {-0.1, -0.07}, {0.1, 0.1}, {0.03, -0.03}, {0.3, 0.25}}) {
    const MziState<double> errors = errors_of_mzi(alpha, beta);
    const double lowest = std::pow(std::sin(alpha + beta), 2);
    const double highest = std::pow(std::cos(alpha - beta), 2);
    CAPTURE(alpha, beta);
    for (const double share : {1e-9, 0.001, 0.3, 0.5, 0.999, 1 - 1e-9}) {
      const Eigen::Matrix2cd target = unitary_with_split(lowest + share * (highest - lowest));
      const MziSetting setting = correct_mzi(target, errors);
      CHECK(setting.in_range);
      CHECK(shortfall(target, errors, setting) < 1e-11);
      CHECK(in_turn({setting.theta_rad, setting.phi_rad}));
    }
    for (const double outside : {lowest * 0.999 - 1e-12, highest + 0.001 * (1 - highest) + 1e-12}) {
      if (outside < 0 || outside > 1) continue;
      const Eigen::Matrix2cd target = unitary_with_split(outside);
      const MziSetting setting = correct_mzi(target, errors);
      CHECK_FALSE(setting.in_range);
      const double attained = outside < lowest ? lowest : highest;
      // Amplitudes (sqrt T, sqrt(1 - T)) are points of a circle: the nearest is the range's end.
      const double distance = std::max(std::abs(std::sqrt(attained) - std::sqrt(outside)),
                                       std::abs(std::sqrt(1 - attained) - std::sqrt(1 - outside)));
      CHECK(shortfall(target, errors, setting) == Approx(distance).epsilon(1e-6));
    }
  }
}

TEST_CASE("couplers past balance exchange the ends of the range") {
  const MziState<double> errors = errors_of_mzi(1.0, 0.1);  // cos(2 alpha) cos(2 beta) < 0
  const double highest = std::pow(std::sin(1.1), 2);
  const double lowest = std::pow(std::cos(0.9), 2);
  REQUIRE(lowest < highest);
  for (const double split : {lowest + 1e-6, 0.6, highest - 1e-6}) {
    const Eigen::Matrix2cd target = unitary_with_split(split);
    const MziSetting setting = correct_mzi(target, errors);
    CHECK(setting.in_range);
    CHECK(shortfall(target, errors, setting) < 1e-11);
  }
  CHECK_FALSE(correct_mzi(unitary_with_split(lowest - 1e-3), errors).in_range);
  CHECK_FALSE(correct_mzi(unitary_with_split(highest + 1e-3), errors).in_range);
}

TEST_CASE("local correction gives the phases' effect and E of an independent program (case 09)") {
  const std::string path =
      std::string(OPTINC_SOURCE_DIR) + "/tests/golden/cases/09_errcorr_local_n8.json";
  std::ifstream file(path);
  REQUIRE(file);
  const nlohmann::json expected = nlohmann::json::parse(file);
  const double tolerance = expected.at("tol").get<double>();
  const MeshFile mesh = parse_mesh(expected.dump(), path);
  const Correction result = correct_locally(mesh.program, mesh.state, reference());
  const auto matrix = [&](const char* key) {
    return parse_matrix(expected.dump(), path, {key}).values;
  };
  const auto composed = [&](const MeshProgram& program) {
    return reference().compose(reprogrammed(mesh.state, mesh.program, program));
  };
  CHECK((composed(mesh.program) - matrix("U_uncorrected")).cwiseAbs().maxCoeff() < tolerance);
  CHECK((composed(result.program) - matrix("U_corrected")).cwiseAbs().maxCoeff() < tolerance);
  CHECK((composed(result.program) - matrix("U_ideal")).cwiseAbs().maxCoeff() < tolerance);
  CHECK(result.error_before == Approx(expected.at("E0").get<double>()).epsilon(tolerance));
  CHECK(result.error_after < tolerance);
  CHECK(result.out_of_range == 0);
  CHECK_FALSE(result.kept_uncorrected);
  // The internal phase has two solutions, d and -d, that differ in the outer phases only; the peer
  // takes the one in [0, pi] as well.
  for (std::size_t i = 0; i < result.program.theta_rad.size(); ++i) {
    CHECK(result.program.theta_rad[i] ==
          Approx(expected.at("theta_corr").at(i).get<double>()).margin(1e-9));
  }
}

TEST_CASE("local correction is exact while every MZI is in range") {
  std::size_t meshes = 0;
  for (int modes = 1; modes <= 16; ++modes) {
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
      const MeshProgram target = seed % 2 == 0 ? moderate_program(clements_topology(modes), seed)
                                               : decompose_clements(haar_unitary(modes, 40 + seed));
      const MeshState chip = imperfect_chip(target, seed % 2 == 0 ? 0.1 : 0.003, seed);
      const Correction result = correct_locally(target, chip, reference());
      CAPTURE(modes, seed);
      CHECK(in_turn(result.program.theta_rad));
      CHECK(in_turn(result.program.phi_rad));
      CHECK(in_turn(result.program.output_phase_rad));
      CHECK(result.error_after == Approx(dense_error(target, chip, result.program)).margin(1e-12));
      CHECK(result.error_before == Approx(dense_error(target, chip, target)).margin(1e-12));
      if (result.out_of_range != 0) continue;
      ++meshes;
      CHECK(result.error_after < 1e-10);
      CHECK(result.error_before > 1e-4);
    }
  }
  CHECK(meshes > 80);
}

TEST_CASE("local correction works for any column list") {
  // 0-1 2-3 | 1-2 3-4 | empty | 0-1 | 0-1 2-3: passing modes, an empty column, repeated pairs.
  const Topology topology = column_topology(5, {{0, 2}, {1, 2}, {0, 0}, {0, 1}, {0, 2}});
  const MeshProgram target = moderate_program(topology, 3);
  const MeshState chip = imperfect_chip(target, 0.1, 4);
  const Correction result = correct_locally(target, chip, reference());
  CHECK(result.out_of_range == 0);
  CHECK(result.error_before > 0.1);
  CHECK(dense_error(target, chip, result.program) < 1e-10);
}

TEST_CASE("arm losses are left as they are and do not disturb the correction") {
  const MeshProgram target = moderate_program(clements_topology(6), 8);
  MeshState chip = imperfect_chip(target, 0.05, 9);
  const Correction lossless = correct_locally(target, chip, reference());
  for (MziState<double>& state : chip.mzis) {
    state.internal_lower.amplitude_transmission = 0.99;
    state.input_upper.amplitude_transmission = 0.98;
  }
  const Correction lossy = correct_locally(target, chip, reference());
  CHECK(lossy.program.theta_rad == lossless.program.theta_rad);
  CHECK(lossy.program.phi_rad == lossless.program.phi_rad);
  CHECK(lossy.error_after > 0.001);
  CHECK(lossy.error_after < lossy.error_before);
}

TEST_CASE("correction leaves its inputs alone and refuses meshes of another shape") {
  const MeshProgram target = decompose_clements(haar_unitary(5, 1));
  const MeshState chip = splitter_chip(target, 0.02);
  const MeshProgram target_copy = target;
  const MeshState chip_copy = chip;
  correct_locally(target, chip, reference());
  CHECK(target.theta_rad == target_copy.theta_rad);
  CHECK(target.phi_rad == target_copy.phi_rad);
  CHECK(target.output_phase_rad == target_copy.output_phase_rad);
  CHECK(chip.output_phase_rad == chip_copy.output_phase_rad);
  for (std::size_t i = 0; i < chip.mzis.size(); ++i) {
    CHECK(chip.mzis[i].theta_rad == chip_copy.mzis[i].theta_rad);
    CHECK(chip.mzis[i].phi_rad == chip_copy.mzis[i].phi_rad);
  }
  const MeshProgram other = decompose_clements(haar_unitary(4, 1));
  CHECK_THROWS_AS(correct_locally(other, chip, reference()), DataError);
}

}  // namespace optinc
