// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "solver/cost/hardware.hpp"
#include "solver/error.hpp"
#include "tests/apps/cli_run.hpp"

namespace optinc {

namespace {

std::string message_of(const std::string& text) {
  const test::TemporaryFolder folder;
  test::write_text(folder / "h.toml", text);
  try {
    load_hardware(folder / "h.toml", {});
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

/// Another value of a key, inside its range.
std::string other_value(const ConfigKey& key) {
  if (key.type == ConfigType::boolean) return "true";
  if (key.type == ConfigType::integer) {
    const std::int64_t value = std::get<std::int64_t>(*key.default_value);
    return std::to_string(static_cast<double>(value) < key.maximum ? value + 1 : value - 1);
  }
  const double value = std::get<double>(*key.default_value);
  return std::to_string(value + 0.01 <= key.maximum ? value + 0.01 : value - 0.01);
}

}  // namespace

TEST_CASE("every hardware key is documented, has its default in range, and sets one value") {
  const auto defaults = hardware_values({});
  REQUIRE(defaults.size() == hardware_keys().size());
  for (std::size_t i = 0; i < defaults.size(); ++i) {
    const ConfigKey& key = hardware_keys()[i];
    INFO(key.path);
    CHECK(!key.description.empty());
    CHECK(defaults[i].first == key.path);
    CHECK(defaults[i].second == key.default_value);
    const auto changed = hardware_values(load_hardware({}, {key.path + "=" + other_value(key)}));
    for (std::size_t j = 0; j < defaults.size(); ++j) {
      CHECK((changed[j] == defaults[j]) == (i != j));
    }
  }
}

TEST_CASE("a hardware file overrides defaults, settings override the file") {
  const test::TemporaryFolder folder;
  test::write_text(folder / "h.toml", "[loss]\nmzi_db = 0.1\nfacet_db = 2\n");
  const Hardware hardware = load_hardware(folder / "h.toml", {"loss.facet_db=0.5"});
  CHECK(hardware.loss.mzi_db == 0.1);
  CHECK(hardware.loss.facet_db == 0.5);
  CHECK(hardware.loss.modulator_db == Hardware().loss.modulator_db);
}

TEST_CASE("hardware files that are refused name place, problem and remedy") {
  CHECK(test::contains(message_of("[loss]\nmzi = 0.1\n"), "h.toml:2:1: unknown key 'loss.mzi'"));
  CHECK(test::contains(message_of("[loss]\nmzi = 0.1\n"), "did you mean 'loss.mzi_db'?"));
  CHECK(test::contains(message_of("[loss]\nmzi_db = -1\n"), "loss.mzi_db = -1 (must lie in 0"));
  CHECK(test::contains(message_of("[loss]\nmzi_db = \"a\"\n"), "loss.mzi_db must be a number"));
  CHECK(test::contains(message_of("[fabric]\ntransceivers = 1.5\n"), "must be an integer"));
  CHECK(test::contains(message_of("[llama]\ntied_embeddings = 1\n"), "must be true or false"));
  CHECK(test::contains(message_of("[loss\n"), "h.toml:1:"));
  CHECK_THROWS_AS(load_hardware("nowhere.toml", {}), DataError);
  CHECK_THROWS_AS(load_hardware({}, {"loss.mzi_db"}), ConfigError);
  CHECK_THROWS_AS(load_hardware({}, {"mzi_db=1"}), ConfigError);
}

TEST_CASE("the shipped hardware files are read, the paper's holds its figures") {
  const std::string folder = std::string(OPTINC_SOURCE_DIR) + "/data/hardware/";
  const Hardware paper = load_hardware(folder + "optinc_paper.toml", {});
  CHECK(paper.compute.peak_tflops * paper.compute.efficiency == Approx(36));
  CHECK(paper.fabric.bytes_per_s() == Approx(8 * 800e9 / 8));
  CHECK(paper.fabric.message_us == 0);
  CHECK(load_hardware(folder + "h100_bf16.toml", {}).fabric.bytes_per_s() == Approx(50e9));
}

TEST_CASE("keys of the models change them") {
  const auto parameters = [](const std::vector<std::string>& settings, std::size_t model) {
    return load_hardware({}, settings).workloads()[model].parameters;
  };
  CHECK(parameters({}, 0) == 23712932);
  CHECK(parameters({}, 1) == 23705252);
  CHECK(parameters({"resnet50.classes=1000"}, 0) == 25557032);
  CHECK(parameters({}, 2) > parameters({"llama.vocabulary=256"}, 2));
  CHECK(parameters({}, 2) > parameters({"llama.tied_embeddings=true"}, 2));
}

}  // namespace optinc
