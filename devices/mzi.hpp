// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "devices/complex.hpp"
#include "devices/coupler.hpp"
#include "devices/phase_arm.hpp"

namespace optinc {

/// Which two-mode block a Mach-Zehnder interferometer is.
enum class MziKind {
  standard,        ///< two couplers
  three_splitter,  ///< a third coupler ahead of phi
  crossing,        ///< a waveguide crossing behind the second coupler
};

/// Everything that fixes one Mach-Zehnder interferometer: programmed phases plus its errors.
/// All zeros in the error fields is the ideal device.
template <class Real>
struct MziState {
  Real theta_rad{};            ///< internal phase, upper arm; 0 = cross, pi = bar
  Real phi_rad{};              ///< input phase, upper arm
  Real alpha_rad{};            ///< splitting-angle error of the input coupler
  Real beta_rad{};             ///< splitting-angle error of the output coupler
  Arm<Real> input_upper{};     ///< extra phase and transmission of the arm that carries phi
  Arm<Real> input_lower{};     ///< same, the arm beside it
  Arm<Real> internal_upper{};  ///< same, the arm that carries theta
  Arm<Real> internal_lower{};  ///< same, the arm beside it
  MziKind kind{};
  Real gamma_rad{};  ///< splitting-angle error of the third coupler; no other kind has it
};

/// Transfer T = BS(pi/4 + beta) P(theta) BS(pi/4 + alpha) P(phi), both phases on the upper arm.
/// Ideal: i e^{i theta/2} [[e^{i phi} sin(theta/2), cos(theta/2)],
///                         [e^{i phi} cos(theta/2), -sin(theta/2)]].
/// three_splitter: T BS(pi/4 + gamma). crossing: [[0, 1], [1, 0]] T.
/// Sources: Bandyopadhyay et al., arXiv 2103.04993 (product form and ordering as there); Hamerly et
/// al., arXiv 2109.05367 (the other two kinds; which side the extra element is on is our choice).
template <class Real>
OPTINC_HD Transfer2x2<Real> mzi(MziState<Real> state) {
  constexpr Real balanced_rad = Real(0.785398163397448309615660845819875721L);
  state.input_upper.phase_rad += state.phi_rad;
  state.internal_upper.phase_rad += state.theta_rad;
  const Transfer2x2<Real> standard = coupler(balanced_rad + state.beta_rad) *
                                     arm_pair(state.internal_upper, state.internal_lower) *
                                     coupler(balanced_rad + state.alpha_rad) *
                                     arm_pair(state.input_upper, state.input_lower);
  switch (state.kind) {
    case MziKind::three_splitter:
      return standard * coupler(balanced_rad + state.gamma_rad);
    case MziKind::crossing:
      return {standard.m21, standard.m22, standard.m11, standard.m12};
    case MziKind::standard:
      break;
  }
  return standard;
}

}  // namespace optinc
