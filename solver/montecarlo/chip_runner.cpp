// SPDX-License-Identifier: Apache-2.0
#include "solver/montecarlo/chip_runner.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "solver/error.hpp"
#include "solver/gradient/cascade_codes.hpp"
#include "solver/gradient/metrics.hpp"
#include "solver/montecarlo/imperfection_config.hpp"
#include "solver/names.hpp"
#include "solver/onn/accuracy.hpp"
#include "solver/onn/network_file.hpp"

namespace optinc {

namespace {

constexpr std::size_t small_entries = 64;
constexpr std::size_t point_entries = 8;
constexpr std::size_t large_entries = 4;  // a workload holds the code table of a whole trace

MappingOptions mapping_of(const ResolvedConfig& config) {
  MappingOptions mapping{.mapping = std::nullopt,
                         .segment = 0,
                         .mesh = choice<Topology::Kind>(config, "network.mesh"),
                         .mzi = choice<MziKind>(config, "network.mzi"),
                         .gain = choice<LayerGain>(config, "network.layer_gain")};
  if (config.text("network.mapping") != as_trained) {
    mapping.mapping = choice<Mapping>(config, "network.mapping");
  }
  if (config.has("network.segment")) {
    mapping.segment = static_cast<int>(config.integer("network.segment"));
  }
  return mapping;
}

Ablation ablation_of(const ResolvedConfig& config) {
  Ablation ablation{.layer = std::nullopt,
                    .meshes = choice<Ablation::Meshes>(config, "ablation.meshes")};
  const std::int64_t layer = config.integer("ablation.layer");
  if (layer >= 0) ablation.layer = static_cast<std::size_t>(layer);
  return ablation;
}

AnalyticOptions analytic_of(const ResolvedConfig& config) {
  return {
      .form = choice<AnalyticForm>(config, "network.form"),
      .step = config.text("network.step") == "relu" ? Activation::relu : Activation::clipped_relu};
}

std::string format_key(const CodeFormat& format) {
  return fmt::format("{}/{}/{}/{}/{}/{}/{}", format.servers, format.bits, format.digits_per_input,
                     enum_name(format.rounding), format.code_offset, format.input_fraction_digits,
                     format.output_fraction_digits);
}

std::string quantiser_key(const QuantiserOptions& options) {
  return fmt::format("{}/{}/{}", options.block, options.power_of_two_scale,
                     options.rounding_seed ? fmt::format("{}", *options.rounding_seed) : "even");
}

std::string network_key(const PointTask& task, const LevelTask& level) {
  if (level.network_file) return "file " + level.network_file->string();
  return fmt::format("analytic {} {} {}", enum_name(task.analytic.form),
                     enum_name(task.analytic.step), format_key(level.format));
}

std::string optics_key(const PointTask& task, const LevelTask& level) {
  const MappingOptions& mapping = task.mapping;
  return fmt::format("{} {} {} {} {} {}",
                     mapping.mapping ? enum_name(*mapping.mapping) : as_trained, mapping.segment,
                     enum_name(mapping.mesh), enum_name(mapping.mzi), enum_name(mapping.gain),
                     network_key(task, level));
}

std::string workload_key(const PointTask& task) {
  const EvaluationOptions& evaluation = task.evaluation;
  std::string formats = format_key(task.format);
  for (const LevelTask& level : task.levels) formats += " " + format_key(level.format);
  return fmt::format("{} {} {} {} {} {} {}", formats, quantiser_key(task.quantiser),
                     enum_name(evaluation.kind), evaluation.sample_elements, evaluation.seed,
                     evaluation.max_codes, task.source.name());
}

CascadeKind cascade_kind(const ResolvedConfig& config) {
  return config.has("network.cascade") ? choice<CascadeKind>(config, "network.cascade")
                                       : CascadeKind::none;
}

CascadeDivision division_of(const ResolvedConfig& config) {
  const auto number = [&](const char* key) -> std::optional<int> {
    if (!config.has(key)) return std::nullopt;
    return static_cast<int>(config.integer(key));
  };
  return {.level2_servers = number("network.level2_servers"),
          .level2_digits_per_input = number("network.level2_digits_per_input")};
}

std::vector<LevelTask> levels_of(const CascadeFormat& cascade) {
  return {{.format = cascade.level1,
           .network_file = std::nullopt,
           .units = static_cast<std::size_t>(cascade.units())},
          {.format = cascade.level2, .network_file = std::nullopt}};
}

/// Whether what a unit makes of a code depends on who sent which digit, or on the symbol.
bool symbols_differ(const PointTask& task) {
  const CombinerImperfections& combiner = task.combiner;
  return combiner.amplitude_sigma != 0 || combiner.phase_sigma_rad != 0 ||
         combiner.server_phase_sigma_rad != 0 || !task.symbols.none();
}

/// Whether chance decides between digits.
bool random_decisions(const PointTask& task) {
  return task.receiver.noisy() || task.symbols.noise.amplifier_sigma != 0;
}

/// A chip of a seed.
struct ChipNumber {
  std::uint64_t seed{};
  std::uint32_t chip{};
};

/// The receiver of a unit. Args: copies, receivers that share the light of its outputs.
ReceiverOptions receiver_options(const PointTask& task, const ChipNumber& number, std::size_t unit,
                                 int copies) {
  ReceiverOptions options(task.calibration);
  options.link = ReceiverLink(task.receiver, copies);
  options.noise.seed = number.seed;
  options.noise.chip = number.chip;
  options.noise.mesh_id = static_cast<std::uint16_t>(unit);
  return options;
}

std::vector<TensorMetrics> tensor_metrics(const TraceStatistics& entries, const Decoded& decoded) {
  std::vector<TensorMetrics> metrics;
  for (const TensorStatistics& tensor : entries.tensors) {
    std::uint64_t elements = 0;
    for (const CodeStatistics& code : tensor.table.statistics) elements += code.count;
    metrics.push_back({.name = tensor.name,
                       .elements = elements,
                       .gradient = gradient_metrics(entries.format, tensor.table,
                                                    select(decoded, tensor.place))});
  }
  return metrics;
}

std::size_t count_unlike(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b) {
  std::size_t unlike = 0;
  for (std::size_t i = 0; i < a.size(); ++i) unlike += a[i] != b[i] ? 1 : 0;
  return unlike;
}

/// The code format of unit `unit` of a chip, the one of level 2 last.
const CodeFormat& unit_format(const PointTask& task, std::size_t unit) {
  if (!task.cascade) return task.format;
  const auto units = static_cast<std::size_t>(task.cascade->units());
  return unit == units ? task.cascade->level2 : task.cascade->level1;
}

}  // namespace

ChipRunner::ChipRunner(const SweepConfig& sweep, const Backend& backend, MetricDetail detail)
    : sweep_(sweep),
      backend_(backend),
      detail_(detail),
      sources_(small_entries),
      networks_(small_entries),
      workloads_(large_entries),
      ideal_optics_(small_entries),
      optics_(point_entries) {}

PointTask ChipRunner::task(std::size_t point) {
  const ResolvedConfig config = sweep_.point(point);
  PointTask task;
  task.source = workload_source_of(config, sweep_);
  task.quantiser = quantiser_of(config);
  set_levels(config, task);
  task.point = point;
  task.mapping = mapping_of(config);
  task.chips = {.imperfections = imperfections_of(config, sweep_),
                .ablation = ablation_of(config),
                .calibration = choice<MeshCalibration>(config, "network.calibration")};
  task.combiner = combiner_of(config);
  task.symbols = symbol_effects_of(config);
  task.receiver = receiver_of(config);
  task.calibration = choice<Calibration>(config, "receiver.calibration");
  task.evaluation = evaluation_of(config);
  validate(task.combiner);
  validate(task.mapping);
  validate(task.chips.imperfections, task.mapping.mzi);
  for (const LevelTask& level : task.levels) {
    const std::shared_ptr<const Network> designed = network(task, level);
    validate(task.chips.ablation, designed->layers.size(),
             has_output_meshes(*designed, task.mapping));
  }
  return task;
}

void ChipRunner::set_levels(const ResolvedConfig& config, PointTask& task) {
  const CascadeKind kind = cascade_kind(config);
  if (config.has("network.file")) return set_file_levels(config, kind, task);
  task.analytic = analytic_of(config);
  task.format = {.servers = shape(task.source)->servers,
                 .bits = static_cast<int>(config.integer("workload.bits")),
                 .digits_per_input = static_cast<int>(config.integer("network.digits_per_input")),
                 .rounding = choice<Rounding>(config, "workload.rounding"),
                 .code_offset = config.integer("workload.code_offset")};
  validate(task.format);
  if (kind == CascadeKind::none) {
    task.levels = {{.format = task.format, .network_file = std::nullopt}};
    return;
  }
  task.cascade = make_cascade_format(kind, task.format, division_of(config));
  task.levels = levels_of(*task.cascade);
}

void ChipRunner::set_file_levels(const ResolvedConfig& config, CascadeKind kind, PointTask& task) {
  const auto read = [&](const char* key) {
    LevelTask level{.format = {}, .network_file = sweep_.find_file(config.text(key))};
    level.format = network(task, level)->format;
    return level;
  };
  task.levels = {read("network.file")};
  task.format = task.levels.front().format;
  if (kind != CascadeKind::none) {
    task.levels.push_back(read("network.level2_file"));
    task.cascade = join_levels(kind, task.levels[0].format, task.levels[1].format);
    task.format = task.cascade->total;
    task.levels.front().units = static_cast<std::size_t>(task.cascade->units());
  } else if (task.format.input_fraction_digits + task.format.output_fraction_digits > 0) {
    throw ConfigError(
        fmt::format("{} is a unit of a cascade (it takes or gives fraction digits); set "
                    "network.cascade = \"fraction\" and give both levels",
                    task.levels.front().network_file->string()));
  }
  const int source_servers = shape(task.source)->servers;
  if (task.format.servers != source_servers) {
    throw ConfigError(fmt::format(
        "{} has {} servers but {} averages {}; choose a network for {} servers or another trace",
        task.source.name(), source_servers,
        task.cascade ? "the cascade" : task.levels.front().network_file->string(),
        task.format.servers, source_servers));
  }
}

std::shared_ptr<const ChipRunner::SourceShape> ChipRunner::shape(const WorkloadSource& source) {
  return sources_.get(source.name(), [&] {
    const std::lock_guard lock(hdf5_mutex_);
    const std::unique_ptr<GradientSource> opened = open_source(source);
    return SourceShape{.servers = opened->servers(), .tensors = opened->tensors()};
  });
}

std::shared_ptr<const Network> ChipRunner::network(const PointTask& task, const LevelTask& level) {
  return networks_.get(network_key(task, level), [&] {
    if (!level.network_file) return build_analytic_network(level.format, task.analytic);
    const std::lock_guard lock(hdf5_mutex_);
    return read_network(*level.network_file);
  });
}

std::shared_ptr<const ChipRunner::Workload> ChipRunner::workload(const PointTask& task) {
  return workloads_.get(workload_key(task), [&] {
    const std::lock_guard lock(hdf5_mutex_);
    return reduce(task);
  });
}

ChipRunner::Workload ChipRunner::reduce(const PointTask& task) const {
  const EvaluationOptions& evaluation = task.evaluation;
  const bool per_tensor = detail_ == MetricDetail::per_tensor;
  const std::unique_ptr<GradientSource> source = open_source(task.source);
  const auto reduced = [&](auto reduction, bool tensors) {
    return reduction(*source, task.format, task.quantiser,
                     {.per_tensor = tensors, .entries = evaluation.max_codes});
  };
  Workload workload;
  if (evaluation.kind == Evaluation::tuples) {
    workload.entries = reduced(reduce_to_tuples, per_tensor);
    workload.units = unit_codes(task, *source, workload.entries);
    return workload;
  }
  const bool sampled = evaluation.kind == Evaluation::sampled;
  workload.entries = reduced(reduce_trace, per_tensor && !sampled);
  workload.units = unit_codes(task, *source, workload.entries);
  if (sampled) {
    workload.entries = sample_trace(*source, task.format, task.quantiser, workload.entries.total,
                                    {.elements = evaluation.sample_elements,
                                     .seed = evaluation.seed,
                                     .per_tensor = per_tensor});
  }
  return workload;
}

std::vector<CodeSet> ChipRunner::unit_codes(const PointTask& task, const GradientSource& source,
                                            const TraceStatistics& total) const {
  if (!task.cascade) {
    std::vector<CodeKey> codes = total.total.codes;
    codes.erase(std::unique(codes.begin(), codes.end()), codes.end());
    CodeSet set = make_code_set(task.format, std::move(codes));
    if (task.evaluation.kind != Evaluation::codes) set.inputs.resize(0, 0);
    return {std::move(set)};
  }
  std::vector<std::vector<CodeKey>> codes =
      cascade_codes(source, *task.cascade, task.quantiser, task.evaluation.max_codes);
  std::vector<CodeSet> sets;
  for (std::size_t unit = 0; unit < codes.size(); ++unit) {
    const bool last = unit + 1 == codes.size();
    sets.push_back(
        make_code_set(last ? task.cascade->level2 : task.cascade->level1, std::move(codes[unit])));
  }
  return sets;
}

std::shared_ptr<const ChipRunner::IdealOptics> ChipRunner::ideal_optics(const PointTask& task,
                                                                        const LevelTask& level) {
  return ideal_optics_.get(optics_key(task, level), [&] {
    IdealOptics optics{.network = map_network(*network(task, level), task.mapping), .meshes = {}};
    optics.meshes = compose_ideal(optics.network, backend_);
    return optics;
  });
}

std::shared_ptr<const std::vector<ChipRunner::Optics>> ChipRunner::optics(const PointTask& task) {
  return optics_.get(fmt::format("{}", task.point), [&] {
    std::vector<Optics> units;
    std::size_t meshes = 0;
    for (const LevelTask& level : task.levels) {
      const std::shared_ptr<const IdealOptics> ideal = ideal_optics(task, level);
      for (std::size_t unit = 0; unit < level.units; ++unit) {
        ChipOptions options = task.chips;
        options.first_mesh_id = meshes;
        units.push_back(
            {.ideal = ideal,
             .network = NetworkOptics(ideal->network, ideal->meshes, backend_, options)});
        meshes += ideal->meshes.size();
      }
    }
    return units;
  });
}

EvaluationSize ChipRunner::evaluation_size(const PointTask& task) {
  const std::shared_ptr<const Workload> work = workload(task);
  const bool by_server = task.evaluation.kind != Evaluation::codes;
  EvaluationSize size{.codes = 0,
                      .entries = work->entries.total.codes.size(),
                      .servers = by_server ? static_cast<std::size_t>(task.format.servers) : 0,
                      .random_digits = random_decisions(task) ? task.format.digits() : 0,
                      .jitter_realizations = task.symbols.jitter_realizations};
  for (const CodeSet& unit : work->units) size.codes += unit.codes.size();
  return size;
}

MemoryEstimate ChipRunner::memory(const PointTask& task) {
  const EvaluationSize size = evaluation_size(task);
  if (!task.cascade) {
    return estimate_memory(ideal_optics(task, task.levels.front())->network, size);
  }
  const std::shared_ptr<const Workload> work = workload(task);
  std::vector<UnitSize> units;
  for (const LevelTask& level : task.levels) {
    for (std::size_t i = 0; i < level.units; ++i) {
      units.push_back({.network = &ideal_optics(task, level)->network,
                       .codes = work->units[units.size()].codes.size()});
    }
  }
  return estimate_cascade_memory(units, size);
}

std::shared_ptr<const std::vector<TraceTensor>> ChipRunner::tensors(const PointTask& task) {
  const std::shared_ptr<const SourceShape> source = shape(task.source);
  return {source, &source->tensors};
}

std::string ChipRunner::ideal_key(const PointTask& task) const {
  std::string optics;
  for (const LevelTask& level : task.levels) optics += optics_key(task, level) + " ";
  return fmt::format("{} {}{}", workload_key(task), optics, enum_name(task.calibration));
}

std::size_t ChipRunner::unlike_codes(const PointTask& task, const Backend& exact) {
  const std::shared_ptr<const Workload> work = workload(task);
  auto codes = work->units.begin();
  std::size_t unlike = 0;
  for (const LevelTask& level : task.levels) {
    const std::shared_ptr<const IdealOptics> ideal = ideal_optics(task, level);
    const std::vector<Eigen::MatrixXcd> exact_meshes = compose_ideal(ideal->network, exact);
    const auto integers = [&](const Backend& backend, const std::vector<Eigen::MatrixXcd>& meshes) {
      const ChipOptics chip = NetworkOptics(ideal->network, meshes, backend, {}).chip(0, 0);
      return decoded_values(chip, backend, task.calibration,
                            network_inputs(level.format, codes->codes), codes->targets);
    };
    for (std::size_t unit = 0; unit < level.units; ++unit, ++codes) {
      unlike += count_unlike(integers(backend_, ideal->meshes), integers(exact, exact_meshes));
    }
  }
  return unlike;
}

std::unique_ptr<ChipRunner::ChipInUse> ChipRunner::use_chip(const PointTask& task,
                                                            std::uint64_t seed,
                                                            std::uint32_t chip) {
  auto used = std::make_unique<ChipInUse>(ChipInUse{.workload = workload(task)});
  const std::shared_ptr<const std::vector<Optics>> units = optics(task);
  for (const Optics& unit : *units) {
    used->optics.push_back(unit.network.realizations(seed, chip, task.symbols.jitter_realizations));
  }
  const Workload& work = *used->workload;
  const ReceiverOptions receiver = receiver_options(task, {seed, chip}, 0, task.format.servers);
  if (task.cascade) {
    used->cascade = cascade_chip(task, *used, seed, chip);
    used->decoded = used->cascade->decisions(work.entries.values);
  } else if (task.evaluation.kind == Evaluation::codes) {
    use_codes(receiver, *used);
  } else {
    used->servers.emplace(server_chip(task, *used, 0, {.seed = seed, .chip = chip}, receiver));
    used->decoded = used->servers->decisions(work.entries.values);
  }
  return used;
}

void ChipRunner::use_codes(const ReceiverOptions& receiver, ChipInUse& used) const {
  const CodeSet& codes = used.workload->units.front();
  const Eigen::MatrixXd outputs = backend_.evaluate_codes(used.quiet().layers, codes.inputs);
  used.receiver.emplace(receiver, outputs, codes.targets);
  used.decoded = used.receiver->decisions(outputs);
}

ServerChip ChipRunner::server_chip(const PointTask& task, const ChipInUse& used, std::size_t unit,
                                   const SymbolStreams& streams, ReceiverOptions receiver) const {
  const CodeFormat& format = unit_format(task, unit);
  return {format,
          used.optics[unit],
          combiner_weights(task.combiner, format, streams.seed, streams.chip, streams.first_server),
          backend_,
          std::move(receiver),
          used.workload->units[unit].codes,
          task.symbols,
          streams};
}

std::unique_ptr<CascadeChip> ChipRunner::cascade_chip(const PointTask& task, const ChipInUse& used,
                                                      std::uint64_t seed,
                                                      std::uint32_t chip) const {
  std::vector<UnitChip> units;
  int first_server = 0;
  for (std::size_t i = 0; i < used.optics.size(); ++i) {
    const bool last = i + 1 == used.optics.size();
    const CodeFormat& format = unit_format(task, i);
    // A unit of level 1 has one receiver, that of level 2; its own outputs go to all servers.
    const ReceiverOptions receiver =
        receiver_options(task, {seed, chip}, i, last ? task.format.servers : 1);
    if (symbols_differ(task)) {
      const SymbolStreams streams{.seed = seed,
                                  .chip = chip,
                                  .unit = static_cast<std::uint16_t>(i),
                                  .first_server = static_cast<std::uint16_t>(first_server)};
      units.emplace_back(server_chip(task, used, i, streams, receiver));
    } else {
      units.emplace_back(std::in_place_type<CodeChip>, format, used.optics[i].front(), backend_,
                         receiver, used.workload->units[i]);
    }
    first_server += format.servers;
  }
  return std::make_unique<CascadeChip>(*task.cascade, std::move(units));
}

ChipResult ChipRunner::result(const PointTask& task, std::uint64_t seed,
                              const ChipInUse& chip) const {
  const TraceStatistics& entries = chip.workload->entries;
  ChipResult result{.gradient = gradient_metrics(task.format, entries.total, chip.decoded),
                    .sampling = {},
                    .meshes = {},
                    .tensors = tensor_metrics(entries, chip.decoded)};
  result.sampling = task.evaluation.kind == Evaluation::sampled
                        ? sampling_intervals(entries, chip.decoded, result.gradient)
                        : exact_intervals(result.gradient);
  if (!task.chips.imperfections.none()) result.meshes = mesh_quality(chip);
  if (task.evaluation.uniform_codes) {
    result.uniform_element_error_rate = uniform_error_rate(task, seed, chip);
  }
  return result;
}

/// Over the direct sum of the meshes of all units, and over the jitter.
MeshQuality ChipRunner::mesh_quality(const ChipInUse& chip) {
  MeshQualitySums sums;
  for (const std::vector<ChipOptics>& unit : chip.optics) {
    const std::size_t first = unit.size() > 1 ? 1 : 0;
    for (std::size_t i = first; i < unit.size(); ++i) sums.add(unit[i].quality_sums);
  }
  return sums.quality();
}

double ChipRunner::uniform_error_rate(const PointTask& task, std::uint64_t seed,
                                      const ChipInUse& chip) const {
  const std::uint64_t most = task.evaluation.max_codes;
  if (task.cascade) {
    return optinc::uniform_error_rate(*chip.cascade, *task.cascade, {.tuples = most, .seed = seed});
  }
  const Receiver& receiver = chip.servers ? chip.servers->receiver() : *chip.receiver;
  double wrong = 0;
  const auto add = [&](const Eigen::MatrixXd& outputs, const std::vector<std::int64_t>& targets) {
    const std::vector<double> shares = wrong_probabilities(receiver.decisions(outputs), targets);
    wrong = std::accumulate(shares.begin(), shares.end(), wrong);
  };
  const auto codes = static_cast<double>(visit_outputs(chip.quiet().layers, task.format, backend_,
                                                       {.max_codes = most, .seed = seed}, add));
  // Without chance the number of an accuracy, to the bit.
  return receiver.random() ? wrong / codes : 1 - (codes - wrong) / codes;
}

ChipResult ChipRunner::run(const PointTask& task, std::uint64_t seed, std::uint32_t chip) {
  return result(task, seed, *use_chip(task, seed, chip));
}

ChipRunner::ElementDecoder ChipRunner::element_decoder(const PointTask& task, ChipInUse& chip,
                                                       const ReceiverOptions& receiver) const {
  const auto of = [](auto* decoder) -> ElementDecoder {
    return [decoder](std::span<const std::uint32_t> values, std::uint64_t first_element) {
      return decoder->decode(values, first_element);
    };
  };
  if (chip.cascade) return of(chip.cascade.get());
  if (chip.servers) return of(&*chip.servers);
  const auto unit = std::make_shared<CodeChip>(task.format, chip.quiet(), backend_, receiver,
                                               chip.workload->units.front());
  return [unit](std::span<const std::uint32_t> values, std::uint64_t first_element) {
    return unit->decode(values, first_element);
  };
}

PieceDecoder ChipRunner::piece_decoder(const PointTask& task, ChipInUse& chip,
                                       const ReceiverOptions& receiver) {
  if (chip.receiver && !chip.receiver->random()) {
    return code_decoder(task.format, chip.workload->units.front().codes,
                        std::get<std::vector<std::int64_t>>(chip.decoded));
  }
  std::vector<std::uint64_t> starts = {0};  // of the tensors, in their concatenation
  for (const TraceTensor& tensor : *tensors(task))
    starts.push_back(starts.back() + tensor.elements);
  return [decode = element_decoder(task, chip, receiver), starts = std::move(starts),
          servers = static_cast<std::size_t>(task.format.servers)](const QuantisedPiece& piece) {
    return decode({piece.values, piece.count * servers}, starts[piece.tensor] + piece.first);
  };
}

ChipResult ChipRunner::write(const PointTask& task, std::uint64_t seed, std::uint32_t chip,
                             const std::filesystem::path& path, const TraceAttributes& attributes) {
  const std::unique_ptr<ChipInUse> used = use_chip(task, seed, chip);
  const PieceDecoder decoder =
      piece_decoder(task, *used, receiver_options(task, {seed, chip}, 0, task.format.servers));
  const std::lock_guard lock(hdf5_mutex_);
  write_average(path, *open_source(task.source), task.format, task.quantiser, decoder, attributes);
  return result(task, seed, *used);
}

}  // namespace optinc
