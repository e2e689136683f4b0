// SPDX-License-Identifier: Apache-2.0
#include "solver/text.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>

#include <fmt/format.h>

namespace optinc {

namespace {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> previous(b.size() + 1);
  std::iota(previous.begin(), previous.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::vector<std::size_t> current{i + 1};
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t substitute = previous[j] + (a[i] == b[j] ? 0 : 1);
      current.push_back(std::min({substitute, previous[j + 1] + 1, current[j] + 1}));
    }
    previous = std::move(current);
  }
  return previous.back();
}

}  // namespace

std::string nearest_name(std::string_view text, const std::vector<std::string>& known) {
  const auto nearest =
      std::min_element(known.begin(), known.end(), [&](const auto& left, const auto& right) {
        return edit_distance(text, left) < edit_distance(text, right);
      });
  return nearest == known.end() ? std::string() : *nearest;
}

std::string csv_number(double value) {
  if (std::isnan(value)) return "";
  return fmt::format("{}", value);
}

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char character : text) {
    if (character == '"') quoted += '"';
    quoted += character;
  }
  return quoted + '"';
}

bool split_csv(std::string_view line, std::vector<std::string>& fields) {
  fields.assign(1, "");
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char character = line[i];
    if (quoted) {
      const bool escaped_quote = character == '"' && i + 1 < line.size() && line[i + 1] == '"';
      if (escaped_quote) {
        fields.back() += '"';
        ++i;
      } else if (character == '"') {
        quoted = false;
        if (i + 1 < line.size() && line[i + 1] != ',') return false;
      } else {
        fields.back() += character;
      }
    } else if (character == ',') {
      fields.emplace_back();
    } else if (character == '"') {
      if (!fields.back().empty()) return false;
      quoted = true;
    } else {
      fields.back() += character;
    }
  }
  return !quoted;
}

bool parse_number(std::string_view text, double& value) {
  if (text.empty()) {
    value = std::numeric_limits<double>::quiet_NaN();
    return true;
  }
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace optinc
