// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <vector>

#include "solver/gradient/source.hpp"

namespace optinc {

/// Reading was stopped on request. Not an error: what to say is up to who asked.
class Stopped : public std::exception {
 public:
  const char* what() const noexcept override { return "stopped on request"; }
};

/// Another gradient, until a stop is asked for.
class StoppableGradient : public GradientSource {
 public:
  StoppableGradient(std::unique_ptr<GradientSource> source, std::function<bool()> stop_requested);

  int servers() const override { return source_->servers(); }
  const std::vector<TraceTensor>& tensors() const override { return source_->tensors(); }
  std::uint64_t elements() const override { return source_->elements(); }

  /// Reads in short pieces and throws Stopped before the next one when a stop is requested.
  void read(std::size_t tensor, std::uint64_t first, std::uint64_t count, float* out,
            std::size_t stride) const override;

 private:
  std::unique_ptr<GradientSource> source_;
  std::function<bool()> stop_requested_;
};

}  // namespace optinc
