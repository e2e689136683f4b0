// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "solver/backend/registry.hpp"

namespace optinc {

/// The CUDA backend, or a stub entry that says why it is not there.
BackendEntry cuda_backend_entry();

}  // namespace optinc
