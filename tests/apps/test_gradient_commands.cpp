// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "solver/gradient/trace.hpp"
#include "solver/io/hdf5_file.hpp"
#include "tests/apps/cli_run.hpp"
#include "tests/apps/shipped.hpp"
#include "tests/support/brute_force_gradient.hpp"

namespace optinc {

namespace {

using test::CliRun;
using test::contains;
using test::data_folder;
using test::json_of;
using test::llama_trace;
using test::resnet_trace;
using test::run;
using test::TemporaryFolder;
using Json = nlohmann::json;

std::vector<std::string> joined(std::vector<std::string> args,
                                const std::vector<std::string>& more) {
  args.insert(args.end(), more.begin(), more.end());
  return args;
}

double number_or_nan(const Json& document, const std::string& name) {
  const Json& value = document.at(name);
  return value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>();
}

/// The metrics that `average --json` prints.
GradientMetrics metrics_of(const Json& document) {
  using G = GradientMetrics;
  const std::vector<std::pair<const char*, double G::*>> members = {
      {"element_error_rate", &G::element_error_rate},
      {"symbol_error_rate", &G::symbol_error_rate},
      {"bit_error_rate", &G::bit_error_rate},
      {"nmse", &G::nmse},
      {"snr_db", &G::snr_db},
      {"relative_l2", &G::relative_l2},
      {"cosine", &G::cosine},
      {"contraction", &G::contraction},
      {"bias_lsb", &G::bias_lsb},
      {"sign_agreement", &G::sign_agreement},
      {"decoded_zero_share", &G::decoded_zero_share},
      {"max_error_lsb", &G::max_error_lsb},
      {"error_share_other", &G::error_share_other}};
  GradientMetrics metrics;
  for (const auto& [name, member] : members) metrics.*member = number_or_nan(document, name);
  for (std::size_t i = 0; i < metrics.error_share_pm4.size(); ++i) {
    metrics.error_share_pm4[i] =
        number_or_nan(document, "error_share_pm" + std::to_string(std::int64_t{1} << (2 * i)));
  }
  return metrics;
}

/// One pass through a unit: how the trace is coded, what else is set.
struct Pass {
  CodeFormat format;
  QuantiserOptions quantiser;
  std::vector<std::string> imperfections;  ///< none: an ideal chip
};

std::vector<std::string> settings_of(const Pass& pass) {
  const char* rounding = pass.format.rounding == Rounding::half_up     ? "half_up"
                         : pass.format.rounding == Rounding::half_even ? "half_even"
                                                                       : "floor";
  std::vector<std::string> args = {
      "--set", "workload.bits=" + std::to_string(pass.format.bits),
      "--set", "workload.code_offset=" + std::to_string(pass.format.code_offset),
      "--set", "workload.block=" + std::to_string(pass.quantiser.block),
      "--set", std::string("workload.rounding=") + rounding,
      "--set", "network.form=pipeline"};
  if (pass.quantiser.power_of_two_scale) {
    args = joined(args, {"--set", "workload.power_of_two_scale=true"});
  }
  if (pass.quantiser.rounding_seed) {
    args = joined(args, {"--set", "workload.stochastic_rounding=true", "--seed",
                         std::to_string(*pass.quantiser.rounding_seed)});
  }
  for (const std::string& key : pass.imperfections) args = joined(args, {"--set", key});
  return args;
}

/// The metrics that are printed for each tensor.
void check_tensor(const Json& entry, const TraceTensor& tensor, const test::Expected& expected) {
  CAPTURE(tensor.name);
  CHECK(entry.at("name") == tensor.name);
  CHECK(entry.at("elements") == tensor.elements);
  const Json& metrics = entry.at("metrics");
  const auto close = [&](const char* name, long double value, double scale) {
    INFO(name);
    CHECK(test::close(number_or_nan(metrics, name), value, scale));
  };
  const long double nmse = test::ratio(expected.error2, expected.gradient2);
  close("element_error_rate", expected.wrong_elements / expected.elements, 0);
  close("nmse", nmse, 0);
  close("snr_db", -10 * std::log10(nmse), 1);
  close("cosine", test::ratio(expected.product, std::sqrt(expected.output2 * expected.gradient2)),
        1);
  close("contraction", test::ratio(expected.product, expected.gradient2), 1);
  close("bias_lsb", test::ratio(expected.lsb_sum, expected.scaled), 1);
  close("sign_agreement", test::ratio(expected.agreeing, expected.with_sign), 0);
  close("max_error_lsb", test::ratio(expected.lsb_max * expected.scaled, expected.scaled), 100);
}

/// Averages the trace and holds file and metrics against the definitions, element by element. The
/// integer that was decoded is read from the file; on an ideal chip it must be Q(v).
void check_average(const std::string& trace_path, const Pass& pass) {
  const TemporaryFolder folder;
  const std::string out = folder / "averaged.h5";
  const GradientTrace trace(trace_path);
  std::vector<std::string> args =
      joined({"average", trace_path, "--out", out, "--chip", "3"}, settings_of(pass));
  if (pass.format.servers != trace.servers()) {
    args = joined(args, {"--set", "workload.servers=" + std::to_string(pass.format.servers)});
  }
  const Json document = json_of(args);
  test::Concatenation all = test::concatenation(trace);
  all.gradient.resize(static_cast<std::size_t>(pass.format.servers));
  const std::vector<test::Element> elements = test::elements_of(all, pass.format, pass.quantiser);
  const Hdf5File file(out);
  CHECK(file.read_int("/", "servers") == pass.format.servers);
  test::Expected expected(pass.format);
  std::size_t index = 0;
  std::size_t wrong_values = 0;
  for (std::size_t t = 0; t < trace.tensors().size(); ++t) {
    const TraceTensor& tensor = trace.tensors()[t];
    test::Expected own(pass.format);
    const Hdf5Dataset dataset = file.dataset("gradient/" + tensor.name);
    REQUIRE(dataset.shape() == std::vector<std::uint64_t>{1, tensor.elements});
    for (const double value : dataset.read_all()) {
      const test::Element& element = elements[index++];
      const auto scale = static_cast<double>(element.scale);
      long decoded = element.average_rounded;
      if (!pass.imperfections.empty()) {
        REQUIRE(scale > 0);
        decoded = std::lround(value / scale) + static_cast<long>(pass.format.code_offset);
      }
      const auto steps = static_cast<double>(decoded - pass.format.code_offset);
      wrong_values += value == static_cast<double>(static_cast<float>(steps * scale)) ? 0 : 1;
      expected.add(element, decoded);
      own.add(element, decoded);
    }
    check_tensor(document.at("tensors").at(t), tensor, own);
  }
  CHECK(index == elements.size());
  CHECK(document.at("tensors").size() == trace.tensors().size());
  CHECK(wrong_values == 0);
  const GradientMetrics metrics = metrics_of(document.at("metrics"));
  CHECK((metrics.element_error_rate > 0) == !pass.imperfections.empty());
  test::check_metrics(metrics, expected);
}

/// A synthetic trace in a folder of its own.
struct MadeTrace {
  TemporaryFolder folder;
  std::string path = folder / "t.h5";

  explicit MadeTrace(const std::vector<std::string>& args) {
    const CliRun result = run(joined({"trace", "make", "--out", path}, args));
    INFO(result.err);
    REQUIRE(result.code == 0);
  }
};

void check_refused(const std::vector<std::string>& args, int code, const std::string& message) {
  const CliRun result = run(args);
  INFO(result.err);
  CHECK(result.code == code);
  CHECK(result.out.empty());
  CHECK(contains(result.err, message));
}

}  // namespace

TEST_CASE("trace make writes what trace info shows, and the same again") {
  const std::vector<std::string> args = {"--kind",    "student_t",  "--servers",
                                         "3",         "--elements", "1000",
                                         "--tensors", "3",          "--degrees-of-freedom",
                                         "3",         "--seed",     "9"};
  const MadeTrace made(args);
  const Json info = json_of({"trace", "info", made.path});
  CHECK(info.at("servers") == 3);
  CHECK(info.at("elements") == 1000);
  CHECK(info.at("tensors").size() == 3);
  CHECK(info.at("attributes").at("workload") == "synthetic-student_t");
  CHECK(info.at("attributes").at("degrees_of_freedom") == "3");
  CHECK(info.at("attributes").at("seed") == "9");
  const std::string bytes = test::read_text(made.path);
  CHECK(test::read_text(MadeTrace(args).path) == bytes);
  for (const auto& change : std::vector<std::vector<std::string>>{{"--servers", "4"},
                                                                  {"--elements", "1001"},
                                                                  {"--tensors", "2"},
                                                                  {"--correlation", "0.1"},
                                                                  {"--degrees-of-freedom", "5"},
                                                                  {"--scale", "2"},
                                                                  {"--seed", "8"}}) {
    std::vector<std::string> changed = args;
    const auto at = std::find(changed.begin(), changed.end(), change[0]);
    if (at == changed.end()) {
      changed = joined(changed, change);
    } else {
      *(at + 1) = change[1];
    }
    INFO(change[0]);
    CHECK(test::read_text(MadeTrace(changed).path) != bytes);
  }
}

TEST_CASE("wrong use of trace make has a message and a code") {
  const TemporaryFolder folder;
  const std::string out = folder / "t.h5";
  const std::vector<std::string> good = {"trace",      "make", "--kind", "laplace",
                                         "--elements", "100",  "--out",  out};
  check_refused({"trace", "make", "--elements", "5", "--out", out}, 2, "--kind");
  check_refused({"trace", "make", "--kind", "laplace", "--out", out}, 2, "--elements");
  check_refused({"trace", "make", "--kind", "laplace", "--elements", "5"}, 2, "--out");
  check_refused({"trace", "make", "--kind", "cauchy", "--elements", "5", "--out", out}, 2,
                "student_t");
  check_refused(joined(good, {"--servers", "65"}), 2, "servers = 65");
  check_refused(joined(good, {"--correlation", "2"}), 2, "correlation = 2");
  check_refused(joined(good, {"--tensors", "101"}), 2, "101 tensors");
  check_refused(joined(good, {"--degrees-of-freedom", "3"}), 2, "only student_t");
  check_refused(
      {"trace", "make", "--kind", "laplace", "--elements", "9", "--out", folder / "no/t.h5"}, 3,
      "no/t.h5");
  CHECK(folder.files() == 0);
}

TEST_CASE("trace stats agrees with the definitions, in total and per tensor") {
  struct Case {
    std::string path;
    int servers;
    int alphabet;
  };
  for (const auto& [path, servers, alphabet] :
       {Case{resnet_trace, 4, 2197}, Case{llama_trace, 4, 2197}, Case{llama_trace, 2, 343}}) {
    const Json stats = json_of({"trace", "stats", path, "--bits", "6", "--block", "500",
                                "--servers", std::to_string(servers)});
    const GradientTrace trace(path);
    CodeFormat format = make_code_format(servers, 6);
    test::Concatenation all = test::concatenation(trace);
    all.gradient.resize(static_cast<std::size_t>(servers));
    const auto elements = test::elements_of(all, format, {.block = 500});
    std::vector<test::Expected> tensors(trace.tensors().size(), test::Expected(format));
    test::Expected total(format);
    for (std::size_t i = 0; i < elements.size(); ++i) {
      tensors[all.tensor_of[i]].add(elements[i], elements[i].average_rounded);
      total.add(elements[i], elements[i].average_rounded);
    }
    CHECK(stats.at("elements") == elements.size());
    CHECK(stats.at("servers") == servers);
    CHECK(stats.at("alphabet") == alphabet);
    CHECK(number_or_nan(stats, "alphabet_share") ==
          Approx(stats.at("codes").get<double>() / alphabet));
    const auto check = [](const Json& entry, const test::Expected& expected) {
      const auto count = static_cast<double>(expected.elements);
      const Json& ideal = entry.at("ideal_chip");
      CHECK(number_or_nan(entry, "elements") == count);
      CHECK(number_or_nan(entry, "mean_rms") ==
            Approx(std::sqrt(static_cast<double>(expected.gradient2) / count)));
      CHECK(number_or_nan(entry, "mean_zero_share") ==
            Approx(1 - static_cast<double>(expected.with_sign) / count));
      if (expected.gradient2 == 0) {
        CHECK(ideal.at("snr_db").is_null());
        return;
      }
      CHECK(number_or_nan(ideal, "snr_db") ==
            Approx(-10 * std::log10(static_cast<double>(expected.error2 / expected.gradient2))));
      CHECK(number_or_nan(ideal, "max_error_lsb") == Approx(static_cast<double>(expected.lsb_max)));
      CHECK(number_or_nan(ideal, "bias_lsb") ==
            Approx(static_cast<double>(expected.lsb_sum / expected.scaled)));
    };
    check(stats, total);
    const Json info = json_of({"trace", "info", path});
    REQUIRE(stats.at("tensors").size() == tensors.size());
    for (std::size_t t = 0; t < tensors.size(); ++t) {
      const Json& entry = stats.at("tensors").at(t);
      CHECK(entry.at("name") == trace.tensors()[t].name);
      check(entry, tensors[t]);
      if (servers != trace.servers()) continue;
      const Json& shown = info.at("tensors").at(t);
      CHECK(entry.at("rms") == shown.at("rms"));
      CHECK(entry.at("zero_share") == shown.at("zero_share"));
      CHECK(number_or_nan(entry, "max_over_rms") ==
            Approx(number_or_nan(shown, "max_abs") / number_or_nan(shown, "rms")).epsilon(1e-12));
    }
  }
  const CliRun text = run({"trace", "stats", resnet_trace});
  CHECK(text.code == 0);
  CHECK(contains(text.out, "5186 of 28561"));
}

TEST_CASE("every option of trace stats changes something") {
  const MadeTrace made({"--kind", "gaussian", "--elements", "5000"});
  const auto fingerprint = [&](const std::vector<std::string>& more) {
    const Json stats = json_of(joined({"trace", "stats", made.path}, more));
    return stats.at("ideal_chip").dump() + stats.at("codes").dump();
  };
  const std::string base = fingerprint({});
  for (const auto& change : std::vector<std::vector<std::string>>{{"--servers", "3"},
                                                                  {"--bits", "6"},
                                                                  {"--block", "100"},
                                                                  {"--rounding", "floor"},
                                                                  {"--code-offset", "100"},
                                                                  {"--digits-per-input", "2"},
                                                                  {"--power-of-two-scale"},
                                                                  {"--stochastic-rounding"}}) {
    INFO(change[0]);
    CHECK(fingerprint(change) != base);
  }
  CHECK(fingerprint({"--stochastic-rounding", "--seed", "2"}) !=
        fingerprint({"--stochastic-rounding"}));
  check_refused({"trace", "stats", made.path, "--seed", "2"}, 2, "--stochastic-rounding");
  check_refused({"trace", "stats", made.path, "--servers", "5"}, 2, "(it has 4); give 2 to 4");
  check_refused({"trace", "stats", made.path, "--servers", "1"}, 2, "give 2 to 4");
  check_refused({"trace", "stats", made.path, "--bits", "5"}, 2, "odd");
  check_refused({"trace", "stats", made.path, "--code-offset", "0"}, 2, "code_offset = 0");
  check_refused({"trace", "stats", made.path, "--digits-per-input", "3"}, 2, "does not divide");
  check_refused({"trace", "stats", made.path, "--block", "0"}, 2, "--block");
  check_refused({"trace", "stats"}, 2, "TRACE");
  check_refused({"trace", "stats", "none.h5"}, 3, "there is no such file");
}

TEST_CASE("average writes what its metrics say, shipped traces") {
  Pass pass{.format = make_code_format(4, 8), .quantiser = {}, .imperfections = {}};
  check_average(llama_trace, pass);
  pass.imperfections = {"imperfections.coupler.sigma_rad=1e-3"};
  check_average(resnet_trace, pass);
  pass.format.rounding = Rounding::half_even;
  pass.format.code_offset = 100;
  pass.quantiser = {.block = 1000, .power_of_two_scale = true, .rounding_seed = 7};
  check_average(resnet_trace, pass);
}

TEST_CASE("average writes what its metrics say, two servers of the shipped traces") {
  Pass pass{.format = make_code_format(2, 8), .quantiser = {}, .imperfections = {}};
  check_average(llama_trace, pass);
  pass.imperfections = {"imperfections.coupler.sigma_rad=3e-3"};
  check_average(resnet_trace, pass);
}

TEST_CASE("average writes what its metrics say, synthetic traces") {
  struct Case {
    int servers;
    int bits;
    Rounding rounding;
    std::int64_t offset_shift;
    std::string coupler_sigma;
  };
  const Case entry = GENERATE(
      Case{2, 4, Rounding::half_up, 0, "0.06"}, Case{3, 6, Rounding::floor, -5, "2e-3"},
      Case{4, 8, Rounding::half_even, 20, "9e-4"}, Case{8, 8, Rounding::half_up, -30, "3e-4"},
      Case{2, 12, Rounding::half_up, 0, "6e-5"}, Case{3, 16, Rounding::half_even, 1000, "3e-6"});
  const MadeTrace made({"--kind", "laplace", "--elements", "7000", "--tensors", "3",
                        "--correlation", "0.5", "--servers", std::to_string(entry.servers)});
  Pass pass{.format = make_code_format(entry.servers, entry.bits),
            .quantiser = {.block = 256, .rounding_seed = 5},
            .imperfections = {}};
  pass.format.rounding = entry.rounding;
  pass.format.code_offset += entry.offset_shift;
  CAPTURE(entry.servers, entry.bits);
  check_average(made.path, pass);
  pass.quantiser.rounding_seed.reset();
  pass.imperfections = {"imperfections.coupler.sigma_rad=" + entry.coupler_sigma};
  check_average(made.path, pass);
}

TEST_CASE("average runs the chip of a sweep and its file says so") {
  const TemporaryFolder folder;
  const std::string config = folder / "c.toml";
  test::write_text(config, "[workload]\ntrace = \"" + llama_trace +
                               "\"\n[montecarlo]\nchips = 3\nseed = 4\n[[axis]]\npath = "
                               "\"imperfections.coupler.sigma_rad\"\nvalues = [1e-4, 3e-4]\n");
  REQUIRE(run({"sweep", config, "--out", folder / "r.csv", "--quiet", "--set",
               "workload.trace=" + resnet_trace})
              .code == 0);
  const std::string rows = test::read_text(folder / "r.csv");
  const std::string out = folder / "averaged.h5";
  const std::vector<std::string> args = {"average", resnet_trace, "--config", config,  "--point",
                                         "1",       "--chip",     "2",        "--out", out};
  const Json document = json_of(args);
  CHECK(contains(rows, document.at("task_id").get<std::string>() + ",2,4,"));
  CHECK(contains(rows, "," + document.at("metrics").at("nmse").dump() + ","));
  const Hdf5File file(out);
  CHECK(file.read_string("/", "format") == "optinc-averaged-gradient/1");
  CHECK(file.read_int("/", "servers") == 4);
  CHECK(file.read_string("/", "task_id") == document.at("task_id"));
  CHECK(file.read_string("/", "trace") == "resnet50_cifar100.h5");
  CHECK(file.read_strings("/", "tensors").size() == GradientTrace(resnet_trace).tensors().size());
  // Every option that chooses the chip changes it.
  const std::string bytes = test::read_text(out);
  for (const auto& more : std::vector<std::vector<std::string>>{
           {"--seed", "5"}, {"--precision", "f32"}, {"--set", "workload.bits=6"}}) {
    json_of(joined(args, more));
    INFO(more[0]);
    CHECK(test::read_text(out) != bytes);
  }
  const CliRun text = run(args);
  CHECK(test::read_text(out) == bytes);
  CHECK(contains(text.out, "element_error_rate"));
}

TEST_CASE("wrong use of average has a message and a code") {
  const TemporaryFolder folder;
  const std::string out = folder / "a.h5";
  const std::string quickstart = data_folder + "sweeps/quickstart.toml";
  check_refused({"average", "--out", out}, 2, "TRACE");
  check_refused({"average", llama_trace}, 2, "--out");
  check_refused({"average", folder / "none.h5", "--out", out}, 3, "none.h5");
  check_refused({"average", data_folder + "README.md", "--out", out}, 3, "README.md");
  check_refused({"average", llama_trace, "--out", folder / "no/a.h5"}, 3, "no/a.h5");
  check_refused({"average", llama_trace, "--out", out, "--config", quickstart}, 2,
                "52 sweep points");
  check_refused({"average", llama_trace, "--out", out, "--config", quickstart, "--point", "52"}, 2,
                "0 to 51");
  check_refused({"average", llama_trace, "--out", out, "--point", "1"}, 2, "1 sweep points");
  check_refused({"average", llama_trace, "--out", out, "--set", "workload.trace=x.h5"}, 2, "TRACE");
  check_refused({"average", llama_trace, "--out", out, "--set", "workload.kind=gaussian"}, 2,
                "workload.trace");
  check_refused({"average", llama_trace, "--out", out, "--set", "workload.bit=6"}, 2,
                "workload.bits");
  check_refused({"average", llama_trace, "--out", out, "--set", "workload.servers=5"}, 2,
                llama_trace);
  check_refused({"average", llama_trace, "--out", out, "--chip", "-1"}, 2, "--chip");
  check_refused({"average", llama_trace, "--out", out, "--backend", "cuda"}, 4, "cuda");
  CHECK(folder.files() == 0);
}

}  // namespace optinc
