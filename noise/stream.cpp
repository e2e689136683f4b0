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

}  // namespace optinc
