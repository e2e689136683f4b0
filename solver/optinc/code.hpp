// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include <Eigen/Core>

namespace optinc {

/// Rounding of the average v to the integer Q(v).
enum class Rounding { half_up, half_even, floor };

/// The default number of digits merged per network input: 1 for bits <= 8, else 2 where the count
/// of digits, those of the fraction included, is even, else 1.
int default_digits_per_input(int bits, int input_fraction_digits = 0);

/// Base-4 digits that averages of that many values need behind the point to be exact. Throws
/// ConfigError unless `servers` is a power of 2 (no number of digits suffices for others).
int fraction_digits(int servers);

/// How values travel as symbols. Digits are base 4, index 0 least significant. Units of a cascade
/// take or give values with digits behind the point: these come first, and such a value is the
/// integer that all its digits form, times 4^-F.
struct CodeFormat {
  int servers = 4;           ///< N, 2..64
  int bits = 8;              ///< b, even, 4..16
  int digits_per_input = 1;  ///< m, divides the digit count
  Rounding rounding = Rounding::half_up;
  std::int64_t code_offset = 128;  ///< o: the code that means zero; default 2^(b-1)
  int input_fraction_digits = 0;   ///< F_in, 0..3, of the values that are averaged
  /// F_out, 0..3, of the average. With any, the average is exact, so 4^F_out must be a multiple of
  /// N 4^F_in.
  int output_fraction_digits = 0;

  int digits() const { return bits / 2; }                                  ///< M
  int input_digits() const { return digits() + input_fraction_digits; }    ///< M + F_in
  int output_digits() const { return digits() + output_fraction_digits; }  ///< M + F_out
  int inputs() const { return input_digits() / digits_per_input; }         ///< K
  std::int64_t levels() const;     ///< (4^m - 1) N + 1 values of one input
  std::int64_t max_value() const;  ///< 2^b - 1

  /// levels^K as a double (may exceed 2^63).
  double alphabet_size() const;

  friend bool operator==(const CodeFormat&, const CodeFormat&) = default;
};

/// Format with the defaults of `bits` filled in, without fractions.
CodeFormat make_code_format(int servers, int bits);

/// Throws ConfigError when a field is outside its range (message names it).
void validate(const CodeFormat& format);

/// A code: the K input levels N a_k packed in mixed radix, sum_k level_k levels^k.
using CodeKey = std::uint64_t;

/// Code of one element from the N transmitted values u_s in 0..4^(M + F_in) - 1.
CodeKey code_of(const CodeFormat& format, const std::uint32_t* values);

/// N 4^F_in v = sum_k 4^{m k} level_k, exactly.
std::int64_t scaled_average(const CodeFormat& format, CodeKey code);

/// What an ideal unit gives, as the integer of its output digits: Q(v), or 4^F_out v where the
/// format has output fraction digits. half_even looks at the parity of the integer value Q itself.
/// Codes of more than 2^b - 1, which averages of b bits do not reach, give all digits 3.
std::int64_t round_average(const CodeFormat& format, std::int64_t scaled_average);

/// round_average of every code: what an ideal unit decodes.
std::vector<std::int64_t> target_values(const CodeFormat& format,
                                        const std::vector<CodeKey>& codes);

/// Network inputs a_k in digit units, [K, codes].
Eigen::MatrixXd network_inputs(const CodeFormat& format, const std::vector<CodeKey>& codes);

/// Every code of the alphabet in increasing key. Throws ConfigError above `max_codes`.
std::vector<CodeKey> all_codes(const CodeFormat& format, std::uint64_t max_codes);

/// Digit i of a value.
inline int digit_of(std::int64_t value, int index) {
  return static_cast<int>((value >> (2 * index)) & 3);
}

/// Gray code of a PAM4 level: 0, 1, 3, 2.
inline int gray_of(int digit) { return digit ^ (digit >> 1); }

}  // namespace optinc
