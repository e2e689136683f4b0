// SPDX-License-Identifier: Apache-2.0
#include "solver/montecarlo/combine.hpp"

#include <algorithm>
#include <cerrno>
#include <deque>
#include <fstream>
#include <optional>
#include <span>
#include <system_error>
#include <tuple>

#include <fmt/format.h>

#include "solver/error.hpp"
#include "solver/io/atomic_file.hpp"
#include "solver/montecarlo/columns.hpp"
#include "solver/montecarlo/journal.hpp"
#include "solver/montecarlo/result_files.hpp"
#include "solver/montecarlo/row_file.hpp"
#include "solver/text.hpp"

namespace optinc {

namespace {

namespace fs = std::filesystem;

constexpr const char* shard_key = "shard";

/// Rows of one file at one point, for its share of the time.
struct Contribution {
  std::uint64_t rows = 0;     ///< it has
  std::uint64_t written = 0;  ///< that no file before had
};

/// One merge: its inputs, the index of their rows, and what the results say.
class Combination {
 public:
  explicit Combination(const CombineOptions& options) : options_(options) {}

  CombineReport run() {
    std::error_code error;
    if (fs::exists(options_.out, error)) lock_.emplace(options_.out);
    open_inputs();
    for (std::uint32_t file = 0; file < files_.size(); ++file) index(file);
    std::sort(rows_.begin(), rows_.end(), [](const RowPosition& left, const RowPosition& right) {
      return std::tie(left.point, left.chip, left.file, left.offset) <
             std::tie(right.point, right.chip, right.file, right.offset);
    });
    replace_atomically(options_.out, [this](const fs::path& temporary) {
      write_rows(temporary);
      write_file_atomically(summary_file(options_.out), summary_);
      write_manifest(manifest_file(options_.out), manifest_);
    });
    return report();
  }

 private:
  void open_inputs() {
    for (const fs::path& path : options_.inputs) add_file(path);
    const auto is_out = [this](const fs::path& path) {
      std::error_code error;
      return fs::equivalent(path, options_.out, error);
    };
    const bool is_input = std::any_of(options_.inputs.begin(), options_.inputs.end(), is_out);
    if (lock_ && !is_input && fs::file_size(options_.out) > 0) add_file(options_.out);
  }

  void add_file(const fs::path& path) {
    files_.emplace_back(path);
    if (files_.size() == 1) {
      manifest_ = files_.front().manifest();
      manifest_.points.assign(manifest_.points.size(), {});
      manifest_.settings.erase(layers_key);  // per-tensor files are not combined
    } else {
      adopt(files_.back());
    }
  }

  /// Compares with the first file; keeps what holds for both.
  void adopt(const RowFile& file) {
    const Manifest& other = file.manifest();
    std::vector<std::string> differing = differing_settings(manifest_, other);
    const bool other_shard = std::erase(differing, shard_key) != 0;
    std::erase(differing, chips_key);
    std::erase(differing, layers_key);
    if (!differing.empty()) {
      throw DataError(fmt::format(
          "{} is not of the same sweep as {} (different: {}); combine the parts of one sweep",
          file.path().string(), files_.front().path().string(),
          differences_text(differing, manifest_, other)));
    }
    if (other.task_ids != manifest_.task_ids) {
      throw DataError(fmt::format("{} is damaged (its points are not those of {}); restore it",
                                  manifest_file(file.path()).string(),
                                  manifest_file(files_.front().path()).string()));
    }
    if (other_shard) manifest_.settings.erase(shard_key);
    if (number_setting(other, chips_key) > number_setting(manifest_, chips_key)) {
      manifest_.settings[chips_key] = other.settings.at(chips_key);
    }
    // Any choice does that does not depend on the order of the files.
    manifest_.files = std::min(manifest_.files, other.files);
  }

  void index(std::uint32_t number) {
    RowFile& file = files_[number];
    const std::uint64_t torn = file.index([&](RowPosition row) {
      row.file = number;
      rows_.push_back(row);
    });
    file.drop_task_ids();
    if (torn == 0) return;
    options_.notice(
        fmt::format("{}: left out an incomplete last line ({} bytes)", file.path().string(), torn));
  }

  void write_rows(const fs::path& path) {
    std::ofstream out(path, std::ios::binary);
    const std::vector<std::string> axes = axis_paths(manifest_);
    out << row_header(axes) << '\n';
    summary_ = summary_header(axes) + "\n";
    for (std::span<const RowPosition> rest = rows_; !rest.empty();) {
      const auto point_end = std::find_if(rest.begin(), rest.end(), [&](const RowPosition& row) {
        return row.point != rest.front().point;
      });
      write_point(out, {rest.begin(), point_end});
      rest = {point_end, rest.end()};
    }
    out.close();
    if (!out) {
      throw DataError(fmt::format("cannot write {} ({}); make room and combine again",
                                  options_.out.string(), std::generic_category().message(errno)));
    }
  }

  /// Writes the rows of a point, given in order, and adds to summary and times.
  void write_point(std::ofstream& out, std::span<const RowPosition> rows) {
    std::vector<std::vector<double>> chips;
    std::vector<Contribution> contributions(files_.size());
    ParsedRow last;
    const RowPosition* last_position = nullptr;
    std::string start;
    for (const RowPosition& position : rows) {
      ParsedRow row = files_[position.file].read(position);
      ++contributions[position.file].rows;
      if (last_position != nullptr && last_position->chip == position.chip) {
        if (row.text != last.text) fail_conflict(*last_position, last, position, row);
        ++repeated_;
        continue;
      }
      if (last_position != nullptr && row.start != start) fail_axes(*last_position, position);
      out << row.text << '\n';
      ++contributions[position.file].written;
      start = row.start;
      chips.push_back(row.metrics);
      last = std::move(row);
      last_position = &position;
    }
    written_ += chips.size();
    summary_ += summary_row(start, chips, number_setting(manifest_, "report.yield_limit")) + "\n";
    add_times(rows.front().point, contributions);
  }

  std::string place(const RowPosition& position) const {
    return fmt::format("{}:{}", files_[position.file].path().string(), position.line);
  }

  [[noreturn]] void fail_conflict(const RowPosition& first_position, const ParsedRow& first,
                                  const RowPosition& second_position,
                                  const ParsedRow& second) const {
    std::vector<std::string> left;
    std::vector<std::string> right;
    split_csv(first.text, left);
    split_csv(second.text, right);
    std::vector<std::string> header;
    split_csv(row_header(axis_paths(manifest_)), header);
    const auto [left_cell, right_cell] =
        std::mismatch(left.begin(), left.end(), right.begin(), right.end());
    const std::string column = left_cell == left.end()
                                   ? "quotes"
                                   : header[static_cast<std::size_t>(left_cell - left.begin())];
    throw DataError(fmt::format(
        "{} and {}: task {}, chip {} has different rows (first in {}: '{}' and '{}'); compute one "
        "of the files again",
        place(first_position), place(second_position), left[0], first_position.chip, column,
        left_cell == left.end() ? "" : *left_cell, right_cell == right.end() ? "" : *right_cell));
  }

  [[noreturn]] void fail_axes(const RowPosition& first, const RowPosition& second) const {
    throw DataError(
        fmt::format("{} and {}: rows of the same task have different axis values; restore the file",
                    place(first), place(second)));
  }

  void add_times(std::uint32_t point, const std::vector<Contribution>& contributions) {
    PointTime& total = manifest_.points[point];
    for (std::size_t file = 0; file < files_.size(); ++file) {
      const Contribution& part = contributions[file];
      if (part.written == 0) continue;
      const double share = static_cast<double>(part.written) / static_cast<double>(part.rows);
      const PointTime& time = files_[file].manifest().points[point];
      total.wall_s += share * time.wall_s;
      total.core_s += share * time.core_s;
    }
  }

  CombineReport report() const {
    const auto all_chips = static_cast<std::uint64_t>(number_setting(manifest_, chips_key));
    // How many rows an adaptive sweep has, only its run knows.
    const bool ends_by_itself = manifest_.settings.count("montecarlo.target.metric") != 0;
    const std::uint64_t wanted = manifest_.points.size() * shard_of(manifest_).chips(all_chips);
    return {.files = files_.size(),
            .points = manifest_.points.size(),
            .rows = written_,
            .repeated = repeated_,
            .missing = ends_by_itself ? 0 : wanted - written_};
  }

  const CombineOptions& options_;
  std::optional<Journal> lock_;  ///< of an output that exists, against a sweep that writes it
  std::deque<RowFile> files_;
  std::vector<RowPosition> rows_;
  Manifest manifest_;
  std::string summary_;
  std::uint64_t written_ = 0;
  std::uint64_t repeated_ = 0;
};

}  // namespace

CombineReport combine_results(const CombineOptions& options) { return Combination(options).run(); }

}  // namespace optinc
