// SPDX-License-Identifier: Apache-2.0
#include "solver/gradient/cascade_codes.hpp"

#include <algorithm>
#include <cstddef>
#include <unordered_set>

#include <fmt/format.h>

#include "solver/error.hpp"
#include "solver/gradient/quantised_stream.hpp"

namespace optinc {

namespace {

using CodeSets = std::vector<std::unordered_set<CodeKey>>;

void add_element(const CascadeFormat& format, const std::uint32_t* values, CodeSets& sets) {
  const auto units = static_cast<std::size_t>(format.units());
  std::vector<std::uint32_t> passed(units);
  for (std::size_t unit = 0; unit < units; ++unit) {
    const CodeKey code =
        code_of(format.level1, values + unit * static_cast<std::size_t>(format.level1.servers));
    sets[unit].insert(code);
    passed[unit] = static_cast<std::uint32_t>(
        round_average(format.level1, scaled_average(format.level1, code)));
  }
  sets.back().insert(code_of(format.level2, passed.data()));
}

void require_few(const CodeSets& sets, std::uint64_t most_codes) {
  for (const auto& set : sets) {
    if (set.size() <= most_codes) continue;
    throw ConfigError(
        fmt::format("more than max_codes = {} different codes reach a unit of the cascade; raise "
                    "max_codes, or use fewer bits or servers",
                    most_codes));
  }
}

std::vector<CodeKey> sorted(const std::unordered_set<CodeKey>& set) {
  std::vector<CodeKey> codes(set.begin(), set.end());
  std::sort(codes.begin(), codes.end());
  return codes;
}

}  // namespace

std::vector<std::vector<CodeKey>> cascade_codes(const GradientSource& source,
                                                const CascadeFormat& format,
                                                const QuantiserOptions& options,
                                                std::uint64_t most_codes) {
  const auto servers = static_cast<std::size_t>(format.total.servers);
  CodeSets sets(static_cast<std::size_t>(format.units()) + 1);
  quantise_stream(source, format.total, options, [&](const QuantisedPiece& piece) {
    for (std::size_t i = 0; i < piece.count; ++i) {
      add_element(format, piece.values + i * servers, sets);
    }
    require_few(sets, most_codes);
  });
  std::vector<std::vector<CodeKey>> codes;
  for (const auto& set : sets) codes.push_back(sorted(set));
  return codes;
}

}  // namespace optinc
