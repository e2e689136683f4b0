// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "apps/command.hpp"
#include "apps/options.hpp"
#include "apps/point_options.hpp"
#include "apps/progress.hpp"
#include "apps/result_table.hpp"
#include "apps/signals.hpp"
#include "apps/time_limit.hpp"
#include "apps/tolerance_table.hpp"
#include "build_info.hpp"
#include "solver/config/sweep_config.hpp"
#include "solver/error.hpp"
#include "solver/gradient/stoppable.hpp"
#include "solver/io/hash.hpp"
#include "solver/montecarlo/journal.hpp"
#include "solver/montecarlo/point_evaluator.hpp"
#include "solver/montecarlo/tolerance.hpp"
#include "solver/montecarlo/tolerance_keys.hpp"

namespace optinc {
namespace {

struct ToleranceOptions {
  PointOptions point;
  std::string out = "-";
  std::string metric = "element_error_rate";
  std::optional<double> limit;
  std::vector<std::string> vary;
  double resolution = 0.05;
  std::string time_limit = no_time_limit;
  BackendOptions backend;
  unsigned threads = 0;
  bool fresh = false;
  bool json = false;
  bool quiet = false;
};

double limit_of(const ToleranceOptions& options, const ChipStatistic& statistic,
                const ResolvedConfig& point) {
  if (options.limit) return *options.limit;
  if (statistic.metric() == "element_error_rate") return point.real("report.yield_limit");
  constexpr double usual_yield = 0.9;
  if (statistic.metric() == "yield") return usual_yield;
  throw ConfigError(fmt::format("--metric {} has no usual limit; give --limit", options.metric));
}

MetricLimit metric_limit(const ToleranceOptions& options, const ChipStatistic& statistic,
                         const ResolvedConfig& point) {
  const std::optional<LimitSense> sense = limit_sense(statistic.metric());
  if (!sense) {
    throw ConfigError(
        fmt::format("--metric {} (neither more nor less of it is better); choose another metric",
                    options.metric));
  }
  return {.limit = limit_of(options, statistic, point), .sense = *sense};
}

/// The keys asked for, or all that the configuration lets vary; those it does not are named.
std::vector<VariedKey> chosen_keys(const ToleranceOptions& options, const ResolvedConfig& point,
                                   const std::function<void(const std::string&)>& notice) {
  std::vector<VariedKey> keys;
  for (const std::string& text : options.vary) {
    keys.push_back(parse_varied_key("--vary", text));
    require_needs("--vary " + text, keys.back().path, point);
  }
  if (!options.vary.empty()) return keys;
  for (const VariedKey& key : varied_keys()) {
    if (const std::optional<std::string> missing = missing_need(key, point)) {
      notice(fmt::format("{} is left out (it acts with {} only)", key.path, *missing));
    } else {
      keys.push_back(key);
    }
  }
  return keys;
}

/// Everything that the rows of a run share.
struct RunValues {
  SweepConfig sweep;
  ResolvedConfig point;
  ChipStatistic statistic;
  MetricLimit limit;
  std::uint64_t chips{};
  std::string backend;
};

/// Names what determines the row of a key.
std::string run_id(const RunValues& run, const ToleranceOptions& options, const VariedKey& key,
                   FileHashes& hashes) {
  const std::string text = fmt::format(
      "{}\n{} {} {}\n{} {}\n{} {} {}\n{} {} {}", canonical_json(run.sweep, run.point, hashes),
      key.path, key.mildest, key.strongest, options.metric, run.limit.limit, options.resolution,
      run.chips, run.point.integer("montecarlo.seed"), run.backend, options.backend.precision,
      build_info::version);
  return sha256_hex(text).substr(0, 16);
}

/// The keys of a run one after another, with the rows that a file holds already.
class ToleranceRun {
 public:
  ToleranceRun(CommandContext& context, const ToleranceOptions& options, RunValues run,
               const Backend& backend, const std::function<bool()>& stop_requested)
      : options_(options),
        run_(std::move(run)),
        line_(context, options.quiet),
        evaluator_(run_.sweep, backend,
                   {.chips = run_.chips,
                    .threads = threads_or_all(options.threads),
                    .stop_requested = stop_requested,
                    .progress = [this](std::uint64_t chip) { show(chip); }}) {}

  /// Calls `emit` with the row of each key that `known` does not hold. Throws Stopped.
  void compute(const std::vector<VariedKey>& keys,
               const std::function<std::optional<ToleranceRow>(const std::string& id)>& known,
               const std::function<void(const ToleranceRow&)>& emit) {
    for (key_ = 0; key_ < keys.size(); ++key_) {
      const std::string id = run_id(run_, options_, keys[key_], hashes_);
      const std::optional<ToleranceRow> held = known(id);
      if (!held) emit(row(keys[key_], id));
    }
  }

  std::vector<std::string> ids(const std::vector<VariedKey>& keys) {
    total_ = keys.size();
    std::vector<std::string> all;
    for (const VariedKey& key : keys) all.push_back(run_id(run_, options_, key, hashes_));
    return all;
  }

 private:
  ToleranceRow row(const VariedKey& key, const std::string& id) {
    path_ = key.path;
    evaluations_ = 0;
    const StrengthSteps steps(key, options_.resolution);
    const Tolerance tolerance = find_tolerance(
        [&](std::optional<std::size_t> step) {
          const auto chips = evaluator_.evaluate(steps.with(run_.sweep.base, step));
          ++evaluations_;
          return run_.statistic.student_estimate(chips);
        },
        steps.last(), run_.limit);
    return tolerance_row({.run_id = id,
                          .metric = options_.metric,
                          .limit = run_.limit,
                          .chips = run_.chips,
                          .seed = static_cast<std::uint64_t>(run_.point.integer("montecarlo.seed")),
                          .backend = run_.backend,
                          .precision = options_.backend.precision},
                         key, steps, tolerance);
  }

  void show(std::uint64_t chip) {
    line_.show(false, [&] {
      return fmt::format("key {}/{}, {}: value {}, chip {}/{}", key_ + 1, total_, path_,
                         evaluations_ + 1, chip, run_.chips);
    });
  }

  const ToleranceOptions& options_;
  RunValues run_;
  ProgressLine line_;
  PointEvaluator evaluator_;
  FileHashes hashes_;
  std::size_t key_ = 0;
  std::size_t total_ = 0;
  std::size_t evaluations_ = 0;
  std::string path_;
};

/// Rows by their run id, of a file that is continued.
class ToleranceFile {
 public:
  /// Opens or creates the file; a torn last line is cut. Args: ids, of all rows that may be in it.
  ToleranceFile(const std::string& path, const std::vector<std::string>& ids, bool fresh)
      : path_(path), journal_(path) {
    if (fresh) journal_.truncate(0);
    const std::string content = journal_.read();
    std::string_view rest = content;
    std::string_view record;
    const std::string header = tolerance_header();
    if (!take_csv_record(rest, record)) {
      if (!header.starts_with(content)) fail("is no table of tolerances");
      journal_.truncate(0);
      journal_.append(header + "\n");
      return;
    }
    if (record != header) fail("has other columns");
    while (take_csv_record(rest, record)) load(record, ids);
    if (!rest.empty()) journal_.truncate(content.size() - rest.size());
  }

  std::optional<ToleranceRow> row(const std::string& id) const {
    const auto found = rows_.find(id);
    if (found == rows_.end()) return std::nullopt;
    return found->second;
  }

  void append(const ToleranceRow& row) { journal_.append(tolerance_csv(row) + "\n"); }

 private:
  [[noreturn]] void fail(const std::string& problem) const {
    throw DataError(
        fmt::format("{} {}; use --fresh to start over or another --out file", path_, problem));
  }

  void load(std::string_view record, const std::vector<std::string>& ids) {
    const std::optional<ToleranceRow> row = parse_tolerance_row(record);
    if (!row) fail("is damaged");
    const std::string id = row_id(*row);
    if (std::find(ids.begin(), ids.end(), id) == ids.end()) {
      fail("holds rows of another configuration, range or option");
    }
    rows_.emplace(id, *row);
  }

  std::string path_;
  Journal journal_;
  std::map<std::string, ToleranceRow> rows_;
};

void print(CommandContext& context, const ToleranceOptions& options,
           const std::vector<ToleranceRow>& rows) {
  if (options.json) {
    const nlohmann::ordered_json document = tolerance_json(rows);
    context.out << document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
  } else if (!options.quiet) {
    context.out << tolerance_text(rows);
  }
}

RunValues run_values(const ToleranceOptions& options, const Backend& backend) {
  SweepConfig sweep = load_point(options.point);
  ResolvedConfig point = sweep.point(0);
  ChipStatistic statistic(options.metric, point.real("report.yield_limit"), "--metric");
  const MetricLimit limit = metric_limit(options, statistic, point);
  const auto chips = static_cast<std::uint64_t>(point.integer("montecarlo.chips"));
  return {.sweep = std::move(sweep),
          .point = std::move(point),
          .statistic = std::move(statistic),
          .limit = limit,
          .chips = chips,
          .backend = backend.name()};
}

void require_other_out(const ToleranceOptions& options, const SweepConfig& sweep) {
  if (options.out == "-") {
    if (!options.fresh) return;
    throw ConfigError("--fresh is given but --out is not (nothing is continued); leave it out");
  }
  require_csv_out(options.out);
  std::vector<std::filesystem::path> inputs = named_files(sweep);
  inputs.emplace_back(options.point.config);
  require_other_file("--out", options.out, inputs);
}

ExitCode run_tolerance(CommandContext& context, const ToleranceOptions& options) {
  const TimeLimit limit(options.time_limit);
  const std::unique_ptr<Backend> backend = create_backend(options.backend, context.registry);
  RunValues values = run_values(options, *backend);
  require_other_out(options, values.sweep);
  const auto notice = [&](const std::string& text) {
    if (!options.quiet) context.err << "optinc: " << text << "\n";
  };
  const std::vector<VariedKey> keys = chosen_keys(options, values.point, notice);
  const SignalGuard signals;
  ToleranceRun run(context, options, std::move(values), *backend,
                   [&] { return signals.caught() || limit.passed(); });
  const std::vector<std::string> ids = run.ids(keys);
  std::optional<ToleranceFile> file;
  if (options.out != "-") file.emplace(options.out, ids, options.fresh);
  std::vector<ToleranceRow> rows;
  try {
    run.compute(
        keys,
        [&](const std::string& id) {
          std::optional<ToleranceRow> held = file ? file->row(id) : std::nullopt;
          if (held) rows.push_back(*held);
          return held;
        },
        [&](const ToleranceRow& row) {
          if (file) file->append(row);
          if (const std::string note = tolerance_note(row); !note.empty()) notice(note);
          rows.push_back(row);
        });
  } catch (const Stopped&) {
    if (!file) print(context, options, rows);
    return report_stop(context, signals, options.time_limit,
                       fmt::format("{} of {} keys, {}", rows.size(), keys.size(),
                                   file ? "all saved in " + options.out
                                        : "printed but not saved (--out is not given)"));
  }
  print(context, options, rows);
  return ExitCode::done;
}

CommandAction declare_tolerance(CLI::App& app) {
  const auto options = std::make_shared<ToleranceOptions>();
  add_point_options(app, options->point);
  app.add_option(
         "--metric", options->metric,
         "what has to stay within the limit: a metric (its mean over chips), one with _p05, "
         "_p50 or _p95 (its quantile), or yield")
      ->type_name("NAME")
      ->default_str(options->metric);
  app.add_option("--limit", options->limit,
                 "largest value of the metric, or smallest where more is better (default: "
                 "report.yield_limit for element_error_rate, 0.9 for yield)")
      ->type_name("NUMBER");
  app.add_option("--vary", options->vary,
                 "key to vary, with its range where it is not the usual one; may be repeated "
                 "(default: every imperfection with a range of its own)")
      ->type_name("PATH[:LOW:HIGH]")
      ->allow_extra_args(false);
  app.add_option("--resolution", options->resolution,
                 "largest relative difference between the value that keeps to the limit and the "
                 "one that does not")
      ->check(number_between(1e-4, 1))
      ->type_name("SHARE")
      ->capture_default_str();
  app.add_option("--out", options->out,
                 "CSV file to write, a row per key as it is found; the same command continues it")
      ->type_name("FILE.csv");
  add_backend_options(app, options->backend);
  add_threads_option(app, options->threads);
  add_time_limit_option(app, options->time_limit,
                        "start no new chip after this time, drop the key in work and return exit "
                        "code 5; the same command goes on");
  app.add_flag("--fresh", options->fresh, "start over instead of continuing the file");
  app.add_flag("--json", options->json, "print JSON instead of a table");
  app.add_flag("--quiet", options->quiet, "no progress and no table");
  return [options](CommandContext& context) { return run_tolerance(context, *options); };
}

}  // namespace

std::vector<Command> tolerance_commands() {
  return {
      {.name = "tolerance",
       .summary = "largest imperfections that keep a metric within a limit",
       .description =
           "Varies one imperfection at a time around the point of a configuration, all others as "
           "they are, and finds its largest value at which a metric still keeps to a limit. "
           "The same chips run at every value, so that only the value differs.\n\n"
           "Values lie in equal ratios of strength (of powers for keys in dB, of 1 - value for "
           "transmitter.rlm, of 2^-bits for bits), --resolution apart at most. Eight of them over "
           "the whole range come first, then bisection between the first that misses the limit "
           "and the one before. Outcome found: the value keeps to the limit, the next one does "
           "not; none: the limit is missed with the imperfection off; below: the mildest value "
           "misses it; never: the strongest keeps to it. Where a value beyond the first that "
           "misses the limit keeps to it again, the row says that it is not monotone.\n\n"
           "The interval of a tolerance comes from the same search with the worse and with the "
           "better end of the metric's 95 % interval: Student's for a mean, from order statistics "
           "for a quantile, Clopper-Pearson for the yield. A mean that all chips share has no "
           "width.\n\n"
           "Keys that need another one, as laser.rin_db_hz needs receiver.bandwidth_ghz, are left "
           "out unless the configuration has it. SIGINT and SIGTERM keep the rows that are done.",
       .examples = {{"optinc tolerance my.toml", "Every imperfection by itself:"},
                    {"optinc tolerance my.toml --set imperfections.preset=foundry_typical --metric "
                     "cosine --limit 0.99 --out t.csv",
                     "Around a preset, another metric:"},
                    {"optinc tolerance my.toml --vary imperfections.coupler.sigma_rad:1e-4:0.1 "
                     "--metric yield --limit 0.95 --chips 200",
                     "One key, in a range of one's own:"}},
       .declare = declare_tolerance}};
}

}  // namespace optinc
