// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "devices/complex.hpp"
#include "solver/kernel/compiled_mesh.hpp"
#include "solver/mesh/program.hpp"

namespace optinc {

/// Samples in a cache line, the unit in which kernels work on a row: the same for every
/// instruction set.
template <class Real>
inline constexpr std::size_t samples_per_line = 64 / sizeof(Real);

/// Where one two-mode element acts: on samples [first_sample, end_sample) of `upper_mode` and the
/// mode below it.
struct SweepSite {
  std::size_t flat_index{};  ///< in CompiledMesh::transfers
  std::uint32_t upper_mode{};
  std::uint32_t first_sample{};
  std::uint32_t end_sample{};
};

/// The elements of a mesh in the order in which kernels take them, for fields of any kind. Depends
/// on its columns only.
/// A skewed sweep over the rows takes several mesh columns at once, so that a row is used by all of
/// them while it is in the nearest cache. Every row still meets its elements in propagation order:
/// the result has the bits of a sweep column by column.
std::vector<SweepSite> propagation_sites(const CompiledMesh& mesh);

/// The same order for the identity as input, where sample s starts in mode s alone: samples outside
/// the light cone of a row are zero there and left out. A transfer that is not finite spoils the
/// samples inside its cone only.
std::vector<SweepSite> composition_sites(const CompiledMesh& mesh);

/// One element as a kernel reads it: its transfer rounded to Real, its samples widened to whole
/// cache lines.
template <class Real>
struct SweepStep {
  Transfer2x2<Real> transfer;
  std::uint32_t upper_mode{};
  std::uint32_t first_sample{};
  std::uint32_t end_sample{};
};

/// The steps of `mesh` at `sites` of its topology. Real is float or double.
template <class Real>
std::vector<SweepStep<Real>> sweep_steps(const CompiledMesh& mesh,
                                         const std::vector<SweepSite>& sites);

/// Fields of some samples, real and imaginary parts apart: mode m has its real parts in row 2 m and
/// its imaginary parts in row 2 m + 1. Does not own the memory.
template <class Real>
struct FieldTile {
  Real* rows{};                ///< [2 mode + part][sample], aligned to a cache line
  std::size_t width{};         ///< samples of a row, whole cache lines
  std::size_t first_sample{};  ///< number of the tile's first sample
};

}  // namespace optinc
