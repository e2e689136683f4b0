// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "noise/combiner_errors.hpp"
#include "noise/static_errors.hpp"
#include "solver/config/sweep_config.hpp"
#include "solver/error.hpp"
#include "solver/names.hpp"
#include "solver/optinc/receiver_link.hpp"
#include "solver/optinc/symbol_effects.hpp"

namespace optinc {

/// The enumerator that a choice key names; the schema has checked the name.
template <class Enum>
Enum choice(const ResolvedConfig& config, const std::string& path) {
  const std::optional<Enum> value = parse_enum<Enum>(config.text(path));
  if (!value) throw ConfigError(fmt::format("{} = \"{}\"", path, config.text(path)));
  return *value;
}

/// The static imperfections and the layout of a configuration; reads the table of thermal
/// crosstalk where it names one. Throws ConfigError for parameters of an effect that is not on,
/// DataError for the table.
StaticImperfections imperfections_of(const ResolvedConfig& config, const SweepConfig& sweep);

/// The imperfections behind the network. Throws ConfigError for keys without those they need.
ReceiverImperfections receiver_of(const ResolvedConfig& config);

/// Whether a key can say something of a mesh by itself: an imperfection of meshes, the layout, or
/// the preset, of which those are taken.
bool acts_on_meshes(std::string_view path);

/// The imperfections ahead of the network.
CombinerImperfections combiner_of(const ResolvedConfig& config);

/// What differs between symbols. Throws ConfigError for an effect without what it needs.
SymbolEffects symbol_effects_of(const ResolvedConfig& config);

}  // namespace optinc
