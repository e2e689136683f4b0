// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include <catch2/catch.hpp>

#include "noise/static_errors.hpp"
#include "noise/stream.hpp"

namespace optinc {

namespace {

using Words = std::array<std::uint32_t, 4>;

/// The block of a raw Philox counter and key, addressed through the public fields.
Words block(const Words& counter, std::uint64_t key) {
  const RandomWords words = random_words({.seed = key,
                                          .chip = counter[0],
                                          .mesh_id = static_cast<std::uint16_t>(counter[1] >> 16U),
                                          .draw = static_cast<DrawId>(counter[1] & 0xffffU),
                                          .element = counter[2],
                                          .symbol = counter[3]});
  return {words.word[0], words.word[1], words.word[2], words.word[3]};
}

UnitNormals normals_at(const StreamAddress& address) { return unit_normals(random_words(address)); }

/// Each single check fails by chance with probability 2.6e-12; a test case makes fewer than 300,
/// so its false-alarm rate is below 1e-9.
constexpr double limit_sigmas = 7.0;

constexpr std::uint32_t sample_count = 200'000;

StreamAddress base_address(std::uint32_t element) {
  return {.seed = 20260101,
          .chip = 3,
          .mesh_id = 17,
          .draw = DrawId::static_mzi,
          .element = element,
          .symbol = 0};
}

/// Mean over the samples of `quantity`, in units of its standard error `unit_sigma / sqrt(n)`.
double deviation_sigmas(const std::vector<UnitNormals>& samples, double expected, double unit_sigma,
                        const std::function<double(const UnitNormals&)>& quantity) {
  double sum = 0;
  for (const UnitNormals& sample : samples) sum += quantity(sample) - expected;
  return std::abs(sum) / (unit_sigma * std::sqrt(static_cast<double>(samples.size())));
}

std::vector<UnitNormals> draw_samples() {
  std::vector<UnitNormals> samples;
  for (std::uint32_t element = 0; element < sample_count; ++element) {
    samples.push_back(normals_at(base_address(element)));
  }
  return samples;
}

MziState<double> some_mzi() {
  MziState<double> state{};
  state.theta_rad = 0.1;
  state.phi_rad = 3.3;
  state.alpha_rad = 1e-3;
  state.beta_rad = -2e-3;
  return state;
}

bool same_bits(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

}  // namespace

TEST_CASE("A sequence of draws is the same in any pieces, past 2^32 blocks too") {
  const StreamAddress stream = {.seed = 9, .mesh_id = 3, .draw = DrawId::stochastic_rounding};
  const std::uint64_t start = (std::uint64_t{1} << 34U) - 6;  // block 2^32 - 2, entry 2
  std::vector<double> whole(17);
  uniform_sequence(stream, start, whole);
  for (std::size_t i = 0; i < whole.size(); ++i) {
    const std::uint64_t index = start + i;
    const Words words = block({0, 3U << 16U | 512U, static_cast<std::uint32_t>(index / 4),
                               static_cast<std::uint32_t>((index / 4) >> 32U)},
                              9);
    CHECK(whole[i] == (words[index % 4] + 0.5) * 0x1p-32);
    double alone = 0;
    uniform_sequence(stream, index, {&alone, 1});
    CHECK(alone == whole[i]);
    normal_sequence(stream, index, {&alone, 1});
    CHECK(alone == unit_normals({{words[0], words[1], words[2], words[3]}}).value[index % 4]);
  }
}

TEST_CASE("Philox4x32-10 gives the published known-answer vectors") {
  // Random123 1.14, tests/kat_vectors.
  CHECK(block({0, 0, 0, 0}, 0) == Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(block({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, 0xffffffffffffffff) ==
        Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(block({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, 0x299f31d0a4093822) ==
        Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("unit normals are Box-Muller on words (0, 1) and (2, 3)") {
  // Evaluated from the formula outside this program.
  const UnitNormals normals = unit_normals({{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}});
  CHECK(normals.value[0] == Approx(0.9911376799303855).epsilon(1e-14));
  CHECK(normals.value[1] == Approx(-0.9246625876655352).epsilon(1e-14));
  CHECK(normals.value[2] == Approx(-0.6176089594591907).epsilon(1e-14));
  CHECK(normals.value[3] == Approx(-0.48206858748717946).epsilon(1e-14));
}

TEST_CASE("the extreme words give finite normals") {
  for (const std::uint32_t word : {0U, 0x7fffffffU, 0xffffffffU}) {
    const UnitNormals normals = unit_normals({{word, word, word, 0}});
    for (const double value : normals.value) {
      CHECK(std::isfinite(value));
      CHECK(std::abs(value) < 6.8);
    }
  }
}

TEST_CASE("unit normals have the moments and tails of a normal distribution") {
  const std::vector<UnitNormals> samples = draw_samples();
  // Variances of x, x^2, x^3, x^4 of a unit normal: 1, 2, 15, 96.
  const std::array<double, 5> expected = {1, 0, 1, 0, 3};
  const std::array<double, 5> variance = {0, 1, 2, 15, 96};
  for (std::size_t i = 0; i < 4; ++i) {
    for (int power = 1; power <= 4; ++power) {
      const auto p = static_cast<std::size_t>(power);
      CAPTURE(i, power);
      CHECK(deviation_sigmas(samples, expected[p], std::sqrt(variance[p]), [&](const auto& n) {
              return std::pow(n.value[i], power);
            }) < limit_sigmas);
    }
    for (const double bound : {0.5, 1.0, 2.0, 3.0}) {
      const double share = std::erfc(bound / std::sqrt(2.0));
      CAPTURE(i, bound);
      CHECK(deviation_sigmas(samples, share, std::sqrt(share * (1 - share)), [&](const auto& n) {
              return std::abs(n.value[i]) > bound ? 1.0 : 0.0;
            }) < limit_sigmas);
    }
  }
}

TEST_CASE("the four normals of a block are uncorrelated") {
  const std::vector<UnitNormals> samples = draw_samples();
  for (std::size_t i = 0; i < 4; ++i) {
    for (std::size_t j = i + 1; j < 4; ++j) {
      CAPTURE(i, j);
      CHECK(deviation_sigmas(samples, 0, 1, [&](const auto& n) {
              return n.value[i] * n.value[j];
            }) < limit_sigmas);
      CHECK(deviation_sigmas(samples, 1, std::sqrt(8.0), [&](const auto& n) {
              return n.value[i] * n.value[i] * n.value[j] * n.value[j];
            }) < limit_sigmas);
    }
  }
}

TEST_CASE("neighbouring seeds, chips, meshes, draws, elements and symbols are uncorrelated") {
  const std::vector<std::function<void(StreamAddress&)>> steps = {
      [](StreamAddress& a) { ++a.seed; },
      [](StreamAddress& a) { a.seed += std::uint64_t{1} << 32U; },
      [](StreamAddress& a) { ++a.chip; },
      [](StreamAddress& a) { ++a.mesh_id; },
      [](StreamAddress& a) { a.draw = DrawId::static_output_screen; },
      [](StreamAddress& a) { ++a.element; },
      [](StreamAddress& a) { ++a.symbol; }};
  for (std::size_t step = 0; step < steps.size(); ++step) {
    std::array<std::array<double, 4>, 4> sums{};
    for (std::uint32_t element = 0; element < sample_count; ++element) {
      StreamAddress neighbour = base_address(element);
      steps[step](neighbour);
      const UnitNormals here = normals_at(base_address(element));
      const UnitNormals there = normals_at(neighbour);
      for (std::size_t i = 0; i < 4; ++i) {
        for (std::size_t j = 0; j < 4; ++j) sums[i][j] += here.value[i] * there.value[j];
      }
    }
    for (std::size_t i = 0; i < 4; ++i) {
      for (std::size_t j = 0; j < 4; ++j) {
        CAPTURE(step, i, j);
        CHECK(std::abs(sums[i][j]) < limit_sigmas * std::sqrt(double{sample_count}));
      }
    }
  }
}

TEST_CASE("every field of the address changes the block") {
  const StreamAddress base = base_address(5);
  std::vector<StreamAddress> others(6, base);
  others[0].seed ^= std::uint64_t{1} << 63U;
  others[1].chip ^= 0x80000000U;
  others[2].mesh_id ^= 0x8000U;
  others[3].draw = DrawId::code_sample;
  others[4].element ^= 0x80000000U;
  others[5].symbol ^= 0x80000000U;
  for (const StreamAddress& other : others) {
    CHECK(random_words(base).word[0] != random_words(other).word[0]);
  }
}

TEST_CASE("imperfections of zero leave an MZI bit-identical") {
  MziState<double> state = some_mzi();
  apply_static_errors({}, normals_at(base_address(1)), state);
  CHECK(same_bits(state.theta_rad, some_mzi().theta_rad));
  CHECK(same_bits(state.phi_rad, some_mzi().phi_rad));
  CHECK(same_bits(state.alpha_rad, some_mzi().alpha_rad));
  CHECK(same_bits(state.beta_rad, some_mzi().beta_rad));
  CHECK(StaticImperfections{}.none());
}

TEST_CASE("a deviate does not depend on which other effects are on and sigma only scales it") {
  const UnitNormals normals = normals_at(base_address(1));
  MziState<double> phase_only{};
  MziState<double> coupler_only{};
  MziState<double> both{};
  apply_static_errors({.phase_fabrication_sigma_rad = 0.01}, normals, phase_only);
  apply_static_errors({.coupler_sigma_rad = 0.02, .coupler_mean_rad = 0.5}, normals, coupler_only);
  apply_static_errors(
      {.phase_fabrication_sigma_rad = 0.01, .coupler_sigma_rad = 0.02, .coupler_mean_rad = 0.5},
      normals, both);
  CHECK(same_bits(both.theta_rad, phase_only.theta_rad));
  CHECK(same_bits(both.phi_rad, phase_only.phi_rad));
  CHECK(same_bits(both.alpha_rad, coupler_only.alpha_rad));
  CHECK(same_bits(both.beta_rad, coupler_only.beta_rad));
  CHECK(coupler_only.theta_rad == 0);
  CHECK(phase_only.alpha_rad == 0);
  CHECK(phase_only.theta_rad == 0.01 * normals.value[0]);
  CHECK(phase_only.phi_rad == 0.01 * normals.value[1]);
  CHECK(coupler_only.alpha_rad == 0.5 + 0.02 * normals.value[2]);
  CHECK(coupler_only.beta_rad == 0.5 + 0.02 * normals.value[3]);
}

TEST_CASE("the output screen has its phase error unless it is switched off") {
  const UnitNormals normals = normals_at(base_address(1));
  StaticImperfections imperfections{.phase_fabrication_sigma_rad = 0.03};
  CHECK(output_screen_error_rad(imperfections, 0.03, normals) == 0.03 * normals.value[0]);
  imperfections.phase_on_output_screen = false;
  CHECK(output_screen_error_rad(imperfections, 0.03, normals) == 0);
}

TEST_CASE("imperfections count as none only when every one is off") {
  CHECK_FALSE(StaticImperfections{.phase_fabrication_sigma_rad = 1e-9}.none());
  CHECK_FALSE(StaticImperfections{.coupler_sigma_rad = 1e-9}.none());
  CHECK_FALSE(StaticImperfections{.coupler_mean_rad = -1e-9}.none());
}

}  // namespace optinc
