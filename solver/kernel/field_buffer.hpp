// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <complex>
#include <cstddef>
#include <new>
#include <vector>

#include <hwy/aligned_allocator.h>
#include <Eigen/Core>

#include "devices/complex.hpp"
#include "solver/kernel/mesh_sweep.hpp"

namespace optinc {

/// Longest row of a tile of fields. A skewed sweep works on little more than two rows for each of
/// its mesh columns: these stay in the first-level cache however many modes there are.
inline constexpr std::size_t longest_row_bytes = 1024;

inline std::size_t unsigned_size(Eigen::Index size) { return static_cast<std::size_t>(size); }
inline Eigen::Index eigen_index(std::size_t size) { return static_cast<Eigen::Index>(size); }

/// Zeros, aligned for every instruction set. Throws std::bad_alloc.
template <class Real>
hwy::AlignedFreeUniquePtr<Real[]> aligned_zeros(std::size_t count) {
  auto values = hwy::AllocateAligned<Real>(count);
  if (!values) throw std::bad_alloc();
  std::fill_n(values.get(), count, Real(0));
  return values;
}

/// Working memory of a kernel for the fields of some samples at a time.
template <class Real>
class FieldBuffer {
 public:
  FieldBuffer(std::size_t modes, std::size_t samples)
      : modes_(modes),
        width_(tile_width(samples)),
        rows_(aligned_zeros<Real>(2 * modes * width_)) {}

  /// Samples that it holds.
  std::size_t width() const { return width_; }

  FieldTile<Real> tile(std::size_t first_sample) const {
    return {.rows = rows_.get(), .width = width_, .first_sample = first_sample};
  }

  /// Columns `first` ... of the identity.
  void set_identity(std::size_t first) {
    std::fill_n(rows_.get(), 2 * modes_ * width_, Real(0));
    const std::size_t end = std::min(first + width_, modes_);
    for (std::size_t mode = first; mode < end; ++mode) rows_[2 * mode * width_ + mode - first] = 1;
  }

  /// Args: fields [mode, sample], at most width() samples.
  void set(const Eigen::Ref<const Eigen::MatrixXcd>& fields) {
    for (std::size_t sample = 0; sample < unsigned_size(fields.cols()); ++sample) {
      for (std::size_t mode = 0; mode < modes_; ++mode) {
        const std::complex<double> field = fields(eigen_index(mode), eigen_index(sample));
        rows_[2 * mode * width_ + sample] = static_cast<Real>(field.real());
        rows_[(2 * mode + 1) * width_ + sample] = static_cast<Real>(field.imag());
      }
    }
  }

  /// The first columns behind the output screen.
  void get(const std::vector<Complex<double>>& screen, Eigen::Ref<Eigen::MatrixXcd> fields) const {
    for (std::size_t sample = 0; sample < unsigned_size(fields.cols()); ++sample) {
      for (std::size_t mode = 0; mode < modes_; ++mode) {
        const Complex<double> field{static_cast<double>(rows_[2 * mode * width_ + sample]),
                                    static_cast<double>(rows_[(2 * mode + 1) * width_ + sample])};
        const Complex<double> seen = screen[mode] * field;
        fields(eigen_index(mode), eigen_index(sample)) = {seen.re, seen.im};
      }
    }
  }

 private:
  static std::size_t tile_width(std::size_t samples) {
    constexpr std::size_t line = samples_per_line<Real>;
    const std::size_t needed = std::max<std::size_t>(1, (samples + line - 1) / line) * line;
    return std::min(needed, longest_row_bytes / sizeof(Real));
  }

  std::size_t modes_;
  std::size_t width_;
  hwy::AlignedFreeUniquePtr<Real[]> rows_;
};

}  // namespace optinc
