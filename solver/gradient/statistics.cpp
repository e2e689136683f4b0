// SPDX-License-Identifier: Apache-2.0
#include "solver/gradient/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <compare>
#include <functional>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "solver/error.hpp"

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

CodeStatistics single_statistics(double gradient, double scale, double residual) {
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

/// A tuple of transmitted values; the code comes first, so that tuples sort by code.
struct Tuple {
  CodeKey code{};
  std::u16string values;  ///< u by server; 16 bits hold every code format

  friend auto operator<=>(const Tuple&, const Tuple&) = default;
};

struct TupleHash {
  std::size_t operator()(const Tuple& tuple) const noexcept {
    return std::hash<std::u16string>()(tuple.values);
  }
};

[[noreturn]] void fail_too_many(std::uint64_t limit) {
  throw ConfigError(fmt::format(
      "more than max_codes = {} different codes or tuples occur in the gradients; raise max_codes "
      "(each takes about 250 bytes), or use fewer bits or servers",
      limit));
}

/// Collects statistics by key, tensor by tensor in trace order. Every sum runs in the order of the
/// elements, so hashing leaves no trace.
template <class Key, class Hash>
class Reduction {
 public:
  using Map = std::unordered_map<Key, CodeStatistics, Hash>;

  struct Table {
    std::vector<Key> keys;  ///< sorted
    std::vector<CodeStatistics> statistics;
  };

  explicit Reduction(const ReductionLimits& limits) : limits_(limits) {}

  /// Adds an element; tensors come in order.
  void add(std::size_t tensor, const Key& key, const CodeStatistics& element) {
    while (tensor_ < tensor) finish_tensor();
    current_[key].merge(element);
    if (current_.size() > limits_.entries) fail_too_many(limits_.entries);
  }

  /// Ends the last of `tensors` tensors; `total` and `tensors` are complete then.
  void finish(std::size_t tensors) {
    while (tensor_ < tensors) finish_tensor();
    total_ = sorted(total_map_);
    Map().swap(total_map_);
  }

  Table& total() { return total_; }
  std::vector<Table>& tensors() { return tensors_; }

  /// Where the entries of a tensor are in the total.
  std::vector<std::size_t> place(const Table& tensor) const {
    std::vector<std::size_t> place;
    for (const Key& key : tensor.keys) {
      const auto found = std::lower_bound(total_.keys.begin(), total_.keys.end(), key);
      place.push_back(static_cast<std::size_t>(found - total_.keys.begin()));
    }
    return place;
  }

 private:
  static Table sorted(const Map& map) {
    Table table;
    table.keys.reserve(map.size());
    for (const auto& [key, statistics] : map) table.keys.push_back(key);
    std::sort(table.keys.begin(), table.keys.end());
    table.statistics.reserve(map.size());
    for (const Key& key : table.keys) table.statistics.push_back(map.at(key));
    return table;
  }

  void finish_tensor() {
    Table table = sorted(current_);
    current_.clear();
    for (std::size_t i = 0; i < table.keys.size(); ++i) {
      total_map_[table.keys[i]].merge(table.statistics[i]);
    }
    if (total_map_.size() > limits_.entries) fail_too_many(limits_.entries);
    if (limits_.per_tensor) tensors_.push_back(std::move(table));
    ++tensor_;
  }

  ReductionLimits limits_;
  std::size_t tensor_ = 0;  ///< of `current_`
  Map current_;
  Map total_map_;
  Table total_;
  std::vector<Table> tensors_;
};

CodeKey code_of_key(CodeKey code) { return code; }
CodeKey code_of_key(const Tuple& tuple) { return tuple.code; }

template <class Table>
CodeTable take_code_table(Table& table) {
  CodeTable result;
  result.codes.reserve(table.keys.size());
  for (const auto& key : table.keys) result.codes.push_back(code_of_key(key));
  result.statistics = std::move(table.statistics);
  return result;
}

/// Args: key_of, makes the key of an element from its code and the N transmitted values.
template <class Key, class Hash, class KeyOf>
Reduction<Key, Hash> reduce(const GradientSource& source, const CodeFormat& format,
                            const QuantiserOptions& options, const ReductionLimits& limits,
                            const KeyOf& key_of) {
  const auto servers = static_cast<std::size_t>(format.servers);
  Reduction<Key, Hash> reduction(limits);
  quantise_stream(source, format, options, [&](const QuantisedPiece& piece) {
    for (std::size_t i = 0; i < piece.count; ++i) {
      const std::uint32_t* values = piece.values + i * servers;
      reduction.add(piece.tensor, key_of(code_of(format, values), values),
                    element_statistics(format, piece, i));
    }
  });
  reduction.finish(source.tensors().size());
  return reduction;
}

/// Takes the statistics out of the reduction and leaves its keys.
template <class Key, class Hash>
TraceStatistics trace_statistics(const GradientSource& source, const CodeFormat& format,
                                 Reduction<Key, Hash>& reduction) {
  TraceStatistics result{.format = format,
                         .elements = source.elements(),
                         .total = take_code_table(reduction.total()),
                         .values = {},
                         .tensors = {}};
  for (std::size_t i = 0; i < reduction.tensors().size(); ++i) {
    auto& tensor = reduction.tensors()[i];
    result.tensors.push_back({.name = source.tensors()[i].name,
                              .table = take_code_table(tensor),
                              .place = reduction.place(tensor)});
  }
  return result;
}

}  // namespace

CodeStatistics element_statistics(const CodeFormat& format, const QuantisedPiece& piece,
                                  std::size_t index) {
  const auto servers = static_cast<std::size_t>(format.servers);
  const std::uint32_t* values = piece.values + index * servers;
  double gradient_sum = 0;
  double residual_sum = 0;
  for (std::size_t server = 0; server < servers; ++server) {
    const auto gradient = static_cast<double>(piece.gradients[server * piece.stride + index]);
    gradient_sum += gradient;
    // Per server and with one rounding: g - (v - o) s would lose the digits that matter.
    const auto steps = static_cast<double>(values[server] - format.code_offset);
    residual_sum += std::fma(-steps, piece.scale, gradient);
  }
  const auto count = static_cast<double>(format.servers);
  return single_statistics(gradient_sum / count, piece.scale, residual_sum / count);
}

TraceStatistics reduce_trace(const GradientSource& source, const CodeFormat& format,
                             const QuantiserOptions& options, const ReductionLimits& limits) {
  const auto key_of = [](CodeKey code, const std::uint32_t*) { return code; };
  auto reduction = reduce<CodeKey, std::hash<CodeKey>>(source, format, options, limits, key_of);
  return trace_statistics(source, format, reduction);
}

TraceStatistics reduce_to_tuples(const GradientSource& source, const CodeFormat& format,
                                 const QuantiserOptions& options, const ReductionLimits& limits) {
  const auto key_of = [&](CodeKey code, const std::uint32_t* values) {
    return Tuple{.code = code, .values = std::u16string(values, values + format.servers)};
  };
  auto reduction = reduce<Tuple, TupleHash>(source, format, options, limits, key_of);
  TraceStatistics result = trace_statistics(source, format, reduction);
  for (const Tuple& tuple : reduction.total().keys) {
    result.values.insert(result.values.end(), tuple.values.begin(), tuple.values.end());
  }
  return result;
}

}  // namespace optinc
