// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/apps/cli_run.hpp"
#include "tests/apps/shipped.hpp"

namespace optinc {

namespace {

using test::CliRun;
using test::contains;
using test::data_folder;
using test::json_of;
using test::run;
using test::TemporaryFolder;
using Json = nlohmann::json;

const std::string ripple = data_folder + "networks/analytic_ripple_4servers_8bits.h5";

Json check(const std::vector<std::string>& more) {
  std::vector<std::string> args = {"onn", "check"};
  args.insert(args.end(), more.begin(), more.end());
  return json_of(args);
}

struct Misuse {
  std::vector<std::string> arguments;
  int code;
  std::string message;
};

void check_refused(const std::vector<Misuse>& misuses) {
  for (const Misuse& misuse : misuses) {
    const CliRun result = run(misuse.arguments);
    INFO(result.err);
    CHECK(result.code == misuse.code);
    CHECK(result.out.empty());
    CHECK(contains(result.err, misuse.message));
  }
}

}  // namespace

TEST_CASE("onn check prints what scripts rely on") {
  const Json shipped = check({ripple});
  CHECK(shipped.at("codes") == 28561);
  CHECK(shipped.at("correct") == 28561);
  CHECK(shipped.at("accuracy") == 1.0);
  CHECK(shipped.at("exhaustive") == true);
  CHECK(shipped.at("max_error_digits").get<double>() < 1e-9);
  CHECK(shipped.at("margin_digits").get<double>() == Approx(0.5));
  CHECK(shipped.at("widths") == Json({4, 6, 17, 17, 17, 4}));
  CHECK(shipped.at("mzi_count") == 906);
  CHECK(shipped.at("layer_gains").at(1).get<double>() == Approx(93.9).margin(0.1));
  const CliRun text = run({"onn", "check", ripple});
  CHECK(text.code == 0);
  CHECK(contains(text.out, "906"));
  CHECK(contains(text.out, "28561 (1.000000)"));
}

TEST_CASE("every option of onn check changes something") {
  const Json base = check({ripple});
  const Json sample = check({ripple, "--max-codes", "100"});
  CHECK(sample.at("codes") == 100);
  CHECK(sample.at("exhaustive") == false);
  CHECK(contains(run({"onn", "check", ripple, "--max-codes", "100", "--sample-seed", "7"}).out,
                 "seed 7"));
  // The shape of meshes: 4-6-17-17-17-4 by svd has n columns and one attenuator for each side.
  const Json svd = check({ripple, "--mapping", "svd"});
  CHECK(svd.at("mapping") == "svd");
  CHECK(svd.at("depths") == Json({4 + 6 + 1, 6 + 17 + 1, 35, 35, 17 + 4 + 1}));
  CHECK(svd.at("correct") == 28561);
  CHECK(svd.at("max_error_digits") != base.at("max_error_digits"));
  const Json reck = check({ripple, "--mapping", "svd", "--mesh", "reck"});
  CHECK(reck.at("depths") == Json({5 + 9 + 1, 9 + 31 + 1, 63, 63, 31 + 5 + 1}));
  CHECK(reck.at("mzi_count") == 906);
  CHECK(reck.at("correct") == 28561);
  const Json real_part = check({ripple, "--mapping", "real_part"});
  CHECK(real_part.at("depths") == Json({4, 6, 17, 17, 4}));
  CHECK(real_part.at("correct") == 28561);
  const Json blocks = check({ripple, "--mapping", "real_part", "--segment", "8"});
  CHECK(blocks.at("depths") == Json({4, 6, 8, 8, 4}));
  // 4-6 and 17-4 in blocks of 4, 6-17 in blocks of 6, 17-17 twice in blocks of 8.
  CHECK(blocks.at("mzi_count") == 2 * 6 + 3 * 15 + 9 * 28 + 9 * 28 + 5 * 6);
  CHECK(blocks.at("correct") == 28561);
  // Not exact for weights that were not trained for it: no error, but an honest figure.
  const Json segmented = check({ripple, "--mapping", "segmented"});
  CHECK(segmented.at("accuracy").get<double>() < 0.5);
}

TEST_CASE("every option of onn build changes the network, and each is exact") {
  const TemporaryFolder folder;
  const auto built = [&](const std::vector<std::string>& options) {
    const std::string file = folder / "n.h5";
    std::vector<std::string> args = {"onn", "build", "--out", file};
    args.insert(args.end(), options.begin(), options.end());
    const CliRun result = run(args);
    INFO(result.err);
    REQUIRE(result.code == 0);
    CHECK(contains(result.out, "MZIs by SVD"));
    const Json report = check({file, "--max-codes", "20000"});
    CHECK(report.at("correct") == report.at("codes"));
    return report;
  };
  CHECK(built({}).at("widths") == Json({4, 6, 17, 17, 17, 4}));
  CHECK(built({"--servers", "2"}).at("servers") == 2);
  CHECK(built({"--bits", "6"}).at("bits") == 6);
  CHECK(built({"--form", "pipeline"}).at("kind") == "analytic-pipeline");
  CHECK(built({"--step", "relu"}).at("widths") != Json({4, 6, 17, 17, 17, 4}));
  CHECK(built({"--rounding", "floor"}).at("rounding") == "floor");
  CHECK(built({"--form", "pipeline", "--digits-per-input", "2"}).at("digits_per_input") == 2);
  const std::string offset = folder / "offset.h5";
  REQUIRE(run({"onn", "build", "--code-offset", "100", "--out", offset}).code == 0);
  REQUIRE(run({"onn", "build", "--out", folder / "n.h5"}).code == 0);
  CHECK(test::read_text(offset) != test::read_text(folder / "n.h5"));
}

TEST_CASE("wrong use of onn commands has a message and a code") {
  const TemporaryFolder folder;
  const std::string out = folder / "n.h5";
  check_refused({
      {{"onn", "build"}, 2, "--out"},
      {{"onn", "build", "--servers", "65", "--out", out}, 2, "servers = 65"},
      {{"onn", "build", "--servers", "1", "--out", out}, 2, "servers = 1"},
      {{"onn", "build", "--servers", "3", "--out", out}, 2, "use the pipeline form"},
      {{"onn", "build", "--bits", "7", "--out", out}, 2, "odd"},
      {{"onn", "build", "--bits", "18", "--out", out}, 2, "bits = 18"},
      {{"onn", "build", "--digits-per-input", "3", "--out", out}, 2, "does not divide"},
      {{"onn", "build", "--code-offset", "0", "--out", out}, 2, "code_offset = 0"},
      {{"onn", "build", "--form", "spiral", "--out", out}, 2, "--form"},
      {{"onn", "build", "--out", folder / "no/such/n.h5"}, 3, "no/such"},
      {{"onn", "check", folder / "none.h5"}, 3, "there is no such file"},
      {{"onn", "check", data_folder + "traces/llama_wikitext2.h5"}, 3, "optinc-network/1"},
      {{"onn", "check", data_folder + "README.md"}, 3, "README.md"},
      {{"onn", "check", ripple, "--segment", "4"}, 2, "network.segment is given"},
      {{"onn", "check", ripple, "--segment", "0"}, 2, "--segment"},
      {{"onn", "check", ripple, "--mesh", "diamond"}, 2, "--mesh"},
  });
  CHECK(folder.files() == 0);
}

TEST_CASE("trace info prints the trace and what quantising it costs") {
  const std::string llama = data_folder + "traces/llama_wikitext2.h5";
  const Json info = json_of({"trace", "info", llama});
  CHECK(info.at("servers") == 4);
  CHECK(info.at("elements") == 143148);
  CHECK(info.at("attributes").at("workload") == "wikitext2");
  std::uint64_t elements = 0;
  for (const Json& tensor : info.at("tensors"))
    elements += tensor.at("elements").get<std::uint64_t>();
  CHECK(elements == 143148);
  CHECK(info.at("quantised").at("bits") == 8);
  CHECK(info.at("quantised").at("alphabet") == 28561);
  // Rounding halves up of 4 servers: 1/8 LSB, less where blocks are zero.
  CHECK(info.at("quantised").at("bias_lsb").get<double>() == Approx(0.125).margin(0.01));
  const auto nmse_db = [](const Json& document) {
    return document.at("quantised").at("nmse_db").get<double>();
  };
  // 6.02 dB for each bit; finer blocks are nearer.
  const Json coarse = json_of({"trace", "info", llama, "--bits", "6"});
  CHECK(nmse_db(coarse) - nmse_db(info) == Approx(12.04).margin(2));
  CHECK(nmse_db(json_of({"trace", "info", llama, "--block", "64"})) < nmse_db(info) - 1);
  const CliRun text = run({"trace", "info", llama});
  CHECK(text.code == 0);
  CHECK(contains(text.out, "layers.0.wq.weight"));
  CHECK(contains(text.out, "against the float mean"));
}

TEST_CASE("wrong use of trace info has a message and a code") {
  const TemporaryFolder folder;
  const std::string torn = folder / "torn.h5";
  const std::string whole = test::read_text(data_folder + "traces/llama_wikitext2.h5");
  test::write_text(torn, whole.substr(0, whole.size() / 2));
  check_refused({
      {{"trace", "info"}, 2, "TRACE"},
      {{"trace", "info", folder / "none.h5"}, 3, "there is no such file"},
      {{"trace", "info", torn}, 3, "torn.h5"},
      {{"trace", "info", ripple}, 3, "optinc-gradient-trace/1"},
      {{"trace", "info", data_folder + "traces/llama_wikitext2.h5", "--bits", "5"}, 2, "odd"},
      {{"trace", "info", data_folder + "traces/llama_wikitext2.h5", "--block", "0"}, 2, "--block"},
  });
}

}  // namespace optinc
