// SPDX-License-Identifier: Apache-2.0
#include "solver/montecarlo/tensor_rows.hpp"

#include <utility>

#include <fmt/format.h>

#include "solver/error.hpp"
#include "solver/io/atomic_file.hpp"
#include "solver/montecarlo/columns.hpp"
#include "solver/montecarlo/result_files.hpp"
#include "solver/montecarlo/summary.hpp"
#include "solver/text.hpp"

namespace optinc {

namespace {

constexpr std::size_t cells_before_metrics = 2;  // tensor and elements

/// The rows of one sweep point, tensor by tensor.
class PointTensors {
 public:
  /// Args: start, cells of a summary row before `tensor`.
  explicit PointTensors(std::string start) : start_(std::move(start)) {}

  const std::string& start() const { return start_; }

  void add(const std::string& tensor, const std::string& elements, std::vector<double> metrics) {
    Tensor& entry = tensor_named(tensor);
    entry.elements = elements;
    entry.chips.push_back(std::move(metrics));
  }

  /// Lines of the summary file.
  std::string summary() const {
    std::vector<MetricKind> kinds;
    for (const GradientColumn& metric : gradient_table()) kinds.push_back(metric.kind);
    std::string text;
    for (const Tensor& tensor : tensors_) {
      text += fmt::format("{},{},{},{}{}\n", start_, csv_field(tensor.name), tensor.chips.size(),
                          tensor.elements, summary_cells(kinds, tensor.chips));
    }
    return text;
  }

 private:
  struct Tensor {
    std::string name;
    std::string elements;
    std::vector<std::vector<double>> chips;  ///< [chip][metric]
  };

  /// Tensors come in the same order for every chip.
  Tensor& tensor_named(const std::string& name) {
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      Tensor& candidate = tensors_[(next_ + i) % tensors_.size()];
      if (candidate.name != name) continue;
      next_ = (next_ + i + 1) % tensors_.size();
      return candidate;
    }
    tensors_.push_back({.name = name, .elements = {}, .chips = {}});
    next_ = 0;
    return tensors_.back();
  }

  std::string start_;
  std::vector<Tensor> tensors_;
  std::size_t next_ = 0;  ///< the tensor expected
};

/// Cells of a row before `tensor` that name its sweep point.
std::string point_start(const std::vector<std::string>& cells, std::size_t axes) {
  std::string start = csv_field(cells[0]);
  for (std::size_t i = 0; i < axes; ++i) {
    start += "," + csv_field(cells[identity_columns().size() + i]);
  }
  return start;
}

/// Says whether a file holds exactly what it is given piece by piece.
class Comparison {
 public:
  explicit Comparison(const std::filesystem::path& path) : file_(path, std::ios::binary) {}

  void compare(std::string_view text) {
    std::string piece(text.size(), '\0');
    equal_ = equal_ && file_.read(piece.data(), static_cast<std::streamsize>(piece.size())) &&
             piece == text;
  }

  bool equal() { return equal_ && file_.peek() == std::ifstream::traits_type::eof(); }

 private:
  std::ifstream file_;
  bool equal_ = true;
};

}  // namespace

std::string tensor_cells(const TensorMetrics& tensor) {
  std::string cells = fmt::format("{},{}", csv_field(tensor.name), tensor.elements);
  for (const double value : metric_values(tensor.gradient)) cells += "," + csv_number(value);
  return cells;
}

TensorRows::TensorRows(const std::filesystem::path& rows, std::vector<std::string> axis_paths)
    : rows_(rows), path_(tensor_file(rows)), axis_paths_(std::move(axis_paths)), journal_(path_) {}

std::string TensorRows::header() const { return tensor_row_header(axis_paths_); }

void TensorRows::fail(std::uint64_t line, const std::string& problem) const {
  throw DataError(
      fmt::format("{}:{}: {}; restore the file, or use --fresh", path_.string(), line, problem));
}

void TensorRows::start_over() {
  journal_.truncate(0);
  journal_.append(header() + "\n");
}

void TensorRows::start_loading() {
  loading_.emplace(path_, std::ios::binary);
  std::string record;
  loaded_lines_ = 0;
  loaded_bytes_ = read_csv_record(*loading_, record, loaded_lines_);
  if (loaded_bytes_ == 0 || record != header()) fail(1, "other columns than this sweep writes");
}

void TensorRows::load(const std::string& row_start, const std::vector<TraceTensor>& tensors) {
  std::string record;
  for (const TraceTensor& tensor : tensors) {
    const std::uint64_t line = loaded_lines_ + 1;
    const std::uint64_t bytes = read_csv_record(*loading_, record, loaded_lines_);
    const std::string start = row_start + "," + csv_field(tensor.name) + ",";
    std::vector<std::string> cells;
    const bool expected =
        bytes != 0 && record.starts_with(start) && split_csv(record, cells) &&
        cells.size() == identity_columns().size() + axis_paths_.size() + tensor_columns().size();
    if (!expected) {
      fail(line, fmt::format("the row of tensor {} for a row of {} is expected here (the file was "
                             "changed since it was written)",
                             tensor.name, rows_.string()));
    }
    loaded_bytes_ += bytes;
  }
}

std::uint64_t TensorRows::finish_loading() {
  loading_.reset();
  const std::uint64_t size = std::filesystem::file_size(path_);
  if (size == loaded_bytes_) return 0;
  journal_.truncate(loaded_bytes_);
  return size - loaded_bytes_;
}

void TensorRows::append(const std::string& row_start, const std::vector<std::string>& tensors) {
  std::string lines;
  for (const std::string& cells : tensors) lines += row_start + "," + cells + "\n";
  journal_.append(lines);
}

void TensorRows::summarise_rows(std::size_t points, const Sink& sink) const {
  sink(tensor_summary_header(axis_paths_) + "\n");
  std::ifstream file(path_, std::ios::binary);
  std::string record;
  std::uint64_t lines = 0;
  read_csv_record(file, record, lines);
  const std::size_t first = identity_columns().size() + axis_paths_.size();
  std::optional<PointTensors> point;
  std::size_t done = 0;
  while (done < points && read_csv_record(file, record, lines) != 0) {
    std::vector<std::string> cells;
    if (!split_csv(record, cells) || cells.size() != first + tensor_columns().size()) {
      fail(lines, "wrong number of fields");
    }
    const std::string start = point_start(cells, axis_paths_.size());
    if (point && point->start() != start) {
      sink(point->summary());
      point.reset();
      if (++done == points) return;
    }
    if (!point) point.emplace(start);
    std::vector<double> metrics(gradient_table().size());
    for (std::size_t i = 0; i < metrics.size(); ++i) {
      if (!parse_number(cells[first + cells_before_metrics + i], metrics[i])) {
        fail(lines, "a metric is not a number");
      }
    }
    point->add(cells[first], cells[first + 1], std::move(metrics));
  }
  if (point && done < points) sink(point->summary());
}

void TensorRows::write_summary(std::size_t points) const {
  const std::filesystem::path target = tensor_summary_file(rows_);
  Comparison there(target);
  summarise_rows(points, [&](std::string_view text) { there.compare(text); });
  if (there.equal()) return;
  replace_atomically(target, [&](const std::filesystem::path& temporary) {
    std::ofstream file(temporary, std::ios::binary);
    summarise_rows(points, [&](std::string_view text) { file << text; });
    file.close();
    if (!file) {
      throw DataError(
          fmt::format("cannot write {} (disk full?); make room, then run the same "
                      "command again",
                      target.string()));
    }
  });
}

}  // namespace optinc
