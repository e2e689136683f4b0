// SPDX-License-Identifier: Apache-2.0
#include "solver/gradient/average.hpp"

#include <unordered_map>

#include "solver/gradient/quantised_stream.hpp"

namespace optinc {
namespace {

constexpr const char* average_format = "optinc-averaged-gradient/1";

/// (decoded - o) by code.
using StepsByCode = std::unordered_map<CodeKey, double>;

StepsByCode steps_by_code(const CodeFormat& format, const DecodedCodes& chip) {
  StepsByCode steps;
  steps.reserve(chip.codes.size());
  for (std::size_t i = 0; i < chip.codes.size(); ++i) {
    steps.emplace(chip.codes[i], static_cast<double>(chip.decoded[i] - format.code_offset));
  }
  return steps;
}

}  // namespace

void write_average(const std::filesystem::path& path, const GradientSource& source,
                   const CodeFormat& format, const QuantiserOptions& options,
                   const DecodedCodes& chip, const TraceAttributes& attributes) {
  const StepsByCode steps = steps_by_code(format, chip);
  const auto servers = static_cast<std::size_t>(format.servers);
  const GradientFileHeader header{.format = average_format,
                                  .rows = 1,
                                  .servers = source.servers(),
                                  .tensors = source.tensors(),
                                  .attributes = attributes,
                                  .compressed = true};
  write_gradient_file(path, header, [&](const GradientSink& sink) {
    std::vector<float> averages;
    quantise_stream(source, format, options, [&](const QuantisedPiece& piece) {
      averages.clear();
      for (std::size_t i = 0; i < piece.count; ++i) {
        const CodeKey code = code_of(format, piece.values + i * servers);
        averages.push_back(static_cast<float>(steps.at(code) * piece.scale));
      }
      sink(piece.tensor, piece.first, piece.count, averages.data(), piece.count);
    });
  });
}

}  // namespace optinc
