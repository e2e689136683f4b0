// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "solver/backend/registry.hpp"

namespace optinc::testing {

/// The reference backend in double precision, made once.
inline const Backend* reference() {
  static const std::unique_ptr<Backend> backend = reference_backend_entry().create(Precision::f64);
  return backend.get();
}

}  // namespace optinc::testing
