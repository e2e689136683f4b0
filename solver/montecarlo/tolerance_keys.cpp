// SPDX-License-Identifier: Apache-2.0
#include "solver/montecarlo/tolerance_keys.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <utility>

#include <fmt/format.h>

#include "devices/decibel.hpp"
#include "solver/config/toml_values.hpp"
#include "solver/error.hpp"
#include "solver/text.hpp"

namespace optinc {

namespace {

using std::numbers::pi;

std::vector<VariedKey> make_varied_keys() {
  const std::string coherent = "combiner.mode=coherent";
  const std::string p = "imperfections.";
  const std::vector<VariedKey> keys = {
      {"phase.fabrication_sigma_rad", Strength::plain, 1e-5, pi},
      {"phase.dac_bits", Strength::bits, 16, 4},
      {"phase.drift_sigma_rad",
       Strength::plain,
       1e-5,
       pi,
       {p + "phase.drift_tau_s", p + "phase.time_s"}},
      {"phase.jitter_sigma_rad", Strength::plain, 1e-5, pi},
      {"coupler.sigma_rad", Strength::plain, 1e-5, pi / 4},
      {"coupler.mean_rad", Strength::plain, 1e-5, pi / 4},
      {"loss.mzi_db", Strength::plain, 1e-4, 10},
      {"loss.mzi_sigma_db", Strength::plain, 1e-4, 10},
      {"loss.waveguide_db_per_cm", Strength::plain, 1e-3, 100},
      {"loss.crossing_db", Strength::plain, 1e-4, 10, {"network.mzi=crossing"}},
      {"loss.facet_db", Strength::plain, 1e-3, 30},
      {"crosstalk.thermal.coefficient",
       Strength::plain,
       1e-5,
       1,
       {p + "crosstalk.thermal.model=exponential"}},
      {"crosstalk.optical_db", Strength::decibel, -120, -10},
      {"combiner.amplitude_sigma", Strength::plain, 1e-4, 1},
      {"combiner.phase_sigma_rad", Strength::plain, 1e-4, pi, {coherent}},
      {"laser.server_phase_sigma_rad", Strength::plain, 1e-4, pi, {coherent}},
      {"laser.rin_db_hz", Strength::decibel, -200, -90, {p + "receiver.bandwidth_ghz"}},
      {"laser.linewidth_hz", Strength::plain, 1e2, 1e12, {p + "laser.path_mismatch_m", coherent}},
      {"transmitter.extinction_ratio_db", Strength::attenuation, 60, 0.5},
      {"transmitter.rlm", Strength::shortfall, 0.9999, 0.01},
      {"amplifier.noise_sigma", Strength::plain, 1e-4, 10},
      {"detuning.wavelength_nm", Strength::plain, 1e-4, 100},
      {"detuning.temperature_k", Strength::plain, 1e-3, 500}};
  std::vector<VariedKey> full = keys;
  for (VariedKey& key : full) key.path = p + key.path;
  return full;
}

bool fulfils(const ResolvedConfig& point, const std::string& need) {
  const std::size_t equals = need.find('=');
  const auto found = point.values().find(need.substr(0, equals));
  if (found == point.values().end()) return false;
  return equals == std::string::npos || value_text(found->second) == need.substr(equals + 1);
}

/// The key of that path, or nullptr.
const VariedKey* own_range(const std::string& path) {
  const auto found = std::find_if(varied_keys().begin(), varied_keys().end(),
                                  [&](const VariedKey& key) { return key.path == path; });
  return found == varied_keys().end() ? nullptr : &*found;
}

std::vector<std::string> split_colons(const std::string& text) {
  std::vector<std::string> parts = {""};
  for (const char letter : text) {
    if (letter == ':') {
      parts.emplace_back();
    } else {
      parts.back() += letter;
    }
  }
  return parts;
}

/// A key that the schema knows and that has no range here.
VariedKey plain_key(const ConfigKey& key) {
  const bool bits = key.type == ConfigType::integer && key.path.ends_with("_bits");
  return {key.path, bits ? Strength::bits : Strength::plain, 0, 0};
}

const ConfigKey& numeric_imperfection(const std::string& path, const std::string& where) {
  const ConfigKey& key = toml_values::require_key(config_keys(), path, where);
  const bool number =
      key.type == ConfigType::real || (key.type == ConfigType::integer && path.ends_with("_bits"));
  if (!number || !path.starts_with("imperfections.")) {
    toml_values::fail(where, fmt::format("{} cannot be varied (only numbers under imperfections "
                                         "can, counts apart)",
                                         path));
  }
  return key;
}

double range_end(const ConfigKey& key, const std::string& text, const std::string& where) {
  double value = 0;
  if (text.empty() || !parse_number(text, value)) {
    toml_values::fail(where, fmt::format("'{}' is no number (must be PATH:LOW:HIGH)", text));
  }
  return toml_values::require_in_range(key, value, where);
}

void set_range(const ConfigKey& key, const std::string& text, const std::string& where,
               VariedKey& varied) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) {
    toml_values::fail(where, "the range has one end (must be PATH:LOW:HIGH)");
  }
  varied.mildest = range_end(key, text.substr(0, colon), where);
  varied.strongest = range_end(key, text.substr(colon + 1), where);
  if (strength_of(varied.strength, varied.mildest) >
      strength_of(varied.strength, varied.strongest)) {
    std::swap(varied.mildest, varied.strongest);
  }
  const double least = strength_of(varied.strength, varied.mildest);
  if (least <= 0) {
    toml_values::fail(
        where, fmt::format("{} has no strength above zero at {} (it is varied in equal ratios); "
                           "begin where it acts",
                           key.path, varied.mildest));
  }
  if (least == strength_of(varied.strength, varied.strongest)) {
    toml_values::fail(where, "both ends of the range are the same");
  }
}

}  // namespace

double strength_of(Strength kind, double value) {
  switch (kind) {
    case Strength::plain:
      return value;
    case Strength::decibel:
      return power_ratio(value);
    case Strength::attenuation:
      return power_ratio(-value);
    case Strength::shortfall:
      return 1 - value;
    case Strength::bits:
      return std::exp2(-value);
  }
  return value;
}

double value_of_strength(Strength kind, double strength) {
  switch (kind) {
    case Strength::plain:
      return strength;
    case Strength::decibel:
      return 10 * std::log10(strength);
    case Strength::attenuation:
      return -10 * std::log10(strength);
    case Strength::shortfall:
      return 1 - strength;
    case Strength::bits:
      return std::round(-std::log2(strength));
  }
  return strength;
}

const std::vector<VariedKey>& varied_keys() {
  static const std::vector<VariedKey> keys = make_varied_keys();
  return keys;
}

std::optional<std::string> missing_need(const VariedKey& key, const ResolvedConfig& point) {
  const auto missing = std::find_if(key.needs.begin(), key.needs.end(),
                                    [&](const auto& need) { return !fulfils(point, need); });
  if (missing == key.needs.end()) return std::nullopt;
  return *missing;
}

void require_needs(const std::string& option, const std::string& path,
                   const ResolvedConfig& point) {
  const VariedKey* key = own_range(path);
  if (key == nullptr) return;
  if (const std::optional<std::string> missing = missing_need(*key, point)) {
    throw ConfigError(fmt::format("{} (it acts with {} only); give that too", option, *missing));
  }
}

ConfigValue SampledKey::value(double unit) const {
  const double top = whole && !logarithmic ? high + 1 : high;
  const double drawn = logarithmic ? low * std::pow(high / low, unit) : low + (top - low) * unit;
  if (!whole) return drawn;
  return static_cast<std::int64_t>(logarithmic ? std::round(drawn)
                                               : std::min(std::floor(drawn), high));
}

SampledKey parse_sampled_key(const std::string& option, const std::string& text) {
  const std::string where = fmt::format("{} {}", option, text);
  const std::vector<std::string> parts = split_colons(text);
  const bool logarithmic = parts.size() == 4 && parts[3] == "log";
  const ConfigKey& key = numeric_imperfection(parts[0], where);
  if (parts.size() != 3 && !logarithmic) {
    toml_values::fail(where, "must be PATH:LOW:HIGH or PATH:LOW:HIGH:log");
  }
  SampledKey sampled{.path = key.path,
                     .low = range_end(key, parts[1], where),
                     .high = range_end(key, parts[2], where),
                     .logarithmic = logarithmic,
                     .whole = key.type == ConfigType::integer};
  if (!(sampled.low < sampled.high)) toml_values::fail(where, "the range is empty (LOW < HIGH)");
  if (logarithmic && sampled.low <= 0) {
    toml_values::fail(where, "equal ratios need a range above zero; leave :log out");
  }
  return sampled;
}

VariedKey parse_varied_key(const std::string& option, const std::string& text) {
  const std::string where = fmt::format("{} {}", option, text);
  const std::size_t colon = text.find(':');
  const ConfigKey& key = numeric_imperfection(text.substr(0, colon), where);
  const VariedKey* known = own_range(key.path);
  VariedKey varied = known == nullptr ? plain_key(key) : *known;
  if (colon != std::string::npos) {
    set_range(key, text.substr(colon + 1), where, varied);
  } else if (known == nullptr) {
    toml_values::fail(
        where, fmt::format("{} has no range of its own; give {}:LOW:HIGH", key.path, key.path));
  }
  return varied;
}

StrengthSteps::StrengthSteps(VariedKey key, double resolution) : key_(std::move(key)) {
  if (key_.strength == Strength::bits) {
    last_ = static_cast<std::size_t>(std::abs(key_.mildest - key_.strongest));
    return;
  }
  const double ratio =
      strength_of(key_.strength, key_.strongest) / strength_of(key_.strength, key_.mildest);
  const double steps = std::ceil(std::log(ratio) / std::log1p(resolution));
  last_ = std::max<std::size_t>(1, static_cast<std::size_t>(steps));
}

double StrengthSteps::value(std::size_t step) const {
  if (step == 0) return key_.mildest;
  if (step == last_) return key_.strongest;
  const double first = strength_of(key_.strength, key_.mildest);
  const double ratio = strength_of(key_.strength, key_.strongest) / first;
  const double share = static_cast<double>(step) / static_cast<double>(last_);
  return value_of_strength(key_.strength, first * std::pow(ratio, share));
}

std::optional<ConfigValue> StrengthSteps::off() const {
  const ConfigKey& key = *find_config_key(key_.path);
  if (key.default_value) return key.default_value;
  if (key_.strength == Strength::shortfall) return 1.0;
  if (key_.strength == Strength::plain && key.minimum <= 0) return 0.0;
  return std::nullopt;
}

ResolvedConfig StrengthSteps::with(const ResolvedConfig& base,
                                   std::optional<std::size_t> step) const {
  ResolvedConfig values = base;
  if (!step) {
    const std::optional<ConfigValue> without = off();
    if (without) {
      values.set(key_.path, *without);
    } else {
      values.erase(key_.path);
    }
  } else if (key_.strength == Strength::bits) {
    values.set(key_.path, static_cast<std::int64_t>(value(*step)));
  } else {
    values.set(key_.path, value(*step));
  }
  return values;
}

}  // namespace optinc
