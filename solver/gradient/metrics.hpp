// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "solver/gradient/statistics.hpp"

namespace optinc {

/// Fidelity of an averaged gradient, exact from code statistics (system design, section 4).
/// "Wrong" compares with Q(v); all else compares with the exact float mean g. A ratio whose
/// denominator is zero (no elements, g = 0 or g_hat = 0 throughout, no element with s > 0) is NaN.
struct GradientMetrics {
  double element_error_rate = 0;  ///< share of elements whose integer differs from Q(v)
  double symbol_error_rate = 0;   ///< share of wrong PAM4 digits
  double bit_error_rate = 0;      ///< share of wrong bits, Gray-mapped
  double nmse = 0;                ///< sum (g_hat - g)^2 / sum g^2
  double snr_db = 0;              ///< -10 log10 nmse
  double relative_l2 = 0;         ///< sqrt nmse
  double cosine = 0;              ///< <g_hat, g> / (|g_hat| |g|)
  double contraction = 0;         ///< <g_hat, g> / |g|^2
  double bias_lsb = 0;            ///< mean of (decoded - o) - g/s over elements with s > 0
  double sign_agreement = 0;      ///< over elements with g != 0; a decoded zero disagrees
  double decoded_zero_share = 0;  ///< of those elements, share decoded to zero
  double max_error_lsb = 0;       ///< largest |(decoded - o) - g/s|
  /// Share of elements with integer error exactly +-4^i, i = 0..7.
  std::array<double, 8> error_share_pm4{};
  double error_share_other = 0;  ///< share of elements with any other non-zero integer error
};

/// sum (g_hat - g)^2 over the elements of an entry of that code.
double squared_error(const CodeFormat& format, CodeKey code, const CodeStatistics& statistics,
                     std::int64_t decoded);

/// Metrics when entry i of the table decodes to integer `decoded[i]`.
GradientMetrics gradient_metrics(const CodeFormat& format, const CodeTable& table,
                                 const std::vector<std::int64_t>& decoded);

}  // namespace optinc
