// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "solver/error.hpp"
#include "solver/optinc/code.hpp"

namespace optinc {
namespace {

/// Every tuple of N values of b bits, by counting.
class Tuples {
 public:
  explicit Tuples(const CodeFormat& format)
      : limit_(static_cast<std::uint32_t>(format.max_value())),
        values_(static_cast<std::size_t>(format.servers), 0) {}

  const std::vector<std::uint32_t>& values() const { return values_; }

  bool next() {
    for (std::uint32_t& value : values_) {
      if (value < limit_) {
        ++value;
        return true;
      }
      value = 0;
    }
    return false;
  }

 private:
  std::uint32_t limit_;
  std::vector<std::uint32_t> values_;
};

CodeFormat with_digits_per_input(int servers, int bits, int digits_per_input) {
  CodeFormat format = make_code_format(servers, bits);
  format.digits_per_input = digits_per_input;
  validate(format);
  return format;
}

/// Input k of the definition: (1/N) sum_s sum_j 4^j d_{s,km+j}.
double defined_input(const CodeFormat& format, const std::vector<std::uint32_t>& values, int k) {
  double sum = 0;
  for (const std::uint32_t value : values) {
    for (int j = 0; j < format.digits_per_input; ++j) {
      sum += std::pow(4.0, j) * digit_of(value, k * format.digits_per_input + j);
    }
  }
  return sum / format.servers;
}

double rounded_in_double(Rounding rounding, double average) {
  switch (rounding) {
    case Rounding::half_up:
      return std::floor(average + 0.5);
    case Rounding::half_even:
      return std::nearbyint(average);
    default:
      return std::floor(average);
  }
}

}  // namespace

TEST_CASE("Codes of all tuples agree with the definition and fill the alphabet") {
  const auto [servers, bits, digits_per_input] = GENERATE(table<int, int, int>(
      {{2, 4, 1}, {2, 4, 2}, {3, 4, 1}, {3, 4, 2}, {4, 4, 1}, {2, 6, 1}, {2, 6, 3}, {2, 8, 2}}));
  CAPTURE(servers, bits, digits_per_input);
  CodeFormat format = with_digits_per_input(servers, bits, digits_per_input);
  std::set<CodeKey> seen;
  bool averages_agree = true;
  bool inputs_agree = true;
  bool roundings_agree = true;
  Tuples tuples(format);
  do {
    const CodeKey code = code_of(format, tuples.values().data());
    const bool is_new = seen.insert(code).second;
    std::int64_t sum = 0;
    for (const std::uint32_t value : tuples.values()) sum += value;
    averages_agree = averages_agree && scaled_average(format, code) == sum;
    if (!is_new) continue;
    const Eigen::MatrixXd inputs = network_inputs(format, {code});
    for (int k = 0; k < format.inputs(); ++k) {
      inputs_agree = inputs_agree && inputs(k, 0) == defined_input(format, tuples.values(), k);
    }
    for (const Rounding rounding : {Rounding::half_up, Rounding::half_even, Rounding::floor}) {
      format.rounding = rounding;
      const double average = static_cast<double>(sum) / servers;
      roundings_agree = roundings_agree && static_cast<double>(round_average(format, sum)) ==
                                               rounded_in_double(rounding, average);
    }
  } while (tuples.next());
  CHECK(averages_agree);
  CHECK(inputs_agree);
  CHECK(roundings_agree);
  const std::vector<CodeKey> alphabet = all_codes(format, 1 << 20);
  CHECK(static_cast<double>(alphabet.size()) == format.alphabet_size());
  CHECK(std::vector<CodeKey>(seen.begin(), seen.end()) == alphabet);
}

TEST_CASE("Rounding of halves") {
  CodeFormat format = make_code_format(4, 8);
  const auto rounded = [&](Rounding rounding, std::int64_t scaled) {
    format.rounding = rounding;
    return round_average(format, scaled);
  };
  for (const auto& [scaled, up, even, down] : {std::array<std::int64_t, 4>{2, 1, 0, 0},
                                               {6, 2, 2, 1},
                                               {10, 3, 2, 2},
                                               {9, 2, 2, 2},
                                               {11, 3, 3, 2},
                                               {0, 0, 0, 0},
                                               {1020, 255, 255, 255}}) {
    CAPTURE(scaled);
    CHECK(rounded(Rounding::half_up, scaled) == up);
    CHECK(rounded(Rounding::half_even, scaled) == even);
    CHECK(rounded(Rounding::floor, scaled) == down);
  }
}

TEST_CASE("Sizes of the published unit and of the largest formats") {
  const CodeFormat published = make_code_format(4, 8);
  CHECK(published.inputs() == 4);
  CHECK(published.levels() == 13);
  CHECK(published.alphabet_size() == 28561);
  CHECK(published.code_offset == 128);

  CHECK(default_digits_per_input(4) == 1);
  CHECK(default_digits_per_input(8) == 1);
  CHECK(default_digits_per_input(10) == 1);
  CHECK(default_digits_per_input(12) == 2);
  CHECK(default_digits_per_input(14) == 1);
  CHECK(default_digits_per_input(16) == 2);

  for (const int digits_per_input : {1, 2, 4, 8}) {
    CAPTURE(digits_per_input);
    const CodeFormat largest = with_digits_per_input(64, 16, digits_per_input);
    const std::vector<std::uint32_t> values(64, 65535);
    constexpr std::int64_t sum = 4194240;
    const CodeKey code = code_of(largest, values.data());
    CHECK(scaled_average(largest, code) == sum);
    CHECK(round_average(largest, sum) == 65535);
    CHECK(static_cast<double>(code) == Approx(largest.alphabet_size() - 1).epsilon(1e-14));
  }
}

TEST_CASE("Formats out of range are refused by name") {
  const auto message_of = [](auto change) {
    CodeFormat format = make_code_format(4, 8);
    change(format);
    try {
      validate(format);
    } catch (const ConfigError& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  using Catch::Matchers::Contains;
  CHECK_THAT(message_of([](CodeFormat& f) { f.servers = 1; }), Contains("servers = 1"));
  CHECK_THAT(message_of([](CodeFormat& f) { f.servers = 65; }), Contains("servers = 65"));
  CHECK_THAT(message_of([](CodeFormat& f) { f.bits = 2; }), Contains("workload.bits = 2"));
  CHECK_THAT(message_of([](CodeFormat& f) { f.bits = 18; }), Contains("workload.bits = 18"));
  CHECK_THAT(message_of([](CodeFormat& f) { f.bits = 7; }), Contains("odd"));
  CHECK_THAT(message_of([](CodeFormat& f) { f.digits_per_input = 3; }),
             Contains("network.digits_per_input = 3 does not divide"));
  CHECK_THAT(message_of([](CodeFormat& f) { f.digits_per_input = 0; }),
             Contains("network.digits_per_input = 0"));
  CHECK_THAT(message_of([](CodeFormat& f) { f.code_offset = 0; }),
             Contains("workload.code_offset = 0"));
  CHECK_THAT(message_of([](CodeFormat& f) { f.code_offset = 255; }),
             Contains("workload.code_offset = 255"));
  CHECK_THROWS_AS(make_code_format(4, 1 << 30), ConfigError);
  CHECK_THROWS_WITH(all_codes(make_code_format(4, 8), 28560), Contains("28561 codes"));
}

TEST_CASE("Gray codes of neighbouring levels differ in one bit") {
  CHECK(gray_of(0) == 0);
  CHECK(gray_of(1) == 1);
  CHECK(gray_of(2) == 3);
  CHECK(gray_of(3) == 2);
}

}  // namespace optinc
