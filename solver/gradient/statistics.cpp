// SPDX-License-Identifier: Apache-2.0
#include "solver/gradient/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <utility>

#include "solver/gradient/quantised_stream.hpp"

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

/// Adds the elements of a piece to the statistics of their codes.
void add_piece(const CodeFormat& format, const QuantisedPiece& piece, CodeMap& map) {
  const auto servers = static_cast<std::size_t>(format.servers);
  for (std::size_t i = 0; i < piece.count; ++i) {
    const std::uint32_t* values = piece.values + i * servers;
    double gradient_sum = 0;
    double residual_sum = 0;
    for (std::size_t server = 0; server < servers; ++server) {
      const auto gradient = static_cast<double>(piece.gradients[server * piece.stride + i]);
      gradient_sum += gradient;
      // Per server and with one rounding: g - (v - o) s would lose the digits that matter.
      const auto steps = static_cast<double>(values[server] - format.code_offset);
      residual_sum += std::fma(-steps, piece.scale, gradient);
    }
    const auto count = static_cast<double>(format.servers);
    map[code_of(format, values)].merge(
        element_statistics(gradient_sum / count, piece.scale, residual_sum / count));
  }
}

void add_table(CodeMap& total, const CodeTable& table) {
  for (std::size_t i = 0; i < table.codes.size(); ++i) {
    total[table.codes[i]].merge(table.statistics[i]);
  }
}

}  // namespace

TraceStatistics reduce_trace(const GradientSource& source, const CodeFormat& format,
                             const QuantiserOptions& options) {
  const std::vector<TraceTensor>& tensors = source.tensors();
  std::vector<CodeMap> maps(tensors.size());
  quantise_stream(source, format, options, [&](const QuantisedPiece& piece) {
    add_piece(format, piece, maps[piece.tensor]);
  });
  TraceStatistics result;
  result.format = format;
  result.elements = source.elements();
  CodeMap total;
  for (std::size_t i = 0; i < maps.size(); ++i) {
    result.tensor_names.push_back(tensors[i].name);
    result.tensors.push_back(sorted_table(maps[i]));
    CodeMap().swap(maps[i]);
    add_table(total, result.tensors.back());
  }
  result.total = sorted_table(total);
  return result;
}

}  // namespace optinc
