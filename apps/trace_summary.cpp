// SPDX-License-Identifier: Apache-2.0
#include "apps/trace_summary.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <vector>

namespace optinc {

TensorSummary summarise_tensor(const GradientSource& trace, std::size_t tensor) {
  constexpr std::uint64_t piece = 65536;
  const std::uint64_t elements = trace.tensors()[tensor].elements;
  const auto servers = static_cast<std::size_t>(trace.servers());
  std::vector<float> values(servers * std::min(piece, elements));
  double sum_squares = 0;
  double zeros = 0;
  TensorSummary summary;
  for (std::uint64_t first = 0; first < elements; first += piece) {
    const std::uint64_t count = std::min(piece, elements - first);
    trace.read(tensor, first, count, values.data(), count);
    for (std::size_t i = 0; i < servers * count; ++i) {
      const auto value = static_cast<double>(values[i]);
      sum_squares += value * value;
      zeros += value == 0 ? 1 : 0;
      summary.max_abs = std::max(summary.max_abs, std::abs(value));
    }
  }
  const double total = static_cast<double>(servers) * static_cast<double>(elements);
  summary.rms = std::sqrt(sum_squares / total);
  summary.zero_share = zeros / total;
  return summary;
}

nlohmann::ordered_json gradient_json(const GradientMetrics& metrics) {
  return {{"element_error_rate", metrics.element_error_rate},
          {"nmse", metrics.nmse},
          {"snr_db", metrics.snr_db},
          {"cosine", metrics.cosine},
          {"contraction", metrics.contraction},
          {"bias_lsb", metrics.bias_lsb},
          {"sign_agreement", metrics.sign_agreement},
          {"max_error_lsb", metrics.max_error_lsb}};
}

std::size_t name_width(const GradientSource& trace) {
  std::size_t width = std::string_view("tensor").size();
  for (const TraceTensor& tensor : trace.tensors()) width = std::max(width, tensor.name.size());
  return width;
}

}  // namespace optinc
