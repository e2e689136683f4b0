// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <barrier>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <limits>
#include <memory>
#include <ostream>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "apps/bench_cases.hpp"
#include "apps/command.hpp"
#include "apps/options.hpp"
#include "build_info.hpp"
#include "solver/clock.hpp"
#include "solver/montecarlo/summary.hpp"
#include "solver/names.hpp"

namespace optinc {

namespace {

using Json = nlohmann::ordered_json;

struct BenchOptions {
  BackendOptions backend;
  std::string precision = "both";
  std::string filter;
  unsigned threads = 1;
  int rounds = 7;
  double seconds = 0.1;
  bool json = false;
  bool quiet = false;
};

/// A case set up on every thread.
class RunningCase {
 public:
  RunningCase(BenchCase bench, Precision precision, unsigned threads)
      : case_(std::move(bench)), precision_(precision) {
    for (unsigned i = 0; i < threads; ++i) calls_.push_back(case_.prepare());
    // The first call fills caches; the second says how many fit in a measurement.
    calls_.front()();
    const Clock::time_point start = Clock::now();
    calls_.front()();
    first_s_ = seconds_since(start);
  }

  const BenchCase& bench() const { return case_; }
  Precision precision() const { return precision_; }

  /// Seconds per call, all threads calling at once. Args: least_s, duration of the measurement.
  double measure(double least_s) const {
    const auto repeats =
        static_cast<std::uint64_t>(std::clamp(least_s / std::max(first_s_, 1e-9), 1.0, 1e9));
    const auto repeat = [&](std::size_t thread) {
      for (std::uint64_t i = 0; i < repeats; ++i) calls_[thread]();
    };
    std::barrier gate(static_cast<std::ptrdiff_t>(calls_.size()));
    std::vector<std::jthread> others;
    for (std::size_t i = 1; i < calls_.size(); ++i) {
      others.emplace_back([&, i] {
        gate.arrive_and_wait();
        repeat(i);
      });
    }
    gate.arrive_and_wait();
    const Clock::time_point start = Clock::now();
    repeat(0);
    for (std::jthread& other : others) other.join();
    return seconds_since(start) / static_cast<double>(repeats);
  }

 private:
  BenchCase case_;
  Precision precision_;
  std::vector<std::function<void()>> calls_;
  double first_s_ = 0;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return quantile(values, 0.5);
}

/// The measurements of one case, a value per round.
struct Series {
  std::vector<double> seconds;
  std::vector<double> share;  ///< of the peak or the copy bandwidth of the same round

  /// Interquartile range over median.
  double spread() const {
    std::vector<double> sorted = seconds;
    std::sort(sorted.begin(), sorted.end());
    const std::size_t quarter = sorted.size() / 4;
    return (sorted[sorted.size() - 1 - quarter] - sorted[quarter]) / median(sorted);
  }
};

/// Something that the machine cannot do faster, measured again and again.
class Limit {
 public:
  Limit(BenchCase bench, unsigned threads)
      : amount_(bench.flops + bench.bytes), running_(std::move(bench), Precision::f64, threads) {}

  void measure(double least_s) { seconds_.push_back(running_.measure(least_s)); }

  /// Flops or bytes per second and thread, at the last measurement and in the median.
  double latest_rate() const { return amount_ / seconds_.back(); }
  double median_rate() const { return amount_ / median(seconds_); }

 private:
  double amount_;  ///< flops or bytes of a call
  RunningCase running_;
  std::vector<double> seconds_;
};

/// What the machine can do at most, measured in every round.
class Limits {
 public:
  Limits(const InstructionSet& instructions, unsigned threads)
      : f32_(peak_case(instructions, Precision::f32), threads),
        f64_(peak_case(instructions, Precision::f64), threads),
        copy_(copy_case(), threads) {}

  void measure(double least_s) {
    for (Limit* limit : {&f32_, &f64_, &copy_}) limit->measure(least_s);
  }

  const Limit& peak(Precision precision) const { return precision == Precision::f32 ? f32_ : f64_; }
  const Limit& copy() const { return copy_; }

  /// Share of the latest limit that `seconds` per call is; NaN where nothing is counted.
  double share(const BenchCase& bench, Precision precision, double seconds) const {
    if (bench.flops > 0) return bench.flops / seconds / peak(precision).latest_rate();
    if (bench.bytes > 0) return bench.bytes / seconds / copy_.latest_rate();
    return std::numeric_limits<double>::quiet_NaN();
  }

 private:
  Limit f32_;
  Limit f64_;
  Limit copy_;
};

std::string cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

Json result_json(const RunningCase& running, const Series& series, unsigned threads) {
  const BenchCase& bench = running.bench();
  const double seconds = median(series.seconds);
  Json json = {{"name", bench.name},
               {"precision", enum_name(running.precision())},
               {"median_s", seconds},
               {"spread", series.spread()}};
  if (bench.flops > 0) {
    json["gflops"] = threads * bench.flops / seconds / 1e9;
    json["share_of_peak"] = median(series.share);
  }
  if (bench.bytes > 0) {
    json["gbytes_per_s"] = threads * bench.bytes / seconds / 1e9;
    json["share_of_copy_bandwidth"] = median(series.share);
  }
  if (bench.chips > 0) json["chips_per_s"] = threads * bench.chips / seconds;
  return json;
}

std::vector<Precision> precisions_of(const BenchOptions& options) {
  if (options.precision == "both") return {Precision::f32, Precision::f64};
  return {parse_enum<Precision>(options.precision).value()};
}

/// The backends that are timed, one per precision that they have.
struct Engines {
  std::vector<std::unique_ptr<Backend>> backends;
  std::vector<BenchEngine> engines;
};

Engines make_engines(const BenchOptions& options, const BackendRegistry& registry,
                     const InstructionSet& instructions) {
  Engines made;
  for (const Precision precision : precisions_of(options)) {
    BackendOptions backend = options.backend;
    backend.precision = enum_name(precision);
    made.backends.push_back(create_backend(backend, registry));
    const bool has_kernels = made.backends.back()->name().rfind("cpu/", 0) == 0;
    made.engines.push_back({.backend = *made.backends.back(),
                            .precision = precision,
                            .instructions = has_kernels ? &instructions : nullptr});
  }
  return made;
}

std::vector<RunningCase> set_up(const BenchOptions& options, const Engines& engines) {
  std::vector<RunningCase> running;
  std::set<std::string> names;
  for (const BenchEngine& engine : engines.engines) {
    for (BenchCase& bench : bench_cases(engine)) {
      names.insert(bench.name);
      if (bench.name.find(options.filter) == std::string::npos) continue;
      running.emplace_back(std::move(bench), engine.precision, options.threads);
    }
  }
  if (running.empty()) {
    throw ConfigError(fmt::format("--filter {} is in no name; the names are {}", options.filter,
                                  fmt::join(names, ", ")));
  }
  return running;
}

Json measure(const BenchOptions& options, CommandContext& context) {
  const InstructionSet& instructions =
      find_instruction_set(cpu_target_or_default(options.backend.cpu_target));
  const Engines engines = make_engines(options, context.registry, instructions);
  Limits limits(instructions, options.threads);
  const std::vector<RunningCase> running = set_up(options, engines);
  std::vector<Series> series(running.size());
  for (int round = 0; round < options.rounds; ++round) {
    for (std::size_t i = 0; i < running.size(); ++i) {
      // The limits right before each case: a shared machine is not the same a second later.
      limits.measure(options.seconds / 5);
      series[i].seconds.push_back(running[i].measure(options.seconds));
      series[i].share.push_back(
          limits.share(running[i].bench(), running[i].precision(), series[i].seconds.back()));
    }
    if (!options.quiet) context.err << fmt::format("round {}/{}\n", round + 1, options.rounds);
  }
  Json results = Json::array();
  for (std::size_t i = 0; i < running.size(); ++i) {
    results.push_back(result_json(running[i], series[i], options.threads));
  }
  const auto rate = [&](const Limit& limit) { return options.threads * limit.median_rate() / 1e9; };
  return {
      {"version", build_info::version},
      {"commit", build_info::commit},
      {"cpu", cpu_model()},
      {"backend", engines.backends.front()->name()},
      {"target", instructions.name},
      {"threads", options.threads},
      {"rounds", options.rounds},
      {"peak_gflops",
       {{"f32", rate(limits.peak(Precision::f32))}, {"f64", rate(limits.peak(Precision::f64))}}},
      {"copy_gbytes_per_s", rate(limits.copy())},
      {"results", results}};
}

std::string text_of(const Json& report) {
  std::string text = fmt::format(
      "{}, {}, {} thread(s): peak {:.1f} GFLOP/s f32, {:.1f} f64; copy {:.1f} GB/s\n\n"
      "{:<30} {:<4} {:>12} {:>7} {:>10} {:>9} {:>10} {:>10}\n",
      report["cpu"].get<std::string>(), report["target"].get<std::string>(),
      report["threads"].get<unsigned>(), report["peak_gflops"]["f32"].get<double>(),
      report["peak_gflops"]["f64"].get<double>(), report["copy_gbytes_per_s"].get<double>(), "name",
      "prec", "median [s]", "spread", "GFLOP/s", "of peak", "GB/s", "chips/s");
  const auto cell = [](const Json& result, const char* key, const char* format) {
    return result.contains(key) ? fmt::format(fmt::runtime(format), result[key].get<double>()) : "";
  };
  for (const Json& result : report["results"]) {
    const bool of_copy = result.contains("share_of_copy_bandwidth");
    text += fmt::format(
        "{:<30} {:<4} {:>12} {:>7} {:>10} {:>9} {:>10} {:>10}\n", result["name"].get<std::string>(),
        result["precision"].get<std::string>(), cell(result, "median_s", "{:.4g}"),
        cell(result, "spread", "{:.2f}"), cell(result, "gflops", "{:.2f}"),
        of_copy ? cell(result, "share_of_copy_bandwidth", "{:.3f}*")
                : cell(result, "share_of_peak", "{:.3f}"),
        cell(result, "gbytes_per_s", "{:.3f}"), cell(result, "chips_per_s", "{:.1f}"));
  }
  return text + "\n* of the copy bandwidth\n";
}

CommandAction declare_bench(CLI::App& app) {
  const auto options = std::make_shared<BenchOptions>();
  add_engine_options(app, options->backend);
  add_choice_option(app, "--precision", options->precision, {"both", "f32", "f64"},
                    "precisions that are timed");
  app.add_option("--threads", options->threads, "threads, each with data of its own")
      ->check(whole_number(1, 1024))
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--filter", options->filter, "only cases with this in their name")
      ->type_name("TEXT");
  app.add_option("--rounds", options->rounds, "measurements of each case")
      ->check(whole_number(1, 1000))
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--seconds", options->seconds, "duration of a measurement")
      ->check(CLI::Range(1e-4, 60.0))
      ->type_name("S")
      ->capture_default_str();
  app.add_flag("--json", options->json, "print JSON");
  app.add_flag("--quiet", options->quiet, "no progress");
  return [options](CommandContext& context) {
    const Json report = measure(*options, context);
    context.out << (options->json ? report.dump(2) + "\n" : text_of(report));
    return ExitCode::done;
  };
}

}  // namespace

std::vector<Command> bench_commands() {
  return {
      {.name = "bench",
       .summary = "speed of every kernel against the measured peak of this machine",
       .description =
           "Measures how many multiply-adds the instruction set in use does per second on "
           "registers and how fast memory is copied, then each kernel, and prints medians over "
           "rounds. Shares are medians of the ratio to the peak measured right before, in the same "
           "run, so that a busy machine disturbs them little; all other times are of that run "
           "alone.\n\n"
           "Flops are counted as: 28 per MZI and sample over the whole mesh for compose, "
           "compose-chip, propagate and decompose (zeros that a kernel skips count as done, so a "
           "share may exceed what it does per flop); 2 per weight and code for codes. compose is "
           "the column sweep alone, compose-chip has noise, trigonometry and 2 x 2 entries too. "
           "reduce-trace counts the bytes of the file, copy both directions.\n\n"
           "spread is the interquartile range over the median.",
       .examples = {{"optinc bench", "Everything, one thread:"},
                    {"optinc bench --threads 2 --filter chips --json",
                     "Chips per second on two threads:"}},
       .declare = declare_bench}};
}

}  // namespace optinc
