// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "solver/error.hpp"
#include "solver/onn/accuracy.hpp"
#include "solver/onn/network.hpp"
#include "solver/onn/training/chip_errors.hpp"
#include "solver/onn/training/code_stream.hpp"
#include "solver/onn/training/constraint.hpp"
#include "solver/onn/training/parameters.hpp"
#include "solver/onn/training/worker_team.hpp"

namespace optinc {

/// What is trained, and how. Everything in it but the number of threads decides the result.
struct TrainingOptions {
  CodeFormat format;
  std::vector<LayerPlan> layers;
  BlockConstraint constraint = BlockConstraint::retraction;
  std::uint64_t projection_interval = 50;  ///< steps
  CodeMixture mixture;
  std::optional<ChipErrorOptions> chip_errors;
  std::uint64_t steps = 30000;
  std::size_t batch = 576;      ///< codes per step
  double learning_rate = 2e-3;  ///< of the first step; falls to 0 as half a cosine
  DigitLoss loss;
  std::uint64_t seed = 1;
  double target_margin_digits = 0.25;  ///< stop once all codes have it; 0.5: never
  std::uint64_t check_interval = 500;  ///< steps between looks at the accuracy
  CodeSelection check;                 ///< codes that these look at
};

/// Layer shapes for `widths` (inputs first). Throws ConfigError when they do not fit the format.
/// Args: mappings, of each layer; constraint decides which are trained on orthogonal blocks.
std::vector<LayerPlan> plan_layers(const CodeFormat& format, const std::vector<int>& widths,
                                   Activation hidden, double clip,
                                   const std::vector<LayerMapping>& mappings,
                                   BlockConstraint constraint);

/// Throws ConfigError naming the option that is out of range.
void validate(const TrainingOptions& options);

/// The loss is not finite any more: no state of this training is worth keeping.
class TrainingDiverged : public DataError {
 public:
  using DataError::DataError;
};

/// Where a training stands.
struct TrainingState {
  std::uint64_t step = 0;
  double mean_loss = 0;  ///< per output and code, over the last check interval
  std::optional<NetworkAccuracy> accuracy = {};  ///< at the last check
  bool reached_target = false;
};

/// Trains a network. The result depends on the options and on the instruction set of the kernels,
/// not on threads, interruptions and checkpoints.
class Trainer {
 public:
  /// `backend` draws the chips and measures accuracy; it and `kernels` must outlive this.
  Trainer(const TrainingOptions& options, const SimdKernels<float>& kernels,
          const Backend& backend);

  /// Trains until the margin or the last step is reached or `stop_requested` (asked after every
  /// step at which a checkpoint is possible). `progress` is called after every step, with a new
  /// accuracy at checks. Throws TrainingDiverged.
  void run(unsigned threads, const std::function<bool()>& stop_requested,
           const std::function<void(const TrainingState&)>& progress);

  /// Whether nothing is left to do.
  bool finished() const;

  const TrainingState& state() const { return state_; }

  /// The network as it stands.
  Network network() const;

  /// Saves all that `run` needs to go on, atomically. Only while `run` is not at work or from
  /// `stop_requested`. Throws DataError.
  /// Args: identity, names all options.
  void save(const std::filesystem::path& path, const std::string& identity);

  /// Goes on from a file of `save`. Throws DataError when it has another identity or is damaged.
  void restore(const std::filesystem::path& path, const std::string& identity);

 private:
  class Engine;

  void check_accuracy();

  TrainingOptions options_;
  const SimdKernels<float>& kernels_;
  const Backend& backend_;
  Parameters parameters_;
  TrainingState state_;
};

}  // namespace optinc
