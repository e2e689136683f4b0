// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <csignal>
#include <map>
#include <set>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "solver/config/schema.hpp"
#include "solver/error.hpp"
#include "solver/montecarlo/columns.hpp"
#include "solver/montecarlo/journal.hpp"
#include "solver/montecarlo/ordered_run.hpp"
#include "solver/montecarlo/shared_cache.hpp"
#include "solver/montecarlo/summary.hpp"
#include "solver/text.hpp"
#include "tests/solver/montecarlo/sweep_fixture.hpp"

using namespace optinc;
using namespace optinc::test;

TEST_CASE("imperfections off: no element is wrong, on both shipped traces") {
  SweepFixture fixture("0");
  for (const std::string& path : {trace, llama_trace}) {
    REQUIRE(fixture.sweep({"--fresh", "--set", "workload.trace=" + path}).code == 0);
    const Table rows = parse_table(read_text(fixture.rows));
    REQUIRE(rows.size() == 3);
    const auto info = nlohmann::json::parse(run({"trace", "info", path, "--json"}).out);
    for (const auto& row : rows) {
      CHECK(number(row, "nmse") == info.at("quantised").at("nmse").get<double>());
      CHECK(row.at("element_error_rate") == "0");
      CHECK(row.at("symbol_error_rate") == "0");
      CHECK(row.at("matrix_error") == "0");
      CHECK(row.at("fidelity") == "1");
      CHECK(number(row, "error_share_other") == 0);
      // half_up on four servers: theory 1/8 LSB.
      CHECK(number(row, "bias_lsb") == Approx(0.125).margin(0.01));
    }
  }
}

TEST_CASE("the CSV has the same bytes for 1, 2 and 8 threads") {
  SweepFixture fixture;
  REQUIRE(fixture.sweep({"--threads", "1"}).code == 0);
  const std::string rows = read_text(fixture.rows);
  const std::string summary = fixture.summary();
  CHECK(parse_table(rows).size() == 6);
  for (const std::string threads : {"2", "8"}) {
    REQUIRE(fixture.sweep({"--threads", threads, "--fresh"}).code == 0);
    CHECK(read_text(fixture.rows) == rows);
    CHECK(fixture.summary() == summary);
  }
}

TEST_CASE("rows are ordered by point, then chip, and name what made them") {
  SweepFixture fixture;
  REQUIRE(fixture.sweep({"--seed", "5", "--backend", "reference"}).code == 0);
  const Table rows = parse_table(read_text(fixture.rows));
  REQUIRE(rows.size() == 6);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    CHECK(rows[i].at("chip") == std::to_string(i % 3));
    CHECK(rows[i].at("imperfections.phase.fabrication_sigma_rad") ==
          std::string(i < 3 ? "0.0003" : "0.001"));
    CHECK(rows[i].at("seed") == "5");
    CHECK(rows[i].at("backend") == "reference");
    CHECK(rows[i].at("precision") == "f64");
    CHECK(rows[i].at("version") == "0.1.0");
  }
  CHECK(rows[0].at("task_id") != rows[3].at("task_id"));
  const auto manifest = nlohmann::json::parse(read_text(fixture.folder / "r.manifest.json"));
  CHECK(manifest.at("columns").size() == identity_columns().size() + 1 + metric_columns().size());
  CHECK(manifest.at("points").size() == 2);
}

TEST_CASE("more error in the meshes is more error in the gradient") {
  SweepFixture fixture("1e-4, 3e-4, 1e-3, 1e-2");
  REQUIRE(fixture.sweep().code == 0);
  const Table points = parse_table(fixture.summary());
  REQUIRE(points.size() == 4);
  CHECK(number(points[0], "yield") == 1);
  CHECK(number(points[3], "yield") == 0);
  for (std::size_t i = 1; i < points.size(); ++i) {
    CHECK(number(points[i], "element_error_rate_mean") >=
          number(points[i - 1], "element_error_rate_mean"));
    CHECK(number(points[i], "nmse_mean") >= number(points[i - 1], "nmse_mean"));
  }
  // The same unit deviates at every point: E is proportional to sigma while it is small.
  const double ratio =
      number(points[2], "matrix_error_mean") / number(points[0], "matrix_error_mean");
  CHECK(ratio == Approx(10).epsilon(1e-3));
}

TEST_CASE("every built key changes the rows") {
  SweepFixture fixture("1e-3");
  const std::string table = (fixture.folder / "heat.csv").string();
  std::filesystem::create_directory_symlink(source + "/data", fixture.folder / "data");
  write_text(table, "distance_um,coupling\n10,0.3\n400,0.1\n");
  // The output screen only turns phases that homodyne detection drops: E tells, the gradient not;
  // losses that the gain makes up for show as insertion loss.
  const auto fingerprint = [&](const std::vector<std::string>& settings) {
    std::vector<std::string> args = {"--chips", "1", "--fresh"};
    for (const std::string& setting : settings) args.insert(args.end(), {"--set", setting});
    const CliRun result = fixture.sweep(args);
    INFO(result.err);
    REQUIRE(result.code == 0);
    const auto row = parse_table(read_text(fixture.rows))[0];
    return row.at("nmse") + " " + row.at("matrix_error") + " " + row.at("insertion_loss_db");
  };
  // All but the last have test cases of their own, the axis of the fixture too.
  std::set<std::string> tested = {"montecarlo.chips",
                                  "network.cascade",
                                  "network.digits_per_input",
                                  "network.file",
                                  "network.level2_digits_per_input",
                                  "network.level2_file",
                                  "network.level2_servers",
                                  "max_codes",
                                  "montecarlo.min_chips",
                                  "montecarlo.max_chips",
                                  "montecarlo.target.metric",
                                  "montecarlo.target.abs_halfwidth",
                                  "montecarlo.target.rel_halfwidth",
                                  "report.uniform_codes",
                                  "report.yield_limit",
                                  "workload.kind",
                                  "workload.servers",
                                  "workload.elements",
                                  "workload.correlation",
                                  "workload.degrees_of_freedom",
                                  "workload.scale",
                                  "imperfections.phase.fabrication_sigma_rad",
                                  "imperfections.phase.drift_sigma_rad",
                                  "imperfections.phase.drift_tau_s",
                                  "imperfections.phase.time_s",
                                  "imperfections.phase.jitter_sigma_rad",
                                  "imperfections.phase.jitter_realizations",
                                  "imperfections.laser.linewidth_hz",
                                  "imperfections.laser.path_mismatch_m",
                                  "imperfections.amplifier.noise_sigma"};
  const std::string heat = "imperfections.crosstalk.thermal.";
  const std::vector<std::string> heated = {heat + "model=exponential", heat + "decay_um=100",
                                           heat + "radius_um=300"};
  const std::vector<std::string> link = {"imperfections.laser.power_dbm=-10",
                                         "imperfections.receiver.responsivity_a_w=0.8",
                                         "imperfections.receiver.bandwidth_ghz=26.6"};
  struct Group {
    std::vector<std::string> base;
    std::vector<std::string> changes;
  };
  const std::vector<Group> groups = {
      {{},
       {"workload.bits=6",
        "workload.block=512",
        "workload.code_offset=100",
        "workload.rounding=half_even",
        "workload.rounding=floor",
        "workload.power_of_two_scale=true",
        "workload.stochastic_rounding=true",
        "workload.trace=" + llama_trace,
        "imperfections.preset=lab_best",
        "network.form=pipeline",
        "network.step=relu",
        "network.layer_gain=none",
        "network.mesh=reck",
        "network.mzi=three_splitter",
        "network.mzi=crossing",
        "network.calibration=local",
        "network.calibration=self",
        "network.mapping=segmented",
        "network.mapping=real_part",
        "receiver.calibration=none",
        "receiver.calibration=gain",
        "imperfections.phase.on_output_screen=false",
        "imperfections.phase.correlation_um=100",
        "imperfections.phase.dac_bits=10",
        "imperfections.coupler.sigma_rad=2e-3",
        "imperfections.coupler.mean_rad=2e-3",
        "imperfections.loss.mzi_db=0.1",
        "imperfections.loss.mzi_sigma_db=0.1",
        "imperfections.loss.waveguide_db_per_cm=1",
        "imperfections.loss.facet_db=1",
        "imperfections.crosstalk.optical_db=-40",
        "imperfections.detuning.wavelength_nm=1",
        "imperfections.detuning.temperature_k=10",
        "imperfections.combiner.amplitude_sigma=0.01",
        "imperfections.combiner.phase_sigma_rad=0.1",
        "imperfections.laser.server_phase_sigma_rad=0.1",
        "evaluation=sampled",
        "ablation.layer=1",
        "ablation.meshes=input",
        "ablation.meshes=output",
        "montecarlo.seed=2"}},
      {{"network.mapping=real_part"}, {"network.segment=3"}},
      {{"network.mapping=segmented"}, {"network.segment=3"}},
      {{"network.mapping=svd"}, {"network.segment=3"}},
      {{"imperfections.combiner.amplitude_sigma=0.01"},
       {"combiner.mode=incoherent", "sample_elements=1000", "evaluation=tuples"}},
      {{"imperfections.loss.mzi_db=0.1"}, {"imperfections.loss.placement=balanced"}},
      {{"network.mzi=crossing"}, {"imperfections.loss.crossing_db=0.1"}},
      {{"imperfections.loss.waveguide_db_per_cm=1"}, {"layout.column_pitch_um=900"}},
      {{"imperfections.detuning.wavelength_nm=1"},
       {"imperfections.detuning.center_wavelength_nm=1310",
        "imperfections.detuning.coupler_rad_per_nm=0.001"}},
      {{"imperfections.detuning.temperature_k=10"},
       {"imperfections.detuning.spectrum_shift_nm_per_k=0.02"}},
      {{heat + "model=exponential"}, {heat + "coefficient=0.1", heat + "decay_um=20"}},
      {heated,
       {heat + "radius_um=100", "layout.row_pitch_um=80", "layout.arm_spacing_um=20",
        "layout.theta_offset_um=200", "layout.phi_offset_um=50"}},
      {{},
       {heat + "model=exponential", "imperfections.transmitter.rlm=0.7",
        "imperfections.receiver.adc_bits=3"}},
      {link,
       {"imperfections.laser.power_dbm=-11", "imperfections.receiver.responsivity_a_w=0.7",
        "imperfections.receiver.bandwidth_ghz=30", "imperfections.receiver.dark_na=1000",
        "imperfections.receiver.thermal_pa_rthz=20", "imperfections.laser.rin_db_hz=-140",
        "imperfections.transmitter.extinction_ratio_db=4.5", "imperfections.transmitter.rlm=0.95",
        "imperfections.splitter.excess_db=1", "imperfections.receiver.adc_bits=4",
        "montecarlo.seed=2"}}};
  for (const Group& group : groups) {
    const std::string base = fingerprint(group.base);
    for (const std::string& change : group.changes) {
      INFO(change);
      std::vector<std::string> settings = group.base;
      const std::string path = change.substr(0, change.find('='));
      std::erase_if(settings, [&](const std::string& set) { return set.starts_with(path + "="); });
      settings.push_back(change);
      CHECK(fingerprint(settings) != base);
      tested.insert(path);
    }
  }
  CHECK(fingerprint({heat + "model=table", heat + "table=" + table}) !=
        fingerprint({heat + "model=exponential"}));
  tested.insert(heat + "table");
  for (const ConfigKey& key : config_keys()) {
    const bool only_choice = key.type == ConfigType::choice && key.choices.size() == 1;
    INFO(key.path);
    CHECK((!key.built || only_choice || tested.count(key.path) == 1));
  }
}

TEST_CASE("a preset is an axis like any other, and ideal is no preset") {
  const TinySweep tiny;
  std::filesystem::create_directories(tiny.folder / "data/presets");
  write_text(tiny.folder / "data/presets/sin.toml", "imperfections.coupler.sigma_rad = 0.05\n");
  const std::string base = "[workload]\ntrace = \"t.h5\"\nbits = 4\n[montecarlo]\nchips = 3\n";
  const auto rows = [&](const std::string& more) {
    write_text(tiny.config, base + more);
    const CliRun result = tiny.sweep({"--fresh"});
    INFO(result.err);
    REQUIRE(result.code == 0);
    return parse_table(read_text(tiny.rows));
  };
  const Table plain =
      rows("[[axis]]\npath = \"imperfections.coupler.sigma_rad\"\nvalues = [0, 0.05]\n");
  const Table preset =
      rows("[[axis]]\npath = \"imperfections.preset\"\nvalues = [\"ideal\", \"sin\"]\n");
  REQUIRE(preset.size() == plain.size());
  for (std::size_t i = 0; i < plain.size(); ++i) {
    CHECK(preset[i].at("imperfections.preset") == (i < 3 ? "ideal" : "sin"));
    for (const CsvColumn& metric : metric_columns()) {
      CHECK(preset[i].at(metric.name) == plain[i].at(metric.name));
    }
  }
  // What the preset says is not what all points share, and its content counts.
  const auto settings = nlohmann::json::parse(manifest_of(tiny.rows)).at("settings");
  CHECK_FALSE(settings.contains("imperfections.coupler.sigma_rad"));
  CHECK(settings.contains("content of data/presets/sin.toml"));
  write_text(tiny.folder / "data/presets/sin.toml", "imperfections.coupler.sigma_rad = 0.06\n");
  const CliRun changed = tiny.sweep();
  CHECK(changed.code == 3);
  CHECK(contains(changed.err, "content of data/presets/sin.toml"));
  rows("[imperfections]\npreset = \"sin\"\n");
  const auto manifest = nlohmann::json::parse(manifest_of(tiny.rows));
  CHECK(manifest.at("settings").at("imperfections.coupler.sigma_rad") == 0.06);
  CHECK(manifest.at("files").at("imperfections.preset") == "data/presets/sin.toml");
}

TEST_CASE("stochastic rounding follows the seed and not the chip") {
  SweepFixture fixture("0");
  const auto nmse = [&](const std::string& seed) {
    REQUIRE(fixture.sweep({"--fresh", "--seed", seed, "--set", "workload.stochastic_rounding=true"})
                .code == 0);
    const Table rows = parse_table(read_text(fixture.rows));
    REQUIRE(rows.size() == 3);
    for (const auto& row : rows) {
      CHECK(row.at("nmse") == rows[0].at("nmse"));
      CHECK(row.at("element_error_rate") == "0");
    }
    return rows[0].at("nmse");
  };
  CHECK(nmse("1") != nmse("2"));
}

TEST_CASE("a synthetic workload gives the rows of the trace made alike") {
  SweepFixture fixture;
  const std::string chips =
      "[montecarlo]\nchips = 1\nseed = 3\n[imperfections]\n"
      "coupler.sigma_rad = 1e-3\n[network]\nform = \"pipeline\"\n[workload]\n";
  const auto row = [&](const std::string& workload, const std::vector<std::string>& settings) {
    write_text(fixture.config, chips + workload);
    std::vector<std::string> args = {"--fresh"};
    for (const std::string& setting : settings) args.insert(args.end(), {"--set", setting});
    const CliRun result = fixture.sweep(args);
    INFO(result.err);
    REQUIRE(result.code == 0);
    return parse_table(read_text(fixture.rows)).at(0);
  };
  const std::string student =
      "kind = \"student_t\"\nservers = 3\nelements = 5000\ncorrelation = 0.5\n"
      "degrees_of_freedom = 3\nscale = 0.3\npower_of_two_scale = true\n";
  auto synthetic = row(student, {});
  const std::string made = (fixture.folder / "made.h5").string();
  REQUIRE(run({"trace", "make", "--kind", "student_t", "--servers", "3", "--elements", "5000",
               "--correlation", "0.5", "--degrees-of-freedom", "3", "--scale", "0.3", "--seed", "3",
               "--out", made})
              .code == 0);
  auto from_file = row("trace = \"" + made + "\"\npower_of_two_scale = true\n", {});
  CHECK(synthetic.at("task_id") != from_file.at("task_id"));
  synthetic.erase("task_id");
  from_file.erase("task_id");
  CHECK(synthetic == from_file);
  for (const std::string change :
       {"workload.servers=4", "workload.elements=4999", "workload.correlation=0.6",
        "workload.degrees_of_freedom=4", "workload.scale=0.2", "montecarlo.seed=4"}) {
    INFO(change);
    CHECK(row(student, {change}).at("nmse") != synthetic.at("nmse"));
  }
  CHECK(row("kind = \"gaussian\"\nelements = 5000\n", {}).at("nmse") !=
        row("kind = \"laplace\"\nelements = 5000\n", {}).at("nmse"));
}

TEST_CASE("settings of an effect that is off, and of a network without them, are refused") {
  SweepFixture fixture("1e-3");
  const std::string heat = "imperfections.crosstalk.thermal.";
  struct Misuse {
    std::vector<std::string> settings;
    std::string message;
    int code = 2;
  };
  for (const Misuse& misuse : std::vector<Misuse>{
           {{heat + "decay_um=5"}, "crosstalk.thermal.model is not"},
           {{heat + "model=exponential", heat + "table=t.csv"}, "the model is exponential"},
           {{heat + "model=table"}, "thermal.table must be given"},
           {{heat + "model=table", heat + "table=none.csv"}, "no such file", 3},
           {{heat + "model=table", heat + "coefficient=0.1"}, "the model is a table"},
           {{"imperfections.crosstalk.optical_db=0"}, "must lie in"},
           {{"network.segment=4", "network.mapping=as_trained"}, "network.segment is given"},
           {{"ablation.layer=5"}, "layers 0 .. 4"},
           {{"imperfections.loss.crossing_db=0.1"}, "no crossings"},
           {{"network.mapping=real_part", "ablation.meshes=output"}, "one mesh per block"}}) {
    std::vector<std::string> args;
    for (const std::string& setting : misuse.settings) args.insert(args.end(), {"--set", setting});
    const CliRun result = fixture.sweep(args);
    INFO(result.err);
    CHECK(result.code == misuse.code);
    CHECK(contains(result.err, misuse.message));
  }
}

TEST_CASE("calibrated three-splitter meshes carry the network through splitter errors") {
  SweepFixture fixture("0.01");
  const auto errors = [&](const std::string& mzi) {
    REQUIRE(
        fixture
            .sweep({"--fresh", "--set", "network.mzi=" + mzi, "--set", "network.calibration=local",
                    "--set", "imperfections.coupler.sigma_rad=0.02"})
            .code == 0);
    std::vector<double> rates;
    for (const auto& row : parse_table(read_text(fixture.rows))) {
      rates.push_back(std::stod(row.at("element_error_rate")));
    }
    return rates;
  };
  CHECK(errors("three_splitter") == std::vector<double>{0, 0, 0});
  for (const double rate : errors("standard")) CHECK(rate > 0.1);
}

TEST_CASE("ideal chips make no error with any number of servers and bits, in both precisions") {
  SweepFixture fixture("0");
  write_text(fixture.config,
             "[workload]\nkind = \"gaussian\"\nelements = 5000\ncorrelation = 0.5\n"
             "[network]\nform = \"pipeline\"\n[montecarlo]\nchips = 1\n"
             "[[axis]]\npath = \"workload.bits\"\nvalues = [8, 16]\n"
             "[[axis]]\npath = \"workload.servers\"\nvalues = [2, 4, 8, 16]\n");
  for (const char* precision : {"f32", "f64"}) {
    const CliRun result = fixture.sweep({"--fresh", "--backend", "cpu", "--precision", precision});
    INFO(result.err);
    REQUIRE(result.code == 0);
    const Table rows = parse_table(read_text(fixture.rows));
    CHECK(rows.size() == 8);
    for (const auto& row : rows) CHECK(row.at("element_error_rate") == "0");
  }
}

TEST_CASE("ideal chips make no error on the first servers of the shipped traces") {
  SweepFixture fixture("0");
  write_text(fixture.config,
             "[network]\nform = \"pipeline\"\n[montecarlo]\nchips = 1\n"
             "[[axis]]\npath = \"workload.trace\"\nvalues = [\"" +
                 trace + "\", \"" + llama_trace +
                 "\"]\n"
                 "[[axis]]\npath = \"workload.bits\"\nvalues = [8, 16]\n"
                 "[[axis]]\npath = \"workload.servers\"\nvalues = [2, 4]\n");
  const CliRun result = fixture.sweep({"--backend", "cpu", "--precision", "f64"});
  INFO(result.err);
  REQUIRE(result.code == 0);
  const Table rows = parse_table(read_text(fixture.rows));
  REQUIRE(rows.size() == 8);
  std::set<std::string> errors;
  for (const auto& row : rows) {
    CHECK(row.at("element_error_rate") == "0");
    errors.insert(row.at("nmse"));
  }
  CHECK(errors.size() == 8);
}

TEST_CASE("workload.servers takes the first servers of a trace and all unless set") {
  SweepFixture fixture("1e-3");
  const auto rows = [&](const std::string& file, const std::string& servers) {
    std::vector<std::string> args = {"--fresh", "--chips", "1", "--set", "workload.trace=" + file};
    if (!servers.empty()) args.insert(args.end(), {"--set", "workload.servers=" + servers});
    const CliRun result = fixture.sweep(args);
    INFO(result.err);
    REQUIRE(result.code == 0);
    return parse_table(read_text(fixture.rows)).at(0);
  };
  // The same trace without its last two servers.
  const GradientTrace all(trace);
  TraceData two{.servers = 2,
                .workload = "test",
                .model = "none",
                .step = 0,
                .batch_per_server = 1,
                .note = "",
                .tensors = all.tensors(),
                .values = {}};
  for (std::size_t i = 0; i < two.tensors.size(); ++i) {
    const std::uint64_t elements = two.tensors[i].elements;
    std::vector<float> values(4 * elements);
    all.read(i, 0, elements, values.data(), elements);
    values.resize(2 * elements);
    two.values.push_back(std::move(values));
  }
  write_trace(fixture.folder / "two.h5", two);
  for (const auto& [cut, whole] :
       {std::pair{rows(trace, "2"), rows("two.h5", "")}, {rows(trace, "4"), rows(trace, "")}}) {
    for (const auto& [column, value] : cut) {
      INFO(column);
      if (column != "task_id") CHECK(value == whole.at(column));
    }
  }
  CHECK(rows(trace, "2").at("nmse") != rows(trace, "4").at("nmse"));
}

TEST_CASE("servers that a trace or a network does not have are refused before any row") {
  const SweepFixture fixture("1e-3");
  const CliRun too_many = fixture.sweep({"--set", "workload.servers=5"});
  INFO(too_many.err);
  CHECK(too_many.code == 2);
  CHECK(contains(too_many.err, trace + " are asked for (it has 4); give 2 to 4"));
  CHECK(fixture.sweep({"--set", "workload.servers=1"}).code == 2);
  const CliRun other_network = fixture.sweep(
      {"--set", "workload.servers=2", "--set",
       "network.file=" + source + "/data/networks/analytic_ripple_4servers_8bits.h5"});
  INFO(other_network.err);
  CHECK(other_network.code == 2);
  CHECK(contains(other_network.err, "(first 2 servers) has 2 servers but"));
  CHECK(read_text(fixture.rows).empty());
}

TEST_CASE("a network file gives the rows of the network built in place") {
  SweepFixture fixture("1e-3");
  REQUIRE(fixture.sweep({"--chips", "2"}).code == 0);
  const Table built = parse_table(read_text(fixture.rows));
  const std::string file = source + "/data/networks/analytic_ripple_4servers_8bits.h5";
  REQUIRE(fixture.sweep({"--chips", "2", "--fresh", "--set", "network.file=" + file}).code == 0);
  const Table read = parse_table(read_text(fixture.rows));
  for (std::size_t i = 0; i < built.size(); ++i) CHECK(read[i].at("nmse") == built[i].at("nmse"));
}

TEST_CASE("digits_per_input and yield_limit are applied") {
  SweepFixture fixture("1e-3");
  const std::vector<std::string> common = {"--chips", "1", "--fresh", "--set",
                                           "network.form=pipeline"};
  std::vector<std::string> merged = common;
  merged.insert(merged.end(), {"--set", "network.digits_per_input=2"});
  REQUIRE(fixture.sweep(common).code == 0);
  const std::string single = parse_table(read_text(fixture.rows))[0].at("matrix_error");
  REQUIRE(fixture.sweep(merged).code == 0);
  CHECK(parse_table(read_text(fixture.rows))[0].at("matrix_error") != single);
  REQUIRE(fixture.sweep({"--fresh", "--set", "report.yield_limit=1"}).code == 0);
  CHECK(number(parse_table(fixture.summary())[0], "yield") == 1);
}

TEST_CASE("a finished run changes nothing") {
  SweepFixture fixture;
  REQUIRE(fixture.sweep().code == 0);
  const std::string rows = read_text(fixture.rows);
  const std::string manifest = read_text(fixture.folder / "r.manifest.json");
  const auto time = std::filesystem::last_write_time(fixture.rows);
  REQUIRE(fixture.sweep().code == 0);
  CHECK(read_text(fixture.rows) == rows);
  CHECK(read_text(fixture.folder / "r.manifest.json") == manifest);
  CHECK(std::filesystem::last_write_time(fixture.rows) == time);
}

TEST_CASE("a file cut anywhere is continued to the same bytes") {
  SweepFixture fixture;
  REQUIRE(fixture.sweep().code == 0);
  const std::string rows = read_text(fixture.rows);
  const std::string summary = fixture.summary();
  const std::size_t header = rows.find('\n');
  const std::array<std::size_t, 8> cuts = {1,
                                           header - 1,
                                           header,
                                           header + 1,
                                           rows.size() / 3,
                                           rows.size() / 2,
                                           rows.size() - 2,
                                           rows.size() - 1};
  for (const std::size_t cut : cuts) {
    INFO("cut at " << cut);
    write_text(fixture.rows, rows.substr(0, cut));
    REQUIRE(fixture.sweep().code == 0);
    CHECK(read_text(fixture.rows) == rows);
    CHECK(fixture.summary() == summary);
  }
}

TEST_CASE("files of another run are refused, --fresh starts over") {
  SweepFixture fixture;
  REQUIRE(fixture.sweep().code == 0);
  const std::string rows = read_text(fixture.rows);

  const CliRun other_bits = fixture.sweep({"--set", "workload.bits=6"});
  CHECK(other_bits.code == 3);
  CHECK(contains(other_bits.err, "workload.bits"));
  CHECK(fixture.sweep({"--seed", "9"}).code == 3);
  CHECK(read_text(fixture.rows) == rows);

  std::string swapped = rows;
  const std::size_t digit = rows.size() - 2;
  swapped.replace(rows.find('\n') + 1, 1, rows[rows.find('\n') + 1] == '0' ? "1" : "0");
  write_text(fixture.rows, swapped);
  CHECK(fixture.sweep().code == 3);
  write_text(fixture.rows, rows + rows.substr(rows.rfind('\n', digit) + 1));
  CHECK(fixture.sweep().code == 3);
  write_text(fixture.rows, rows.substr(rows.find('\n') + 1));
  CHECK(fixture.sweep().code == 3);

  write_text(fixture.rows, rows);
  write_text(fixture.folder / "r.manifest.json", "{");
  CHECK(fixture.sweep().code == 3);
  std::filesystem::remove(fixture.folder / "r.manifest.json");
  CHECK(fixture.sweep().code == 3);
  REQUIRE(fixture.sweep({"--fresh"}).code == 0);
  CHECK(read_text(fixture.rows) == rows);
}

TEST_CASE("a file cut at every byte of its last rows is continued to the same bytes", "[slow]") {
  SweepFixture fixture;
  REQUIRE(fixture.sweep({"--set", "workload.bits=4"}).code == 0);
  const std::string rows = read_text(fixture.rows);
  const std::string summary = fixture.summary();
  const std::size_t last_row = rows.rfind('\n', rows.size() - 2) + 1;
  for (std::size_t cut = last_row - 2; cut < rows.size(); cut += cut < last_row + 4 ? 1 : 7) {
    INFO("cut at " << cut);
    write_text(fixture.rows, rows.substr(0, cut));
    write_text(fixture.folder / "r.summary.csv", "old");
    REQUIRE(fixture.sweep({"--set", "workload.bits=4"}).code == 0);
    CHECK((read_text(fixture.rows) == rows && fixture.summary() == summary));
  }
}

TEST_CASE("an old or missing summary of a finished run is made again") {
  SweepFixture fixture;
  REQUIRE(fixture.sweep().code == 0);
  const std::string summary = fixture.summary();
  write_text(fixture.folder / "r.summary.csv", summary.substr(0, summary.size() / 2));
  REQUIRE(fixture.sweep().code == 0);
  CHECK(fixture.summary() == summary);
  std::filesystem::remove(fixture.folder / "r.summary.csv");
  REQUIRE(fixture.sweep().code == 0);
  CHECK(fixture.summary() == summary);
}

TEST_CASE("another chip count continues a file while its rows are of the first point") {
  SweepFixture fixture;
  REQUIRE(fixture.sweep({"--chips", "4"}).code == 0);
  const std::string four = read_text(fixture.rows);
  for (const std::string chips : {"3", "5"}) {
    const CliRun refused = fixture.sweep({"--chips", chips});
    CHECK(refused.code == 3);
    CHECK(contains(refused.err, "--fresh"));
    CHECK(read_text(fixture.rows) == four);
  }
  REQUIRE(fixture.sweep({"--chips", "3", "--fresh"}).code == 0);
  const std::string three = read_text(fixture.rows);
  std::size_t third_row = 0;
  for (int line = 0; line < 3; ++line) third_row = three.find('\n', third_row) + 1;
  write_text(fixture.rows, three.substr(0, third_row));
  REQUIRE(fixture.sweep({"--chips", "4"}).code == 0);
  CHECK(read_text(fixture.rows) == four);

  SweepFixture one_point("1e-3");
  REQUIRE(one_point.sweep({"--chips", "2"}).code == 0);
  const std::string two = read_text(one_point.rows);
  REQUIRE(one_point.sweep({"--chips", "4"}).code == 0);
  CHECK(read_text(one_point.rows).substr(0, two.size()) == two);
  CHECK(parse_table(read_text(one_point.rows)).size() == 4);
  CHECK(parse_table(one_point.summary())[0].at("chips") == "4");
}

TEST_CASE("a file of something else is never overwritten without --fresh") {
  SweepFixture fixture;
  const std::string foreign = "my notes";
  write_text(fixture.rows, foreign);
  CHECK(fixture.sweep().code == 3);
  CHECK(read_text(fixture.rows) == foreign);
  REQUIRE(fixture.sweep({"--fresh"}).code == 0);
  for (const std::string& text : {foreign, foreign + "\n"}) {
    write_text(fixture.rows, text);
    CHECK(fixture.sweep().code == 3);
    CHECK(read_text(fixture.rows) == text);
  }
}

TEST_CASE("equal sweep points are refused: their rows could not be told apart") {
  const SweepFixture fixture("1e-3, 2e-3, 0.001");
  const CliRun refused = fixture.sweep();
  CHECK(refused.code == 2);
  CHECK(contains(refused.err, "sweep points 1 and 3 are the same"));
}

TEST_CASE("a network for other servers or a damaged trace is refused before any row") {
  const SweepFixture fixture("1e-3");
  const std::string network = source + "/data/networks/analytic_ripple_4servers_8bits.h5";
  const CliRun not_a_trace = fixture.sweep({"--set", "workload.trace=" + network});
  CHECK(not_a_trace.code == 3);
  CHECK(contains(not_a_trace.err, network));
  write_text(fixture.folder / "short.h5", read_text(trace).substr(0, 100000));
  const CliRun truncated = fixture.sweep({"--set", "workload.trace=short.h5"});
  CHECK(truncated.code == 3);
  CHECK(contains(truncated.err, "short.h5"));
  CHECK(read_text(fixture.rows).empty());
}

TEST_CASE("results come in order, workers stay near, errors wait for their turn") {
  std::atomic<std::uint64_t> emitted = 5;
  std::atomic<std::uint64_t> farthest = 0;
  std::vector<std::uint64_t> order;
  const auto never = [] { return false; };
  constexpr unsigned workers = 3;
  OrderedRun<std::uint64_t> run_all(
      workers,
      [&](std::uint64_t index) {
        // Late items finish first now and then.
        std::this_thread::sleep_for(std::chrono::microseconds(index % 3 == 0 ? 900 : 50));
        for (std::uint64_t seen = farthest; seen < index - emitted;) {
          if (farthest.compare_exchange_weak(seen, index - emitted)) break;
        }
        return index * index;
      },
      [&](std::uint64_t index, std::uint64_t square) {
        order.push_back(index);
        CHECK(square == index * index);
        emitted = index;
        return index + 1;
      });
  CHECK(run_all.run(5, 300, never) == 300);
  REQUIRE(order.size() == 295);
  for (std::size_t i = 0; i < order.size(); ++i) CHECK(order[i] == 5 + i);
  CHECK(farthest <= 4 * workers + 1);

  std::uint64_t last = 0;
  OrderedRun<int> failing(
      workers,
      [](std::uint64_t index) {
        if (index == 20) throw DataError("item 20");
        return 0;
      },
      [&](std::uint64_t index, int) {
        last = index;
        return index + 1;
      });
  CHECK_THROWS_AS(failing.run(0, 100, never), DataError);
  CHECK(last == 19);

  std::uint64_t count = 0;
  OrderedRun<int> stopped(
      workers, [](std::uint64_t) { return 0; },
      [&](std::uint64_t index, int) {
        ++count;
        return index + 1;
      });
  const std::uint64_t end = stopped.run(0, 1000000, [&] { return count >= 10; });
  CHECK(end == count);
  CHECK(count < 1000);
}

TEST_CASE("items left out are not handed out, whatever the workers did with them") {
  for (const unsigned workers : {1U, 2U, 7U}) {
    std::vector<std::uint64_t> order;
    OrderedRun<int> skipping(
        workers,
        [](std::uint64_t index) {
          // An item that is left out may fail.
          if (index % 10 == 5) throw DataError("item");
          return 0;
        },
        [&](std::uint64_t index, int) {
          order.push_back(index);
          return index % 10 == 4 ? index + 6 : index + 1;
        });
    CHECK(skipping.run(0, 100, [] { return false; }) == 100);
    REQUIRE(order.size() == 50);
    for (std::size_t i = 0; i < order.size(); ++i) CHECK(order[i] == i / 5 * 10 + i % 5);
  }
}

TEST_CASE("the cache makes a value once and drops the least recently used") {
  SharedCache<int> cache(2);
  int made = 0;
  const auto get = [&](const std::string& key) { return *cache.get(key, [&] { return ++made; }); };
  CHECK(get("a") == 1);
  CHECK(get("b") == 2);
  CHECK(get("a") == 1);
  CHECK(get("c") == 3);  // drops b
  CHECK(get("a") == 1);
  CHECK(get("b") == 4);
}

TEST_CASE("records end at line breaks outside quotes") {
  std::string_view content = "a,\"x\ny\"\nb,1\ntorn,\"";
  std::string_view record;
  REQUIRE(take_csv_record(content, record));
  CHECK(record == "a,\"x\ny\"");
  REQUIRE(take_csv_record(content, record));
  CHECK(record == "b,1");
  CHECK_FALSE(take_csv_record(content, record));
  CHECK(content == "torn,\"");
}

TEST_CASE("a second writer fails at once") {
  SweepFixture fixture;
  const Journal first(fixture.rows);
  const CliRun second = fixture.sweep();
  CHECK(second.code == 3);
  CHECK(contains(second.err, "another optinc"));
}

TEST_CASE("bad input of the sweep command has a message and a code") {
  SweepFixture fixture;
  const std::string config = fixture.config;
  struct Case {
    std::vector<std::string> args;
    int code;
    std::string part;
  };
  const std::vector<Case> cases = {
      {{"sweep", config}, 2, "--out"},
      {{"sweep", config, "--out", "-"}, 2, "--out"},
      {{"sweep", config, "--out", fixture.folder / "r.txt"}, 2, ".csv"},
      {{"sweep", config, "--out", "/no/such/folder/r.csv"}, 3, "/no/such/folder/r.csv"},
      {{"sweep", "missing.toml", "--out", fixture.rows}, 3, "missing.toml"},
      {{"sweep", config, "--out", fixture.rows, "--set", "workload.trace=gone.h5"}, 3, "gone.h5"},
      {{"sweep", config, "--out", fixture.rows, "--set", "workload.bits=7"}, 2, "bits"},
      {{"sweep", config, "--out", fixture.rows, "--chips", "0"}, 2, "--chips: '0'"},
      {{"sweep", config, "--out", fixture.rows, "--chips", "x"}, 2, "--chips: 'x'"},
      {{"sweep", config, "--out", fixture.rows, "--threads", "0"}, 2, "threads"},
      {{"sweep", config, "--out", fixture.rows, "--backend", "cuda"}, 4, "cuda"},
      {{"sweep", config, "--out", fixture.rows, "--backend", "gpu"}, 2, "reference"},
      {{"sweep", config, "--out", fixture.rows, "--backend", "reference", "--precision", "f32"},
       4,
       "f32"},
      {{"sweep", config, "--out", fixture.rows, "--shard", "2/2"}, 2, "0 <= i < n"},
      {{"sweep", config, "--out", fixture.rows, "--time-limit", "5m"}, 2, "min"}};
  for (const Case& mistake : cases) {
    const CliRun result = run(mistake.args);
    INFO(mistake.args.back() << " -> " << result.err);
    CHECK(result.code == mistake.code);
    CHECK(contains(result.err, mistake.part));
  }
  CHECK_FALSE(std::filesystem::exists(fixture.rows));
}

TEST_CASE("OPTINC_BACKEND is used where --backend is not given") {
  SweepFixture fixture;
  const test::ScopedEnvironment environment("OPTINC_BACKEND", "cuda");
  CHECK(fixture.sweep().code == 4);
  CHECK(fixture.sweep({"--backend", "reference", "--chips", "1"}).code == 0);
}

TEST_CASE("a dry run lists the points and writes nothing") {
  SweepFixture fixture;
  const CliRun text = run({"sweep", fixture.config, "--dry-run"});
  CHECK(text.code == 0);
  CHECK(contains(text.out, "2 points x 3 chips = 6 rows"));
  const CliRun json = run({"sweep", fixture.config, "--dry-run", "--json"});
  const auto document = nlohmann::json::parse(json.out);
  REQUIRE(document.at("points").size() == 2);
  CHECK(document.at("points")[0].at("codes").get<std::size_t>() > 1000);
  CHECK(fixture.folder.files() == 1);
}

TEST_CASE("the summary can be printed as a table and as JSON") {
  SweepFixture fixture;
  const std::vector<std::string> args = {"sweep", fixture.config, "--out", fixture.rows};
  const CliRun table = run(args);
  CHECK(contains(table.out, "error rate"));
  CHECK(contains(table.out, "0.0003"));
  std::vector<std::string> json_args = args;
  json_args.emplace_back("--json");
  const auto document = nlohmann::json::parse(run(json_args).out);
  REQUIRE(document.size() == 2);
  CHECK(document[1].at("chips") == 3);
  CHECK(fixture.sweep().out.empty());
}

TEST_CASE("SIGKILL and SIGINT in the middle, then the same bytes") {
  SweepFixture fixture;
  const std::vector<std::string> args = {"sweep",   fixture.config, "--out",     fixture.rows,
                                         "--chips", "60",           "--threads", "2"};
  REQUIRE(fixture.sweep({"--chips", "60"}).code == 0);
  const std::string rows = read_text(fixture.rows);
  const std::string summary = fixture.summary();
  std::filesystem::remove(fixture.rows);
  const std::string err_file = (fixture.folder / "err").string();

  for (const int signal : {SIGKILL, SIGINT, SIGTERM}) {
    const std::string before = std::filesystem::exists(fixture.rows) ? read_text(fixture.rows) : "";
    const auto lines = std::count(before.begin(), before.end(), '\n');
    const pid_t child = start_program(args, err_file);
    wait_for_lines(fixture.rows, lines + 4);
    kill(child, signal);
    const int status = wait_status(child);
    if (signal == SIGKILL) {
      CHECK(WIFSIGNALED(status));
    } else {
      REQUIRE(WIFEXITED(status));
      CHECK(WEXITSTATUS(status) == 128 + signal);
      CHECK(contains(read_text(err_file), "run the same command again"));
    }
    const std::string cut = read_text(fixture.rows);
    CHECK(cut.size() < rows.size());
    CHECK(rows.compare(0, cut.rfind('\n') + 1, cut, 0, cut.rfind('\n') + 1) == 0);
  }
  CHECK(wait_status(start_program(args, err_file)) == 0);
  CHECK(read_text(fixture.rows) == rows);
  CHECK(fixture.summary() == summary);
}

TEST_CASE("a full disk keeps the rows that were written") {
  SweepFixture fixture;
  REQUIRE(fixture.sweep().code == 0);
  const std::string rows = read_text(fixture.rows);
  std::filesystem::remove(fixture.rows);
  const std::string script = "ulimit -f 2; exec \"$0\" sweep \"$1\" --out \"$2\" --threads 1";
  const std::string command = "/bin/bash -c '" + script + "' '" + OPTINC_BINARY + "' '" +
                              fixture.config + "' '" + fixture.rows + "' >/dev/null 2>'" +
                              (fixture.folder / "err").string() + "'";
  const int status = std::system(command.c_str());
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 3);
  CHECK(contains(read_text(fixture.folder / "err"), "cannot"));
  const std::string kept = read_text(fixture.rows);
  CHECK(rows.compare(0, kept.size(), kept) == 0);
  REQUIRE(fixture.sweep().code == 0);
  CHECK(read_text(fixture.rows) == rows);
}

TEST_CASE("summaries equal textbook values") {
  // Student t with 4 degrees of freedom: 2.776445105; sample 1..5.
  const MetricSummary five = summarise({5, 3, 1, 2, 4}, MetricKind::value);
  CHECK(five.mean == Approx(3));
  CHECK(five.std == Approx(std::sqrt(2.5)));
  CHECK(five.ci_hi - five.mean == Approx(2.776445105 * std::sqrt(2.5 / 5)).epsilon(1e-8));
  CHECK(five.mean - five.ci_lo == Approx(five.ci_hi - five.mean));
  CHECK(five.p50 == 3);
  CHECK(five.p05 == Approx(1.2));
  CHECK(five.p95 == Approx(4.8));
  CHECK(std::isnan(summarise({7}, MetricKind::value).std));
  CHECK(summarise({7, std::nan("")}, MetricKind::value).mean == 7);
  CHECK(std::isnan(summarise({}, MetricKind::value).mean));
  // numpy and scipy: std(ddof=1), t.interval, quantile (linear).
  const MetricSummary seven = summarise({9, 2, 4, 12, 4, 5, 7}, MetricKind::value);
  CHECK(seven.std == Approx(3.4364987719368982).epsilon(1e-14));
  CHECK(seven.ci_lo == Approx(2.9646258645311216).epsilon(1e-12));
  CHECK(seven.ci_hi == Approx(9.321088421183164).epsilon(1e-12));
  CHECK(seven.p05 == Approx(2.6).epsilon(1e-14));
  CHECK(seven.p95 == Approx(11.1).epsilon(1e-14));
  // Clopper-Pearson closed forms: 0 of n and n of n.
  CHECK(clopper_pearson(0, 20).lo == 0);
  CHECK(clopper_pearson(0, 20).hi == Approx(1 - std::pow(0.025, 1.0 / 20)));
  CHECK(clopper_pearson(20, 20).hi == 1);
  CHECK(clopper_pearson(20, 20).lo == Approx(std::pow(0.025, 1.0 / 20)));
  // scipy.stats.beta.ppf.
  CHECK(clopper_pearson(3, 10).lo == Approx(0.06673951117773447).epsilon(1e-12));
  CHECK(clopper_pearson(3, 10).hi == Approx(0.6524528500599973).epsilon(1e-12));
}

TEST_CASE("summary rows equal a computation from the rows") {
  SweepFixture fixture;
  REQUIRE(fixture.sweep().code == 0);
  const Table rows = parse_table(read_text(fixture.rows));
  const Table points = parse_table(fixture.summary());
  for (std::size_t point = 0; point < 2; ++point) {
    CHECK(number(points[point], "chips") == 3);
    for (const CsvColumn& metric : metric_columns()) {
      double sum = 0;
      for (std::size_t chip = 0; chip < 3; ++chip)
        sum += number(rows[3 * point + chip], metric.name);
      INFO(metric.name);
      const double mean = number(points[point], metric.name + "_mean");
      CHECK((std::isnan(sum) ? std::isnan(mean) : mean == Approx(sum / 3)));
    }
  }
}

TEST_CASE("CSV fields and numbers survive a round trip") {
  std::vector<std::string> fields;
  const std::vector<std::string> texts = {"plain", "with,comma", "with \"quotes\"", "",
                                          "two\nlines"};
  std::string line;
  for (const std::string& text : texts) line += (line.empty() ? "" : ",") + csv_field(text);
  REQUIRE(split_csv(line, fields));
  CHECK(fields == texts);
  CHECK_FALSE(split_csv("\"open", fields));
  CHECK_FALSE(split_csv("\"a\"b", fields));
  for (const double value : {0.1, -1e-300, 1.0 / 3, 5e300, 0.0}) {
    double back = -1;
    REQUIRE(parse_number(csv_number(value), back));
    CHECK(back == value);
  }
  CHECK(csv_number(std::nan("")).empty());
}
