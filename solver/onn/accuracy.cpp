// SPDX-License-Identifier: Apache-2.0
#include "solver/onn/accuracy.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "solver/error.hpp"

namespace optinc {

namespace {

constexpr std::uint64_t batch_codes = 16384;

std::vector<CodeKey> batch_of_codes(const CodeFormat& format, bool exhaustive, std::uint64_t first,
                                    std::uint64_t count, std::uint64_t seed) {
  std::vector<CodeKey> codes(count);
  std::iota(codes.begin(), codes.end(), first);
  if (exhaustive) return codes;
  const StreamAddress stream{.seed = seed, .draw = DrawId::code_sample};
  for (CodeKey& code : codes) code = random_code(format, stream, code);
  return codes;
}

bool covers_alphabet(const CodeFormat& format, const CodeSelection& selection) {
  return format.alphabet_size() <= static_cast<double>(selection.max_codes);
}

}  // namespace

CodeKey random_code(const CodeFormat& format, StreamAddress stream, std::uint64_t sample) {
  constexpr int words_per_block = 4;
  constexpr unsigned symbol_bits = 4;  // room for 16 blocks, 64 inputs: more than a code has
  const auto levels = static_cast<CodeKey>(format.levels());
  stream.element = static_cast<std::uint32_t>(sample);
  CodeKey code = 0;
  RandomWords words{};
  for (int input = 0; input < format.inputs(); ++input) {
    const auto block = static_cast<std::uint32_t>(input / words_per_block);
    stream.symbol = static_cast<std::uint32_t>(sample >> 32U) << symbol_bits | block;
    if (input % words_per_block == 0) words = random_words(stream);
    code = code * levels + ((words.word[input % words_per_block] * levels) >> 32U);
  }
  return code;
}

std::vector<RealLayer> dense_layers(const Network& network) {
  std::vector<RealLayer> layers;
  for (const NetworkLayer& layer : network.layers) {
    layers.push_back({layer.weight, layer.bias, layer.activation, layer.clip});
  }
  return layers;
}

std::uint64_t visit_outputs(std::span<const RealLayer> layers, const CodeFormat& format,
                            const Backend& backend, const CodeSelection& selection,
                            const OutputVisitor& visit) {
  const std::uint64_t max_codes = selection.max_codes;
  if (max_codes < 1 || max_codes > std::numeric_limits<std::uint32_t>::max()) {
    throw ConfigError(fmt::format("max-codes = {} is out of range; give a value from 1 to {}",
                                  max_codes, std::numeric_limits<std::uint32_t>::max()));
  }
  const bool all = covers_alphabet(format, selection);
  const std::uint64_t total = all ? static_cast<std::uint64_t>(format.alphabet_size()) : max_codes;
  for (std::uint64_t first = 0; first < total; first += batch_codes) {
    const std::vector<CodeKey> codes =
        batch_of_codes(format, all, first, std::min(batch_codes, total - first), selection.seed);
    const Eigen::MatrixXd outputs = backend.evaluate_codes(layers, network_inputs(format, codes));
    if (!outputs.allFinite()) {
      throw DataError("network gives outputs that are not finite (its weights overflow); check it");
    }
    visit(outputs, target_values(format, codes));
  }
  return total;
}

NetworkAccuracy measure_accuracy(std::span<const RealLayer> layers, const CodeFormat& format,
                                 const Backend& backend, const CodeSelection& selection) {
  NetworkAccuracy accuracy;
  const auto add = [&](const Eigen::MatrixXd& outputs, const std::vector<std::int64_t>& targets) {
    const std::vector<std::int64_t> values =
        decode(outputs, fit_calibration(Calibration::none, outputs, targets));
    for (std::size_t i = 0; i < targets.size(); ++i) accuracy.correct += values[i] == targets[i];
    accuracy.max_error_digits =
        std::max(accuracy.max_error_digits, 0.5 - margin_digits(outputs, targets));
  };
  accuracy.codes = visit_outputs(layers, format, backend, selection, add);
  accuracy.exhaustive = covers_alphabet(format, selection);
  return accuracy;
}

}  // namespace optinc
