// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "solver/error.hpp"
#include "solver/gradient/metrics.hpp"
#include "solver/gradient/sampling.hpp"
#include "solver/gradient/synthetic.hpp"
#include "tests/support/brute_force_gradient.hpp"

namespace optinc {
namespace {

using test::check_metrics;
using test::concatenation;
using test::Concatenation;
using test::Element;
using test::elements_of;
using test::Expected;

using Values = std::vector<std::uint32_t>;

/// A chip that treats servers differently: what it decodes depends on who sent which value.
long decoded_by(const CodeFormat& format, const Values& values, long target) {
  std::uint32_t mixed = 0;
  for (const std::uint32_t value : values) mixed = mixed * 31 + value;
  long decoded = target;
  if (mixed % 37 == 0) decoded += 4;
  if (mixed % 53 == 0) decoded -= 1;
  return std::clamp(decoded, 0L, static_cast<long>(format.max_value()));
}

Values values_of(const TraceStatistics& statistics, std::size_t entry) {
  const auto servers = static_cast<std::size_t>(statistics.format.servers);
  const auto first = statistics.values.begin() + static_cast<std::ptrdiff_t>(entry * servers);
  return {first, first + static_cast<std::ptrdiff_t>(servers)};
}

std::vector<std::int64_t> decode_entries(const TraceStatistics& statistics) {
  const std::vector<std::int64_t> targets =
      target_values(statistics.format, statistics.total.codes);
  std::vector<std::int64_t> decoded;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    decoded.push_back(decoded_by(statistics.format, values_of(statistics, i), targets[i]));
  }
  return decoded;
}

std::vector<std::int64_t> of_tensor(const TensorStatistics& tensor,
                                    const std::vector<std::int64_t>& decoded) {
  std::vector<std::int64_t> own;
  for (const std::size_t place : tensor.place) own.push_back(decoded[place]);
  return own;
}

SamplingIntervals intervals_of(const TraceStatistics& sample,
                               const std::vector<std::int64_t>& decoded) {
  return sampling_intervals(sample, decoded,
                            gradient_metrics(sample.format, sample.total, decoded));
}

/// A gradient that was made once.
class MemoryGradient : public GradientSource {
 public:
  explicit MemoryGradient(const GradientSource& source)
      : servers_(source.servers()), tensors_(source.tensors()), elements_(source.elements()) {
    for (std::size_t t = 0; t < tensors_.size(); ++t) {
      values_.emplace_back(tensors_[t].elements * static_cast<std::uint64_t>(servers_));
      source.read(t, 0, tensors_[t].elements, values_.back().data(), tensors_[t].elements);
    }
  }

  int servers() const override { return servers_; }
  const std::vector<TraceTensor>& tensors() const override { return tensors_; }
  std::uint64_t elements() const override { return elements_; }
  void read(std::size_t tensor, std::uint64_t first, std::uint64_t count, float* out,
            std::size_t stride) const override {
    for (std::size_t server = 0; server < static_cast<std::size_t>(servers_); ++server) {
      const float* row = values_[tensor].data() + server * tensors_[tensor].elements + first;
      std::copy(row, row + count, out + server * stride);
    }
  }

 private:
  int servers_;
  std::vector<TraceTensor> tensors_;
  std::uint64_t elements_;
  std::vector<std::vector<float>> values_;
};

/// Three tensors with heavy tails.
MemoryGradient gradient(int servers, std::uint64_t elements) {
  return MemoryGradient(SyntheticGradient({.kind = SyntheticKind::student_t,
                                           .servers = servers,
                                           .elements = elements,
                                           .tensors = 3,
                                           .correlation = 0.6,
                                           .degrees_of_freedom = 5,
                                           .seed = 4}));
}

TEST_CASE("metrics from tuples equal the element-by-element computation", "[sampling]") {
  for (const int servers : {2, 3, 16}) {
    for (const int bits : {4, 8, 16}) {
      CAPTURE(servers, bits);
      const MemoryGradient source = gradient(servers, 5000);
      const CodeFormat format = make_code_format(servers, bits);
      const QuantiserOptions options{.block = 256};
      const TraceStatistics tuples = reduce_to_tuples(source, format, options);
      const std::vector<std::int64_t> decoded = decode_entries(tuples);
      const Concatenation all = concatenation(source);
      Expected total(format);
      std::vector<Expected> by_tensor(3, Expected(format));
      std::set<Values> distinct;
      const std::vector<Element> elements = elements_of(all, format, options);
      for (std::size_t i = 0; i < elements.size(); ++i) {
        const long value = decoded_by(format, elements[i].values, elements[i].average_rounded);
        total.add(elements[i], value);
        by_tensor[all.tensor_of[i]].add(elements[i], value);
        distinct.insert(elements[i].values);
      }
      CHECK(tuples.total.codes.size() == distinct.size());
      CHECK(total.wrong_elements > 0);
      check_metrics(gradient_metrics(format, tuples.total, decoded), total);
      REQUIRE(tuples.tensors.size() == 3);
      for (std::size_t t = 0; t < 3; ++t) {
        const TensorStatistics& tensor = tuples.tensors[t];
        CHECK(tensor.name == source.tensors()[t].name);
        check_metrics(gradient_metrics(format, tensor.table, of_tensor(tensor, decoded)),
                      by_tensor[t]);
      }
    }
  }
}

TEST_CASE("reductions stop at their limit and keep only what is asked for", "[sampling]") {
  const MemoryGradient source = gradient(2, 3000);
  const CodeFormat format = make_code_format(2, 8);
  const std::size_t codes = reduce_trace(source, format, {}).total.codes.size();
  CHECK(reduce_trace(source, format, {}, {.entries = codes}).total.codes.size() == codes);
  CHECK_THROWS_WITH(reduce_trace(source, format, {}, {.entries = codes - 1}),
                    Catch::Contains("max_codes") && Catch::Contains(std::to_string(codes - 1)));
  CHECK_THROWS_AS(reduce_to_tuples(source, format, {}, {.entries = codes - 1}), ConfigError);
  CHECK(reduce_trace(source, format, {}, {.per_tensor = false}).tensors.empty());
  CHECK(reduce_trace(source, format, {}).tensors.size() == 3);
}

TEST_CASE("a sample has the elements it should, in proportion to the codes", "[sampling]") {
  const MemoryGradient source = gradient(3, 20000);
  const CodeFormat format = make_code_format(3, 4);
  const QuantiserOptions options{.block = 512};
  const CodeTable codes = reduce_trace(source, format, options).total;
  const auto draw = [&](std::uint64_t elements, std::uint64_t seed) {
    return sample_trace(source, format, options, codes, {.elements = elements, .seed = seed});
  };
  const TraceStatistics sample = draw(3000, 1);
  REQUIRE(sample.total.codes.size() == 3000);
  CHECK(sample.elements == 20000);
  CHECK(std::is_sorted(sample.total.codes.begin(), sample.total.codes.end()));
  for (std::size_t i = 0; i < codes.codes.size(); ++i) {
    const auto share = static_cast<double>(
        std::count(sample.total.codes.begin(), sample.total.codes.end(), codes.codes[i]));
    const double expected = static_cast<double>(codes.statistics[i].count) * 3000 / 20000;
    CHECK(share > expected - 1);
    CHECK(share < expected + 1);
  }
  for (std::size_t i = 0; i < 3000; i += 97) {
    CHECK(sample.total.statistics[i].count == 1);
    CHECK(code_of(format, values_of(sample, i).data()) == sample.total.codes[i]);
  }
  CHECK(draw(3000, 1).values == sample.values);
  CHECK(draw(3000, 2).values != sample.values);

  // The whole gradient is its own sample.
  const TraceStatistics everything = draw(20000, 5);
  REQUIRE(draw(1'000'000, 5).values == everything.values);
  const Concatenation all = concatenation(source);
  std::vector<Expected> by_tensor(3, Expected(format));
  const std::vector<Element> elements = elements_of(all, format, options);
  for (std::size_t i = 0; i < elements.size(); ++i) {
    by_tensor[all.tensor_of[i]].add(
        elements[i], decoded_by(format, elements[i].values, elements[i].average_rounded));
  }
  const std::vector<std::int64_t> decoded = decode_entries(everything);
  for (std::size_t t = 0; t < 3; ++t) {
    const TensorStatistics& tensor = everything.tensors[t];
    check_metrics(gradient_metrics(format, tensor.table, of_tensor(tensor, decoded)), by_tensor[t]);
  }
  const SamplingIntervals exact = intervals_of(everything, decoded);
  CHECK(exact.nmse.lo == exact.nmse.hi);
  CHECK(exact.element_error_rate.half_width() == 0);
}

TEST_CASE("every element is sampled equally often", "[sampling]") {
  // 400 samples of 500 of 2000 elements: each is chosen 100 times on average, binomially.
  const MemoryGradient source = gradient(2, 2000);
  const CodeFormat format = make_code_format(2, 4);
  const CodeTable codes = reduce_trace(source, format, {}).total;
  std::map<double, int> chosen;  // by the gradient, which is different for every element
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const TraceStatistics sample =
        sample_trace(source, format, {}, codes, {.elements = 500, .seed = seed});
    for (const CodeStatistics& element : sample.total.statistics) ++chosen[element.sum_g];
  }
  REQUIRE(chosen.size() == 2000);
  double chi2 = 0;
  for (const auto& [element, count] : chosen) chi2 += (count - 100.0) * (count - 100.0) / 75.0;
  // Chi-squared with nearly 2000 degrees of freedom (each code's share is fixed): 8 sigma of 63.
  CHECK(chi2 > 2000 - 8 * 63 - 49);
  CHECK(chi2 < 2000 + 8 * 63);
}

TEST_CASE("sample intervals cover the exact value at their nominal rate", "[sampling]") {
  // 1000 repetitions at 95 %: 950 +- 6.9. At least 922 (4 sigma, false alarm 3e-5 each); at most
  // 996, as a conservative interval is allowed.
  const MemoryGradient source = gradient(4, 12000);
  const CodeFormat format = make_code_format(4, 6);
  const QuantiserOptions options{.block = 1024};
  const CodeTable codes = reduce_trace(source, format, options).total;
  const TraceStatistics tuples = reduce_to_tuples(source, format, options);
  const GradientMetrics exact = gradient_metrics(format, tuples.total, decode_entries(tuples));
  REQUIRE(exact.element_error_rate > 0.01);
  int rate_covered = 0;
  int nmse_covered = 0;
  double mean_rate = 0;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    const TraceStatistics sample =
        sample_trace(source, format, options, codes, {.elements = 1500, .seed = seed});
    const std::vector<std::int64_t> decoded = decode_entries(sample);
    const SamplingIntervals intervals = intervals_of(sample, decoded);
    mean_rate += gradient_metrics(format, sample.total, decoded).element_error_rate / 1000;
    const auto covers = [](const Interval& interval, double value) {
      return interval.lo <= value && value <= interval.hi;
    };
    rate_covered += covers(intervals.element_error_rate, exact.element_error_rate) ? 1 : 0;
    nmse_covered += covers(intervals.nmse, exact.nmse) ? 1 : 0;
  }
  CAPTURE(rate_covered, nmse_covered);
  CHECK(rate_covered >= 922);
  CHECK(rate_covered <= 996);
  CHECK(nmse_covered >= 922);
  CHECK(nmse_covered <= 996);
  const double one_error = std::sqrt(exact.element_error_rate / 1500);
  CHECK(std::fabs(mean_rate - exact.element_error_rate) < 5 * one_error / std::sqrt(1000.0));
}

TEST_CASE("a sample without an error still has an upper limit", "[sampling]") {
  const MemoryGradient source = gradient(4, 30000);
  const CodeFormat format = make_code_format(4, 8);
  const CodeTable codes = reduce_trace(source, format, {}).total;
  const TraceStatistics sample = sample_trace(source, format, {}, codes, {.elements = 300});
  const SamplingIntervals intervals =
      intervals_of(sample, target_values(format, sample.total.codes));
  CHECK(intervals.element_error_rate.lo == 0);
  // Clopper-Pearson: 1 - 0.025^(1/n).
  CHECK(intervals.element_error_rate.hi == Approx(1 - std::pow(0.025, 1.0 / 300)));
}

}  // namespace
}  // namespace optinc
