// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <complex>
#include <cstdint>
#include <fstream>
#include <memory>
#include <numbers>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "solver/backend/registry.hpp"
#include "solver/mesh/decomposition.hpp"
#include "tests/support/haar.hpp"
#include "tests/support/reference.hpp"

namespace optinc {

namespace {

/// A normal deviate beyond this many sigmas has probability 8e-11.
constexpr double limit_sigmas = 6.5;
constexpr std::size_t mesh_count = 200;

using testing::reference;

/// Haar-random meshes of one size with their ideal matrices.
struct HaarMeshes {
  std::vector<MeshProgram> programs;
  std::vector<Eigen::MatrixXcd> ideal;
};

HaarMeshes draw_meshes(int modes) {
  HaarMeshes meshes;
  for (std::uint64_t i = 0; i < mesh_count; ++i) {
    const auto seed = 100000 * static_cast<std::uint64_t>(modes) + i;
    meshes.programs.push_back(decompose(testing::haar_unitary(modes, seed)));
    meshes.ideal.push_back(reference()->compose(ideal_state(meshes.programs.back())));
  }
  return meshes;
}

/// The meshes of one size, drawn once for all test cases of a process.
const HaarMeshes& haar_meshes(int modes) {
  static std::vector<std::pair<int, HaarMeshes>> drawn;
  for (const auto& [size, meshes] : drawn) {
    if (size == modes) return meshes;
  }
  drawn.reserve(8);
  return drawn.emplace_back(modes, draw_meshes(modes)).second;
}

/// E = ||U' - U||_F / sqrt N of `chips` chips of each mesh.
std::vector<double> matrix_errors(int modes, const StaticImperfections& imperfections,
                                  std::uint32_t chips = 1) {
  const HaarMeshes& meshes = haar_meshes(modes);
  std::vector<double> errors;
  for (std::size_t i = 0; i < mesh_count; ++i) {
    for (std::uint32_t chip = 0; chip < chips; ++chip) {
      const MeshState state = perturbed_state(meshes.programs[i], imperfections, 77, chip,
                                              static_cast<std::uint16_t>(i));
      errors.push_back((reference()->compose(state) - meshes.ideal[i]).norm() /
                       std::sqrt(static_cast<double>(modes)));
    }
  }
  return errors;
}

struct Estimate {
  double mean = 0;
  double deviation = 0;       ///< of one sample
  double standard_error = 0;  ///< of the mean
};

Estimate estimate(const std::vector<double>& samples) {
  Estimate result;
  const auto count = static_cast<double>(samples.size());
  for (const double sample : samples) result.mean += sample / count;
  double squares = 0;
  for (const double sample : samples) squares += std::pow(sample - result.mean, 2);
  result.deviation = std::sqrt(squares / (count - 1));
  result.standard_error = result.deviation / std::sqrt(count);
  return result;
}

StaticImperfections phase(double sigma_rad) { return {.phase_fabrication_sigma_rad = sigma_rad}; }
StaticImperfections splitter(double sigma_rad) { return {.coupler_sigma_rad = sigma_rad}; }

/// Mean E within 3 % of the law. E's own spread and its saturation take at most 1 %; the rest is at
/// least 6.6 standard errors, so a correct program fails with probability below 1e-10.
void check_law(const std::vector<double>& errors, double law) {
  const Estimate found = estimate(errors);
  CAPTURE(found.mean, law);
  REQUIRE(law <= 0.25);
  CHECK(std::abs(found.mean / law - 1) < 0.03);
  CHECK(found.standard_error < 0.003 * law);
}

}  // namespace

TEST_CASE("uncorrected splitter errors follow E = sqrt(2 (N - 1)) sigma", "[slow]") {
  // Hamerly et al., arXiv 2106.04363.
  for (const double sigma : {0.001, 0.01, 0.02}) {
    check_law(matrix_errors(16, splitter(sigma), 16), std::sqrt(2.0 * 15) * sigma);
    check_law(matrix_errors(32, splitter(sigma), 4), std::sqrt(2.0 * 31) * sigma);
    check_law(matrix_errors(64, splitter(sigma), 2), std::sqrt(2.0 * 63) * sigma);
  }
}

TEST_CASE("independent phase errors follow E = sqrt(N) sigma", "[slow]") {
  for (const double sigma : {0.001, 0.01, 0.03}) {
    check_law(matrix_errors(16, phase(sigma), 16), std::sqrt(16.0) * sigma);
    check_law(matrix_errors(32, phase(sigma), 4), std::sqrt(32.0) * sigma);
    check_law(matrix_errors(64, phase(sigma), 2), std::sqrt(64.0) * sigma);
  }
}

TEST_CASE("phase and splitter errors add in E^2, with and without the screen") {
  // E^2 = (1/N) (phases * sigma_phase^2 + 4 MZIs sigma_splitter^2), exact to second order.
  for (const bool on_screen : {true, false}) {
    const StaticImperfections both{.phase_fabrication_sigma_rad = 0.002,
                                   .phase_on_output_screen = on_screen,
                                   .coupler_sigma_rad = 0.001};
    std::vector<double> squares;
    for (const double error : matrix_errors(16, both, 4)) squares.push_back(error * error);
    const double law = ((on_screen ? 256 : 240) * 4e-6 + 4 * 120 * 1e-6) / 16;
    const Estimate found = estimate(squares);
    CAPTURE(on_screen, found.mean, law);
    CHECK(std::abs(found.mean - law) < limit_sigmas * found.standard_error);
    CHECK(found.standard_error < 0.01 * law);
  }
}

TEST_CASE("doubling sigma quadruples E^2 chip by chip") {
  for (const auto& errors : {phase, splitter}) {
    const std::vector<double> once = matrix_errors(16, errors(1e-5));
    const std::vector<double> twice = matrix_errors(16, errors(2e-5));
    for (std::size_t i = 0; i < once.size(); ++i) {
      CHECK(std::pow(twice[i] / once[i], 2) == Approx(4).epsilon(1e-3));
    }
  }
}

TEST_CASE("fidelity follows the data of Fang et al. for a mesh of 256 modes", "[slow]") {
  // Opt. Express 27, 14009 (2019); the authors' stored means over 20 trials (repository
  // mike-fang/imprecise_optical_neural_network). Their splitter error is one of the amplitude
  // reflectivity r = cos eta, so the angle's is sqrt 2 as large, and
  // F = exp(-(N sigma^2 + 4 (N - 1) sigma^2)).
  constexpr int modes = 256;
  constexpr std::uint32_t chips = 3;
  const MeshProgram program = decompose(testing::haar_unitary(modes, 11));
  const Eigen::MatrixXcd ideal = reference()->compose(ideal_state(program));
  for (const auto& [sigma, stored] : {std::pair{0.002, 0.9949}, std::pair{0.005, 0.9686},
                                      std::pair{0.010, 0.8802}, std::pair{0.020, 0.5991}}) {
    const StaticImperfections errors{.phase_fabrication_sigma_rad = sigma,
                                     .coupler_sigma_rad = std::numbers::sqrt2 * sigma};
    std::vector<double> fidelities;
    for (std::uint32_t chip = 0; chip < chips; ++chip) {
      const Eigen::MatrixXcd matrix =
          reference()->compose(perturbed_state(program, errors, 3, chip, 0));
      fidelities.push_back(std::norm((ideal.conjugate().cwiseProduct(matrix)).sum()) /
                           std::pow(static_cast<double>(modes), 2));
    }
    const double law = std::exp(-(modes + 4 * (modes - 1)) * sigma * sigma);
    CAPTURE(sigma, law);
    // -ln F is a sum over 131,000 deviates squared whose relative spread is below 0.4 %; three
    // chips.
    const double exponent = -std::log(estimate(fidelities).mean);
    CHECK(exponent == Approx(-std::log(law)).epsilon(limit_sigmas * 0.004 / std::sqrt(3.0)));
    CHECK(estimate(fidelities).mean == Approx(stored).margin(0.005));
  }
}

TEST_CASE("the mean matrix over phase noise is that of a mesh with weaker arms") {
  // <e^{i x}> = e^{-sigma^2/2} for every noisy arm, so <U'> is known exactly for any sigma.
  constexpr int modes = 4;
  constexpr std::uint32_t chips = 20000;
  constexpr double sigma_rad = 0.4;
  const double arm = std::exp(-sigma_rad * sigma_rad / 2);
  const MeshProgram program = decompose(testing::haar_unitary(modes, 4));
  for (const bool on_screen : {true, false}) {
    MeshState weaker = ideal_state(program);
    for (MziState<double>& state : weaker.mzis) {
      state.input_upper.amplitude_transmission = arm;
      state.internal_upper.amplitude_transmission = arm;
    }
    const Eigen::MatrixXcd expected = reference()->compose(weaker) * (on_screen ? arm : 1.0);
    Eigen::MatrixXcd sum = Eigen::MatrixXcd::Zero(modes, modes);
    for (std::uint32_t chip = 0; chip < chips; ++chip) {
      sum += reference()->compose(perturbed_state(
          program, {.phase_fabrication_sigma_rad = sigma_rad, .phase_on_output_screen = on_screen},
          5, chip, 0));
    }
    // Elements have modulus <= 1, hence real and imaginary parts deviation <= 1; 64 comparisons.
    const Eigen::MatrixXcd deviation = sum / static_cast<double>(chips) - expected;
    const double limit = 7.0 / std::sqrt(static_cast<double>(chips));
    CHECK(deviation.real().cwiseAbs().maxCoeff() < limit);
    CHECK(deviation.imag().cwiseAbs().maxCoeff() < limit);
    CHECK(expected.norm() < 0.9 * 2);  // the effect is far larger than the limit
  }
}

TEST_CASE("mean E agrees with an independent simulator's statistics", "[slow]") {
  std::ifstream file(std::string(OPTINC_SOURCE_DIR) +
                     "/tests/golden/cases/15_statistics_haar_clements.json");
  REQUIRE(file);
  const nlohmann::json stats = nlohmann::json::parse(file).at("stats");
  REQUIRE(stats.size() == 9);
  const auto compare = [](const std::vector<double>& errors, double their_mean) {
    // Their mean is over 30 realisations of the same quantity.
    const Estimate ours = estimate(errors);
    const double band =
        limit_sigmas * std::hypot(ours.standard_error, ours.deviation / std::sqrt(30.0));
    CAPTURE(ours.mean, their_mean, band);
    CHECK(std::abs(ours.mean - their_mean) < band);
    CHECK(band < 0.2 * their_mean);
  };
  for (const auto& [name, entry] : stats.items()) {
    CAPTURE(name);
    const int modes = entry.at("N").get<int>();
    const double sigma = entry.at("sigma").get<double>();
    compare(matrix_errors(modes, splitter(sigma)),
            entry.at("E_splitter_mean_sem").at(0).get<double>());
    compare(matrix_errors(modes,
                          {.phase_fabrication_sigma_rad = sigma, .phase_on_output_screen = false}),
            entry.at("E_phase_mean_sem").at(0).get<double>());
  }
}

}  // namespace optinc
