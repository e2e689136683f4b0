// SPDX-License-Identifier: Apache-2.0
#include "solver/backend/registry.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "solver/error.hpp"

namespace optinc {

namespace {

const char* precision_name(Precision precision) {
  return precision == Precision::f32 ? "f32" : "f64";
}

bool supports(const BackendEntry& entry, Precision precision) {
  return std::find(entry.precisions.begin(), entry.precisions.end(), precision) !=
         entry.precisions.end();
}

std::string known_names(const std::vector<BackendEntry>& entries) {
  std::string names = "auto";
  for (const BackendEntry& entry : entries) names += ", " + entry.name;
  return names;
}

}  // namespace

BackendRegistry::BackendRegistry(std::vector<BackendEntry> entries)
    : entries_(std::move(entries)) {}

std::unique_ptr<Backend> BackendRegistry::create(const std::string& requested,
                                                 Precision precision) const {
  for (const BackendEntry& entry : entries_) {
    const bool named = entry.name == requested;
    if (requested == "auto" && entry.available() && supports(entry, precision)) {
      return entry.create(precision);
    }
    if (named && !entry.available()) {
      throw BackendError(fmt::format(
          "backend '{}' is not available here ({}); use --backend auto or see `optinc info`",
          entry.name, entry.unavailable_reason));
    }
    if (named && !supports(entry, precision)) {
      throw BackendError(fmt::format("backend '{}' has no precision {}; use another --precision",
                                     entry.name, precision_name(precision)));
    }
    if (named) return entry.create(precision);
  }
  if (requested == "auto") {
    throw BackendError(fmt::format(
        "no backend available here has precision {}; use another --precision or see `optinc info`",
        precision_name(precision)));
  }
  throw ConfigError(
      fmt::format("unknown backend '{}' (known: {})", requested, known_names(entries_)));
}

}  // namespace optinc
