// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "solver/gradient/metrics.hpp"
#include "solver/gradient/statistics.hpp"
#include "solver/interval.hpp"

namespace optinc {

/// What a chip is evaluated on.
enum class Evaluation {
  codes,    ///< every code that occurs (reduce_trace); servers have to be alike
  sampled,  ///< some elements (sample_trace)
  tuples,   ///< every tuple of transmitted values that occurs (reduce_to_tuples)
};

/// Which elements of a gradient to evaluate.
struct SampleOptions {
  std::uint64_t elements = 65536;  ///< at most; all where the gradient has fewer
  std::uint64_t seed = 1;
  bool per_tensor = true;  ///< also the sampled elements of each tensor
};

/// A systematic sample of the elements, ordered by code: within a code the elements are chosen at
/// random without replacement, and a code with n_c of the n elements gets n_c / n of the sample,
/// rounded up or down at random. Every element is chosen with the same probability, so sums over
/// the sample estimate sums over the gradient. The draws belong to the seed and the element's index
/// over all tensors (DrawId::element_sample). One entry per element, sorted by code.
/// Args: codes, the table of that gradient by reduce_trace. Throws ConfigError, DataError.
TraceStatistics sample_trace(const GradientSource& source, const CodeFormat& format,
                             const QuantiserOptions& options, const CodeTable& codes,
                             const SampleOptions& sample);

/// 95 % intervals of metrics over all elements of a gradient, from a sample.
struct SamplingIntervals {
  Interval element_error_rate;
  Interval nmse;
};

/// Intervals around `metrics`, those of a sample by sample_trace of which entry i decodes to entry
/// i of `decoded`. Where chance decides, what an element counts is its expected value. The variance
/// of a mean over a systematic sample is estimated from the differences of neighbours (Wolter, J.
/// Am. Stat. Assoc. 79, 781, 1984), with the finite-population factor; the ratio nmse is
/// linearised.
SamplingIntervals sampling_intervals(const TraceStatistics& sample, const Decoded& decoded,
                                     const GradientMetrics& metrics);

/// What an evaluation of every element knows: intervals without width.
SamplingIntervals exact_intervals(const GradientMetrics& metrics);

}  // namespace optinc
