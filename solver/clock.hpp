// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace optinc {

/// The clock for durations: it never goes back.
using Clock = std::chrono::steady_clock;

/// Seconds from `start` until now.
inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace optinc
