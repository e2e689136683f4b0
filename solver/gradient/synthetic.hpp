// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "solver/gradient/source.hpp"

namespace optinc {

/// Distribution of a synthetic gradient, symmetric around zero.
enum class SyntheticKind {
  gaussian,   ///< unit normal
  laplace,    ///< density exp(-|x|) / 2
  student_t,  ///< Student's t of SyntheticOptions::degrees_of_freedom
};

/// A gradient that is made from random numbers. Elements of one server are independent.
///
/// Between servers, the elements of one index have unit normal scores
/// z_s = sqrt(r) z_common + sqrt(1 - r) z_own,s of correlation r, and the gradient is scale * x
/// with x = F^-1(Phi(z_s)), F the distribution of the kind (a Gaussian copula). So every server has
/// that distribution exactly, for any r. For `gaussian`, r is the correlation of the gradients
/// themselves; for all kinds it fixes the rank correlation, 6/pi asin(r/2), and the share of
/// elements in which two servers have the same sign, 1/2 + asin(r)/pi.
struct SyntheticOptions {
  SyntheticKind kind{};
  int servers = 4;                     ///< 2..64
  std::uint64_t elements = 1U << 20U;  ///< per server, over all tensors
  int tensors = 1;                     ///< of nearly equal size; no value depends on it
  double correlation = 0;              ///< r, 0..1
  double degrees_of_freedom = 4;       ///< of student_t, 1..1e6
  double scale = 1;                    ///< 1e-30..1e10
  std::uint64_t seed = 1;

  friend bool operator==(const SyntheticOptions&, const SyntheticOptions&) = default;
};

/// Makes the values of SyntheticOptions as they are read. A value depends on the options, its
/// server and its index over all tensors alone, not on how it is read.
class SyntheticGradient : public GradientSource {
 public:
  /// Throws ConfigError for an option outside its range.
  explicit SyntheticGradient(const SyntheticOptions& options);

  int servers() const override { return options_.servers; }
  const std::vector<TraceTensor>& tensors() const override { return tensors_; }
  std::uint64_t elements() const override { return options_.elements; }
  void read(std::size_t tensor, std::uint64_t first, std::uint64_t count, float* out,
            std::size_t stride) const override;

 private:
  SyntheticOptions options_;
  std::vector<TraceTensor> tensors_;
  std::vector<std::uint64_t> starts_;  ///< index of the first element of each tensor
};

}  // namespace optinc
