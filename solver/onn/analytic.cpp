// SPDX-License-Identifier: Apache-2.0
#include "solver/onn/analytic.hpp"

#include <cmath>
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

/// Thresholds on w = v + shift, in units of the lowest output digit, for v in the multiples of
/// steps / parts: ramps sit midway between the last attainable value that must read 0 and the first
/// that must read 1, half as wide as that gap.
class ThresholdGrid {
 public:
  explicit ThresholdGrid(const CodeFormat& format) {
    const std::int64_t inputs = std::int64_t{format.servers} << (2 * format.input_fraction_digits);
    if (format.output_fraction_digits > 0) {
      steps_ = (std::int64_t{1} << (2 * format.output_fraction_digits)) / inputs;
      rounding_ = Rounding::floor;
    } else {
      parts_ = inputs;
      rounding_ = format.rounding;
    }
  }

  /// What has to be added to v so that Q(v) is (but for ties) the integer part.
  double shift() const { return rounding_ == Rounding::floor ? 0.0 : 0.5; }

  double centre(std::int64_t threshold, Tie tie) const {
    // In units of 1 / (2 parts) attainable values are multiples of the pitch behind the shift.
    const std::int64_t pitch = 2 * steps_;
    const std::int64_t shift = rounding_ == Rounding::floor ? 0 : parts_;
    const std::int64_t at = 2 * parts_ * threshold;
    std::int64_t first_one = (at - shift + pitch - 1) / pitch * pitch + shift;
    if (first_one == at && tie == Tie::reads_zero) first_one += pitch;
    return static_cast<double>(first_one - steps_) / static_cast<double>(2 * parts_);
  }

  double width() const { return 0.5 * static_cast<double>(steps_) / static_cast<double>(parts_); }

  /// half_even: a tie at an odd integer rounds down to the even one below it.
  Tie tie_at(std::int64_t integer) const {
    return rounding_ == Rounding::half_even && integer % 2 != 0 ? Tie::reads_zero : Tie::reads_one;
  }

 private:
  std::int64_t steps_ = 1;
  std::int64_t parts_ = 1;
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
  const ThresholdGrid grid(format);
  const int point = format.output_fraction_digits - format.input_fraction_digits;
  AffineForm residual = zero_form(format.inputs()) + grid.shift();
  for (int k = 0; k < format.inputs(); ++k) {
    const double weight = std::ldexp(1.0, 2 * (format.digits_per_input * k + point));
    residual = residual + unit_form(format.inputs(), k) * weight;
  }
  std::vector<AffineForm> digits;  // most significant first
  for (int digit = format.output_digits() - 1; digit >= 0; --digit) {
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

/// How the staircase of a stage reads.
struct Staircase {
  std::vector<double> centres;  ///< of the steps, step k = 1, 2, ... reading x >= k
  double width{};
  /// The last stage takes 16 for more than the digits hold, and sets all of them to 3.
  bool saturates = false;
};

/// Resolves x in 0..16 into a digit (x mod 4) and a carry (x div 4) by a staircase.
void resolve_stage(Network& network, RippleState& state, Activation step, const AffineForm& x,
                   const Staircase& staircase) {
  constexpr std::size_t overflow = 16;
  LayerBuilder layer(step);
  std::vector<UnitSum> steps;
  std::vector<double> digit_factors;
  std::vector<double> carry_factors;
  for (std::size_t k = 1; k <= staircase.centres.size(); ++k) {
    const bool saturated = staircase.saturates && k == overflow;
    steps.push_back(layer.step(x, staircase.centres[k - 1], staircase.width));
    digit_factors.push_back(saturated ? 0.0 : (k % 4 == 0 ? -largest_digit : 1.0));
    carry_factors.push_back(!saturated && k % 4 == 0 ? 1.0 : 0.0);
  }
  const std::vector<UnitSum> inputs = carry_all(layer, state.inputs);
  const std::vector<UnitSum> digits = carry_all(layer, state.digits);
  state.inputs = forms(layer, inputs);
  state.digits = forms(layer, digits);
  if (staircase.saturates && steps.size() == overflow) {
    const AffineForm excess = layer.form(steps.back()) * largest_digit;
    for (AffineForm& digit : state.digits) digit = digit + excess;
  }
  state.digits.push_back(layer.form(weighted_sum(steps, digit_factors)));
  state.carry = layer.form(weighted_sum(steps, carry_factors));
  network.layers.push_back(layer.finish());
}

/// Takes what lies below the digits of the average, and its lowest digit, off the state.
AffineForm take_lowest(RippleState& state, int fraction_digits) {
  AffineForm lowest = state.inputs.front();
  for (int i = 1; i <= fraction_digits; ++i) {
    lowest = lowest * 0.25 + state.inputs[static_cast<std::size_t>(i)];
  }
  state.inputs.erase(state.inputs.begin(), state.inputs.begin() + 1 + fraction_digits);
  return lowest;
}

/// First stage where the rounding looks at digit 0 of the average and its fraction alone:
/// floor(lowest + shift), at most `largest`.
void round_lowest(Network& network, RippleState& state, Activation step, const ThresholdGrid& grid,
                  const AffineForm& lowest, std::int64_t largest) {
  LayerBuilder layer(step);
  std::vector<UnitSum> steps;
  for (std::int64_t t = 1; t <= largest; ++t) {
    steps.push_back(
        layer.step(lowest + grid.shift(), grid.centre(t, Tie::reads_one), grid.width()));
  }
  const std::vector<UnitSum> inputs = carry_all(layer, state.inputs);
  state.inputs = forms(layer, inputs);
  state.carry = layer.form(weighted_sum(steps, std::vector<double>(steps.size(), 1)));
  network.layers.push_back(layer.finish());
}

/// Takes the next input off the state and returns 4 a + carry.
AffineForm next_staircase(RippleState& state) {
  AffineForm x = state.inputs.front() * 4.0 + state.carry;
  state.inputs.erase(state.inputs.begin());
  return x;
}

/// The staircase where x is on the grid of the averages.
Staircase grid_staircase(const ThresholdGrid& grid, std::int64_t steps) {
  Staircase staircase{.centres = {}, .width = grid.width()};
  for (std::int64_t k = 1; k <= steps; ++k) {
    staircase.centres.push_back(grid.centre(k, grid.tie_at(k)));
  }
  return staircase;
}

/// The staircase where x is an integer.
Staircase integer_staircase(std::int64_t steps) {
  Staircase staircase{.centres = {}, .width = 0.5};
  for (std::int64_t k = 1; k <= steps; ++k) {
    staircase.centres.push_back(static_cast<double>(k) - 0.5);
  }
  return staircase;
}

/// Resolves the digits from the lowest input up. A fraction below digit 0 may carry 4 into the next
/// stage, where x is then up to 16, and the average may round to more than the digits hold.
Network build_ripple(const CodeFormat& format, Activation step) {
  Network network{.format = format, .kind = "analytic-ripple", .layers = {}};
  const ThresholdGrid grid(format);
  const bool overflows = format.input_fraction_digits > 0 && grid.shift() > 0;
  const std::int64_t most_steps = overflows ? 16 : 15;
  RippleState state;
  for (int k = 0; k < format.inputs(); ++k) {
    state.inputs.push_back(unit_form(format.inputs(), k));
  }
  const auto resolve = [&](const AffineForm& x, Staircase staircase) {
    staircase.saturates = overflows && state.inputs.empty();
    resolve_stage(network, state, step, x, staircase);
  };
  if (format.output_fraction_digits > 0) {
    // All digits are wanted: the lowest input carries without rounding.
    constexpr std::int64_t largest = 12;
    state.carry = zero_form(format.inputs());
    const AffineForm x = next_staircase(state);
    resolve(x, integer_staircase(largest));
  } else if (format.rounding == Rounding::half_even) {
    // The parity that decides a tie is that of a_0 and 4 a_1 together, so both enter one stage.
    state.carry = take_lowest(state, format.input_fraction_digits) + grid.shift();
    const AffineForm x = next_staircase(state);
    resolve(x, grid_staircase(grid, most_steps));
  } else {
    const AffineForm lowest = take_lowest(state, format.input_fraction_digits);
    round_lowest(network, state, step, grid, lowest, overflows ? 4 : 3);
  }
  while (!state.inputs.empty()) {
    const AffineForm x = next_staircase(state);
    resolve(x, integer_staircase(most_steps));
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
  if (format.output_fraction_digits > format.input_fraction_digits + 1) {
    throw ConfigError(fmt::format(
        "no ripple network with {} output fraction digits (its carries give one more than the "
        "input has, which is exact); use {} or the pipeline form",
        format.output_fraction_digits, format.input_fraction_digits + 1));
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
