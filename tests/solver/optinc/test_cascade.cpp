// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include <array>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <random>
#include <span>
#include <vector>

#include "solver/error.hpp"
#include "solver/onn/accuracy.hpp"
#include "solver/onn/analytic.hpp"
#include "solver/optinc/cascade_chip.hpp"
#include "tests/support/reference.hpp"

namespace optinc {
namespace {

using testing::reference;

CascadeFormat cascade_of(CascadeKind kind, int servers, int bits, int units,
                         Rounding rounding = Rounding::half_up) {
  CodeFormat total = make_code_format(servers, bits);
  total.rounding = rounding;
  return make_cascade_format(kind, total, {.level2_servers = units, .level2_digits_per_input = {}});
}

AnalyticForm form_for(const CodeFormat& format) {
  return format.servers == 2 || format.servers == 4 ? AnalyticForm::ripple : AnalyticForm::pipeline;
}

/// A cascade of exact networks without optics, calibrated on nothing. Args: noise of the outputs of
/// each level, in digits.
CascadeChip exact_chip(const CascadeFormat& format, double sigma1 = 0, double sigma2 = 0) {
  std::vector<UnitChip> units;
  for (int unit = 0; unit <= format.units(); ++unit) {
    const CodeFormat& own = unit < format.units() ? format.level1 : format.level2;
    ChipOptics optics;
    optics.layers = dense_layers(build_analytic_network(own, {.form = form_for(own)}));
    ReceiverOptions receiver;
    receiver.noise.mesh_id = static_cast<std::uint16_t>(unit);
    receiver.output_sigma_digits.assign(static_cast<std::size_t>(own.output_digits()),
                                        unit < format.units() ? sigma1 : sigma2);
    units.emplace_back(std::in_place_type<CodeChip>, own, optics, *reference(), receiver,
                       make_code_set(own, {0}));
  }
  return CascadeChip(format, std::move(units));
}

/// floor(a / b + 1/2), ties to even where asked for, or floor(a / b).
std::int64_t rounded(Rounding rounding, std::int64_t a, std::int64_t b) {
  if (rounding == Rounding::floor) return a / b;
  const std::int64_t up = (2 * a + b) / (2 * b);
  return rounding == Rounding::half_even && (2 * a + b) % (2 * b) == 0 && up % 2 != 0 ? up - 1 : up;
}

struct Expected {
  std::int64_t exact{};  ///< Q of the mean of all
  std::int64_t naive{};  ///< Q of the mean of Q of the groups
};

Expected expected(const CascadeFormat& format, const std::uint32_t* values) {
  const Rounding rounding = format.total.rounding;
  Expected result;
  std::int64_t sum = 0;
  std::int64_t rounded_sum = 0;
  for (int unit = 0; unit < format.units(); ++unit) {
    std::int64_t own = 0;
    for (int i = 0; i < format.level1.servers; ++i) own += *values++;
    sum += own;
    rounded_sum += rounded(rounding, own, format.level1.servers);
  }
  result.exact = rounded(rounding, sum, format.total.servers);
  result.naive = rounded(rounding, rounded_sum, format.units());
  return result;
}

struct Errors {
  std::size_t elements = 0;
  std::size_t unlike_exact = 0;
  std::size_t unlike_naive = 0;
};

Errors errors_of(const CascadeFormat& format, const std::vector<std::uint32_t>& values) {
  CascadeChip chip = exact_chip(format);
  const std::vector<std::int64_t> decoded = chip.decode(values);
  Errors errors;
  errors.elements = decoded.size();
  for (std::size_t i = 0; i < decoded.size(); ++i) {
    const Expected want =
        expected(format, values.data() + i * static_cast<std::size_t>(format.total.servers));
    errors.unlike_exact += decoded[i] != want.exact ? 1 : 0;
    errors.unlike_naive += decoded[i] != want.naive ? 1 : 0;
  }
  return errors;
}

/// Every tuple of four values of 4 bits.
std::vector<std::uint32_t> all_tuples() {
  std::vector<std::uint32_t> values;
  for (std::uint32_t tuple = 0; tuple < 65536; ++tuple) {
    for (unsigned server = 0; server < 4; ++server) values.push_back((tuple >> (4 * server)) & 15);
  }
  return values;
}

/// Random values of 16 servers, then equal ones, and means right at, below and above ties.
std::vector<std::uint32_t> values_of_16(std::size_t random_elements) {
  std::mt19937 random(11);
  std::vector<std::uint32_t> values;
  for (std::size_t i = 0; i < 16 * random_elements; ++i) {
    values.push_back(static_cast<std::uint32_t>(random()) & 255U);
  }
  for (std::uint32_t level = 0; level < 256; ++level) {
    values.insert(values.end(), 16, level);
    if (level == 255) continue;
    for (const int higher : {1, 7, 8, 9, 15}) {
      for (int server = 0; server < 16; ++server) {
        values.push_back(level + (server < higher ? 1 : 0));
      }
    }
  }
  return values;
}

TEST_CASE("a fraction has the digits that it needs, or none will do", "[cascade]") {
  const std::vector<std::pair<int, int>> digits = {{1, 0},  {2, 1},  {4, 1}, {8, 2},
                                                   {16, 2}, {32, 3}, {64, 3}};
  for (const auto& [servers, count] : digits) {
    CHECK(fraction_digits(servers) == count);
    CHECK((1 << (2 * count)) % servers == 0);
  }
  for (const int servers : {0, 3, 5, 6, 12, 63}) {
    CHECK_THROWS_AS(fraction_digits(servers), ConfigError);
  }
}

TEST_CASE("a cascade of 16 servers passes one digit of 1/4 on", "[cascade]") {
  const CascadeFormat format =
      make_cascade_format(CascadeKind::fraction, make_code_format(16, 8), {});
  CHECK(format.units() == 4);
  CHECK(format.level1.servers == 4);
  CHECK(format.level1.output_digits() == 5);
  CHECK(format.level1.alphabet_size() == 28561);
  CHECK(format.level2.inputs() == 5);
  CHECK(format.level2.alphabet_size() == 371293);
  CHECK(format == join_levels(CascadeKind::fraction, format.level1, format.level2));
  const CascadeFormat naive = make_cascade_format(CascadeKind::naive, make_code_format(16, 8), {});
  CHECK(naive.level1 == make_code_format(4, 8));
  CHECK(naive.level2 == make_code_format(4, 8));
}

TEST_CASE("servers that do not divide, and levels that do not fit, are refused", "[cascade]") {
  const auto refused = [](CascadeKind kind, int servers, int bits, std::optional<int> units,
                          std::optional<int> merged) {
    CHECK_THROWS_AS(
        make_cascade_format(kind, make_code_format(servers, bits),
                            {.level2_servers = units, .level2_digits_per_input = merged}),
        ConfigError);
  };
  refused(CascadeKind::fraction, 16, 8, 5, {});   // 16 / 5
  refused(CascadeKind::fraction, 16, 8, 16, {});  // units of one server
  refused(CascadeKind::fraction, 12, 8, {}, {});  // no square
  refused(CascadeKind::fraction, 9, 8, 3, {});    // thirds
  refused(CascadeKind::fraction, 16, 8, 4, 2);    // five digits
  CHECK(make_cascade_format(CascadeKind::naive, make_code_format(9, 8), {}).units() == 3);
  const CascadeFormat good = cascade_of(CascadeKind::fraction, 16, 8, 4);
  CHECK_THROWS_AS(join_levels(CascadeKind::naive, good.level1, good.level2), ConfigError);
  CHECK_THROWS_AS(join_levels(CascadeKind::fraction, good.level2, good.level1), ConfigError);
  for (const auto change : std::vector<void (*)(CodeFormat&)>{
           [](CodeFormat& format) { format.bits = 6; },
           [](CodeFormat& format) { format.code_offset = 100; },
           [](CodeFormat& format) { format.rounding = Rounding::floor; },
           [](CodeFormat& format) { format.servers = 32; }}) {
    CodeFormat other = good.level2;
    change(other);
    CHECK_THROWS_AS(join_levels(CascadeKind::fraction, good.level1, other), ConfigError);
  }
  CodeFormat inexact = good.level1;
  inexact.servers = 8;
  CHECK_THROWS_AS(validate(inexact), ConfigError);
}

TEST_CASE("every tuple of 2 x 2 servers: the fraction is exact, naive rounds twice", "[cascade]") {
  const std::vector<std::uint32_t> values = all_tuples();
  for (const Rounding rounding : {Rounding::half_up, Rounding::half_even, Rounding::floor}) {
    const Errors fraction = errors_of(cascade_of(CascadeKind::fraction, 4, 4, 2, rounding), values);
    CHECK(fraction.elements == 65536);
    CHECK(fraction.unlike_exact == 0);
    const Errors naive = errors_of(cascade_of(CascadeKind::naive, 4, 4, 2, rounding), values);
    CHECK(naive.unlike_naive == 0);
    // half_up: S_j = 2 R_j + r_j, r_j in {-1, 0}. Wrong where R_1 + R_2 is odd and not both r_j
    // are 0: 1/2 * 3/4. Low bits of S_j are uniform, so it is exactly that share.
    if (rounding == Rounding::half_up) CHECK(naive.unlike_exact == 65536 * 3 / 8);
    // floor: r_j in {0, 1}. Wrong where R_1 + R_2 is odd and both r_j are 1.
    if (rounding == Rounding::floor) CHECK(naive.unlike_exact == 65536 / 8);
  }
}

TEST_CASE("16 servers: bit-exact through the fraction, 226/1024 wrong when naive", "[cascade]") {
  constexpr std::size_t random_elements = 20000;
  const std::vector<std::uint32_t> values = values_of_16(random_elements);
  for (const Rounding rounding : {Rounding::half_up, Rounding::half_even, Rounding::floor}) {
    for (const int units : {2, 4, 8}) {
      CAPTURE(units);
      const Errors fraction =
          errors_of(cascade_of(CascadeKind::fraction, 16, 8, units, rounding), values);
      CHECK(fraction.elements == random_elements + 256 + 5 * 255);
      CHECK(fraction.unlike_exact == 0);
    }
    CHECK(errors_of(cascade_of(CascadeKind::naive, 16, 8, 4, rounding), values).unlike_naive == 0);
  }
  // With S_j = 4 R_j + r_j, r_j in -2..1, and sum R_j + 2 = 4 q + s the cascade gives q and the
  // mean floor((4 s + sum r_j) / 16) more. Both are uniform and independent for uniform values.
  constexpr double share = 226.0 / 1024;
  const std::vector<std::uint32_t> uniform(values.begin(), values.begin() + 16 * random_elements);
  const Errors naive = errors_of(cascade_of(CascadeKind::naive, 16, 8, 4), uniform);
  const double rate = static_cast<double>(naive.unlike_exact) / static_cast<double>(naive.elements);
  CHECK(std::abs(rate - share) < 5 * std::sqrt(share * (1 - share) / random_elements));
}

/// Chance that S mod 16 has each value, S = sum 4^i level_i with uniform levels 0..12.
std::array<double, 16> residues_of_uniform_codes() {
  std::array<double, 16> chance{};
  for (int low = 0; low <= 12; ++low) {
    for (int high = 0; high <= 12; ++high) {
      chance[static_cast<std::size_t>((low + 4 * high) % 16)] += 1.0 / 169;
    }
  }
  return chance;
}

TEST_CASE("the error rate over uniform codes is that of enumeration", "[cascade]") {
  const std::array<double, 16> chance = residues_of_uniform_codes();
  double share = 0;
  for (std::uint32_t tuple = 0; tuple < 65536; ++tuple) {
    double weight = 1;
    std::int64_t sum = 0;
    std::int64_t rounded_sum = 0;
    for (unsigned unit = 0; unit < 4; ++unit) {
      const std::uint32_t residue = (tuple >> (4 * unit)) & 15;
      weight *= chance[residue];
      sum += residue;
      rounded_sum += (residue + 2) / 4;
    }
    if ((sum + 8) / 16 != (rounded_sum + 2) / 4) share += weight;
  }
  constexpr double tuples = 40000;
  const CascadeFormat naive = cascade_of(CascadeKind::naive, 16, 8, 4);
  CascadeChip naive_chip = exact_chip(naive);
  const double rate = uniform_error_rate(naive_chip, naive,
                                         {.tuples = static_cast<std::uint64_t>(tuples), .seed = 1});
  CHECK(std::abs(rate - share) < 5 * std::sqrt(share * (1 - share) / tuples));
  CHECK(rate != uniform_error_rate(naive_chip, naive,
                                   {.tuples = static_cast<std::uint64_t>(tuples), .seed = 2}));
  const CascadeFormat fraction = cascade_of(CascadeKind::fraction, 16, 8, 4);
  CascadeChip fraction_chip = exact_chip(fraction);
  CHECK(uniform_error_rate(fraction_chip, fraction, {.tuples = 20000, .seed = 1}) == 0);
}

TEST_CASE("units of one chip have streams of their own, the first those of a single unit",
          "[cascade]") {
  const CodeFormat format = make_code_format(4, 4);
  const MappedNetwork mapped = map_network(build_analytic_network(format, {}), {});
  const std::vector<Eigen::MatrixXcd> ideal = compose_ideal(mapped, *reference());
  StaticImperfections errors;
  errors.phase_fabrication_sigma_rad = 0.01;
  const auto first_weight = [&](std::size_t first_mesh_id) {
    return NetworkOptics(mapped, ideal, *reference(),
                         {.imperfections = errors, .ablation = {}, .first_mesh_id = first_mesh_id})
        .chip(1, 0)
        .layers.front()
        .weight;
  };
  CHECK(first_weight(0) ==
        NetworkOptics(mapped, ideal, *reference(), {.imperfections = errors, .ablation = {}})
            .chip(1, 0)
            .layers.front()
            .weight);
  CHECK(first_weight(0) != first_weight(ideal.size()));
  CHECK(first_weight(65536 - ideal.size()) != first_weight(0));
  CHECK_THROWS_AS(first_weight(65536 - ideal.size() + 1), ConfigError);
  const CombinerImperfections unlike{.amplitude_sigma = 0.1};
  const Eigen::MatrixXcd all = combiner_weights(unlike, make_code_format(16, 4), 1, 0);
  CHECK(combiner_weights(unlike, format, 1, 0) == all.leftCols(4));
  CHECK(combiner_weights(unlike, format, 1, 0, 8) == all.middleCols(8, 4));
}

TEST_CASE("by code and by server decode alike where servers are alike", "[cascade]") {
  const CascadeFormat format = cascade_of(CascadeKind::fraction, 4, 4, 2);
  const std::vector<std::uint32_t> values = all_tuples();
  StaticImperfections errors;
  errors.phase_fabrication_sigma_rad = 0.02;
  std::vector<UnitChip> by_code;
  std::vector<UnitChip> by_server;
  for (int unit = 0; unit < 3; ++unit) {
    const CodeFormat& own = unit < 2 ? format.level1 : format.level2;
    const MappedNetwork mapped = map_network(build_analytic_network(own, {}), {});
    const std::vector<Eigen::MatrixXcd> ideal = compose_ideal(mapped, *reference());
    const ChipOptics optics =
        NetworkOptics(
            mapped, ideal, *reference(),
            {.imperfections = errors, .ablation = {}, .first_mesh_id = 100 * std::size_t(unit)})
            .chip(1, 0);
    const CodeSet codes = make_code_set(own, all_codes(own, 100000));
    by_code.emplace_back(std::in_place_type<CodeChip>, own, optics, *reference(),
                         Calibration::affine, codes);
    by_server.emplace_back(std::in_place_type<ServerChip>, own,
                           std::span<const ChipOptics>(&optics, 1), combiner_weights({}, own, 1, 0),
                           *reference(), Calibration::affine, codes.codes);
  }
  const std::vector<std::int64_t> decoded = CascadeChip(format, std::move(by_code)).decode(values);
  const std::vector<std::int64_t> from_servers =
      CascadeChip(format, std::move(by_server)).decode(values);
  CHECK(decoded == from_servers);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < decoded.size(); ++i) {
    wrong += decoded[i] != expected(format, values.data() + 4 * i).exact ? 1 : 0;
  }
  CHECK(wrong > 0);
  CHECK(wrong < decoded.size());
}

TEST_CASE("noise of level 1 is decided before level 2, in any cutting", "[cascade]") {
  const CascadeFormat format = cascade_of(CascadeKind::fraction, 4, 4, 2);
  const std::vector<std::uint32_t> values = all_tuples();
  const std::span<const std::uint32_t> all(values);
  const std::vector<std::int64_t> quiet = exact_chip(format).decode(values);
  CascadeChip noisy1 = exact_chip(format, 0.25, 0);
  const std::vector<std::int64_t> drawn = noisy1.decode(values, 5);
  // Half a digit is two sigma: the digits of level 1 err with 1.5 Q(2) = 0.034 each.
  const auto wrong_share = [&](const std::vector<std::int64_t>& decoded) {
    double wrong = 0;
    for (std::size_t i = 0; i < decoded.size(); ++i) wrong += decoded[i] != quiet[i] ? 1 : 0;
    return wrong / static_cast<double>(decoded.size());
  };
  CHECK(wrong_share(drawn) > 0.05);
  CHECK(wrong_share(drawn) < 6 * 0.034);
  // Level 2 adds nothing of its own: its decisions are certain.
  CHECK(std::get<std::vector<std::int64_t>>(noisy1.decisions(values, 5)) == drawn);
  std::vector<std::int64_t> parts = noisy1.decode(all.first(4 * 1001), 5);
  append(parts, noisy1.decode(all.subspan(4 * 1001), 5 + 1001));
  CHECK(parts == drawn);
  CHECK(noisy1.decode(values, 6) != drawn);
  // With noise in both levels the expectation over level 2 is that of its draws. Hoeffding: a mean
  // of 65536 is off by more than 0.015 with odds below 1e-12.
  CascadeChip both = exact_chip(format, 0.25, 0.2);
  const std::vector<double> expected_wrong = wrong_probabilities(both.decisions(values, 5), quiet);
  CHECK(std::accumulate(expected_wrong.begin(), expected_wrong.end(), 0.0) / 65536 ==
        Approx(wrong_share(both.decode(values, 5))).margin(0.015));
  CHECK(wrong_share(both.decode(values, 5)) > wrong_share(drawn));
}

}  // namespace
}  // namespace optinc
