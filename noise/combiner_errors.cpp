// SPDX-License-Identifier: Apache-2.0
#include "noise/combiner_errors.hpp"

#include <algorithm>

#include "devices/combiner.hpp"
#include "noise/stream.hpp"

namespace optinc {

Complex<double> combiner_weight(const CombinerImperfections& imperfections, std::uint64_t seed,
                                std::uint32_t chip, std::uint16_t server, std::uint32_t group) {
  StreamAddress address{.seed = seed,
                        .chip = chip,
                        .mesh_id = server,
                        .draw = DrawId::combiner,
                        .element = group,
                        .symbol = 0};
  const UnitNormals arm = unit_normals(random_words(address));
  const double transmission = std::max(0.0, 1 + imperfections.amplitude_sigma * arm.value[0]);
  if (imperfections.mode == CombinerMode::incoherent) return incoherent_weight(transmission);
  address.draw = DrawId::server_phase;
  address.element = 0;
  const UnitNormals path = unit_normals(random_words(address));
  return coherent_weight(transmission, imperfections.phase_sigma_rad * arm.value[1] +
                                           imperfections.server_phase_sigma_rad * path.value[0]);
}

}  // namespace optinc
