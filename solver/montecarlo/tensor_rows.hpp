// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "solver/gradient/source.hpp"
#include "solver/montecarlo/chip_result.hpp"
#include "solver/montecarlo/journal.hpp"

namespace optinc {

/// The per-tensor files of a sweep: r.layers.csv, a row per row of r.csv and tensor, and
/// r.layers.summary.csv. The tensors of a chip are appended before its row, so that this file never
/// lacks what the row file has. Memory is bounded by the chips of one sweep point.
class TensorRows {
 public:
  /// Opens and locks the file beside `rows`. Throws DataError.
  TensorRows(const std::filesystem::path& rows, std::vector<std::string> axis_paths);

  /// An empty file with its header.
  void start_over();

  /// Goes to the first row of a file that is there. Throws DataError for another header.
  void start_loading();

  /// Takes the rows of the next chip, which begin with `row_start`, the cells before `tensor`.
  /// Throws DataError where they are missing or others.
  void load(const std::string& row_start, const std::vector<TraceTensor>& tensors);

  /// Cuts what is behind the rows taken: those of a chip whose own row was never written. Returns
  /// the bytes cut.
  std::uint64_t finish_loading();

  /// Appends the rows of a chip. Args: tensors, by tensor_cells.
  void append(const std::string& row_start, const std::vector<std::string>& tensors);

  /// Makes the summary file say what the rows of the first `points` points say; leaves a file that
  /// does so already as it is. Throws DataError.
  void write_summary(std::size_t points) const;

 private:
  using Sink = std::function<void(std::string_view)>;

  void summarise_rows(std::size_t points, const Sink& sink) const;
  std::string header() const;
  [[noreturn]] void fail(std::uint64_t line, const std::string& problem) const;

  std::filesystem::path rows_;
  std::filesystem::path path_;
  std::vector<std::string> axis_paths_;
  Journal journal_;
  std::optional<std::ifstream> loading_;
  std::uint64_t loaded_bytes_ = 0;
  std::uint64_t loaded_lines_ = 0;
};

/// The cells of a tensor's row from `tensor` on.
std::string tensor_cells(const TensorMetrics& tensor);

}  // namespace optinc
