// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace optinc {

/// Of `known` the entry with the smallest edit distance to `text`; "" when there is none.
std::string nearest_name(std::string_view text, const std::vector<std::string>& known);

/// Shortest decimal that reads back as the same double; "" for NaN, "inf" and "-inf".
std::string csv_number(double value);

/// Field quoted as RFC 4180 asks where it holds a comma, quote or line break.
std::string csv_field(std::string_view text);

/// Splits one RFC 4180 record (without its line break). Returns false on a malformed one.
bool split_csv(std::string_view line, std::vector<std::string>& fields);

/// Reads a whole decimal number, locale-independent; "" reads as NaN. Returns false on junk.
bool parse_number(std::string_view text, double& value);

}  // namespace optinc
