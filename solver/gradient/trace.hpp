// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "solver/gradient/source.hpp"

namespace optinc {

/// Gradients of N servers in the schema `optinc-gradient-trace/1` (docs/formats.md), streamed.
class GradientTrace : public GradientSource {
 public:
  /// Opens and checks the file. The gradient is that of its first `servers` servers (none given:
  /// of all); the rows of the others are not read. Throws DataError naming file, object and what is
  /// wrong, and ConfigError unless `servers` is 2 to the number in the file.
  explicit GradientTrace(const std::filesystem::path& path,
                         std::optional<int> servers = std::nullopt);
  ~GradientTrace() override;
  GradientTrace(GradientTrace&&) noexcept;
  GradientTrace& operator=(GradientTrace&&) noexcept;

  /// Those that are read, not those of the file.
  int servers() const override;
  const std::vector<TraceTensor>& tensors() const override;
  std::uint64_t elements() const override;
  /// Root attributes as text, in name order (workload, model, step, ...).
  const std::vector<std::pair<std::string, std::string>>& attributes() const;

  /// Throws DataError on unreadable data and on NaN or infinity (naming tensor, server and index).
  void read(std::size_t tensor, std::uint64_t first, std::uint64_t count, float* out,
            std::size_t stride) const override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// A trace held in memory, for writing.
struct TraceData {
  int servers{};
  std::string workload;
  std::string model;
  std::int64_t step{};
  std::int64_t batch_per_server{};
  std::string note;
  std::vector<TraceTensor> tensors;
  std::vector<std::vector<float>> values;  ///< per tensor, [servers, elements] row-major
};

/// Writes a trace atomically, gzip and shuffle on. Throws DataError.
void write_trace(const std::filesystem::path& path, const TraceData& data);

/// Root attributes that say where a gradient is from: name and text.
using TraceAttributes = std::vector<std::pair<std::string, std::string>>;

/// Writes any gradient as a trace, atomically and in bounded memory, uncompressed. Throws
/// DataError.
void write_trace(const std::filesystem::path& path, const GradientSource& source,
                 const TraceAttributes& attributes);

/// What distinguishes a file of gradients, besides its values.
struct GradientFileHeader {
  std::string format;
  std::uint64_t rows{};  ///< of every dataset
  int servers{};
  std::vector<TraceTensor> tensors;
  TraceAttributes attributes;
  bool compressed{};
};

/// Takes elements [first, first + count) of a tensor, `values[row * stride + i]`. Tensors come in
/// order.
using GradientSink =
    std::function<void(std::size_t tensor, std::uint64_t first, std::uint64_t count,
                       const float* values, std::size_t stride)>;

/// Writes `gradient/<tensor>` matrices from what `produce` gives to its sink, atomically and in
/// bounded memory. `produce` must give every element of every tensor. Throws DataError.
void write_gradient_file(const std::filesystem::path& path, const GradientFileHeader& header,
                         const std::function<void(const GradientSink&)>& produce);

}  // namespace optinc
