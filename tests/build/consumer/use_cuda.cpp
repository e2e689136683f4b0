// SPDX-License-Identifier: Apache-2.0
#include "cuda/cuda_backend.hpp"

int main() { return optinc::cuda_backend_entry().name == "cuda" ? 0 : 1; }
