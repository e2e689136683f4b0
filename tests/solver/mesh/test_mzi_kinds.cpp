// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <random>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "solver/error.hpp"
#include "solver/mesh/chip_mesh.hpp"
#include "solver/mesh/correction.hpp"
#include "solver/mesh/decomposition.hpp"
#include "solver/mesh/mesh_json.hpp"
#include "solver/mesh/self_configuration.hpp"
#include "solver/mesh/transfer.hpp"
#include "solver/names.hpp"
#include "tests/solver/mesh/dense_mesh.hpp"
#include "tests/support/haar.hpp"
#include "tests/support/reference.hpp"

namespace optinc {

namespace {

using testing::dense_mesh;
using testing::haar_unitary;
using testing::reference;

using std::numbers::pi;

std::vector<MziKind> mzi_kinds() {
  return {MziKind::standard, MziKind::three_splitter, MziKind::crossing};
}

MeshProgram program_of(int modes, std::uint64_t seed, MziKind mzi_kind,
                       Topology::Kind topology = Topology::Kind::clements) {
  return with_mzi_kind(decompose(haar_unitary(modes, seed), topology), mzi_kind);
}

Correction corrected(const MeshProgram& program, const MeshState& chip) {
  return correct_locally(program, chip, dense_mesh(ideal_state(program)), *reference());
}

/// Mean E of Haar meshes before and after local correction.
struct MeanError {
  double before{};
  double after{};
};
MeanError mean_error(int modes, int meshes, MziKind mzi_kind,
                     const StaticImperfections& imperfections) {
  MeanError mean;
  for (int i = 0; i < meshes; ++i) {
    const MeshProgram program = program_of(modes, 900 + static_cast<std::uint64_t>(i), mzi_kind);
    const Correction result = corrected(
        program, perturbed_state(program, imperfections, 5, static_cast<std::uint32_t>(i), 0));
    mean.before += result.error_before / meshes;
    mean.after += result.error_after / meshes;
  }
  return mean;
}

/// Power that stays in its mode when an MZI is set as close to the cross state as phases allow.
double least_bar_power(MziState<double> state) {
  const auto power = [&](double theta_rad, double phi_rad) {
    state.theta_rad = theta_rad;
    state.phi_rad = phi_rad;
    return std::norm(testing::dense_mzi(state)(0, 0));
  };
  // Each phase alone gives a sinusoid: going through both in turn ends at a minimum.
  const auto best = [](const auto& of_phase) {
    const double at_0 = of_phase(0);
    const double at_90 = of_phase(pi / 2);
    const double mean = (at_0 + of_phase(pi)) / 2;
    return std::atan2(mean - at_90, mean - at_0);
  };
  double theta_rad = 0.3;
  double phi_rad = 0.2;
  for (int sweep = 0; sweep < 200; ++sweep) {
    theta_rad = best([&](double angle) { return power(angle, phi_rad); });
    phi_rad = best([&](double angle) { return power(theta_rad, angle); });
  }
  return power(theta_rad, phi_rad);
}

}  // namespace

TEST_CASE("meshes of every kind of MZI are the product of their parts") {
  std::mt19937_64 engine(3);
  std::normal_distribution<double> error(0, 0.1);
  for (const MziKind mzi_kind : mzi_kinds()) {
    for (const auto topology : {Topology::Kind::clements, Topology::Kind::reck}) {
      MeshState state = ideal_state(program_of(7, 4, mzi_kind, topology));
      for (MziState<double>& mzi_state : state.mzis) {
        mzi_state.alpha_rad = error(engine);
        mzi_state.beta_rad = error(engine);
        mzi_state.gamma_rad = error(engine);
        mzi_state.input_lower.phase_rad = error(engine);
        mzi_state.internal_lower = {error(engine), 0.98};
      }
      CAPTURE(enum_name(mzi_kind), enum_name(topology));
      CHECK((reference()->compose(state) - dense_mesh(state)).norm() < 1e-13);
    }
  }
}

TEST_CASE("every kind of MZI programs any unitary") {
  for (const MziKind mzi_kind : mzi_kinds()) {
    for (const auto topology : {Topology::Kind::clements, Topology::Kind::reck}) {
      for (int modes = 1; modes <= 12; ++modes) {
        CAPTURE(enum_name(mzi_kind), enum_name(topology), modes);
        const auto seed = static_cast<std::uint64_t>(modes);
        const MeshProgram program = program_of(modes, seed, mzi_kind, topology);
        const Eigen::MatrixXcd matrix = dense_mesh(ideal_state(program));
        CHECK((matrix - haar_unitary(modes, seed)).norm() < 1e-13 * modes);
        for (const auto* phases : {&program.theta_rad, &program.phi_rad}) {
          CHECK(std::all_of(phases->begin(), phases->end(),
                            [](double phase) { return phase >= 0 && phase < 2 * pi; }));
        }
      }
      const Eigen::MatrixXcd identity = Eigen::MatrixXcd::Identity(6, 6);
      const MeshProgram program = with_mzi_kind(decompose(identity, topology), mzi_kind);
      CHECK((dense_mesh(ideal_state(program)) - identity).norm() < 1e-13);
    }
  }
}

TEST_CASE("a crossing or a third coupler reaches the cross state that a plain MZI cannot") {
  // Plain: at best sin^2(alpha + beta) stays (arXiv 2103.04993). Crossing: the bar state of equal
  // couplers is perfect, whatever they are, and becomes the cross state.
  MziState<double> state{};
  state.alpha_rad = 0.1;
  state.beta_rad = 0.1;
  CHECK(least_bar_power(state) == Approx(std::pow(std::sin(0.2), 2)).epsilon(1e-9));
  state.kind = MziKind::crossing;
  CHECK(least_bar_power(state) < 1e-20);
  state.kind = MziKind::three_splitter;
  state.beta_rad = -0.06;
  state.gamma_rad = 0.08;
  CHECK(least_bar_power(state) < 1e-12);
}

TEST_CASE("local correction is exact in every kind of MZI that is in range") {
  std::size_t exact = 0;
  for (const MziKind mzi_kind : mzi_kinds()) {
    for (std::uint32_t chip = 0; chip < 10; ++chip) {
      const MeshProgram program = program_of(6, chip, mzi_kind);
      const MeshState state = perturbed_state(
          program, {.phase_fabrication_sigma_rad = 0.02, .coupler_sigma_rad = 0.01}, 2, chip, 0);
      const Correction result = corrected(program, state);
      CHECK(result.error_before > 0.01);
      if (result.out_of_range != 0) continue;
      ++exact;
      CHECK(result.error_after < 1e-10);
    }
  }
  CHECK(exact > 20);
}

TEST_CASE("a third coupler adds a third to the splitter errors") {
  // Each coupler error of variance sigma^2 adds 2 sigma^2 to ||U' - U||_F^2, and there are
  // N (N - 1) / 2 MZIs: E^2 = n (N - 1) sigma^2 with n couplers each (law A3 has n = 2).
  constexpr int modes = 16;
  constexpr int chips = 300;
  constexpr double sigma_rad = 1e-3;
  for (const MziKind mzi_kind : mzi_kinds()) {
    const MeshProgram program = program_of(modes, 1, mzi_kind);
    const Eigen::MatrixXcd ideal = dense_mesh(ideal_state(program));
    std::vector<double> squares;
    for (std::uint32_t chip = 0; chip < chips; ++chip) {
      const MeshState state =
          perturbed_state(program, {.coupler_sigma_rad = sigma_rad}, 8, chip, 0);
      squares.push_back((reference()->compose(state) - ideal).squaredNorm() / modes);
    }
    double mean = 0;
    for (const double square : squares) mean += square / chips;
    double variance = 0;
    for (const double square : squares) variance += std::pow(square - mean, 2) / (chips - 1);
    const int couplers = mzi_kind == MziKind::three_splitter ? 3 : 2;
    CAPTURE(enum_name(mzi_kind));
    // 6.5 deviations of the mean: false alarm 8e-11; the law leaves out terms of order E^4.
    CHECK(mean == Approx(couplers * (modes - 1) * sigma_rad * sigma_rad)
                      .margin(6.5 * std::sqrt(variance / chips) + std::pow(mean, 2)));
  }
}

TEST_CASE("corrected error grows with the mesh for plain MZIs, not with a third coupler") {
  // The claim of Hamerly et al., arXiv 2109.05367, for generic errors; plain: sqrt(2/3) N sigma^2.
  const StaticImperfections generic{.coupler_sigma_rad = 0.03};
  const MeanError plain_16 = mean_error(16, 12, MziKind::standard, generic);
  const MeanError plain_32 = mean_error(32, 6, MziKind::standard, generic);
  const MeanError three_32 = mean_error(32, 6, MziKind::three_splitter, generic);
  CAPTURE(plain_16.after, plain_32.after, three_32.after);
  CHECK(plain_32.after > 1.4 * plain_16.after);
  CHECK(three_32.before > plain_32.before);
  CHECK(three_32.after < 0.2 * plain_32.after);
  CHECK(three_32.after < 0.5 * plain_16.after);
}

TEST_CASE("a crossing takes the error out that is common to all couplers") {
  // Same source, for correlated errors.
  const StaticImperfections common{.coupler_mean_rad = 0.03};
  const MeanError plain = mean_error(24, 4, MziKind::standard, common);
  const MeanError crossed = mean_error(24, 4, MziKind::crossing, common);
  CAPTURE(plain.after, crossed.after);
  CHECK(plain.after > 0.01);
  CHECK(crossed.before > 0.05);
  CHECK(crossed.after < 0.1 * plain.after);
}

TEST_CASE("self-configuration works with every kind of MZI") {
  for (const MziKind mzi_kind : mzi_kinds()) {
    const MeshProgram program = program_of(6, 8, mzi_kind);
    const MeshState chip = perturbed_state(
        program, {.phase_fabrication_sigma_rad = 0.02, .coupler_sigma_rad = 0.02}, 2, 1, 0);
    const Correction result =
        self_configure(program, chip, dense_mesh(ideal_state(program)), *reference());
    CAPTURE(enum_name(mzi_kind), result.error_before, result.error_after);
    CHECK(result.error_after < 0.2 * result.error_before);
  }
}

TEST_CASE("crossings lose light, and only where there are some") {
  StaticImperfections imperfections;
  imperfections.loss.crossing_db = 0.04;
  imperfections.loss.mzi_db = 0.3;
  imperfections.loss.placement = LossPlacement::balanced;
  const MeshProgram program = program_of(5, 3, MziKind::crossing);
  const Eigen::MatrixXcd lossy =
      reference()->compose(ChipMesh(program, imperfections, 0).chip({.seed = 1, .chip = 0}));
  const Eigen::MatrixXcd ideal = dense_mesh(ideal_state(program));
  CHECK((lossy - std::pow(10, -5 * 0.34 / 20) * ideal).norm() < 1e-13);
  CHECK_THROWS_AS(ChipMesh(program_of(5, 3, MziKind::standard), imperfections, 0), ConfigError);
  CHECK_THROWS_AS(ChipMesh(program_of(5, 3, MziKind::three_splitter), imperfections, 0),
                  ConfigError);
}

TEST_CASE("detuning moves a third coupler too") {
  const MeshProgram program = program_of(4, 3, MziKind::three_splitter);
  StaticImperfections imperfections;
  imperfections.detuning.wavelength_nm = 2;
  for (const MziState<double>& state :
       ChipMesh(program, imperfections, 0).chip({.seed = 1, .chip = 0}).mzis) {
    CHECK(state.gamma_rad == Approx(0.01).epsilon(1e-12));
    CHECK(state.gamma_rad == state.alpha_rad);
  }
}

TEST_CASE("mesh files name their kind of MZI") {
  for (const MziKind mzi_kind : mzi_kinds()) {
    const MeshProgram program = program_of(4, 2, mzi_kind);
    const MeshFile read = parse_mesh(mesh_json(program, std::nullopt), "mesh.json");
    CHECK(read.program.topology == program.topology);
    CHECK(read.program.theta_rad == program.theta_rad);
  }
  const std::string two = R"({"N": 2, "topology": "clements", "theta": [1], "phi": [2],
                              "phi_out": [0, 0], )";
  const MeshFile file = parse_mesh(two + R"("mzi": "three_splitter", "gamma": [0.1]})", "m");
  CHECK(file.state.mzis.at(0).gamma_rad == 0.1);
  CHECK(file.has_errors);
  CHECK_THROWS_WITH(parse_mesh(two + R"("gamma": [0.1]})", "m"), Catch::Contains("third coupler"));
  CHECK_THROWS_WITH(parse_mesh(two + R"("mzi": "double"})", "m"),
                    Catch::Contains("known: standard, three_splitter, crossing"));
  CHECK_THROWS_AS(parse_mesh(two + R"("mzi": 3})", "m"), DataError);
}

}  // namespace optinc
