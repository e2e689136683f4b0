// SPDX-License-Identifier: Apache-2.0
#include "solver/montecarlo/sweep_run.hpp"

#include <algorithm>
#include <ctime>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "solver/backend/registry.hpp"
#include "solver/clock.hpp"
#include "solver/error.hpp"
#include "solver/io/atomic_file.hpp"
#include "solver/montecarlo/chip_runner.hpp"
#include "solver/montecarlo/journal.hpp"
#include "solver/montecarlo/ordered_run.hpp"
#include "solver/montecarlo/stopping.hpp"
#include "solver/montecarlo/tensor_rows.hpp"
#include "solver/names.hpp"
#include "solver/text.hpp"

namespace optinc {

namespace {

constexpr const char* start_over_advice = "use --fresh to start over or another --out file";

double thread_cpu_s() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// A row's place in the sweep.
struct RowPlace {
  std::size_t point{};
  std::uint32_t chip{};
};

struct ComputedRow {
  std::vector<double> metrics;
  std::vector<std::string> tensors;  ///< by tensor_cells, where they are wanted
  double core_s{};
};

std::string axis_text(const SweepConfig& sweep, std::size_t point) {
  const ResolvedConfig config = sweep.point(point);
  std::vector<std::string> texts;
  for (const std::string& path : sweep.axis_paths()) {
    texts.push_back(fmt::format("{} = {}", path, value_text(config.values().at(path))));
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

/// The files of one run and what it has to remember between rows.
class SweepRun {
 public:
  SweepRun(const SweepConfig& sweep, const Backend& backend, const SweepOptions& options)
      : sweep_(sweep),
        options_(options),
        runner_(sweep, backend,
                options.identity.per_tensor ? MetricDetail::per_tensor : MetricDetail::total),
        tasks_(8),
        all_chips_(static_cast<std::uint64_t>(sweep.point(0).integer(chips_key))),
        chips_(options.identity.shard.chips(all_chips_)),
        seed_(static_cast<std::uint64_t>(sweep.point(0).integer("montecarlo.seed"))),
        yield_limit_(sweep.point(0).real("report.yield_limit")),
        stopping_(StoppingRule::of(sweep.point(0))),
        chips_taken_(sweep.points(), 0),
        summary_rows_(sweep.points()) {}

  SweepProgress run() {
    progress_.total = sweep_.points() * chips_;
    require_chips(options_.identity.shard, all_chips_);
    require_possible(options_.identity, stopping_.has_value());
    check_points();
    open_result();
    load_rows();
    load_tensors();
    if (progress_.done < progress_.total) {
      report_precision();
      return compute_rest();
    }
    if (!summary_is_current()) write_summary();
    write_tensor_summary();
    return progress_;
  }

 private:
  /// Fails before the first chip on settings and files that do not work, and on equal points: their
  /// rows could not be told apart.
  void check_points() {
    for (std::size_t point = 0; point < sweep_.points(); ++point) runner_.task(point);
    FileHashes hashes;
    manifest_ = make_manifest(sweep_, options_.identity, hashes);
    require_distinct_points(sweep_, manifest_.task_ids);
  }

  /// Compares with what is there; may start over.
  void open_result() {
    journal_.emplace(options_.rows);
    if (options_.fresh) journal_->truncate(0);
    content_ = journal_->read();
    if (content_.empty()) {
      start_over();
    } else {
      adopt(read_manifest(manifest_file(options_.rows), start_over_advice));
    }
    if (options_.identity.per_tensor) tensors_.emplace(options_.rows, sweep_.axis_paths());
  }

  void start_over() const {
    std::error_code error;
    std::filesystem::remove(summary_file(options_.rows), error);
    write_manifest(manifest_file(options_.rows), manifest_);
  }

  void adopt(const Manifest& existing) {
    std::vector<std::string> differing = differing_settings(existing, manifest_);
    const bool other_chips = std::erase(differing, chips_key) != 0;
    if (!differing.empty()) {
      throw DataError(
          fmt::format("{} was made with other settings (different: {}); {}", options_.rows.string(),
                      differences_text(differing, existing, manifest_), start_over_advice));
    }
    if (existing.task_ids != manifest_.task_ids) {
      throw DataError(fmt::format("{} is damaged (its points are not those of the sweep); {}",
                                  manifest_file(options_.rows).string(), start_over_advice));
    }
    manifest_.points = existing.points;
    if (!other_chips) return;
    require_same_start(existing);
    write_manifest(manifest_file(options_.rows), manifest_);
  }

  /// Rows are ordered by point, then chip, so another chip count has the same first rows only as
  /// long as those are all of the first point.
  void require_same_start(const Manifest& existing) const {
    const double old_all_chips = number_setting(existing, chips_key);
    const std::uint64_t old_chips =
        options_.identity.shard.chips(static_cast<std::uint64_t>(old_all_chips));
    const std::uint64_t rows = complete_rows();
    if (rows <= std::min(old_chips, chips_)) return;
    throw DataError(fmt::format(
        "{} holds {} rows, made for {} chips per point, and cannot be continued with {} (rows are "
        "ordered by point, then chip); {}",
        options_.rows.string(), rows, old_all_chips, all_chips_, start_over_advice));
  }

  std::uint64_t complete_rows() const {
    std::string_view rest = content_;
    std::string_view record;
    std::uint64_t records = 0;
    while (take_csv_record(rest, record)) ++records;
    return records == 0 ? 0 : records - 1;
  }

  /// Items are numbered as if every point had `chips_` rows.
  RowPlace place(std::uint64_t item) const {
    return {static_cast<std::size_t>(item / chips_),
            static_cast<std::uint32_t>(options_.identity.shard.chip(item % chips_))};
  }

  std::string header() const { return row_header(sweep_.axis_paths()); }

  /// ",VALUE" for every axis.
  const std::string& axis_cells(std::size_t point) {
    if (point != axis_point_) {
      axis_cells_.clear();
      const ResolvedConfig config = sweep_.point(point);
      for (const std::string& path : sweep_.axis_paths()) {
        axis_cells_ += "," + csv_field(value_text(config.values().at(path)));
      }
      axis_point_ = point;
    }
    return axis_cells_;
  }

  /// Everything of a row before its metrics, axis cells included.
  std::string row_start(const RowPlace& at) {
    return fmt::format("{},{},{},{},{},{}{}", manifest_.task_ids[at.point], at.chip, seed_,
                       csv_field(options_.identity.backend), options_.identity.precision,
                       options_.identity.version, axis_cells(at.point));
  }

  /// Takes the rows of the file, checks that they are this run's, and cuts a torn last line.
  void load_rows() {
    std::string_view rest = content_;
    std::string_view record;
    if (content_.empty()) {
      journal_->append(header() + "\n");
      return;
    }
    if (!take_csv_record(rest, record)) return repair_header();
    if (record != header()) {
      throw DataError(fmt::format("{}:1: other columns than this sweep writes; {}",
                                  options_.rows.string(), start_over_advice));
    }
    while (take_csv_record(rest, record)) load_row(record);
    if (!rest.empty()) {
      require_one_line(rest);
      journal_->truncate(content_.size() - rest.size());
      options_.notice(fmt::format("cut an incomplete last line ({} bytes)", rest.size()));
    }
    content_.clear();
    content_.shrink_to_fit();
    if (progress_.done > 0 && progress_.done < progress_.total) {
      options_.notice(
          fmt::format("continuing after {} of {} rows", progress_.done, progress_.total));
    }
  }

  void repair_header() {
    if (!header().starts_with(content_)) {
      throw DataError(
          fmt::format("{} is not a result of this sweep; use --fresh to replace it or another "
                      "--out file",
                      options_.rows.string()));
    }
    journal_->truncate(0);
    journal_->append(header() + "\n");
    options_.notice("the file held an incomplete header; it was written again");
  }

  /// A stray quote makes one record of all rows behind it: they are not cut.
  void require_one_line(std::string_view torn) {
    const std::string start = progress_.done < progress_.total ? row_start(place(next_item_)) : "";
    if (std::count(torn.begin(), torn.end(), '\n') > std::count(start.begin(), start.end(), '\n')) {
      fail_row("a quote is not closed (the file was changed since it was written)");
    }
  }

  [[noreturn]] void fail_row(const std::string& problem) const {
    throw DataError(fmt::format("{}:{}: {}; restore the file, or use --fresh",
                                options_.rows.string(), progress_.done + 2, problem));
  }

  void load_row(std::string_view record) {
    if (progress_.done == progress_.total) {
      fail_row("more rows than this sweep has (the file was changed since it was written)");
    }
    const RowPlace at = place(next_item_);
    const std::string start = row_start(at) + ",";
    if (record.substr(0, start.size()) != start) {
      fail_row(
          fmt::format("the row of task {}, chip {} is expected here (the file was changed since "
                      "it was written, or combined while shards were missing)",
                      manifest_.task_ids[at.point], at.chip));
    }
    std::vector<std::string> fields;
    if (!split_csv(record.substr(start.size()), fields) ||
        fields.size() != metric_columns().size()) {
      fail_row("wrong number of fields");
    }
    std::vector<double> metrics(fields.size());
    for (std::size_t i = 0; i < fields.size(); ++i) {
      if (!parse_number(fields[i], metrics[i])) fail_row("a metric is not a number");
    }
    count_row(remember(at.point, std::move(metrics)));
  }

  /// Goes on to the next item. Args: point_complete, whether this was the last row of its point.
  void count_row(bool point_complete) {
    ++progress_.done;
    ++next_item_;
    if (!point_complete) return;
    const std::uint64_t next_point = (next_item_ + chips_ - 1) / chips_ * chips_;
    progress_.total -= next_point - next_item_;
    next_item_ = next_point;
  }

  /// Takes the rows of the per-tensor file that belong to the rows taken.
  void load_tensors() {
    if (!tensors_) return;
    if (progress_.done == 0) return tensors_->start_over();
    tensors_->start_loading();
    for (std::uint64_t item = 0; item < next_item_; ++item) {
      const RowPlace at = place(item);
      if (at.chip >= chips_taken_[at.point]) continue;
      tensors_->load(row_start(at), *runner_.tensors(*task(at.point)));
    }
    const std::uint64_t cut = tensors_->finish_loading();
    if (cut == 0) return;
    options_.notice(fmt::format("cut {} bytes of tensors of a chip that was not finished", cut));
  }

  void write_tensor_summary() {
    if (!tensors_) return;
    const auto complete = std::count_if(summary_rows_.begin(), summary_rows_.end(),
                                        [](const std::string& row) { return !row.empty(); });
    tensors_->write_summary(static_cast<std::size_t>(complete));
  }

  /// Says where single precision changes what the ideal chip decodes, before hours are spent on it.
  void report_precision() {
    if (options_.identity.precision != enum_name(Precision::f32)) return;
    const std::unique_ptr<Backend> exact = cpu_backend_entry().create(Precision::f64);
    std::set<std::string> seen;
    for (std::size_t point = next_item_ / chips_; point < sweep_.points(); ++point) {
      const PointTask point_task = runner_.task(point);
      if (!seen.insert(runner_.ideal_key(point_task)).second) continue;
      const std::size_t unlike = runner_.unlike_codes(point_task, *exact);
      if (unlike == 0) continue;
      options_.notice(fmt::format(
          "single precision is not enough here: the ideal chip of point {} decodes {} of {} codes "
          "differently in f32 and f64; use --precision f64",
          point + 1, unlike, runner_.evaluation_size(point_task).codes));
    }
  }

  SweepProgress compute_rest() {
    last_emit_ = Clock::now();
    OrderedRun<ComputedRow> ordered(
        options_.threads, [this](std::uint64_t item) { return compute(item); },
        [this](std::uint64_t item, const ComputedRow& computed) { return emit(item, computed); });
    try {
      ordered.run(next_item_, sweep_.points() * chips_, options_.stop_requested);
    } catch (...) {
      save_quietly();
      throw;
    }
    save();
    write_tensor_summary();
    return progress_;
  }

  std::shared_ptr<const PointTask> task(std::size_t point) {
    return tasks_.get(fmt::format("{}", point), [&] { return runner_.task(point); });
  }

  ComputedRow compute(std::uint64_t item) {
    const double start_s = thread_cpu_s();
    const RowPlace at = place(item);
    const ChipResult result = runner_.run(*task(at.point), seed_, at.chip);
    ComputedRow computed{.metrics = metric_values(result), .tensors = {}, .core_s = 0};
    for (const TensorMetrics& tensor : result.tensors) {
      computed.tensors.push_back(tensor_cells(tensor));
    }
    computed.core_s = thread_cpu_s() - start_s;
    return computed;
  }

  /// Writes a row; returns the item that comes next.
  std::uint64_t emit(std::uint64_t item, const ComputedRow& computed) {
    const RowPlace at = place(item);
    std::string line = row_start(at);
    if (tensors_) tensors_->append(line, computed.tensors);
    for (const double value : computed.metrics) line += "," + csv_number(value);
    journal_->append(line + "\n");
    PointTime& time = manifest_.points[at.point];
    time.core_s += computed.core_s;
    time.wall_s += seconds_since(last_emit_);
    last_emit_ = Clock::now();
    ++progress_.computed;
    progress_.worst_element_error_rate =
        std::max(progress_.worst_element_error_rate, computed.metrics.front());
    const bool complete = remember(at.point, computed.metrics);
    count_row(complete);
    constexpr double save_interval_s = 1;
    if (complete && seconds_since(last_save_) > save_interval_s) save();
    options_.progress(progress_);
    return next_item_;
  }

  /// Keeps the metrics of a chip; true when that completed the summary of its point.
  bool remember(std::size_t point, std::vector<double> metrics) {
    std::vector<std::vector<double>>& chips = open_points_[point];
    chips.push_back(std::move(metrics));
    ++chips_taken_[point];
    const bool stops = stopping_ && stopping_->satisfied(chips);
    if (chips.size() < chips_ && !stops) return false;
    summary_rows_[point] =
        summary_row(manifest_.task_ids[point] + axis_cells(point), chips, yield_limit_);
    open_points_.erase(point);
    return true;
  }

  std::string summary() const {
    std::string text = summary_header(sweep_.axis_paths()) + "\n";
    for (const std::string& row : summary_rows_) {
      if (!row.empty()) text += row + "\n";
    }
    return text;
  }

  void write_summary() const { write_file_atomically(summary_file(options_.rows), summary()); }

  /// Whether the file is what the rows say; it may be missing or old after a kill.
  bool summary_is_current() const {
    std::ifstream file(summary_file(options_.rows), std::ios::binary);
    std::stringstream content;
    if (file) content << file.rdbuf();
    return file && content.str() == summary();
  }

  void save() {
    write_summary();
    write_manifest(manifest_file(options_.rows), manifest_);
    last_save_ = Clock::now();
  }

  /// After a failure: the rows are safe already, and that failure is the one to report.
  void save_quietly() {
    try {
      save();
    } catch (const UserError&) {
      return;
    }
  }

  const SweepConfig& sweep_;
  const SweepOptions& options_;
  ChipRunner runner_;
  std::optional<Journal> journal_;     ///< opened once the settings are known to be good
  std::optional<TensorRows> tensors_;  ///< likewise, where they are wanted
  SharedCache<PointTask> tasks_;
  std::uint64_t all_chips_;  ///< per point, of all shards; the most where points end by a rule
  std::uint64_t chips_;      ///< likewise of this run's shard
  std::uint64_t seed_;
  double yield_limit_;
  std::optional<StoppingRule> stopping_;
  Manifest manifest_;
  std::string content_;
  SweepProgress progress_;
  std::uint64_t next_item_ = 0;             ///< the first without a row
  std::vector<std::uint64_t> chips_taken_;  ///< rows by point
  std::map<std::size_t, std::vector<std::vector<double>>> open_points_;  ///< [chip][metric]
  std::vector<std::string> summary_rows_;                                ///< complete points
  std::size_t axis_point_ = static_cast<std::size_t>(-1);
  std::string axis_cells_;  ///< of that point
  Clock::time_point last_emit_;
  Clock::time_point last_save_;
};

}  // namespace

void require_distinct_points(const SweepConfig& sweep, const std::vector<std::string>& task_ids) {
  std::map<std::string_view, std::size_t> seen;
  for (std::size_t point = 0; point < task_ids.size(); ++point) {
    const auto [first, is_new] = seen.emplace(task_ids[point], point);
    if (!is_new) {
      throw ConfigError(
          fmt::format("sweep points {} and {} are the same ({}); remove the repeated axis value",
                      first->second + 1, point + 1, axis_text(sweep, point)));
    }
  }
}

void require_possible(const RunIdentity& identity, bool adaptive) {
  if (identity.shard.whole()) return;
  if (adaptive) {
    throw ConfigError(
        "--shard with montecarlo.target (a point ends by the chips before, which one shard does "
        "not have); give montecarlo.chips");
  }
  if (identity.per_tensor) {
    throw ConfigError(
        "--shard with --layers (combine does not merge per-tensor files); leave one out");
  }
}

SweepProgress run_sweep(const SweepConfig& sweep, const Backend& backend,
                        const SweepOptions& options) {
  return SweepRun(sweep, backend, options).run();
}

}  // namespace optinc
