// SPDX-License-Identifier: Apache-2.0
#include "solver/cost/step_time.hpp"

#include <algorithm>

namespace optinc {

namespace {

constexpr double backward_share = 2.0 / 3;
constexpr double giga = 1e9;
constexpr double micro = 1e-6;
constexpr double bits_per_byte = 8;

double pass_latency_s(const CollectiveCost& cost, const Fabric& fabric) {
  return micro * (cost.messages * fabric.message_us + cost.switch_passes * fabric.switch_us +
                  cost.unit_passes * fabric.unit_us);
}

}  // namespace

double ComputeHardware::compute_time_s(const Workload& workload, double samples) const {
  constexpr double tera = 1e12;
  return samples * workload.step_flops() / (peak_tflops * tera * efficiency);
}

double Fabric::bytes_per_s() const {
  return transceivers * transceiver_gbit_s * giga / bits_per_byte;
}

bool sends_codes(Collective collective) {
  return collective == Collective::optinc || collective == Collective::optinc_cascade;
}

std::optional<double> communication_time_s(Collective collective, int servers, double elements,
                                           double bits, const Fabric& fabric,
                                           const ComputeHardware& compute) {
  const std::optional<CollectiveCost> cost =
      collective_cost(collective, servers, {.switch_levels = fabric.switch_levels});
  if (!cost) return std::nullopt;
  const double gradient_bytes = elements * bits / bits_per_byte;
  double time_s =
      pass_latency_s(*cost, fabric) + cost->serial * gradient_bytes / fabric.bytes_per_s();
  if (compute.addition_gbyte_s > 0) {
    time_s += cost->added * gradient_bytes / (compute.addition_gbyte_s * giga);
  }
  if (sends_codes(collective) && fabric.scale_block > 0) {
    const double scale_bytes = elements / fabric.scale_block * fabric.scale_bits / bits_per_byte;
    time_s += pass_latency_s(*cost, fabric) + cost->serial * scale_bytes / fabric.bytes_per_s();
  }
  return time_s;
}

double step_time_s(double compute_s, double communication_s, double overlap) {
  return compute_s + std::max(0.0, communication_s - overlap * backward_share * compute_s);
}

std::optional<double> compute_time_for_reduction_s(double longer_s, double shorter_s,
                                                   double reduction, double overlap) {
  if (reduction <= 0 || shorter_s > (1 - reduction) * longer_s) return std::nullopt;
  const double hidden = overlap * backward_share;
  // Both steps wait: T + C - hidden T on either side.
  const double both_wait_s = ((longer_s - shorter_s) / reduction - longer_s) / (1 - hidden);
  if (hidden * both_wait_s <= shorter_s) return both_wait_s;
  // Only the longer one waits.
  return longer_s * (1 - reduction) / (hidden + reduction * (1 - hidden));
}

}  // namespace optinc
