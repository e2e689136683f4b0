// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include <cmath>
#include <complex>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include "noise/combiner_errors.hpp"
#include "solver/backend/registry.hpp"
#include "solver/error.hpp"
#include "solver/onn/analytic.hpp"
#include "solver/optinc/server_chip.hpp"
#include "tests/support/reference.hpp"

namespace optinc {
namespace {

using testing::reference;

/// Fields of ideal transmitters without noise.
Eigen::MatrixXd plain_fields(const CodeFormat& format, const Eigen::MatrixXcd& weights,
                             const std::vector<std::uint32_t>& values) {
  return combined_fields(
      format, weights,
      {.values = values, .amplitudes = group_amplitudes(format, {0, 1, 2, 3}), .turns = {}});
}

std::vector<std::uint32_t> random_values(const CodeFormat& format, std::size_t elements) {
  std::mt19937 random(3);
  std::vector<std::uint32_t> values(elements * static_cast<std::size_t>(format.servers));
  for (std::uint32_t& value : values) {
    value = static_cast<std::uint32_t>(random()) & static_cast<std::uint32_t>(format.max_value());
  }
  return values;
}

std::vector<CodeKey> codes_of(const CodeFormat& format, const std::vector<std::uint32_t>& values) {
  std::vector<CodeKey> codes;
  for (std::size_t i = 0; i < values.size(); i += static_cast<std::size_t>(format.servers)) {
    codes.push_back(code_of(format, values.data() + i));
  }
  return codes;
}

struct ServerUnit {
  CodeFormat format = make_code_format(4, 8);
  Network network = build_analytic_network(format, {});
  MappedNetwork mapped = map_network(network, {});
  std::vector<Eigen::MatrixXcd> ideal = compose_ideal(mapped, *reference());

  ChipOptics chip(const StaticImperfections& imperfections) const {
    return NetworkOptics(mapped, ideal, *reference(),
                         {.imperfections = imperfections, .ablation = {}})
        .chip(1, 0);
  }
};

TEST_CASE("fields are (1/N) sum a c e^(i psi), group by group", "[server]") {
  for (const auto& [servers, bits] : {std::pair{2, 4}, std::pair{5, 8}, std::pair{16, 16}}) {
    const CodeFormat format = make_code_format(servers, bits);
    const std::vector<std::uint32_t> values = random_values(format, 50);
    const Eigen::MatrixXcd weights = combiner_weights(
        {.amplitude_sigma = 0.2, .phase_sigma_rad = 0.7, .server_phase_sigma_rad = 0.4}, format, 9,
        2);
    const Eigen::MatrixXd fields = plain_fields(format, weights, values);
    REQUIRE(fields.rows() == 2 * format.inputs());
    REQUIRE(fields.cols() == 50);
    const int base = 1 << (2 * format.digits_per_input);
    for (int element = 0; element < 50; ++element) {
      for (int group = 0; group < format.inputs(); ++group) {
        std::complex<double> sum = 0;
        for (int server = 0; server < servers; ++server) {
          long value = values[static_cast<std::size_t>(element * servers + server)];
          for (int i = 0; i < group; ++i) value /= base;
          sum += std::polar(std::abs(weights(group, server)), std::arg(weights(group, server))) *
                 static_cast<double>(value % base) / static_cast<double>(servers);
        }
        CHECK(fields(group, element) == Approx(sum.real()).margin(1e-12));
        CHECK(fields(format.inputs() + group, element) == Approx(sum.imag()).margin(1e-12));
      }
    }
  }
}

TEST_CASE("training values give their codes, shared evenly", "[server]") {
  for (const auto& [servers, bits] : {std::pair{2, 4}, std::pair{3, 6}, std::pair{16, 16}}) {
    const CodeFormat format = make_code_format(servers, bits);
    const std::vector<CodeKey> codes = codes_of(format, random_values(format, 200));
    const std::vector<std::uint32_t> values = training_values(format, codes);
    CHECK(codes_of(format, values) == codes);
    const int base = 1 << (2 * format.digits_per_input);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::size_t first = i - i % static_cast<std::size_t>(servers);
      CHECK(std::abs(static_cast<int>(values[i] % static_cast<std::uint32_t>(base)) -
                     static_cast<int>(values[first] % static_cast<std::uint32_t>(base))) <= 1);
    }
  }
}

TEST_CASE("servers that are alike give what the codes give, bit for bit", "[server]") {
  const ServerUnit unit;
  StaticImperfections imperfections;
  imperfections.phase_fabrication_sigma_rad = 0.002;
  const ChipOptics chip = unit.chip(imperfections);
  const std::vector<std::uint32_t> values = random_values(unit.format, 3000);
  const std::vector<CodeKey> codes = codes_of(unit.format, values);
  const std::vector<std::int64_t> targets = target_values(unit.format, codes);
  const Eigen::MatrixXd inputs = network_inputs(unit.format, codes);
  for (const CombinerMode mode : {CombinerMode::coherent, CombinerMode::incoherent}) {
    const Eigen::MatrixXcd weights = combiner_weights({.mode = mode}, unit.format, 1, 0);
    CHECK(weights == Eigen::MatrixXcd::Ones(4, 4));
    for (const Calibration calibration :
         {Calibration::none, Calibration::gain, Calibration::affine}) {
      const ServerChip servers(unit.format, {&chip, 1}, weights, *reference(), calibration, codes);
      CHECK(servers.decode(values) ==
            decoded_values(chip, *reference(), calibration, inputs, targets));
    }
  }
}

TEST_CASE("a phase common to all servers scales real weights by its cosine", "[server]") {
  // Re(W a e^{i psi}) = cos(psi) W a for the ideal, real W.
  const ServerUnit unit;
  const ChipOptics chip = unit.chip({});
  const double phase_rad = 0.4;
  const std::vector<std::uint32_t> values = random_values(unit.format, 40);
  const Eigen::MatrixXcd turned = Eigen::MatrixXcd::Constant(4, 4, std::polar(1.0, phase_rad));
  const Eigen::MatrixXd fields = plain_fields(unit.format, turned, values);
  const Eigen::MatrixXd plain = network_inputs(unit.format, codes_of(unit.format, values));
  const Eigen::MatrixXd seen =
      chip.layers.front().weight * fields.topRows(4) - chip.first_quadrature * fields.bottomRows(4);
  CHECK((seen - std::cos(phase_rad) * unit.network.layers.front().weight * plain).norm() <
        1e-11 * plain.norm());
}

TEST_CASE("the quadrature of a chip's first layer is the imaginary part of its optics",
          "[server]") {
  const ServerUnit unit;
  StaticImperfections imperfections;
  imperfections.phase_fabrication_sigma_rad = 0.1;
  const ChipOptics chip = unit.chip(imperfections);
  const MappedLayer& layer = unit.mapped.layers.front();
  const MappedBlock& block = layer.blocks.front();
  const auto matrix = [&](const MappedMesh& mesh) {
    return reference()->compose(perturbed_state(mesh.program, imperfections, 1, 0, mesh.id));
  };
  const Eigen::Index rank = block.attenuation.size();
  const Eigen::MatrixXcd optics = layer.gain * matrix(*block.output_mesh).leftCols(rank) *
                                  block.attenuation.asDiagonal() *
                                  matrix(block.input_mesh).topRows(rank);
  CHECK((chip.first_quadrature - optics.imag()).norm() < 1e-12 * optics.norm());
  CHECK((chip.layers.front().weight - optics.real()).norm() < 1e-12 * optics.norm());
}

TEST_CASE("combiner errors have the statistics that their keys say", "[server]") {
  const CodeFormat format = make_code_format(16, 16);  // 4 groups
  constexpr std::uint32_t chips = 500;
  constexpr double amplitude = 0.1;
  constexpr double phase_rad = 0.3;
  std::complex<double> mean = 0;
  double power = 0;
  double common = 0;
  double own = 0;
  for (std::uint32_t chip = 0; chip < chips; ++chip) {
    const Eigen::MatrixXcd both = combiner_weights(
        {.amplitude_sigma = amplitude, .phase_sigma_rad = phase_rad}, format, 5, chip);
    mean += both.mean();
    power += both.cwiseAbs2().mean();
    const Eigen::MatrixXcd by_server =
        combiner_weights({.server_phase_sigma_rad = phase_rad}, format, 5, chip);
    for (Eigen::Index server = 0; server < 16; ++server) {
      common += std::pow(std::arg(by_server(0, server)), 2) / 16;
      own += std::norm(by_server(0, server) - by_server(3, server));
    }
  }
  const double count = chips * 64.0;
  // <c e^{i psi}> = e^{-sigma^2 / 2}; each part of a term varies by less than 0.4: 5 sigma.
  CHECK(mean.real() / chips ==
        Approx(std::exp(-phase_rad * phase_rad / 2)).margin(2 / std::sqrt(count)));
  CHECK(std::fabs(mean.imag() / chips) < 2 / std::sqrt(count));
  // <c^2> = 1 + sigma^2, standard deviation about 2 sigma per term: 5 sigma.
  CHECK(power / chips ==
        Approx(1 + amplitude * amplitude).margin(10 * amplitude / std::sqrt(count)));
  // A server's phase is common to its groups, of variance sigma^2 (5 sigma of 8000 terms).
  CHECK(own == 0);
  CHECK(common / chips ==
        Approx(phase_rad * phase_rad).epsilon(5 * std::sqrt(2.0 / (chips * 16.0))));
}

TEST_CASE("an incoherent combiner squares amplitudes and refuses phases", "[server]") {
  const CodeFormat format = make_code_format(4, 8);
  const Eigen::MatrixXcd fields = combiner_weights({.amplitude_sigma = 0.3}, format, 2, 1);
  const Eigen::MatrixXcd powers =
      combiner_weights({.mode = CombinerMode::incoherent, .amplitude_sigma = 0.3}, format, 2, 1);
  CHECK((powers.real() - fields.cwiseAbs2()).norm() < 1e-14);
  CHECK(powers.imag().norm() == 0);
  CHECK_THROWS_WITH(
      validate(CombinerImperfections{.mode = CombinerMode::incoherent, .phase_sigma_rad = 0.1}),
      Catch::Contains("combiner.phase_sigma_rad") && Catch::Contains("incoherent"));
  CHECK_THROWS_AS(validate(CombinerImperfections{.mode = CombinerMode::incoherent,
                                                 .server_phase_sigma_rad = 0.1}),
                  ConfigError);
  CHECK_NOTHROW(validate(CombinerImperfections{.phase_sigma_rad = 0.1}));
  // An amplitude never becomes negative.
  const Eigen::MatrixXcd wide = combiner_weights({.amplitude_sigma = 1}, format, 2, 1);
  CHECK(wide.real().minCoeff() >= 0);
}

}  // namespace
}  // namespace optinc
