// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "solver/gradient/statistics.hpp"
#include "solver/optinc/decision.hpp"

namespace optinc {

/// Fidelity of an averaged gradient, exact from code statistics (system design, section 4).
/// Where chance decides, every sum over elements is its expected value, exactly, and the metrics
/// follow from those sums: cosine is E<g_hat, g> / sqrt(E|g_hat|^2 |g|^2), relative_l2 and snr_db
/// belong to the expected nmse. "Wrong" compares with Q(v); all else compares with the exact float
/// mean g. A ratio whose denominator is zero (no elements, g = 0 or g_hat = 0 throughout, no
/// element with s > 0) is NaN.
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
  /// Largest |(decoded - o) - g/s|; where chance decides over the integers that are likeliest, or
  /// expected at least half a time, among the elements of an entry.
  double max_error_lsb = 0;
  /// Share of elements with integer error exactly +-4^i, i = 0..7.
  std::array<double, 8> error_share_pm4{};
  double error_share_other = 0;  ///< share of elements with any other non-zero integer error
};

/// sum (g_hat - g)^2 over the elements of each entry, expected.
std::vector<double> squared_errors(const CodeFormat& format, const CodeTable& table,
                                   const Decoded& decoded);

/// Metrics when entry i of the table decodes to entry i of `decoded`.
GradientMetrics gradient_metrics(const CodeFormat& format, const CodeTable& table,
                                 const Decoded& decoded);

}  // namespace optinc
