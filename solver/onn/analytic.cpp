// SPDX-License-Identifier: Apache-2.0
#include "solver/onn/analytic.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "solver/error.hpp"

namespace optinc {

namespace {

/// An affine function of the units of one layer.
struct AffineForm {
  Eigen::VectorXd coefficients;  ///< per unit
  double constant = 0;

  AffineForm operator+(const AffineForm& other) const {
    return {coefficients + other.coefficients, constant + other.constant};
  }
  AffineForm operator+(double offset) const { return {coefficients, constant + offset}; }
  AffineForm operator*(double factor) const { return {coefficients * factor, constant * factor}; }
};

AffineForm zero_form(Eigen::Index units) { return {Eigen::VectorXd::Zero(units), 0}; }

AffineForm unit_form(Eigen::Index units, Eigen::Index unit) {
  return {Eigen::VectorXd::Unit(units, unit), 0};
}

/// A value read from the units of a layer that is still growing.
struct UnitSum {
  std::vector<std::pair<Eigen::Index, double>> terms;  ///< unit, factor
};

/// A ReLU commutes with a positive factor, so its steps may be small and read large. A quarter
/// brings the largest singular values of the ripple form from 134 to 43 (36 at an eighth, where
/// the last layer grows to 73) and costs nothing; a power of two keeps it exact.
constexpr double relu_step_scale = 0.25;

/// Collects the units of one hidden layer.
class LayerBuilder {
 public:
  explicit LayerBuilder(Activation step) : step_(step) {}

  /// A unit that carries `form`, known to lie in [0, maximum], scaled into [0, 1].
  UnitSum carry(const AffineForm& form, double maximum) {
    return {{{add(form * (1 / maximum)), maximum}}};
  }

  /// 0 below centre - width/2, 1 above centre + width/2, a straight ramp between.
  UnitSum step(const AffineForm& form, double centre, double width) {
    const AffineForm ramp = (form + (-centre)) * (1 / width) + 0.5;
    if (step_ == Activation::clipped_relu) return {{{add(ramp), 1.0}}};
    const Eigen::Index rising = add(ramp * relu_step_scale);
    const Eigen::Index saturating = add((ramp + (-1.0)) * relu_step_scale);
    return {{{rising, 1 / relu_step_scale}, {saturating, -1 / relu_step_scale}}};
  }

  /// The reading as a function of the finished layer's units.
  AffineForm form(const UnitSum& sum) const {
    AffineForm form = zero_form(static_cast<Eigen::Index>(rows_.size()));
    for (const auto& [unit, factor] : sum.terms) form.coefficients(unit) += factor;
    return form;
  }

  NetworkLayer finish() const { return make_layer(rows_, step_); }

  static NetworkLayer make_layer(const std::vector<AffineForm>& rows, Activation activation) {
    const auto outputs = static_cast<Eigen::Index>(rows.size());
    NetworkLayer layer{.weight = Eigen::MatrixXd(outputs, rows.front().coefficients.size()),
                       .bias = Eigen::VectorXd(outputs),
                       .activation = activation,
                       .clip = 1};
    for (Eigen::Index row = 0; row < outputs; ++row) {
      layer.weight.row(row) = rows[static_cast<std::size_t>(row)].coefficients.transpose();
      layer.bias(row) = rows[static_cast<std::size_t>(row)].constant;
    }
    return layer;
  }

 private:
  Eigen::Index add(AffineForm row) {
    rows_.push_back(std::move(row));
    return static_cast<Eigen::Index>(rows_.size()) - 1;
  }

  Activation step_;
  std::vector<AffineForm> rows_;
};

enum class Tie { reads_one, reads_zero };

/// Thresholds on w = v + shift for v in the multiples of 1/N: ramps sit midway between the last
/// attainable value that must read 0 and the first that must read 1, half as wide as that gap.
class ThresholdGrid {
 public:
  ThresholdGrid(int servers, Rounding rounding) : servers_(servers), rounding_(rounding) {}

  /// What has to be added to v so that Q(v) is (but for ties) the integer part.
  double shift() const { return rounding_ == Rounding::floor ? 0.0 : 0.5; }

  double centre(std::int64_t threshold, Tie tie) const {
    // In units of 1 / (2 N) attainable values have pitch 2 and w = threshold is 2 N threshold.
    const bool attainable = rounding_ == Rounding::floor || servers_ % 2 == 0;
    const std::int64_t first_one =
        2 * servers_ * threshold + (attainable ? (tie == Tie::reads_one ? 0 : 2) : 1);
    return static_cast<double>(first_one - 1) / static_cast<double>(2 * servers_);
  }

  double width() const { return 0.5 / static_cast<double>(servers_); }

  /// half_even: a tie at an odd integer rounds down to the even one below it.
  Tie tie_at(std::int64_t integer) const {
    return rounding_ == Rounding::half_even && integer % 2 != 0 ? Tie::reads_zero : Tie::reads_one;
  }

 private:
  std::int64_t servers_;
  Rounding rounding_;
};

constexpr double largest_digit = 3;

/// A value that the next layers still need: an affine form now, and what it reads once carried.
std::vector<UnitSum> carry_all(LayerBuilder& layer, const std::vector<AffineForm>& digits) {
  std::vector<UnitSum> carried;
  carried.reserve(digits.size());
  for (const AffineForm& digit : digits) carried.push_back(layer.carry(digit, largest_digit));
  return carried;
}

std::vector<AffineForm> forms(const LayerBuilder& layer, const std::vector<UnitSum>& sums) {
  std::vector<AffineForm> result;
  result.reserve(sums.size());
  for (const UnitSum& sum : sums) result.push_back(layer.form(sum));
  return result;
}

UnitSum weighted_sum(const std::vector<UnitSum>& steps, const std::vector<double>& factors) {
  UnitSum sum;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    for (const auto& [unit, factor] : steps[i].terms) {
      sum.terms.emplace_back(unit, factor * factors[i]);
    }
  }
  return sum;
}

Network build_pipeline(const CodeFormat& format, Activation step) {
  Network network{.format = format, .kind = "analytic-pipeline", .layers = {}};
  const ThresholdGrid grid(format.servers, format.rounding);
  AffineForm residual = zero_form(format.inputs()) + grid.shift();
  for (int k = 0; k < format.inputs(); ++k) {
    const auto weight = static_cast<double>(std::int64_t{1} << (2 * format.digits_per_input * k));
    residual = residual + unit_form(format.inputs(), k) * weight;
  }
  std::vector<AffineForm> digits;  // most significant first
  for (int digit = format.digits() - 1; digit >= 0; --digit) {
    const std::int64_t weight = std::int64_t{1} << (2 * digit);
    LayerBuilder layer(step);
    std::vector<UnitSum> steps;
    for (std::int64_t t = 1; t <= 3; ++t) {
      steps.push_back(
          layer.step(residual, grid.centre(t * weight, grid.tie_at(t * weight)), grid.width()));
    }
    const std::vector<UnitSum> carried_digits = carry_all(layer, digits);
    const UnitSum carried_residual =
        digit > 0 ? layer.carry(residual, static_cast<double>(4 * weight)) : UnitSum{};
    digits = forms(layer, carried_digits);
    digits.push_back(layer.form(weighted_sum(steps, {1, 1, 1})));
    residual = layer.form(carried_residual) + digits.back() * -static_cast<double>(weight);
    network.layers.push_back(layer.finish());
  }
  network.layers.push_back(
      LayerBuilder::make_layer({digits.rbegin(), digits.rend()}, Activation::identity));
  return network;
}

/// What a ripple stage hands on.
struct RippleState {
  std::vector<AffineForm> inputs;  ///< a_k not yet used
  std::vector<AffineForm> digits;  ///< resolved, least significant first
  AffineForm carry;                ///< into the next stage
};

/// Resolves x in 0..15 into a digit (x mod 4) and a carry (x div 4) by a staircase of 15 steps.
void resolve_stage(Network& network, RippleState& state, Activation step, const AffineForm& x,
                   const std::vector<double>& centres, double width) {
  LayerBuilder layer(step);
  std::vector<UnitSum> steps;
  std::vector<double> digit_factors;
  std::vector<double> carry_factors;
  for (std::size_t k = 1; k <= centres.size(); ++k) {
    steps.push_back(layer.step(x, centres[k - 1], width));
    digit_factors.push_back(k % 4 == 0 ? -largest_digit : 1.0);
    carry_factors.push_back(k % 4 == 0 ? 1.0 : 0.0);
  }
  const std::vector<UnitSum> inputs = carry_all(layer, state.inputs);
  const std::vector<UnitSum> digits = carry_all(layer, state.digits);
  state.inputs = forms(layer, inputs);
  state.digits = forms(layer, digits);
  state.digits.push_back(layer.form(weighted_sum(steps, digit_factors)));
  state.carry = layer.form(weighted_sum(steps, carry_factors));
  network.layers.push_back(layer.finish());
}

/// First stage where the rounding looks at digit 0 of the average alone: floor(a_0 + shift).
void round_lowest_input(Network& network, RippleState& state, Activation step,
                        const ThresholdGrid& grid) {
  LayerBuilder layer(step);
  std::vector<UnitSum> steps;
  for (std::int64_t t = 1; t <= 3; ++t) {
    steps.push_back(layer.step(state.inputs.front() + grid.shift(), grid.centre(t, Tie::reads_one),
                               grid.width()));
  }
  const std::vector<UnitSum> inputs =
      carry_all(layer, {state.inputs.begin() + 1, state.inputs.end()});
  state.inputs = forms(layer, inputs);
  state.carry = layer.form(weighted_sum(steps, {1, 1, 1}));
  network.layers.push_back(layer.finish());
}

/// Takes the next input off the state and returns 4 a + carry.
AffineForm next_staircase(RippleState& state) {
  AffineForm x = state.inputs.front() * 4.0 + state.carry;
  state.inputs.erase(state.inputs.begin());
  return x;
}

std::vector<double> staircase_centres(const ThresholdGrid* grid) {
  std::vector<double> centres;
  for (std::int64_t k = 1; k <= 15; ++k) {
    centres.push_back(grid == nullptr ? static_cast<double>(k) - 0.5
                                      : grid->centre(k, grid->tie_at(k)));
  }
  return centres;
}

Network build_ripple(const CodeFormat& format, Activation step) {
  Network network{.format = format, .kind = "analytic-ripple", .layers = {}};
  const ThresholdGrid grid(format.servers, format.rounding);
  RippleState state;
  for (int k = 0; k < format.inputs(); ++k) {
    state.inputs.push_back(unit_form(format.inputs(), k));
  }
  if (format.rounding == Rounding::half_even) {
    // The parity that decides a tie is that of a_0 and 4 a_1 together, so both enter one stage.
    state.carry = state.inputs.front() + grid.shift();
    state.inputs.erase(state.inputs.begin());
    const AffineForm x = next_staircase(state);
    resolve_stage(network, state, step, x, staircase_centres(&grid), grid.width());
  } else {
    round_lowest_input(network, state, step, grid);
  }
  constexpr double integer_ramp_width = 0.5;
  while (!state.inputs.empty()) {
    const AffineForm x = next_staircase(state);
    resolve_stage(network, state, step, x, staircase_centres(nullptr), integer_ramp_width);
  }
  state.digits.push_back(state.carry);
  network.layers.push_back(LayerBuilder::make_layer(state.digits, Activation::identity));
  return network;
}

void require_ripple_format(const CodeFormat& format) {
  if (format.servers != 2 && format.servers != 4) {
    throw ConfigError(fmt::format(
        "no ripple network for {} servers (4/N must be an integer, so N = 2 or 4); use the "
        "pipeline form",
        format.servers));
  }
  if (format.digits_per_input != 1) {
    throw ConfigError(fmt::format(
        "no ripple network for {} digits per input (its carries need single digits); use "
        "digits_per_input = 1 or the pipeline form",
        format.digits_per_input));
  }
}

}  // namespace

Network build_analytic_network(const CodeFormat& format, const AnalyticOptions& options) {
  validate(format);
  if (options.step == Activation::identity) {
    throw ConfigError("an analytic network needs relu or clipped_relu steps");
  }
  if (options.form == AnalyticForm::pipeline) return build_pipeline(format, options.step);
  require_ripple_format(format);
  return build_ripple(format, options.step);
}

}  // namespace optinc
