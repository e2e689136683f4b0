// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <unistd.h>

#include "noise/stream.hpp"
#include "solver/error.hpp"
#include "solver/gradient/metrics.hpp"
#include "solver/gradient/quantiser.hpp"
#include "solver/gradient/statistics.hpp"
#include "solver/gradient/trace.hpp"
#include "tests/solver/gradient/shipped.hpp"
#include "tests/support/brute_force_gradient.hpp"
#include "tests/support/skip.hpp"

namespace optinc {
namespace {

using test::shipped;

namespace fs = std::filesystem;

using test::check_metrics;
using test::concatenation;
using test::Concatenation;
using test::Element;
using test::elements_of;
using test::Expected;

/// A trace written to a temporary file and opened again.
class TraceFile {
 public:
  explicit TraceFile(const TraceData& data)
      : path_(fs::temp_directory_path() / ("optinc-trace-" + std::to_string(::getpid()) + ".h5")) {
    write_trace(path_, data);
  }
  ~TraceFile() { fs::remove(path_); }
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;

  GradientTrace open() const { return GradientTrace(path_); }

 private:
  fs::path path_;
};

/// A third of the codes decode wrongly, by powers of four, by others, or to code_offset.
std::vector<std::int64_t> disturbed(const CodeFormat& format, std::vector<std::int64_t> values,
                                    std::mt19937_64& random) {
  for (std::int64_t& value : values) {
    const std::uint64_t choice = random() % 12;
    const std::int64_t sign = random() % 2 == 0 ? 1 : -1;
    if (choice == 0) value += sign * (std::int64_t{1} << (2 * (random() % 8)));
    if (choice == 1) value = static_cast<std::int64_t>(random() % 65536);
    if (choice == 2) value = format.code_offset;
    if (choice == 3) value += sign * 3;
    value = std::clamp<std::int64_t>(value, 0, format.max_value());
  }
  return values;
}

std::vector<CodeKey> occurring(const std::vector<Element>& elements, const Concatenation& all,
                               std::size_t tensor, bool any_tensor) {
  std::vector<CodeKey> codes;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    if (any_tensor || all.tensor_of[i] == tensor) codes.push_back(elements[i].code);
  }
  std::sort(codes.begin(), codes.end());
  codes.erase(std::unique(codes.begin(), codes.end()), codes.end());
  return codes;
}

std::size_t index_of(const CodeTable& table, CodeKey code) {
  return static_cast<std::size_t>(std::lower_bound(table.codes.begin(), table.codes.end(), code) -
                                  table.codes.begin());
}

/// Checks total and per-tensor metrics, ideal and disturbed, against the definitions.
void check_trace(const GradientTrace& trace, const Concatenation& all, const CodeFormat& format,
                 const QuantiserOptions& options, std::uint64_t seed) {
  CAPTURE(format.servers, format.bits, format.digits_per_input, format.code_offset, options.block);
  CAPTURE(static_cast<int>(format.rounding));
  const TraceStatistics statistics = reduce_trace(trace, format, options);
  const std::vector<Element> elements = elements_of(all, format, options);
  REQUIRE(statistics.elements == elements.size());
  REQUIRE(statistics.total.codes == occurring(elements, all, 0, true));
  const std::vector<std::int64_t> ideal = target_values(format, statistics.total.codes);
  std::mt19937_64 random(seed);
  for (const auto& decoded : {ideal, disturbed(format, ideal, random)}) {
    Expected total(format);
    std::vector<Expected> by_tensor(trace.tensors().size(), Expected(format));
    for (std::size_t i = 0; i < elements.size(); ++i) {
      const long value = decoded[index_of(statistics.total, elements[i].code)];
      total.add(elements[i], value);
      by_tensor[all.tensor_of[i]].add(elements[i], value);
    }
    check_metrics(gradient_metrics(format, statistics.total, decoded), total);
    for (std::size_t t = 0; t < by_tensor.size(); ++t) {
      CAPTURE(trace.tensors()[t].name);
      const CodeTable& table = statistics.tensors[t].table;
      REQUIRE(table.codes == occurring(elements, all, t, false));
      std::vector<std::int64_t> own;
      for (const CodeKey code : table.codes)
        own.push_back(decoded[index_of(statistics.total, code)]);
      check_metrics(gradient_metrics(format, table, own), by_tensor[t]);
    }
  }
}

double uniform(std::mt19937_64& random) {
  return (static_cast<double>(random() >> 11) + 0.5) * 0x1p-53;
}

double gaussian(std::mt19937_64& random) {
  const double radius = std::sqrt(-2 * std::log(uniform(random)));
  return radius * std::cos(6.283185307179586 * uniform(random));
}

/// Student t of 2 degrees of freedom, by its quantile function.
double heavy_tailed(std::mt19937_64& random) {
  const double p = uniform(random);
  return (2 * p - 1) / std::sqrt(2 * p * (1 - p));
}

TraceData synthetic(int servers, const std::vector<std::uint64_t>& sizes, bool heavy,
                    std::uint64_t seed) {
  std::mt19937_64 random(seed);
  TraceData data;
  data.servers = servers;
  for (std::size_t t = 0; t < sizes.size(); ++t) {
    data.tensors.push_back({"t" + std::to_string(t), sizes[t]});
    std::vector<float> values(sizes[t] * static_cast<std::size_t>(servers));
    for (float& value : values) {
      value = static_cast<float>(1e-3 * (heavy ? heavy_tailed(random) : gaussian(random)));
    }
    data.values.push_back(std::move(values));
  }
  return data;
}

void clear_tensor(TraceData& data, std::size_t tensor) {
  std::fill(data.values[tensor].begin(), data.values[tensor].end(), 0.0F);
}

struct Published {
  const char* file;
  std::uint64_t elements;
  std::size_t codes;
  std::uint64_t in_zero_blocks;
  double nmse_db;
  double bias_lsb;
};

/// Compares with numbers computed by a numpy script from the definitions.
void check_published(const fs::path& path, const Published& expected) {
  CAPTURE(path.string());
  const GradientTrace trace(path);
  const CodeFormat format = make_code_format(trace.servers(), 8);
  const CodeTable table = reduce_trace(trace, format, {.block = 1024}).total;
  const GradientMetrics metrics =
      gradient_metrics(format, table, target_values(format, table.codes));
  std::uint64_t in_zero_blocks = 0;
  for (const CodeStatistics& code : table.statistics) in_zero_blocks += code.count_zero_scale;
  CHECK(trace.elements() == expected.elements);
  CHECK(table.codes.size() == expected.codes);
  CHECK(in_zero_blocks == expected.in_zero_blocks);
  CHECK(-metrics.snr_db == Approx(expected.nmse_db).epsilon(1e-10));
  CHECK(metrics.bias_lsb == Approx(expected.bias_lsb).epsilon(1e-10));
  CHECK(metrics.element_error_rate == 0);
}

}  // namespace

TEST_CASE("Block scale and quantiser by hand") {
  CodeFormat format = make_code_format(2, 8);
  const std::vector<float> values = {1, -2, 99, 0.5F, 1, 99};
  CHECK(block_scale(format, values.data(), 3, 2) == 2.0 / 127);
  format.code_offset = 100;
  CHECK(block_scale(format, values.data(), 3, 2) == 2.0 / 100);
  format.code_offset = 200;
  CHECK(block_scale(format, values.data(), 3, 2) == 2.0 / 55);
  const std::vector<float> zeros(4, 0);
  CHECK(block_scale(format, zeros.data(), 2, 2) == 0);

  format.code_offset = 128;
  CHECK(quantise(format, 0, 0) == 128);
  CHECK(quantise(format, 2.5F, 1) == 130);
  CHECK(quantise(format, 3.5F, 1) == 132);
  CHECK(quantise(format, -2.5F, 1) == 126);
  CHECK(quantise(format, 127, 1) == 255);
  CHECK(quantise(format, 500, 1) == 255);
  CHECK(quantise(format, -500, 1) == 0);
}

TEST_CASE("Scales rounded up to powers of two by hand") {
  CHECK(power_of_two_scale(0) == 0);
  CHECK(power_of_two_scale(0.25) == 0.25);
  CHECK(power_of_two_scale(std::nextafter(0.25, 1)) == 0.5);
  CHECK(power_of_two_scale(std::nextafter(0.25, 0)) == 0.25);
  CHECK(power_of_two_scale(3) == 4);
  CHECK(power_of_two_scale(0x1p-1060) == 0x1p-1060);
}

TEST_CASE("Stochastic rounding by hand and on average") {
  const CodeFormat format = make_code_format(2, 8);
  CHECK(quantise_stochastically(format, 1, 0, 0.5) == 128);
  CHECK(quantise_stochastically(format, 2.25F, 1, 0.2) == 131);
  CHECK(quantise_stochastically(format, 2.25F, 1, 0.3) == 130);
  CHECK(quantise_stochastically(format, -2.25F, 1, 0.7) == 126);
  CHECK(quantise_stochastically(format, -2.25F, 1, 0.8) == 125);
  CHECK(quantise_stochastically(format, 3, 1, 0x1p-33) == 131);
  CHECK(quantise_stochastically(format, 126.5F, 1, 0.1) == 255);
  CHECK(quantise_stochastically(format, 500, 1, 0.1) == 255);
  CHECK(quantise_stochastically(format, -500, 1, 0.9) == 0);
  // The distance of one code from g / s is at most 1: by Hoeffding, the mean of 100,000 leaves a
  // band of 0.0147 with odds below 1e-9 for all four values together.
  std::vector<double> uniforms(100000);
  uniform_sequence({.seed = 5, .draw = DrawId::stochastic_rounding}, 0, uniforms);
  for (const float value : {0.01F, 2.3F, -7.77F, -0.5F}) {
    double sum = 0;
    for (const double uniform : uniforms) {
      sum += quantise_stochastically(format, value, 1, uniform) - 128.0;
    }
    CHECK(sum / 1e5 == Approx(static_cast<double>(value)).margin(0.0147));
  }
}

TEST_CASE("Options of the quantiser act on every element as defined") {
  const int servers = GENERATE(2, 3, 8);
  TraceData data = synthetic(servers, {100, 1, 700, 800, 513}, true, 10);
  clear_tensor(data, 3);
  const TraceFile file(data);
  const GradientTrace trace = file.open();
  const Concatenation all = concatenation(trace);
  for (const int bits : {4, 8, 16}) {
    CodeFormat format = make_code_format(servers, bits);
    for (const Rounding rounding : {Rounding::half_up, Rounding::half_even, Rounding::floor}) {
      format.rounding = rounding;
      check_trace(trace, all, format, {.block = 256, .power_of_two_scale = true}, 11);
      check_trace(trace, all, format, {.block = 256, .rounding_seed = 12}, 13);
    }
    format.code_offset -= format.code_offset / 3;
    check_trace(trace, all, format,
                {.block = 100, .power_of_two_scale = true, .rounding_seed = std::uint64_t{1} << 40},
                14);
  }
}

TEST_CASE("Codes of stochastic rounding depend on the seed and not on how tensors cut the trace") {
  const TraceData whole = synthetic(4, {3000}, false, 15);
  TraceData cut = whole;
  cut.tensors = {{"a", 1001}, {"b", 1999}};
  cut.values.assign(2, {});
  for (std::size_t server = 0; server < 4; ++server) {
    const auto row = whole.values[0].begin() + static_cast<std::ptrdiff_t>(3000 * server);
    cut.values[0].insert(cut.values[0].end(), row, row + 1001);
    cut.values[1].insert(cut.values[1].end(), row + 1001, row + 3000);
  }
  const CodeFormat format = make_code_format(4, 8);
  const auto codes = [&](const TraceData& data, std::uint64_t seed) {
    return reduce_trace(TraceFile(data).open(), format, {.block = 256, .rounding_seed = seed})
        .total.codes;
  };
  CHECK(codes(whole, 1) == codes(cut, 1));
  CHECK(codes(whole, 1) != codes(whole, 2));
}

TEST_CASE("Metrics of a trace small enough to work out by hand") {
  // b = 4, o = 8, one block: largest 7, so s = 1 and every value is its own integer.
  TraceData data;
  data.servers = 2;
  data.tensors = {{"t", 4}};
  data.values = {{7, -2, 1, 0, 5, -4, 0, 0}};
  const TraceFile file(data);
  CodeFormat format = make_code_format(2, 4);
  const CodeTable table = reduce_trace(file.open(), format, {.block = 4}).total;
  // Exact means 6, -3, 0.5, 0; Q(v) - o = 6, -3, 1, 0.
  REQUIRE(table.codes.size() == 4);
  std::vector<std::int64_t> decoded = target_values(format, table.codes);
  GradientMetrics metrics = gradient_metrics(format, table, decoded);
  CHECK(metrics.nmse == Approx(0.25 / 45.25));
  CHECK(metrics.bias_lsb == Approx(0.125));
  CHECK(metrics.cosine == Approx(45.5 / std::sqrt(46.0 * 45.25)));
  CHECK(metrics.contraction == Approx(45.5 / 45.25));
  CHECK(metrics.sign_agreement == 1);
  CHECK(metrics.max_error_lsb == Approx(0.5));

  for (std::int64_t& value : decoded) {
    if (value == 14) value = 10;  // 6 becomes 2: digits 32 -> 22, off by 4, Gray 10 -> 11
    if (value == 5) value = 8;    // -3 becomes 0: digits 11 -> 20, Gray 01 01 -> 11 00
  }
  metrics = gradient_metrics(format, table, decoded);
  CHECK(metrics.element_error_rate == 0.5);
  CHECK(metrics.symbol_error_rate == 3.0 / 8);
  CHECK(metrics.bit_error_rate == 3.0 / 16);
  CHECK(metrics.error_share_pm4[1] == 0.25);
  CHECK(metrics.error_share_other == 0.25);
  CHECK(metrics.nmse == Approx((16 + 9 + 0.25) / 45.25));
  CHECK(metrics.sign_agreement == Approx(2.0 / 3));
  CHECK(metrics.decoded_zero_share == Approx(1.0 / 3));
  CHECK(metrics.max_error_lsb == Approx(4));
}

TEST_CASE("Metrics from statistics equal those of every element, shipped traces") {
  const auto* name = GENERATE("resnet50_cifar100.h5", "llama_wikitext2.h5");
  const GradientTrace trace(shipped(name));
  const Concatenation all = concatenation(trace);
  CodeFormat format = make_code_format(trace.servers(), 8);
  check_trace(trace, all, format, {.block = 1024}, 1);
  format.rounding = Rounding::half_even;
  format.code_offset = 100;
  check_trace(trace, all, format, {.block = 1000}, 2);
  check_trace(trace, all, format, {.block = 1024, .power_of_two_scale = true, .rounding_seed = 3},
              3);
}

TEST_CASE("The first servers of a trace: statistics equal those of every element") {
  const std::string name = GENERATE("resnet50_cifar100.h5", "llama_wikitext2.h5");
  const int servers = GENERATE(2, 3);
  const GradientTrace trace(shipped(name), servers);
  CHECK(trace.servers() == servers);
  Concatenation all = concatenation(GradientTrace(shipped(name)));
  all.gradient.resize(static_cast<std::size_t>(servers));
  check_trace(trace, all, make_code_format(servers, 8), {.block = 1000}, 7);
}

TEST_CASE("A number of servers that a trace does not have is refused") {
  for (const int servers : {-1, 0, 1, 5}) {
    CAPTURE(servers);
    CHECK_THROWS_AS(GradientTrace(shipped("llama_wikitext2.h5"), servers), ConfigError);
  }
  CHECK(GradientTrace(shipped("llama_wikitext2.h5"), 4).servers() == 4);
}

TEST_CASE("Metrics from statistics equal those of every element, synthetic traces") {
  const int servers = GENERATE(2, 3, 4, 8, 16);
  const bool heavy = GENERATE(false, true);
  // Blocks of 256 cross tensors; the cleared tensor holds whole blocks and parts of others.
  TraceData data = synthetic(servers, {100, 1, 700, 800, 513}, heavy, 3);
  clear_tensor(data, 3);
  const TraceFile file(data);
  const GradientTrace trace = file.open();
  const Concatenation all = concatenation(trace);
  for (const int bits : {4, 6, 8, 12, 16}) {
    CodeFormat format = make_code_format(servers, bits);
    const std::int64_t middle = format.code_offset;
    for (const Rounding rounding : {Rounding::half_up, Rounding::half_even, Rounding::floor}) {
      format.rounding = rounding;
      format.code_offset = middle;
      check_trace(trace, all, format, {.block = 256}, 4);
      format.code_offset = middle - middle / 4 - 1;
      check_trace(trace, all, format, {.block = 256}, 5);
    }
    format.digits_per_input = format.digits();
    check_trace(trace, all, format, {.block = 100000}, 6);
  }
}

TEST_CASE("Published figures of the shipped traces") {
  for (const Published& expected :
       {Published{"resnet50_cifar100.h5", 115768, 5186, 0, -22.07757595994646, 0.12230373003120887},
        {"llama_wikitext2.h5", 143148, 8795, 3072, -32.02157780272451, 0.12202987777853205}}) {
    check_published(shipped(expected.file), expected);
  }
}

TEST_CASE("Published figures of the traces the shipped ones are cut from") {
  const fs::path folder = fs::path(OPTINC_SOURCE_DIR) / ".." / "shared" / "data" / "traces";
  if (!fs::exists(folder)) return test::skip(folder.string() + " is not there");
  for (const Published& expected : {Published{"resnet50_cifar100_4servers.h5", 699968, 9186, 0,
                                              -22.190693345843076, 0.12228916946278301},
                                    {"llama_wikitext2_4servers.h5", 891264, 14489, 10240,
                                     -35.27866961903839, 0.12471626109724644}}) {
    check_published(folder / expected.file, expected);
  }
}

TEST_CASE("Rounding halves up has a mean bias of 1/(2N) for even N and none for odd N") {
  // Sums mod N are uniform (deviates span tens of steps); the error of one element is then within
  // +-0.75 LSB, so by Hoeffding a mean of 100,000 leaves the band of 0.0105 with odds below 1e-8
  // and, with its real spread near 0.35, below 1e-15.
  const int servers = GENERATE(2, 3, 4, 8, 16);
  const TraceFile file(synthetic(servers, {100000}, false, 7));
  CodeFormat format = make_code_format(servers, 8);
  const TraceStatistics statistics = reduce_trace(file.open(), format, {.block = 1024});
  const auto bias = [&](Rounding rounding) {
    format.rounding = rounding;
    return gradient_metrics(format, statistics.total, target_values(format, statistics.total.codes))
        .bias_lsb;
  };
  CAPTURE(servers);
  const double half = servers % 2 == 0 ? 0.5 / servers : 0;
  CHECK(bias(Rounding::half_up) == Approx(half).margin(0.0105));
  CHECK(bias(Rounding::half_even) == Approx(0).margin(0.0105));
  CHECK(bias(Rounding::floor) == Approx(-0.5 + 0.5 / servers).margin(0.0105));
}

TEST_CASE("Ratios without a denominator are not numbers") {
  TraceData data = synthetic(2, {10}, false, 8);
  clear_tensor(data, 0);
  const TraceFile file(data);
  const CodeFormat format = make_code_format(2, 8);
  const CodeTable table = reduce_trace(file.open(), format, {.block = 4}).total;
  REQUIRE(table.codes.size() == 1);
  const GradientMetrics metrics = gradient_metrics(format, table, std::vector<std::int64_t>{128});
  CHECK(metrics.element_error_rate == 0);
  for (const double undefined :
       {metrics.nmse, metrics.snr_db, metrics.cosine, metrics.contraction, metrics.bias_lsb,
        metrics.sign_agreement, metrics.decoded_zero_share, metrics.max_error_lsb}) {
    CHECK(std::isnan(undefined));
  }
  CHECK(gradient_metrics(format, table, std::vector<std::int64_t>{129}).element_error_rate == 1);
}

TEST_CASE("Reducing checks its arguments") {
  const TraceFile file(synthetic(4, {10}, false, 9));
  const GradientTrace trace = file.open();
  using Catch::Matchers::Contains;
  CHECK_THROWS_WITH(reduce_trace(trace, make_code_format(8, 8), {.block = 1024}),
                    Contains("4 servers") && Contains("averages 8"));
  CHECK_THROWS_AS(reduce_trace(trace, make_code_format(8, 8), {.block = 1024}), ConfigError);
  CHECK_THROWS_WITH(reduce_trace(trace, make_code_format(4, 8), {.block = 0}),
                    Contains("workload.block"));
  CodeFormat format = make_code_format(4, 8);
  format.bits = 7;
  CHECK_THROWS_AS(reduce_trace(trace, format, {.block = 1024}), ConfigError);
  CHECK_THROWS_AS(gradient_metrics(make_code_format(4, 8), CodeTable{{1}, {{}}}, {}),
                  std::invalid_argument);
}

}  // namespace optinc
