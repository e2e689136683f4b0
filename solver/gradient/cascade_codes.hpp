// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "solver/gradient/quantiser.hpp"
#include "solver/gradient/source.hpp"
#include "solver/optinc/cascade_format.hpp"

namespace optinc {

/// The codes that a gradient brings to each unit of an ideal cascade, sorted: the units of level 1
/// in order, then level 2. Throws ConfigError when the source's servers differ from the cascade's
/// or a unit gets more than `most_codes`, DataError from reading.
std::vector<std::vector<CodeKey>> cascade_codes(const GradientSource& source,
                                                const CascadeFormat& format,
                                                const QuantiserOptions& options,
                                                std::uint64_t most_codes);

}  // namespace optinc
