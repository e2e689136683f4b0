// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
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
#include "apps/progress.hpp"
#include "apps/signals.hpp"
#include "apps/summary_table.hpp"
#include "apps/time_limit.hpp"
#include "build_info.hpp"
#include "solver/clock.hpp"
#include "solver/config/sweep_config.hpp"
#include "solver/montecarlo/chip_runner.hpp"
#include "solver/montecarlo/memory_estimate.hpp"
#include "solver/montecarlo/stopping.hpp"
#include "solver/montecarlo/sweep_run.hpp"
#include "solver/text.hpp"

namespace optinc {

namespace {

struct SweepCommandOptions {
  std::string config;
  std::string out;
  std::string chips;
  std::string seed;
  std::string shard = "0/1";
  std::string time_limit = no_time_limit;
  BackendOptions backend;
  unsigned threads = 0;
  bool fresh = false;
  bool dry_run = false;
  bool layers = false;
  bool quiet = false;
  bool json = false;
  std::vector<std::string> set;
};

void show(ProgressLine& line, const SweepProgress& progress) {
  line.show(progress.done == progress.total, [&] {
    const double rate = static_cast<double>(progress.computed) / line.elapsed_s();
    const double eta_s = static_cast<double>(progress.total - progress.done) / rate;
    return fmt::format("{}/{} chips, {:.1f} chips/s, eta {}, worst element error rate {:.3g}",
                       progress.done, progress.total, rate, duration_text(eta_s),
                       progress.worst_element_error_rate);
  });
}

SweepConfig load(const SweepCommandOptions& options) {
  std::vector<std::string> overrides = options.set;
  if (!options.chips.empty()) overrides.push_back("montecarlo.chips=" + options.chips);
  if (!options.seed.empty()) overrides.push_back("montecarlo.seed=" + options.seed);
  SweepConfig sweep = load_sweep_config(options.config, overrides);
  sweep.data_directory = installed_data_directory();
  return sweep;
}

Shard shard_option(const SweepCommandOptions& options) {
  const std::optional<Shard> shard = parse_shard(options.shard);
  if (!shard) {
    throw ConfigError(
        fmt::format("--shard {} (must be i/n with 0 <= i < n, e.g. 0/4)", options.shard));
  }
  return *shard;
}

nlohmann::ordered_json point_json(const SweepConfig& sweep, std::size_t point, FileHashes& hashes) {
  const ResolvedConfig config = sweep.point(point);
  nlohmann::ordered_json axes = nlohmann::ordered_json::object();
  for (const std::string& path : sweep.axis_paths()) {
    axes[path] = nlohmann::ordered_json::parse(value_json(config.values().at(path)));
  }
  return {{"task_id", task_id(sweep, config, hashes)}, {"axes", axes}};
}

/// What a sweep would do.
struct DryRun {
  std::uint64_t chips = 0;  ///< per point, of the shard
  nlohmann::ordered_json points = nlohmann::ordered_json::array();
  MemoryEstimate memory;  ///< of the point that needs most
};

DryRun dry_run(const SweepConfig& sweep, const Backend& backend, const Shard& shard,
               unsigned threads) {
  ChipRunner runner(sweep, backend);
  FileHashes hashes;
  const auto all_chips = static_cast<std::uint64_t>(sweep.point(0).integer("montecarlo.chips"));
  require_chips(shard, all_chips);
  DryRun result;
  std::vector<std::string> task_ids;
  result.chips = shard.chips(all_chips);
  for (std::size_t point = 0; point < sweep.points(); ++point) {
    const PointTask task = runner.task(point);
    const EvaluationSize size = runner.evaluation_size(task);
    const MemoryEstimate memory = runner.memory(task);
    if (memory.total(threads) > result.memory.total(threads)) result.memory = memory;
    nlohmann::ordered_json entry = point_json(sweep, point, hashes);
    entry["codes"] = size.codes;
    entry["evaluated"] = size.entries;
    task_ids.push_back(entry["task_id"].get<std::string>());
    result.points.push_back(entry);
  }
  require_distinct_points(sweep, task_ids);
  return result;
}

std::string mebibytes(std::uint64_t bytes) {
  return fmt::format("{:.3g} MiB", static_cast<double>(bytes) / (1U << 20U));
}

/// What would run: points with their task ids, chips and codes, and the memory it takes.
ExitCode print_dry_run(CommandContext& context, const SweepConfig& sweep, const Backend& backend,
                       const SweepCommandOptions& options) {
  const unsigned threads = threads_or_all(options.threads);
  const Shard shard = shard_option(options);
  const bool adaptive = StoppingRule::of(sweep.point(0)).has_value();
  require_possible({.backend = backend.name(),
                    .precision = options.backend.precision,
                    .version = build_info::version,
                    .shard = shard,
                    .per_tensor = options.layers},
                   adaptive);
  const DryRun plan = dry_run(sweep, backend, shard, threads);
  const MemoryEstimate& memory = plan.memory;
  const std::uint64_t rows = plan.chips * sweep.points();
  if (options.json) {
    const nlohmann::ordered_json document = {{"chips", plan.chips},
                                             {"rows", rows},
                                             {"threads", threads},
                                             {"memory_bytes",
                                              {{"code_table", memory.code_table},
                                               {"shared_meshes", memory.shared_meshes},
                                               {"per_thread", memory.per_thread},
                                               {"total", memory.total(threads)}}},
                                             {"points", plan.points}};
    context.out << document.dump(2) << "\n";
    return ExitCode::done;
  }
  context.out << fmt::format(
      "{} points x {}{} chips = {} rows on backend {}; nothing was written\n"
      "memory of the largest point about {}: code table {}, shared meshes {}, {} for each of {} "
      "threads\n",
      sweep.points(), adaptive ? "at most " : "", plan.chips, rows, backend.name(),
      mebibytes(memory.total(threads)), mebibytes(memory.code_table),
      mebibytes(memory.shared_meshes), mebibytes(memory.per_thread), threads);
  for (const auto& point : plan.points) {
    std::string axes;
    for (const auto& [path, value] : point["axes"].items()) {
      axes += fmt::format("  {}={}", path, value.dump());
    }
    context.out << fmt::format(
        "{}  codes {}  evaluated {}{}\n", point["task_id"].get<std::string>(),
        point["codes"].get<std::size_t>(), point["evaluated"].get<std::size_t>(), axes);
  }
  return ExitCode::done;
}

/// Last component of an axis path or file value, for the table.
std::string short_text(const std::string& text, char separator) {
  const std::size_t at = text.rfind(separator);
  return at == std::string::npos ? text : text.substr(at + 1);
}

struct TableColumn {
  std::string title;
  std::vector<std::string> cells;
};

TableColumn number_column(const SummaryTable& table, const std::string& title,
                          const std::string& name, bool decibel) {
  TableColumn column{title, {}};
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    const double value = table.number(row, table.column(name));
    column.cells.push_back(fmt::format("{:.4g}", decibel ? 10 * std::log10(value) : value));
  }
  return column;
}

/// Name of the axis without the parts that all configurations share.
std::string axis_title(const std::string& path) {
  const std::string prefix = "imperfections.";
  return path.rfind(prefix, 0) == 0 ? path.substr(prefix.size()) : short_text(path, '.');
}

std::string summary_text(const SummaryTable& table) {
  std::vector<TableColumn> columns;
  for (const std::string& axis : table.axes()) {
    TableColumn column{axis_title(axis), {}};
    for (const std::vector<std::string>& row : table.rows) {
      const std::string text = short_text(row[table.column(axis)], '/');
      double number = 0;
      column.cells.push_back(parse_number(text, number) ? fmt::format("{:.4g}", number) : text);
    }
    columns.push_back(column);
  }
  columns.push_back(number_column(table, "error rate", "element_error_rate_mean", false));
  columns.push_back(number_column(table, "NMSE [dB]", "nmse_mean", true));
  columns.push_back(number_column(table, "cosine", "cosine_mean", false));
  columns.push_back(number_column(table, "E", "matrix_error_mean", false));
  columns.push_back(number_column(table, "yield", "yield", false));
  std::string text;
  for (std::size_t line = 0; line <= table.rows.size(); ++line) {
    std::string row;
    for (const TableColumn& column : columns) {
      std::size_t width = column.title.size();
      for (const std::string& cell : column.cells) width = std::max(width, cell.size());
      row += fmt::format("{:>{}}  ", line == 0 ? column.title : column.cells[line - 1], width);
    }
    text += row.substr(0, row.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

/// A cell of an axis in the type of its key.
nlohmann::ordered_json axis_json(const std::string& path, const std::string& text) {
  const ConfigKey* key = find_config_key(path);
  const bool is_text = key == nullptr || key->type == ConfigType::text ||
                       key->type == ConfigType::choice || key->type == ConfigType::file;
  return is_text ? nlohmann::ordered_json(text) : nlohmann::ordered_json::parse(text);
}

std::string summary_json(const SummaryTable& table) {
  const std::vector<std::string> axes = table.axes();
  nlohmann::ordered_json points = nlohmann::ordered_json::array();
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    nlohmann::ordered_json point = {{table.header[0], table.rows[row][0]}};
    for (std::size_t column = 1; column < table.header.size(); ++column) {
      const std::string& name = table.header[column];
      if (column <= axes.size()) {
        point[name] = axis_json(name, table.rows[row][column]);
      } else {
        point[name] = table.number(row, column);
      }
    }
    points.push_back(point);
  }
  return points.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

/// The result must not take the place of what it is computed from.
void require_other_result(const SweepCommandOptions& options, const SweepConfig& sweep) {
  std::vector<std::filesystem::path> inputs = named_files(sweep);
  inputs.emplace_back(options.config);
  std::vector<std::filesystem::path> results = {options.out, summary_file(options.out),
                                                manifest_file(options.out)};
  if (options.layers) {
    results.push_back(tensor_file(options.out));
    results.push_back(tensor_summary_file(options.out));
  }
  for (const std::filesystem::path& file : results) {
    require_other_file("--out", file, inputs);
  }
}

ExitCode run(CommandContext& context, const SweepCommandOptions& options) {
  const TimeLimit limit(options.time_limit);
  const Shard shard = shard_option(options);
  const SweepConfig sweep = load(options);
  const std::unique_ptr<Backend> backend = create_backend(options.backend, context.registry);
  if (options.dry_run) return print_dry_run(context, sweep, *backend, options);
  require_csv_out(options.out);
  require_other_result(options, sweep);
  const SignalGuard signals;
  ProgressLine line(context, options.quiet);
  const SweepProgress progress =
      run_sweep(sweep, *backend,
                {.rows = options.out,
                 .threads = threads_or_all(options.threads),
                 .fresh = options.fresh,
                 .identity = {.backend = backend->name(),
                              .precision = options.backend.precision,
                              .version = build_info::version,
                              .shard = shard,
                              .per_tensor = options.layers},
                 .stop_requested = [&] { return signals.caught() || limit.passed(); },
                 .progress = [&](const SweepProgress& state) { show(line, state); },
                 .notice =
                     [&](const std::string& text) {
                       if (!options.quiet) context.err << "optinc: " << text << "\n";
                     }});
  if (progress.done < progress.total) {
    return report_stop(
        context, signals, options.time_limit,
        fmt::format("{} of {} rows, all saved in {}", progress.done, progress.total, options.out));
  }
  if (options.quiet && !options.json) return ExitCode::done;
  const SummaryTable table = read_summary(summary_file(options.out));
  context.out << (options.json ? summary_json(table) : summary_text(table));
  return ExitCode::done;
}

CommandAction declare_sweep(CLI::App& app) {
  const auto options = std::make_shared<SweepCommandOptions>();
  app.add_option("CONFIG", options->config, "sweep configuration, TOML")->required();
  app.add_option("--out", options->out,
                 "row file; r.csv also gives r.summary.csv and "
                 "r.manifest.json beside it")
      ->type_name("FILE.csv");
  app.add_option("--chips", options->chips, "chips per sweep point, instead of montecarlo.chips")
      ->check(whole_number_of_key("montecarlo.chips"))
      ->type_name("N");
  app.add_option("--seed", options->seed, "seed, instead of montecarlo.seed")
      ->check(whole_number_of_key("montecarlo.seed"))
      ->type_name("N");
  add_backend_options(app, options->backend);
  app.add_option("--shard", options->shard,
                 "only the chips whose number mod n is i, for arrays of jobs; `optinc combine` "
                 "puts the n files together")
      ->type_name("i/n")
      ->default_str(options->shard);
  add_threads_option(app, options->threads);
  add_time_limit_option(app, options->time_limit,
                        "start no new chip after this time, save those in work and return exit "
                        "code 5 if any are left; the same command goes on");
  app.add_option("--set", options->set, "override one key, e.g. workload.bits=6")
      ->type_name("PATH=VALUE")
      ->allow_extra_args(false);
  app.add_flag("--fresh", options->fresh, "start over instead of continuing the file");
  app.add_flag("--layers", options->layers,
               "also write every metric of the gradient per tensor: r.layers.csv and "
               "r.layers.summary.csv");
  app.add_flag("--dry-run", options->dry_run,
               "list the sweep points, rows and memory, write nothing");
  app.add_flag("--json", options->json, "print the summary as JSON instead of a table");
  app.add_flag("--quiet", options->quiet, "no progress and no table");
  return [options](CommandContext& context) { return run(context, *options); };
}

}  // namespace

std::vector<Command> sweep_commands() {
  return {
      {.name = "sweep",
       .summary = "Monte-Carlo robustness sweep over imperfections",
       .description =
           "Simulates chips at every point of the sweep and writes one CSV row per point and "
           "chip, a summary row per point and a manifest that says what was run.\n\n"
           "Running the same command again continues where the file stops; a finished sweep "
           "changes nothing. With montecarlo.target each point ends by itself, once the interval "
           "of a number is narrow; the points then have different numbers of chips. A larger "
           "--chips continues a file only while all its rows are of the first point, since rows "
           "are ordered by point, then chip; else it asks for --fresh or "
           "another file. SIGINT and SIGTERM finish the chips in work and save them.\n\n"
           "--shard i/n computes a part of the sweep: of every point the chips whose number mod n "
           "is i, in the rows they have in the whole sweep. Each shard has an --out file of its "
           "own, which only that shard continues. The summary of a shard is over its own chips, "
           "so its yields and quantiles are those of a smaller sample; the summary of the whole "
           "sweep is what `optinc combine` writes.\n\n"
           "`optinc schema` documents the columns, `optinc schema --config` the keys.",
       .examples = {{"optinc sweep data/sweeps/quickstart.toml --out r.csv", "The shipped sweep:"},
                    {"optinc sweep my.toml --out r.csv --chips 1000 --set "
                     "imperfections.coupler.sigma_rad=0.01",
                     "More chips and another splitter error:"},
                    {"optinc sweep my.toml --out r$I.csv --shard $I/8 --time-limit 2h",
                     "Job $I of 8, each at most two hours a time:"},
                    {"optinc sweep my.toml --dry-run", "What would run:"}},
       .declare = declare_sweep}};
}

}  // namespace optinc
