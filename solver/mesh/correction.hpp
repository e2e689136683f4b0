// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>

#include <Eigen/Core>

#include "solver/backend/backend.hpp"
#include "solver/mesh/program.hpp"

namespace optinc {

/// Programmed phases of one MZI, in [0, 2 pi), and what they leave to be done behind it.
struct MziSetting {
  double theta_rad{};
  double phi_rad{};
  double upper_output_phase_rad{};  ///< missing on the upper output: target = diag(e^{i x}) actual
  double lower_output_phase_rad{};  ///< same, lower output
  bool in_range{};                  ///< whether the target's split is attainable
};

/// Phases that make an MZI with known errors a given unitary up to phases of its outputs. The split
/// of a standard MZI is attainable when sin^2(alpha + beta) <= T <= cos^2(alpha - beta), T =
/// |target(0, 0)|^2 (the ends change places where cos(2 alpha) cos(2 beta) < 0); the nearest
/// attainable one is taken otherwise. phi = 0 where it has no effect. The other kinds are a
/// standard MZI with a fixed part ahead of it or behind it, which is taken off the target first.
/// Args: target, unitary [out][in]; errors, the MZI with both phases programmed to zero. The
/// transmissions of its arms are ignored.
/// Source: Bandyopadhyay et al., arXiv 2103.04993; the closed form for theta and the range follow
/// from |T_11|^2 = cos^2(alpha - beta) sin^2(d/2) + sin^2(alpha + beta) cos^2(d/2), d the phase
/// between the internal arms.
MziSetting correct_mzi(const Eigen::Matrix2cd& target, const MziState<double>& errors);

/// A chip's mesh after error correction.
struct Correction {
  MeshProgram program;         ///< what to program; phases in [0, 2 pi)
  double error_before{};       ///< E = ||U' - U||_F / sqrt N with the target's own phases
  double error_after{};        ///< E with `program`
  std::size_t out_of_range{};  ///< MZIs whose part in the target the chip cannot attain
  bool kept_uncorrected{};     ///< no E below `error_before` was found: `program` is the target
};

/// The same chip with other phases programmed. Throws DataError when the meshes differ in shape.
/// Args: chip, the mesh with `programmed` on it and its errors; program, the phases to set instead.
MeshState reprogrammed(const MeshState& chip, const MeshProgram& programmed,
                       const MeshProgram& program);

/// Corrects each MZI by itself from the chip's known errors, in propagation order; the phases one
/// MZI leaves behind are handed to the next ones and at last to the output screen. Any topology.
/// Exact where every MZI is in range and the arms are lossless; arm losses are ignored.
/// Args: target, the ideal program; chip, the mesh that has `target` programmed, with its errors;
/// ideal, the target's matrix; backend, composes the chip's matrices that E is taken from.
/// Throws DataError when the meshes differ in shape.
/// Source: Bandyopadhyay et al., arXiv 2103.04993, section 3.
Correction correct_locally(const MeshProgram& target, const MeshState& chip,
                           const Eigen::MatrixXcd& ideal, const Backend& backend);

/// The program that gives the same matrix with MZIs of another kind, all free of errors. The
/// `program` given has standard MZIs. Phases lie in [0, 2 pi).
MeshProgram with_mzi_kind(const MeshProgram& program, MziKind mzi_kind);

/// Throws DataError unless program and chip have the same topology and lists that fit it.
void require_same_shape(const MeshProgram& program, const MeshState& chip);

/// The program with all phases zero.
MeshProgram without_phases(const MeshProgram& program);

/// Transfer matrix [out][in] of a chip with a program on it.
using TransferOfProgram = std::function<Eigen::MatrixXcd(const MeshProgram&)>;

/// The correction that a candidate program amounts to: the candidate when its E against `ideal` is
/// below the target's, else the target's own phases.
Correction better_of(const MeshProgram& target, MeshProgram candidate, std::size_t out_of_range,
                     const TransferOfProgram& transfer, const Eigen::MatrixXcd& ideal);

}  // namespace optinc
