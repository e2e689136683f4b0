// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include <catch2/catch.hpp>

#include "devices/modulator.hpp"
#include "solver/cost/link_budget.hpp"
#include "solver/error.hpp"
#include "solver/optinc/receiver.hpp"

namespace optinc {

namespace {

/// A receiver with amplifier noise alone and ideal levels.
LinkHardware thermal_only() {
  LinkHardware link;
  link.rin_db_hz = -300;
  link.extinction_ratio_db = 60;
  link.rlm = 1;
  link.dark_na = 0;
  link.adc_bits = 30;
  return link;
}

double dbm(double watts) { return 10 * std::log10(watts * 1e3); }

UnitStructure one_layer(int inputs, int outputs, const MappingOptions& options = {}) {
  return unit_structure(layer_shapes(std::vector<int>{inputs, outputs}), {options});
}

}  // namespace

TEST_CASE("PAM4 levels have the extinction ratio and the level mismatch") {
  const Pam4Levels<double> ideal = pam4_levels(1.0, 4.0, 1.0);
  CHECK(ideal.level[0] == Approx(0.25));
  CHECK(ideal.level[1] == Approx(0.5));
  CHECK(ideal.level[2] == Approx(0.75));
  CHECK(ideal.level[3] == 1.0);
  const Pam4Levels<double> levels = pam4_levels(1.0, 4.0, 0.9);
  const double middle = (levels.level[0] + levels.level[3]) / 2;
  const double es1 = (levels.level[1] - middle) / (levels.level[0] - middle);
  const double es2 = (levels.level[2] - middle) / (levels.level[3] - middle);
  CHECK(std::min({3 * es1, 3 * es2, 2 - 3 * es1, 2 - 3 * es2}) == Approx(0.9));
}

TEST_CASE("symbol error rates and distances of the literature") {
  // SER = 3/2 Q(d / sigma): 4.8e-4 is the limit of Ethernet, 1.9e-5 that of 8-bit values.
  CHECK(required_distance(4.8e-4) == Approx(3.414).margin(5e-4));
  CHECK(required_distance(1.9e-5) == Approx(4.212).margin(5e-3));
  CHECK(required_distance(1e-6) == Approx(4.835).margin(5e-4));
  CHECK(required_distance(1e-12) == Approx(7.091).margin(5e-4));
  CHECK(required_symbol_error_rate(8) == Approx(1.9e-5).epsilon(0.01));
  CHECK(required_symbol_error_rate(4) == Approx(4.9e-3).epsilon(0.01));
  CHECK(required_symbol_error_rate(16) == Approx(2.9e-10).epsilon(0.01));
  CHECK_THROWS_AS(required_distance(0), ConfigError);
  CHECK_THROWS_AS(required_distance(0.75), ConfigError);
}

TEST_CASE("amplifier noise alone: sensitivity of 16.9 pA/sqrt(Hz) in 26.6 GHz") {
  // By hand: sigma = 2.76 uA; OMA for SER 4.8e-4 is 6 * 3.414 sigma / R, -11.5 dBm.
  const double sigma_a = 16.9e-12 * std::sqrt(26.6e9);
  CHECK(sigma_a == Approx(2.76e-6).epsilon(2e-3));
  const double oma_dbm = dbm(6 * 3.4145 * sigma_a / 0.8);
  CHECK(oma_dbm == Approx(-11.5).margin(0.05));
  // 10^4 times the noise at 10^4 times the power leaves nothing of the shot noise.
  LinkHardware link = thermal_only();
  link.thermal_pa_rthz *= 1e4;
  const SlicerBudget slicer = slicer_budget(oma_dbm + 40, link);
  CHECK(slicer.symbol_error_rate == Approx(4.8e-4).epsilon(0.01));
  CHECK(std::sqrt(slicer.noise.thermal) == Approx(1e4 * sigma_a));
  link.bandwidth_ghz = 53.1;
  CHECK(slicer_budget(-10.0 + 40, link).symbol_error_rate == Approx(4.8e-4).epsilon(0.1));
  // Shot noise of the real receiver is 6 % of the variance at the highest level.
  const SlicerBudget real = slicer_budget(oma_dbm, thermal_only());
  CHECK(real.noise.shot / real.noise.thermal == Approx(0.064).epsilon(0.02));
}

TEST_CASE("intensity noise limits the distance whatever the power") {
  // At -136 dB/Hz in 26.6 GHz and an extinction ratio of 3.5 dB: (1 - 1/ER) / (6 sqrt(RIN B)) of
  // the highest level = 3.57.
  LinkHardware link = thermal_only();
  link.rin_db_hz = -136;
  link.extinction_ratio_db = 3.5;
  // 1 kW drowns all other noise. Upper level of the upper gap: half a spacing over its noise.
  const SlicerBudget slicer = slicer_budget(60, link);
  CHECK(slicer.gaps.back().above == Approx(3.57 * 0.9995).epsilon(3e-3));
  CHECK(std::isnan(output_link(4, 1e-6, {}, link).margin_db));
  link.rin_db_hz = -150;
  CHECK(output_link(4, 1e-6, {}, link).margin_db > 0);
}

TEST_CASE("noise of a photodiode by hand") {
  const Photodiode diode{.responsivity_a_w = 0.8,
                         .dark_current_a = 10e-9,
                         .thermal_a_rthz = 16.9e-12,
                         .bandwidth_hz = 26.6e9};
  const CurrentNoise noise = photocurrent_noise(diode, 1e-3, 1e-15);
  CHECK(noise.shot == Approx(2 * 1.602176634e-19 * 0.8e-3 * 26.6e9));
  CHECK(noise.dark == Approx(2 * 1.602176634e-19 * 10e-9 * 26.6e9));
  CHECK(noise.thermal == Approx(16.9e-12 * 16.9e-12 * 26.6e9));
  CHECK(noise.intensity == Approx(1e-15 * 0.64e-6 * 26.6e9));
  CHECK(noise.total() == Approx(noise.shot + noise.dark + noise.thermal + noise.intensity));
  const CurrentNoise pair = homodyne_noise(diode, 1e-6, 1e-2, 1e-15);
  CHECK(homodyne_current_a(diode, 1e-6, 1e-2) == Approx(1.6e-4));
  CHECK(pair.shot == Approx(2 * 1.602176634e-19 * 0.8 * (1e-2 + 1e-6) * 26.6e9));
  CHECK(pair.dark == Approx(2 * noise.dark));
  CHECK(pair.intensity == Approx(1e-15 * 2.56e-8 * 26.6e9));
}

TEST_CASE("the slicer's error rate is that of drawn symbols") {
  LinkHardware link;
  link.rlm = 0.85;
  link.rin_db_hz = -140;
  link.adc_bits = 6;
  const double top_dbm = -11;
  const SlicerBudget slicer = slicer_budget(top_dbm, link);
  const double top_w = 1e-3 * std::pow(10, top_dbm / 10);
  const Pam4Levels<double> powers =
      pam4_levels(top_w, std::pow(10, link.extinction_ratio_db / 10), link.rlm);
  std::mt19937_64 engine(5);
  std::normal_distribution<double> normal;
  constexpr int symbols = 400000;
  Eigen::MatrixXd outputs(1, symbols);
  Eigen::MatrixXd means(1, symbols);
  std::vector<std::int64_t> sent;
  for (int i = 0; i < symbols; ++i) {
    const auto digit = static_cast<std::size_t>(i % 4);
    const double mean_a = link.responsivity_a_w * powers.level[digit];
    const CurrentNoise noise =
        photocurrent_noise(link.photodiode(), powers.level[digit], std::pow(10, -14));
    means(0, i) = mean_a * 1e6;
    outputs(0, i) =
        1e6 * (mean_a + std::sqrt(noise.total() + slicer.converter_variance) * normal(engine));
    sent.push_back(static_cast<std::int64_t>(digit));
  }
  const std::vector<std::int64_t> decided =
      decode(outputs, fit_calibration(Calibration::affine, means, sent));
  int wrong = 0;
  for (std::size_t i = 0; i < sent.size(); ++i) wrong += decided[i] == sent[i] ? 0 : 1;
  const double rate = static_cast<double>(wrong) / symbols;
  REQUIRE(wrong > 1000);
  CHECK(slicer.symbol_error_rate == Approx(rate).margin(4 * std::sqrt(rate / symbols)));
}

TEST_CASE("the margin is the power that can be spared") {
  const LinkHardware link;
  const double needed = required_symbol_error_rate(8);
  const OutputLink output = output_link(4, needed, {}, link);
  CHECK(output.margin_db > 0);
  LinkHardware weaker = link;
  weaker.laser_dbm -= output.margin_db;
  CHECK(output_link(4, needed, {}, weaker).slicer.symbol_error_rate ==
        Approx(needed).epsilon(1e-5));
  CHECK(output_link(4, needed, {}, weaker).margin_db == Approx(0).margin(1e-6));
  // A lower rate needs more.
  CHECK(output_link(4, needed / 1000, {}, link).margin_db < output.margin_db);
}

TEST_CASE("stages of the output link by hand") {
  const OutputLink output = output_link(4, 1e-5, {}, {});
  // 10 dBm, modulator 4 dB, splitter 6.02 + 0.5 dB, two facets of 1.5 dB.
  REQUIRE(output.stages.size() == 4);
  CHECK(output.stages[0].power_dbm == 10);
  CHECK(output.stages[1].power_dbm == 6);
  CHECK(output.stages[2].change_db == Approx(-6.5206));
  CHECK(output.stages[3].power_dbm == Approx(10 - 4 - 6.5206 - 3));
  CHECK(output.slicer.top_current_a ==
        Approx(0.8e-3 * std::pow(10, output.stages[3].power_dbm / 10)));
}

TEST_CASE("stages and signal of a layer by hand") {
  MappingOptions blocks;
  blocks.mapping = Mapping::segmented;
  blocks.segment = 4;
  const LayerLink first = layer_link(one_layer(8, 16, blocks), 0, 4, 1e-5, {}, {});
  // Modulator 4, transmitter facet 1.5, combiner +6.02 - 0.5, facets 3, 4 block rows 6.02,
  // 5 columns of 0.3 and 0.06 dB, 2 block columns 3.01 dB.
  const double expected_dbm = 10 - 4 - 1.5 + 6.0206 - 0.5 - 3 - 6.0206 - 5 * 0.36 - 3.0103;
  CHECK(first.stages.back().power_dbm == Approx(expected_dbm).margin(1e-4));
  double total = first.stages.front().power_dbm;
  for (const LinkStage& stage : first.stages) total += stage.change_db;
  CHECK(total == Approx(expected_dbm).margin(1e-4));
  const double signal_w = 1e-3 * std::pow(10, expected_dbm / 10);
  CHECK(first.current_a == Approx(2 * 0.8 * std::sqrt(signal_w * 1e-2)).epsilon(1e-4));
  const double shot = 2 * 1.602176634e-19 * 0.8 * (1e-2 + signal_w) * 26.6e9;
  const double thermal = 16.9e-12 * 16.9e-12 * 26.6e9;
  const double dark = 4 * 1.602176634e-19 * 10e-9 * 26.6e9;
  const double intensity = 1e-15 * first.current_a * first.current_a * 26.6e9;
  const double sigma = std::sqrt(shot + thermal + dark + intensity);
  CHECK(first.snr_db == Approx(20 * std::log10(first.current_a / sigma)).epsilon(1e-4));
}

TEST_CASE("the margin of a layer is the power that it can spare") {
  LinkHardware link;
  const double needed_db = 20 * std::log10(6 * required_distance(1e-5));
  const auto layer = [&] { return layer_link(one_layer(8, 16), 0, 4, 1e-5, {}, link); };
  const double margin_db = layer().margin_db;
  CHECK(margin_db > 5);
  CHECK(layer().snr_db > needed_db);
  link.laser_dbm -= margin_db;
  CHECK(layer().snr_db == Approx(needed_db));
  CHECK(layer().margin_db == Approx(0).margin(1e-9));
  link.rin_db_hz = -120;
  CHECK(std::isnan(layer().margin_db));
}

TEST_CASE("only the first layer carries the sum of the servers") {
  const UnitStructure unit = unit_structure(layer_shapes(std::vector<int>{4, 4, 4}), {{}, {}});
  const auto dbm_of = [&](std::size_t layer, int servers) {
    return layer_link(unit, layer, servers, 1e-5, {}, {}).stages.back().power_dbm;
  };
  CHECK(dbm_of(0, 16) - dbm_of(0, 4) == Approx(10 * std::log10(4)));
  CHECK(dbm_of(1, 16) == dbm_of(1, 4));
}

}  // namespace optinc
