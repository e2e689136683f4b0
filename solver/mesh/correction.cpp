// SPDX-License-Identifier: Apache-2.0
#include "solver/mesh/correction.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <utility>
#include <vector>

#include "solver/error.hpp"
#include "solver/kernel/column_sweep.hpp"
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

void require_same_shape(const MeshState& chip, const MeshProgram& program) {
  const std::size_t mzis = program.topology.mzi_count();
  const auto modes = static_cast<std::size_t>(program.topology.modes);
  const bool same = chip.topology == program.topology && chip.mzis.size() == mzis &&
                    program.theta_rad.size() == mzis && program.phi_rad.size() == mzis &&
                    chip.output_phase_rad.size() == modes &&
                    program.output_phase_rad.size() == modes;
  if (!same) throw DataError("the chip to correct and the program have different meshes");
}

MeshProgram unprogrammed(const MeshProgram& program) {
  return {.topology = program.topology,
          .theta_rad = std::vector<double>(program.theta_rad.size()),
          .phi_rad = std::vector<double>(program.phi_rad.size()),
          .output_phase_rad = std::vector<double>(program.output_phase_rad.size())};
}

double matrix_error(const Eigen::MatrixXcd& actual, const Eigen::MatrixXcd& ideal) {
  return (actual - ideal).norm() / std::sqrt(static_cast<double>(ideal.rows()));
}

MeshProgram locally_corrected(const MeshProgram& target, const MeshState& chip) {
  const MeshState ideal = ideal_state(target);
  const MeshState errors = reprogrammed(chip, target, unprogrammed(target));
  MeshProgram program = target;
  std::vector<double> pending_rad(target.output_phase_rad.size());
  for_each_mzi(target.topology, [&](std::size_t mode, std::size_t mzi) {
    Eigen::Matrix2cd wanted = mzi_matrix(ideal.mzis[mzi]);
    wanted.col(0) *= std::polar(1.0, pending_rad[mode]);
    wanted.col(1) *= std::polar(1.0, pending_rad[mode + 1]);
    const MziSetting setting = correct_mzi(wanted, errors.mzis[mzi]);
    program.theta_rad[mzi] = setting.theta_rad;
    program.phi_rad[mzi] = setting.phi_rad;
    pending_rad[mode] = setting.upper_output_phase_rad;
    pending_rad[mode + 1] = setting.lower_output_phase_rad;
  });
  for (std::size_t mode = 0; mode < pending_rad.size(); ++mode) {
    program.output_phase_rad[mode] =
        wrap_rad(target.output_phase_rad[mode] + pending_rad[mode] - errors.output_phase_rad[mode]);
  }
  return program;
}

}  // namespace

MziSetting correct_mzi(const Eigen::Matrix2cd& target, const MziState<double>& errors) {
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

MeshState reprogrammed(const MeshState& chip, const MeshProgram& programmed,
                       const MeshProgram& program) {
  require_same_shape(chip, programmed);
  require_same_shape(chip, program);
  MeshState state = chip;
  for (std::size_t i = 0; i < state.mzis.size(); ++i) {
    state.mzis[i].theta_rad += program.theta_rad[i] - programmed.theta_rad[i];
    state.mzis[i].phi_rad += program.phi_rad[i] - programmed.phi_rad[i];
  }
  for (std::size_t mode = 0; mode < state.output_phase_rad.size(); ++mode) {
    state.output_phase_rad[mode] +=
        program.output_phase_rad[mode] - programmed.output_phase_rad[mode];
  }
  return state;
}

std::size_t count_out_of_range(const MeshProgram& target, const MeshState& chip) {
  require_same_shape(chip, target);
  const MeshState ideal = ideal_state(target);
  std::size_t count = 0;
  for (std::size_t i = 0; i < chip.mzis.size(); ++i) {
    const MziState<double>& actual = chip.mzis[i];
    if (!locate_split(mzi_matrix(ideal.mzis[i]), actual.alpha_rad, actual.beta_rad).in_range) {
      ++count;
    }
  }
  return count;
}

Correction accept_if_better(MeshProgram candidate, const MeshProgram& target, const MeshState& chip,
                            const Backend& backend) {
  const Eigen::MatrixXcd ideal = backend.compose(ideal_state(target));
  Correction result{.program = std::move(candidate),
                    .error_before = matrix_error(backend.compose(chip), ideal),
                    .error_after = 0,
                    .out_of_range = count_out_of_range(target, chip),
                    .kept_uncorrected = false};
  const MeshState corrected = reprogrammed(chip, target, result.program);
  result.error_after = matrix_error(backend.compose(corrected), ideal);
  if (result.error_after < result.error_before) return result;
  result.program = target;
  result.error_after = result.error_before;
  result.kept_uncorrected = true;
  return result;
}

Correction correct_locally(const MeshProgram& target, const MeshState& chip,
                           const Backend& backend) {
  return accept_if_better(locally_corrected(target, chip), target, chip, backend);
}

}  // namespace optinc
