// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "solver/gradient/statistics.hpp"
#include "solver/onn/training/dense_pass.hpp"
#include "solver/optinc/code.hpp"

namespace optinc {

/// Codes of a gradient with how often each occurs.
struct CodeHistogram {
  std::vector<CodeKey> codes;
  std::vector<std::uint64_t> occurrences;
};

/// The histogram of a reduced gradient.
CodeHistogram histogram_of(const CodeTable& table);

/// What minibatches are made of.
struct CodeMixture {
  std::vector<CodeHistogram> traces;
  double trace_share = 0;  ///< of every minibatch drawn from the histograms, in equal parts
};

/// The codes of every minibatch, each a function of its number, the seed and the mixture alone. The
/// part that is not from traces goes through the whole alphabet in a new random order again and
/// again; alphabets above largest_permutation are drawn from, levels independent and uniform.
class CodeStream {
 public:
  static constexpr std::uint64_t largest_permutation = std::uint64_t{1} << 24U;

  CodeStream(const CodeFormat& format, CodeMixture mixture, std::size_t batch, std::uint64_t seed);

  std::vector<CodeKey> batch(std::uint64_t step);

  /// Codes of each minibatch that go through the alphabet.
  std::size_t alphabet_part() const { return alphabet_part_; }

 private:
  CodeKey alphabet_code(std::uint64_t index);
  void shuffle(std::uint64_t round);
  void add_trace_codes(std::uint64_t step, std::vector<CodeKey>& codes) const;

  CodeFormat format_;
  CodeMixture mixture_;
  std::vector<std::vector<std::uint64_t>> cumulative_;  ///< of each trace's occurrences
  std::size_t batch_;
  std::size_t alphabet_part_;
  std::uint64_t seed_;
  std::vector<std::uint32_t> order_;  ///< of the alphabet in round round_
  std::uint64_t round_ = 0;
};

/// Inputs and digits for codes.
CodeBatch code_batch(const CodeFormat& format, const std::vector<CodeKey>& codes);

}  // namespace optinc
