// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "devices/host_device.hpp"

namespace optinc {

/// Which consumer a random draw belongs to; the draw id of the Philox counter.
/// Values are part of the reproducibility promise: never renumber, only append.
enum class DrawId : std::uint16_t {
  static_mzi = 0,             ///< element = MZI in flat order; normals: theta, phi, alpha, beta
  static_output_screen = 1,   ///< element = mode; first normal: screen phase
  code_sample = 2,            ///< mesh_id = unit, element = sample; word i of symbol j: a level
  mzi_loss = 3,               ///< element = MZI in flat order; first normal: its loss
  third_coupler = 4,          ///< element = MZI in flat order; first normal: its third coupler
  combiner = 5,               ///< mesh_id = server, element = group; normals: amplitude, phase
  server_phase = 6,           ///< mesh_id = server; first normal: phase of its laser's path
  receiver_noise = 7,         ///< mesh_id = unit, element = output digit; symbol_normals; first
                              ///< normal: noise of the photocurrent
  drift = 8,                  ///< element = MZI in flat order; normals: theta, phi; symbol = node
                              ///< of the path (OrnsteinUhlenbeck)
  drift_output_screen = 9,    ///< likewise, element = mode; first normal: screen phase
  jitter = 10,                ///< element = MZI in flat order, symbol = realization; normals:
                              ///< theta, phi
  jitter_output_screen = 11,  ///< element = mode, symbol = realization; first normal
  intensity = 12,             ///< mesh_id = unit, element = layer / 4; symbol_normals; normal
                              ///< layer mod 4
  laser_phase = 13,           ///< mesh_id = server; symbol_normals; first normal
  amplifier = 14,             ///< mesh_id = unit, element = 256 layer + output / 4 (below 2^16);
                              ///< symbol_normals; normal output mod 4
  element_sample = 256,       ///< sequence over the elements of a gradient; mesh_id 1: the start
  stochastic_rounding = 512,  ///< sequence over the elements of a gradient; mesh_id = server
  synthetic_gradient = 768,   ///< likewise; mesh_id = 0: common part, 1 + server: its own part
  training_start = 1024,      ///< sequences; mesh_id 0: weights, 1: biases
  training_codes = 1025,      ///< sequences; mesh_id 0: order of the alphabet, chip = round; 1:
                              ///< words as code_sample; 2: codes of traces
};

/// Names one Philox4x32-10 block: a deviate depends on nothing else.
struct StreamAddress {
  std::uint64_t seed{};     ///< the key
  std::uint32_t chip{};     ///< realization index
  std::uint16_t mesh_id{};  ///< running index over layer, block row, block column, V before U
  DrawId draw{};
  std::uint32_t element{};
  std::uint32_t symbol{};  ///< 0 for static effects
};

/// The four 32-bit words of a block.
struct RandomWords {
  std::uint32_t word[4];
};

/// Four independent unit normal deviates.
struct UnitNormals {
  double value[4];
};

/// Philox4x32-10 (Salmon et al., SC11, "Parallel random numbers: as easy as 1, 2, 3"), counter
/// words: chip; mesh_id << 16 | draw; element; symbol. Key: seed, low word first.
RandomWords random_words(const StreamAddress& address);

/// Box-Muller on words (0, 1) and (2, 3): u = (w + 1/2) 2^-32, r = sqrt(-2 ln u_first),
/// deviates r cos(2 pi u_second), r sin(2 pi u_second).
UnitNormals unit_normals(const RandomWords& words);

/// Sequences of draws longer than 2^32: draw `index` is entry index mod 4 of the block whose
/// element and symbol are the low and the high half of index / 4. The other fields of `stream` name
/// the sequence; `out[i]` becomes draw first + i, so that any cutting into pieces gives the same
/// draws. Uniform deviates u = (w + 1/2) 2^-32.
void uniform_sequence(const StreamAddress& stream, std::uint64_t first, std::span<double> out);

/// Likewise unit normal deviates.
void normal_sequence(const StreamAddress& stream, std::uint64_t first, std::span<double> out);

}  // namespace optinc
