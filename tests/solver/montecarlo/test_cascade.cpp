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

constexpr std::uint64_t cascade_elements = 2000;

/// A sweep of a cascade of 16 servers over a small synthetic gradient.
struct CascadeSweep {
  TemporaryFolder folder;
  std::string config = (folder / "c.toml").string();
  std::string rows = (folder / "r.csv").string();

  CascadeSweep() {
    write_text(config,
               "[workload]\nkind = \"gaussian\"\nservers = 16\nelements = 2000\ncorrelation = 0.5\n"
               "[network]\ncascade = \"fraction\"\n[montecarlo]\nchips = 2\n");
  }

  std::string path(const std::string& name) const { return (folder / name).string(); }

  CliRun sweep(const std::string& settings, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> args = {"sweep", config, "--out", rows, "--quiet", "--fresh"};
    for (const std::string& setting : words(settings)) {
      args.insert(args.end(), {"--set", setting});
    }
    args.insert(args.end(), more.begin(), more.end());
    return run(args);
  }

  /// Rows without what names the task.
  Table table(const std::string& settings, const std::vector<std::string>& more = {}) const {
    const CliRun result = sweep(settings, more);
    INFO(result.err);
    REQUIRE(result.code == 0);
    Table rows_of = parse_table(read_text(rows));
    for (auto& row : rows_of) row.erase("task_id");
    return rows_of;
  }

  double error_rate(const std::string& settings) const {
    return number(table(settings).front(), "element_error_rate");
  }
};

const std::string phase = "imperfections.phase.fabrication_sigma_rad=";

std::vector<float> averaged(const std::string& file, std::uint64_t count) {
  std::vector<float> values(count);
  Hdf5File(file).dataset("gradient/tensor0").read_columns(0, count, values.data(), count);
  return values;
}

}  // namespace

TEST_CASE("an ideal cascade with fraction makes no errors, a naive one makes many") {
  const CascadeSweep cascade;
  const Table fraction = cascade.table("");
  CHECK(number(fraction[0], "element_error_rate") == 0);
  CHECK(number(fraction[0], "matrix_error") == 0);
  CHECK(cascade.error_rate("network.form=pipeline") == 0);
  CHECK(cascade.error_rate("network.step=relu workload.rounding=half_even") == 0);
  // The closed form for uniform low digits, 226/1024; a Gaussian of many steps has such digits.
  constexpr double share = 226.0 / 1024;
  const Table naive =
      cascade.table("network.cascade=naive report.uniform_codes=true max_codes=20000");
  CHECK(std::abs(number(naive[0], "element_error_rate") - share) <
        5 * std::sqrt(share * (1 - share) / cascade_elements));
  CHECK(number(naive[0], "error_share_pm1") == number(naive[0], "element_error_rate"));
  CHECK(number(naive[0], "nmse") > number(fraction[0], "nmse"));
  CHECK(number(naive[0], "uniform_element_error_rate") > 0.1);
  const Table uniform = cascade.table("report.uniform_codes=true max_codes=20000");
  CHECK(number(uniform[0], "uniform_element_error_rate") == 0);
  CHECK(fraction[0].at("uniform_element_error_rate").empty());
}

TEST_CASE("a cascade of ideal units sees what one unit of 16 servers sees") {
  const CascadeSweep cascade;
  const Table one = cascade.table("network.cascade=none network.form=pipeline");
  const Table two = cascade.table("evaluation=tuples");
  for (const CsvColumn& column : metric_columns()) {
    CAPTURE(column.name);
    if (one[0].at(column.name).empty()) {
      CHECK(two[0].at(column.name).empty());
    } else {
      CHECK(number(two[0], column.name) ==
            Approx(number(one[0], column.name)).epsilon(1e-12).margin(1e-13));
    }
  }
}

TEST_CASE("imperfections of all units of a cascade show in its rows") {
  const CascadeSweep cascade;
  const Table ideal = cascade.table("");
  const Table some = cascade.table(phase + "4e-4");
  CHECK(number(some[0], "element_error_rate") > 0);
  CHECK(number(some[0], "matrix_error") > 1e-4);
  CHECK(some[0] != some[1]);
  CHECK(some == cascade.table(phase + "4e-4"));
  CHECK(some != cascade.table(phase + "4e-4 network.cascade=naive"));
  CHECK(some != cascade.table(phase + "4e-4 montecarlo.seed=2"));
  CHECK(some != cascade.table(phase + "4e-4 receiver.calibration=none"));
  CHECK(cascade.table(phase + "4e-4 network.calibration=local") != some);
  CHECK(number(cascade.table(phase + "2e-3")[0], "element_error_rate") >
        number(some[0], "element_error_rate"));
  for (const std::string key :
       {"imperfections.combiner.amplitude_sigma=0.05", "imperfections.combiner.phase_sigma_rad=0.3",
        "imperfections.laser.server_phase_sigma_rad=0.3"}) {
    CAPTURE(key);
    CHECK(number(cascade.table(key)[0], "element_error_rate") > 0);
  }
}

TEST_CASE("a cascade evaluated on all tuples, on all elements or on some of them agrees") {
  const CascadeSweep cascade;
  const Table tuples = cascade.table(phase + "5e-4 evaluation=tuples");
  const Table sampled = cascade.table(phase + "5e-4 evaluation=sampled");
  CHECK(sampled == cascade.table(phase + "5e-4"));
  CHECK(tuples[0].at("element_error_rate") == sampled[0].at("element_error_rate"));
  const Table few = cascade.table(phase + "5e-4 sample_elements=500");
  CHECK(number(few[0], "element_error_rate_sample_lo") <
        number(few[0], "element_error_rate_sample_hi"));
  CHECK(number(few[0], "element_error_rate_sample_lo") <= number(tuples[0], "element_error_rate"));
  CHECK(number(few[0], "element_error_rate_sample_hi") >= number(tuples[0], "element_error_rate"));
}

TEST_CASE("a cascade gives the same bytes for any number of threads") {
  const CascadeSweep cascade;
  const std::string settings =
      phase + "5e-4 montecarlo.chips=6 report.uniform_codes=true max_codes=5000";
  REQUIRE(cascade.sweep(settings, {"--threads", "1", "--layers"}).code == 0);
  const std::string rows = read_text(cascade.rows);
  const std::string layers = read_text(cascade.path("r.layers.csv"));
  REQUIRE(cascade.sweep(settings, {"--threads", "3", "--layers"}).code == 0);
  CHECK(read_text(cascade.rows) == rows);
  CHECK(read_text(cascade.path("r.layers.csv")) == layers);
  CHECK(lines_of(layers).size() == 7);
  const CliRun dry = cascade.sweep(settings, {"--dry-run"});
  CHECK(dry.code == 0);
  CHECK(contains(dry.out, "evaluated 2000"));
}

TEST_CASE("an adaptive sweep of a cascade ends its points") {
  const CascadeSweep cascade;
  const std::string setting = phase + "1e-3";
  write_text(cascade.config,
             "[workload]\nkind = \"gaussian\"\nservers = 4\nelements = 300\nbits = 4\n"
             "[network]\ncascade = \"fraction\"\n[montecarlo]\nmin_chips = 3\nmax_chips = 40\n"
             "target.metric = \"element_error_rate\"\ntarget.abs_halfwidth = 0.5\n");
  CHECK(cascade.table(setting).size() == 3);
}

TEST_CASE("servers divide as level2_servers says, digits merge as level2_digits_per_input says") {
  const CascadeSweep cascade;
  const std::string naive = "network.cascade=naive network.form=pipeline ";
  const double four = cascade.error_rate(naive);
  const double two = cascade.error_rate(naive + "network.level2_servers=2");
  const double eight = cascade.error_rate(naive + "network.level2_servers=8");
  CHECK(four != two);
  CHECK(four != eight);
  const std::string exact = "network.form=pipeline ";
  for (const std::string setting :
       {"network.level2_servers=2", "network.level2_servers=8", "network.digits_per_input=2",
        "network.level2_digits_per_input=5"}) {
    CAPTURE(setting);
    CHECK(cascade.error_rate(exact + setting) == 0);
    CHECK(cascade.table(exact + phase + "1e-5 " + setting) !=
          cascade.table(exact + phase + "1e-5"));
  }
}

TEST_CASE("network files of both levels do what the analytic cascade does") {
  const CascadeSweep cascade;
  const std::string level1 = cascade.path("level1.h5");
  const std::string level2 = cascade.path("level2.h5");
  const std::string ordinary = cascade.path("ordinary.h5");
  for (const std::string& options :
       {"--output-fraction-digits 1 --out " + level1, "--input-fraction-digits 1 --out " + level2,
        "--out " + ordinary}) {
    REQUIRE(run(words("onn build --servers 4 --bits 8 " + options)).code == 0);
  }
  const auto files = [](const std::string& first, const std::string& second) {
    return "network.file=" + first + " network.level2_file=" + second + " ";
  };
  CHECK(cascade.table(files(level1, level2) + phase + "5e-4") == cascade.table(phase + "5e-4"));
  CHECK(cascade.table(files(ordinary, ordinary) + "network.cascade=naive") ==
        cascade.table("network.cascade=naive"));
  const auto refused = [&](const std::string& settings, const std::string& part) {
    const CliRun result = cascade.sweep(settings);
    CAPTURE(settings);
    CHECK(result.code == 2);
    CHECK(contains(result.err, part));
  };
  refused(files(level2, level1), "not the levels of a cascade");
  refused(files(ordinary, ordinary), "this cascade passes 1");
  refused(files(level1, level2) + "network.cascade=naive", "this cascade passes 0");
  refused("network.file=" + level1, "network.level2_file is not");
  refused("network.level2_file=" + level2, "network.file is not");
  refused(files(level1, level2) + "network.level2_servers=4", "network.level2_file fixes it");
  refused("network.file=" + level1 + " network.cascade=none workload.servers=4",
          "is a unit of a cascade");
  refused(files(level1, level2) + "workload.servers=4", "has 4 servers");

  const nlohmann::json checked = json_of({"onn", "check", level2});
  CHECK(checked.at("codes") == 371293);
  CHECK(checked.at("correct") == 371293);
  CHECK(checked.at("input_fraction_digits") == 1);
  const CliRun text = run({"onn", "check", level1});
  CHECK(contains(text.out, "gives 1 fraction digits"));
  CHECK(contains(text.out, "28561 (1.000000)"));
}

TEST_CASE("settings of a cascade that do not go together are refused") {
  const CascadeSweep cascade;
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"network.cascade=three", "network.cascade = \"three\""},
      {"network.cascade=none network.level2_servers=4", "network.level2_servers is given but"},
      {"network.cascade=none network.level2_digits_per_input=1",
       "level2_digits_per_input is given"},
      {"network.cascade=none network.level2_file=x.h5", "network.level2_file is given but"},
      {"network.level2_servers=5", "network.level2_servers = 5"},
      {"network.level2_servers=16", "two or more"},
      {"workload.servers=8", "8 servers are no square"},
      {"workload.servers=9", "have no exact fraction"},
      {"network.level2_digits_per_input=2", "level2_digits_per_input = 2 does not divide the 5"},
      {"network.level2_servers=8", "no ripple network for 8 servers"},
      {"evaluation=codes", "network.cascade has several units"},
      {"report.uniform_codes=true imperfections.combiner.amplitude_sigma=0.1",
       "report.uniform_codes is given but"},
      {"max_codes=100", "max_codes = 100"},
      {"ablation.layer=9", "ablation.layer = 9"}};
  for (const auto& [settings, part] : cases) {
    CAPTURE(settings);
    const CliRun result = cascade.sweep(settings);
    CHECK(result.code == 2);
    CHECK(contains(result.err, part));
  }
}

TEST_CASE("average sends a trace through a cascade") {
  const CascadeSweep cascade;
  const std::string trace_file = cascade.path("t.h5");
  REQUIRE(run(words("trace make --kind laplace --servers 16 --elements 3000 --correlation 0.3 "
                    "--out " +
                    trace_file))
              .code == 0);
  const auto average = [&](const std::string& settings) {
    std::vector<std::string> args = {"average", trace_file, "--out", cascade.path("a.h5")};
    for (const std::string& setting : words(settings)) args.insert(args.end(), {"--set", setting});
    const nlohmann::json document = json_of(args);
    return std::pair{averaged(cascade.path("a.h5"), 3000),
                     document.at("metrics").at("element_error_rate").get<double>()};
  };
  const auto one = average("network.form=pipeline");
  CHECK(one.second == 0);
  CHECK(average("network.cascade=fraction") == one);
  const auto wrong_share = [&](const std::vector<float>& values) {
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < values.size(); ++i) wrong += values[i] != one.first[i] ? 1 : 0;
    return static_cast<double>(wrong) / static_cast<double>(values.size());
  };
  for (const std::string settings : {"network.cascade=naive",
                                     "network.cascade=fraction "
                                     "imperfections.phase.fabrication_sigma_rad=5e-4"}) {
    CAPTURE(settings);
    const auto imperfect = average(settings);
    CHECK(imperfect.second > 0);
    CHECK(imperfect.second == Approx(wrong_share(imperfect.first)));
    // A sample has the same receiver, and the file holds every element all the same.
    const auto sampled = average(settings + " sample_elements=200");
    CHECK(sampled.first == imperfect.first);
  }
}

TEST_CASE("the shipped cascade sweep runs") {
  const CascadeSweep cascade;
  const CliRun result = run({"sweep", source + "/data/sweeps/cascade.toml", "--out", cascade.rows,
                             "--quiet", "--chips", "1", "--set", "workload.elements=500"});
  INFO(result.err);
  REQUIRE(result.code == 0);
  const Table rows = parse_table(read_text(cascade.rows));
  CHECK(rows.front().at("network.cascade") == "fraction");
  CHECK(number(rows.front(), "element_error_rate") == 0);
}
