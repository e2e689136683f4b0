// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "apps/command.hpp"
#include "apps/installed_data.hpp"
#include "apps/options.hpp"
#include "apps/signals.hpp"
#include "apps/trace_summary.hpp"
#include "build_info.hpp"
#include "solver/config/sweep_config.hpp"
#include "solver/montecarlo/chip_runner.hpp"

namespace optinc {
namespace {

struct AverageOptions {
  std::string trace;
  std::string out;
  std::string config;
  std::optional<std::size_t> point;
  std::vector<std::string> set;
  std::string seed;
  std::uint32_t chip = 0;
  BackendOptions backend;
  bool json = false;
};

std::size_t chosen_point(const SweepConfig& sweep, const AverageOptions& options) {
  if (!options.point && sweep.points() == 1) return 0;
  if (!options.point || *options.point >= sweep.points()) {
    throw ConfigError(
        fmt::format("the configuration has {} sweep points (average runs one); give "
                    "--point with a number from 0 to {}",
                    sweep.points(), sweep.points() - 1));
  }
  return *options.point;
}

/// One sweep point of the configuration, with the trace of the command line.
SweepConfig load(const AverageOptions& options) {
  std::vector<std::string> overrides = options.set;
  for (const std::string& text : overrides) {
    if (!text.starts_with("workload.trace=")) continue;
    throw ConfigError(
        fmt::format("--set {} (average takes the trace as its argument TRACE); leave "
                    "it out",
                    text));
  }
  if (!options.seed.empty()) overrides.push_back("montecarlo.seed=" + options.seed);
  const SweepConfig sweep = options.config.empty() ? config_from_overrides(overrides)
                                                   : load_sweep_config(options.config, overrides);
  SweepConfig one = sweep.single(chosen_point(sweep, options));
  one.data_directory = installed_data_directory();
  one.base.set("workload.trace", std::filesystem::absolute(find_data_file(options.trace)).string());
  return one;
}

/// What ran, for the file and for JSON.
TraceAttributes provenance(const SweepConfig& sweep, const AverageOptions& options,
                           const std::string& backend) {
  FileHashes hashes;
  const ResolvedConfig point = sweep.point(0);
  return {{"trace", std::filesystem::path(options.trace).filename().string()},
          {"task_id", task_id(sweep, point, hashes)},
          {"configuration", canonical_json(sweep, point, hashes)},
          {"chip", fmt::format("{}", options.chip)},
          {"seed", fmt::format("{}", point.integer("montecarlo.seed"))},
          {"backend", backend},
          {"precision", options.backend.precision},
          {"version", build_info::version}};
}

void print_json(std::ostream& out, const ChipResult& result, const TraceAttributes& attributes) {
  nlohmann::ordered_json document;
  for (const auto& [name, value] : attributes) {
    if (name != "configuration") document[name] = value;
  }
  for (const MetricColumn& metric : metric_table()) {
    document["metrics"][metric.column.name] = metric.value(result);
  }
  document["tensors"] = nlohmann::ordered_json::array();
  for (const TensorMetrics& tensor : result.tensors) {
    nlohmann::ordered_json entry = {{"name", tensor.name}, {"elements", tensor.elements}};
    entry["metrics"] = gradient_json(tensor.gradient);
    document["tensors"].push_back(entry);
  }
  out << document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << '\n';
}

void print_text(std::ostream& out, const ChipResult& result) {
  for (const MetricColumn& metric : metric_table()) {
    out << fmt::format("{:<22} {:>14.6g} {}\n", metric.column.name, metric.value(result),
                       metric.column.unit);
  }
}

ExitCode average_trace(const CommandContext& context, const AverageOptions& options,
                       const std::function<bool()>& stop_requested) {
  require_file_out(options.out);
  const SweepConfig sweep = load(options);
  std::vector<std::filesystem::path> inputs = named_files(sweep);
  if (!options.config.empty()) inputs.emplace_back(options.config);
  require_other_file("--out", options.out, inputs);
  const std::unique_ptr<Backend> backend = create_backend(options.backend, context.registry);
  ChipRunner runner(sweep, *backend, MetricDetail::per_tensor);
  const TraceAttributes attributes = provenance(sweep, options, backend->name());
  const auto seed = static_cast<std::uint64_t>(sweep.point(0).integer("montecarlo.seed"));
  PointTask task = runner.task(0);
  task.source.stop_requested = stop_requested;
  const ChipResult result = runner.write(task, seed, options.chip, options.out, attributes);
  if (options.json) {
    print_json(context.out, result, attributes);
  } else {
    print_text(context.out, result);
  }
  return ExitCode::done;
}

ExitCode run_average(const CommandContext& context, const AverageOptions& options) {
  const std::string loss = fmt::format("{} was not written", options.out);
  return run_stoppable(context, loss, [&](const std::function<bool()>& stop_requested) {
    return average_trace(context, options, stop_requested);
  });
}

CommandAction declare_average(CLI::App& app) {
  auto options = std::make_shared<AverageOptions>();
  add_trace_argument(app, options->trace);
  app.add_option("--out", options->out,
                 "averaged gradient to write (HDF5, optinc-averaged-gradient/1)")
      ->type_name("FILE")
      ->required();
  app.add_option("--config", options->config,
                 "sweep configuration, TOML (default: every key at its default)")
      ->type_name("FILE");
  app.add_option("--point", options->point,
                 "sweep point of the configuration, from 0; needed where it has several")
      ->check(whole_number(0, std::numeric_limits<std::uint64_t>::max()))
      ->type_name("N");
  app.add_option("--set", options->set, "override one key, e.g. workload.bits=6")
      ->type_name("PATH=VALUE")
      ->allow_extra_args(false);
  app.add_option("--chip", options->chip, "index of the chip")
      ->check(whole_number(0, std::numeric_limits<std::uint32_t>::max()))
      ->capture_default_str();
  app.add_option("--seed", options->seed, "seed, instead of montecarlo.seed")
      ->check(whole_number_of_key("montecarlo.seed"))
      ->type_name("N");
  add_backend_options(app, options->backend);
  app.add_flag("--json", options->json, "print JSON instead of text");
  return [options](CommandContext& context) { return run_average(context, *options); };
}

}  // namespace

std::vector<Command> average_commands() {
  Command average;
  average.name = "average";
  average.summary = "average a gradient trace on one chip";
  average.description =
      "Sends a trace through one chip, writes the averaged gradient that every server decodes, "
      "float32 per element, and prints the metrics of that chip, those of a sweep's row; with "
      "--json the main ones of each tensor too. Reads the trace twice, first for the codes that "
      "occur; memory does not grow with it. SIGINT and SIGTERM stop it without leaving a file.\n\n"
      "The chip is that of a sweep with the same configuration, seed and chip index. TRACE takes "
      "the place of workload.trace. `optinc schema --config` documents the keys, `optinc schema` "
      "the metrics.";
  average.examples = {
      {"optinc average data/traces/resnet50_cifar100.h5 --out averaged.h5", "an ideal chip:"},
      {"optinc average t.h5 --config my.toml --point 3 --chip 17 --out averaged.h5 --json",
       "chip 17 of the fourth point of a sweep:"},
      {"optinc average t.h5 --set imperfections.coupler.sigma_rad=0.01 --out averaged.h5",
       "single keys:"}};
  average.declare = declare_average;
  return {average};
}

}  // namespace optinc
