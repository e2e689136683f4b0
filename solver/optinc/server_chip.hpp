// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <Eigen/Core>

#include "noise/combiner_errors.hpp"
#include "solver/backend/backend.hpp"
#include "solver/optinc/chip.hpp"
#include "solver/optinc/code.hpp"
#include "solver/optinc/receiver.hpp"

namespace optinc {

/// Throws ConfigError for phases that an incoherent combiner cannot see.
void validate(const CombinerImperfections& imperfections);

/// Weights of a chip's combiner, [group, server]; a group is an input of the network. Args:
/// first_server: number of its first server in the random streams; units of one chip are numbered
/// on.
Eigen::MatrixXcd combiner_weights(const CombinerImperfections& imperfections,
                                  const CodeFormat& format, std::uint64_t seed, std::uint32_t chip,
                                  std::uint16_t first_server = 0);

/// Fields at the inputs of the network, a_k = (1/N) sum_s w_ks a_sk in digit units: [2 K,
/// elements], real parts above imaginary parts. Args: weights [K, N]; values u, `values[element *
/// servers + server]`.
Eigen::MatrixXd combined_fields(const CodeFormat& format, const Eigen::MatrixXcd& weights,
                                std::span<const std::uint32_t> values);

/// Values that give these codes with every level shared as evenly as possible, the first servers
/// sending one more: what the servers send for calibration.
std::vector<std::uint32_t> training_values(const CodeFormat& format,
                                           const std::vector<CodeKey>& codes);

/// One chip with its combiner. Keeps references to `format`, `chip` and `backend`.
class ServerChip {
 public:
  /// Calibrates the receiver on training_values of `codes`.
  ServerChip(const CodeFormat& format, const ChipOptics& chip, Eigen::MatrixXcd weights,
             const Backend& backend, ReceiverOptions receiver, const std::vector<CodeKey>& codes);

  /// Integer decoded for each element from what the servers send, `values[element * servers +
  /// server]`. Args: first_element, number of the first in the random streams. Memory beyond the
  /// result does not grow with the number of elements.
  std::vector<std::int64_t> decode(std::span<const std::uint32_t> values,
                                   std::uint64_t first_element = 0) const;

  /// Likewise, the distribution of that integer where chance decides.
  Decoded decisions(std::span<const std::uint32_t> values) const;

  const Receiver& receiver() const { return receiver_; }

 private:
  Eigen::MatrixXd outputs(std::span<const std::uint32_t> values) const;

  const CodeFormat& format_;
  const Backend& backend_;
  Eigen::MatrixXcd weights_;
  std::vector<RealLayer> layers_;  ///< the first takes combined_fields
  Receiver receiver_;
};

}  // namespace optinc
