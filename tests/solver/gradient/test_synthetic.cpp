// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numbers>
#include <vector>

#include <catch2/catch.hpp>

#include "noise/stream.hpp"
#include "solver/error.hpp"
#include "solver/gradient/synthetic.hpp"

namespace optinc {
namespace {

/// Elements per server of the tests of laws. Each bound below is left by chance with odds under
/// 2e-11; fewer than 50 are checked, so the false-alarm rate of this file is below 1e-9.
constexpr std::uint64_t count = 100'000;

/// Hoeffding for a share, Dvoretzky-Kiefer-Wolfowitz for a distribution: 2 exp(-2 n e^2) = 2e-11.
const double share_bound = std::sqrt(std::log(1e11) / (2.0 * count));

using Row = std::vector<float>;

std::vector<Row> values_of(const SyntheticOptions& options) {
  const SyntheticGradient gradient(options);
  std::vector<Row> rows(static_cast<std::size_t>(options.servers));
  for (std::size_t tensor = 0; tensor < gradient.tensors().size(); ++tensor) {
    const std::uint64_t n = gradient.tensors()[tensor].elements;
    std::vector<float> values(n * rows.size());
    gradient.read(tensor, 0, n, values.data(), n);
    for (std::size_t server = 0; server < rows.size(); ++server) {
      const auto first = values.begin() + static_cast<std::ptrdiff_t>(server * n);
      rows[server].insert(rows[server].end(), first, first + static_cast<std::ptrdiff_t>(n));
    }
  }
  return rows;
}

/// Largest distance of the empirical distribution from `distribution`.
double kolmogorov_distance(Row row, const std::function<double(double)>& distribution) {
  std::sort(row.begin(), row.end());
  const auto n = static_cast<double>(row.size());
  double largest = 0;
  for (std::size_t i = 0; i < row.size(); ++i) {
    const double expected = distribution(static_cast<double>(row[i]));
    largest = std::max({largest, std::abs(expected - static_cast<double>(i) / n),
                        std::abs(static_cast<double>(i + 1) / n - expected)});
  }
  return largest;
}

double gaussian_distribution(double x) { return std::erfc(-x / std::numbers::sqrt2) / 2; }

double laplace_distribution(double x) { return x < 0 ? std::exp(x) / 2 : 1 - std::exp(-x) / 2; }

/// Closed forms for 1, 2 and 3 degrees of freedom.
double student_distribution(int degrees, double x) {
  const double pi = std::numbers::pi;
  if (degrees == 1) return 0.5 + std::atan(x) / pi;
  if (degrees == 2) return 0.5 + x / (2 * std::sqrt(2 + x * x));
  const double t = x / std::sqrt(3.0);
  return 0.5 + (t / (1 + t * t) + std::atan(t)) / pi;
}

double correlation_of(const Row& a, const Row& b) {
  double aa = 0;
  double bb = 0;
  double ab = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const auto x = static_cast<double>(a[i]);
    const auto y = static_cast<double>(b[i]);
    aa += x * x;
    bb += y * y;
    ab += x * y;
  }
  return ab / std::sqrt(aa * bb);
}

double equal_sign_share(const Row& a, const Row& b) {
  double equal = 0;
  for (std::size_t i = 0; i < a.size(); ++i) equal += (a[i] > 0) == (b[i] > 0) ? 1 : 0;
  return equal / static_cast<double>(a.size());
}

void check_distribution(SyntheticOptions options,
                        const std::function<double(double)>& distribution) {
  options.elements = count;
  options.servers = 2;
  options.scale = 0.01;
  for (const double correlation : {0.0, 0.7}) {
    options.correlation = correlation;
    for (const Row& row : values_of(options)) {
      CHECK(kolmogorov_distance(row, [&](double x) { return distribution(x / 0.01); }) <
            share_bound);
      // One in a thousand of the values: a binomial count of 100 and, by Bernstein, +-85.
      const auto rare = std::count_if(row.begin(), row.end(), [&](float g) {
        return distribution(-std::abs(static_cast<double>(g)) / 0.01) < 0.0005;
      });
      CHECK(std::abs(static_cast<double>(rare) - 100) < 85);
    }
  }
}

}  // namespace

TEST_CASE("Synthetic values have the distribution of their kind at any correlation") {
  SECTION("gaussian") {
    check_distribution({.kind = SyntheticKind::gaussian, .seed = 3}, gaussian_distribution);
  }
  SECTION("laplace") {
    check_distribution({.kind = SyntheticKind::laplace, .seed = 4}, laplace_distribution);
  }
  SECTION("student_t") {
    for (const int degrees : {1, 2, 3}) {
      check_distribution({.kind = SyntheticKind::student_t,
                          .degrees_of_freedom = static_cast<double>(degrees),
                          .seed = 5},
                         [&](double x) { return student_distribution(degrees, x); });
    }
  }
}

TEST_CASE("Synthetic servers are correlated as stated") {
  for (const SyntheticKind kind :
       {SyntheticKind::gaussian, SyntheticKind::laplace, SyntheticKind::student_t}) {
    for (const double r : {0.0, 0.3, 0.9}) {
      const auto rows = values_of({.kind = kind,
                                   .servers = 3,
                                   .elements = count,
                                   .correlation = r,
                                   .degrees_of_freedom = 3,
                                   .seed = 6});
      CAPTURE(static_cast<int>(kind), r);
      // Sheppard: two normal scores of correlation r have equal signs with this probability.
      CHECK(std::abs(equal_sign_share(rows[0], rows[2]) - 0.5 - std::asin(r) / std::numbers::pi) <
            share_bound);
      if (kind != SyntheticKind::gaussian) continue;
      // Fisher's z is normal of deviation 1/sqrt(n - 3) to good accuracy; 7 of them: 2.6e-12.
      CHECK(std::abs(std::atanh(correlation_of(rows[0], rows[1])) - std::atanh(r)) <
            7 / std::sqrt(count - 3.0));
    }
  }
}

TEST_CASE("Synthetic servers are the same for correlation 1") {
  for (const SyntheticKind kind : {SyntheticKind::gaussian, SyntheticKind::student_t}) {
    const auto rows = values_of({.kind = kind, .servers = 3, .elements = 1000, .correlation = 1});
    CHECK(rows[0] == rows[1]);
    CHECK(rows[0] == rows[2]);
  }
}

TEST_CASE("A synthetic value is that of its documented address") {
  const auto rows = values_of({.servers = 3, .elements = 50, .scale = 2, .seed = 77});
  for (std::uint32_t server = 0; server < 3; ++server) {
    for (std::uint32_t i = 0; i < 50; ++i) {
      const UnitNormals normals =
          unit_normals(random_words({.seed = 77,
                                     .mesh_id = static_cast<std::uint16_t>(1 + server),
                                     .draw = static_cast<DrawId>(768),
                                     .element = i / 4}));
      CHECK(rows[server][i] == static_cast<float>(2 * normals.value[i % 4]));
    }
  }
}

TEST_CASE("Synthetic values do not depend on pieces, tensors, or how many there are") {
  const SyntheticOptions options = {
      .kind = SyntheticKind::laplace, .servers = 3, .elements = 20'011, .correlation = 0.4};
  const auto rows = values_of(options);
  SECTION("pieces") {
    const SyntheticGradient gradient(options);
    std::vector<float> out(3 * 7000, -99);
    std::uint64_t first = 0;
    for (std::uint64_t size = 1; first < 20'011; first += size, size = size % 7000 * 3 + 2) {
      size = std::min<std::uint64_t>({size, 20'011 - first, 7000});
      gradient.read(0, first, size, out.data(), 7000);
      for (std::size_t server = 0; server < 3; ++server) {
        for (std::uint64_t i = 0; i < size; ++i) {
          if (out[server * 7000 + i] != rows[server][first + i]) FAIL("piece at " << first);
        }
      }
    }
  }
  SECTION("tensors") {
    SyntheticOptions cut = options;
    cut.tensors = 6;
    CHECK(SyntheticGradient(cut).tensors()[0].elements == 3336);
    CHECK(SyntheticGradient(cut).tensors()[5].elements == 3335);
    CHECK(values_of(cut) == rows);
  }
  SECTION("more of them") {
    SyntheticOptions more = options;
    more.servers = 5;
    more.elements = 30'000;
    const auto larger = values_of(more);
    for (std::size_t server = 0; server < 3; ++server) {
      CHECK(std::equal(rows[server].begin(), rows[server].end(), larger[server].begin()));
    }
  }
  SECTION("every option changes them") {
    const std::vector<std::function<void(SyntheticOptions&)>> changes = {
        [](SyntheticOptions& o) { o.seed = 2; }, [](SyntheticOptions& o) { o.scale = 2; },
        [](SyntheticOptions& o) { o.correlation = 0.5; },
        [](SyntheticOptions& o) { o.kind = SyntheticKind::gaussian; }};
    for (const auto& change : changes) {
      SyntheticOptions changed = options;
      change(changed);
      CHECK(values_of(changed) != rows);
    }
  }
}

TEST_CASE("Synthetic options out of range are refused by name") {
  using Catch::Matchers::Contains;
  const auto refused = [](const SyntheticOptions& options, const char* name) {
    CHECK_THROWS_AS(SyntheticGradient(options), ConfigError);
    CHECK_THROWS_WITH(SyntheticGradient(options), Contains(name));
  };
  refused({.servers = 1}, "servers = 1");
  refused({.servers = 65}, "servers = 65");
  refused({.elements = 0}, "elements = 0");
  refused({.tensors = 0}, "tensors = 0");
  refused({.elements = 3, .tensors = 4}, "4 tensors");
  refused({.correlation = 1.5}, "correlation = 1.5");
  refused({.correlation = -0.5}, "correlation = -0.5");
  refused({.correlation = std::nan("")}, "correlation = nan");
  refused({.degrees_of_freedom = 0.5}, "degrees of freedom = 0.5");
  refused({.scale = 0}, "scale = 0");
}

}  // namespace optinc
