// SPDX-License-Identifier: Apache-2.0
#include "solver/montecarlo/row_file.hpp"

#include <charconv>
#include <limits>
#include <system_error>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "solver/error.hpp"
#include "solver/montecarlo/columns.hpp"
#include "solver/montecarlo/journal.hpp"
#include "solver/montecarlo/result_files.hpp"
#include "solver/text.hpp"

namespace optinc {

namespace {

constexpr std::size_t first_shared_cell = 2;  // task_id and chip come before

/// A setting as the text of a CSV cell.
std::string cell_text(const Manifest& manifest, const std::string& name) {
  const auto setting = manifest.settings.find(name);
  if (setting == manifest.settings.end()) return "";
  const nlohmann::json value = nlohmann::json::parse(setting->second);
  return value.is_string() ? value.get<std::string>() : setting->second;
}

}  // namespace

RowFile::RowFile(const std::filesystem::path& path) : path_(path), file_(path, std::ios::binary) {
  require_row_file();
  manifest_ = read_manifest(manifest_file(path), "keep it beside the rows, or run the sweep again");
  const std::vector<std::string> axes = axis_paths(manifest_);
  axes_ = axes.size();
  shard_ = shard_of(manifest_);
  all_chips_ = number_setting(manifest_, "montecarlo.chips");
  std::string header;
  const bool is_whole = next_record(header) != 0;
  if (!is_whole) fail(1, "incomplete header");
  if (header != row_header(axes)) {
    fail(1, "other columns than its manifest and this version say");
  }
  for (const char* name : {"montecarlo.seed", "backend", "precision", "version"}) {
    identity_.push_back(cell_text(manifest_, name));
  }
}

void RowFile::require_row_file() {
  std::error_code error;
  if (!file_ || !std::filesystem::is_regular_file(path_, error)) {
    throw DataError(fmt::format(
        "{}: cannot be read (no such file, no regular file, no permission or too many files open)",
        path_.string()));
  }
  const std::string expected = identity_header();
  std::string start(expected.size(), '\0');
  file_.read(start.data(), static_cast<std::streamsize>(start.size()));
  if (start != expected) {
    throw DataError(
        fmt::format("{}: is not a row file of `optinc sweep`; give the file that "
                    "--out named, not its summary",
                    path_.string()));
  }
  file_.clear();
  file_.seekg(0);
}

void RowFile::fail(std::uint64_t line, const std::string& problem) const {
  throw DataError(fmt::format("{}:{}: {}; restore the file", path_.string(), line, problem));
}

/// As read_csv_record.
std::uint64_t RowFile::next_record(std::string& record) {
  record_line_ = line_ + 1;
  return read_csv_record(file_, record, line_);
}

std::uint64_t RowFile::index(const std::function<void(const RowPosition&)>& visit) {
  Points points;
  for (const std::string& id : manifest_.task_ids) {
    points.emplace(id, static_cast<std::uint32_t>(points.size()));
  }
  std::string record;
  auto offset = static_cast<std::uint64_t>(file_.tellg());
  while (const std::uint64_t bytes = next_record(record)) {
    RowPosition row = position(record, points);
    row.offset = offset;
    visit(row);
    offset += bytes;
  }
  // A stray quote would hide all rows behind it.
  if (record.find('\n') != std::string::npos) fail(record_line_, "a quote is not closed");
  return record.size();
}

RowPosition RowFile::position(const std::string& record, const Points& points) const {
  const std::vector<std::string> cells = fields(record, record_line_);
  const auto point = points.find(cells[0]);
  if (point == points.end()) {
    fail(record_line_, fmt::format("task_id '{}' is not in the manifest", cells[0]));
  }
  if (record.size() > std::numeric_limits<std::uint32_t>::max()) fail(record_line_, "too long");
  return {.offset = 0,
          .line = record_line_,
          .length = static_cast<std::uint32_t>(record.size()),
          .point = point->second,
          .chip = chip(cells[1]),
          .file = 0};
}

std::vector<std::string> RowFile::fields(const std::string& record, std::uint64_t line) const {
  std::vector<std::string> cells;
  const std::size_t columns = identity_columns().size() + axes_ + metric_columns().size();
  if (!split_csv(record, cells) || cells.size() != columns) {
    fail(line, fmt::format("not a row of {} fields", columns));
  }
  for (std::size_t i = 0; i < identity_.size(); ++i) {
    const std::size_t cell = first_shared_cell + i;
    if (cells[cell] == identity_[i]) continue;
    fail(line, fmt::format("{} is '{}' (the manifest says '{}')", identity_columns()[cell].name,
                           cells[cell], identity_[i]));
  }
  return cells;
}

std::uint32_t RowFile::chip(const std::string& text) const {
  std::uint32_t number = 0;
  const char* const text_end = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), text_end, number);
  const bool known =
      error == std::errc() && end == text_end && number < all_chips_ && shard_.has(number);
  if (!known) {
    fail(record_line_, fmt::format("chip '{}' is none of the manifest's (shard {} of {} chips)",
                                   text, shard_text(shard_), all_chips_));
  }
  return number;
}

std::vector<double> RowFile::metrics(const std::vector<std::string>& cells,
                                     std::uint64_t line) const {
  const std::size_t first = identity_columns().size() + axes_;
  std::vector<double> values(metric_columns().size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (parse_number(cells[first + i], values[i])) continue;
    fail(line,
         fmt::format("{} is '{}' (must be a number)", metric_columns()[i].name, cells[first + i]));
  }
  return values;
}

ParsedRow RowFile::read(const RowPosition& position) {
  ParsedRow row;
  row.text.resize(position.length);
  file_.clear();
  file_.seekg(static_cast<std::streamoff>(position.offset));
  file_.read(row.text.data(), static_cast<std::streamsize>(row.text.size()));
  if (!file_) fail(position.line, "the file became shorter while it was read");
  const std::vector<std::string> cells = fields(row.text, position.line);
  row.start = cells[0];
  for (std::size_t i = 0; i < axes_; ++i) {
    row.start += "," + csv_field(cells[identity_columns().size() + i]);
  }
  row.metrics = metrics(cells, position.line);
  return row;
}

}  // namespace optinc
