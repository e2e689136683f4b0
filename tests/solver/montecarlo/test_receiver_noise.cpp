// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "solver/io/hdf5_file.hpp"
#include "solver/montecarlo/columns.hpp"
#include "tests/apps/words.hpp"
#include "tests/solver/montecarlo/sweep_fixture.hpp"

using namespace optinc;
using namespace optinc::test;

namespace {

const std::string link_keys =
    "imperfections.receiver.responsivity_a_w=0.8 imperfections.receiver.bandwidth_ghz=26.6 "
    "imperfections.receiver.thermal_pa_rthz=16.9 ";

std::string at_power(double dbm) {
  return link_keys + "imperfections.laser.power_dbm=" + std::to_string(dbm) + " ";
}

/// A sweep over a synthetic gradient, whose chips are ideal but for their receivers.
struct NoisySweep {
  TemporaryFolder folder;
  std::string config = (folder / "c.toml").string();
  std::string rows = (folder / "r.csv").string();

  explicit NoisySweep(const std::string& more = "") {
    write_text(config, "[workload]\nkind = \"gaussian\"\nelements = 4000\ncorrelation = 0.5\n" +
                           more + "[montecarlo]\nchips = 2\n");
  }

  std::string path(const std::string& name) const { return (folder / name).string(); }

  CliRun sweep(const std::string& settings, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> args = {"sweep", config, "--out", rows, "--quiet"};
    for (const std::string& setting : words(settings)) args.insert(args.end(), {"--set", setting});
    args.insert(args.end(), more.begin(), more.end());
    return run(args);
  }

  /// Rows without what names the task.
  Table table(const std::string& settings) const {
    const CliRun result = sweep(settings, {"--fresh"});
    INFO(result.err);
    REQUIRE(result.code == 0);
    Table rows_of = parse_table(read_text(rows));
    for (auto& row : rows_of) row.erase("task_id");
    return rows_of;
  }

  double metric(const std::string& settings, const std::string& name) const {
    return number(table(settings).front(), name);
  }
};

const std::string sixteen = "servers = 16\n[network]\ncascade = \"fraction\"\n";

/// What `average` writes and says of a trace of four servers.
struct Averaging {
  TemporaryFolder folder;
  std::string trace_file = (folder / "t.h5").string();
  std::uint64_t elements = 20000;

  explicit Averaging(int servers) {
    REQUIRE(run(words("trace make --kind gaussian --servers " + std::to_string(servers) +
                      " --elements 20000 --tensors 3 --correlation 0.5 --out " + trace_file))
                .code == 0);
  }

  struct Result {
    std::vector<float> values;
    nlohmann::json metrics;
  };

  Result average(const std::string& settings) const {
    const std::string out = (folder / "a.h5").string();
    std::vector<std::string> args = {"average", trace_file, "--out", out};
    for (const std::string& setting : words(settings)) args.insert(args.end(), {"--set", setting});
    const nlohmann::json document = json_of(args);
    Result result{.values = {}, .metrics = document.at("metrics")};
    const Hdf5File file(out);
    for (const auto& tensor : document.at("tensors")) {
      std::vector<float> values(tensor.at("elements").get<std::uint64_t>());
      file.dataset("gradient/" + tensor.at("name").get<std::string>())
          .read_columns(0, values.size(), values.data(), values.size());
      result.values.insert(result.values.end(), values.begin(), values.end());
    }
    REQUIRE(result.values.size() == elements);
    return result;
  }
};

std::vector<bool> differing(const std::vector<float>& a, const std::vector<float>& b) {
  std::vector<bool> differ(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) differ[i] = a[i] != b[i];
  return differ;
}

double share(const std::vector<bool>& flags) {
  double count = 0;
  for (const bool flag : flags) count += flag ? 1 : 0;
  return count / static_cast<double>(flags.size());
}

}  // namespace

TEST_CASE("receiver noise off or without effect changes no byte") {
  const NoisySweep sweep;
  const Table quiet = sweep.table("");
  CHECK(sweep.table("imperfections.transmitter.rlm=1") == quiet);
  CHECK(sweep.table(at_power(-20) + "imperfections.receiver.bandwidth_ghz=0") == quiet);
  const Table noisy = sweep.table(at_power(-5));
  CHECK(noisy != quiet);
  for (const std::string zero :
       {"imperfections.receiver.dark_na=0", "imperfections.splitter.excess_db=0",
        "imperfections.transmitter.rlm=1"}) {
    CHECK(sweep.table(at_power(-5) + zero) == noisy);
  }
  // The amplifier switched off is the amplifier left out.
  CHECK(sweep.table("imperfections.receiver.responsivity_a_w=0.8 "
                    "imperfections.receiver.bandwidth_ghz=26.6 imperfections.laser.power_dbm=-5") ==
        sweep.table(at_power(-5) + "imperfections.receiver.thermal_pa_rthz=0"));
}

TEST_CASE("symbol error rate of ideal chips is that of their link") {
  const NoisySweep sweep;
  // Digits of a Gaussian gradient are not equally frequent: a wrong digit has 1 to 2 tails.
  for (const double power_dbm : {-7.0, -6.0, -5.0}) {
    const double top_a = 0.8e-3 * std::pow(10, power_dbm / 10) / 4;
    const double thermal = 16.9e-12 * 16.9e-12 * 26.6e9;
    const auto tail = [&](double current_a) {
      const double sigma = std::sqrt(thermal + 2 * 1.602176634e-19 * current_a * 26.6e9);
      return std::erfc(top_a / 6 / sigma / std::sqrt(2)) / 2;
    };
    const double rate = sweep.metric(at_power(power_dbm), "symbol_error_rate");
    CHECK(rate > tail(0));
    CHECK(rate < 2 * tail(top_a));
  }
  // Far below what any sample would see; an element has four digits.
  const double rate = sweep.metric(at_power(-2), "element_error_rate");
  CHECK(rate > 0);
  CHECK(rate < 1e-11);
  CHECK(sweep.metric(at_power(-2), "symbol_error_rate") == Approx(rate / 4).epsilon(1e-6));
}

TEST_CASE("every kind of evaluation gives the same expectations") {
  const NoisySweep sweep;
  const Table codes = sweep.table(at_power(-8));
  for (const std::string evaluation : {"tuples", "sampled"}) {
    const Table other = sweep.table(at_power(-8) + "evaluation=" + evaluation);
    REQUIRE(other.size() == codes.size());
    for (const CsvColumn& column : metric_columns()) {
      // What is expected at least half a time depends on how many elements an entry has.
      if (column.name == "max_error_lsb" || codes[0].at(column.name).empty()) continue;
      CAPTURE(evaluation, column.name);
      CHECK(number(other[0], column.name) ==
            Approx(number(codes[0], column.name)).epsilon(1e-11).margin(1e-13));
    }
  }
  // A part of them comes with an interval that holds the whole.
  const auto part = sweep.table(at_power(-8) + "sample_elements=1000").front();
  const double whole = number(codes[0], "element_error_rate");
  CHECK(number(part, "element_error_rate_sample_lo") < whole);
  CHECK(number(part, "element_error_rate_sample_hi") > whole);
  // All codes alike: an own number.
  const double uniform =
      sweep.metric(at_power(-8) + "report.uniform_codes=true", "uniform_element_error_rate");
  CHECK(uniform == Approx(whole).epsilon(0.3));
  CHECK(uniform != whole);
}

TEST_CASE("average writes decisions that are drawn, and says what is expected of them") {
  // Hoeffding: a share of 20,000 elements is off by more than 0.026 with odds below 3e-12.
  for (const int servers : {4, 16}) {
    const Averaging averaging(servers);
    const std::string unit = servers == 4 ? "" : "network.cascade=fraction ";
    CAPTURE(servers);
    const Averaging::Result quiet = averaging.average(unit);
    REQUIRE(quiet.metrics.at("element_error_rate") == 0);
    const double power_dbm = servers == 4 ? -8.5 : -2.5;
    const Averaging::Result noisy = averaging.average(unit + at_power(power_dbm));
    const std::vector<bool> wrong = differing(noisy.values, quiet.values);
    CHECK(noisy.metrics.at("element_error_rate").get<double>() > 0.02);
    CHECK(share(wrong) ==
          Approx(noisy.metrics.at("element_error_rate").get<double>()).margin(0.026));
    // The same deviates at every power: what is wrong stays wrong with less light.
    const std::vector<bool> more =
        differing(averaging.average(unit + at_power(power_dbm - 1)).values, quiet.values);
    CHECK(share(more) > share(wrong));
    if (servers == 4) {
      bool contained = true;
      for (std::size_t i = 0; i < wrong.size(); ++i)
        contained = contained && (!wrong[i] || more[i]);
      CHECK(contained);
      // However the elements are evaluated for the metrics.
      CHECK(averaging.average("evaluation=tuples " + at_power(power_dbm)).values == noisy.values);
    }
    CHECK(averaging.average(unit + at_power(power_dbm)).values == noisy.values);
    CHECK(averaging.average(unit + at_power(power_dbm) + "montecarlo.seed=2").values !=
          noisy.values);
  }
}

TEST_CASE("the last level of a cascade has as much light as one unit for all its servers") {
  const NoisySweep cascade(sixteen);
  const double few = cascade.metric(at_power(1), "element_error_rate");
  const double many = cascade.metric(at_power(-1), "element_error_rate");
  CHECK(few > 0);
  CHECK(many > 3 * few);
  // Level 1 has one receiver per unit, 12 dB more light and no errors here.
  const NoisySweep unit("servers = 16\n[network]\nform = \"pipeline\"\n");
  CHECK(few == Approx(unit.metric(at_power(1), "element_error_rate")).epsilon(1e-9));
  CHECK(cascade.metric(at_power(-1) + "report.uniform_codes=true max_codes=20000",
                       "uniform_element_error_rate") == Approx(many).epsilon(0.3));
}

TEST_CASE("receiver noise gives the same bytes for any number of threads and after a stop") {
  for (const std::string& settings : {std::string(), sixteen}) {
    const NoisySweep sweep(settings);
    const std::string noise = at_power(settings.empty() ? -8 : -3);
    REQUIRE(sweep.sweep(noise, {"--chips", "4", "--threads", "1"}).code == 0);
    const std::string whole = read_text(sweep.rows);
    CHECK(parse_table(whole).size() == 4);
    REQUIRE(sweep.sweep(noise, {"--chips", "4", "--threads", "3", "--fresh"}).code == 0);
    CHECK(read_text(sweep.rows) == whole);
    write_text(sweep.rows, whole.substr(0, whole.size() / 2));
    REQUIRE(sweep.sweep(noise, {"--chips", "4", "--threads", "2"}).code == 0);
    CHECK(read_text(sweep.rows) == whole);
  }
}
