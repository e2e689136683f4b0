// SPDX-License-Identifier: Apache-2.0
#include "solver/gradient/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "solver/error.hpp"
#include "solver/gradient/quantiser.hpp"

namespace optinc {

void CodeStatistics::merge(const CodeStatistics& other) {
  count += other.count;
  count_positive += other.count_positive;
  count_negative += other.count_negative;
  count_zero_scale += other.count_zero_scale;
  sum_s += other.sum_s;
  sum_s2 += other.sum_s2;
  sum_g += other.sum_g;
  sum_g2 += other.sum_g2;
  sum_sr += other.sum_sr;
  sum_r2 += other.sum_r2;
  sum_deviation_lsb += other.sum_deviation_lsb;
  min_deviation_lsb = std::min(min_deviation_lsb, other.min_deviation_lsb);
  max_deviation_lsb = std::max(max_deviation_lsb, other.max_deviation_lsb);
  max_s = std::max(max_s, other.max_s);
}

namespace {

/// Statistics by code; every sum runs in the order of the elements, so hashing leaves no trace.
using CodeMap = std::unordered_map<CodeKey, CodeStatistics>;

CodeTable sorted_table(const CodeMap& map) {
  CodeTable table;
  table.codes.reserve(map.size());
  for (const auto& [code, statistics] : map) table.codes.push_back(code);
  std::sort(table.codes.begin(), table.codes.end());
  table.statistics.reserve(map.size());
  for (const CodeKey code : table.codes) table.statistics.push_back(map.at(code));
  return table;
}

CodeStatistics element_statistics(double gradient, double scale, double residual) {
  CodeStatistics one;
  one.count = 1;
  one.count_positive = gradient > 0 ? 1 : 0;
  one.count_negative = gradient < 0 ? 1 : 0;
  one.sum_s = scale;
  one.sum_s2 = scale * scale;
  one.sum_g = gradient;
  one.sum_g2 = gradient * gradient;
  one.max_s = scale;
  if (scale == 0) {
    one.count_zero_scale = 1;
    return one;
  }
  const double deviation = residual / scale;
  one.sum_sr = scale * residual;
  one.sum_r2 = residual * residual;
  one.sum_deviation_lsb = deviation;
  one.min_deviation_lsb = deviation;
  one.max_deviation_lsb = deviation;
  return one;
}

/// Goes through a trace block by block; memory is one block and the tables.
class TraceReducer {
 public:
  TraceReducer(const GradientTrace& trace, const CodeFormat& format, std::uint64_t block)
      : trace_(trace),
        format_(format),
        capacity_(static_cast<std::size_t>(std::min(block, trace.elements()))),
        block_(capacity_ * static_cast<std::size_t>(format.servers)),
        values_(static_cast<std::size_t>(format.servers)),
        maps_(trace.tensors().size()) {}

  /// One map per tensor.
  std::vector<CodeMap> reduce() {
    for (std::size_t tensor = 0; tensor < maps_.size(); ++tensor) read_tensor(tensor);
    reduce_block();
    return std::move(maps_);
  }

 private:
  /// Elements [first, first + count) of the block belong to one tensor.
  struct Piece {
    std::size_t tensor;
    std::size_t first;
    std::size_t count;
  };

  void read_tensor(std::size_t tensor) {
    const std::uint64_t elements = trace_.tensors()[tensor].elements;
    std::uint64_t done = 0;
    while (done < elements) {
      const std::uint64_t count = std::min<std::uint64_t>(capacity_ - filled_, elements - done);
      trace_.read(tensor, done, count, block_.data() + filled_, capacity_);
      pieces_.push_back({tensor, filled_, static_cast<std::size_t>(count)});
      filled_ += static_cast<std::size_t>(count);
      done += count;
      if (filled_ == capacity_) reduce_block();
    }
  }

  void reduce_block() {
    const double scale = block_scale(format_, block_.data(), capacity_, filled_);
    for (const Piece& piece : pieces_) {
      CodeMap& map = maps_[piece.tensor];
      for (std::size_t i = piece.first; i < piece.first + piece.count; ++i) {
        add_element(map, i, scale);
      }
    }
    pieces_.clear();
    filled_ = 0;
  }

  void add_element(CodeMap& map, std::size_t index, double scale) {
    double gradient_sum = 0;
    double residual_sum = 0;
    for (std::size_t server = 0; server < values_.size(); ++server) {
      const auto gradient = static_cast<double>(block_[server * capacity_ + index]);
      values_[server] = quantise(format_, block_[server * capacity_ + index], scale);
      gradient_sum += gradient;
      // Per server and with one rounding: g - (v - o) s would lose the digits that matter.
      const auto steps = static_cast<double>(values_[server] - format_.code_offset);
      residual_sum += std::fma(-steps, scale, gradient);
    }
    const auto servers = static_cast<double>(format_.servers);
    map[code_of(format_, values_.data())].merge(
        element_statistics(gradient_sum / servers, scale, residual_sum / servers));
  }

  const GradientTrace& trace_;
  const CodeFormat& format_;
  std::size_t capacity_;
  std::vector<float> block_;  ///< [servers, capacity]
  std::vector<std::uint32_t> values_;
  std::vector<Piece> pieces_;
  std::size_t filled_ = 0;
  std::vector<CodeMap> maps_;
};

void add_table(CodeMap& total, const CodeTable& table) {
  for (std::size_t i = 0; i < table.codes.size(); ++i) {
    total[table.codes[i]].merge(table.statistics[i]);
  }
}

void check_arguments(const GradientTrace& trace, const CodeFormat& format, std::uint64_t block) {
  validate(format);
  if (block == 0) throw ConfigError("workload.block = 0 is out of range; give 1 or more");
  if (trace.servers() != format.servers) {
    throw ConfigError(
        fmt::format("the trace has {} servers but the unit averages {}; choose a network for {} "
                    "servers or another trace",
                    trace.servers(), format.servers, trace.servers()));
  }
}

}  // namespace

TraceStatistics reduce_trace(const GradientTrace& trace, const CodeFormat& format,
                             std::uint64_t block) {
  check_arguments(trace, format, block);
  TraceStatistics result;
  result.format = format;
  result.elements = trace.elements();
  CodeMap total;
  std::vector<CodeMap> maps = TraceReducer(trace, format, block).reduce();
  for (std::size_t i = 0; i < maps.size(); ++i) {
    result.tensor_names.push_back(trace.tensors()[i].name);
    result.tensors.push_back(sorted_table(maps[i]));
    CodeMap().swap(maps[i]);
    add_table(total, result.tensors.back());
  }
  result.total = sorted_table(total);
  return result;
}

}  // namespace optinc
