// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace optinc {

/// One of `count` parts of a sweep: of every point the chips with number mod `count` = `index`.
struct Shard {
  std::uint32_t index = 0;
  std::uint32_t count = 1;

  /// Whether it is the whole sweep.
  bool whole() const { return count == 1; }

  /// How many of the chips 0 .. `of` - 1 it has.
  std::uint64_t chips(std::uint64_t of) const {
    return of > index ? (of - index - 1) / count + 1 : 0;
  }

  /// Number of its chip at `position` (from 0).
  std::uint64_t chip(std::uint64_t position) const { return index + position * count; }

  bool has(std::uint64_t chip) const { return chip % count == index; }
};

/// Reads "i/n", 0 <= i < n; nothing for any other text.
std::optional<Shard> parse_shard(std::string_view text);

/// Throws ConfigError when the shard has none of the chips 0 .. `of` - 1.
void require_chips(const Shard& shard, std::uint64_t of);

/// "i/n".
std::string shard_text(const Shard& shard);

}  // namespace optinc
