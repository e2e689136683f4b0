// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdint>
#include <vector>

#include <catch2/catch.hpp>

#include "noise/drift.hpp"

namespace optinc {
namespace {

/// A single check is off by chance with probability 2.6e-12; fewer than 100 are made: a false-alarm
/// rate below 1e-9.
constexpr double drift_sigmas = 7.0;

constexpr std::uint32_t elements = 5000;

/// Four paths of every element at one time.
std::vector<double> paths_at(double time) {
  const OrnsteinUhlenbeck process(time);
  std::vector<double> values;
  for (std::uint32_t element = 0; element < elements; ++element) {
    const UnitNormals paths =
        process.at({.seed = 7, .chip = 1, .mesh_id = 2, .draw = DrawId::drift, .element = element});
    values.insert(values.end(), paths.value, paths.value + 4);
  }
  return values;
}

double mean_product(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum / static_cast<double>(a.size());
}

/// Largest deviation of a mean product of two normals of these variances that chance allows.
double tolerance(double variance_a, double variance_b) {
  return drift_sigmas * std::sqrt(2 * variance_a * variance_b / (4.0 * elements));
}

double variance_law(double time) { return -std::expm1(-2 * time); }

}  // namespace

TEST_CASE("drift starts at zero and its variance follows 1 - exp(-2 t / tau)", "[drift]") {
  for (const double value : paths_at(0)) CHECK(value == 0);
  for (const double time : {1e-12, 1e-6, 0.01, 0.3, 1.0, 4.0, 50.0, 299.9, 300.1, 1e7}) {
    CAPTURE(time);
    const std::vector<double> paths = paths_at(time);
    const double law = variance_law(time);
    CHECK(std::fabs(mean_product(paths, paths) - law) < tolerance(law, law));
  }
}

TEST_CASE("drift has the covariance of an Ornstein-Uhlenbeck process at any two times", "[drift]") {
  // exp(-(t - s)) (1 - exp(-2 s)); long after calibration the autocorrelation exp(-|t - s|).
  for (const auto& [early, late] :
       {std::pair{1e-6, 2e-6}, std::pair{0.01, 0.5}, std::pair{0.7, 0.9}, std::pair{1.0, 3.0},
        std::pair{20.0, 20.1}, std::pair{20.0, 20.5}, std::pair{20.0, 21.0}, std::pair{20.0, 22.0},
        std::pair{5000.0, 5000.5}, std::pair{20.0, 60.0}}) {
    CAPTURE(early, late);
    const std::vector<double> a = paths_at(early);
    const std::vector<double> b = paths_at(late);
    const double law = std::exp(early - late) * variance_law(early);
    CHECK(std::fabs(mean_product(a, b) - law) < tolerance(variance_law(early), variance_law(late)));
    // The step between them, however short, has its own law.
    std::vector<double> step(a.size());
    const double decay = std::exp(early - late);
    for (std::size_t i = 0; i < a.size(); ++i) step[i] = b[i] - decay * a[i];
    const double step_law = -std::expm1(2 * (early - late));
    CHECK(std::fabs(mean_product(step, step) - step_law) < tolerance(step_law, step_law));
    // Markov: what happens in it does not depend on where it began.
    CHECK(std::fabs(mean_product(step, a)) < tolerance(step_law, variance_law(early)));
  }
}

TEST_CASE("the paths of a block and of two elements are independent", "[drift]") {
  const std::vector<double> paths = paths_at(1.7);
  std::vector<double> neighbour(paths.begin() + 1, paths.end());
  neighbour.push_back(paths.front());
  std::vector<double> other(paths.begin() + 4, paths.end());
  other.insert(other.end(), paths.begin(), paths.begin() + 4);
  CHECK(std::fabs(mean_product(paths, neighbour)) < tolerance(1, 1));
  CHECK(std::fabs(mean_product(paths, other)) < tolerance(1, 1));
}

}  // namespace optinc
