// SPDX-License-Identifier: Apache-2.0
#include "apps/onn_train.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "apps/accuracy_json.hpp"
#include "apps/installed_data.hpp"
#include "apps/options.hpp"
#include "apps/progress.hpp"
#include "apps/signals.hpp"
#include "apps/time_limit.hpp"
#include "build_info.hpp"
#include "solver/config/sweep_config.hpp"
#include "solver/gradient/stoppable.hpp"
#include "solver/gradient/trace.hpp"
#include "solver/io/hash.hpp"
#include "solver/kernel/simd_kernels.hpp"
#include "solver/montecarlo/imperfection_config.hpp"
#include "solver/names.hpp"
#include "solver/onn/network_file.hpp"
#include "solver/onn/training/trainer.hpp"
#include "solver/optinc/chip.hpp"

namespace optinc {
namespace {

constexpr double default_clip = 1;
constexpr std::uint64_t default_projection_interval = 50;

struct TrainOptions {
  int servers = 4;
  FormatOptions format;
  std::vector<int> widths = {4, 64, 128, 256, 128, 64, 4};
  std::string activation = "homodyne_relu";
  std::optional<double> clip;
  std::vector<std::string> mapping = {enum_name(Mapping::segmented)};
  int segment = 0;
  std::string constraint = enum_name(BlockConstraint::retraction);
  std::optional<std::uint64_t> projection_interval;
  std::vector<std::string> traces;
  double trace_share = 0.5;
  std::uint64_t block = QuantiserOptions{}.block;
  std::vector<std::string> set;
  std::size_t chips = 4;
  std::uint64_t chip_interval = 8;
  std::uint64_t steps = 30000;
  std::size_t batch = 576;
  double learning_rate = 2e-3;
  int loss_exponent = 2;
  double margin_digits = 0.25;
  std::uint64_t check_interval = 500;
  std::uint64_t check_codes = 4194304;
  std::uint64_t seed = 1;
  unsigned threads = 0;
  std::string cpu_target;
  std::string time_limit = no_time_limit;
  std::string checkpoint;
  double checkpoint_interval_s = 60;
  bool fresh = false;
  bool quiet = false;
  bool json = false;
  std::string out;
};

/// One mapping per layer from one name, or from one per layer.
std::vector<LayerMapping> mappings_of(const TrainOptions& options) {
  const std::size_t layers = options.widths.size() - 1;
  std::vector<std::string> names = options.mapping;
  if (names.size() == 1) names.resize(layers, names.front());
  if (names.size() != layers) {
    throw ConfigError(
        fmt::format("--mapping {} (gives {} mappings for {} layers); give one, or one per layer",
                    fmt::join(options.mapping, ","), names.size(), layers));
  }
  std::vector<LayerMapping> mappings;
  for (const std::string& name : names) {
    mappings.push_back({.mapping = *parse_enum<Mapping>(name), .segment = options.segment});
  }
  return mappings;
}

/// Options that would have no effect.
void refuse_idle_options(const TrainOptions& options) {
  const auto refuse = [](const char* option, const char* reason) {
    throw ConfigError(fmt::format("{} is given but {}; leave it out", option, reason));
  };
  const bool projects = options.constraint == enum_name(BlockConstraint::projection);
  const auto& mappings = options.mapping;
  if (options.clip && options.activation != "clipped_relu") {
    refuse("--clip", "--activation is not clipped_relu");
  }
  if (options.projection_interval && !projects) {
    refuse("--projection-interval", "--constraint is not projection");
  }
  if (projects && std::find(mappings.begin(), mappings.end(), enum_name(Mapping::segmented)) ==
                      mappings.end()) {
    refuse("--constraint projection", "no layer has mapping segmented");
  }
}

/// The keys that act on what training sees.
bool acts_on_training(const std::string& path) {
  return acts_on_meshes(path) || path == "network.mesh" || path == "network.mzi" ||
         path == "network.layer_gain";
}

SweepConfig chip_config(const TrainOptions& options) {
  for (const std::string& text : options.set) {
    if (acts_on_training(text.substr(0, text.find('=')))) continue;
    throw ConfigError(fmt::format(
        "--set {} (training draws errors of meshes: keys under imperfections.phase, .coupler, "
        ".loss, .crosstalk, .detuning and layout, imperfections.preset, network.mesh, .mzi and "
        ".layer_gain)",
        text));
  }
  SweepConfig config = config_from_overrides(options.set);
  config.data_directory = installed_data_directory();
  return config;
}

std::optional<ChipErrorOptions> chip_errors_of(const TrainOptions& options) {
  if (options.set.empty()) return std::nullopt;
  const SweepConfig config = chip_config(options);
  const ResolvedConfig point = config.point(0);
  ChipErrorOptions errors{.imperfections = imperfections_of(point, config),
                          .mapping = {.mapping = std::nullopt,
                                      .segment = 0,
                                      .mesh = choice<Topology::Kind>(point, "network.mesh"),
                                      .mzi = choice<MziKind>(point, "network.mzi"),
                                      .gain = choice<LayerGain>(point, "network.layer_gain")},
                          .chips = options.chips,
                          .interval = options.chip_interval};
  validate(errors.imperfections, errors.mapping.mzi);
  if (errors.imperfections.none()) {
    throw ConfigError(
        "--set switches no imperfection on; leave it out to train without chip errors");
  }
  return errors;
}

CodeMixture mixture_of(const TrainOptions& options, const CodeFormat& format,
                       const std::function<bool()>& stop_requested) {
  if (!options.traces.empty() && format.input_fraction_digits > 0) {
    throw ConfigError(
        "--trace is given with --input-fraction-digits (values of a trace have no fraction); leave "
        "one out");
  }
  CodeMixture mixture{.traces = {}, .trace_share = options.trace_share};
  const QuantiserOptions quantiser{.block = options.block};
  for (const std::string& name : options.traces) {
    const StoppableGradient trace(
        std::make_unique<GradientTrace>(find_data_file(name), format.servers), stop_requested);
    mixture.traces.push_back(
        histogram_of(reduce_trace(trace, format, quantiser, {.per_tensor = false}).total));
  }
  return mixture;
}

TrainingOptions training_of(const TrainOptions& options,
                            const std::function<bool()>& stop_requested) {
  const CodeFormat format = requested_format(options.format, options.servers);
  const BlockConstraint constraint = *parse_enum<BlockConstraint>(options.constraint);
  TrainingOptions training{
      .format = format,
      .layers = plan_layers(format, options.widths, *parse_enum<Activation>(options.activation),
                            options.clip.value_or(default_clip), mappings_of(options), constraint),
      .constraint = constraint,
      .projection_interval = options.projection_interval.value_or(default_projection_interval),
      .mixture = mixture_of(options, format, stop_requested),
      .chip_errors = chip_errors_of(options),
      .steps = options.steps,
      .batch = options.batch,
      .learning_rate = options.learning_rate,
      .loss = {.exponent = options.loss_exponent, .free_digits = 0},
      .seed = options.seed,
      .target_margin_digits = options.margin_digits,
      .check_interval = options.check_interval,
      .check = {.max_codes = std::min(options.check_codes, std::uint64_t{1} << 17U),
                .seed = options.seed + 1}};
  validate(training);
  return training;
}

/// Everything that decides the result, for the checkpoint.
std::string identity_of(const TrainOptions& options, const CodeFormat& format,
                        const std::string& backend) {
  nlohmann::json text = {
      {"servers", format.servers},
      {"bits", format.bits},
      {"digits_per_input", format.digits_per_input},
      {"rounding", enum_name(format.rounding)},
      {"input_fraction_digits", format.input_fraction_digits},
      {"output_fraction_digits", format.output_fraction_digits},
      {"code_offset", format.code_offset},
      {"widths", options.widths},
      {"activation", options.activation},
      {"clip", options.clip.value_or(default_clip)},
      {"mapping", options.mapping},
      {"segment", options.segment},
      {"constraint", options.constraint},
      {"projection_interval", options.projection_interval.value_or(default_projection_interval)},
      {"trace_share", options.trace_share},
      {"block", options.block},
      {"chips", options.chips},
      {"chip_interval", options.chip_interval},
      {"steps", options.steps},
      {"batch", options.batch},
      {"learning_rate", options.learning_rate},
      {"loss_exponent", options.loss_exponent},
      {"margin_digits", options.margin_digits},
      {"check_interval", options.check_interval},
      {"check_codes", options.check_codes},
      {"seed", options.seed},
      {"backend", backend},
      {"version", build_info::version}};
  for (const std::string& trace : options.traces) {
    text["traces"].push_back(sha256_file_hex(find_data_file(trace)));
  }
  if (!options.set.empty()) {
    const ResolvedConfig point = chip_config(options).point(0);
    for (const auto& [path, value] : point.values()) {
      if (acts_on_meshes(path)) text["chip_keys"][path] = value_text(value);
    }
  }
  return sha256_hex(text.dump());
}

std::string progress_text(const TrainingState& state, const TrainOptions& options, double rate) {
  std::string text = fmt::format(
      "step {}/{}, {:.0f} steps/s, eta {}", state.step, options.steps, rate,
      duration_text(static_cast<double>(options.steps - state.step) / std::max(rate, 1e-9)));
  if (state.accuracy) {
    text += fmt::format(", loss {:.3g}, accuracy {:.6f} ({} of {} wrong), margin {:.3f} digits",
                        state.mean_loss, state.accuracy->accuracy(),
                        state.accuracy->codes - state.accuracy->correct, state.accuracy->codes,
                        state.accuracy->margin_digits());
  }
  return text;
}

/// What a finished training is judged by.
struct TrainingResult {
  NetworkAccuracy designed;  ///< weights as they are
  NetworkAccuracy meshes;    ///< through decomposed, ideal meshes
  std::int64_t mzi_count{};
};

TrainingResult judge(const Network& network, const TrainOptions& options) {
  const std::unique_ptr<Backend> backend =
      cpu_backend_entry(cpu_target_or_default(options.cpu_target)).create(Precision::f64);
  const CodeSelection selection{.max_codes = options.check_codes, .seed = options.seed + 1};
  const MappedNetwork mapped = map_network(
      network, {.mapping = std::nullopt, .segment = 0, .mesh = {}, .mzi = {}, .gain = {}});
  const std::vector<RealLayer> optics = ideal_layers(mapped, *backend);
  return {.designed = measure_accuracy(dense_layers(network), network.format, *backend, selection),
          .meshes = measure_accuracy(optics, network.format, *backend, selection),
          .mzi_count = mapped.mzi_count()};
}

void print_result(std::ostream& out, const TrainOptions& options, const Trainer& trainer,
                  const TrainingResult& result, double time_s) {
  if (options.json) {
    nlohmann::ordered_json document = accuracy_json(result.designed);
    document["through_meshes"] = accuracy_json(result.meshes);
    document["steps"] = trainer.state().step;
    document["time_s"] = time_s;
    document["reached_target"] = trainer.state().reached_target;
    document["mzi_count"] = result.mzi_count;
    out << document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << '\n';
    return;
  }
  const auto line = [&](const char* name, const NetworkAccuracy& accuracy) {
    out << fmt::format("{:<24} {} of {} codes ({:.6f}, {}), margin {:.3g} digits\n", name,
                       accuracy.correct, accuracy.codes, accuracy.accuracy(),
                       accuracy.exhaustive ? "all there are" : "a sample",
                       accuracy.margin_digits());
  };
  line("weights", result.designed);
  line("through ideal meshes", result.meshes);
  out << fmt::format("{:<24} {}\n", "MZIs", result.mzi_count);
  out << fmt::format("{:<24} {} steps, {}\n", "trained", trainer.state().step,
                     duration_text(time_s));
  out << fmt::format("wrote {}\n", options.out);
}

std::string checkpoint_of(const TrainOptions& options) {
  return options.checkpoint.empty() ? options.out + ".checkpoint" : options.checkpoint;
}

void restore(CommandContext& context, const TrainOptions& options, const std::string& identity,
             Trainer& trainer) {
  const std::string file = checkpoint_of(options);
  if (options.fresh || !std::filesystem::exists(file)) return;
  trainer.restore(file, identity);
  if (!options.quiet) {
    context.err << fmt::format("optinc: going on from step {} of {}\n", trainer.state().step, file);
  }
}

/// Seconds it took. The state is saved before the first step, so that a place that cannot be
/// written is known then.
double train(CommandContext& context, const TrainOptions& options, const std::string& identity,
             const std::function<bool()>& stop_requested, Trainer& trainer) {
  const std::string checkpoint = checkpoint_of(options);
  ProgressLine line(context, options.quiet);
  const std::uint64_t first_step = trainer.state().step;
  Clock::time_point saved = Clock::now();
  trainer.save(checkpoint, identity);
  try {
    trainer.run(
        threads_or_all(options.threads),
        [&] {
          const bool stop = stop_requested();
          if (stop || seconds_since(saved) > options.checkpoint_interval_s) {
            trainer.save(checkpoint, identity);
            saved = Clock::now();
          }
          return stop;
        },
        [&](const TrainingState& state) {
          line.show(trainer.finished(), [&] {
            const auto done = static_cast<double>(state.step - first_step);
            return progress_text(state, options, done / std::max(line.elapsed_s(), 1e-9));
          });
        });
  } catch (const TrainingDiverged&) {
    std::error_code ignored;
    std::filesystem::remove(checkpoint, ignored);
    throw;
  }
  return line.elapsed_s();
}

ExitCode run_train(CommandContext& context, const TrainOptions& options) {
  const TimeLimit limit(options.time_limit);
  refuse_idle_options(options);
  require_file_out(options.out);
  std::vector<std::filesystem::path> inputs;
  for (const std::string& trace : options.traces) inputs.push_back(find_data_file(trace));
  require_other_file("--out", options.out, inputs);
  require_other_file("--checkpoint", checkpoint_of(options), inputs);
  require_other_file("--checkpoint", checkpoint_of(options), {options.out});
  const SignalGuard signals;
  const auto stop_requested = [&] { return signals.caught() || limit.passed(); };
  const TrainingOptions training = training_of(options, stop_requested);
  const std::string target = cpu_target_or_default(options.cpu_target);
  const InstructionSet& instructions = find_instruction_set(target);
  const std::unique_ptr<Backend> backend = cpu_backend_entry(target).create(Precision::f32);
  const std::string identity = identity_of(options, training.format, backend->name());
  Trainer trainer(training, instructions.f32, *backend);
  restore(context, options, identity, trainer);

  const double time_s = train(context, options, identity, stop_requested, trainer);
  if (!trainer.finished()) {
    return report_stop(context, signals, options.time_limit,
                       fmt::format("{} of {} steps, all saved in {}", trainer.state().step,
                                   options.steps, checkpoint_of(options)));
  }
  const Network network = trainer.network();
  const TrainingResult result = judge(network, options);
  write_network(options.out, network);
  std::error_code ignored;
  std::filesystem::remove(checkpoint_of(options), ignored);
  print_result(context.out, options, trainer, result, time_s);
  if (result.designed.correct < result.designed.codes && !options.quiet) {
    context.err << fmt::format(
        "optinc: {} of {} codes are wrong; more --steps, wider layers or another --seed may help\n",
        result.designed.codes - result.designed.correct, result.designed.codes);
  }
  return ExitCode::done;
}

void declare_network_options(CLI::App& app, TrainOptions& options) {
  app.add_option("--servers", options.servers, "servers N that are averaged: 2 to 64")
      ->capture_default_str();
  add_format_options(app, options.format);
  add_fraction_options(app, options.format);
  app.add_option("--widths", options.widths,
                 "neurons per layer, inputs first; starts with the inputs and ends with the digits "
                 "of the format")
      ->delimiter('-')
      ->check(CLI::Range(1, 65536))
      ->type_name("N-N-...")
      ->allow_extra_args(false)
      ->default_str(fmt::format("{}", fmt::join(options.widths, "-")));
  add_choice_option(app, "--activation", options.activation, {"homodyne_relu", "clipped_relu"},
                    "nonlinearity of the hidden layers");
  app.add_option("--clip", options.clip, "where clipped_relu saturates (default 1)")
      ->check(CLI::PositiveNumber);
  app.add_option("--mapping", options.mapping,
                 "the optics that the layers are trained for: svd, segmented or real_part, or one "
                 "of these per layer with commas between. segmented keeps blocks on Sigma_a U_a; "
                 "the others carry any weights")
      ->delimiter(',')
      ->check(CLI::IsMember(enum_names<Mapping>()))
      ->type_name("NAME,...")
      ->allow_extra_args(false)
      ->default_str(options.mapping.front());
  app.add_option("--segment", options.segment,
                 "side of the square blocks that weights are cut into (default: the smaller side "
                 "of each weight matrix, with svd the whole matrix)")
      ->check(whole_number_of_key("network.segment"))
      ->type_name("N");
  add_choice_option(app, "--constraint", options.constraint, enum_names<BlockConstraint>(),
                    "how segmented layers are kept on their blocks: U moved back to the orthogonal "
                    "matrices after every step, or weights projected every so many steps with a "
                    "loss in two stages");
  app.add_option("--projection-interval", options.projection_interval,
                 "steps between projections (--constraint projection; default 50)")
      ->check(any_count())
      ->type_name("N");
}

void declare_data_options(CLI::App& app, TrainOptions& options) {
  CLI::Option* trace =
      app.add_option("--trace", options.traces,
                     "gradient trace whose codes are trained more than others; may be repeated")
          ->type_name("FILE")
          ->allow_extra_args(false);
  app.add_option(
         "--trace-share", options.trace_share,
         "share of each minibatch drawn from the codes of the traces; the rest goes through "
         "the whole alphabet")
      ->check(CLI::Range(0.0, 1.0))
      ->needs(trace)
      ->capture_default_str();
  app.add_option("--block", options.block, "elements of the traces that share a scale")
      ->check(whole_number_of_key("workload.block"))
      ->needs(trace)
      ->type_name("N")
      ->capture_default_str();
  CLI::Option* set =
      app.add_option(
             "--set", options.set,
             "noise-aware training: an imperfection of the chips that are trained against, e.g. "
             "imperfections.phase.fabrication_sigma_rad=0.01; may be repeated")
          ->type_name("PATH=VALUE")
          ->allow_extra_args(false);
  app.add_option("--noise-chips", options.chips, "chips that share a minibatch (with --set)")
      ->check(whole_number(1, 1024))
      ->needs(set)
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--noise-interval", options.chip_interval,
                 "steps after which new chips are drawn (with --set)")
      ->check(any_count())
      ->needs(set)
      ->type_name("N")
      ->capture_default_str();
}

void declare_schedule_options(CLI::App& app, TrainOptions& options) {
  app.add_option("--steps", options.steps, "minibatches at most")
      ->check(any_count())
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--batch", options.batch, "codes per minibatch")
      ->check(whole_number(1, 1048576))
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--learning-rate", options.learning_rate,
                 "of Adam at the first step; falls to 0 as half a cosine")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--loss-exponent", options.loss_exponent,
                 "2 or 4: power of an output's distance from its digit")
      ->capture_default_str();
  app.add_option("--margin", options.margin_digits,
                 "stop once all codes are right and no output is further than 0.5 minus this from "
                 "its digit; 0.5: do all steps")
      ->capture_default_str();
  app.add_option("--check-interval", options.check_interval, "steps between looks at the accuracy")
      ->check(any_count())
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--check-codes", options.check_codes,
                 "above this many codes the final look takes an independent sample of this size "
                 "(those during training 131072 at most)")
      ->check(any_count())
      ->type_name("N")
      ->capture_default_str();
}

CommandAction declare_train(CLI::App& app) {
  const auto options = std::make_shared<TrainOptions>();
  declare_network_options(app, *options);
  declare_data_options(app, *options);
  declare_schedule_options(app, *options);
  app.add_option("--seed", options->seed, "seed of weights, order, codes and chips")
      ->check(any_seed())
      ->capture_default_str();
  app.add_option("--threads", options->threads,
                 "threads; no result depends on it (default: all cores)")
      ->check(whole_number(1, 4096))
      ->type_name("N");
  add_cpu_target_option(app, options->cpu_target);
  add_time_limit_option(app, options->time_limit,
                        "save a checkpoint after this time and return exit code 5; the same "
                        "command goes on");
  app.add_option("--checkpoint", options->checkpoint,
                 "where the state is kept until the end (default: --out with .checkpoint)")
      ->type_name("FILE");
  app.add_option("--checkpoint-interval", options->checkpoint_interval_s,
                 "seconds between checkpoints")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_flag("--fresh", options->fresh, "start over instead of continuing the checkpoint");
  app.add_flag("--json", options->json, "print the result as JSON");
  app.add_flag("--quiet", options->quiet, "no progress");
  app.add_option("--out", options->out, "network file to write (HDF5, optinc-network/1)")
      ->type_name("FILE")
      ->required();
  return [options](CommandContext& context) { return run_train(context, *options); };
}

}  // namespace

Command train_command() {
  Command train;
  train.name = "onn train";
  train.summary = "train an optical network for given servers and bits";
  train.description =
      "Trains a network that gives the digits of the rounded average, for layers of given widths "
      "and for the optics that will carry them, with Adam on minibatches of codes. Codes go "
      "through "
      "the whole alphabet in random order (alphabets above 2^24 codes are drawn from), and are "
      "mixed with those of gradient traces where --trace is given.\n\n"
      "With --mapping segmented every square block of a weight matrix is Sigma_a U_a, a diagonal "
      "times an orthogonal matrix. The default trains Sigma_a and U_a and moves U_a back with a "
      "step of Newton-Schulz after every step of Adam: the constraint holds all the time. "
      "--constraint projection trains free weights and replaces them by the nearest Sigma_a U_a "
      "now and then; in its second half only errors above 0.1 digits count.\n\n"
      "With --set the weights of every minibatch are those of imperfect chips, drawn through the "
      "same mapping, meshes and error models as in a sweep: noise-aware training.\n\n"
      "The state is kept beside the result until the end; an interrupted training goes on with the "
      "same command and ends with the same network.";
  train.examples = {
      {"optinc onn train --out paper.h5",
       "8 bits, 4 servers, every layer segmented as in the paper"},
      {"optinc onn train --mapping svd --segment 8 --trace data/traces/resnet50_cifar100.h5 --set "
       "imperfections.phase.fabrication_sigma_rad=0.02 --out robust.h5",
       "noise-aware, blocks of 8 modes"},
      {"optinc onn train --servers 8 --steps 100000 --time-limit 1h --out eight.h5",
       "8 servers, an hour at a time"}};
  train.declare = declare_train;
  return train;
}

}  // namespace optinc
