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

#include "solver/error.hpp"
#include "solver/gradient/metrics.hpp"
#include "solver/gradient/quantiser.hpp"
#include "solver/gradient/statistics.hpp"
#include "solver/gradient/trace.hpp"
#include "tests/support/skip.hpp"

namespace optinc {
namespace {

namespace fs = std::filesystem;

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

/// The whole trace in memory: gradient[server][element] over the concatenation of the tensors.
struct Concatenation {
  std::vector<std::vector<double>> gradient;
  std::vector<std::size_t> tensor_of;
};

Concatenation concatenation(const GradientTrace& trace) {
  Concatenation all;
  all.gradient.resize(static_cast<std::size_t>(trace.servers()));
  for (std::size_t t = 0; t < trace.tensors().size(); ++t) {
    const std::uint64_t n = trace.tensors()[t].elements;
    std::vector<float> values(n * all.gradient.size());
    trace.read(t, 0, n, values.data(), n);
    for (std::size_t s = 0; s < all.gradient.size(); ++s) {
      all.gradient[s].insert(all.gradient[s].end(), &values[s * n], &values[s * n] + n);
    }
    all.tensor_of.insert(all.tensor_of.end(), n, t);
  }
  return all;
}

/// One element sent through quantisers and average, written straight from the system design.
struct Element {
  long double gradient = 0;
  long double scale = 0;
  CodeKey code = 0;
  long average_rounded = 0;  ///< Q(v)
};

std::vector<Element> elements_of(const Concatenation& all, const CodeFormat& format,
                                 std::size_t block) {
  const std::size_t count = all.tensor_of.size();
  const std::size_t servers = all.gradient.size();
  const long top = (1L << format.bits) - 1;
  const long offset = format.code_offset;
  const long base = 1L << (2 * format.digits_per_input);
  std::vector<Element> elements(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t begin = i / block * block;
    double scale = static_cast<double>(elements[begin].scale);
    if (i == begin) {
      double largest = 0;
      for (const auto& row : all.gradient) {
        for (std::size_t j = begin; j < std::min(count, begin + block); ++j) {
          largest = std::max(largest, std::fabs(row[j]));
        }
      }
      scale = largest / static_cast<double>(std::min(offset, top - offset));
    }
    Element& element = elements[i];
    element.scale = static_cast<long double>(scale);
    std::vector<long> inputs(static_cast<std::size_t>(format.inputs()), 0);
    long sum = 0;
    for (const auto& row : all.gradient) {
      element.gradient += static_cast<long double>(row[i]);
      long value = offset;
      if (scale > 0) value += std::lrint(row[i] / scale);
      value = std::min(std::max(value, 0L), top);
      sum += value;
      for (long& input : inputs) {
        input += value % base;
        value /= base;
      }
    }
    element.gradient /= static_cast<long double>(servers);
    const double average = static_cast<double>(sum) / static_cast<double>(servers);
    const double rounded = format.rounding == Rounding::half_up     ? std::floor(average + 0.5)
                           : format.rounding == Rounding::half_even ? std::rint(average)
                                                                    : std::floor(average);
    element.average_rounded = static_cast<long>(rounded);
    for (std::size_t k = inputs.size(); k-- > 0;) {
      element.code = element.code * static_cast<CodeKey>((base - 1) * format.servers + 1) +
                     static_cast<CodeKey>(inputs[k]);
    }
  }
  return elements;
}

int digits_wrong(long a, long b, int digits) {
  int wrong = 0;
  for (int i = 0; i < digits; ++i, a /= 4, b /= 4) wrong += a % 4 != b % 4 ? 1 : 0;
  return wrong;
}

int gray_bits_wrong(long a, long b, int digits) {
  // Distances between the Gray words 00, 01, 11, 10 of two levels.
  constexpr int distance[4][4] = {{0, 1, 2, 1}, {1, 0, 1, 2}, {2, 1, 0, 1}, {1, 2, 1, 0}};
  int wrong = 0;
  for (int i = 0; i < digits; ++i, a /= 4, b /= 4) wrong += distance[a % 4][b % 4];
  return wrong;
}

/// Metrics element by element, from their definitions.
struct Expected {
  explicit Expected(const CodeFormat& code_format) : format(code_format) {}

  void add(const Element& element, long decoded) {
    const auto steps = static_cast<long double>(decoded - format.code_offset);
    const long double output = steps * element.scale;
    const long error = decoded - element.average_rounded;
    elements += 1;
    wrong_elements += error != 0 ? 1 : 0;
    wrong_symbols += digits_wrong(decoded, element.average_rounded, format.digits());
    wrong_bits += gray_bits_wrong(decoded, element.average_rounded, format.digits());
    bool power_of_four = false;
    for (std::size_t i = 0; i < 8; ++i) {
      if (std::labs(error) != std::lround(std::pow(4.0, static_cast<double>(i)))) continue;
      power_of_four = true;
      wrong_by_digit[i] += 1;
    }
    wrong_otherwise += error != 0 && !power_of_four ? 1 : 0;
    error2 += (output - element.gradient) * (output - element.gradient);
    output2 += output * output;
    gradient2 += element.gradient * element.gradient;
    product += output * element.gradient;
    if (element.scale > 0) {
      const long double lsb = steps - element.gradient / element.scale;
      scaled += 1;
      lsb_sum += lsb;
      lsb_max = std::max(lsb_max, std::fabs(lsb));
    }
    if (element.gradient != 0) {
      with_sign += 1;
      agreeing += output * element.gradient > 0 ? 1 : 0;
      zeros += decoded == format.code_offset ? 1 : 0;
    }
  }

  CodeFormat format;
  long double elements = 0, wrong_elements = 0, wrong_symbols = 0, wrong_bits = 0;
  long double wrong_by_digit[8] = {};
  long double wrong_otherwise = 0;
  long double error2 = 0, output2 = 0, gradient2 = 0, product = 0;
  long double scaled = 0, lsb_sum = 0, lsb_max = 0;
  long double with_sign = 0, agreeing = 0, zeros = 0;
};

/// A ratio without a denominator is not a number.
long double ratio(long double numerator, long double denominator) {
  return denominator == 0 ? std::numeric_limits<long double>::quiet_NaN() : numerator / denominator;
}

/// Equal to 1e-12 of the larger of the value and `scale`; NaN only where NaN is expected.
bool close(double value, long double expected, double scale = 0) {
  if (std::isnan(expected)) return std::isnan(value);
  const double reference = std::fabs(static_cast<double>(expected));
  return std::fabs(value - static_cast<double>(expected)) <= 1e-12 * std::max(scale, reference);
}

void check_metrics(const GradientMetrics& metrics, const Expected& expected) {
  const long double digits = expected.elements * expected.format.digits();
  // A single deviation g/s - v' is a difference of numbers up to 2^b.
  const double code_rounding = static_cast<double>(1L << expected.format.bits) * 1e-3;
  CHECK(close(metrics.element_error_rate, expected.wrong_elements / expected.elements));
  CHECK(close(metrics.symbol_error_rate, expected.wrong_symbols / digits));
  CHECK(close(metrics.bit_error_rate, expected.wrong_bits / (2 * digits)));
  const long double nmse = ratio(expected.error2, expected.gradient2);
  CAPTURE(metrics.nmse, nmse, metrics.bias_lsb, metrics.max_error_lsb, expected.lsb_max);
  CHECK(close(metrics.nmse, nmse));
  CHECK(close(metrics.snr_db, -10 * std::log10(nmse), 1));
  CHECK(close(metrics.relative_l2, std::sqrt(nmse)));
  CHECK(close(metrics.cosine,
              ratio(expected.product, std::sqrt(expected.output2 * expected.gradient2)), 1));
  CHECK(close(metrics.contraction, ratio(expected.product, expected.gradient2), 1));
  CHECK(close(metrics.bias_lsb, ratio(expected.lsb_sum, expected.scaled), 1));
  CHECK(close(metrics.sign_agreement, ratio(expected.agreeing, expected.with_sign)));
  CHECK(close(metrics.decoded_zero_share, ratio(expected.zeros, expected.with_sign)));
  CHECK(close(metrics.max_error_lsb, ratio(expected.lsb_max * expected.scaled, expected.scaled),
              code_rounding));
  for (std::size_t i = 0; i < 8; ++i) {
    CHECK(close(metrics.error_share_pm4[i], expected.wrong_by_digit[i] / expected.elements));
  }
  CHECK(close(metrics.error_share_other, expected.wrong_otherwise / expected.elements));
}

std::vector<std::int64_t> targets_of(const CodeFormat& format, const CodeTable& table) {
  std::vector<std::int64_t> targets;
  for (const CodeKey code : table.codes) {
    targets.push_back(round_average(format, scaled_average(format, code)));
  }
  return targets;
}

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
                 std::size_t block, std::uint64_t seed) {
  CAPTURE(format.servers, format.bits, format.digits_per_input, format.code_offset, block);
  CAPTURE(static_cast<int>(format.rounding));
  const TraceStatistics statistics = reduce_trace(trace, format, block);
  const std::vector<Element> elements = elements_of(all, format, block);
  REQUIRE(statistics.elements == elements.size());
  REQUIRE(statistics.total.codes == occurring(elements, all, 0, true));
  const std::vector<std::int64_t> ideal = targets_of(format, statistics.total);
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
      const CodeTable& table = statistics.tensors[t];
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

fs::path shipped(const std::string& name) {
  return fs::path(OPTINC_SOURCE_DIR) / "data" / "traces" / name;
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
  const CodeTable table = reduce_trace(trace, format, 1024).total;
  const GradientMetrics metrics = gradient_metrics(format, table, targets_of(format, table));
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

TEST_CASE("Metrics of a trace small enough to work out by hand") {
  // b = 4, o = 8, one block: largest 7, so s = 1 and every value is its own integer.
  TraceData data;
  data.servers = 2;
  data.tensors = {{"t", 4}};
  data.values = {{7, -2, 1, 0, 5, -4, 0, 0}};
  const TraceFile file(data);
  CodeFormat format = make_code_format(2, 4);
  const CodeTable table = reduce_trace(file.open(), format, 4).total;
  // Exact means 6, -3, 0.5, 0; Q(v) - o = 6, -3, 1, 0.
  REQUIRE(table.codes.size() == 4);
  std::vector<std::int64_t> decoded = targets_of(format, table);
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
  check_trace(trace, all, format, 1024, 1);
  format.rounding = Rounding::half_even;
  format.code_offset = 100;
  check_trace(trace, all, format, 1000, 2);
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
      check_trace(trace, all, format, 256, 4);
      format.code_offset = middle - middle / 4 - 1;
      check_trace(trace, all, format, 256, 5);
    }
    format.digits_per_input = format.digits();
    check_trace(trace, all, format, 100000, 6);
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
  const TraceStatistics statistics = reduce_trace(file.open(), format, 1024);
  const auto bias = [&](Rounding rounding) {
    format.rounding = rounding;
    return gradient_metrics(format, statistics.total, targets_of(format, statistics.total))
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
  const CodeTable table = reduce_trace(file.open(), format, 4).total;
  REQUIRE(table.codes.size() == 1);
  const GradientMetrics metrics = gradient_metrics(format, table, {128});
  CHECK(metrics.element_error_rate == 0);
  for (const double undefined :
       {metrics.nmse, metrics.snr_db, metrics.cosine, metrics.contraction, metrics.bias_lsb,
        metrics.sign_agreement, metrics.decoded_zero_share, metrics.max_error_lsb}) {
    CHECK(std::isnan(undefined));
  }
  CHECK(gradient_metrics(format, table, {129}).element_error_rate == 1);
}

TEST_CASE("Reducing checks its arguments") {
  const TraceFile file(synthetic(4, {10}, false, 9));
  const GradientTrace trace = file.open();
  using Catch::Matchers::Contains;
  CHECK_THROWS_WITH(reduce_trace(trace, make_code_format(8, 8), 1024),
                    Contains("4 servers") && Contains("averages 8"));
  CHECK_THROWS_AS(reduce_trace(trace, make_code_format(8, 8), 1024), ConfigError);
  CHECK_THROWS_WITH(reduce_trace(trace, make_code_format(4, 8), 0), Contains("workload.block"));
  CodeFormat format = make_code_format(4, 8);
  format.bits = 7;
  CHECK_THROWS_AS(reduce_trace(trace, format, 1024), ConfigError);
  CHECK_THROWS_AS(gradient_metrics(make_code_format(4, 8), CodeTable{{1}, {{}}}, {}),
                  std::invalid_argument);
}

}  // namespace optinc
