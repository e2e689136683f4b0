// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <vector>

#include "solver/onn/analytic.hpp"
#include "solver/optinc/server_chip.hpp"
#include "tests/support/reference.hpp"

namespace optinc {
namespace {

using testing::reference;

constexpr double limit_sigmas = 7;  // 2.6e-12 per check: below 1e-9 for a test case

/// One layer that gives `scale` times its inputs: what it puts out shows the noise itself.
Network linear_network(const CodeFormat& format, double scale) {
  return {.format = format,
          .kind = "test",
          .layers = {{.weight = scale * Eigen::MatrixXd::Identity(4, 4),
                      .bias = Eigen::VectorXd::Zero(4),
                      .activation = Activation::identity}}};
}

struct SymbolUnit {
  CodeFormat format = make_code_format(4, 8);
  MappedNetwork mapped;
  std::vector<Eigen::MatrixXcd> ideal;

  explicit SymbolUnit(const Network& network)
      : mapped(map_network(network, {})), ideal(compose_ideal(mapped, *reference())) {}

  NetworkOptics optics(const StaticImperfections& imperfections) const {
    return {mapped, ideal, *reference(), {.imperfections = imperfections, .ablation = {}}};
  }

  ServerChip chip(const SymbolEffects& effects, const StaticImperfections& imperfections = {},
                  const SymbolStreams& streams = {.seed = 4, .chip = 2}) const {
    const NetworkOptics network = optics(imperfections);
    return {format,
            network.realizations(streams.seed, streams.chip, effects.jitter_realizations),
            combiner_weights({.mode = effects.mode}, format, streams.seed, streams.chip),
            *reference(),
            Calibration::none,
            {},
            effects,
            streams};
  }
};

/// Every element the same: digits 3 2 1 3 from all servers.
std::vector<std::uint32_t> equal_values(std::size_t elements) {
  return std::vector<std::uint32_t>(4 * elements, 0b11011011U);
}

std::vector<std::uint32_t> mixed_values(std::size_t elements) {
  std::vector<std::uint32_t> values(4 * elements);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<std::uint32_t>((i * 2654435761U) >> 7U) & 0xffU;
  }
  return values;
}

/// Outputs of a unit for elements that are all equal: what differs between columns is noise.
Eigen::MatrixXd noisy_outputs(const SymbolUnit& unit, const SymbolNoise& noise,
                              Eigen::Index samples) {
  return unit.chip({.noise = noise}).outputs(equal_values(static_cast<std::size_t>(samples)), 0);
}

double variance_of(const Eigen::RowVectorXd& values) {
  return (values.array() - values.mean()).square().mean();
}

/// 7 standard errors of a variance of normals, relative.
double variance_tolerance(Eigen::Index samples) {
  return limit_sigmas * std::sqrt(2.0 / static_cast<double>(samples));
}

}  // namespace

TEST_CASE("source noise has the published sizes", "[symbols]") {
  // 1 MHz of linewidth: 5.5 mrad over 1 mm of fibre, 55 mrad over 10 cm, 0.18 rad over 1 m.
  CHECK(laser_phase_sigma_rad(1e6, fibre_delay_s(1e-3)) == Approx(5.5e-3).epsilon(0.01));
  CHECK(laser_phase_sigma_rad(1e6, fibre_delay_s(0.1)) == Approx(55e-3).epsilon(0.01));
  CHECK(laser_phase_sigma_rad(1e6, fibre_delay_s(1)) == Approx(0.18).epsilon(0.04));
  CHECK(fibre_delay_s(1e-3) == Approx(4.9e-12).epsilon(0.01));
  CHECK(intensity_sigma(-150, 26.6e9) == Approx(std::sqrt(2.66e-5)));
}

TEST_CASE("transmitted levels have the extinction ratio and the RLM that they are given",
          "[symbols]") {
  using Levels = std::array<double, 4>;
  CHECK(transmitted_levels({}, CombinerMode::coherent) == Levels{0, 1, 2, 3});
  for (const CombinerMode mode : {CombinerMode::coherent, CombinerMode::incoherent}) {
    const Levels sent = transmitted_levels({.extinction_ratio_db = 4.5, .rlm = 0.9}, mode);
    // Powers: of fields their squares.
    const double exponent = mode == CombinerMode::coherent ? 2 : 1;
    CHECK(10 * std::log10(std::pow(sent[3] / sent[0], exponent)) == Approx(4.5));
    CHECK(sent[3] - sent[0] == Approx(3));
    const double middle = (sent[0] + sent[3]) / 2;
    const double es1 = (middle - sent[1]) / (middle - sent[0]);
    const double es2 = (sent[2] - middle) / (sent[3] - middle);
    CHECK(std::min({3 * es1, 3 * es2, 2 - 3 * es1, 2 - 3 * es2}) == Approx(0.9));
  }
  const std::vector<double> merged = group_amplitudes(make_code_format(4, 16), {0.5, 1, 2, 3.5});
  REQUIRE(merged.size() == 16);
  CHECK(merged[0] == 0.5 + 4 * 0.5);
  CHECK(merged[6] == 2 + 4 * 1);
  CHECK(merged[15] == 3.5 + 4 * 3.5);
}

TEST_CASE("what level 0 sends is made up for on ideal optics and shows where they err",
          "[symbols]") {
  const SymbolUnit unit(build_analytic_network(make_code_format(4, 8), {}));
  const std::vector<std::uint32_t> values = mixed_values(200);
  StaticImperfections errors;
  errors.phase_fabrication_sigma_rad = 1e-3;
  for (const CombinerMode mode : {CombinerMode::coherent, CombinerMode::incoherent}) {
    const SymbolEffects plain{.mode = mode};
    const SymbolEffects raised{.mode = mode, .transmitter = {.extinction_ratio_db = 4.5}};
    const Eigen::MatrixXd outputs = unit.chip(plain).outputs(values, 0);
    CHECK((unit.chip(raised).outputs(values, 0) - outputs).norm() < 1e-9 * outputs.norm());
    const double own = (unit.chip(plain, errors).outputs(values, 0) - outputs).norm();
    const double with_pedestal = (unit.chip(raised, errors).outputs(values, 0) - outputs).norm();
    if (mode == CombinerMode::coherent) {
      CHECK(with_pedestal > 1.5 * own);
    } else {
      // The pedestal is taken off before the light enters the meshes.
      CHECK(with_pedestal == Approx(own).epsilon(1e-6));
    }
  }
}

TEST_CASE("unequal levels move what the servers send, digit by digit", "[symbols]") {
  const SymbolUnit unit(linear_network(make_code_format(4, 8), 1));
  const SymbolEffects effects{.transmitter = {.rlm = 0.8}};
  const std::array<double, 4> levels = transmitted_levels(effects.transmitter, effects.mode);
  const std::vector<std::uint32_t> values = mixed_values(20);
  const Eigen::MatrixXd outputs = unit.chip(effects).outputs(values, 0);
  for (std::size_t element = 0; element < 20; ++element) {
    for (int digit = 0; digit < 4; ++digit) {
      double sum = 0;
      for (std::size_t server = 0; server < 4; ++server) {
        sum += levels.at((values[4 * element + server] >> (2 * digit)) & 3U);
      }
      CHECK(outputs(digit, static_cast<Eigen::Index>(element)) == Approx(sum / 4).margin(1e-9));
    }
  }
}

TEST_CASE("amplifier noise is that of the key times the gain of the layer", "[symbols]") {
  // Of a hidden layer; that of the last one is the receiver's.
  constexpr double sigma = 0.01;
  constexpr Eigen::Index samples = 20'000;
  for (const double scale : {1.0, 3.0}) {
    Network network = linear_network(make_code_format(4, 8), 1);
    network.layers.push_back(network.layers.front());
    network.layers.front().weight *= scale;
    network.layers.front().activation = Activation::relu;
    const SymbolUnit unit(network);
    const Eigen::MatrixXd outputs = noisy_outputs(unit, {.amplifier_sigma = sigma}, samples);
    const double law = std::pow(scale * sigma, 2);
    for (Eigen::Index row = 0; row < 4; ++row) {
      CHECK(variance_of(outputs.row(row)) == Approx(law).epsilon(variance_tolerance(samples)));
      // Outputs do not know of each other.
      const Eigen::RowVectorXd a = outputs.row(row).array() - outputs.row(row).mean();
      const Eigen::RowVectorXd b =
          outputs.row((row + 1) % 4).array() - outputs.row((row + 1) % 4).mean();
      CHECK(std::fabs(a.dot(b) / static_cast<double>(samples)) <
            limit_sigmas * law / std::sqrt(static_cast<double>(samples)));
    }
  }
}

TEST_CASE("amplifier noise of the last layer decides by Q functions", "[symbols]") {
  constexpr double sigma = 0.15;
  const SymbolUnit unit(linear_network(make_code_format(4, 8), 1));
  SymbolEffects effects;
  effects.noise.amplifier_sigma = sigma;
  const ServerChip chip = unit.chip(effects);
  // Digits 3 2 1 3: an outer level errs one way, an inner one both.
  const double tail = std::erfc(0.5 / sigma / std::sqrt(2.0)) / 2;
  const double law = 1 - std::pow(1 - tail, 2) * std::pow(1 - 2 * tail, 2);
  const std::vector<std::uint32_t> values = equal_values(40'000);
  const std::vector<std::int64_t> targets(40'000, 0b11011011);
  CHECK(wrong_probabilities(chip.decisions(values), targets).front() == Approx(law).epsilon(1e-9));
  // And drawn: 7 standard errors.
  double wrong = 0;
  for (const std::int64_t decoded : chip.decode(values)) wrong += decoded != 0b11011011 ? 1 : 0;
  CHECK(std::fabs(wrong / 40'000 - law) < limit_sigmas * std::sqrt(law * (1 - law) / 40'000));
}

TEST_CASE("intensity noise scales all that a layer detects of a symbol alike", "[symbols]") {
  constexpr double sigma = 0.02;
  constexpr Eigen::Index samples = 20'000;
  const SymbolUnit unit(linear_network(make_code_format(4, 8), 1));
  const Eigen::MatrixXd outputs = noisy_outputs(unit, {.intensity_sigma = sigma}, samples);
  const Eigen::RowVectorXd factor = outputs.row(0) / 3;
  CHECK(variance_of(factor) == Approx(sigma * sigma).epsilon(variance_tolerance(samples)));
  CHECK(std::fabs(factor.mean() - 1) <
        limit_sigmas * sigma / std::sqrt(static_cast<double>(samples)));
  CHECK((outputs.row(2) - 1 * factor).norm() < 1e-9 * outputs.row(2).norm());
  CHECK((outputs.row(1) - 2 * factor).norm() < 1e-9 * outputs.row(1).norm());
}

TEST_CASE("laser phase noise takes exp(-sigma^2 / 2) of the mean field", "[symbols]") {
  constexpr double sigma_rad = 0.5;
  constexpr Eigen::Index samples = 20'000;
  const SymbolUnit unit(linear_network(make_code_format(4, 8), 1));
  const Eigen::MatrixXd outputs =
      noisy_outputs(unit, {.laser_phase_sigma_rad = sigma_rad}, samples);
  const double law = std::exp(-sigma_rad * sigma_rad / 2);
  // Var cos(psi) = (1 - e^{-sigma^2})^2 / 2 per server; four of them average.
  const double spread = (1 - law * law) / std::sqrt(2.0) / 2;
  for (const auto& [row, digit] : {std::pair{0, 3.0}, std::pair{1, 2.0}, std::pair{2, 1.0}}) {
    CHECK(std::fabs(outputs.row(row).mean() / digit - law) <
          limit_sigmas * spread / std::sqrt(static_cast<double>(samples)));
    CHECK(std::sqrt(variance_of(outputs.row(row))) / digit == Approx(spread).epsilon(0.1));
  }
}

TEST_CASE("phase jitter: E^2 = N sigma^2 over its realizations, new ones each time", "[symbols]") {
  // The law A4 of a mesh with N^2 phases in error, for two meshes of four modes.
  constexpr std::uint32_t count = 2000;
  const SymbolUnit unit(linear_network(make_code_format(4, 8), 1));
  for (const double sigma_rad : {0.005, 0.01}) {
    StaticImperfections imperfections;
    imperfections.phase_jitter_sigma_rad = sigma_rad;
    MeshQualitySums sums;
    const std::vector<ChipOptics> chips = unit.optics(imperfections).realizations(3, 1, count);
    REQUIRE(chips.size() == count + 1);
    for (std::size_t i = 1; i < chips.size(); ++i) sums.add(chips[i].quality_sums);
    CHECK(chips.front().quality.matrix_error == 0);
    CHECK(chips.back().layers.front().weight ==
          unit.optics(imperfections).chip(3, 1, count - 1).layers.front().weight);
    // 32 phases a realization; one phase's share of the squared error has a relative spread of
    // sqrt 2: 7 sigma of 64,000.
    const double error = sums.quality().matrix_error;
    CHECK(error * error == Approx(4 * sigma_rad * sigma_rad).epsilon(7 * std::sqrt(2.0 / 64'000)));
    // A chip without its fast noise is the ideal one.
    CHECK(unit.optics(imperfections).chip(3, 1).quality.matrix_error == 0);
  }
}

TEST_CASE("symbols take the realizations of the jitter in turn", "[symbols]") {
  const SymbolUnit unit(linear_network(make_code_format(4, 8), 1));
  StaticImperfections imperfections;
  imperfections.phase_jitter_sigma_rad = 0.1;
  const SymbolEffects effects{.jitter_realizations = 3};
  const Eigen::MatrixXd outputs = unit.chip(effects, imperfections).outputs(equal_values(7), 0);
  for (Eigen::Index i = 0; i < 7; ++i) {
    CHECK(outputs.col(i) == outputs.col(i % 3));
    CHECK(outputs.col(i) != outputs.col((i + 1) % 3));
  }
}

TEST_CASE("noise belongs to the symbol, not to how symbols are cut into pieces", "[symbols]") {
  const SymbolUnit unit(build_analytic_network(make_code_format(4, 8), {}));
  StaticImperfections imperfections;
  imperfections.phase_jitter_sigma_rad = 0.01;
  const SymbolEffects effects{
      .transmitter = {.extinction_ratio_db = 6, .rlm = 0.95},
      .noise = {.intensity_sigma = 0.01, .laser_phase_sigma_rad = 0.1, .amplifier_sigma = 0.01},
      .jitter_realizations = 5};
  const ServerChip chip = unit.chip(effects, imperfections);
  const std::vector<std::uint32_t> values = mixed_values(100);
  constexpr std::uint64_t start = 0xfffffff0U;  // the index passes 2^32
  const Eigen::MatrixXd whole = chip.outputs(values, start);
  const std::span<const std::uint32_t> all(values);
  CHECK(chip.outputs(all.subspan(4 * 37), start + 37) == whole.rightCols(63));
  CHECK(chip.outputs(all.first(4 * 37), start) == whole.leftCols(37));
  CHECK(chip.outputs(values, start + 1) != whole);
  // Another chip, another unit of a cascade, other symbols: other noise.
  for (const SymbolStreams& streams :
       {SymbolStreams{.seed = 4, .chip = 3}, SymbolStreams{.seed = 5, .chip = 2},
        SymbolStreams{.seed = 4, .chip = 2, .unit = 1}}) {
    CHECK(unit.chip(effects, imperfections, streams).outputs(values, start) != whole);
  }
}

TEST_CASE("effects of size zero change no bit", "[symbols]") {
  const SymbolUnit unit(build_analytic_network(make_code_format(4, 8), {}));
  const std::vector<std::uint32_t> values = mixed_values(100);
  const Eigen::MatrixXd plain = unit.chip({}).outputs(values, 0);
  CHECK(unit.chip({.transmitter = {.rlm = 1}, .noise = {}, .jitter_realizations = 2})
            .outputs(values, 0) == plain);
  StaticImperfections still;
  still.drift = {.sigma_rad = 0.1, .tau_s = 10, .time_s = 0};
  CHECK(unit.chip({}, still).outputs(values, 0) == plain);
  still.drift = {.sigma_rad = 0, .tau_s = 10, .time_s = 5};
  CHECK(unit.chip({}, still).outputs(values, 0) == plain);
}

TEST_CASE("drift: E^2 = N sigma^2 (1 - exp(-2 t / tau)), and calibration does not know of it",
          "[symbols]") {
  const SymbolUnit unit(linear_network(make_code_format(4, 8), 1));
  constexpr double sigma_rad = 0.02;
  constexpr std::uint32_t chips = 2000;
  for (const MeshCalibration calibration : {MeshCalibration::none, MeshCalibration::local}) {
    for (const double time_s : {1.0, 30.0, 1000.0}) {
      StaticImperfections imperfections;
      imperfections.drift = {.sigma_rad = sigma_rad, .tau_s = 20, .time_s = time_s};
      const NetworkOptics optics(
          unit.mapped, unit.ideal, *reference(),
          {.imperfections = imperfections, .ablation = {}, .calibration = calibration});
      MeshQualitySums sums;
      for (std::uint32_t chip = 0; chip < chips; ++chip) {
        sums.add(optics.chip(1, chip).quality_sums);
      }
      const double law = 4 * sigma_rad * sigma_rad * -std::expm1(-2 * time_s / 20);
      const double error = sums.quality().matrix_error;
      CHECK(error * error == Approx(law).epsilon(7 * std::sqrt(2.0 / 64'000) + law));
    }
  }
}

}  // namespace optinc
