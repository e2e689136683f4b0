// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <fmt/format.h>

#include "solver/error.hpp"

namespace optinc {

/// What `action` returns. A ConfigError or DataError that it throws is thrown on with `file` in
/// front: for code that works on the content of a file without knowing its name.
template <class Action>
auto with_file_name(const std::string& file, const Action& action) {
  try {
    return action();
  } catch (const ConfigError& error) {
    throw ConfigError(fmt::format("{}: {}", file, error.what()));
  } catch (const DataError& error) {
    throw DataError(fmt::format("{}: {}", file, error.what()));
  }
}

}  // namespace optinc
