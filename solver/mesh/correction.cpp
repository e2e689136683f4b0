// SPDX-License-Identifier: Apache-2.0
#include "solver/mesh/correction.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <utility>
#include <vector>

#include "devices/angle.hpp"
#include "solver/error.hpp"
#include "solver/mesh/decomposition.hpp"
#include "solver/mesh/transfer.hpp"

namespace optinc {

namespace {

using Amplitude = std::complex<double>;

/// Where a wanted split T = upper^2 lies within the range of an MZI.
struct SplitPosition {
  double above_lowest{};   ///< T - sin^2(alpha + beta), turned so that positive is inside
  double below_highest{};  ///< cos^2(alpha - beta) - T, likewise
  bool in_range{};
};

/// Both distances are formed as products of amplitudes: no digits cancel near bar and cross.
SplitPosition locate_split(const Eigen::Matrix2cd& target, double alpha_rad, double beta_rad) {
  const double bar = std::abs(target(0, 0));
  const double cross = std::abs(target(0, 1));
  const auto difference = [](double a, double b) { return std::pair(a - b, a + b); };
  const auto [low, low_sum] = difference(bar * std::abs(std::cos(alpha_rad + beta_rad)),
                                         cross * std::abs(std::sin(alpha_rad + beta_rad)));
  const auto [high, high_sum] = difference(cross * std::abs(std::cos(alpha_rad - beta_rad)),
                                           bar * std::abs(std::sin(alpha_rad - beta_rad)));
  const double side = std::cos(2 * alpha_rad) * std::cos(2 * beta_rad) < 0 ? -1 : 1;
  return {.above_lowest = side * low * low_sum,
          .below_highest = side * high * high_sum,
          .in_range = std::min(side * low, side * high) >= -amplitude_residue};
}

/// The phase between the internal arms that gives the split, in [0, pi].
double internal_phase_rad(const SplitPosition& split) {
  return 2 * std::atan2(std::sqrt(std::max(0.0, split.above_lowest)),
                        std::sqrt(std::max(0.0, split.below_highest)));
}

/// Phase between the columns of a transfer's upper row; none where it only routes.
Amplitude column_contrast(const Eigen::Matrix2cd& transfer) {
  const Amplitude contrast = transfer(0, 0) * std::conj(transfer(0, 1));
  return std::abs(contrast) <= amplitude_residue ? Amplitude(0) : contrast;
}

MziState<double> without_losses(MziState<double> state) {
  for (Arm<double>* arm :
       {&state.input_upper, &state.input_lower, &state.internal_upper, &state.internal_lower}) {
    arm->amplitude_transmission = 1;
  }
  return state;
}

/// Phase that `actual` lacks on one output to be closest to `target` there.
double missing_phase_rad(const Eigen::Matrix2cd& target, const Eigen::Matrix2cd& actual, int row) {
  return std::arg(actual.row(row).dot(target.row(row)));
}

/// Corrects MZI after MZI in propagation order.
class LocalCorrector {
 public:
  /// Args: unprogrammed, the chip with all phases programmed to zero.
  LocalCorrector(const MeshProgram& target, MeshState unprogrammed)
      : program_(target),
        ideal_(ideal_state(target)),
        errors_(std::move(unprogrammed)),
        pending_rad_(target.output_phase_rad.size()) {
    program_.topology = errors_.topology;
  }

  void run() {
    std::size_t mzi = 0;
    for (const MeshColumn& column : ideal_.topology.columns) {
      for (int i = 0; i < column.mzi_count; ++i) {
        const int mode = column.first_mode + 2 * i;
        correct(mzi++, static_cast<std::size_t>(mode));
      }
    }
    for (std::size_t mode = 0; mode < pending_rad_.size(); ++mode) {
      program_.output_phase_rad[mode] = wrap_rad(
          ideal_.output_phase_rad[mode] + pending_rad_[mode] - errors_.output_phase_rad[mode]);
    }
  }

  MeshProgram program() && { return std::move(program_); }
  std::size_t out_of_range() const { return out_of_range_; }

 private:
  void correct(std::size_t mzi, std::size_t mode) {
    Eigen::Matrix2cd wanted = mzi_matrix(ideal_.mzis[mzi]);
    wanted.col(0) *= std::polar(1.0, pending_rad_[mode]);
    wanted.col(1) *= std::polar(1.0, pending_rad_[mode + 1]);
    const MziSetting setting = correct_mzi(wanted, errors_.mzis[mzi]);
    program_.theta_rad[mzi] = setting.theta_rad;
    program_.phi_rad[mzi] = setting.phi_rad;
    pending_rad_[mode] = setting.upper_output_phase_rad;
    pending_rad_[mode + 1] = setting.lower_output_phase_rad;
    if (!setting.in_range) ++out_of_range_;
  }

  MeshProgram program_;
  MeshState ideal_;
  MeshState errors_;
  std::vector<double> pending_rad_;  ///< per mode: phase still missing behind the MZIs corrected
  std::size_t out_of_range_ = 0;
};

/// The settings of a standard MZI.
MziSetting correct_standard(const Eigen::Matrix2cd& target, const MziState<double>& errors) {
  MziState<double> actual = without_losses(errors);
  const SplitPosition split = locate_split(target, actual.alpha_rad, actual.beta_rad);
  MziSetting setting{.in_range = split.in_range};
  setting.theta_rad = wrap_rad(internal_phase_rad(split) - actual.theta_rad -
                               actual.internal_upper.phase_rad + actual.internal_lower.phase_rad);
  actual.theta_rad += setting.theta_rad;
  setting.phi_rad =
      wrap_rad(std::arg(column_contrast(target) * std::conj(column_contrast(mzi_matrix(actual)))));
  actual.phi_rad += setting.phi_rad;
  const Eigen::Matrix2cd attained = mzi_matrix(actual);
  setting.upper_output_phase_rad = missing_phase_rad(target, attained, 0);
  setting.lower_output_phase_rad = missing_phase_rad(target, attained, 1);
  return setting;
}

}  // namespace

MziSetting correct_mzi(const Eigen::Matrix2cd& target, const MziState<double>& errors) {
  MziState<double> standard = errors;
  standard.kind = MziKind::standard;
  switch (errors.kind) {
    case MziKind::three_splitter: {
      const Eigen::Matrix2cd ahead = to_matrix(coupler(std::numbers::pi / 4 + errors.gamma_rad));
      return correct_standard(target * ahead.adjoint(), standard);
    }
    case MziKind::crossing: {
      MziSetting setting = correct_standard(target.colwise().reverse(), standard);
      std::swap(setting.upper_output_phase_rad, setting.lower_output_phase_rad);
      return setting;
    }
    case MziKind::standard:
      break;
  }
  return correct_standard(target, standard);
}

MeshState reprogrammed(const MeshState& chip, const MeshProgram& programmed,
                       const MeshProgram& program) {
  require_same_shape(programmed, chip);
  require_same_shape(program, chip);
  MeshState state = chip;
  reprogram(programmed, program, state);
  return state;
}

void require_same_shape(const MeshProgram& program, const MeshState& chip) {
  const std::size_t mzis = program.topology.mzi_count();
  const auto modes = static_cast<std::size_t>(program.topology.modes);
  const bool same = chip.topology == program.topology && chip.mzis.size() == mzis &&
                    program.theta_rad.size() == mzis && program.phi_rad.size() == mzis &&
                    chip.output_phase_rad.size() == modes &&
                    program.output_phase_rad.size() == modes;
  if (!same) throw DataError("the chip to correct and the program have different meshes");
}

MeshProgram without_phases(const MeshProgram& program) {
  return {.topology = program.topology,
          .theta_rad = std::vector<double>(program.theta_rad.size()),
          .phi_rad = std::vector<double>(program.phi_rad.size()),
          .output_phase_rad = std::vector<double>(program.output_phase_rad.size())};
}

Correction better_of(const MeshProgram& target, MeshProgram candidate, std::size_t out_of_range,
                     const TransferOfProgram& transfer, const Eigen::MatrixXcd& ideal) {
  const double error_before = matrix_error(transfer(target), ideal);
  const double error_after = matrix_error(transfer(candidate), ideal);
  if (error_after < error_before) {
    return {.program = std::move(candidate),
            .error_before = error_before,
            .error_after = error_after,
            .out_of_range = out_of_range,
            .kept_uncorrected = false};
  }
  return {.program = target,
          .error_before = error_before,
          .error_after = error_before,
          .out_of_range = out_of_range,
          .kept_uncorrected = true};
}

MeshProgram with_mzi_kind(const MeshProgram& program, MziKind mzi_kind) {
  if (mzi_kind == program.topology.mzi_kind) return program;
  MeshProgram blank = without_phases(program);
  blank.topology.mzi_kind = mzi_kind;
  LocalCorrector corrector(program, ideal_state(blank));
  corrector.run();
  return std::move(corrector).program();
}

Correction correct_locally(const MeshProgram& target, const MeshState& chip,
                           const Eigen::MatrixXcd& ideal, const Backend& backend) {
  LocalCorrector corrector(target, reprogrammed(chip, target, without_phases(target)));
  corrector.run();
  const std::size_t out_of_range = corrector.out_of_range();
  return better_of(
      target, std::move(corrector).program(), out_of_range,
      [&](const MeshProgram& program) {
        return backend.compose(reprogrammed(chip, target, program));
      },
      ideal);
}

}  // namespace optinc
