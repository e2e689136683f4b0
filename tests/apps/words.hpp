// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iterator>
#include <sstream>
#include <string>
#include <vector>

namespace optinc::test {

/// The words of a command line.
inline std::vector<std::string> words(const std::string& text) {
  std::istringstream stream(text);
  return {std::istream_iterator<std::string>(stream), std::istream_iterator<std::string>()};
}

/// Words, and one more that may hold anything.
inline std::vector<std::string> words_and(const std::string& text, const std::string& last) {
  std::vector<std::string> result = words(text);
  result.push_back(last);
  return result;
}

}  // namespace optinc::test
