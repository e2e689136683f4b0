// SPDX-License-Identifier: Apache-2.0
#include "solver/optinc/code.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "solver/error.hpp"

namespace optinc {
namespace {

void require_range(const char* name, std::int64_t value, std::int64_t lowest,
                   std::int64_t highest) {
  if (value < lowest || value > highest) {
    throw ConfigError(fmt::format("{} = {} is out of range; give a value from {} to {}", name,
                                  value, lowest, highest));
  }
}

void validate_fractions(const CodeFormat& format) {
  constexpr int most_digits = 3;  // the fraction of 1/64
  require_range("input_fraction_digits", format.input_fraction_digits, 0, most_digits);
  require_range("output_fraction_digits", format.output_fraction_digits, 0, most_digits);
  if (format.output_fraction_digits == 0) return;
  const std::int64_t steps = std::int64_t{format.servers} << (2 * format.input_fraction_digits);
  if ((std::int64_t{1} << (2 * format.output_fraction_digits)) % steps != 0) {
    throw ConfigError(
        fmt::format("output_fraction_digits = {} does not hold averages in steps of 1/{} exactly; "
                    "give more, a number of servers that is a power of 2, or 0 to round",
                    format.output_fraction_digits, steps));
  }
}

int bits_per_input(const CodeFormat& format) { return 2 * format.digits_per_input; }

/// Level of the next input, least significant first; the rest of the code stays in `code`.
std::int64_t take_level(const CodeFormat& format, CodeKey& code) {
  const auto levels = static_cast<CodeKey>(format.levels());
  const CodeKey level = code % levels;
  code /= levels;
  return static_cast<std::int64_t>(level);
}

std::int64_t rounded_quotient(Rounding rounding, std::int64_t numerator, std::int64_t denominator) {
  const std::int64_t whole = numerator / denominator;
  const std::int64_t doubled_rest = 2 * (numerator % denominator);
  switch (rounding) {
    case Rounding::floor:
      return whole;
    case Rounding::half_up:
      return whole + (doubled_rest >= denominator ? 1 : 0);
    case Rounding::half_even:
      if (doubled_rest == denominator) return whole + whole % 2;
      return whole + (doubled_rest > denominator ? 1 : 0);
  }
  return whole;
}

}  // namespace

int default_digits_per_input(int bits, int input_fraction_digits) {
  const int digits = bits / 2 + input_fraction_digits;
  return bits > 8 && digits % 2 == 0 ? 2 : 1;
}

int fraction_digits(int servers) {
  const auto count = static_cast<unsigned>(servers);
  if (servers < 1 || !std::has_single_bit(count)) {
    throw ConfigError(
        fmt::format("averages of {} servers have no exact fraction in base-4 digits (the number "
                    "must be a power of 2); choose another number or round (cascade naive)",
                    servers));
  }
  return (std::countr_zero(count) + 1) / 2;
}

std::int64_t CodeFormat::levels() const {
  return ((std::int64_t{1} << (2 * digits_per_input)) - 1) * servers + 1;
}

std::int64_t CodeFormat::max_value() const { return (std::int64_t{1} << bits) - 1; }

double CodeFormat::alphabet_size() const {
  return std::pow(static_cast<double>(levels()), inputs());
}

CodeFormat make_code_format(int servers, int bits) {
  CodeFormat format;
  format.servers = servers;
  format.bits = bits;
  require_range("workload.bits", bits, 4, 16);
  format.digits_per_input = default_digits_per_input(bits);
  format.code_offset = std::int64_t{1} << (bits - 1);
  validate(format);
  return format;
}

void validate(const CodeFormat& format) {
  require_range("servers", format.servers, 2, 64);
  require_range("workload.bits", format.bits, 4, 16);
  if (format.bits % 2 != 0) {
    throw ConfigError(
        fmt::format("workload.bits = {} is odd (a PAM4 symbol carries 2 bits); give an even number",
                    format.bits));
  }
  validate_fractions(format);
  require_range("network.digits_per_input", format.digits_per_input, 1, format.input_digits());
  if (format.input_digits() % format.digits_per_input != 0) {
    throw ConfigError(fmt::format(
        "network.digits_per_input = {} does not divide the {} digits of {} bits{}; give a divisor",
        format.digits_per_input, format.input_digits(), format.bits,
        format.input_fraction_digits > 0 ? " and the fraction" : ""));
  }
  require_range("workload.code_offset", format.code_offset, 1, format.max_value() - 1);
  constexpr double most_codes = 9.2e18;  // keys have 64 bits
  if (format.alphabet_size() > most_codes) {
    throw ConfigError(
        fmt::format("{:.2g} codes are too many to number; merge more digits per input, or use "
                    "fewer bits or servers",
                    format.alphabet_size()));
  }
}

CodeKey code_of(const CodeFormat& format, const std::uint32_t* values) {
  const int shift = bits_per_input(format);
  const std::uint32_t mask = (std::uint32_t{1} << shift) - 1;
  const auto levels = static_cast<CodeKey>(format.levels());
  CodeKey code = 0;
  for (int input = format.inputs() - 1; input >= 0; --input) {
    CodeKey level = 0;
    for (int server = 0; server < format.servers; ++server) {
      level += (values[server] >> (shift * input)) & mask;
    }
    code = code * levels + level;
  }
  return code;
}

std::int64_t scaled_average(const CodeFormat& format, CodeKey code) {
  std::int64_t sum = 0;
  for (int input = 0; input < format.inputs(); ++input) {
    sum += take_level(format, code) << (bits_per_input(format) * input);
  }
  return sum;
}

std::int64_t round_average(const CodeFormat& format, std::int64_t scaled_average) {
  const std::int64_t numerator = scaled_average << (2 * format.output_fraction_digits);
  const std::int64_t denominator = std::int64_t{format.servers}
                                   << (2 * format.input_fraction_digits);
  const std::int64_t largest = (std::int64_t{1} << (2 * format.output_digits())) - 1;
  return std::min(rounded_quotient(format.rounding, numerator, denominator), largest);
}

std::vector<std::int64_t> target_values(const CodeFormat& format,
                                        const std::vector<CodeKey>& codes) {
  std::vector<std::int64_t> values;
  values.reserve(codes.size());
  for (const CodeKey code : codes) {
    values.push_back(round_average(format, scaled_average(format, code)));
  }
  return values;
}

Eigen::MatrixXd network_inputs(const CodeFormat& format, const std::vector<CodeKey>& codes) {
  Eigen::MatrixXd inputs(format.inputs(), static_cast<Eigen::Index>(codes.size()));
  for (Eigen::Index column = 0; column < inputs.cols(); ++column) {
    CodeKey code = codes[static_cast<std::size_t>(column)];
    for (Eigen::Index input = 0; input < inputs.rows(); ++input) {
      inputs(input, column) =
          static_cast<double>(take_level(format, code)) / static_cast<double>(format.servers);
    }
  }
  return inputs;
}

std::vector<CodeKey> all_codes(const CodeFormat& format, std::uint64_t max_codes) {
  const double size = format.alphabet_size();
  if (size > static_cast<double>(max_codes)) {
    throw ConfigError(
        fmt::format("{:.0f} codes are too many to enumerate (the limit is {}); use fewer bits or "
                    "servers, or only the codes that occur in a trace",
                    size, max_codes));
  }
  std::vector<CodeKey> codes(static_cast<std::size_t>(size));
  std::iota(codes.begin(), codes.end(), CodeKey{0});
  return codes;
}

}  // namespace optinc
