// SPDX-License-Identifier: Apache-2.0
#include "noise/stream.hpp"

#include <cmath>
#include <numbers>

#include <Random123/philox.h>

namespace optinc {

RandomWords random_words(const StreamAddress& address) {
  const r123::Philox4x32::ctr_type counter = {
      {address.chip,
       (static_cast<std::uint32_t>(address.mesh_id) << 16U) |
           static_cast<std::uint32_t>(address.draw),
       address.element, address.symbol}};
  const r123::Philox4x32::key_type key = {
      {static_cast<std::uint32_t>(address.seed), static_cast<std::uint32_t>(address.seed >> 32U)}};
  const r123::Philox4x32::ctr_type block = r123::Philox4x32{}(counter, key);
  return {{block[0], block[1], block[2], block[3]}};
}

namespace {

/// Midpoint of the interval that a word stands for, in (0, 1).
double uniform(std::uint32_t word) { return (static_cast<double>(word) + 0.5) * 0x1p-32; }

void box_muller(std::uint32_t radius_word, std::uint32_t angle_word, double* normals) {
  const double radius = std::sqrt(-2.0 * std::log(uniform(radius_word)));
  const double angle_rad = 2.0 * std::numbers::pi * uniform(angle_word);
  normals[0] = radius * std::cos(angle_rad);
  normals[1] = radius * std::sin(angle_rad);
}

}  // namespace

UnitNormals unit_normals(const RandomWords& words) {
  UnitNormals normals{};
  box_muller(words.word[0], words.word[1], &normals.value[0]);
  box_muller(words.word[2], words.word[3], &normals.value[2]);
  return normals;
}

namespace {

struct UnitUniforms {
  double value[4];
};

UnitUniforms unit_uniforms(const RandomWords& words) {
  return {{uniform(words.word[0]), uniform(words.word[1]), uniform(words.word[2]),
           uniform(words.word[3])}};
}

/// Fills `out` from the blocks of four draws that `make_block` makes of random words.
template <class MakeBlock>
void fill_sequence(StreamAddress stream, std::uint64_t first, std::span<double> out,
                   const MakeBlock& make_block) {
  constexpr std::uint64_t draws_per_block = 4;
  auto draws = make_block({});
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::uint64_t block = (first + i) / draws_per_block;
    const std::uint64_t entry = (first + i) % draws_per_block;
    if (i == 0 || entry == 0) {
      stream.element = static_cast<std::uint32_t>(block);
      stream.symbol = static_cast<std::uint32_t>(block >> 32U);
      draws = make_block(random_words(stream));
    }
    out[i] = draws.value[entry];
  }
}

}  // namespace

void uniform_sequence(const StreamAddress& stream, std::uint64_t first, std::span<double> out) {
  fill_sequence(stream, first, out, unit_uniforms);
}

void normal_sequence(const StreamAddress& stream, std::uint64_t first, std::span<double> out) {
  fill_sequence(stream, first, out, unit_normals);
}

}  // namespace optinc
