// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include <cmath>
#include <complex>
#include <cstdint>
#include <memory>
#include <vector>

#include "solver/backend/registry.hpp"
#include "solver/onn/accuracy.hpp"
#include "solver/onn/analytic.hpp"
#include "solver/optinc/chip.hpp"
#include "tests/support/reference.hpp"

namespace optinc {
namespace {

constexpr std::uint64_t seed = 7;

using testing::reference;

/// The unit of 4 servers and 8 bits that the tests disturb.
struct AnalyticUnit {
  const Backend* backend = reference();
  Network network;
  MappedNetwork mapped;
  std::vector<Eigen::MatrixXcd> ideal;

  explicit AnalyticUnit(AnalyticForm form = AnalyticForm::ripple,
                        Activation step = Activation::clipped_relu)
      : network(build_analytic_network(make_code_format(4, 8), {form, step})),
        mapped(map_network(network, {})),
        ideal(compose_ideal(mapped, *backend)) {}

  ChipOptics chip(const StaticImperfections& imperfections, std::uint32_t index) const {
    return NetworkOptics(mapped, ideal, *backend, {.imperfections = imperfections, .ablation = {}})
        .chip(seed, index);
  }
};

StaticImperfections phase_errors(double sigma_rad) {
  StaticImperfections imperfections;
  imperfections.phase_fabrication_sigma_rad = sigma_rad;
  return imperfections;
}

StaticImperfections coupler_errors(double sigma_rad) {
  StaticImperfections imperfections;
  imperfections.coupler_sigma_rad = sigma_rad;
  return imperfections;
}

/// All meshes of a chip (or, with none on, the ideal ones) as one block-diagonal matrix.
Eigen::MatrixXcd direct_sum(const AnalyticUnit& unit, const StaticImperfections& imperfections,
                            std::uint32_t chip) {
  std::vector<Eigen::MatrixXcd> blocks;
  unit.mapped.for_each_mesh([&](const MappedMesh& mesh, std::size_t, int, bool) {
    blocks.push_back(
        unit.backend->compose(perturbed_state(mesh.program, imperfections, seed, chip, mesh.id)));
  });
  Eigen::Index modes = 0;
  for (const Eigen::MatrixXcd& block : blocks) modes += block.rows();
  Eigen::MatrixXcd sum = Eigen::MatrixXcd::Zero(modes, modes);
  modes = 0;
  for (const Eigen::MatrixXcd& block : blocks) {
    sum.block(modes, modes, block.rows(), block.cols()) = block;
    modes += block.rows();
  }
  return sum;
}

TEST_CASE("ideal meshes realise the weights and every code is exact", "[chip]") {
  for (const AnalyticForm form : {AnalyticForm::ripple, AnalyticForm::pipeline}) {
    for (const Activation step : {Activation::clipped_relu, Activation::relu}) {
      const AnalyticUnit unit(form, step);
      const ChipOptics chip = unit.chip({}, 3);
      for (std::size_t i = 0; i < chip.layers.size(); ++i) {
        const NetworkLayer& layer = unit.network.layers[i];
        const double scale = layer.weight.norm();
        CHECK((chip.layers[i].weight - layer.weight).norm() < 1e-13 * scale);
        CHECK(chip.layers[i].bias == layer.bias);
        CHECK(chip.layers[i].activation == layer.activation);
      }
      const NetworkAccuracy accuracy =
          measure_accuracy(chip.layers, unit.network.format, *unit.backend, {28561, 1});
      CHECK(accuracy.codes == 28561);
      CHECK(accuracy.correct == 28561);
      CHECK(accuracy.max_error_digits < 1e-9);
    }
  }
}

TEST_CASE("quality is exactly ideal with all imperfections off and only then", "[chip]") {
  const AnalyticUnit unit;
  const MeshQuality off = unit.chip({}, 0).quality;
  CHECK(off.matrix_error == 0.0);
  CHECK(off.fidelity == 1.0);
  CHECK(off.fidelity_normalised == 1.0);
  StaticImperfections detuned;
  detuned.coupler_mean_rad = 1e-6;
  for (const StaticImperfections& on : {phase_errors(1e-6), coupler_errors(1e-6), detuned}) {
    const MeshQuality quality = unit.chip(on, 0).quality;
    CHECK(quality.matrix_error > 1e-7);
    CHECK(quality.matrix_error < 1e-4);
    CHECK(quality.fidelity <= 1.0 + 1e-12);
  }
}

TEST_CASE("quality is that of the direct sum of all meshes", "[chip]") {
  const AnalyticUnit unit;
  StaticImperfections imperfections = phase_errors(0.02);
  imperfections.coupler_sigma_rad = 0.03;
  imperfections.coupler_mean_rad = -0.01;
  const Eigen::MatrixXcd ideal = direct_sum(unit, {}, 5);
  const Eigen::MatrixXcd actual = direct_sum(unit, imperfections, 5);
  const auto modes = static_cast<double>(ideal.rows());
  const MeshQuality quality = unit.chip(imperfections, 5).quality;
  CHECK(quality.matrix_error == Approx((actual - ideal).norm() / std::sqrt(modes)).epsilon(1e-12));
  const double overlap = std::norm((ideal.adjoint() * actual).trace());
  CHECK(quality.fidelity == Approx(overlap / (modes * modes)).epsilon(1e-12));
  const double power = (actual.adjoint() * actual).trace().real();
  CHECK(quality.fidelity_normalised == Approx(overlap / (modes * power)).epsilon(1e-12));
}

TEST_CASE("a chip's weight is Re(G U' Sigma V'^H)", "[chip]") {
  const AnalyticUnit unit;
  const StaticImperfections imperfections = phase_errors(0.05);
  const ChipOptics chip = unit.chip(imperfections, 2);
  for (std::size_t i = 0; i < chip.layers.size(); ++i) {
    const MappedLayer& layer = unit.mapped.layers[i];
    const MappedBlock& block = layer.blocks.front();
    const auto compose = [&](const MappedMesh& mesh) {
      return unit.backend->compose(perturbed_state(mesh.program, imperfections, seed, 2, mesh.id));
    };
    const Eigen::MatrixXcd input = compose(block.input_mesh);
    const Eigen::MatrixXcd output = compose(block.output_mesh.value());
    Eigen::MatrixXcd sigma = Eigen::MatrixXcd::Zero(output.cols(), input.rows());
    for (Eigen::Index k = 0; k < block.attenuation.size(); ++k) {
      sigma(k, k) = layer.gain * block.attenuation(k);
    }
    const Eigen::MatrixXd expected = (output * sigma * input).real();
    CHECK((chip.layers[i].weight - expected).norm() < 1e-12 * expected.norm());
  }
}

/// Mean and standard error over chips of E^2.
std::pair<double, double> mean_squared_error(const AnalyticUnit& unit,
                                             const StaticImperfections& imperfections, int chips) {
  double sum = 0;
  double sum_squares = 0;
  for (int chip = 0; chip < chips; ++chip) {
    const double squared = std::pow(
        unit.chip(imperfections, static_cast<std::uint32_t>(chip)).quality.matrix_error, 2);
    sum += squared;
    sum_squares += squared * squared;
  }
  const double mean = sum / chips;
  return {mean, std::sqrt((sum_squares / chips - mean * mean) / (chips - 1))};
}

TEST_CASE("matrix error follows the first-order law of independent errors", "[chip]") {
  // Each phase adds sigma^2 to ||U' - U||_F^2 and each coupler 2 sigma^2, for any unitary: a mesh
  // of n modes has n^2 phases (screen included) and n (n - 1) couplers (laws A3 to A5).
  // Small sigmas, so second order is below 1e-4 of E^2. 6.8 standard errors of 200 chips: a false
  // alarm of 1e-9 with Student's t; the smallness of the error itself is checked too.
  const AnalyticUnit unit;
  double modes = 0;
  double phases = 0;
  double couplers = 0;
  unit.mapped.for_each_mesh([&](const MappedMesh& mesh, std::size_t, int, bool) {
    const double n = mesh.program.topology.modes;
    modes += n;
    phases += n * n;
    couplers += n * (n - 1);
  });
  constexpr double sigma_rad = 1e-4;
  constexpr double variance = sigma_rad * sigma_rad;
  const auto [phase_mean, phase_error] = mean_squared_error(unit, phase_errors(sigma_rad), 200);
  CHECK(phase_error < 0.01 * phase_mean);
  CHECK(std::abs(phase_mean - phases * variance / modes) < 6.8 * phase_error);
  const auto [coupler_mean, coupler_error] =
      mean_squared_error(unit, coupler_errors(sigma_rad), 200);
  CHECK(coupler_error < 0.01 * coupler_mean);
  CHECK(std::abs(coupler_mean - 2 * couplers * variance / modes) < 6.8 * coupler_error);
}

TEST_CASE("phase errors alone keep the meshes unitary", "[chip]") {
  const AnalyticUnit unit;
  const MeshQuality quality = unit.chip(phase_errors(0.05), 1).quality;
  CHECK(quality.fidelity_normalised == Approx(quality.fidelity).epsilon(1e-12));
  // |Tr| >= Re Tr = N (1 - E^2 / 2) for unitary matrices.
  const double real_overlap = 1 - quality.matrix_error * quality.matrix_error / 2;
  CHECK(quality.fidelity >= real_overlap * real_overlap - 1e-12);
  CHECK(quality.fidelity < 1.0);
}

TEST_CASE("chips differ, a chip repeats, and errors grow with sigma", "[chip]") {
  const AnalyticUnit unit;
  const auto weight = [&](double sigma_rad, std::uint32_t chip) {
    return unit.chip(phase_errors(sigma_rad), chip).layers[1].weight;
  };
  CHECK(weight(0.01, 1) == weight(0.01, 1));
  CHECK(weight(0.01, 1) != weight(0.01, 2));
  // Common random numbers: the same deviates, scaled.
  const Eigen::MatrixXd ideal = unit.network.layers[1].weight;
  const Eigen::MatrixXd step = weight(1e-6, 1) - ideal;
  CHECK((weight(2e-6, 1) - ideal - 2 * step).norm() < 1e-4 * step.norm());
}

TEST_CASE("calibrated meshes are nearer to ideal ones, and rounding comes after calibration",
          "[chip]") {
  const AnalyticUnit unit;
  const auto quality = [&](const StaticImperfections& imperfections, MeshCalibration calibration) {
    return NetworkOptics(
               unit.mapped, unit.ideal, *unit.backend,
               {.imperfections = imperfections, .ablation = {}, .calibration = calibration})
        .chip(seed, 1)
        .quality.matrix_error;
  };
  StaticImperfections errors = phase_errors(0.02);
  errors.coupler_sigma_rad = 0.02;
  const double uncorrected = quality(errors, MeshCalibration::none);
  const double local = quality(errors, MeshCalibration::local);
  const double self = quality(errors, MeshCalibration::self);
  // Many MZIs of this network only route, and exact cross is out of reach of any coupler error.
  CHECK(local < 0.8 * uncorrected);
  CHECK(self < 0.8 * uncorrected);
  // Phase errors alone are corrected away; then the drivers of 10 bits leave theirs.
  StaticImperfections rounded = phase_errors(0.02);
  CHECK(quality(rounded, MeshCalibration::local) < 1e-9);
  rounded.phase_dac_bits = 10;
  const double rounding = quality(rounded, MeshCalibration::local);
  CHECK(rounding > 1e-3);
  CHECK(rounding < 0.05);
  // A chip calibrated at its design wavelength is detuned afterwards.
  StaticImperfections detuned = phase_errors(0.02);
  detuned.detuning.wavelength_nm = 1;
  CHECK(quality(detuned, MeshCalibration::local) > 1e-3);
}

TEST_CASE("naive mapping of the exact network fails near 3e-4 rad", "[chip]") {
  const AnalyticUnit unit;
  const std::vector<CodeKey> codes = all_codes(unit.network.format, 28561);
  const Eigen::MatrixXd inputs = network_inputs(unit.network.format, codes);
  std::vector<std::int64_t> targets;
  for (const CodeKey code : codes) {
    targets.push_back(
        round_average(unit.network.format, scaled_average(unit.network.format, code)));
  }
  const auto error_rate = [&](double sigma_rad) {
    double wrong = 0;
    for (std::uint32_t chip = 0; chip < 10; ++chip) {
      const std::vector<std::int64_t> values =
          decoded_values(unit.chip(phase_errors(sigma_rad), chip), *unit.backend,
                         Calibration::affine, inputs, targets);
      for (std::size_t i = 0; i < values.size(); ++i) wrong += values[i] != targets[i];
    }
    return wrong / (10.0 * static_cast<double>(codes.size()));
  };
  CHECK(error_rate(0) == 0.0);
  CHECK(error_rate(3e-5) == 0.0);
  CHECK(error_rate(3e-3) > 0.3);
  CHECK(error_rate(0.1) > 0.95);
}

}  // namespace
}  // namespace optinc
