// SPDX-License-Identifier: Apache-2.0
#include "solver/optinc/symbol_effects.hpp"

#include <limits>
#include <optional>

#include "devices/decibel.hpp"
#include "devices/modulator.hpp"

namespace optinc {

namespace {

StreamAddress address(const SymbolStreams& streams, std::uint16_t mesh_id, DrawId draw,
                      std::size_t element) {
  return {.seed = streams.seed,
          .chip = streams.chip,
          .mesh_id = mesh_id,
          .draw = draw,
          .element = static_cast<std::uint32_t>(element)};
}

}  // namespace

std::array<double, 4> transmitted_levels(const Transmitter& transmitter, CombinerMode mode) {
  if (transmitter == Transmitter{}) return {0, 1, 2, 3};
  double ratio = std::numeric_limits<double>::infinity();
  if (const std::optional<double> ratio_db = transmitter.extinction_ratio_db) {
    ratio = mode == CombinerMode::coherent ? amplitude_ratio(*ratio_db) : power_ratio(*ratio_db);
  }
  const Pam4Levels<double> sent = pam4_levels(1.0, ratio, transmitter.rlm);
  const double digits = 3 / (sent.level[3] - sent.level[0]);
  return {digits * sent.level[0], digits * sent.level[1], digits * sent.level[2],
          digits * sent.level[3]};
}

double intensity_factor(const SymbolNoise& noise, const SymbolStreams& streams, std::size_t layer,
                        std::uint64_t index) {
  if (noise.intensity_sigma == 0) return 1;
  const StreamAddress of_source = address(streams, streams.unit, DrawId::intensity, layer / 4);
  return 1 + noise.intensity_sigma * symbol_normals(of_source, index).value[layer % 4];
}

double laser_phase_rad(const SymbolNoise& noise, const SymbolStreams& streams, std::uint16_t server,
                       std::uint64_t index) {
  if (noise.laser_phase_sigma_rad == 0) return 0;
  const auto source = static_cast<std::uint16_t>(streams.first_server + server);
  const StreamAddress of_source = address(streams, source, DrawId::laser_phase, 0);
  return noise.laser_phase_sigma_rad * symbol_normals(of_source, index).value[0];
}

UnitNormals amplifier_deviates(const SymbolStreams& streams, std::size_t layer, std::size_t quad,
                               std::uint64_t index) {
  constexpr std::size_t quads_per_layer = 256;
  return symbol_normals(
      address(streams, streams.unit, DrawId::amplifier, quads_per_layer * layer + quad), index);
}

}  // namespace optinc
