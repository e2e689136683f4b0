// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "noise/thermal_crosstalk.hpp"

namespace optinc {

/// Reads a table of thermal crosstalk: lines "distance_um,coupling" under that header, lines that
/// start with # are comments. Throws DataError naming the line for malformed or unsorted lines,
/// couplings outside [0, 1], fewer than two entries.
std::vector<ThermalCrosstalk::Entry> parse_thermal_table(const std::string& text,
                                                         const std::string& name);

}  // namespace optinc
