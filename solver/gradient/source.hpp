// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace optinc {

/// One tensor of a gradient, in trace order.
struct TraceTensor {
  std::string name;
  std::uint64_t elements{};  ///< per server
};

/// Gradients of N servers that are read piece by piece: from a file, or made as they are read.
class GradientSource {
 public:
  virtual ~GradientSource() = default;

  virtual int servers() const = 0;
  virtual const std::vector<TraceTensor>& tensors() const = 0;

  /// Total per server.
  virtual std::uint64_t elements() const = 0;

  /// Reads elements [first, first + count) of one tensor for all servers into
  /// `out[server * stride + i]`. All values are finite. Throws DataError.
  virtual void read(std::size_t tensor, std::uint64_t first, std::uint64_t count, float* out,
                    std::size_t stride) const = 0;

 protected:
  GradientSource() = default;
  GradientSource(const GradientSource&) = default;
  GradientSource(GradientSource&&) = default;
  GradientSource& operator=(const GradientSource&) = default;
  GradientSource& operator=(GradientSource&&) = default;
};

}  // namespace optinc
