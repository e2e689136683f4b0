// SPDX-License-Identifier: Apache-2.0
#include "solver/montecarlo/chip_runner.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "solver/error.hpp"
#include "solver/gradient/average.hpp"
#include "solver/gradient/metrics.hpp"
#include "solver/montecarlo/imperfection_config.hpp"
#include "solver/names.hpp"
#include "solver/onn/network_file.hpp"

namespace optinc {

namespace {

constexpr std::size_t small_entries = 64;
constexpr std::size_t point_entries = 8;
constexpr std::size_t large_entries = 4;  // a workload holds the code table of a whole trace

MappingOptions mapping_of(const ResolvedConfig& config) {
  MappingOptions mapping{.mapping = choice<Mapping>(config, "network.mapping"),
                         .segment = 0,
                         .mesh = choice<Topology::Kind>(config, "network.mesh"),
                         .mzi = choice<MziKind>(config, "network.mzi"),
                         .gain = choice<LayerGain>(config, "network.layer_gain")};
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

}  // namespace

ChipRunner::ChipRunner(const SweepConfig& sweep, const Backend& backend, MetricDetail detail)
    : sweep_(sweep),
      backend_(backend),
      detail_(detail),
      servers_(small_entries),
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
  task.calibration = choice<Calibration>(config, "receiver.calibration");
  validate(task.mapping);
  validate(task.chips.imperfections, task.mapping.mzi);
  validate(task.chips.ablation, network(task)->layers.size(), task.mapping.mapping);
  return task;
}

CodeFormat ChipRunner::format(const ResolvedConfig& config, const PointTask& task) {
  const int source_servers = servers(task.source);
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

int ChipRunner::servers(const WorkloadSource& source) {
  if (!source.trace) return source.synthetic.servers;
  return *servers_.get(source.name(), [&] {
    const std::lock_guard lock(hdf5_mutex_);
    return open_source(source)->servers();
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
  const std::string key = fmt::format("{} {} {}", format_key(task.format),
                                      quantiser_key(task.quantiser), task.source.name());
  return workloads_.get(key, [&] {
    const std::lock_guard lock(hdf5_mutex_);
    TraceStatistics statistics =
        reduce_trace(*open_source(task.source), task.format, task.quantiser);
    Workload workload{.table = std::move(statistics.total), .inputs = {}, .targets = {}};
    workload.inputs = network_inputs(task.format, workload.table.codes);
    workload.targets = target_values(task.format, workload.table.codes);
    if (detail_ == MetricDetail::per_tensor) {
      workload.tensors = tensor_codes(std::move(statistics), workload.table.codes);
    }
    return workload;
  });
}

std::vector<ChipRunner::TensorCodes> ChipRunner::tensor_codes(TraceStatistics statistics,
                                                              const std::vector<CodeKey>& codes) {
  std::vector<TensorCodes> tensors;
  for (std::size_t i = 0; i < statistics.tensors.size(); ++i) {
    TensorCodes tensor{
        .name = statistics.tensor_names[i], .table = std::move(statistics.tensors[i]), .place = {}};
    for (const CodeKey code : tensor.table.codes) {
      const auto found = std::lower_bound(codes.begin(), codes.end(), code);
      tensor.place.push_back(static_cast<std::size_t>(found - codes.begin()));
    }
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

std::vector<TensorMetrics> ChipRunner::tensor_metrics(const CodeFormat& format,
                                                      const Workload& workload,
                                                      const std::vector<std::int64_t>& decoded) {
  std::vector<TensorMetrics> metrics;
  for (const TensorCodes& tensor : workload.tensors) {
    std::vector<std::int64_t> own;
    for (const std::size_t place : tensor.place) own.push_back(decoded[place]);
    std::uint64_t elements = 0;
    for (const CodeStatistics& code : tensor.table.statistics) elements += code.count;
    metrics.push_back({.name = tensor.name,
                       .elements = elements,
                       .gradient = gradient_metrics(format, tensor.table, own)});
  }
  return metrics;
}

std::shared_ptr<const ChipRunner::IdealOptics> ChipRunner::ideal_optics(const PointTask& task) {
  const MappingOptions& mapping = task.mapping;
  const std::string key = fmt::format(
      "{} {} {} {} {} {}", enum_name(mapping.mapping), mapping.segment, enum_name(mapping.mesh),
      enum_name(mapping.mzi), enum_name(mapping.gain), network_key(task));
  return ideal_optics_.get(key, [&] {
    IdealOptics optics{.network = map_network(*network(task), mapping), .meshes = {}};
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

std::size_t ChipRunner::codes(const PointTask& task) { return workload(task)->targets.size(); }

std::shared_ptr<const MappedNetwork> ChipRunner::mapped_network(const PointTask& task) {
  const std::shared_ptr<const IdealOptics> ideal = ideal_optics(task);
  return {ideal, &ideal->network};
}

ChipRunner::Average ChipRunner::average(const PointTask& task, std::uint64_t seed,
                                        std::uint32_t chip) {
  Average average{.workload = workload(task), .decoded = {}, .result = {}};
  const Workload& work = *average.workload;
  const ChipOptics chip_optics = optics(task)->network.chip(seed, chip);
  average.decoded =
      decoded_values(chip_optics, backend_, task.calibration, work.inputs, work.targets);
  average.result = {.gradient = gradient_metrics(task.format, work.table, average.decoded),
                    .meshes = chip_optics.quality,
                    .tensors = tensor_metrics(task.format, work, average.decoded)};
  return average;
}

ChipResult ChipRunner::run(const PointTask& task, std::uint64_t seed, std::uint32_t chip) {
  return average(task, seed, chip).result;
}

ChipResult ChipRunner::write(const PointTask& task, std::uint64_t seed, std::uint32_t chip,
                             const std::filesystem::path& path, const TraceAttributes& attributes) {
  const Average chip_average = average(task, seed, chip);
  const std::lock_guard lock(hdf5_mutex_);
  write_average(path, *open_source(task.source), task.format, task.quantiser,
                {.codes = chip_average.workload->table.codes, .decoded = chip_average.decoded},
                attributes);
  return chip_average.result;
}

}  // namespace optinc
