// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "solver/gradient/trace.hpp"
#include "solver/io/hdf5_file.hpp"
#include "solver/montecarlo/columns.hpp"
#include "solver/onn/analytic.hpp"
#include "solver/onn/network_file.hpp"
#include "tests/solver/montecarlo/sweep_fixture.hpp"

using namespace optinc;
using namespace optinc::test;

namespace {

const std::vector<std::string> server_keys = {"imperfections.combiner.amplitude_sigma",
                                              "imperfections.combiner.phase_sigma_rad",
                                              "imperfections.laser.server_phase_sigma_rad"};

std::vector<std::string> set_options(const std::vector<std::string>& settings) {
  std::vector<std::string> args;
  for (const std::string& setting : settings) args.insert(args.end(), {"--set", setting});
  return args;
}

/// Rows of a sweep of a configuration with some keys set, without what names the task.
Table rows_with(const TinySweep& tiny, const std::vector<std::string>& settings) {
  std::vector<std::string> args = set_options(settings);
  args.emplace_back("--fresh");
  const CliRun result = tiny.sweep(args);
  INFO(result.err);
  REQUIRE(result.code == 0);
  Table rows = parse_table(read_text(tiny.rows));
  for (auto& row : rows) row.erase("task_id");
  return rows;
}

std::vector<float> read_averaged(const std::string& path, const std::string& tensor,
                                 std::uint64_t elements) {
  std::vector<float> values(elements);
  Hdf5File(path).dataset("gradient/" + tensor).read_columns(0, elements, values.data(), elements);
  return values;
}

}  // namespace

TEST_CASE("tuples and a sample of everything give what the codes give") {
  const TinySweep tiny;
  const Table codes = rows_with(tiny, {});
  CHECK(codes == rows_with(tiny, {"evaluation=codes"}));
  CHECK(codes.size() == 21);
  // Sums over other entries round differently; what counts elements is equal.
  for (const std::string evaluation : {"tuples", "sampled"}) {
    const Table rows = rows_with(tiny, {"evaluation=" + evaluation});
    REQUIRE(rows.size() == codes.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      for (const CsvColumn& column : metric_columns()) {
        CAPTURE(evaluation, i, column.name);
        if (codes[i].at(column.name).empty()) {
          CHECK(rows[i].at(column.name).empty());
          continue;
        }
        CHECK(number(rows[i], column.name) ==
              Approx(number(codes[i], column.name)).epsilon(1e-12).margin(1e-13));
      }
      CHECK(rows[i].at("element_error_rate") == codes[i].at("element_error_rate"));
    }
  }
}

TEST_CASE("an imperfection that differs between servers switches to a sample") {
  const TinySweep tiny;
  for (const std::string& key : server_keys) {
    CAPTURE(key);
    CHECK(rows_with(tiny, {key + "=0"}) == rows_with(tiny, {}));
    // 300 elements are fewer than the sample: the same as all tuples.
    const Table rows = rows_with(tiny, {key + "=0.2"});
    CHECK(rows != rows_with(tiny, {}));
    CHECK(rows == rows_with(tiny, {key + "=0.2", "evaluation=sampled", "sample_elements=300"}));
    const Table tuples = rows_with(tiny, {key + "=0.2", "evaluation=tuples"});
    REQUIRE(tuples.size() == rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      CHECK(rows[i].at("element_error_rate") == tuples[i].at("element_error_rate"));
      CHECK(number(rows[i], "nmse") == Approx(number(tuples[i], "nmse")).epsilon(1e-12));
      CHECK(rows[i].at("element_error_rate_sample_lo") == rows[i].at("element_error_rate"));
    }
  }
}

TEST_CASE("a sample says how far it may be off") {
  const TinySweep tiny;
  const std::vector<std::string> settings = {"imperfections.combiner.phase_sigma_rad=0.3"};
  std::vector<std::string> sampled = settings;
  sampled.emplace_back("sample_elements=100");
  std::vector<std::string> exact = settings;
  exact.emplace_back("evaluation=tuples");
  const Table few = rows_with(tiny, sampled);
  const Table all = rows_with(tiny, exact);
  int covered = 0;
  for (std::size_t i = 0; i < few.size(); ++i) {
    for (const std::string metric : {"element_error_rate", "nmse"}) {
      const double lo = number(few[i], metric + "_sample_lo");
      const double hi = number(few[i], metric + "_sample_hi");
      CHECK(lo <= number(few[i], metric));
      CHECK(hi >= number(few[i], metric));
      CHECK(hi > lo);
      covered += lo <= number(all[i], metric) && number(all[i], metric) <= hi ? 1 : 0;
    }
  }
  // All chips share the sample, so misses come together: 42 intervals, most of them right.
  CHECK(covered >= 34);
  CHECK(few != rows_with(tiny, {settings[0], "sample_elements=101"}));
  sampled.emplace_back("montecarlo.seed=2");
  CHECK(few != rows_with(tiny, sampled));
}

TEST_CASE("the averaged gradient of a chip with unequal servers is that of its tuples") {
  const TinySweep tiny;
  const std::string out = tiny.path("averaged.h5");
  const std::vector<std::string> settings = {"imperfections.combiner.phase_sigma_rad=0.3",
                                             "workload.bits=6", "workload.block=100"};
  std::vector<std::string> args = {"average", tiny.path("t.h5"), "--out", out, "--json"};
  for (const std::string& option : set_options(settings)) args.push_back(option);
  args.insert(args.end(), {"--set", "evaluation=tuples"});
  const CliRun run_result = run(args);
  INFO(run_result.err);
  REQUIRE(run_result.code == 0);
  const auto metrics = nlohmann::json::parse(run_result.out).at("metrics");
  REQUIRE(metrics.at("element_error_rate").get<double>() > 0.01);

  // NMSE anew from the two files.
  std::vector<float> sent(600);
  GradientTrace(tiny.path("t.h5")).read(0, 0, 300, sent.data(), 300);
  const std::vector<float> averaged = read_averaged(out, "w", 300);
  double error2 = 0;
  double gradient2 = 0;
  for (std::size_t i = 0; i < 300; ++i) {
    const double mean = (static_cast<double>(sent[i]) + static_cast<double>(sent[300 + i])) / 2;
    const double error = static_cast<double>(averaged[i]) - mean;
    error2 += error * error;
    gradient2 += mean * mean;
  }
  CHECK(metrics.at("nmse").get<double>() == Approx(error2 / gradient2).epsilon(1e-5));

  // The file holds every element also where the metrics come from a sample.
  args.back() = "sample_elements=50";
  REQUIRE(run(args).code == 0);
  CHECK(read_averaged(out, "w", 300) == averaged);
}

TEST_CASE("settings of the evaluation that do not go together are refused") {
  const TinySweep tiny;
  const auto refused = [&](const std::vector<std::string>& settings, const std::string& text) {
    const CliRun result = tiny.sweep(set_options(settings));
    CAPTURE(result.err);
    CHECK(result.code == 2);
    CHECK_THAT(result.err, Catch::Contains(text));
    CHECK(!std::filesystem::exists(tiny.rows));
  };
  for (const std::string& key : server_keys) {
    refused({key + "=0.1", "evaluation=codes"}, "differs between servers");
    refused({key + "=0.1", "report.uniform_codes=true"}, "report.uniform_codes");
  }
  refused({"sample_elements=100", "evaluation=tuples"}, "sample_elements");
  refused({"sample_elements=100", "evaluation=codes"}, "sample_elements");
  refused({server_keys[1] + "=0.1", "combiner.mode=incoherent"}, "does not see phases");
  refused({server_keys[2] + "=0.1", "combiner.mode=incoherent"}, "laser.server_phase_sigma_rad");
}

TEST_CASE("more codes than max_codes are an error before any row") {
  const TinySweep tiny;
  const CliRun result = tiny.sweep({"--set", "max_codes=10"});
  CHECK(result.code == 2);
  CHECK_THAT(result.err, Catch::Contains("max_codes = 10"));
  CHECK(tiny.sweep({"--set", "max_codes=100000", "--fresh"}).code == 0);
}

TEST_CASE("uniform-code figures count every code of the alphabet once") {
  const TinySweep tiny;
  for (const auto& row : rows_with(tiny, {})) CHECK(row.at("uniform_element_error_rate").empty());
  const Table rows = rows_with(tiny, {"report.uniform_codes=true"});
  double mean = 0;
  double largest = 0;
  for (const auto& row : rows) {
    const double rate = number(row, "uniform_element_error_rate");
    // 2 servers, 4 bits: 7^2 codes.
    CHECK(rate * 49 == Approx(std::round(rate * 49)).margin(1e-9));
    mean += rate / static_cast<double>(rows.size());
    largest = std::max(largest, rate);
  }
  CHECK(mean > 0);
  CHECK(largest < 1);
  SweepFixture exact("0");
  REQUIRE(exact.sweep({"--chips", "1", "--set", "report.uniform_codes=true"}).code == 0);
  CHECK(parse_table(read_text(exact.rows))[0].at("uniform_element_error_rate") == "0");
}

TEST_CASE("a run says where single precision changes the ideal chip's digits") {
  const TinySweep tiny;
  Network network = build_analytic_network(make_code_format(2, 4), {});
  // Every output a hair below the next threshold: double precision can tell, single cannot.
  network.layers.back().bias.array() += 0.5 - 1e-10;
  write_network(tiny.folder / "n.h5", network);
  write_text(tiny.config,
             "[workload]\ntrace = \"t.h5\"\n[network]\nfile = \"n.h5\"\n[receiver]\ncalibration = "
             "\"none\"\n[montecarlo]\nchips = 1\n");
  const auto messages = [&](const std::string& precision) {
    const CliRun result =
        run({"sweep", tiny.config, "--out", tiny.rows, "--fresh", "--precision", precision});
    CHECK(result.code == 0);
    return result.err;
  };
  CHECK_THAT(messages("f32"), Catch::Contains("single precision is not enough") &&
                                  Catch::Contains("use --precision f64"));
  CHECK(parse_table(read_text(tiny.rows))[0].at("element_error_rate") != "0");
  CHECK(!contains(messages("f64"), "single precision"));
  CHECK(parse_table(read_text(tiny.rows))[0].at("element_error_rate") == "0");
  // The usual networks have margin enough.
  CHECK(!contains(run({"sweep", tiny.config, "--out", tiny.path("usual.csv"), "--precision", "f32",
                       "--set", "receiver.calibration=affine"})
                      .err,
                  "single precision"));
}
