// SPDX-License-Identifier: Apache-2.0
#include "noise/drift.hpp"

#include <cmath>
#include <numbers>

namespace optinc {

namespace {

constexpr int place_bits = 21;
constexpr int bridge_levels = 16;
constexpr int octaves_back = 40;  // what lies further back has a share of 2^-40 of the variance

UnitNormals node(StreamAddress address, std::int64_t octave, std::uint32_t place) {
  constexpr std::int64_t octaves = std::int64_t{1} << (32 - place_bits);
  const std::int64_t wrapped = ((octave % octaves) + octaves) % octaves;
  address.symbol = (static_cast<std::uint32_t>(wrapped) << place_bits) | place;
  return unit_normals(random_words(address));
}

UnitNormals combined(double factor_a, const UnitNormals& a, double factor_b, const UnitNormals& b) {
  UnitNormals sum{};
  for (int i = 0; i < 4; ++i) sum.value[i] = factor_a * a.value[i] + factor_b * b.value[i];
  return sum;
}

}  // namespace

OrnsteinUhlenbeck::OrnsteinUhlenbeck(double time) {
  constexpr double large = 300;  // e^{2 s} - 1 equals e^{2 s} and would soon overflow
  if (time <= 0) return;
  const double log2_time =
      time > large ? 2 * time / std::numbers::ln2 : std::log2(std::expm1(2 * time));
  const double octave = std::floor(log2_time);
  octave_ = static_cast<std::int64_t>(octave);
  place_ = std::exp2(log2_time - octave) - 1;
  scale_ = std::exp(octave / 2 * std::numbers::ln2 - time);
}

UnitNormals OrnsteinUhlenbeck::at(StreamAddress address) const {
  UnitNormals left{};
  if (scale_ == 0) return left;
  for (int back = 1; back <= octaves_back; ++back) {
    left = combined(1, left, std::exp2(-0.5 * back), node(address, octave_ - back, 0));
  }
  UnitNormals right = combined(1, left, 1, node(address, octave_, 0));
  double begin = 0;
  double length = 1;
  for (int level = 1; level <= bridge_levels; ++level) {
    const double middle = begin + length / 2;
    const auto place = static_cast<std::uint32_t>(std::ldexp(middle, place_bits));
    const UnitNormals bridge = combined(0.5, left, 0.5, right);
    const UnitNormals centre =
        combined(1, bridge, std::sqrt(length) / 2, node(address, octave_, place));
    length /= 2;
    if (place_ < middle) {
      right = centre;
    } else {
      left = centre;
      begin = middle;
    }
  }
  const double share = (place_ - begin) / length;
  return combined(scale_ * (1 - share), left, scale_ * share, right);
}

}  // namespace optinc
