// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "solver/io/hdf5_file.hpp"
#include "tests/apps/cli_run.hpp"
#include "tests/apps/shipped.hpp"

namespace optinc {
namespace {

using test::CliRun;
using test::contains;
using test::data_folder;
using test::json_of;
using test::llama_trace;
using test::run;
using test::TemporaryFolder;
using Json = nlohmann::json;

/// `onn train` of a small network, 2 servers and 4 bits, where `more` does not say otherwise.
std::vector<std::string> train(const std::string& out, const std::vector<std::string>& more = {}) {
  std::vector<std::string> args = {"onn", "train", "--quiet", "--out", out};
  for (const std::vector<std::string>& usual : {std::vector<std::string>{"--servers", "2"},
                                                {"--bits", "4"},
                                                {"--widths", "2-16-16-2"},
                                                {"--steps", "40"},
                                                {"--batch", "49"}}) {
    if (std::find(more.begin(), more.end(), usual.front()) == more.end()) {
      args.insert(args.end(), usual.begin(), usual.end());
    }
  }
  args.insert(args.end(), more.begin(), more.end());
  return args;
}

std::string network_bytes(const std::vector<std::string>& more) {
  const TemporaryFolder folder;
  const CliRun result = run(train(folder / "n.h5", more));
  INFO(result.err);
  REQUIRE(result.code == 0);
  return test::read_text(folder / "n.h5");
}

}  // namespace

TEST_CASE("onn train learns a small network, which check, sweep and average then use") {
  const TemporaryFolder folder;
  const std::string file = folder / "n.h5";
  const Json report = json_of(train(file, {"--steps", "6000", "--batch", "98", "--learning-rate",
                                           "0.01", "--widths", "2-32-32-2"}));
  CHECK(report.at("codes") == 49);
  CHECK(report.at("correct") == 49);
  CHECK(report.at("exhaustive") == true);
  CHECK(report.at("reached_target") == true);
  CHECK(report.at("margin_digits").get<double>() > 0.25);
  CHECK(report.at("through_meshes").at("correct") == 49);
  CHECK(report.at("steps").get<int>() < 6000);
  // 16 blocks of 2 x 2, one of 32 x 32, 16 of 2 x 2, each n (n - 1) / 2 + n.
  CHECK(report.at("mzi_count") == 16 * 3 + 528 + 16 * 3);
  CHECK(folder.files() == 1);

  const Json checked = json_of({"onn", "check", file, "--mapping", "as_trained"});
  CHECK(checked.at("kind") == "trained");
  CHECK(checked.at("correct") == 49);
  CHECK(checked.at("mzi_count") == report.at("mzi_count"));
  CHECK(json_of({"onn", "check", file, "--mapping", "svd"}).at("mzi_count") !=
        report.at("mzi_count"));

  // No wrong element of a real gradient.
  const Json average = json_of({"average", llama_trace, "--out", folder / "a.h5", "--set",
                                "network.file=" + file, "--set", "workload.servers=2"});
  CHECK(average.at("metrics").at("element_error_rate") == 0.0);
}

TEST_CASE("every option of onn train changes the network") {
  const std::string base = network_bytes({});
  CHECK(network_bytes({}) == base);
  CHECK(network_bytes({"--threads", "2"}) == base);
  CHECK(network_bytes({"--threads", "3"}) == base);
  const std::vector<std::vector<std::string>> changes = {
      {"--servers", "3"},
      {"--rounding", "floor"},
      {"--input-fraction-digits", "1", "--widths", "3-18-16-2", "--mapping", "svd"},
      {"--output-fraction-digits", "1", "--widths", "2-16-18-3", "--mapping", "svd"},
      {"--code-offset", "5"},
      {"--digits-per-input", "2", "--widths", "1-16-16-2"},
      {"--widths", "2-16-8-2"},
      {"--activation", "clipped_relu"},
      {"--activation", "clipped_relu", "--clip", "3"},
      {"--mapping", "svd"},
      {"--mapping", "real_part"},
      {"--mapping", "svd,segmented,svd"},
      {"--segment", "4"},
      {"--mapping", "svd", "--segment", "4"},
      {"--constraint", "projection"},
      {"--constraint", "projection", "--projection-interval", "7"},
      {"--trace", llama_trace},
      {"--trace", llama_trace, "--trace-share", "0.25"},
      {"--trace", llama_trace, "--block", "64"},
      {"--trace", llama_trace, "--trace", data_folder + "traces/resnet50_cifar100.h5"},
      {"--set", "imperfections.coupler.sigma_rad=0.01"},
      {"--set", "imperfections.coupler.sigma_rad=0.01", "--noise-chips", "1"},
      {"--set", "imperfections.coupler.sigma_rad=0.01", "--noise-interval", "3"},
      {"--set", "imperfections.coupler.sigma_rad=0.01", "--set", "network.mesh=reck"},
      {"--set", "imperfections.coupler.sigma_rad=0.01", "--set", "network.mzi=three_splitter"},
      {"--set", "imperfections.loss.mzi_db=0.1", "--set", "network.layer_gain=none"},
      {"--steps", "41"},
      {"--batch", "50"},
      {"--learning-rate", "0.003"},
      {"--loss-exponent", "4"},
      {"--seed", "2"}};
  std::vector<std::string> seen = {base};
  for (const std::vector<std::string>& change : changes) {
    INFO(Json(change).dump());
    std::vector<std::string> arguments = change;
    const std::string bytes = network_bytes(arguments);
    for (const std::string& other : seen) CHECK(bytes != other);
    seen.push_back(bytes);
  }
}

TEST_CASE("options of onn train that do not shape the network") {
  const TemporaryFolder folder;
  const std::string file = folder / "n.h5";
  const auto report = [&](const std::vector<std::string>& more) {
    return json_of(train(file, more));
  };
  CHECK(report({}).at("codes") == 49);
  CHECK(report({"--check-codes", "20"}).at("codes") == 20);
  CHECK(report({"--check-codes", "20"}).at("exhaustive") == false);
  // A target that any accurate network meets is met at the first check.
  const std::vector<std::string> easy = {"--steps", "6000",    "--learning-rate",
                                         "0.01",    "--batch", "98"};
  const auto steps = [&](const std::vector<std::string>& more) {
    std::vector<std::string> all = easy;
    all.insert(all.end(), more.begin(), more.end());
    return report(all).at("steps").get<int>();
  };
  const int usual = steps({});
  CHECK(steps({"--margin", "0.01"}) <= usual);
  CHECK(steps({"--margin", "0.01", "--check-interval", "7"}) % 7 == 0);
  CHECK(report({"--margin", "0.5", "--steps", "900", "--learning-rate", "0.01"}).at("steps") ==
        900);
}

TEST_CASE("an interrupted training goes on and ends with the same network") {
  const TemporaryFolder folder;
  const std::string whole = folder / "whole.h5";
  const std::string parts = folder / "parts.h5";
  const std::vector<std::string> long_run = {"--steps", "3000", "--margin", "0.5"};
  REQUIRE(run(train(whole, long_run)).code == 0);
  int runs = 0;
  int code = 5;
  while (code == 5 && runs < 1000) {
    std::vector<std::string> more = long_run;
    more.insert(more.end(), {"--time-limit", "0.05"});
    const CliRun result = run(train(parts, more));
    INFO(result.err);
    code = result.code;
    ++runs;
    if (code != 5) break;
    CHECK(contains(result.err, "run the same command again"));
    CHECK(contains(result.err, "parts.h5.checkpoint"));
  }
  CHECK(code == 0);
  CHECK(runs > 1);
  CHECK(test::read_text(whole) == test::read_text(parts));
  CHECK(folder.files() == 2);
}

TEST_CASE("the checkpoint of onn train: other options, other place, fresh") {
  const TemporaryFolder folder;
  const std::string file = folder / "n.h5";
  const std::string place = folder / "state";
  const std::vector<std::string> stop = {"--steps", "1000000",      "--time-limit",
                                         "0.2",     "--checkpoint", place};
  REQUIRE(run(train(file, stop)).code == 5);
  CHECK(folder.files() == 1);
  const CliRun other = run(train(file, {"--steps", "999999", "--checkpoint", place}));
  CHECK(other.code == 3);
  CHECK(contains(other.err, "other options"));
  CHECK(contains(other.err, "--fresh"));
  CHECK(run(train(file, {"--checkpoint", place, "--fresh"})).code == 0);
  CHECK(folder.files() == 1);
  test::write_text(place, "nonsense");
  const CliRun damaged = run(train(file, {"--checkpoint", place}));
  CHECK(damaged.code == 3);
  CHECK(contains(damaged.err, "state"));
  // Known before the first of a million steps.
  CHECK(run(train(file, {"--checkpoint", folder / "no/such", "--steps", "1000000"})).code == 3);
  CHECK(run(train(folder / "no/such.h5", {"--steps", "1000000"})).code == 3);
}

TEST_CASE("a killed training has the steps up to its last checkpoint") {
  const TemporaryFolder folder;
  const auto steps_left_by = [&](const std::string& interval_s) {
    const std::string file = folder / ("n" + interval_s + ".h5");
    std::string command = "timeout -s KILL 1 " OPTINC_BINARY;
    for (const std::string& part : train(file, {"--steps", "1000000", "--margin", "0.5",
                                                "--checkpoint-interval", interval_s})) {
      command += " '" + part + "'";
    }
    CHECK(std::system(command.c_str()) != 0);
    return Hdf5File(file + ".checkpoint").read_int("/", "step");
  };
  CHECK(steps_left_by("0") > 0);
  CHECK(steps_left_by("1000") == 0);
}

TEST_CASE("wrong use of onn train has a message and a code") {
  const TemporaryFolder folder;
  const std::string out = folder / "n.h5";
  struct Misuse {
    std::vector<std::string> more;
    int code;
    std::string message;
  };
  const std::vector<Misuse> misuses = {
      {{"--widths", "2-16-3"}, 2, "start with the 2 inputs and end with the 2 digits"},
      {{"--widths", "4-16-2"}, 2, "widths 4-16-2"},
      {{"--widths", "2-x-2"}, 2, "--widths"},
      {{"--widths", "2-0-2"}, 2, "--widths"},
      {{"--mapping", "block"}, 2, "--mapping"},
      {{"--mapping", "svd,svd"}, 2, "2 mappings for 3 layers"},
      {{"--segment", "3"}, 2, "multiples of the segment"},
      {{"--constraint", "none"}, 2, "--constraint"},
      {{"--activation", "tanh"}, 2, "--activation"},
      {{"--clip", "2"}, 2, "--activation is not clipped_relu"},
      {{"--activation", "clipped_relu", "--clip", "-1"}, 2, "--clip"},
      {{"--projection-interval", "7"}, 2, "--constraint is not projection"},
      {{"--constraint", "projection", "--mapping", "svd"}, 2, "no layer has mapping segmented"},
      {{"--trace-share", "0.5"}, 2, "--trace"},
      {{"--block", "64"}, 2, "--trace"},
      {{"--noise-chips", "2"}, 2, "--set"},
      {{"--noise-interval", "2"}, 2, "--set"},
      {{"--steps", "0"}, 2, "--steps"},
      {{"--batch", "-1"}, 2, "--batch"},
      {{"--learning-rate", "0"}, 2, "--learning-rate"},
      {{"--learning-rate", "1e30"}, 3, "smaller learning rate"},
      {{"--loss-exponent", "3"}, 2, "loss exponent 3"},
      {{"--margin", "0.7"}, 2, "margin 0.7"},
      {{"--trace-share", "1.5"}, 2, "--trace-share"},
      {{"--trace", folder / "none.h5"}, 3, "none.h5"},
      {{"--servers", "9", "--trace", llama_trace}, 2, "9 servers"},
      {{"--set", "imperfections.coupler.sigma_rad=-1"}, 2, "coupler.sigma_rad"},
      {{"--set", "imperfections.coupler.sigma_rad=0"}, 2, "no imperfection"},
      {{"--set", "workload.bits=6"}, 2, "workload.bits=6"},
      {{"--set", "imperfections.combiner.amplitude_sigma=0.1"}, 2, "combiner.amplitude_sigma"},
      {{"--set", "imperfections.transmitter.rlm=0.9"}, 2, "transmitter.rlm"},
      {{"--set", "imperfections.amplifier.noise_sigma=0.1"}, 2, "amplifier.noise_sigma"},
      {{"--set", "imperfections.phase.jitter_realizations=3"}, 2, "jitter_realizations"},
      {{"--set", "imperfections.drift=1"}, 2, "imperfections.drift"},
      {{"--cpu-target", "z80"}, 2, "--cpu-target"},
      {{"--time-limit", "soon"}, 2, "--time-limit"},
      {{"--checkpoint", out}, 2, "--checkpoint"},
      {{"--trace", llama_trace, "--input-fraction-digits", "1", "--widths", "3-16-2"},
       2,
       "leave one out"},
      {{"--trace", out}, 2, "would be lost"}};
  for (const Misuse& misuse : misuses) {
    const CliRun result = run(train(out, misuse.more));
    INFO(Json(misuse.more).dump() << "\n" << result.err);
    CHECK(result.code == misuse.code);
    CHECK(contains(result.err, misuse.message));
    CHECK(result.out.empty());
    CHECK(folder.files() == 0);
  }
}

}  // namespace optinc
