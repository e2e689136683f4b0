// SPDX-License-Identifier: Apache-2.0
#include "solver/mesh/decomposition.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <numbers>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <Eigen/SVD>

#include "devices/angle.hpp"
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

/// Multiplies columns (mode, mode + 1) by the inverse of the factor.
void divide_columns(const Factor& factor, Eigen::MatrixXcd& matrix) {
  const Eigen::Matrix2cd t = factor_matrix(factor);
  for (Index row = 0; row < matrix.rows(); ++row) {
    const Amplitude first = matrix(row, factor.mode);
    const Amplitude second = matrix(row, factor.mode + 1);
    matrix(row, factor.mode) = first * std::conj(t(0, 0)) + second * std::conj(t(0, 1));
    matrix(row, factor.mode + 1) = first * std::conj(t(1, 0)) + second * std::conj(t(1, 1));
  }
}

/// Chooses the MZI whose inverse, applied to columns (mode, mode + 1), nulls matrix(row, mode):
/// e^{-i phi} sin(theta/2) u_m + cos(theta/2) u_{m+1} = 0.
Factor null_upper_by_column(Eigen::MatrixXcd& matrix, Index row, Index mode) {
  const Amplitude upper = matrix(row, mode);
  const Amplitude lower = matrix(row, mode + 1);
  Factor factor{.mode = mode, .theta_rad = internal_phase_rad(lower, upper), .phi_rad = 0};
  if (!routes_only(factor.theta_rad)) {
    factor.phi_rad = wrap_rad(std::arg(-upper * std::conj(lower)));
  }
  divide_columns(factor, matrix);
  matrix(row, mode) = 0;
  return factor;
}

/// The same for matrix(row, mode + 1): e^{-i phi} cos(theta/2) u_m - sin(theta/2) u_{m+1} = 0.
Factor null_lower_by_column(Eigen::MatrixXcd& matrix, Index row, Index mode) {
  const Amplitude upper = matrix(row, mode);
  const Amplitude lower = matrix(row, mode + 1);
  Factor factor{.mode = mode, .theta_rad = internal_phase_rad(upper, lower), .phi_rad = 0};
  if (!routes_only(factor.theta_rad)) {
    factor.phi_rad = wrap_rad(std::arg(upper * std::conj(lower)));
  }
  divide_columns(factor, matrix);
  matrix(row, mode + 1) = 0;
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

/// A diagonal matrix and the MZIs before it, in propagation order.
struct Factors {
  std::vector<Factor> mzis;
  Eigen::VectorXcd diagonal;
};

/// Nulls the lower triangle along diagonals, alternately from the right and from the left.
Factors eliminate_clements(Eigen::MatrixXcd matrix) {
  const Index modes = matrix.rows();
  std::vector<Factor> right;
  std::vector<Factor> left;
  for (Index diagonal_index = 0; diagonal_index + 1 < modes; ++diagonal_index) {
    for (Index step = 0; step <= diagonal_index; ++step) {
      if (diagonal_index % 2 == 0) {
        right.push_back(null_upper_by_column(matrix, modes - 1 - step, diagonal_index - step));
      } else {
        const Index row = modes - 1 - diagonal_index + step;
        left.push_back(null_by_row(matrix, row - 1, step));
      }
    }
  }
  Factors factors{.mzis = std::move(right), .diagonal = matrix.diagonal()};
  for (auto factor = left.rbegin(); factor != left.rend(); ++factor) {
    factors.mzis.push_back(move_through_diagonal(*factor, factors.diagonal));
  }
  return factors;
}

/// Nulls the upper triangle row by row, each from its end.
Factors eliminate_reck(Eigen::MatrixXcd matrix) {
  const Index modes = matrix.rows();
  Factors factors;
  for (Index row = 0; row + 1 < modes; ++row) {
    for (Index mode = modes - 2; mode >= row; --mode) {
      factors.mzis.push_back(null_lower_by_column(matrix, row, mode));
    }
  }
  factors.diagonal = matrix.diagonal();
  return factors;
}

/// Puts each factor into the first free column that has an MZI on its modes.
MeshProgram schedule(const Factors& factors, Topology topology) {
  MeshProgram program{
      .topology = std::move(topology), .theta_rad = {}, .phi_rad = {}, .output_phase_rad = {}};
  program.theta_rad.resize(program.topology.mzi_count());
  program.phi_rad.resize(program.topology.mzi_count());
  const std::vector<std::size_t> starts = column_starts(program.topology.columns);
  std::vector<std::size_t> ready(static_cast<std::size_t>(program.topology.modes), 0);
  for (const Factor& factor : factors.mzis) {
    const auto mode = static_cast<std::size_t>(factor.mode);
    std::size_t column = std::max(ready[mode], ready[mode + 1]);
    const int upper = static_cast<int>(factor.mode);
    while (!program.topology.columns.at(column).joins(upper)) ++column;
    ready[mode] = ready[mode + 1] = column + 1;
    const std::size_t slot = starts[column] + program.topology.columns[column].index_of(upper);
    program.theta_rad[slot] = factor.theta_rad;
    program.phi_rad[slot] = factor.phi_rad;
  }
  for (const Amplitude& entry : factors.diagonal) {
    program.output_phase_rad.push_back(wrap_rad(std::arg(entry)));
  }
  return program;
}

void require_square_and_finite(const Eigen::MatrixXcd& matrix) {
  if (matrix.rows() != matrix.cols() || matrix.rows() < 1) {
    throw DataError(fmt::format("matrix of shape {} x {} (a mesh needs a square one)",
                                matrix.rows(), matrix.cols()));
  }
  if (!matrix.allFinite()) throw DataError("matrix has an element that is NaN or infinite");
}

}  // namespace

double unitarity_residual(const Eigen::MatrixXcd& matrix) {
  const Index columns = matrix.cols();
  const Eigen::MatrixXcd gram = matrix.adjoint() * matrix;
  return (gram - Eigen::MatrixXcd::Identity(columns, columns)).norm() /
         std::sqrt(static_cast<double>(columns));
}

double matrix_error(const Eigen::MatrixXcd& actual, const Eigen::MatrixXcd& ideal) {
  return (actual - ideal).norm() / std::sqrt(static_cast<double>(ideal.rows()));
}

Eigen::MatrixXcd nearest_unitary(const Eigen::MatrixXcd& matrix) {
  require_square_and_finite(matrix);
  const Eigen::JacobiSVD<Eigen::MatrixXcd> svd(matrix, Eigen::ComputeFullU | Eigen::ComputeFullV);
  const double largest = svd.singularValues()(0);
  const double smallest = svd.singularValues()(matrix.rows() - 1);
  constexpr double rank_tolerance = 1e-12;
  if (!(smallest > rank_tolerance * largest)) {
    throw DataError(
        fmt::format("matrix has no single nearest unitary (singular values from {:.3g} to {:.3g}); "
                    "give one of full rank",
                    smallest, largest));
  }
  return svd.matrixU() * svd.matrixV().adjoint();
}

MeshProgram decompose(const Eigen::MatrixXcd& unitary, Topology::Kind topology,
                      double unitarity_tolerance) {
  require_square_and_finite(unitary);
  const double residual = unitarity_residual(unitary);
  if (residual > unitarity_tolerance) {
    throw DataError(
        fmt::format("matrix is not unitary: ||U^H U - I||_F / sqrt(N) = {:.3g} (limit {:.3g}); "
                    "take the nearest unitary (--nearest) or raise --unitarity-tol",
                    residual, unitarity_tolerance));
  }
  const Factors factors =
      topology == Topology::Kind::reck ? eliminate_reck(unitary) : eliminate_clements(unitary);
  return schedule(factors, standard_topology(topology, static_cast<int>(unitary.rows())));
}

}  // namespace optinc
