// SPDX-License-Identifier: Apache-2.0
#include "solver/kernel/simd_kernels.hpp"

// The kernels are compiled for each of these, also where the compiler could assume a better one, so
// that any of them can be asked for.
#define HWY_COMPILE_ALL_ATTAINABLE
// Neither has a name of its own: SSSE3 lacks little of SSE4, AVX3_DL adds nothing used here.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "solver/kernel/simd_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "solver/kernel/code_layer-inl.hpp"
#include "solver/kernel/mesh_sweep-inl.hpp"
#include "solver/kernel/peak-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace optinc {
namespace HWY_NAMESPACE {

template <class Real>
SimdKernels<Real> kernels() {
  return {.sweep = sweep<Real>,
          .evaluate_layer = evaluate_layer<Real>,
          .codes_per_panel = codes_per_panel<Real>(),
          .multiply_adds = multiply_adds<Real>,
          .multiply_adds_per_round = multiply_adds_per_round<Real>()};
}

InstructionSet instruction_set(std::string_view name) {
  return {.name = name, .f32 = kernels<float>(), .f64 = kernels<double>()};
}

}  // namespace HWY_NAMESPACE
}  // namespace optinc
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>
#include <cstdint>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "solver/error.hpp"

namespace optinc {

namespace {

std::vector<InstructionSet> detect_instruction_sets() {
  std::vector<InstructionSet> sets;
  [[maybe_unused]] const std::int64_t supported = hwy::SupportedTargets();
#if HWY_TARGETS & HWY_AVX3
  if (supported & HWY_AVX3) sets.push_back(N_AVX3::instruction_set("avx512"));
#endif
#if HWY_TARGETS & HWY_AVX2
  if (supported & HWY_AVX2) sets.push_back(N_AVX2::instruction_set("avx2"));
#endif
#if HWY_TARGETS & HWY_SSE4
  if (supported & HWY_SSE4) sets.push_back(N_SSE4::instruction_set("sse4"));
#endif
#if HWY_TARGETS & HWY_EMU128
  sets.push_back(N_EMU128::instruction_set("scalar"));
#else
  sets.push_back(N_SCALAR::instruction_set("scalar"));
#endif
  return sets;
}

std::string names_of(std::span<const InstructionSet> sets) {
  std::vector<std::string_view> names;
  for (const InstructionSet& set : sets) names.push_back(set.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

const std::vector<std::string>& instruction_set_names() {
  static const std::vector<std::string> names = {"avx512", "avx2", "sse4", "scalar"};
  return names;
}

std::span<const InstructionSet> cpu_instruction_sets() {
  static const std::vector<InstructionSet> sets = detect_instruction_sets();
  return sets;
}

const InstructionSet& find_instruction_set(std::string_view name) {
  const std::span<const InstructionSet> sets = cpu_instruction_sets();
  if (name == "auto") return sets.front();
  const auto found = std::find_if(sets.begin(), sets.end(),
                                  [&](const InstructionSet& set) { return set.name == name; });
  if (found != sets.end()) return *found;
  const std::vector<std::string>& known = instruction_set_names();
  if (std::find(known.begin(), known.end(), name) != known.end()) {
    throw BackendError(fmt::format(
        "this CPU has no instruction set '{}' (it has {}); use one of those or --cpu-target auto",
        name, names_of(sets)));
  }
  throw ConfigError(
      fmt::format("unknown instruction set '{}' (known: auto, {})", name, fmt::join(known, ", ")));
}

}  // namespace optinc
#endif
