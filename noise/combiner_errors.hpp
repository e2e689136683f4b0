// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "devices/complex.hpp"

namespace optinc {

/// How the preprocessing combiner adds what the servers send.
enum class CombinerMode {
  coherent,    ///< fields of one phase-locked source
  incoherent,  ///< detects each server and remodulates the sum; blind to phases
};

/// Static imperfections on the way from the servers to the network. They differ between servers, so
/// that the decoded value depends on who sent which digit. Zero switches an effect off.
struct CombinerImperfections {
  CombinerMode mode = CombinerMode::coherent;
  double amplitude_sigma = 0;         ///< Gaussian, relative, per chip, server and group
  double phase_sigma_rad = 0;         ///< Gaussian, per chip, server and group
  double server_phase_sigma_rad = 0;  ///< Gaussian, per chip and server: its laser's path
};

/// Weight with which the digits of `server` enter input `group` of the network of a chip: c e^{i
/// psi} or c^2 (system design, section 1; ideal: 1), c = 1 + amplitude error, cut at 0. Drawn from
/// DrawId::combiner and DrawId::server_phase.
Complex<double> combiner_weight(const CombinerImperfections& imperfections, std::uint64_t seed,
                                std::uint32_t chip, std::uint16_t server, std::uint32_t group);

}  // namespace optinc
