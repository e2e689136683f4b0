// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "solver/gradient/quantiser.hpp"
#include "solver/gradient/source.hpp"
#include "solver/gradient/trace.hpp"

namespace optinc {

/// What a chip makes of codes: code `codes[i]` decodes to the integer `decoded[i]`.
struct DecodedCodes {
  const std::vector<CodeKey>& codes;
  const std::vector<std::int64_t>& decoded;
};

/// Writes the averaged gradient that every server decodes, (decoded - o) s per element, as
/// `optinc-averaged-gradient/1` (docs/formats.md): element by element, in bounded memory,
/// atomically. `chip` must hold every code of the source. Throws ConfigError when the source's
/// servers differ from the format's, DataError for files.
void write_average(const std::filesystem::path& path, const GradientSource& source,
                   const CodeFormat& format, const QuantiserOptions& options,
                   const DecodedCodes& chip, const TraceAttributes& attributes);

}  // namespace optinc
