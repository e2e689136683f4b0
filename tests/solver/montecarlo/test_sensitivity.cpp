// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <functional>
#include <numbers>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "solver/montecarlo/sensitivity.hpp"
#include "solver/montecarlo/tolerance_keys.hpp"
#include "tests/solver/montecarlo/sweep_fixture.hpp"

namespace optinc {
namespace {

using test::CliRun;
using test::contains;
using test::json_of;
using test::parse_table;
using test::read_text;
using test::run;
using test::write_text;

const std::string imperfections = "imperfections.";

std::vector<SobolIndex> indices_of(std::size_t samples, std::size_t factors,
                                   const std::function<double(const Eigen::RowVectorXd&)>& model) {
  const SaltelliDesign design = saltelli_design(samples, factors);
  const std::size_t points = design.points_per_sample();
  Eigen::MatrixXd values(static_cast<Eigen::Index>(samples), static_cast<Eigen::Index>(points));
  for (std::size_t sample = 0; sample < samples; ++sample) {
    for (std::size_t i = 0; i < points; ++i) {
      values(static_cast<Eigen::Index>(sample), static_cast<Eigen::Index>(i)) =
          model(design.point(sample, i));
    }
  }
  return sobol_indices(values, 1);
}

struct SensitivityPoint : test::TinySweep {
  SensitivityPoint() {
    write_text(config, "[workload]\ntrace = \"t.h5\"\nbits = 4\n[montecarlo]\nchips = 3\n");
  }
  std::vector<std::string> args(const std::vector<std::string>& more) const {
    std::vector<std::string> all = {"sensitivity", config, "--quiet"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
};

const std::vector<std::string> phase = {"--vary",
                                        imperfections + "phase.fabrication_sigma_rad:1e-4:0.02"};

std::vector<std::string> phase_with(const std::vector<std::string>& more) {
  std::vector<std::string> all = phase;
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

}  // namespace

TEST_CASE("Sobol indices of the Ishigami function are the known ones") {
  // Ishigami and Homma 1990 with a = 7, b = 0.1; the closed forms of its variances.
  constexpr double a = 7;
  constexpr double b = 0.1;
  const double pi4 = std::pow(std::numbers::pi, 4);
  const double alone_1 = 0.5 * std::pow(1 + b * pi4 / 5, 2);
  const double alone_2 = a * a / 8;
  const double both_13 = b * b * pi4 * pi4 * (1.0 / 18 - 1.0 / 50);
  const double variance = alone_1 + alone_2 + both_13;
  const auto indices = indices_of(8192, 3, [&](const Eigen::RowVectorXd& unit) {
    const Eigen::Array3d x = (2 * unit.transpose().array() - 1) * std::numbers::pi;
    return std::sin(x(0)) + a * std::pow(std::sin(x(1)), 2) +
           b * std::pow(x(2), 4) * std::sin(x(0));
  });
  const std::vector<double> first = {alone_1 / variance, alone_2 / variance, 0};
  const std::vector<double> total = {(alone_1 + both_13) / variance, alone_2 / variance,
                                     both_13 / variance};
  for (std::size_t i = 0; i < 3; ++i) {
    CAPTURE(i);
    CHECK(std::fabs(indices[i].first - first[i]) < 0.01);
    CHECK(std::fabs(indices[i].total - total[i]) < 0.01);
    CHECK(indices[i].first_interval.lo < first[i]);
    CHECK(indices[i].first_interval.hi > first[i]);
    CHECK(indices[i].total_interval.lo < total[i]);
    CHECK(indices[i].total_interval.hi > total[i]);
  }
}

TEST_CASE("an additive model has no interactions, and a constant one no indices") {
  const auto indices = indices_of(
      1024, 3, [](const Eigen::RowVectorXd& unit) { return 100 + 3 * unit(0) + 4 * unit(1); });
  for (const auto& [index, share] :
       {std::pair{0U, 9.0 / 25}, std::pair{1U, 16.0 / 25}, std::pair{2U, 0.0}}) {
    CHECK(indices[index].first == Approx(share).margin(0.01));
    CHECK(indices[index].total == Approx(share).margin(0.01));
  }
  CHECK(std::isnan(indices_of(16, 1, [](const auto&) { return 3.0; })[0].first));
}

TEST_CASE("the design mixes B into A one factor at a time") {
  const SaltelliDesign design = saltelli_design(64, 2);
  CHECK(design.points_per_sample() == 4);
  CHECK(design.a.minCoeff() > 0);
  CHECK(design.b.maxCoeff() < 1);
  CHECK(design.point(5, 0) == design.a.row(5));
  CHECK(design.point(5, 1) == design.b.row(5));
  CHECK(design.point(5, 2) == Eigen::RowVector2d(design.b(5, 0), design.a(5, 1)));
  CHECK(design.point(5, 3) == Eigen::RowVector2d(design.a(5, 0), design.b(5, 1)));
}

TEST_CASE("keys are drawn from their ranges") {
  const SampledKey linear = parse_sampled_key("--vary", imperfections + "coupler.sigma_rad:0:0.5");
  CHECK(std::get<double>(linear.value(0.5)) == 0.25);
  const SampledKey ratios = parse_sampled_key("--vary", imperfections + "loss.mzi_db:0.01:1:log");
  CHECK(std::get<double>(ratios.value(0.5)) == Approx(0.1));
  const SampledKey bits = parse_sampled_key("--vary", imperfections + "phase.dac_bits:4:7");
  CHECK(std::get<std::int64_t>(bits.value(0)) == 4);
  CHECK(std::get<std::int64_t>(bits.value(0.249)) == 4);
  CHECK(std::get<std::int64_t>(bits.value(0.251)) == 5);
  CHECK(std::get<std::int64_t>(bits.value(0.999)) == 7);
}

TEST_CASE("sensitivity finds the shares of the matrix error's law") {
  // On chips that are the same at every draw, E of phase errors alone is proportional to sigma, so
  // that all of its variance is theirs; a loss that every path shares changes nothing.
  const SensitivityPoint point;
  const nlohmann::json rows = json_of(
      point.args(phase_with({"--vary", imperfections + "detuning.spectrum_shift_nm_per_k:0:0.1",
                             "--metric", "matrix_error", "--samples", "256"})));
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].at("first").get<double>() == Approx(1).margin(0.02));
  CHECK(rows[0].at("total").get<double>() == Approx(1).margin(0.02));
  CHECK(rows[1].at("first").get<double>() == Approx(0).margin(1e-12));
  CHECK(rows[1].at("total") == 0);
  CHECK(rows[0].at("metric_std").get<double>() > 0);
}

TEST_CASE("every option of sensitivity is applied, whatever the threads") {
  const SensitivityPoint point;
  const std::string out = (point.folder / "s.csv").string();
  const std::vector<std::string> base =
      phase_with({"--metric", "nmse", "--samples", "4", "--out", out});
  const auto table = [&](const std::vector<std::string>& more) {
    std::vector<std::string> all = point.args(base);
    all.insert(all.end(), more.begin(), more.end());
    const CliRun result = run(all);
    INFO(result.err);
    REQUIRE(result.code == 0);
    CHECK(result.out.empty());
    return read_text(out);
  };
  const std::string first = table({"--threads", "1"});
  CHECK(table({"--threads", "3"}) == first);
  for (const std::vector<std::string>& change :
       {std::vector<std::string>{"--chips", "2"},
        {"--seed", "5"},
        {"--set", imperfections + "coupler.sigma_rad=0.05"},
        {"--backend", "reference"},
        {"--precision", "f32"}}) {
    CAPTURE(change);
    CHECK(table(change) != first);
  }
  const auto rows = parse_table(first);
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].at("samples") == "4");
  CHECK(rows[0].at("scale") == "linear");
  const CliRun text = run({"sensitivity", point.config, "--samples", "2", "--vary",
                           imperfections + "phase.fabrication_sigma_rad:1e-4:0.02:log"});
  CHECK(text.code == 0);
  CHECK(contains(text.out, "shares of the variance of element_error_rate"));
}

TEST_CASE("sensitivity refuses what it cannot use") {
  const SensitivityPoint point;
  const auto refused = [&](const std::vector<std::string>& more, const std::string& part) {
    const CliRun result = run(point.args(more));
    INFO(result.err);
    CHECK(result.code == 2);
    CHECK(contains(result.err, part));
  };
  const std::string key = imperfections + "coupler.sigma_rad";
  refused({}, "--vary");
  refused({"--vary", key}, "must be PATH:LOW:HIGH");
  refused({"--vary", key + ":0:0.1:lin"}, "must be PATH:LOW:HIGH");
  refused({"--vary", key + ":0.1:0.1"}, "the range is empty");
  refused({"--vary", key + ":0:0.1:log"}, "leave :log out");
  refused({"--vary", key + ":0:9"}, "must lie in");
  refused({"--vary", "workload.block:1:9"}, "cannot be varied");
  refused({"--vary", key + ":0:0.1", "--vary", key + ":0:0.2"}, "second of that key");
  refused({"--vary", imperfections + "laser.rin_db_hz:-150:-120"}, "receiver.bandwidth_ghz only");
  refused(phase_with({"--samples", "48"}), "power of two");
  refused(phase_with({"--metric", "nmsee"}), "did you mean 'nmse'");
  refused(phase_with({"--out", point.config}), "must end in .csv");
}

}  // namespace optinc
