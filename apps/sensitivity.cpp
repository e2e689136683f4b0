// SPDX-License-Identifier: Apache-2.0
#include "apps/sensitivity.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "apps/options.hpp"
#include "apps/point_options.hpp"
#include "apps/progress.hpp"
#include "apps/result_table.hpp"
#include "apps/signals.hpp"
#include "build_info.hpp"
#include "solver/config/sweep_config.hpp"
#include "solver/error.hpp"
#include "solver/io/atomic_file.hpp"
#include "solver/montecarlo/chip_statistic.hpp"
#include "solver/montecarlo/point_evaluator.hpp"
#include "solver/montecarlo/sensitivity.hpp"
#include "solver/montecarlo/tolerance_keys.hpp"

namespace optinc {
namespace {

struct SensitivityOptions {
  PointOptions point;
  std::string out = "-";
  std::string metric = "element_error_rate";
  std::vector<std::string> vary;
  std::uint64_t samples = 64;
  BackendOptions backend;
  unsigned threads = 0;
  bool json = false;
  bool quiet = false;
};

constexpr std::size_t most_keys = 50;

CLI::Validator power_of_two() {
  return CLI::Validator(
      [](std::string& text) {
        std::uint64_t number = 0;
        constexpr std::uint64_t most = 1U << 20U;
        std::string problem = whole_number(2, most)(text);
        if (!problem.empty()) return problem;
        number = std::stoull(text);
        return std::has_single_bit(number)
                   ? std::string()
                   : fmt::format("'{}' (must be a power of two, 2 to {})", text, most);
      },
      "");
}

std::vector<SampledKey> chosen_keys(const SensitivityOptions& options,
                                    const ResolvedConfig& point) {
  std::vector<SampledKey> keys;
  std::set<std::string> seen;
  for (const std::string& text : options.vary) {
    keys.push_back(parse_sampled_key("--vary", text));
    if (!seen.insert(keys.back().path).second) {
      throw ConfigError(fmt::format("--vary {} is the second of that key; leave one out", text));
    }
    require_needs("--vary " + text, keys.back().path, point);
  }
  if (keys.size() > most_keys) {
    throw ConfigError(
        fmt::format("--vary is given {} times; {} keys are the most", keys.size(), most_keys));
  }
  return keys;
}

/// The metric at every point of the design, [sample, point of the sample].
Eigen::MatrixXd evaluate(CommandContext& context, const SensitivityOptions& options,
                         const SweepConfig& sweep, const ChipStatistic& statistic,
                         const Backend& backend, const std::vector<SampledKey>& keys,
                         const std::function<bool()>& stop_requested) {
  const SaltelliDesign design = saltelli_design(options.samples, keys.size());
  const std::size_t points = design.points_per_sample();
  PointEvaluator evaluator(
      sweep, backend,
      {.chips = static_cast<std::uint64_t>(sweep.point(0).integer("montecarlo.chips")),
       .threads = threads_or_all(options.threads),
       .stop_requested = stop_requested});
  ProgressLine line(context, options.quiet);
  Eigen::MatrixXd values(design.a.rows(), static_cast<Eigen::Index>(points));
  for (std::size_t sample = 0; sample < options.samples; ++sample) {
    for (std::size_t index = 0; index < points; ++index) {
      const Eigen::RowVectorXd unit = design.point(sample, index);
      ResolvedConfig config = sweep.base;
      for (std::size_t i = 0; i < keys.size(); ++i) {
        config.set(keys[i].path, keys[i].value(unit(static_cast<Eigen::Index>(i))));
      }
      values(static_cast<Eigen::Index>(sample), static_cast<Eigen::Index>(index)) =
          statistic.estimate(evaluator.evaluate(config)).value;
      line.show(false, [&] {
        return fmt::format("{}/{} points", sample * points + index + 1, options.samples * points);
      });
    }
  }
  return values;
}

ResultTable make_table(const SensitivityOptions& options, const ResolvedConfig& point,
                       const std::string& backend, const std::vector<SampledKey>& keys,
                       const Eigen::MatrixXd& values) {
  const auto seed = static_cast<std::uint64_t>(point.integer("montecarlo.seed"));
  const std::vector<SobolIndex> indices = sobol_indices(values, seed);
  const auto both = values.leftCols(2).array();
  const double mean = both.mean();
  ResultTable table{.name = "sensitivity",
                    .title = fmt::format("shares of the variance of {}", options.metric),
                    .columns = sensitivity_columns(),
                    .rows = {}};
  for (std::size_t i = 0; i < keys.size(); ++i) {
    table.rows.push_back({keys[i].path,
                          find_config_key(keys[i].path)->unit,
                          keys[i].low,
                          keys[i].high,
                          std::string(keys[i].logarithmic ? "log" : "linear"),
                          indices[i].first,
                          indices[i].first_interval.lo,
                          indices[i].first_interval.hi,
                          indices[i].total,
                          indices[i].total_interval.lo,
                          indices[i].total_interval.hi,
                          options.metric,
                          mean,
                          std::sqrt((both - mean).square().mean()),
                          static_cast<std::int64_t>(options.samples),
                          point.integer("montecarlo.chips"),
                          static_cast<std::int64_t>(seed),
                          backend,
                          options.backend.precision,
                          std::string(build_info::version)});
  }
  return table;
}

void print(CommandContext& context, const SensitivityOptions& options, const ResultTable& table) {
  if (options.out != "-") write_file_atomically(options.out, table_csv(table));
  if (options.json) {
    const nlohmann::ordered_json document = table_json(table);
    context.out << document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
  } else if (!options.quiet) {
    ResultTable shown = table;
    constexpr std::size_t shown_columns = 11;
    shown.columns.resize(shown_columns);
    for (std::vector<TableCell>& row : shown.rows) row.resize(shown_columns);
    context.out << table_text(shown);
  }
}

void require_other_out(const SensitivityOptions& options, const SweepConfig& sweep) {
  if (options.out == "-") return;
  require_csv_out(options.out);
  std::vector<std::filesystem::path> inputs = named_files(sweep);
  inputs.emplace_back(options.point.config);
  require_other_file("--out", options.out, inputs);
}

ExitCode run_sensitivity(CommandContext& context, const SensitivityOptions& options) {
  const std::unique_ptr<Backend> backend = create_backend(options.backend, context.registry);
  const SweepConfig sweep = load_point(options.point);
  const ResolvedConfig point = sweep.point(0);
  const ChipStatistic statistic(options.metric, point.real("report.yield_limit"), "--metric");
  require_other_out(options, sweep);
  const std::vector<SampledKey> keys = chosen_keys(options, point);
  return run_stoppable(
      context, "no index was computed", [&](const std::function<bool()>& stop_requested) {
        const Eigen::MatrixXd values =
            evaluate(context, options, sweep, statistic, *backend, keys, stop_requested);
        print(context, options, make_table(options, point, backend->name(), keys, values));
        return ExitCode::done;
      });
}

CommandAction declare_sensitivity(CLI::App& app) {
  const auto options = std::make_shared<SensitivityOptions>();
  add_point_options(app, options->point);
  app.add_option("--vary", options->vary,
                 "key and the range that it is drawn from, uniformly or with :log in equal ratios; "
                 "once per key, 50 keys at most")
      ->type_name("PATH:LOW:HIGH[:log]")
      ->required()
      ->allow_extra_args(false);
  app.add_option("--metric", options->metric,
                 "what is explained: a metric (its mean over chips), one with _p05, _p50 or _p95 "
                 "(its quantile), or yield")
      ->type_name("NAME")
      ->default_str(options->metric);
  app.add_option("--samples", options->samples,
                 "samples, a power of two; each takes as many values as there are keys, and two")
      ->check(power_of_two())
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--out", options->out, "CSV file to write at the end")->type_name("FILE.csv");
  add_backend_options(app, options->backend);
  add_threads_option(app, options->threads);
  app.add_flag("--json", options->json, "print JSON instead of a table");
  app.add_flag("--quiet", options->quiet, "no progress and no table");
  return [options](CommandContext& context) { return run_sensitivity(context, *options); };
}

}  // namespace

const std::vector<CsvColumn>& sensitivity_columns() {
  static const std::vector<CsvColumn> columns = {
      {"key", "", "imperfection that was drawn"},
      {"unit", "", "unit of the key"},
      {"low", "", "smallest value"},
      {"high", "", "largest value"},
      {"scale", "", "linear: uniform; log: in equal ratios"},
      {"first", "", "share of the variance by this key alone (first-order Sobol index)"},
      {"first_ci_lo", "", "lower end of its 95 % bootstrap interval"},
      {"first_ci_hi", "", "upper end of it"},
      {"total", "", "share by this key and its interactions (total Sobol index)"},
      {"total_ci_lo", "", "lower end of its 95 % bootstrap interval"},
      {"total_ci_hi", "", "upper end of it"},
      {"metric", "", "metric (mean over chips, _p05 .. _p95: quantile) or yield"},
      {"metric_mean", "", "its mean over the draws"},
      {"metric_std", "", "its standard deviation over them"},
      {"samples", "", "samples of the design"},
      {"chips", "", "chips per draw, the same ones"},
      {"seed", "", "seed of chips and bootstrap"},
      {"backend", "", "engine that ran, with its instruction set"},
      {"precision", "", "f32 or f64"},
      {"version", "", "version of optinc"}};
  return columns;
}

std::vector<Command> sensitivity_commands() {
  return {
      {.name = "sensitivity",
       .summary = "which imperfections explain the variance of a metric",
       .description =
           "Draws several imperfections at once from given ranges and splits the variance of a "
           "metric among them: Sobol indices of first order (a key by itself) and total (with its "
           "interactions), from Saltelli's design on a Sobol sequence; estimators of Saltelli et "
           "al. 2010 and Jansen 1999. The same chips run at every draw, so that the variance is "
           "that of the keys and not of chance. Intervals: bootstrap over samples. Where the "
           "metric does not vary the indices are not defined.\n\n"
           "Takes samples x (keys + 2) x chips; SIGINT and SIGTERM stop it without a result.",
       .examples = {{"optinc sensitivity my.toml --vary imperfections.coupler.sigma_rad:0:0.01 "
                     "--vary imperfections.phase.fabrication_sigma_rad:0:0.01 --chips 10",
                     "Two keys:"},
                    {"optinc sensitivity my.toml --metric nmse --samples 256 --out s.csv --vary "
                     "imperfections.loss.mzi_db:1e-3:1:log --vary "
                     "imperfections.coupler.sigma_rad:1e-4:0.1:log",
                     "Over decades, another metric:"}},
       .declare = declare_sensitivity}};
}

}  // namespace optinc
