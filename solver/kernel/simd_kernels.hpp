// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "solver/kernel/code_layer.hpp"
#include "solver/kernel/mesh_sweep.hpp"

namespace optinc {

/// The vector kernels of one instruction set in one precision. What happens to a sample or code
/// does not depend on its place nor on its neighbours.
template <class Real>
struct SimdKernels {
  /// Sends the fields of a tile through the elements of a mesh, in place; the output screen is left
  /// to the caller.
  void (*sweep)(std::span<const SweepStep<Real>> steps, FieldTile<Real> tile){};

  /// One layer for as many panels as `inputs` has. `outputs` has room for whole blocks of neurons.
  void (*evaluate_layer)(const PackedLayer<Real>& layer, CodePanels<Real> inputs,
                         CodePanels<Real> outputs){};

  std::size_t codes_per_panel{};

  /// Does multiply_adds_per_round times `rounds` multiply-adds x <- x / 2 + start on registers, as
  /// fast as they can be done, and returns a sum that depends on all of them: 24 start per lane
  /// after many rounds.
  Real (*multiply_adds)(std::size_t rounds, Real start){};

  std::size_t multiply_adds_per_round{};
};

/// An instruction set with its kernels.
struct InstructionSet {
  std::string_view name;  ///< one of instruction_set_names()
  SimdKernels<float> f32;
  SimdKernels<double> f64;
};

/// Every instruction set that may be asked for, best first.
const std::vector<std::string>& instruction_set_names();

/// Those that this CPU has, best first; never empty.
std::span<const InstructionSet> cpu_instruction_sets();

/// The instruction set called `name`; "auto" is the best one. Throws BackendError (with those
/// there are) when this CPU lacks it, ConfigError (with the known names) when there is no such
/// name.
const InstructionSet& find_instruction_set(std::string_view name);

}  // namespace optinc
