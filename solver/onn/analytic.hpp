// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "solver/onn/network.hpp"

namespace optinc {

/// How the exact network resolves the digits.
enum class AnalyticForm {
  pipeline,  ///< from the top like a pipelined converter; any N in 2..64, bits in 4..16
  ripple,    ///< carries from the bottom, staircases on 4 a_{i+1} + carry; N = 2 or 4, m = 1
};

struct AnalyticOptions {
  AnalyticForm form = AnalyticForm::ripple;
  Activation step = Activation::clipped_relu;  ///< clipped_relu: one unit a step; relu: two units
};

/// Builds a network that is exact on every code of `format` by construction: averages are multiples
/// of 1/N, so each threshold of Q lies in an interval without attainable values, and every step has
/// its ramp inside one, half as wide and centred. Equations, widths and singular values:
/// docs/analytic_network.md.
/// Throws ConfigError when the form does not exist for the format (message says which does).
Network build_analytic_network(const CodeFormat& format, const AnalyticOptions& options);

}  // namespace optinc
