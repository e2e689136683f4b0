// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "solver/backend/backend.hpp"
#include "solver/kernel/simd_kernels.hpp"

namespace optinc {

/// One thing that `optinc bench` times.
struct BenchCase {
  std::string name;  ///< "compose/256"
  double flops = 0;  ///< of one call, by the count that `optinc help bench` states; 0: not counted
  double bytes = 0;  ///< of one call, each read or written once; 0: not counted
  double chips = 0;  ///< simulated by one call
  /// Makes what one thread calls, with data of its own.
  std::function<std::function<void()>()> prepare;
};

/// The engine that is timed. `instructions` is null for a backend without kernels of its own here.
struct BenchEngine {
  const Backend& backend;
  Precision precision{};
  const InstructionSet* instructions{};
};

/// Every case of an engine. It must outlive them.
std::vector<BenchCase> bench_cases(const BenchEngine& engine);

/// Multiply-adds on registers: two flops each.
BenchCase peak_case(const InstructionSet& instructions, Precision precision);

/// Copies memory that no cache holds.
BenchCase copy_case();

}  // namespace optinc
