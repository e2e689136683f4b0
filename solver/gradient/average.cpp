// SPDX-License-Identifier: Apache-2.0
#include "solver/gradient/average.hpp"

#include <cstddef>
#include <unordered_map>
#include <utility>

namespace optinc {
namespace {

constexpr const char* average_format = "optinc-averaged-gradient/1";

}  // namespace

PieceDecoder code_decoder(const CodeFormat& format, const std::vector<CodeKey>& codes,
                          const std::vector<std::int64_t>& decoded) {
  std::unordered_map<CodeKey, std::int64_t> integers;
  integers.reserve(codes.size());
  for (std::size_t i = 0; i < codes.size(); ++i) integers.emplace(codes[i], decoded[i]);
  return [format, integers = std::move(integers)](const QuantisedPiece& piece) {
    const auto servers = static_cast<std::size_t>(format.servers);
    std::vector<std::int64_t> values;
    for (std::size_t i = 0; i < piece.count; ++i) {
      values.push_back(integers.at(code_of(format, piece.values + i * servers)));
    }
    return values;
  };
}

void write_average(const std::filesystem::path& path, const GradientSource& source,
                   const CodeFormat& format, const QuantiserOptions& options,
                   const PieceDecoder& decode, const TraceAttributes& attributes) {
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
      for (const std::int64_t integer : decode(piece)) {
        const auto steps = static_cast<double>(integer - format.code_offset);
        averages.push_back(static_cast<float>(steps * piece.scale));
      }
      sink(piece.tensor, piece.first, piece.count, averages.data(), piece.count);
    });
  });
}

}  // namespace optinc
