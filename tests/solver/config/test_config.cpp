// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <catch2/catch.hpp>

#include "solver/config/preset.hpp"
#include "solver/config/sweep_config.hpp"
#include "solver/error.hpp"
#include "tests/apps/cli_run.hpp"

using namespace optinc;
using optinc::test::TemporaryFolder;
using optinc::test::write_text;

namespace {

SweepConfig load_text(const TemporaryFolder& folder, const std::string& text,
                      const std::vector<std::string>& overrides = {}) {
  write_text(folder / "c.toml", text);
  return load_sweep_config(folder / "c.toml", overrides);
}

std::string error_of(const std::string& text, const std::vector<std::string>& overrides = {}) {
  const TemporaryFolder folder;
  try {
    load_text(folder, text, overrides).point(0);
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

std::string id_of(const TemporaryFolder& folder, const std::string& text,
                  const std::vector<std::string>& overrides = {}) {
  FileHashes hashes;
  const SweepConfig sweep = load_text(folder, text, overrides);
  return task_id(sweep, sweep.point(0), hashes);
}

/// Text of a value of the right type and range.
std::string some_value(const ConfigKey& key) {
  if (key.type == ConfigType::boolean) return "true";
  if (key.type == ConfigType::real) return "0.0";
  if (key.type == ConfigType::integer) {
    return std::to_string(static_cast<std::int64_t>(std::max(key.minimum, 4.0)));
  }
  return key.choices.empty() ? "\"x\"" : "\"" + key.choices.front() + "\"";
}

/// Another current directory for the length of a scope.
class CurrentFolder {
 public:
  explicit CurrentFolder(const std::filesystem::path& folder)
      : before_(std::filesystem::current_path()) {
    std::filesystem::current_path(folder);
  }
  ~CurrentFolder() { std::filesystem::current_path(before_); }
  CurrentFolder(const CurrentFolder&) = delete;
  CurrentFolder& operator=(const CurrentFolder&) = delete;

 private:
  std::filesystem::path before_;
};

std::vector<double> sigma_axis(const std::string& spacing) {
  const TemporaryFolder folder;
  const std::string path = "imperfections.coupler.sigma_rad";
  const SweepConfig sweep = load_text(folder, "[[axis]]\npath = \"" + path + "\"\n" + spacing);
  std::vector<double> values;
  for (std::size_t i = 0; i < sweep.points(); ++i) values.push_back(sweep.point(i).real(path));
  return values;
}

}  // namespace

TEST_CASE("a configuration resolves defaults, values and axes") {
  const TemporaryFolder folder;
  const SweepConfig sweep = load_text(folder, R"(
[workload]
bits = 6
[[axis]]
path = "network.form"
values = ["ripple", "pipeline"]
[[axis]]
path = "imperfections.coupler.sigma_rad"
logspace = [1e-4, 1e-2, 3]
[[axis]]
path = "imperfections.phase.fabrication_sigma_rad"
zip = "z"
values = [1, 2]
[[axis]]
path = "imperfections.coupler.mean_rad"
zip = "z"
linspace = [-0.5, 0.5, 2]
)");
  REQUIRE(sweep.points() == 12);
  CHECK(sweep.axis_paths().size() == 4);
  const ResolvedConfig first = sweep.point(0);
  CHECK(first.integer("workload.bits") == 6);
  CHECK(first.integer("workload.code_offset") == 32);
  CHECK(first.integer("network.digits_per_input") == 1);
  CHECK(first.text("network.form") == "ripple");
  CHECK(first.real("imperfections.coupler.sigma_rad") == 1e-4);
  CHECK(first.real("imperfections.coupler.mean_rad") == -0.5);
  const ResolvedConfig second = sweep.point(1);
  CHECK(second.real("imperfections.phase.fabrication_sigma_rad") == 2);
  CHECK(second.real("imperfections.coupler.mean_rad") == 0.5);
  CHECK(sweep.point(2).real("imperfections.coupler.sigma_rad") == Approx(1e-3));
  CHECK(sweep.point(11).text("network.form") == "pipeline");
  CHECK(sweep.point(11).real("imperfections.coupler.sigma_rad") == 1e-2);
}

TEST_CASE("option --set overrides one key, strings without quotes") {
  const TemporaryFolder folder;
  const SweepConfig sweep = load_text(
      folder, "[workload]\nbits = 6\n",
      {"workload.bits=4", "network.form=pipeline", "imperfections.phase.on_output_screen=false"});
  CHECK(sweep.point(0).integer("workload.bits") == 4);
  CHECK(sweep.point(0).text("network.form") == "pipeline");
  CHECK_FALSE(sweep.point(0).boolean("imperfections.phase.on_output_screen"));
}

TEST_CASE("mistakes are named with their place") {
  struct Case {
    std::string text;
    std::vector<std::string> parts;
  };
  const std::vector<Case> cases = {
      {"[workload]\nbit = 8\n", {"c.toml:2:", "'workload.bit'", "workload.bits"}},
      {"[workload]\nbits = \"8\"\n", {"c.toml:2:", "workload.bits", "integer"}},
      {"[workload]\nbits = 18\n", {"c.toml:2:", "18"}},
      {"[workload]\nbits = 8.5\n", {"c.toml:2:", "integer"}},
      {"[imperfections]\ncoupler.sigma_rad = nan\n", {"c.toml:2:", "coupler.sigma_rad"}},
      {"[imperfections]\ncoupler.sigma_rad = -0.1\n", {"c.toml:2:", "-0.1"}},
      {"[imperfections]\nphase.on_output_screen = 1\n", {"c.toml:2:", "true or false"}},
      {"[network]\nclip = 2.0\n", {"network.clip", "not built yet"}},
      {"[imperfections]\npreset = \"lab\"\n", {"c.toml:2:", "lab", "lab_best"}},
      {"[network]\nlayer_gain = \"fitted\"\n", {"fitted", "not built yet"}},
      {"[network]\nmapping = \"sdv\"\n", {"sdv", "svd"}},
      {"[network\n", {"c.toml:1:"}},
      {"[[axis]]\npath = \"workload.bits\"\nvalues = []\n", {"workload.bits", "empty"}},
      {"[[axis]]\npath = \"workload.bits\"\n", {"values, linspace, logspace"}},
      {"[[axis]]\npath = \"workload.bits\"\nvalue = [8]\n", {"'value'", "values"}},
      {"[[axis]]\npath = \"montecarlo.seed\"\nvalues = [1]\n", {"montecarlo.seed"}},
      {"[[axis]]\npath = \"imperfections.coupler.sigma_rad\"\nlogspace = [0, 1, 3]\n",
       {"logspace", "positive"}},
      {"[[axis]]\npath = \"workload.bits\"\nlinspace = [4, 6, 4]\n", {"workload.bits", "whole"}},
      {"[workload]\nbits = 8\n[[axis]]\npath = \"workload.bits\"\nvalues = [8]\n",
       {"workload.bits", "axis"}},
      {"[[axis]]\npath = \"workload.bits\"\nvalues = [8]\n[[axis]]\npath = "
       "\"workload.bits\"\nvalues = [8]\n",
       {"workload.bits"}},
      {"[[axis]]\npath = \"workload.bits\"\nvalues = [8]\nzip = \"a\"\n[[axis]]\npath = "
       "\"workload.block\"\nvalues = [8, 9]\nzip = \"a\"\n",
       {"zip"}},
      {"axis = 3\n", {"[[axis]]"}},
      {"coupler.sigma_rad = 0.1\n", {"c.toml:1:", "'imperfections.coupler.sigma_rad'"}},
      {"network = 3\n", {"c.toml:1:", "unknown key 'network'"}},
      {"[[workload]]\nbits = 8\n", {"unknown key 'workload'"}},
      {"workload.trace = \"\"\n", {"workload.trace", "empty"}},
      {"[imperfections]\ncoupler.sigma_rad = inf\n", {"c.toml:2:", "finite"}},
      {"[[axis]]\npath = \"montecarlo.chips\"\nvalues = [1]\n", {"montecarlo.chips"}},
      {"[[axis]]\npath = \"workload.bits\"\nvalues = [4, 99]\n", {"c.toml:3:14", "99"}},
      {"[[axis]]\npath = \"workload.bits\"\nlinspace = [4, 8]\n", {"[first value, last value"}},
      {"[[axis]]\npath = \"workload.bits\"\nlinspace = [4, 8, 0]\n", {"count = 0"}},
      {"[[axis]]\npath = \"network.clip\"\nvalues = [4]\n", {"not built yet"}},
      {"network.file = \"n.h5\"\nworkload.bits = 8\n", {"workload.bits", "leave one out"}}};
  for (const Case& mistake : cases) {
    const std::string message = error_of(mistake.text);
    INFO(mistake.text << " -> " << message);
    CHECK_FALSE(message.empty());
    for (const std::string& part : mistake.parts) CHECK(test::contains(message, part));
  }
}

TEST_CASE("mistakes in --set are named") {
  for (const std::string text :
       {"workload.bits", "=8", "workload.bit=8", "workload.bits=x", "workload.bits=8\nother=1",
        "workload.bits=[8]", "network.clip=1"}) {
    INFO(text);
    const std::string message = error_of("", {text});
    CHECK(test::contains(message, "--set"));
  }
}

TEST_CASE("a network file fixes what an analytic network would be built from") {
  const TemporaryFolder folder;
  for (const std::string key : {"network.form=ripple", "network.step=relu"}) {
    INFO(key);
    CHECK(test::contains(error_of("[network]\nfile = \"n.h5\"\n", {key}), "network.file"));
  }
}

TEST_CASE("task_id names what determines the rows and nothing else") {
  const TemporaryFolder folder;
  write_text(folder / "a.h5", "one");
  write_text(folder / "b.h5", "one");
  write_text(folder / "other.h5", "two");
  const std::string base = "[workload]\ntrace = \"a.h5\"\n";
  const std::string id = id_of(folder, base);
  CHECK(id.size() == 16);
  CHECK(id.find_first_not_of("0123456789abcdef") == std::string::npos);
  // Seed, chip count, file name and spelled-out defaults do not matter.
  CHECK(id_of(folder, base, {"montecarlo.seed=7", "montecarlo.chips=3"}) == id);
  CHECK(id_of(folder, "[workload]\ntrace = \"b.h5\"\n") == id);
  CHECK(id_of(folder, base, {"workload.bits=8", "workload.code_offset=128"}) == id);
  CHECK(id_of(folder, base, {"imperfections.coupler.sigma_rad=0"}) == id);
  // Content and every other key do.
  CHECK(id_of(folder, "[workload]\ntrace = \"other.h5\"\n") != id);
  for (const std::string change :
       {"workload.bits=6", "workload.block=512", "workload.rounding=floor",
        "workload.power_of_two_scale=true", "workload.stochastic_rounding=true",
        "network.form=pipeline", "network.step=relu", "network.layer_gain=none",
        "receiver.calibration=none", "imperfections.coupler.sigma_rad=1e-3",
        "imperfections.coupler.mean_rad=1e-3", "imperfections.phase.fabrication_sigma_rad=1e-3"}) {
    INFO(change);
    CHECK(id_of(folder, base, {change}) != id);
  }
}

TEST_CASE("task_id of a synthetic workload names everything it is made from") {
  const TemporaryFolder folder;
  const std::string base = "[workload]\nkind = \"student_t\"\n";
  const std::string id = id_of(folder, base);
  CHECK(id_of(folder, base,
              {"workload.elements=1048576", "workload.servers=4", "workload.correlation=0",
               "workload.scale=1", "workload.degrees_of_freedom=4", "montecarlo.seed=9"}) == id);
  for (const std::string change :
       {"workload.kind=laplace", "workload.elements=1000", "workload.servers=8",
        "workload.correlation=0.5", "workload.scale=2", "workload.degrees_of_freedom=3"}) {
    INFO(change);
    CHECK(id_of(folder, base, {change}) != id);
  }
}

TEST_CASE("keys of another kind of workload are refused") {
  for (const std::string key :
       {"elements = 10", "correlation = 0.5", "scale = 2.0", "degrees_of_freedom = 3.0"}) {
    INFO(key);
    CHECK(test::contains(error_of("[workload]\n" + key + "\n"),
                         "is given but workload.kind is \"trace\""));
  }
  CHECK(test::contains(error_of("[workload]\nkind = \"laplace\"\ntrace = \"t.h5\"\n"),
                       "workload.trace is given"));
  CHECK(test::contains(error_of("[workload]\nkind = \"laplace\"\ndegrees_of_freedom = 3.0\n"),
                       "workload.degrees_of_freedom is given"));
  CHECK(test::contains(error_of("[workload]\nkind = \"laplace\"\ncorrelation = -0.1\n"), "-0.1"));
}

TEST_CASE("every key is documented and its default is inside its range") {
  for (const ConfigKey& key : config_keys()) {
    INFO(key.path);
    CHECK_FALSE(key.description.empty());
    CHECK(find_config_key(key.path) == &key);
    if (!key.default_value) continue;
    if (const auto* number = std::get_if<double>(&*key.default_value)) {
      CHECK(*number >= key.minimum);
      CHECK(*number <= key.maximum);
    }
  }
  CHECK(find_config_key("no.such") == nullptr);
  CHECK(nearest_config_path("imperfections.coupler.sigma") == "imperfections.coupler.sigma_rad");
}

TEST_CASE("everything of the design that is not built is refused, never ignored") {
  int refused = 0;
  for (const ConfigKey& key : config_keys()) {
    INFO(key.path);
    const std::string message = error_of(key.path + " = " + some_value(key));
    CHECK(test::contains(message, "not built yet") == !key.built);
    if (!key.built) CHECK(test::contains(message, key.path));
    refused += key.built ? 0 : 1;
    if (!key.built) continue;
    for (const std::string& choice : key.unbuilt_choices) {
      INFO(choice);
      const std::string choice_message = error_of(key.path + " = \"" + choice + "\"");
      CHECK(test::contains(choice_message, "not built yet"));
      CHECK(test::contains(choice_message, choice));
    }
  }
  CHECK(refused > 0);
}

TEST_CASE("the first axis varies slowest, a zip keeps the place of its first axis") {
  const TemporaryFolder folder;
  const SweepConfig sweep = load_text(folder, R"(
[[axis]]
path = "imperfections.coupler.sigma_rad"
zip = "a"
values = [0, 0.1]
[[axis]]
path = "workload.block"
values = [10, 20, 30]
[[axis]]
path = "imperfections.coupler.mean_rad"
zip = "a"
values = [0.2, 0.3]
)");
  REQUIRE(sweep.points() == 6);
  for (std::size_t point = 0; point < 6; ++point) {
    const ResolvedConfig config = sweep.point(point);
    CHECK(config.real("imperfections.coupler.sigma_rad") == (point < 3 ? 0.0 : 0.1));
    CHECK(config.real("imperfections.coupler.mean_rad") == (point < 3 ? 0.2 : 0.3));
    CHECK(config.integer("workload.block") == 10 + 10 * static_cast<std::int64_t>(point % 3));
  }
}

TEST_CASE("spaced axes hit their ends and the decades between exactly") {
  const std::vector<double> values = sigma_axis("logspace = [1e-4, 1e-1, 13]\n");
  REQUIRE(values.size() == 13);
  CHECK(values[0] == 1e-4);
  CHECK(values[1] == 1.77827941004e-4);  // 10^-3.75 to 12 digits
  CHECK(values[4] == 1e-3);
  CHECK(values[8] == 1e-2);
  CHECK(values[12] == 1e-1);
  CHECK(sigma_axis("linspace = [0, 0.3, 4]\n") == std::vector<double>{0, 0.1, 0.2, 0.3});
  CHECK(sigma_axis("logspace = [0.1, 0.01, 2]\n") == std::vector<double>{0.1, 0.01});
}

TEST_CASE("files are found beside the configuration, then in the installed data") {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder / "data");
  write_text(folder / "t.h5", "x");
  write_text(folder / "data/only.h5", "x");
  SweepConfig sweep = load_text(folder, "");
  CHECK(sweep.find_file("t.h5") == folder / "t.h5");
  CHECK(sweep.find_file((folder / "t.h5").string()) == folder / "t.h5");
  CHECK_THROWS_AS(sweep.find_file("only.h5"), DataError);
  sweep.data_directory = folder / "data";
  CHECK(sweep.find_file("only.h5") == folder / "data/only.h5");
  sweep.directory = "elsewhere";
  CHECK(sweep.find_file("data/only.h5") == folder / "data/only.h5");
}

TEST_CASE("task_id is the documented hash and stays what it is") {
  const TemporaryFolder folder;
  write_text(folder / "t.h5", "abc");  // SHA-256 of "abc": the example of FIPS 180-2
  const SweepConfig sweep =
      load_text(folder, "workload.trace = \"t.h5\"\nimperfections.coupler.sigma_rad = 0.01\n",
                {"imperfections.coupler.mean_rad=-0.0"});
  FileHashes hashes;
  CHECK(
      canonical_json(sweep, sweep.point(0), hashes) ==
      R"({"ablation.layer":-1,"ablation.meshes":"all","combiner.mode":"coherent",)"
      R"("evaluation":"codes","imperfections.combiner.amplitude_sigma":0,)"
      R"("imperfections.combiner.phase_sigma_rad":0,)"
      R"("imperfections.coupler.mean_rad":0,"imperfections.coupler.sigma_rad":0.01,)"
      R"("imperfections.detuning.center_wavelength_nm":1550,)"
      R"("imperfections.detuning.coupler_rad_per_nm":0.005,)"
      R"("imperfections.detuning.spectrum_shift_nm_per_k":0.07,)"
      R"("imperfections.detuning.temperature_k":0,)"
      R"("imperfections.detuning.wavelength_nm":0,)"
      R"("imperfections.laser.server_phase_sigma_rad":0,"imperfections.loss.crossing_db":0,)"
      R"("imperfections.loss.facet_db":0,)"
      R"("imperfections.loss.mzi_db":0,"imperfections.loss.mzi_sigma_db":0,)"
      R"("imperfections.loss.placement":"mzi_only",)"
      R"("imperfections.loss.waveguide_db_per_cm":0,)"
      R"("imperfections.phase.correlation_um":0,)"
      R"("imperfections.phase.fabrication_sigma_rad":0,)"
      R"("imperfections.phase.on_output_screen":true,"imperfections.preset":"ideal",)"
      R"("layout.arm_spacing_um":30,"layout.column_pitch_um":400,)"
      R"("layout.phi_offset_um":100,"layout.row_pitch_um":60,)"
      R"("layout.theta_offset_um":250,"max_codes":4194304,"network.calibration":"none",)"
      R"("network.digits_per_input":1,)"
      R"("network.form":"ripple","network.kind":"analytic",)"
      R"("network.layer_gain":"nominal","network.mapping":"svd",)"
      R"("network.mesh":"clements","network.mzi":"standard",)"
      R"("network.step":"clipped_relu","physics_version":1,)"
      R"("receiver.calibration":"affine","report.uniform_codes":false,)"
      R"("report.yield_limit":0.001,"workload.bits":8,)"
      R"("workload.block":1024,"workload.code_offset":128,"workload.kind":"trace",)"
      R"("workload.power_of_two_scale":false,"workload.rounding":"half_up",)"
      R"("workload.stochastic_rounding":false,)"
      R"("workload.trace":"sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"})");
  // sha256(that text) by Python's hashlib, first 16 digits.
  CHECK(task_id(sweep, sweep.point(0), hashes) == "38dd714464511c1d");
}

TEST_CASE("a network file takes the place of everything it fixes") {
  const TemporaryFolder folder;
  const ResolvedConfig config = load_text(folder, "network.file = \"n.h5\"\n").point(0);
  for (const char* key :
       {"network.kind", "network.form", "network.step", "workload.bits", "network.digits_per_input",
        "workload.code_offset", "workload.rounding"}) {
    INFO(key);
    CHECK_FALSE(config.has(key));
  }
  CHECK(config.text("network.mapping") == "as_trained");
}

TEST_CASE("a preset is the base that file keys, --set and axes override, in that order") {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder / "data/presets");
  write_text(folder / "data/presets/sin.toml",
             "[imperfections]\ncoupler.sigma_rad = 0.01\ncoupler.mean_rad = 0.02\n"
             "phase.dac_bits = 6\nphase.fabrication_sigma_rad = 0.03\n");
  const SweepConfig sweep = load_text(folder,
                                      "[imperfections]\npreset = \"sin\"\ncoupler.mean_rad = 0.3\n"
                                      "phase.dac_bits = 8\n"
                                      "[[axis]]\npath = "
                                      "\"imperfections.phase.fabrication_sigma_rad\"\n"
                                      "values = [0, 0.2]\n",
                                      {"imperfections.phase.dac_bits=10"});
  for (const std::size_t point : {0U, 1U}) {
    const ResolvedConfig config = sweep.point(point);
    CHECK(config.real("imperfections.coupler.sigma_rad") == 0.01);
    CHECK(config.real("imperfections.coupler.mean_rad") == 0.3);
    CHECK(config.integer("imperfections.phase.dac_bits") == 10);
    CHECK(config.real("imperfections.phase.fabrication_sigma_rad") == (point == 0 ? 0 : 0.2));
  }
  const SweepConfig expanded = sweep.single(1).without_preset();
  std::map<std::string, ConfigValue> expected = sweep.point(1).values();
  expected[preset_key] = std::string("ideal");
  CHECK(expanded.point(0).values() == expected);
}

TEST_CASE("a preset can be an axis") {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder / "data/presets");
  write_text(folder / "data/presets/sin.toml", "imperfections.coupler.sigma_rad = 0.01\n");
  write_text(folder / "data/presets/lab_best.toml", "imperfections.coupler.mean_rad = 0.02\n");
  const SweepConfig sweep = load_text(
      folder, "[[axis]]\npath = \"imperfections.preset\"\nvalues = [\"sin\", \"lab_best\"]\n");
  REQUIRE(sweep.points() == 2);
  CHECK(sweep.point(0).real("imperfections.coupler.sigma_rad") == 0.01);
  CHECK(sweep.point(0).real("imperfections.coupler.mean_rad") == 0);
  CHECK(sweep.point(1).real("imperfections.coupler.sigma_rad") == 0);
  CHECK(sweep.point(1).real("imperfections.coupler.mean_rad") == 0.02);
}

TEST_CASE("task_id follows the content of the preset, and ideal is no preset") {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder / "data/presets");
  write_text(folder / "t.h5", "one");
  const std::string base = "workload.trace = \"t.h5\"\n";
  const std::string preset = base + "imperfections.preset = \"sin\"\n";
  const auto id_with = [&](const std::string& content) {
    write_text(folder / "data/presets/sin.toml", content);
    return id_of(folder, preset);
  };
  const std::string first = id_with("imperfections.coupler.sigma_rad = 0.01\n");
  CHECK(first == id_with("imperfections.coupler.sigma_rad = 0.01\n"));
  CHECK(first != id_with("imperfections.coupler.sigma_rad = 0.02\n"));
  CHECK(first != id_with("imperfections.coupler.sigma_rad = 0.01\n# other source\n"));
  CHECK(first != id_of(folder, base));
  CHECK(id_of(folder, base + "imperfections.preset = \"ideal\"\n") == id_of(folder, base));
}

TEST_CASE("mistakes in a preset file are named with the file") {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder / "data/presets");
  const auto error = [&](const std::string& content) -> std::string {
    write_text(folder / "data/presets/sin.toml", content);
    try {
      load_text(folder, "imperfections.preset = \"sin\"\n").point(0);
    } catch (const UserError& problem) {
      return problem.what();
    }
    return "";
  };
  CHECK(error("imperfections.coupler.sigma_rad = 0.01\n").empty());
  CHECK(test::contains(error("imperfections.coupler.sigma = 0.01\n"),
                       "sin.toml:1:23: unknown key 'imperfections.coupler.sigma' (did you mean "
                       "'imperfections.coupler.sigma_rad'?)"));
  CHECK(test::contains(error("\nimperfections.coupler.sigma_rad = 9\n"), "sin.toml:2:23: "));
  CHECK(test::contains(error("workload.bits = 6\n"), "sin.toml: workload.bits does not belong"));
  CHECK(test::contains(error("imperfections.preset = \"ideal\"\n"), "does not belong"));
  CHECK(test::contains(error("[imperfections\n"), "sin.toml:1:"));
  std::filesystem::remove(folder / "data/presets/sin.toml");
  const CurrentFolder elsewhere(folder.path());
  CHECK(test::contains(error_of("imperfections.preset = \"sin\"\n"),
                       "data/presets/sin.toml: no such file"));
}

TEST_CASE("the shipped presets load, and their page has every value") {
  const std::filesystem::path source = OPTINC_SOURCE_DIR;
  const std::string page = test::read_text(source / "docs/presets.md");
  for (const std::string& name : find_config_key(preset_key)->choices) {
    if (name == ideal_preset) continue;
    const ResolvedConfig preset = load_preset(source / "data/presets" / (name + ".toml"));
    CHECK(preset.values().size() > 5);
    CHECK(test::contains(page, "`" + name + "`"));
    for (const auto& [path, value] : preset.values()) {
      INFO(name << " " << path);
      const std::size_t row = page.find("| `" + path.substr(std::string("imperfections.").size()));
      REQUIRE(row != std::string::npos);
      const std::string line = page.substr(row, page.find('\n', row) - row);
      CHECK(test::contains(line, "| " + value_text(value) + " |"));
    }
  }
}
