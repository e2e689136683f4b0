// SPDX-License-Identifier: Apache-2.0
#include "solver/montecarlo/shard.hpp"

#include <charconv>
#include <system_error>

#include <fmt/format.h>

#include "solver/error.hpp"

namespace optinc {

namespace {

bool parse_count(std::string_view text, std::uint32_t& count) {
  const char* const text_end = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), text_end, count);
  return error == std::errc() && end == text_end;
}

}  // namespace

std::optional<Shard> parse_shard(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  Shard shard;
  const bool numbers = parse_count(text.substr(0, slash), shard.index) &&
                       parse_count(text.substr(slash + 1), shard.count);
  if (!numbers || shard.index >= shard.count) return std::nullopt;
  return shard;
}

void require_chips(const Shard& shard, std::uint64_t of) {
  if (shard.chips(of) > 0) return;
  throw ConfigError(fmt::format(
      "--shard {} has no chips (a point has {}, number 0 to {}); use at most {} shards or more "
      "chips",
      shard_text(shard), of, of - 1, of));
}

std::string shard_text(const Shard& shard) {
  return fmt::format("{}/{}", shard.index, shard.count);
}

}  // namespace optinc
