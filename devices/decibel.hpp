// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

#include "devices/host_device.hpp"

namespace optinc {

/// Ratio of two powers that lie this many dB apart: 10^(dB / 10).
OPTINC_HD inline double power_ratio(double level_db) { return std::pow(10.0, level_db / 10); }

/// Ratio of two amplitudes whose powers lie this many dB apart: 10^(dB / 20).
OPTINC_HD inline double amplitude_ratio(double level_db) { return std::pow(10.0, level_db / 20); }

}  // namespace optinc
