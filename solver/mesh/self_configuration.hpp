// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>

#include <Eigen/Core>

#include "solver/mesh/correction.hpp"

namespace optinc {

/// When the second part of self-configuration ends.
struct SelfConfigurationLimits {
  int most_sweeps = 100;  ///< over all phases of the mesh
  double stall = 0.01;    ///< a sweep that gains less of the overlap still missing is the last
};

/// A chip on a bench: sets `program`, sends in `inputs` [mode, sample] and returns the output
/// fields [mode, sample], measured coherently.
using MeasureFields =
    std::function<Eigen::MatrixXcd(const MeshProgram& program, const Eigen::MatrixXcd& inputs)>;

/// Corrects a mesh whose errors nobody knows, from fields at its inputs and outputs alone. Any
/// topology; N = modes.
///
/// 1. Nulling, column by column in propagation order. Into the chip go the fields that the ideal
/// mesh would gather in one output of an MZI; light at its other output is the error. That light is
/// read at the chip's outputs as the change of the fields when the next phase shifter on its way
/// (of an MZI or of the output screen) is switched between 0 and pi; where only the internal
/// shifter of an MZI is on the way, its upper input is averaged out by switching that one's phi as
/// well. Four settings (theta, phi) in {0, pi}^2 fix the light for all settings, since it is
/// affine in e^{i theta} and in e^{i phi}; the null, or the least light where there is none, is a
/// closed form. Measurements: 8 or 16 output fields for each MZI.
///
/// 2. Overlap. Re Tr(U_target^H U) is a sinusoid in each phase, so three settings give its best
/// value; sweeps over all phases until `limits`. Measurements: 3 transfer matrices (N output
/// fields each) for each phase and sweep. For a lossless chip this lowers E in every step.
///
/// MZIs of kind three_splitter have no shifter that one mode reaches alone, which nulling needs:
/// only part 2 is done for them, from the target's phases.
///
/// Noise of the measurement is not part of the model. Source of the idea of part 1: Hamerly,
/// Bandyopadhyay, Englund, arXiv 2106.03249 and 2106.04363 (progressive nulling, there by other
/// sequences of inputs); part 2 is coordinate ascent.
/// `out_of_range` counts the MZIs that found no null.
/// Args: target, the ideal program; measure, the chip; ideal, U_target.
/// Throws DataError when the program's lists do not fit its topology.
Correction self_configure(const MeshProgram& target, const MeasureFields& measure,
                          const Eigen::MatrixXcd& ideal,
                          const SelfConfigurationLimits& limits = {});

/// The same procedure on a simulated chip, with the same results up to rounding. Nothing but the
/// figures described above enters; they come from partial products of the mesh, O(N^2) for the
/// fields of an MZI and O(N^3) for a sweep of overlaps.
/// Args: chip, the mesh that has `target` programmed, with its errors; ideal, U_target; backend,
/// composes the chip's matrices that E is taken from.
/// Throws DataError when the meshes differ in shape.
Correction self_configure(const MeshProgram& target, const MeshState& chip,
                          const Eigen::MatrixXcd& ideal, const Backend& backend,
                          const SelfConfigurationLimits& limits = {});

}  // namespace optinc
