// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <Eigen/Core>

#include "noise/combiner_errors.hpp"
#include "solver/config/sweep_config.hpp"
#include "solver/gradient/average.hpp"
#include "solver/gradient/statistics.hpp"
#include "solver/gradient/trace.hpp"
#include "solver/montecarlo/chip_result.hpp"
#include "solver/montecarlo/memory_estimate.hpp"
#include "solver/montecarlo/shared_cache.hpp"
#include "solver/montecarlo/workload_config.hpp"
#include "solver/onn/analytic.hpp"
#include "solver/optinc/chip.hpp"
#include "solver/optinc/server_chip.hpp"

namespace optinc {

/// What one sweep point computes: its configuration, typed and checked.
struct PointTask {
  std::size_t point{};
  WorkloadSource source;
  QuantiserOptions quantiser;
  CodeFormat format;
  std::optional<std::filesystem::path> network_file;  ///< none: the analytic network
  AnalyticOptions analytic;
  MappingOptions mapping;
  ChipOptions chips;
  CombinerImperfections combiner;
  Calibration calibration{};
  EvaluationOptions evaluation;
};

/// What a ChipRunner measures: the whole gradient, or each of its tensors too.
enum class MetricDetail { total, per_tensor };

/// Computes chips of the points of a sweep. Trace statistics and networks are kept for the last few
/// settings, not made again per chip. May be used from several threads at once.
class ChipRunner {
 public:
  /// The first two arguments must outlive the runner.
  ChipRunner(const SweepConfig& sweep, const Backend& backend,
             MetricDetail detail = MetricDetail::total);

  /// The task of one point. Opens the files it names, without reading the gradients. Throws
  /// ConfigError for settings that do not go together and DataError for files.
  PointTask task(std::size_t point);

  /// The tensors of its gradient.
  std::shared_ptr<const std::vector<TraceTensor>> tensors(const PointTask& task);

  /// What the chips of a task are evaluated on.
  EvaluationSize evaluation_size(const PointTask& task);

  /// Names what the ideal chip of a task depends on.
  std::string ideal_key(const PointTask& task) const;

  /// How many of the codes that the gradient of a task holds the ideal chip decodes differently
  /// when `exact` computes it.
  std::size_t unlike_codes(const PointTask& task, const Backend& exact);

  /// Its network as meshes.
  std::shared_ptr<const MappedNetwork> mapped_network(const PointTask& task);

  /// Simulates one chip.
  ChipResult run(const PointTask& task, std::uint64_t seed, std::uint32_t chip);

  /// Simulates one chip and writes the gradient that its servers decode (write_average).
  ChipResult write(const PointTask& task, std::uint64_t seed, std::uint32_t chip,
                   const std::filesystem::path& path, const TraceAttributes& attributes);

 private:
  /// What a source says of itself without its values.
  struct SourceShape {
    int servers{};
    std::vector<TraceTensor> tensors;
  };

  /// A gradient reduced to what a chip is evaluated on, with the codes it is calibrated on.
  struct Workload {
    TraceStatistics entries;
    std::vector<CodeKey> codes;         ///< that occur
    Eigen::MatrixXd inputs;             ///< of the network for them, where they are the entries
    std::vector<std::int64_t> targets;  ///< Q(v) of them
  };

  struct IdealOptics {
    MappedNetwork network;
    std::vector<Eigen::MatrixXcd> meshes;
  };

  /// The optics of one point; keeps what it refers to.
  struct Optics {
    std::shared_ptr<const IdealOptics> ideal;
    NetworkOptics network;
  };

  /// One chip at work. Refers to the optics, which must outlive it.
  struct ChipInUse {
    std::shared_ptr<const Workload> workload;
    ChipOptics optics;
    std::optional<ServerChip> servers = {};           ///< where entries are finer than codes
    std::vector<OutputCalibration> calibration = {};  ///< where they are codes
    std::vector<std::int64_t> decoded = {};           ///< by entry
  };

  std::unique_ptr<ChipInUse> use_chip(const PointTask& task, std::uint64_t seed,
                                      std::uint32_t chip);
  ChipResult result(const PointTask& task, std::uint64_t seed, const ChipInUse& chip) const;
  std::shared_ptr<const Workload> workload(const PointTask& task);
  Workload reduce(const PointTask& task) const;
  std::shared_ptr<const IdealOptics> ideal_optics(const PointTask& task);
  std::shared_ptr<const Optics> optics(const PointTask& task);
  std::shared_ptr<const Network> network(const PointTask& task);
  std::shared_ptr<const SourceShape> shape(const WorkloadSource& source);
  CodeFormat format(const ResolvedConfig& config, const PointTask& task);

  const SweepConfig& sweep_;
  const Backend& backend_;
  MetricDetail detail_;
  std::mutex hdf5_mutex_;  ///< the HDF5 library is not used from two threads at once
  SharedCache<SourceShape> sources_;
  SharedCache<Network> networks_;
  SharedCache<Workload> workloads_;
  SharedCache<IdealOptics> ideal_optics_;
  SharedCache<Optics> optics_;
};

}  // namespace optinc
