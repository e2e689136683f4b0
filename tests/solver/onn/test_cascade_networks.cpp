// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

#include "solver/backend/registry.hpp"
#include "solver/error.hpp"
#include "solver/onn/accuracy.hpp"
#include "solver/onn/analytic.hpp"
#include "solver/onn/network_file.hpp"
#include "tests/apps/cli_run.hpp"

namespace optinc {
namespace {

const Backend& cpu() {
  static const std::unique_ptr<Backend> backend = cpu_backend_entry().create(Precision::f64);
  return *backend;
}

CodeFormat format_of(int servers, int bits, int takes, int gives, Rounding rounding) {
  CodeFormat format = make_code_format(servers, bits);
  format.input_fraction_digits = takes;
  format.output_fraction_digits = gives;
  format.rounding = rounding;
  validate(format);
  return format;
}

/// What a unit has to give for a sum of its sources, in units of its lowest output digit: exact
/// with fraction digits, else rounded, and at most what the digits hold.
std::int64_t defined_output(const CodeFormat& format, std::int64_t sum) {
  std::int64_t parts = format.servers;
  for (int i = 0; i < format.input_fraction_digits; ++i) parts *= 4;
  std::int64_t steps = 1;
  for (int i = 0; i < format.output_fraction_digits; ++i) steps *= 4;
  if (steps > 1) {
    if (steps * sum % parts != 0) FAIL("the fraction is not exact");
    return std::min(steps * sum / parts, steps * (format.max_value() + 1) - 1);
  }
  std::int64_t value = sum / parts;
  const std::int64_t rest = 2 * (sum % parts);
  if (format.rounding == Rounding::half_up && rest >= parts) ++value;
  if (format.rounding == Rounding::half_even && (rest > parts || (rest == parts && value % 2 == 1)))
    ++value;
  return std::min(value, format.max_value());
}

/// Largest |output - digit| over the whole alphabet.
double largest_error(const CodeFormat& format, const AnalyticOptions& options) {
  const Network network = build_analytic_network(format, options);
  const std::vector<CodeKey> codes = all_codes(format, 1U << 20U);
  const Eigen::MatrixXd outputs =
      cpu().evaluate_codes(dense_layers(network), network_inputs(format, codes));
  if (outputs.rows() != format.output_digits()) FAIL("number of outputs");
  double error = 0;
  for (std::size_t i = 0; i < codes.size(); ++i) {
    CodeKey rest = codes[i];
    std::int64_t sum = 0;
    for (int k = 0; k < format.inputs(); ++k) {
      sum += static_cast<std::int64_t>(rest % static_cast<CodeKey>(format.levels()))
             << (2 * format.digits_per_input * k);
      rest /= static_cast<CodeKey>(format.levels());
    }
    std::int64_t value = defined_output(format, sum);
    for (Eigen::Index row = 0; row < outputs.rows(); ++row, value /= 4) {
      error = std::max(error, std::abs(outputs(row, static_cast<Eigen::Index>(i)) -
                                       static_cast<double>(value % 4)));
    }
  }
  return error;
}

constexpr double exact_digits = 1e-6;

TEST_CASE("both levels are exact over their whole alphabets", "[cascade]") {
  for (const Rounding rounding : {Rounding::half_up, Rounding::half_even, Rounding::floor}) {
    for (const Activation step : {Activation::clipped_relu, Activation::relu}) {
      for (const AnalyticForm form : {AnalyticForm::ripple, AnalyticForm::pipeline}) {
        for (const int servers : {2, 4}) {
          for (const int bits : {4, 6}) {
            CAPTURE(servers, bits, static_cast<int>(form), static_cast<int>(rounding));
            const AnalyticOptions options{.form = form, .step = step};
            CHECK(largest_error(format_of(servers, bits, 0, 1, rounding), options) < exact_digits);
            CHECK(largest_error(format_of(servers, bits, 1, 0, rounding), options) < exact_digits);
            if (servers * bits > 12) continue;
            CHECK(largest_error(format_of(servers, bits, 2, 0, rounding), options) < exact_digits);
            CHECK(largest_error(format_of(servers, bits, 1, 2, rounding), options) < exact_digits);
          }
        }
      }
      const AnalyticOptions pipeline{.form = AnalyticForm::pipeline, .step = step};
      for (const int servers : {8, 16}) {
        CHECK(largest_error(format_of(servers, 4, 0, 2, rounding), pipeline) < exact_digits);
      }
      CHECK(largest_error(format_of(3, 4, 1, 0, rounding), pipeline) < exact_digits);
      CodeFormat merged = format_of(2, 4, 0, 1, rounding);
      merged.digits_per_input = 2;
      CHECK(largest_error(merged, pipeline) < exact_digits);
      merged = format_of(4, 4, 1, 0, rounding);
      merged.digits_per_input = 3;
      CHECK(largest_error(merged, pipeline) < exact_digits);
    }
  }
}

TEST_CASE("8 bits, 4 x 4 servers: 13^4 and 13^5 codes right", "[cascade]") {
  for (const AnalyticForm form : {AnalyticForm::ripple, AnalyticForm::pipeline}) {
    for (const auto& [takes, gives, codes] : {std::tuple{0, 1, 28561}, std::tuple{1, 0, 371293}}) {
      const CodeFormat format = format_of(4, 8, takes, gives, Rounding::half_up);
      CHECK(largest_error(format, {.form = form}) < exact_digits);
      const Network network = build_analytic_network(format, {.form = form});
      const NetworkAccuracy accuracy =
          measure_accuracy(dense_layers(network), format, cpu(), {.max_codes = 1U << 20U});
      CHECK(accuracy.exhaustive);
      CHECK(accuracy.codes == static_cast<std::uint64_t>(codes));
      CHECK(accuracy.correct == accuracy.codes);
    }
  }
}

TEST_CASE("fraction digits stay in network files and only there where they are", "[cascade]") {
  const test::TemporaryFolder folder;
  const std::filesystem::path path = folder / "n.h5";
  for (const auto& [takes, gives] : {std::pair{0, 1}, std::pair{1, 0}, std::pair{0, 0}}) {
    const CodeFormat format = format_of(4, 8, takes, gives, Rounding::half_up);
    write_network(path, build_analytic_network(format, {}));
    CHECK(read_network(path).format == format);
    const std::string bytes = test::read_text(path);
    CHECK(test::contains(bytes, "input_fraction_digits") == (takes > 0));
    CHECK(test::contains(bytes, "output_fraction_digits") == (gives > 0));
  }
  Network network = build_analytic_network(format_of(4, 8, 0, 1, Rounding::half_up), {});
  network.format.output_fraction_digits = 0;
  CHECK_THROWS_AS(validate(network), DataError);
}

TEST_CASE("ripple levels without a ripple form are refused", "[cascade]") {
  CHECK_THROWS_AS(build_analytic_network(format_of(4, 8, 0, 2, Rounding::half_up), {}),
                  ConfigError);
  CHECK_THROWS_AS(build_analytic_network(format_of(8, 8, 0, 2, Rounding::half_up), {}),
                  ConfigError);
  CHECK(largest_error(format_of(4, 4, 0, 2, Rounding::half_up), {.form = AnalyticForm::pipeline}) <
        exact_digits);
}

}  // namespace
}  // namespace optinc
