// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

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

/// Total and per-tensor tables of a trace.
struct TraceStatistics {
  CodeFormat format;
  std::uint64_t elements{};
  CodeTable total;
  std::vector<std::string> tensor_names;
  std::vector<CodeTable> tensors;
};

/// Reduces a gradient, element by element in trace order (quantise_stream). The result depends on
/// the gradient, the format and the options alone.
/// Throws ConfigError when the source's servers differ from the format's, DataError from reading.
TraceStatistics reduce_trace(const GradientSource& source, const CodeFormat& format,
                             const QuantiserOptions& options);

}  // namespace optinc
