// SPDX-License-Identifier: Apache-2.0
#include "solver/gradient/quantised_stream.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "noise/stream.hpp"
#include "solver/error.hpp"

namespace optinc {
namespace {

class BlockQuantiser {
 public:
  BlockQuantiser(const GradientSource& source, const CodeFormat& format,
                 const QuantiserOptions& options,
                 const std::function<void(const QuantisedPiece&)>& visit)
      : source_(source),
        format_(format),
        options_(options),
        visit_(visit),
        servers_(static_cast<std::size_t>(format.servers)),
        capacity_(static_cast<std::size_t>(std::min(options.block, source.elements()))),
        block_(capacity_ * servers_),
        values_(capacity_ * servers_),
        uniforms_(options.rounding_seed ? capacity_ : 0) {}

  void run() {
    for (std::size_t tensor = 0; tensor < source_.tensors().size(); ++tensor) read_tensor(tensor);
    finish_block();
  }

 private:
  /// Elements [position, position + count) of the block belong to one tensor.
  struct Place {
    std::size_t tensor{};
    std::uint64_t first{};
    std::size_t position{};
    std::size_t count{};
  };

  void read_tensor(std::size_t tensor) {
    const std::uint64_t elements = source_.tensors()[tensor].elements;
    std::uint64_t done = 0;
    while (done < elements) {
      const std::uint64_t count = std::min<std::uint64_t>(capacity_ - filled_, elements - done);
      source_.read(tensor, done, count, block_.data() + filled_, capacity_);
      places_.push_back({tensor, done, filled_, static_cast<std::size_t>(count)});
      filled_ += static_cast<std::size_t>(count);
      done += count;
      if (filled_ == capacity_) finish_block();
    }
  }

  void finish_block() {
    const double scale = block_scale(format_, block_.data(), capacity_, filled_);
    const double shared_scale = options_.power_of_two_scale ? power_of_two_scale(scale) : scale;
    for (std::size_t server = 0; server < servers_; ++server) quantise_row(server, shared_scale);
    for (const Place& place : places_) {
      visit_({.tensor = place.tensor,
              .first = place.first,
              .count = place.count,
              .scale = shared_scale,
              .gradients = block_.data() + place.position,
              .stride = capacity_,
              .values = values_.data() + place.position * servers_});
    }
    places_.clear();
    block_start_ += filled_;
    filled_ = 0;
  }

  void quantise_row(std::size_t server, double scale) {
    const float* row = block_.data() + server * capacity_;
    if (!options_.rounding_seed) {
      for (std::size_t i = 0; i < filled_; ++i) {
        values_[i * servers_ + server] = quantise(format_, row[i], scale);
      }
      return;
    }
    uniform_sequence({.seed = *options_.rounding_seed,
                      .mesh_id = static_cast<std::uint16_t>(server),
                      .draw = DrawId::stochastic_rounding},
                     block_start_, {uniforms_.data(), filled_});
    for (std::size_t i = 0; i < filled_; ++i) {
      values_[i * servers_ + server] =
          quantise_stochastically(format_, row[i], scale, uniforms_[i]);
    }
  }

  const GradientSource& source_;
  const CodeFormat& format_;
  const QuantiserOptions& options_;
  const std::function<void(const QuantisedPiece&)>& visit_;
  std::size_t servers_;
  std::size_t capacity_;
  std::vector<float> block_;           ///< [servers, capacity]
  std::vector<std::uint32_t> values_;  ///< [capacity, servers]
  std::vector<double> uniforms_;       ///< of one server
  std::vector<Place> places_;
  std::uint64_t block_start_ = 0;  ///< in the concatenation of the tensors
  std::size_t filled_ = 0;
};

void check_arguments(const GradientSource& source, const CodeFormat& format, std::uint64_t block) {
  validate(format);
  if (block == 0) throw ConfigError("workload.block = 0 is out of range; give 1 or more");
  if (source.servers() != format.servers) {
    throw ConfigError(
        fmt::format("the trace has {} servers but the unit averages {}; choose a network for {} "
                    "servers or another trace",
                    source.servers(), format.servers, source.servers()));
  }
}

}  // namespace

void quantise_stream(const GradientSource& source, const CodeFormat& format,
                     const QuantiserOptions& options,
                     const std::function<void(const QuantisedPiece&)>& visit) {
  check_arguments(source, format, options.block);
  BlockQuantiser(source, format, options, visit).run();
}

}  // namespace optinc
