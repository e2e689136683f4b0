// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <variant>
#include <vector>

#include <Eigen/Core>

#include "solver/backend/backend.hpp"
#include "solver/optinc/cascade_format.hpp"
#include "solver/optinc/chip.hpp"
#include "solver/optinc/receiver.hpp"
#include "solver/optinc/server_chip.hpp"

namespace optinc {

/// Codes with what a network gets and should give for them.
struct CodeSet {
  std::vector<CodeKey> codes;
  Eigen::MatrixXd inputs;             ///< network_inputs
  std::vector<std::int64_t> targets;  ///< target_values
};

CodeSet make_code_set(const CodeFormat& format, std::vector<CodeKey> codes);

/// One unit of a chip that decodes by code: each code goes through its optics once. Keeps
/// references to `format` and `backend`.
class CodeChip {
 public:
  /// Calibrates the receiver on `codes`.
  CodeChip(const CodeFormat& format, const ChipOptics& chip, const Backend& backend,
           ReceiverOptions receiver, const CodeSet& codes);

  /// Integer decoded for each element from what the servers send, `values[element * servers +
  /// server]`, also for codes that it was not calibrated on. Args: first_element, number of the
  /// first in the random streams.
  std::vector<std::int64_t> decode(std::span<const std::uint32_t> values,
                                   std::uint64_t first_element = 0);

  /// Likewise, the distribution of that integer where chance decides.
  Decoded decisions(std::span<const std::uint32_t> values, std::uint64_t first_element = 0);

 private:
  /// Args: outputs, of the codes.
  CodeChip(const CodeFormat& format, const ChipOptics& chip, const Backend& backend,
           ReceiverOptions receiver, const CodeSet& codes, const Eigen::MatrixXd& outputs);

  Eigen::MatrixXd outputs(std::span<const std::uint32_t> values);
  void add_missing(const std::vector<CodeKey>& codes);
  void keep(const std::vector<CodeKey>& codes, const Eigen::MatrixXd& outputs);

  const CodeFormat& format_;
  const Backend& backend_;
  std::vector<RealLayer> layers_;
  Receiver receiver_;
  std::unordered_map<CodeKey, std::size_t> place_;  ///< of a code in outputs_
  std::vector<double> outputs_;                     ///< of the last layer, [place][digit]
};

/// A unit of a cascade: by code, or by what each server sends where they are unlike.
using UnitChip = std::variant<CodeChip, ServerChip>;

/// The chips of a cascade. Between the levels every digit is sliced and sent anew, as behind the
/// last one. Keeps a reference to `format`.
class CascadeChip {
 public:
  /// Args: units: those of level 1 in order, then that of level 2.
  CascadeChip(const CascadeFormat& format, std::vector<UnitChip> units);

  /// Integer decoded for each element from what the N servers send, `values[element * N +
  /// server]`. Args: first_element, number of the first in the random streams. Memory beyond the
  /// result does not grow with the number of elements, but for the codes that units keep.
  std::vector<std::int64_t> decode(std::span<const std::uint32_t> values,
                                   std::uint64_t first_element = 0);

  /// Likewise; where chance decides the decisions of level 1 are drawn, and the result is the
  /// distribution of the integer that level 2 makes of them.
  Decoded decisions(std::span<const std::uint32_t> values, std::uint64_t first_element = 0);

 private:
  std::vector<std::uint32_t> passed_on(std::span<const std::uint32_t> values,
                                       std::uint64_t first_element);

  const CascadeFormat& format_;
  std::vector<UnitChip> units_;
};

/// Which tuples of level-1 codes to look at: their levels are independent and uniform, drawn from
/// `seed` with DrawId::code_sample.
struct CascadeSample {
  std::uint64_t tuples{};  ///< 1 .. 2^32 - 1
  std::uint64_t seed{};
};

/// Share of those tuples that the cascade does not decode to Q of the mean over all servers, as
/// CascadeChip::decisions expects it.
double uniform_error_rate(CascadeChip& chip, const CascadeFormat& format,
                          const CascadeSample& sample);

}  // namespace optinc
