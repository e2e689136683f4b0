// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "solver/config/sweep_config.hpp"

namespace optinc {

/// How the strength of an imperfection follows from the value of its key. Strengths are positive
/// and grow with the imperfection; they are varied in equal ratios.
enum class Strength {
  plain,        ///< the value
  decibel,      ///< of a power: 10^(value / 10)
  attenuation,  ///< 10^(-value / 10)
  shortfall,    ///< from one: 1 - value
  bits,         ///< 2^-value; whole values only
};

double strength_of(Strength kind, double value);
double value_of_strength(Strength kind, double strength);

/// One key to vary, over values from `mildest` to `strongest`.
struct VariedKey {
  std::string path;
  Strength strength{};
  double mildest{};
  double strongest{};
  /// Keys without which it means nothing, each "path" or "path=value".
  std::vector<std::string> needs = {};
};

/// The imperfections that have a range of their own.
const std::vector<VariedKey>& varied_keys();

/// The first of `needs` that a configuration does not fulfil; none where it can be varied.
std::optional<std::string> missing_need(const VariedKey& key, const ResolvedConfig& point);

/// Throws ConfigError where the key that an option varies lacks such a need; one without a range of
/// its own needs nothing. Args: option: with its value, for the message.
void require_needs(const std::string& option, const std::string& path, const ResolvedConfig& point);

/// The key that an option asks for: "PATH" or "PATH:LOW:HIGH", the range in the unit of the key and
/// in either order. Throws ConfigError, its message beginning with the option, for what is no
/// numeric key under imperfections, for a range that the key does not allow or whose strengths are
/// not positive and different, and for a key without a range of its own where none is given.
VariedKey parse_varied_key(const std::string& option, const std::string& text);

/// One key to draw from a range.
struct SampledKey {
  std::string path;
  double low{};
  double high{};
  bool logarithmic = false;  ///< in equal ratios, else uniform
  bool whole = false;        ///< whole values, each alike where uniform

  /// Args: unit, from 0 up to 1.
  ConfigValue value(double unit) const;
};

/// The key that an option asks for: "PATH:LOW:HIGH" or "PATH:LOW:HIGH:log". Throws ConfigError, its
/// message beginning with the option, for what is no numeric key under imperfections and for a
/// range that the key does not allow, is empty, or begins at or below zero with log.
SampledKey parse_sampled_key(const std::string& option, const std::string& text);

/// The values of a key in equal ratios of strength.
class StrengthSteps {
 public:
  /// Args: resolution, largest relative difference of neighbouring strengths, above 0; bits go in
  /// steps of one whatever it is.
  StrengthSteps(VariedKey key, double resolution);

  std::size_t last() const { return last_; }
  double value(std::size_t step) const;

  /// The value with the imperfection off; none where the key has to be left out for that.
  std::optional<ConfigValue> off() const;

  /// `base` with the value of a step, or off.
  ResolvedConfig with(const ResolvedConfig& base, std::optional<std::size_t> step) const;

 private:
  VariedKey key_;
  std::size_t last_ = 1;
};

}  // namespace optinc
