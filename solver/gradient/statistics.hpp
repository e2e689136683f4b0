// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "solver/gradient/quantised_stream.hpp"
#include "solver/gradient/quantiser.hpp"
#include "solver/gradient/source.hpp"
#include "solver/optinc/code.hpp"

namespace optinc {

/// Sufficient statistics of the elements that share one code (within a tensor or in total).
/// s: block scale; g: exact mean over servers of the float gradients; v: average of the codes;
/// r = g - (v - o) s: what the quantisers changed. Sums of r, not of s g, because errors of the
/// averaged gradient are small differences of g that sums over g itself would lose at 16 bits.
struct CodeStatistics {
  std::uint64_t count = 0;
  std::uint64_t count_positive = 0;    ///< g > 0
  std::uint64_t count_negative = 0;    ///< g < 0
  std::uint64_t count_zero_scale = 0;  ///< s = 0
  double sum_s = 0;
  double sum_s2 = 0;
  double sum_g = 0;
  double sum_g2 = 0;
  double sum_sr = 0;
  double sum_r2 = 0;
  double sum_deviation_lsb = 0;  ///< r/s = g/s - (v - o), elements with s > 0; so the next two
  double min_deviation_lsb = std::numeric_limits<double>::infinity();
  double max_deviation_lsb = -std::numeric_limits<double>::infinity();
  double max_s = 0;

  /// Adds another set of elements of the same code.
  void merge(const CodeStatistics& other);
};

/// A trace reduced to the codes that occur in it. `codes` is sorted; `statistics[i]` belongs to
/// `codes[i]`.
struct CodeTable {
  std::vector<CodeKey> codes;
  std::vector<CodeStatistics> statistics;
};

/// One tensor of a trace. `place[i]` is where entry i of `table` is in the whole trace's.
struct TensorStatistics {
  std::string name;
  CodeTable table;
  std::vector<std::size_t> place;
};

/// A trace reduced to entries that a chip treats alike.
struct TraceStatistics {
  CodeFormat format;
  std::uint64_t elements{};  ///< of the trace, per server
  CodeTable total;           ///< codes repeat where entries are finer than codes
  /// What each server transmits, `values[i * servers + server]` for entry i; empty where entries
  /// are codes.
  std::vector<std::uint32_t> values;
  std::vector<TensorStatistics> tensors;  ///< in trace order, where asked for
};

/// What a reduction keeps.
struct ReductionLimits {
  bool per_tensor = true;                                             ///< else the total alone
  std::uint64_t entries = std::numeric_limits<std::uint64_t>::max();  ///< of the total
};

/// Statistics of the single element `index` of a piece.
CodeStatistics element_statistics(const CodeFormat& format, const QuantisedPiece& piece,
                                  std::size_t index);

/// Reduces a gradient to the codes that occur, sorted, element by element in trace order
/// (quantise_stream). The result depends on the gradient, the format and the options alone.
/// Throws ConfigError when the source's servers differ from the format's or more codes occur than
/// `limits` allow, DataError from reading.
TraceStatistics reduce_trace(const GradientSource& source, const CodeFormat& format,
                             const QuantiserOptions& options, const ReductionLimits& limits = {});

/// Likewise to the tuples of values that the N servers transmit, sorted by code, then value: what
/// a combiner that treats servers differently can tell apart.
TraceStatistics reduce_to_tuples(const GradientSource& source, const CodeFormat& format,
                                 const QuantiserOptions& options,
                                 const ReductionLimits& limits = {});

}  // namespace optinc
