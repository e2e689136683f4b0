// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "solver/backend/backend.hpp"

namespace optinc {

/// A backend this program knows about, whether or not it can run here.
struct BackendEntry {
  std::string name;
  std::string description;
  std::string unavailable_reason;  ///< empty when it can run
  std::vector<Precision> precisions;
  std::function<std::unique_ptr<Backend>(Precision)> create;

  bool available() const { return unavailable_reason.empty(); }
};

/// The known backends, best first.
class BackendRegistry {
 public:
  explicit BackendRegistry(std::vector<BackendEntry> entries);

  const std::vector<BackendEntry>& entries() const { return entries_; }

  /// Creates the backend called `requested`; "auto" takes the first that can run with `precision`.
  /// Throws BackendError (with the reason) when it is missing here or lacks the precision, and
  /// ConfigError (with the known names) when there is no such name. Never falls back silently.
  std::unique_ptr<Backend> create(const std::string& requested, Precision precision) const;

 private:
  std::vector<BackendEntry> entries_;
};

/// The oracle: double precision, one thread, scalar column sweep.
BackendEntry reference_backend_entry();

/// The vectorised CPU backend with the instruction set `cpu_target`: "auto" is the best that this
/// CPU has, see find_instruction_set for the others. Creating it throws as find_instruction_set.
BackendEntry cpu_backend_entry(const std::string& cpu_target = "auto");

}  // namespace optinc
