// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "solver/cost/collective.hpp"
#include "solver/cost/workload.hpp"

namespace optinc {

/// What a server computes with.
struct ComputeHardware {
  double peak_tflops = 60;
  double efficiency = 0.6;  ///< reached share of the peak
  double overlap = 0;       ///< share of the backward pass that communication can hide behind
  double addition_gbyte_s =
      0;  ///< gradient bytes added per second, GB/s; 0: additions take no time

  /// Of a batch of `samples` on one server, s.
  double compute_time_s(const Workload& workload, double samples) const;
};

/// What servers communicate through. Links are full duplex.
struct Fabric {
  int transceivers = 8;             ///< per server
  double transceiver_gbit_s = 800;  ///< each, Gb/s and direction
  double message_us = 2;            ///< latency of a message between two machines
  double switch_us = 1.4;           ///< latency of one way to or from a switch that adds
  double unit_us = 1.4;             ///< latency of one optical unit, transmitter to receiver
  int switch_levels = 1;
  int scale_block = 1024;  ///< elements per shared scale of OptINC's codes; 0: no scales
  int scale_bits = 32;

  double bytes_per_s() const;
};

/// OptINC sends codes and before them the scales, on which all servers have to agree.
bool sends_codes(Collective collective);

/// Time of averaging `elements` of `bits` each, s; empty as collective_cost. The alpha-beta model:
/// latencies of the passes one after the other, bytes over bandwidth, additions.
std::optional<double> communication_time_s(Collective collective, int servers, double elements,
                                           double bits, const Fabric& fabric,
                                           const ComputeHardware& compute);

/// Time of a training step, s: compute, then the part of the communication that is not hidden
/// behind the share `overlap` of the backward pass (two thirds of compute).
double step_time_s(double compute_s, double communication_s, double overlap);

/// The compute time at which a step with communication `shorter_s` takes the share 1 - reduction of
/// one with `longer_s`. Empty where no compute time does: the largest reduction, that of a step
/// without compute, is 1 - shorter / longer.
std::optional<double> compute_time_for_reduction_s(double longer_s, double shorter_s,
                                                   double reduction, double overlap);

}  // namespace optinc
