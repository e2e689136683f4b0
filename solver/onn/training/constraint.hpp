// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace optinc {

/// How the layers of mapping `segmented` are kept on Sigma_a U_a.
enum class BlockConstraint {
  /// U and Sigma are what is trained; U goes back to the orthogonal matrices after every step.
  retraction,
  /// The weights are trained and replaced by the nearest Sigma_a U_a every so many steps, in two
  /// stages: with the whole loss, then with the loss of larger errors alone.
  projection,
};

}  // namespace optinc
