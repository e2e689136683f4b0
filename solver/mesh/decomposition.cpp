// SPDX-License-Identifier: Apache-2.0
#include "solver/mesh/decomposition.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <numbers>
#include <vector>

#include <fmt/format.h>

#include "solver/error.hpp"
#include "solver/mesh/transfer.hpp"

namespace optinc {

namespace {

using Amplitude = std::complex<double>;
using Index = Eigen::Index;

/// An ideal MZI on modes (mode, mode + 1).
struct Factor {
  Index mode{};
  double theta_rad{};
  double phi_rad{};
};

Eigen::Matrix2cd factor_matrix(const Factor& factor) {
  MziState<double> state{};
  state.theta_rad = factor.theta_rad;
  state.phi_rad = factor.phi_rad;
  return mzi_matrix(state);
}

bool is_cross(double theta_rad) { return theta_rad == 0; }
bool is_bar(double theta_rad) { return theta_rad == std::numbers::pi; }

/// theta with tan(theta / 2) = |numerator| / |denominator|. Elements that are rounding residue
/// count as zero, so that bar and cross come out exactly and phi can be canonical there.
double internal_phase_rad(Amplitude numerator, Amplitude denominator) {
  const double opposite = std::abs(numerator);
  const double adjacent = std::abs(denominator);
  if (adjacent <= amplitude_residue) return std::numbers::pi;  // also where both vanish: bar
  if (opposite <= amplitude_residue) return 0;
  return 2.0 * std::atan2(opposite, adjacent);
}

bool routes_only(double theta_rad) { return is_cross(theta_rad) || is_bar(theta_rad); }

/// Chooses the MZI whose inverse, applied to columns (mode, mode + 1), nulls matrix(row, mode):
/// e^{-i phi} sin(theta/2) u_m + cos(theta/2) u_{m+1} = 0.
Factor null_by_column(Eigen::MatrixXcd& matrix, Index row, Index mode) {
  const Amplitude upper = matrix(row, mode);
  const Amplitude lower = matrix(row, mode + 1);
  Factor factor{.mode = mode, .theta_rad = internal_phase_rad(lower, upper), .phi_rad = 0};
  if (!routes_only(factor.theta_rad)) {
    factor.phi_rad = wrap_rad(std::arg(-upper * std::conj(lower)));
  }
  const Eigen::Matrix2cd t = factor_matrix(factor);
  const Eigen::VectorXcd first = matrix.col(mode);
  const Eigen::VectorXcd second = matrix.col(mode + 1);
  matrix.col(mode) = first * std::conj(t(0, 0)) + second * std::conj(t(0, 1));
  matrix.col(mode + 1) = first * std::conj(t(1, 0)) + second * std::conj(t(1, 1));
  matrix(row, mode) = 0;
  return factor;
}

/// Chooses the MZI that, applied to rows (mode, mode + 1), nulls matrix(mode + 1, column):
/// e^{i phi} cos(theta/2) u_m - sin(theta/2) u_{m+1} = 0.
Factor null_by_row(Eigen::MatrixXcd& matrix, Index mode, Index column) {
  const Amplitude upper = matrix(mode, column);
  const Amplitude lower = matrix(mode + 1, column);
  Factor factor{.mode = mode, .theta_rad = internal_phase_rad(upper, lower), .phi_rad = 0};
  if (!routes_only(factor.theta_rad)) {
    factor.phi_rad = wrap_rad(std::arg(lower * std::conj(upper)));
  }
  const Eigen::Matrix2cd t = factor_matrix(factor);
  const Eigen::RowVectorXcd first = matrix.row(mode);
  const Eigen::RowVectorXcd second = matrix.row(mode + 1);
  matrix.row(mode) = t(0, 0) * first + t(0, 1) * second;
  matrix.row(mode + 1) = t(1, 0) * first + t(1, 1) * second;
  matrix(mode + 1, column) = 0;
  return factor;
}

/// Rewrites T(theta, phi)^-1 diag(d) as diag(d') T(theta, phi') and returns the new factor.
/// General: e^{i phi'} = d1/d2, d1' = -e^{-i(theta + phi)} d2, d2' = -e^{-i theta} d2; where the
/// MZI only routes, phi' = 0 and both entries of d take its place.
Factor move_through_diagonal(const Factor& factor, Eigen::VectorXcd& diagonal) {
  Amplitude& upper = diagonal(factor.mode);
  Amplitude& lower = diagonal(factor.mode + 1);
  const Amplitude input = std::polar(1.0, -factor.phi_rad);
  const Amplitude internal = -std::polar(1.0, -factor.theta_rad);
  Factor moved{.mode = factor.mode, .theta_rad = factor.theta_rad, .phi_rad = 0};
  if (is_bar(factor.theta_rad)) {
    upper *= internal * input;
    lower *= internal;
    return moved;
  }
  if (is_cross(factor.theta_rad)) {
    const Amplitude old_upper = upper;
    upper = internal * input * lower;
    lower = internal * old_upper;
    return moved;
  }
  moved.phi_rad = wrap_rad(std::arg(upper * std::conj(lower)));
  upper = internal * input * lower;
  lower = internal * lower;
  return moved;
}

/// Nulls the lower triangle along diagonals, alternately from the right and from the left, and
/// returns the factors in propagation order; `matrix` is left diagonal.
std::vector<Factor> eliminate(Eigen::MatrixXcd& matrix, Eigen::VectorXcd& diagonal) {
  const Index modes = matrix.rows();
  std::vector<Factor> right;
  std::vector<Factor> left;
  for (Index diagonal_index = 0; diagonal_index + 1 < modes; ++diagonal_index) {
    for (Index step = 0; step <= diagonal_index; ++step) {
      if (diagonal_index % 2 == 0) {
        right.push_back(null_by_column(matrix, modes - 1 - step, diagonal_index - step));
      } else {
        const Index row = modes - 1 - diagonal_index + step;
        left.push_back(null_by_row(matrix, row - 1, step));
      }
    }
  }
  diagonal = matrix.diagonal();
  std::vector<Factor> ordered = std::move(right);
  for (auto factor = left.rbegin(); factor != left.rend(); ++factor) {
    ordered.push_back(move_through_diagonal(*factor, diagonal));
  }
  return ordered;
}

/// Puts each factor into the first free column whose parity fits its mode.
MeshProgram schedule(const std::vector<Factor>& factors, const Eigen::VectorXcd& diagonal) {
  const int modes = static_cast<int>(diagonal.size());
  MeshProgram program{
      .topology = clements_topology(modes), .theta_rad = {}, .phi_rad = {}, .output_phase_rad = {}};
  program.theta_rad.resize(program.topology.mzi_count());
  program.phi_rad.resize(program.topology.mzi_count());
  std::vector<std::size_t> column_start;
  std::size_t offset = 0;
  for (const MeshColumn& column : program.topology.columns) {
    column_start.push_back(offset);
    offset += static_cast<std::size_t>(column.mzi_count);
  }
  std::vector<Index> ready(static_cast<std::size_t>(modes), 0);
  for (const Factor& factor : factors) {
    const auto mode = static_cast<std::size_t>(factor.mode);
    Index column = std::max(ready[mode], ready[mode + 1]);
    if (column % 2 != factor.mode % 2) ++column;
    ready[mode] = ready[mode + 1] = column + 1;
    const std::size_t slot = column_start.at(static_cast<std::size_t>(column)) + mode / 2;
    program.theta_rad[slot] = factor.theta_rad;
    program.phi_rad[slot] = factor.phi_rad;
  }
  for (const Amplitude& entry : diagonal) {
    program.output_phase_rad.push_back(wrap_rad(std::arg(entry)));
  }
  return program;
}

}  // namespace

double unitarity_residual(const Eigen::MatrixXcd& matrix) {
  const Index columns = matrix.cols();
  const Eigen::MatrixXcd gram = matrix.adjoint() * matrix;
  return (gram - Eigen::MatrixXcd::Identity(columns, columns)).norm() /
         std::sqrt(static_cast<double>(columns));
}

MeshProgram decompose_clements(const Eigen::MatrixXcd& unitary, double unitarity_tolerance) {
  if (unitary.rows() != unitary.cols() || unitary.rows() < 1) {
    throw DataError(fmt::format("matrix of shape {} x {} (a mesh needs a square one)",
                                unitary.rows(), unitary.cols()));
  }
  if (!unitary.allFinite()) throw DataError("matrix has an element that is NaN or infinite");
  const double residual = unitarity_residual(unitary);
  if (residual > unitarity_tolerance) {
    throw DataError(
        fmt::format("matrix is not unitary: ||U^H U - I||_F / sqrt(N) = {:.3g} (limit {:.3g}); "
                    "pass the nearest "
                    "unitary or raise --unitarity-tol",
                    residual, unitarity_tolerance));
  }
  Eigen::MatrixXcd work = unitary;
  Eigen::VectorXcd diagonal;
  const std::vector<Factor> factors = eliminate(work, diagonal);
  return schedule(factors, diagonal);
}

}  // namespace optinc
