// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>

namespace optinc {

/// Process exit codes, a public contract.
enum class ExitCode : int {
  done = 0,
  internal_error = 1,
  usage = 2,
  data = 3,
  backend_unavailable = 4,
  time_limit = 5,
  interrupted = 130,
  terminated = 143,
};

/// An error the user can act on. The message has the shape: problem (why) what to do.
class UserError : public std::runtime_error {
 public:
  UserError(ExitCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ExitCode code() const { return code_; }

 private:
  ExitCode code_;
};

/// Usage or configuration: exit code 2.
class ConfigError : public UserError {
 public:
  explicit ConfigError(const std::string& message) : UserError(ExitCode::usage, message) {}
};

/// Corrupt, missing or conflicting data: exit code 3.
class DataError : public UserError {
 public:
  explicit DataError(const std::string& message) : UserError(ExitCode::data, message) {}
};

/// A backend, precision or instruction set that was asked for is not there: exit code 4.
class BackendError : public UserError {
 public:
  explicit BackendError(const std::string& message)
      : UserError(ExitCode::backend_unavailable, message) {}
};

}  // namespace optinc
