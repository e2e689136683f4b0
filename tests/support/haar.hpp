// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <Eigen/Core>

namespace optinc::testing {

/// Unitary [N, N] drawn from the Haar measure: QR of a complex Gaussian matrix, with the phases of
/// the diagonal of R moved into Q (Mezzadri, Notices AMS 54, 592, 2007). Same seed, same matrix.
Eigen::MatrixXcd haar_unitary(int modes, std::uint64_t seed);

/// Real orthogonal counterpart of `haar_unitary`.
Eigen::MatrixXd haar_orthogonal(int modes, std::uint64_t seed);

}  // namespace optinc::testing
