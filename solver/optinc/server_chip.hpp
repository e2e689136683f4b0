// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <Eigen/Core>

#include "noise/combiner_errors.hpp"
#include "solver/backend/backend.hpp"
#include "solver/optinc/chip.hpp"
#include "solver/optinc/code.hpp"
#include "solver/optinc/receiver.hpp"
#include "solver/optinc/symbol_effects.hpp"

namespace optinc {

/// Throws ConfigError for phases that an incoherent combiner cannot see.
void validate(const CombinerImperfections& imperfections);

/// Weights of a chip's combiner, [group, server]; a group is an input of the network. Args:
/// first_server: number of its first server in the random streams; units of one chip are numbered
/// on.
Eigen::MatrixXcd combiner_weights(const CombinerImperfections& imperfections,
                                  const CodeFormat& format, std::uint64_t seed, std::uint32_t chip,
                                  std::uint16_t first_server = 0);

/// What a server sends for each value 0 .. 4^m - 1 of a group of m digits, in digits: sum_j 4^j
/// levels[d_j].
std::vector<double> group_amplitudes(const CodeFormat& format, const std::array<double, 4>& levels);

/// What the servers send and how it gets to a combiner.
struct SentValues {
  std::span<const std::uint32_t> values;  ///< u, `values[element * servers + server]`
  const std::vector<double>& amplitudes;  ///< group_amplitudes
  const Eigen::MatrixXcd& turns;          ///< [N, elements], on the weights; empty: all 1
};

/// Fields at the inputs of the network, a_k = (1/N) sum_s w_ks a_sk in digit units: [2 K,
/// elements], real parts above imaginary parts. Args: weights [K, N].
Eigen::MatrixXd combined_fields(const CodeFormat& format, const Eigen::MatrixXcd& weights,
                                const SentValues& sent);

/// Values that give these codes with every level shared as evenly as possible, the first servers
/// sending one more: what the servers send for calibration.
std::vector<std::uint32_t> training_values(const CodeFormat& format,
                                           const std::vector<CodeKey>& codes);

/// One chip with its combiner. Keeps references to `format` and `backend`.
///
/// Detection after layer l gives f((1 + epsilon) Re(G W x) + G n + b), epsilon the intensity noise
/// of the source and n the amplifier noise, new for every symbol. What transmitters send at level 0
/// is known: the first bias makes up for it as the nominal optics would pass it on, an incoherent
/// combiner takes it off the sum.
class ServerChip {
 public:
  /// Calibrates the receiver on training_values of `codes`, without noise. Args: chip: the chip
  /// without jitter, then its realizations with jitter where there is any.
  ServerChip(const CodeFormat& format, std::span<const ChipOptics> chip, Eigen::MatrixXcd weights,
             const Backend& backend, ReceiverOptions receiver, const std::vector<CodeKey>& codes,
             const SymbolEffects& effects = {}, const SymbolStreams& streams = {});

  /// Integer decoded for each element from what the servers send, `values[element * servers +
  /// server]`. The noise of an element belongs to its number in the random streams, first_element
  /// and on. Memory beyond the result does not grow with the number of elements.
  std::vector<std::int64_t> decode(std::span<const std::uint32_t> values,
                                   std::uint64_t first_element = 0) const;

  /// Outputs of the network for them, [M, elements]; without the noise of the last layer's
  /// amplifiers, which is the receiver's to decide with.
  Eigen::MatrixXd outputs(std::span<const std::uint32_t> values, std::uint64_t first_element) const;

  /// Likewise, the distribution of that integer where chance decides.
  Decoded decisions(std::span<const std::uint32_t> values, std::uint64_t first_element = 0) const;

  const Receiver& receiver() const { return receiver_; }

 private:
  /// Numbers of elements in the random streams that are equally far apart.
  struct ElementNumbers {
    std::uint64_t first{};
    std::uint64_t step{};

    std::uint64_t at(Eigen::Index column) const {
      return first + static_cast<std::uint64_t>(column) * step;
    }
  };

  std::vector<RealLayer> layers_for_fields(const ChipOptics& chip) const;
  Eigen::MatrixXd quiet_outputs(std::span<const std::uint32_t> values) const;
  Eigen::MatrixXd fields(std::span<const std::uint32_t> values,
                         const Eigen::MatrixXcd& turns) const;
  Eigen::MatrixXcd laser_turns(Eigen::Index elements, std::uint64_t first_element) const;
  Eigen::MatrixXd noisy_chain(const std::vector<RealLayer>& layers, Eigen::MatrixXd signals,
                              const ElementNumbers& numbers) const;
  void add_noise(std::size_t layer, const ElementNumbers& numbers, Eigen::MatrixXd& detected) const;

  const CodeFormat& format_;
  const Backend& backend_;
  Eigen::MatrixXcd weights_;
  SymbolEffects effects_;
  SymbolStreams streams_;
  std::vector<double> amplitudes_;  ///< group_amplitudes
  double pedestal_ = 0;             ///< of a group whose digits are all 0
  std::vector<double> gains_;       ///< G by layer
  std::vector<RealLayer> layers_;   ///< without jitter; the first takes combined_fields
  std::vector<std::vector<RealLayer>> jittered_;  ///< by realization
  Receiver receiver_;
};

}  // namespace optinc
