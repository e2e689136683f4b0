// SPDX-License-Identifier: Apache-2.0
#include "solver/montecarlo/chip_runner.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "solver/error.hpp"
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
  return fmt::format("{}/{}/{}/{}/{}", format.servers, format.bits, format.digits_per_input,
                     enum_name(format.rounding), format.code_offset);
}

std::string quantiser_key(const QuantiserOptions& options) {
  return fmt::format("{}/{}/{}", options.block, options.power_of_two_scale,
                     options.rounding_seed ? fmt::format("{}", *options.rounding_seed) : "even");
}

std::string network_key(const PointTask& task) {
  if (task.network_file) return "file " + task.network_file->string();
  return fmt::format("analytic {} {} {}", enum_name(task.analytic.form),
                     enum_name(task.analytic.step), format_key(task.format));
}

std::string optics_key(const PointTask& task) {
  const MappingOptions& mapping = task.mapping;
  return fmt::format("{} {} {} {} {} {}",
                     mapping.mapping ? enum_name(*mapping.mapping) : as_trained, mapping.segment,
                     enum_name(mapping.mesh), enum_name(mapping.mzi), enum_name(mapping.gain),
                     network_key(task));
}

std::string workload_key(const PointTask& task) {
  const EvaluationOptions& evaluation = task.evaluation;
  return fmt::format("{} {} {} {} {} {} {}", format_key(task.format), quantiser_key(task.quantiser),
                     enum_name(evaluation.kind), evaluation.sample_elements, evaluation.seed,
                     evaluation.max_codes, task.source.name());
}

std::vector<TensorMetrics> tensor_metrics(const TraceStatistics& entries,
                                          const std::vector<std::int64_t>& decoded) {
  std::vector<TensorMetrics> metrics;
  for (const TensorStatistics& tensor : entries.tensors) {
    std::vector<std::int64_t> own;
    own.reserve(tensor.place.size());
    for (const std::size_t place : tensor.place) own.push_back(decoded[place]);
    std::uint64_t elements = 0;
    for (const CodeStatistics& code : tensor.table.statistics) elements += code.count;
    metrics.push_back({.name = tensor.name,
                       .elements = elements,
                       .gradient = gradient_metrics(entries.format, tensor.table, own)});
  }
  return metrics;
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
  if (config.has("network.file")) {
    task.network_file = sweep_.find_file(config.text("network.file"));
  } else {
    task.analytic = analytic_of(config);
  }
  task.format = format(config, task);
  task.point = point;
  task.mapping = mapping_of(config);
  task.chips = {.imperfections = imperfections_of(config, sweep_),
                .ablation = ablation_of(config),
                .calibration = choice<MeshCalibration>(config, "network.calibration")};
  task.combiner = combiner_of(config);
  task.calibration = choice<Calibration>(config, "receiver.calibration");
  task.evaluation = evaluation_of(config);
  validate(task.combiner);
  validate(task.mapping);
  validate(task.chips.imperfections, task.mapping.mzi);
  const std::shared_ptr<const Network> designed = network(task);
  validate(task.chips.ablation, designed->layers.size(),
           has_output_meshes(*designed, task.mapping));
  return task;
}

CodeFormat ChipRunner::format(const ResolvedConfig& config, const PointTask& task) {
  const int source_servers = shape(task.source)->servers;
  if (task.network_file) {
    const CodeFormat file_format = network(task)->format;
    if (file_format.servers != source_servers) {
      throw ConfigError(fmt::format(
          "{} has {} servers but {} averages {}; choose a network for {} servers or another trace",
          task.source.name(), source_servers, task.network_file->string(), file_format.servers,
          source_servers));
    }
    return file_format;
  }
  const CodeFormat result{
      .servers = source_servers,
      .bits = static_cast<int>(config.integer("workload.bits")),
      .digits_per_input = static_cast<int>(config.integer("network.digits_per_input")),
      .rounding = choice<Rounding>(config, "workload.rounding"),
      .code_offset = config.integer("workload.code_offset")};
  validate(result);
  return result;
}

std::shared_ptr<const ChipRunner::SourceShape> ChipRunner::shape(const WorkloadSource& source) {
  return sources_.get(source.name(), [&] {
    const std::lock_guard lock(hdf5_mutex_);
    const std::unique_ptr<GradientSource> opened = open_source(source);
    return SourceShape{.servers = opened->servers(), .tensors = opened->tensors()};
  });
}

std::shared_ptr<const Network> ChipRunner::network(const PointTask& task) {
  return networks_.get(network_key(task), [&] {
    if (!task.network_file) return build_analytic_network(task.format, task.analytic);
    const std::lock_guard lock(hdf5_mutex_);
    return read_network(*task.network_file);
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
    workload.codes = workload.entries.total.codes;
    workload.codes.erase(std::unique(workload.codes.begin(), workload.codes.end()),
                         workload.codes.end());
  } else {
    const bool sampled = evaluation.kind == Evaluation::sampled;
    workload.entries = reduced(reduce_trace, per_tensor && !sampled);
    workload.codes = workload.entries.total.codes;
    if (sampled) {
      workload.entries = sample_trace(*source, task.format, task.quantiser, workload.entries.total,
                                      {.elements = evaluation.sample_elements,
                                       .seed = evaluation.seed,
                                       .per_tensor = per_tensor});
    }
  }
  if (evaluation.kind == Evaluation::codes) {
    workload.inputs = network_inputs(task.format, workload.codes);
  }
  workload.targets = target_values(task.format, workload.codes);
  return workload;
}

std::shared_ptr<const ChipRunner::IdealOptics> ChipRunner::ideal_optics(const PointTask& task) {
  return ideal_optics_.get(optics_key(task), [&] {
    IdealOptics optics{.network = map_network(*network(task), task.mapping), .meshes = {}};
    optics.meshes = compose_ideal(optics.network, backend_);
    return optics;
  });
}

std::shared_ptr<const ChipRunner::Optics> ChipRunner::optics(const PointTask& task) {
  return optics_.get(fmt::format("{}", task.point), [&] {
    const std::shared_ptr<const IdealOptics> ideal = ideal_optics(task);
    return Optics{.ideal = ideal,
                  .network = NetworkOptics(ideal->network, ideal->meshes, backend_, task.chips)};
  });
}

EvaluationSize ChipRunner::evaluation_size(const PointTask& task) {
  const std::shared_ptr<const Workload> work = workload(task);
  const bool by_server = task.evaluation.kind != Evaluation::codes;
  return {.codes = work->codes.size(),
          .entries = work->entries.total.codes.size(),
          .servers = by_server ? static_cast<std::size_t>(task.format.servers) : 0};
}

std::shared_ptr<const std::vector<TraceTensor>> ChipRunner::tensors(const PointTask& task) {
  const std::shared_ptr<const SourceShape> source = shape(task.source);
  return {source, &source->tensors};
}

std::string ChipRunner::ideal_key(const PointTask& task) const {
  return fmt::format("{} {} {}", workload_key(task), optics_key(task), enum_name(task.calibration));
}

std::size_t ChipRunner::unlike_codes(const PointTask& task, const Backend& exact) {
  const std::shared_ptr<const Workload> work = workload(task);
  const std::shared_ptr<const IdealOptics> ideal = ideal_optics(task);
  const Eigen::MatrixXd inputs = network_inputs(task.format, work->codes);
  const auto ideal_integers = [&](const Backend& backend,
                                  const std::vector<Eigen::MatrixXcd>& meshes) {
    const ChipOptics chip = NetworkOptics(ideal->network, meshes, backend, {}).chip(0, 0);
    return decoded_values(chip, backend, task.calibration, inputs, work->targets);
  };
  const std::vector<std::int64_t> here = ideal_integers(backend_, ideal->meshes);
  const std::vector<std::int64_t> there =
      ideal_integers(exact, compose_ideal(ideal->network, exact));
  std::size_t unlike = 0;
  for (std::size_t i = 0; i < here.size(); ++i) unlike += here[i] != there[i] ? 1 : 0;
  return unlike;
}

std::shared_ptr<const MappedNetwork> ChipRunner::mapped_network(const PointTask& task) {
  const std::shared_ptr<const IdealOptics> ideal = ideal_optics(task);
  return {ideal, &ideal->network};
}

std::unique_ptr<ChipRunner::ChipInUse> ChipRunner::use_chip(const PointTask& task,
                                                            std::uint64_t seed,
                                                            std::uint32_t chip) {
  auto used = std::make_unique<ChipInUse>(
      ChipInUse{.workload = workload(task), .optics = optics(task)->network.chip(seed, chip)});
  const Workload& work = *used->workload;
  if (task.evaluation.kind == Evaluation::codes) {
    const Eigen::MatrixXd outputs = backend_.evaluate_codes(used->optics.layers, work.inputs);
    used->calibration = fit_calibration(task.calibration, outputs, work.targets);
    used->decoded = decode(outputs, used->calibration);
    return used;
  }
  used->servers.emplace(task.format, used->optics,
                        combiner_weights(task.combiner, task.format, seed, chip), backend_,
                        task.calibration, work.codes);
  used->decoded = used->servers->decode(work.entries.values);
  return used;
}

ChipResult ChipRunner::result(const PointTask& task, std::uint64_t seed,
                              const ChipInUse& chip) const {
  const TraceStatistics& entries = chip.workload->entries;
  ChipResult result{.gradient = gradient_metrics(task.format, entries.total, chip.decoded),
                    .sampling = {},
                    .meshes = chip.optics.quality,
                    .tensors = tensor_metrics(entries, chip.decoded)};
  result.sampling = task.evaluation.kind == Evaluation::sampled
                        ? sampling_intervals(entries, chip.decoded, result.gradient)
                        : exact_intervals(result.gradient);
  if (task.evaluation.uniform_codes) {
    result.uniform_element_error_rate =
        1 - measure_accuracy(chip.optics.layers, task.format, backend_,
                             {.max_codes = task.evaluation.max_codes, .seed = seed},
                             chip.servers ? chip.servers->calibration() : chip.calibration)
                .accuracy();
  }
  return result;
}

ChipResult ChipRunner::run(const PointTask& task, std::uint64_t seed, std::uint32_t chip) {
  return result(task, seed, *use_chip(task, seed, chip));
}

ChipResult ChipRunner::write(const PointTask& task, std::uint64_t seed, std::uint32_t chip,
                             const std::filesystem::path& path, const TraceAttributes& attributes) {
  const std::unique_ptr<ChipInUse> used = use_chip(task, seed, chip);
  PieceDecoder decoder;
  if (used->servers) {
    decoder = [&](const QuantisedPiece& piece) {
      const auto servers = static_cast<std::size_t>(task.format.servers);
      return used->servers->decode({piece.values, piece.count * servers});
    };
  } else {
    decoder = code_decoder(task.format, used->workload->codes, used->decoded);
  }
  const std::lock_guard lock(hdf5_mutex_);
  write_average(path, *open_source(task.source), task.format, task.quantiser, decoder, attributes);
  return result(task, seed, *used);
}

}  // namespace optinc
