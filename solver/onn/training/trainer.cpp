// SPDX-License-Identifier: Apache-2.0
#include "solver/onn/training/trainer.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include <fmt/format.h>

#include "solver/error.hpp"
#include "solver/io/hdf5_file.hpp"

namespace optinc {

namespace {

/// Codes that one worker takes through the layers at a time; part of what decides the result.
constexpr std::size_t chunk_codes = 96;

constexpr const char* checkpoint_format = "optinc-training/1";

/// Errors below this many digits cost nothing in the second stage of projection.
constexpr double second_stage_free_digits = 0.1;

double largest_input(const CodeFormat& format) {
  return std::pow(4.0, format.digits_per_input) - 1;
}

double learning_rate_at(const TrainingOptions& options, std::uint64_t step) {
  const double done = static_cast<double>(step) / static_cast<double>(options.steps);
  return options.learning_rate * (1 + std::cos(std::numbers::pi * done)) / 2;
}

DigitLoss loss_at_step(const TrainingOptions& options, std::uint64_t step) {
  DigitLoss loss = options.loss;
  if (options.constraint == BlockConstraint::projection && step >= options.steps / 2) {
    loss.free_digits = std::max(loss.free_digits, second_stage_free_digits);
  }
  return loss;
}

bool has_segmented(const TrainingOptions& options) {
  return std::any_of(options.layers.begin(), options.layers.end(), [](const LayerPlan& plan) {
    return plan.mapping.mapping == Mapping::segmented;
  });
}

template <class Value>
void require(bool good, const char* option, Value value, const char* allowed) {
  if (!good) throw ConfigError(fmt::format("{} {} (must be {})", option, value, allowed));
}

}  // namespace

std::vector<LayerPlan> plan_layers(const CodeFormat& format, const std::vector<int>& widths,
                                   Activation hidden, double clip,
                                   const std::vector<LayerMapping>& mappings,
                                   BlockConstraint constraint) {
  if (widths.size() < 2 || widths.front() != format.inputs() ||
      widths.back() != format.output_digits()) {
    throw ConfigError(fmt::format(
        "widths {} (must start with the {} inputs and end with the {} digits of this format)",
        fmt::join(widths, "-"), format.inputs(), format.output_digits()));
  }
  std::vector<LayerPlan> plans;
  for (std::size_t i = 0; i + 1 < widths.size(); ++i) {
    const bool is_last = i + 2 == widths.size();
    plans.push_back({.outputs = static_cast<std::size_t>(widths[i + 1]),
                     .inputs = static_cast<std::size_t>(widths[i]),
                     .activation = is_last ? Activation::identity : hidden,
                     .clip = clip,
                     .mapping = mappings[i],
                     .on_orthogonal_blocks = mappings[i].mapping == Mapping::segmented &&
                                             constraint == BlockConstraint::retraction});
  }
  return plans;
}

/// A padded block of Sigma U is not one that the mapping finds again.
void require_whole_blocks(const LayerPlan& plan, std::size_t index) {
  const Eigen::Index side =
      block_size(eigen_index(plan.outputs), eigen_index(plan.inputs), plan.mapping.segment);
  if (plan.outputs % unsigned_size(side) == 0 && plan.inputs % unsigned_size(side) == 0) return;
  throw ConfigError(fmt::format(
      "layer {} of {} x {} weights cannot be cut into blocks of {} for mapping segmented; choose "
      "widths that are multiples of the segment",
      index, plan.outputs, plan.inputs, side));
}

void validate(const TrainingOptions& options) {
  for (std::size_t i = 0; i < options.layers.size(); ++i) {
    if (options.layers[i].mapping.mapping == Mapping::segmented) {
      require_whole_blocks(options.layers[i], i);
    }
  }
  require(options.steps >= 1, "steps", options.steps, "at least 1");
  require(options.batch >= 1, "batch", options.batch, "at least 1");
  require(options.check_interval >= 1, "check interval", options.check_interval, "at least 1");
  require(options.projection_interval >= 1, "projection interval", options.projection_interval,
          "at least 1");
  require(options.learning_rate > 0 && std::isfinite(options.learning_rate), "learning rate",
          options.learning_rate, "positive");
  require(options.mixture.trace_share >= 0 && options.mixture.trace_share <= 1, "trace share",
          options.mixture.trace_share, "0 to 1");
  require(options.loss.exponent == 2 || options.loss.exponent == 4, "loss exponent",
          options.loss.exponent, "2 or 4");
  require(options.target_margin_digits >= 0 && options.target_margin_digits <= 0.5, "margin",
          options.target_margin_digits, "0 to 0.5 digits");
}

/// The working memory of a run.
class Trainer::Engine {
 public:
  Engine(Trainer& owner, unsigned threads)
      : owner_(owner),
        options_(owner.options_),
        team_(std::max(1U, threads)),
        stream_(options_.format, options_.mixture, options_.batch, options_.seed),
        layers_(owner.parameters_.layers()),
        chunks_((options_.batch + chunk_codes - 1) / chunk_codes) {
    for (std::size_t worker = 0; worker < team_.size(); ++worker) {
      passes_.emplace_back(owner.kernels_, layers_, chunk_codes);
    }
    for (std::size_t chunk = 0; chunk < chunks_; ++chunk) {
      gradients_.push_back(DensePass::gradients(owner.kernels_, layers_));
    }
    losses_.resize(chunks_);
    const std::size_t chains = options_.chip_errors ? options_.chip_errors->chips : 1;
    for (std::size_t i = 0; i < chains; ++i) chains_.push_back(packed_chain(layers_));
    changes_.resize(layers_.size());
  }

  /// Mean loss per code and output of one step.
  double step(std::uint64_t step) {
    if (is_draw_due(step)) draw_chips(step / options_.chip_errors->interval);
    pack_chains();
    const CodeBatch batch = code_batch(options_.format, stream_.batch(step));
    const DigitLoss loss = loss_at_step(options_, step);
    team_.run(chunks_, [&](std::size_t chunk, std::size_t worker) {
      const std::size_t first = chunk * chunk_codes;
      const std::size_t count = std::min(chunk_codes, options_.batch - first);
      losses_[chunk] = passes_[worker].run(chains_[chunk % chains_.size()], batch, first, count,
                                           loss, gradients_[chunk]);
    });
    const AdamStep adam{.learning_rate = learning_rate_at(options_, step), .number = step + 1};
    const float scale = 1.0F / static_cast<float>(options_.batch);
    team_.run(owner_.parameters_.pieces(), [&](std::size_t piece, std::size_t) {
      owner_.parameters_.update(piece, adam, gradients_, scale, layers_);
    });
    if (is_projection_due(step + 1)) project();
    double sum = 0;
    for (const double value : losses_) sum += value;
    return sum / static_cast<double>(options_.batch * layers_.back().outputs);
  }

 private:
  bool is_draw_due(std::uint64_t step) const {
    return options_.chip_errors &&
           (step % options_.chip_errors->interval == 0 || changes_.front().empty());
  }

  bool is_projection_due(std::uint64_t done) const {
    return options_.constraint == BlockConstraint::projection && has_segmented(options_) &&
           (done % options_.projection_interval == 0 || done == options_.steps);
  }

  void draw_chips(std::uint64_t draw) {
    const ChipErrors errors(*options_.chip_errors, owner_.backend_, options_.seed);
    team_.run(layers_.size(), [&](std::size_t layer, std::size_t) {
      changes_[layer] = errors.draw(owner_.parameters_.network_layer(layer), layer, draw);
    });
  }

  void pack_chains() {
    team_.run(chains_.size() * layers_.size(), [&](std::size_t item, std::size_t) {
      const std::size_t layer = item % layers_.size();
      const std::size_t chip = item / layers_.size();
      const std::span<const float> change =
          changes_[layer].empty() ? std::span<const float>{} : changes_[layer][chip];
      pack(layers_[layer], change, layer, chains_[chip]);
    });
  }

  void project() {
    team_.run(layers_.size(),
              [&](std::size_t layer, std::size_t) { owner_.parameters_.project(layer); });
    layers_ = owner_.parameters_.layers();
  }

  Trainer& owner_;
  const TrainingOptions& options_;
  WorkerTeam team_;
  CodeStream stream_;
  std::vector<DenseLayer> layers_;
  std::size_t chunks_;
  std::vector<DensePass> passes_;                         ///< per worker
  std::vector<std::vector<LayerGradient>> gradients_;     ///< per chunk
  std::vector<double> losses_;                            ///< per chunk
  std::vector<PackedChain> chains_;                       ///< per chip
  std::vector<std::vector<std::vector<float>>> changes_;  ///< [layer][chip]: of the weights
};

Trainer::Trainer(const TrainingOptions& options, const SimdKernels<float>& kernels,
                 const Backend& backend)
    : options_(options),
      kernels_(kernels),
      backend_(backend),
      parameters_(kernels, options.layers, largest_input(options.format), options.seed) {
  validate(options);
}

void Trainer::run(unsigned threads, const std::function<bool()>& stop_requested,
                  const std::function<void(const TrainingState&)>& progress) {
  if (finished()) return;
  Engine engine(*this, threads);
  // A resumed run must draw the chips that an uninterrupted one has: only where they change.
  const std::uint64_t unit = options_.chip_errors ? options_.chip_errors->interval : 1;
  double loss_sum = 0;
  std::uint64_t loss_steps = 0;
  while (!finished()) {
    if (state_.step % unit == 0 && stop_requested()) return;
    loss_sum += engine.step(state_.step);
    ++loss_steps;
    ++state_.step;
    if (state_.step % options_.check_interval == 0 || state_.step == options_.steps) {
      state_.mean_loss = loss_sum / static_cast<double>(loss_steps);
      loss_sum = 0;
      loss_steps = 0;
      check_accuracy();
    }
    progress(state_);
  }
}

bool Trainer::finished() const { return state_.step >= options_.steps || state_.reached_target; }

void Trainer::check_accuracy() {
  if (!std::isfinite(state_.mean_loss)) {
    throw TrainingDiverged(fmt::format(
        "training diverged before step {} (loss is not finite); use a smaller learning rate",
        state_.step));
  }
  const std::vector<RealLayer> layers = dense_layers(network());
  state_.accuracy = measure_accuracy(layers, options_.format, backend_, options_.check);
  state_.reached_target = state_.accuracy->correct == state_.accuracy->codes &&
                          state_.accuracy->margin_digits() > options_.target_margin_digits;
}

Network Trainer::network() const {
  return {.format = options_.format, .kind = "trained", .layers = parameters_.network_layers()};
}

void Trainer::save(const std::filesystem::path& path, const std::string& identity) {
  Hdf5Writer writer;
  writer.write_string("/", "format", checkpoint_format);
  writer.write_string("/", "identity", identity);
  writer.write_int("/", "step", static_cast<std::int64_t>(state_.step));
  writer.write_int("/", "reached_target", state_.reached_target ? 1 : 0);
  const auto write = [&](const char* name, std::span<float> values) {
    writer.write_dataset(name, {values.size()}, std::vector<float>(values.begin(), values.end()));
  };
  write("values", parameters_.values());
  write("first_moments", parameters_.first_moments());
  write("second_moments", parameters_.second_moments());
  writer.save(path);
}

void Trainer::restore(const std::filesystem::path& path, const std::string& identity) {
  const Hdf5File file(path);
  if (file.read_string("/", "format") != checkpoint_format) {
    throw DataError(
        fmt::format("{}: not a training checkpoint ({}); choose another --out or delete "
                    "it",
                    path.string(), checkpoint_format));
  }
  if (file.read_string("/", "identity") != identity) {
    throw DataError(fmt::format(
        "{}: checkpoint of a training with other options; give the same ones to go on, or --fresh "
        "to start over",
        path.string()));
  }
  const auto read = [&](const char* name, std::span<float> values) {
    const Hdf5Dataset dataset = file.dataset(name);
    if (dataset.shape() != std::vector<std::uint64_t>{values.size()}) {
      throw DataError(fmt::format("{}: {} has another length than this training; delete the file",
                                  path.string(), name));
    }
    const std::vector<double> stored = dataset.read_all();
    std::transform(stored.begin(), stored.end(), values.begin(),
                   [](double value) { return static_cast<float>(value); });
  };
  read("values", parameters_.values());
  read("first_moments", parameters_.first_moments());
  read("second_moments", parameters_.second_moments());
  const std::int64_t step = file.read_int("/", "step");
  if (step < 0 || step > static_cast<std::int64_t>(options_.steps)) {
    throw DataError(
        fmt::format("{}: step {} is out of range; delete the file", path.string(), step));
  }
  state_.step = static_cast<std::uint64_t>(step);
  state_.reached_target = file.read_int("/", "reached_target") != 0;
}

}  // namespace optinc
