// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <vector>

#include "solver/gradient/quantised_stream.hpp"
#include "solver/gradient/quantiser.hpp"
#include "solver/gradient/source.hpp"
#include "solver/gradient/trace.hpp"

namespace optinc {

/// What a chip makes of a piece: the integer decoded for each of its elements.
using PieceDecoder = std::function<std::vector<std::int64_t>(const QuantisedPiece&)>;

/// The decoder of a chip for which code `codes[i]` decodes to the integer `decoded[i]`. Copies its
/// arguments. It throws std::out_of_range for another code.
PieceDecoder code_decoder(const CodeFormat& format, const std::vector<CodeKey>& codes,
                          const std::vector<std::int64_t>& decoded);

/// Writes the averaged gradient that every server decodes, (decoded - o) s per element, as
/// `optinc-averaged-gradient/1` (docs/formats.md): element by element, in bounded memory,
/// atomically. Throws ConfigError when the source's servers differ from the format's, DataError for
/// files.
void write_average(const std::filesystem::path& path, const GradientSource& source,
                   const CodeFormat& format, const QuantiserOptions& options,
                   const PieceDecoder& decode, const TraceAttributes& attributes);

}  // namespace optinc
