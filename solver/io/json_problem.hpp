// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace optinc {

/// What is wrong with a JSON text or document, for messages: the library's reason without the names
/// of its classes and functions.
inline std::string json_problem(const nlohmann::json::exception& error) {
  const bool names_functions =
      dynamic_cast<const nlohmann::json::parse_error*>(&error) == nullptr &&
      dynamic_cast<const nlohmann::json::out_of_range*>(&error) == nullptr;
  if (names_functions) return "a value has another type than expected";
  const std::string text = error.what();
  const std::size_t end_of_class = text.find("] ");
  return end_of_class == std::string::npos ? text : text.substr(end_of_class + 2);
}

}  // namespace optinc
