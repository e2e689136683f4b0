// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <csignal>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "solver/montecarlo/columns.hpp"
#include "tests/solver/montecarlo/sweep_fixture.hpp"

using namespace optinc;
using namespace optinc::test;

namespace {

/// Two points, five chips, a trace of two tensors, one with a comma and a quote in its name.
struct TensorSweep {
  TemporaryFolder folder;
  std::string config = (folder / "c.toml").string();
  std::string rows = (folder / "r.csv").string();
  std::string layers = (folder / "r.layers.csv").string();
  std::string layers_summary = (folder / "r.layers.summary.csv").string();

  TensorSweep() {
    write_spread_trace(folder / "t.h5", {{"conv, \"1\"", 100}, {"fc", 200}});
    write_text(config,
               "[workload]\ntrace = \"t.h5\"\nbits = 4\n[montecarlo]\nchips = 5\n[[axis]]\npath = "
               "\"imperfections.phase.fabrication_sigma_rad\"\nvalues = [0.05, 0.2]\n");
  }

  CliRun sweep(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> args = {"sweep", config, "--out", rows, "--quiet", "--layers"};
    args.insert(args.end(), more.begin(), more.end());
    return run(args);
  }
};

}  // namespace

TEST_CASE("per-tensor rows add up to the rows of the chips") {
  const TensorSweep sweep;
  REQUIRE(sweep.sweep().code == 0);
  const Table chips = parse_table(read_text(sweep.rows));
  const Table tensors = parse_table(read_text(sweep.layers));
  REQUIRE(chips.size() == 10);
  REQUIRE(tensors.size() == 20);
  bool differ = false;
  for (std::size_t i = 0; i < chips.size(); ++i) {
    const auto& first = tensors[2 * i];
    const auto& second = tensors[2 * i + 1];
    for (const std::string column :
         {"task_id", "chip", "seed", "backend", "imperfections.phase.fabrication_sigma_rad"}) {
      CHECK(first.at(column) == chips[i].at(column));
      CHECK(second.at(column) == chips[i].at(column));
    }
    CHECK(first.at("tensor") == "conv, \"1\"");
    CHECK(second.at("tensor") == "fc");
    CHECK(first.at("elements") == "100");
    CHECK(second.at("elements") == "200");
    for (const std::string rate : {"element_error_rate", "symbol_error_rate", "error_share_pm1"}) {
      CHECK(number(chips[i], rate) ==
            Approx((100 * number(first, rate) + 200 * number(second, rate)) / 300).margin(1e-14));
    }
    CHECK(number(chips[i], "max_error_lsb") ==
          std::max(number(first, "max_error_lsb"), number(second, "max_error_lsb")));
    differ = differ || first.at("nmse") != second.at("nmse");
  }
  CHECK(differ);
}

TEST_CASE("the rows are the same with and without --layers") {
  const TensorSweep sweep;
  REQUIRE(sweep.sweep().code == 0);
  const std::string rows = read_text(sweep.rows);
  REQUIRE(run({"sweep", sweep.config, "--out", sweep.rows, "--quiet", "--fresh"}).code == 0);
  CHECK(read_text(sweep.rows) == rows);
}

TEST_CASE("the per-tensor summary is over the chips of each point and tensor") {
  const TensorSweep sweep;
  REQUIRE(sweep.sweep().code == 0);
  const Table tensors = parse_table(read_text(sweep.layers));
  const Table summary = parse_table(read_text(sweep.layers_summary));
  REQUIRE(summary.size() == 4);
  for (std::size_t i = 0; i < summary.size(); ++i) {
    CHECK(summary[i].at("chips") == "5");
    CHECK(summary[i].at("tensor") == (i % 2 == 0 ? "conv, \"1\"" : "fc"));
    CHECK(summary[i].at("elements") == (i % 2 == 0 ? "100" : "200"));
    for (const std::string metric : {"element_error_rate", "nmse", "cosine"}) {
      std::vector<double> values;
      for (std::size_t chip = 0; chip < 5; ++chip) {
        values.push_back(number(tensors[10 * (i / 2) + 2 * chip + i % 2], metric));
      }
      double mean = 0;
      for (const double value : values) mean += value / 5;
      std::sort(values.begin(), values.end());
      CHECK(number(summary[i], metric + "_mean") == Approx(mean).epsilon(1e-12));
      CHECK(number(summary[i], metric + "_p50") == values[2]);
    }
  }
}

TEST_CASE("per-tensor files continue where the rows end, byte for byte") {
  const TensorSweep sweep;
  REQUIRE(sweep.sweep().code == 0);
  const std::string rows = read_text(sweep.rows);
  const std::string layers = read_text(sweep.layers);
  const std::string summary = read_text(sweep.layers_summary);
  const std::vector<std::string> row_lines = lines_of(rows);
  const std::vector<std::string> layer_lines = lines_of(layers);
  const auto head = [](const std::vector<std::string>& lines, std::size_t count) {
    std::string text;
    for (std::size_t i = 0; i < count; ++i) text += lines[i];
    return text;
  };
  for (std::size_t kept = 1; kept <= 10; ++kept) {
    // As a kill leaves it: the tensors of one more chip, whole or torn, without its row.
    for (const std::size_t torn : {std::size_t{0}, std::size_t{3}, layer_lines.back().size()}) {
      CAPTURE(kept, torn);
      write_text(sweep.rows, head(row_lines, kept));
      write_text(sweep.layers,
                 head(layer_lines, 2 * kept - 1) + layer_lines[2 * kept - 1].substr(0, torn));
      std::filesystem::remove(sweep.layers_summary);
      REQUIRE(sweep.sweep().code == 0);
      CHECK(read_text(sweep.rows) == rows);
      CHECK(read_text(sweep.layers) == layers);
      CHECK(read_text(sweep.layers_summary) == summary);
    }
  }
  // A finished run changes nothing, but mends a summary that is missing or old.
  const auto written = std::filesystem::last_write_time(sweep.layers_summary);
  REQUIRE(sweep.sweep().code == 0);
  CHECK(std::filesystem::last_write_time(sweep.layers_summary) == written);
  write_text(sweep.layers_summary, summary + "x");
  REQUIRE(sweep.sweep().code == 0);
  CHECK(read_text(sweep.layers_summary) == summary);
}

TEST_CASE("per-tensor files give the same bytes for every number of threads") {
  const TensorSweep sweep;
  REQUIRE(sweep.sweep({"--threads", "1"}).code == 0);
  const std::string layers = read_text(sweep.layers);
  REQUIRE(sweep.sweep({"--threads", "6", "--fresh"}).code == 0);
  CHECK(read_text(sweep.layers) == layers);
}

TEST_CASE("damaged per-tensor files and settings that do not go with them are refused") {
  const TensorSweep sweep;
  REQUIRE(sweep.sweep().code == 0);
  const std::vector<std::string> lines = lines_of(read_text(sweep.layers));
  const auto refused = [&](const std::vector<std::string>& more, int code,
                           const std::string& text) {
    const CliRun result = sweep.sweep(more);
    CAPTURE(result.err);
    CHECK(result.code == code);
    CHECK_THAT(result.err, Catch::Contains(text));
  };
  std::string content;
  for (std::size_t i = 0; i < lines.size(); ++i) content += i == 4 ? "" : lines[i];
  write_text(sweep.layers, content);
  refused({}, 3, "r.layers.csv:5");
  write_text(sweep.layers, "x\n");
  refused({}, 3, "r.layers.csv:1");
  std::filesystem::remove(sweep.layers);
  refused({}, 3, "r.layers.csv");
  // Made without --layers, or the other way round.
  REQUIRE(sweep.sweep({"--fresh"}).code == 0);
  const CliRun without = run({"sweep", sweep.config, "--out", sweep.rows, "--quiet"});
  CHECK(without.code == 3);
  CHECK_THAT(without.err, Catch::Contains("layers"));
  refused({"--fresh", "--shard", "0/2"}, 2, "--layers");
}

TEST_CASE("combined results leave per-tensor files out") {
  const TensorSweep sweep;
  REQUIRE(sweep.sweep().code == 0);
  const std::string out = (sweep.folder / "combined.csv").string();
  REQUIRE(run({"combine", sweep.rows, "--out", out}).code == 0);
  CHECK(read_text(out) == read_text(sweep.rows));
  CHECK(!contains(manifest_of(out), "layers"));
  CHECK(run({"sweep", sweep.config, "--out", out, "--quiet"}).code == 0);
}
