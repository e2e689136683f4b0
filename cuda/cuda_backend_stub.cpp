// SPDX-License-Identifier: Apache-2.0
#include "cuda/cuda_backend.hpp"

namespace optinc {

BackendEntry cuda_backend_entry() {
  return {.name = "cuda",
          .description = "CUDA, one or several NVIDIA GPUs",
          .unavailable_reason = "not built yet: this version has no CUDA kernels",
          .precisions = {Precision::f32, Precision::f64},
          .create = nullptr};
}

}  // namespace optinc
