// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "noise/stream.hpp"
#include "solver/backend/backend.hpp"
#include "solver/onn/network.hpp"
#include "solver/optinc/receiver.hpp"

namespace optinc {

/// Which codes of an alphabet to look at: all, or where there are more than `max_codes` that many
/// whose levels are independent and uniform, drawn from `seed` with DrawId::code_sample.
struct CodeSelection {
  std::uint64_t max_codes{};  ///< 1 .. 2^32 - 1
  std::uint64_t seed{};
};

/// A code whose levels are independent and uniform, entry `sample` of `stream`: word i of symbol j
/// gives the level of input 4 j + i.
CodeKey random_code(const CodeFormat& format, StreamAddress stream, std::uint64_t sample);

/// Visits the outputs of `layers` for the selected codes, batch by batch: visit(outputs [M, codes],
/// target values). Memory does not grow with their number. Returns their number. Throws ConfigError
/// when max_codes is out of range, DataError when an output is not finite.
using OutputVisitor =
    std::function<void(const Eigen::MatrixXd& outputs, const std::vector<std::int64_t>& targets)>;
std::uint64_t visit_outputs(std::span<const RealLayer> layers, const CodeFormat& format,
                            const Backend& backend, const CodeSelection& selection,
                            const OutputVisitor& visit);

/// How well a network gives the digits of Q(v).
struct NetworkAccuracy {
  std::uint64_t codes = 0;      ///< looked at
  std::uint64_t correct = 0;    ///< all digits right after slicing
  double max_error_digits = 0;  ///< largest |output - digit|
  bool exhaustive = false;      ///< every code of the alphabet, not a sample

  double accuracy() const { return static_cast<double>(correct) / static_cast<double>(codes); }
  /// 0.5 - max_error_digits.
  double margin_digits() const { return 0.5 - max_error_digits; }
};

/// The layers as they are in the network, without optics: weight = W.
std::vector<RealLayer> dense_layers(const Network& network);

/// Evaluates `layers` on codes of `format` (visit_outputs), without calibration.
NetworkAccuracy measure_accuracy(std::span<const RealLayer> layers, const CodeFormat& format,
                                 const Backend& backend, const CodeSelection& selection);

}  // namespace optinc
