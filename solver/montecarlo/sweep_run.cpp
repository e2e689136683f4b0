// SPDX-License-Identifier: Apache-2.0
#include "solver/montecarlo/sweep_run.hpp"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "solver/error.hpp"
#include "solver/io/atomic_file.hpp"
#include "solver/montecarlo/chip_runner.hpp"
#include "solver/montecarlo/journal.hpp"
#include "solver/montecarlo/ordered_run.hpp"
#include "solver/montecarlo/summary.hpp"
#include "solver/text.hpp"

namespace optinc {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

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

/// Maps the running number of a row to its place: pass by pass, point by point, chip by chip.
class RowOrder {
 public:
  RowOrder(std::size_t points, std::vector<std::uint64_t> chip_passes)
      : points_(points), chip_passes_(std::move(chip_passes)) {}

  std::uint64_t total() const { return points_ * chip_passes_.back(); }
  std::uint64_t chips() const { return chip_passes_.back(); }

  RowPlace place(std::uint64_t row) const {
    std::uint64_t first_chip = 0;
    for (const std::uint64_t chips : chip_passes_) {
      const std::uint64_t added = chips - first_chip;
      if (row < points_ * added) {
        return {static_cast<std::size_t>(row / added),
                static_cast<std::uint32_t>(first_chip + row % added)};
      }
      row -= points_ * added;
      first_chip = chips;
    }
    return {points_, 0};
  }

 private:
  std::size_t points_;
  std::vector<std::uint64_t> chip_passes_;
};

struct ComputedRow {
  std::vector<double> metrics;
  double core_s{};
};

/// The files of one run and what it has to remember between rows.
class SweepRun {
 public:
  SweepRun(const SweepConfig& sweep, const Backend& backend, const SweepOptions& options)
      : sweep_(sweep),
        options_(options),
        runner_(sweep, backend),
        journal_(options.rows),
        tasks_(8),
        seed_(static_cast<std::uint64_t>(sweep.point(0).integer("montecarlo.seed"))),
        yield_limit_(sweep.point(0).real("report.yield_limit")),
        summary_rows_(sweep.points()) {}

  SweepProgress run() {
    for (std::size_t point = 0; point < sweep_.points(); ++point) runner_.task(point);
    open_result();
    const RowOrder order(sweep_.points(), manifest_.chip_passes);
    order_ = &order;
    progress_.total = order.total();
    load_rows();
    if (progress_.done == progress_.total) {
      if (summary_is_missing()) write_summary();
      return progress_;
    }
    last_emit_ = Clock::now();
    OrderedRun<ComputedRow> ordered(
        options_.threads, [this](std::uint64_t row) { return compute(row); },
        [this](std::uint64_t row, const ComputedRow& computed) { emit(row, computed); });
    try {
      ordered.run(progress_.done, progress_.total, options_.stop_requested);
    } catch (...) {
      save_quietly();
      throw;
    }
    save();
    return progress_;
  }

 private:
  bool summary_is_missing() const { return !std::filesystem::exists(summary_file(options_.rows)); }

  /// Compares with what is there and settles the chip passes; may start over.
  void open_result() {
    const std::uint64_t chips =
        static_cast<std::uint64_t>(sweep_.point(0).integer("montecarlo.chips"));
    manifest_ = make_manifest(sweep_, options_.identity, hashes_);
    if (options_.fresh) journal_.truncate(0);
    content_ = journal_.read();
    if (content_.empty()) {
      manifest_.chip_passes = {chips};
      std::error_code error;
      std::filesystem::remove(summary_file(options_.rows), error);
      write_manifest(manifest_file(options_.rows), sweep_, manifest_);
      return;
    }
    const Manifest existing = read_manifest(manifest_file(options_.rows));
    const std::vector<std::string> differing = differing_settings(existing, manifest_);
    if (!differing.empty()) {
      throw DataError(fmt::format(
          "{} was made with other settings (different: {}); use --fresh to start over or another "
          "--out file",
          options_.rows.string(), fmt::join(differing, ", ")));
    }
    adopt(existing, chips);
  }

  void adopt(const Manifest& existing, std::uint64_t chips) {
    if (existing.chip_passes.empty() || existing.points.size() != sweep_.points() ||
        !std::is_sorted(existing.chip_passes.begin(), existing.chip_passes.end())) {
      throw DataError(fmt::format("{} is damaged; use --fresh to start over",
                                  manifest_file(options_.rows).string()));
    }
    manifest_.chip_passes = existing.chip_passes;
    manifest_.points = existing.points;
    if (chips < existing.chip_passes.back()) {
      throw DataError(fmt::format(
          "{} holds {} chips per point, {} are wanted; ask for at least as many, or use --fresh",
          options_.rows.string(), existing.chip_passes.back(), chips));
    }
    if (chips > existing.chip_passes.back()) {
      manifest_.chip_passes.push_back(chips);
      write_manifest(manifest_file(options_.rows), sweep_, manifest_);
    }
  }

  std::string header() const {
    std::string line;
    const auto add = [&](const std::string& name) {
      line += (line.empty() ? "" : ",") + csv_field(name);
    };
    for (const CsvColumn& column : identity_columns()) add(column.name);
    for (const std::string& path : sweep_.axis_paths()) add(path);
    for (const CsvColumn& column : metric_columns()) add(column.name);
    return line;
  }

  const std::string& point_id(std::size_t point) {
    if (point != id_point_) {
      id_ = task_id(sweep_, sweep_.point(point), hashes_);
      axis_cells_.clear();
      const ResolvedConfig config = sweep_.point(point);
      for (const std::string& path : sweep_.axis_paths()) {
        axis_cells_ += "," + csv_field(value_text(config.values().at(path)));
      }
      id_point_ = point;
    }
    return id_;
  }

  /// Everything of a row before its metrics, axis cells included.
  std::string row_start(const RowPlace& place) {
    const std::string& id = point_id(place.point);
    return fmt::format("{},{},{},{},{},{}{}", id, place.chip, seed_,
                       csv_field(options_.identity.backend), options_.identity.precision,
                       options_.identity.version, axis_cells_);
  }

  /// Takes the rows of the file, checks that they are this run's, and cuts a torn last line.
  void load_rows() {
    std::string_view rest = content_;
    std::string_view record;
    if (content_.empty()) {
      journal_.append(header() + "\n");
      return;
    }
    if (!take_csv_record(rest, record)) {
      journal_.truncate(0);
      journal_.append(header() + "\n");
      options_.notice("the file held an incomplete header; it was written again");
      return;
    }
    if (record != header()) {
      throw DataError(
          fmt::format("{}:1: other columns than this sweep writes; use --fresh or "
                      "another --out file",
                      options_.rows.string()));
    }
    while (take_csv_record(rest, record)) load_row(record);
    if (!rest.empty()) {
      journal_.truncate(content_.size() - rest.size());
      options_.notice(fmt::format("cut an incomplete last line ({} bytes)", rest.size()));
    }
    content_.clear();
    content_.shrink_to_fit();
    if (progress_.done > 0 && progress_.done < progress_.total) {
      options_.notice(
          fmt::format("continuing after {} of {} rows", progress_.done, progress_.total));
    }
  }

  void load_row(std::string_view record) {
    const auto fail = [&](const char* problem) {
      throw DataError(
          fmt::format("{}:{}: {}; the file was changed since it was written: restore "
                      "it, or use --fresh",
                      options_.rows.string(), progress_.done + 2, problem));
    };
    if (progress_.done == progress_.total) fail("more rows than this sweep has");
    const RowPlace place = order_->place(progress_.done);
    const std::string start = row_start(place) + ",";
    if (record.substr(0, start.size()) != start) fail("not the row expected here");
    std::vector<std::string> fields;
    if (!split_csv(record.substr(start.size()), fields) ||
        fields.size() != metric_columns().size()) {
      fail("wrong number of fields");
    }
    std::vector<double> metrics(fields.size());
    for (std::size_t i = 0; i < fields.size(); ++i) {
      if (!parse_number(fields[i], metrics[i])) fail("a metric is not a number");
    }
    remember(place.point, std::move(metrics));
    ++progress_.done;
  }

  ComputedRow compute(std::uint64_t row) {
    const double start_s = thread_cpu_s();
    const RowPlace place = order_->place(row);
    const auto task =
        tasks_.get(fmt::format("{}", place.point), [&] { return runner_.task(place.point); });
    ComputedRow computed{.metrics = metric_values(runner_.run(*task, seed_, place.chip)),
                         .core_s = 0};
    computed.core_s = thread_cpu_s() - start_s;
    return computed;
  }

  void emit(std::uint64_t row, const ComputedRow& computed) {
    const RowPlace place = order_->place(row);
    std::string line = row_start(place);
    for (const double value : computed.metrics) line += "," + csv_number(value);
    journal_.append(line + "\n");
    PointTime& time = manifest_.points[place.point];
    time.core_s += computed.core_s;
    time.wall_s += seconds_since(last_emit_);
    last_emit_ = Clock::now();
    ++progress_.done;
    ++progress_.computed;
    progress_.worst_element_error_rate =
        std::max(progress_.worst_element_error_rate, computed.metrics.front());
    const bool complete = remember(place.point, computed.metrics);
    constexpr double save_interval_s = 1;
    if (complete && seconds_since(last_save_) > save_interval_s) save();
    options_.progress(progress_);
  }

  /// Keeps the metrics of a chip; true when that completed the summary of its point.
  bool remember(std::size_t point, std::vector<double> metrics) {
    std::vector<std::vector<double>>& chips = open_points_[point];
    chips.push_back(std::move(metrics));
    if (chips.size() < order_->chips()) return false;
    summary_rows_[point] = summary_row(point, chips);
    open_points_.erase(point);
    return true;
  }

  std::string summary_header() const {
    std::string line = "task_id";
    for (const std::string& path : sweep_.axis_paths()) line += "," + csv_field(path);
    line += ",chips,yield,yield_ci_lo,yield_ci_hi";
    for (const CsvColumn& column : metric_columns()) {
      for (const std::string& suffix : summary_suffixes()) line += "," + column.name + "_" + suffix;
    }
    return line;
  }

  std::string summary_row(std::size_t point, const std::vector<std::vector<double>>& chips) {
    const auto good = static_cast<std::uint64_t>(std::count_if(
        chips.begin(), chips.end(),
        [&](const std::vector<double>& metrics) { return metrics.front() < yield_limit_; }));
    const Interval interval = clopper_pearson(good, chips.size());
    std::string line = point_id(point);
    line += axis_cells_;
    line += fmt::format(",{},{},{},{}", chips.size(),
                        csv_number(static_cast<double>(good) / static_cast<double>(chips.size())),
                        csv_number(interval.lo), csv_number(interval.hi));
    for (std::size_t metric = 0; metric < metric_columns().size(); ++metric) {
      std::vector<double> values;
      for (const std::vector<double>& chip : chips) values.push_back(chip[metric]);
      for (const double value : summary_values(summarise(std::move(values)))) {
        line += "," + csv_number(value);
      }
    }
    return line;
  }

  void write_summary() const {
    std::string text = summary_header() + "\n";
    for (const std::string& row : summary_rows_) {
      if (!row.empty()) text += row + "\n";
    }
    write_file_atomically(summary_file(options_.rows), text);
  }

  void save() {
    write_summary();
    write_manifest(manifest_file(options_.rows), sweep_, manifest_);
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
  Journal journal_;
  SharedCache<PointTask> tasks_;
  std::uint64_t seed_;
  double yield_limit_;
  FileHashes hashes_;
  Manifest manifest_;
  std::string content_;
  const RowOrder* order_ = nullptr;
  SweepProgress progress_;
  std::map<std::size_t, std::vector<std::vector<double>>> open_points_;  ///< [chip][metric]
  std::vector<std::string> summary_rows_;                                ///< complete points
  std::size_t id_point_ = static_cast<std::size_t>(-1);
  std::string id_;
  std::string axis_cells_;
  Clock::time_point last_emit_;
  Clock::time_point last_save_;
};

std::filesystem::path beside(const std::filesystem::path& rows, const char* extension) {
  std::filesystem::path path = rows;
  return path.replace_extension(extension);
}

}  // namespace

std::filesystem::path summary_file(const std::filesystem::path& rows) {
  return beside(rows, ".summary.csv");
}

std::filesystem::path manifest_file(const std::filesystem::path& rows) {
  return beside(rows, ".manifest.json");
}

SweepProgress run_sweep(const SweepConfig& sweep, const Backend& backend,
                        const SweepOptions& options) {
  return SweepRun(sweep, backend, options).run();
}

}  // namespace optinc
