// SPDX-License-Identifier: Apache-2.0
#include "solver/onn/training/code_stream.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "noise/stream.hpp"
#include "solver/onn/accuracy.hpp"

namespace optinc {

namespace {

/// Which sequence of DrawId::training_codes.
enum class Sequence : std::uint16_t { order = 0, levels = 1, trace = 2 };

StreamAddress address_of(Sequence sequence, std::uint64_t seed, std::uint32_t number = 0) {
  return {.seed = seed,
          .chip = number,
          .mesh_id = static_cast<std::uint16_t>(sequence),
          .draw = DrawId::training_codes};
}

}  // namespace

CodeHistogram histogram_of(const CodeTable& table) {
  CodeHistogram histogram{.codes = table.codes, .occurrences = {}};
  for (const CodeStatistics& statistics : table.statistics) {
    histogram.occurrences.push_back(statistics.count);
  }
  return histogram;
}

CodeStream::CodeStream(const CodeFormat& format, CodeMixture mixture, std::size_t batch,
                       std::uint64_t seed)
    : format_(format), mixture_(std::move(mixture)), batch_(batch), seed_(seed) {
  for (const CodeHistogram& trace : mixture_.traces) {
    std::vector<std::uint64_t>& sums = cumulative_.emplace_back(trace.occurrences.size());
    std::partial_sum(trace.occurrences.begin(), trace.occurrences.end(), sums.begin());
  }
  const double share = mixture_.traces.empty() ? 0 : mixture_.trace_share;
  alphabet_part_ =
      batch - static_cast<std::size_t>(std::lround(share * static_cast<double>(batch)));
  if (format.alphabet_size() <= static_cast<double>(largest_permutation)) {
    order_.resize(static_cast<std::size_t>(format.alphabet_size()));
    shuffle(0);
  }
}

std::vector<CodeKey> CodeStream::batch(std::uint64_t step) {
  std::vector<CodeKey> codes;
  codes.reserve(batch_);
  for (std::size_t i = 0; i < alphabet_part_; ++i) {
    codes.push_back(alphabet_code(step * alphabet_part_ + i));
  }
  add_trace_codes(step, codes);
  return codes;
}

CodeKey CodeStream::alphabet_code(std::uint64_t index) {
  if (order_.empty()) return random_code(format_, address_of(Sequence::levels, seed_), index);
  const std::uint64_t round = index / order_.size();
  if (round != round_) shuffle(round);
  return order_[index % order_.size()];
}

/// Fisher-Yates.
void CodeStream::shuffle(std::uint64_t round) {
  round_ = round;
  std::iota(order_.begin(), order_.end(), std::uint32_t{0});
  constexpr std::size_t piece = 4096;
  std::vector<double> uniform(std::min(piece, order_.size()));
  for (std::size_t i = order_.size(); i-- > 1;) {
    const std::size_t drawn = order_.size() - 1 - i;
    if (drawn % piece == 0) {
      uniform_sequence(address_of(Sequence::order, seed_, static_cast<std::uint32_t>(round)), drawn,
                       uniform);
    }
    const auto other =
        static_cast<std::size_t>(uniform[drawn % piece] * static_cast<double>(i + 1));
    std::swap(order_[i], order_[other]);
  }
}

void CodeStream::add_trace_codes(std::uint64_t step, std::vector<CodeKey>& codes) const {
  const std::size_t count = batch_ - alphabet_part_;
  std::vector<double> uniform(count);
  uniform_sequence(address_of(Sequence::trace, seed_), step * count, uniform);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t trace = i % cumulative_.size();
    const std::vector<std::uint64_t>& sums = cumulative_[trace];
    const auto draw = static_cast<std::uint64_t>(uniform[i] * static_cast<double>(sums.back()));
    const auto place = std::upper_bound(sums.begin(), sums.end(), draw) - sums.begin();
    codes.push_back(mixture_.traces[trace].codes[static_cast<std::size_t>(place)]);
  }
}

CodeBatch code_batch(const CodeFormat& format, const std::vector<CodeKey>& codes) {
  const std::vector<std::int64_t> values = target_values(format, codes);
  CodeBatch batch{
      .inputs = network_inputs(format, codes).cast<float>(),
      .targets = Eigen::MatrixXf(format.output_digits(), static_cast<Eigen::Index>(codes.size()))};
  for (std::size_t i = 0; i < codes.size(); ++i) {
    for (int digit = 0; digit < format.output_digits(); ++digit) {
      batch.targets(digit, static_cast<Eigen::Index>(i)) =
          static_cast<float>(digit_of(values[i], digit));
    }
  }
  return batch;
}

}  // namespace optinc
