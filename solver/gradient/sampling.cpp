// SPDX-License-Identifier: Apache-2.0
#include "solver/gradient/sampling.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <unordered_map>

#include "noise/stream.hpp"
#include "solver/gradient/quantised_stream.hpp"

namespace optinc {

namespace {

/// How many of the elements of a code are still to come and still to be chosen.
struct Quota {
  std::uint64_t left{};
  std::uint64_t wanted{};

  /// Decides on the next element so that every choice of `wanted` out of `left` is equally likely.
  bool take(double uniform) {
    const bool chosen = uniform * static_cast<double>(left) < static_cast<double>(wanted);
    --left;
    if (chosen) --wanted;
    return chosen;
  }
};

using Quotas = std::unordered_map<CodeKey, Quota>;

/// Counts the points start, start + step, ... that fall on the elements of each code, when all
/// elements lie behind one another by code.
Quotas systematic_quotas(const CodeTable& codes, double step, double start) {
  Quotas quotas;
  std::uint64_t end = 0;
  double before = 0;  // points before the code
  for (std::size_t i = 0; i < codes.codes.size(); ++i) {
    const std::uint64_t count = codes.statistics[i].count;
    end += count;
    const double until = std::max(0.0, std::ceil((static_cast<double>(end) - start) / step));
    quotas[codes.codes[i]] = {.left = count, .wanted = static_cast<std::uint64_t>(until - before)};
    before = until;
  }
  return quotas;
}

Quotas quotas_of(const CodeTable& codes, std::uint64_t elements, const SampleOptions& sample) {
  if (sample.elements >= elements) return systematic_quotas(codes, 1, 0);
  const double step = static_cast<double>(elements) / static_cast<double>(sample.elements);
  double start = 0;
  uniform_sequence({.seed = sample.seed, .mesh_id = 1, .draw = DrawId::element_sample}, 0,
                   {&start, 1});
  return systematic_quotas(codes, step, start * step);
}

/// A chosen element.
struct Choice {
  CodeKey code{};
  std::size_t tensor{};
  CodeStatistics statistics;
  std::vector<std::uint32_t> values;
};

std::vector<Choice> choose(const GradientSource& source, const CodeFormat& format,
                           const QuantiserOptions& options, Quotas quotas, std::uint64_t seed) {
  const auto servers = static_cast<std::size_t>(format.servers);
  std::vector<Choice> choices;
  std::vector<double> uniforms;
  std::uint64_t index = 0;
  quantise_stream(source, format, options, [&](const QuantisedPiece& piece) {
    uniforms.resize(piece.count);
    uniform_sequence({.seed = seed, .draw = DrawId::element_sample}, index, uniforms);
    index += piece.count;
    for (std::size_t i = 0; i < piece.count; ++i) {
      const std::uint32_t* values = piece.values + i * servers;
      const CodeKey code = code_of(format, values);
      if (!quotas.at(code).take(uniforms[i])) continue;
      choices.push_back({.code = code,
                         .tensor = piece.tensor,
                         .statistics = element_statistics(format, piece, i),
                         .values = {values, values + servers}});
    }
  });
  std::stable_sort(choices.begin(), choices.end(),
                   [](const Choice& a, const Choice& b) { return a.code < b.code; });
  return choices;
}

void add(CodeTable& table, const Choice& choice) {
  table.codes.push_back(choice.code);
  table.statistics.push_back(choice.statistics);
}

/// Variance of the mean of a systematic sample `values` of a population of `population`.
double mean_variance(const std::vector<double>& values, std::uint64_t population) {
  const auto count = static_cast<double>(values.size());
  double squares = 0;
  for (std::size_t i = 1; i < values.size(); ++i) {
    squares += (values[i] - values[i - 1]) * (values[i] - values[i - 1]);
  }
  const double unsampled = 1 - count / static_cast<double>(population);
  return unsampled * squares / (2 * (count - 1) * count);
}

}  // namespace

TraceStatistics sample_trace(const GradientSource& source, const CodeFormat& format,
                             const QuantiserOptions& options, const CodeTable& codes,
                             const SampleOptions& sample) {
  const std::vector<Choice> choices =
      choose(source, format, options, quotas_of(codes, source.elements(), sample), sample.seed);
  TraceStatistics result{
      .format = format, .elements = source.elements(), .total = {}, .values = {}, .tensors = {}};
  if (sample.per_tensor) {
    for (const TraceTensor& tensor : source.tensors()) {
      result.tensors.push_back({.name = tensor.name, .table = {}, .place = {}});
    }
  }
  for (const Choice& choice : choices) {
    if (sample.per_tensor) {
      TensorStatistics& tensor = result.tensors[choice.tensor];
      add(tensor.table, choice);
      tensor.place.push_back(result.total.codes.size());
    }
    add(result.total, choice);
    result.values.insert(result.values.end(), choice.values.begin(), choice.values.end());
  }
  return result;
}

SamplingIntervals sampling_intervals(const TraceStatistics& sample, const Decoded& decoded,
                                     const GradientMetrics& metrics) {
  const std::size_t elements = size_of(decoded);
  if (elements < 2 || elements == sample.elements) return exact_intervals(metrics);
  const CodeTable& table = sample.total;
  const auto count = static_cast<double>(elements);
  const std::vector<double> wrong =
      wrong_probabilities(decoded, target_values(sample.format, table.codes));
  // (g_hat - g)^2 - nmse g^2
  std::vector<double> excess = squared_errors(sample.format, table, decoded);
  double mean_g2 = 0;
  for (std::size_t i = 0; i < elements; ++i) {
    excess[i] -= metrics.nmse * table.statistics[i].sum_g2;
    mean_g2 += table.statistics[i].sum_g2 / count;
  }
  const double nmse_error = std::sqrt(mean_variance(excess, sample.elements)) / mean_g2;
  return {.element_error_rate =
              clustered_rate_interval({.rate = metrics.element_error_rate,
                                       .variance = mean_variance(wrong, sample.elements),
                                       .units = count}),
          .nmse = student_interval(metrics.nmse, nmse_error, count - 1)};
}

SamplingIntervals exact_intervals(const GradientMetrics& metrics) {
  return {.element_error_rate = {metrics.element_error_rate, metrics.element_error_rate},
          .nmse = {metrics.nmse, metrics.nmse}};
}

}  // namespace optinc
