// SPDX-License-Identifier: Apache-2.0
#include "solver/gradient/synthetic.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <span>

#include <fmt/format.h>
#include <boost/math/distributions/students_t.hpp>

#include "noise/stream.hpp"
#include "solver/error.hpp"

namespace optinc {
namespace {

using BoostPolicy = boost::math::policies::policy<boost::math::policies::promote_double<false>>;
using StudentT = boost::math::students_t_distribution<double, BoostPolicy>;

template <class Number>
void require_range(const char* name, Number value, Number lowest, Number highest) {
  if (value >= lowest && value <= highest) return;
  throw ConfigError(fmt::format("{} = {} of a synthetic gradient is out of range; give {} to {}",
                                name, value, lowest, highest));
}

void validate(const SyntheticOptions& options) {
  require_range("servers", options.servers, 2, 64);
  require_range<std::uint64_t>("elements", options.elements, 1, std::uint64_t{1} << 53U);
  require_range("tensors", options.tensors, 1, 100'000);
  require_range("correlation", options.correlation, 0.0, 1.0);
  require_range("degrees of freedom", options.degrees_of_freedom, 1.0, 1e6);
  require_range("scale", options.scale, 1e-30, 1e10);
  if (static_cast<std::uint64_t>(options.tensors) > options.elements) {
    throw ConfigError(fmt::format("{} tensors cannot share {} elements; give at least one to each",
                                  options.tensors, options.elements));
  }
}

/// Share of the unit normal distribution farther from zero than |z|.
double two_sided_tail(double z) { return std::erfc(std::abs(z) / std::numbers::sqrt2); }

/// F^-1(Phi(score)) for all scores of `values`, in place.
void transform_scores(const SyntheticOptions& options, std::span<double> values) {
  switch (options.kind) {
    case SyntheticKind::gaussian:
      return;
    case SyntheticKind::laplace:
      for (double& z : values) z = std::copysign(-std::log(two_sided_tail(z)), z);
      return;
    case SyntheticKind::student_t: {
      const StudentT distribution(options.degrees_of_freedom);
      for (double& z : values) {
        z = std::copysign(quantile(complement(distribution, two_sided_tail(z) / 2)), z);
      }
      return;
    }
  }
}

}  // namespace

SyntheticGradient::SyntheticGradient(const SyntheticOptions& options) : options_(options) {
  validate(options);
  const auto tensors = static_cast<std::uint64_t>(options.tensors);
  std::uint64_t start = 0;
  for (std::uint64_t i = 0; i < tensors; ++i) {
    const bool larger = i < options.elements % tensors;
    tensors_.push_back({fmt::format("tensor{}", i), options.elements / tensors + (larger ? 1 : 0)});
    starts_.push_back(start);
    start += tensors_.back().elements;
  }
}

void SyntheticGradient::read(std::size_t tensor, std::uint64_t first, std::uint64_t count,
                             float* out, std::size_t stride) const {
  constexpr std::uint64_t piece = 4096;
  const double common_weight = std::sqrt(options_.correlation);
  const double own_weight = std::sqrt(1 - options_.correlation);
  std::vector<double> common(std::min(piece, count));
  std::vector<double> values(common.size());
  StreamAddress stream{.seed = options_.seed, .draw = DrawId::synthetic_gradient};
  for (std::uint64_t done = 0; done < count; done += piece) {
    const std::size_t size = std::min(piece, count - done);
    const std::uint64_t index = starts_.at(tensor) + first + done;
    const std::span<double> row(values.data(), size);
    stream.mesh_id = 0;
    normal_sequence(stream, index, {common.data(), size});
    for (int server = 0; server < options_.servers; ++server) {
      stream.mesh_id = static_cast<std::uint16_t>(1 + server);
      normal_sequence(stream, index, row);
      for (std::size_t i = 0; i < size; ++i) {
        row[i] = common_weight * common[i] + own_weight * row[i];
      }
      transform_scores(options_, row);
      float* target = out + static_cast<std::size_t>(server) * stride + done;
      for (std::size_t i = 0; i < size; ++i) {
        target[i] = static_cast<float>(options_.scale * row[i]);
      }
    }
  }
}

}  // namespace optinc
