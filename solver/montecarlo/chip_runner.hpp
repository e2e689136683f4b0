// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
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
#include "solver/optinc/cascade_chip.hpp"
#include "solver/optinc/cascade_format.hpp"
#include "solver/optinc/chip.hpp"
#include "solver/optinc/server_chip.hpp"

namespace optinc {

/// Units of one network: the only one, or a level of a cascade.
struct LevelTask {
  CodeFormat format;
  std::optional<std::filesystem::path> network_file;  ///< none: the analytic network
  std::size_t units = 1;
};

/// What one sweep point computes: its configuration, typed and checked.
struct PointTask {
  std::size_t point{};
  WorkloadSource source;
  QuantiserOptions quantiser;
  CodeFormat format;                     ///< of all servers
  std::vector<LevelTask> levels;         ///< one, or the two of a cascade
  std::optional<CascadeFormat> cascade;  ///< none: one unit
  AnalyticOptions analytic;
  MappingOptions mapping;
  ChipOptions chips;
  CombinerImperfections combiner;
  SymbolEffects symbols;
  ReceiverImperfections receiver;
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

  /// What its chips take.
  MemoryEstimate memory(const PointTask& task);

  /// Simulates one chip.
  ChipResult run(const PointTask& task, std::uint64_t seed, std::uint32_t chip);

  /// Simulates one chip and writes the gradient that its servers decode (write_average).
  ChipResult write(const PointTask& task, std::uint64_t seed, std::uint32_t chip,
                   const std::filesystem::path& path, const TraceAttributes& attributes);

 private:
  /// What a chip makes of the values that the servers send for some elements, from the number of
  /// the first one on.
  using ElementDecoder = std::function<std::vector<std::int64_t>(
      std::span<const std::uint32_t> values, std::uint64_t first_element)>;

  /// What a source says of itself without its values.
  struct SourceShape {
    int servers{};
    std::vector<TraceTensor> tensors;
  };

  /// A gradient reduced to what a chip is evaluated on, with the codes it is calibrated on.
  struct Workload {
    TraceStatistics entries;
    /// Codes that occur, by unit; inputs only where codes are evaluated.
    std::vector<CodeSet> units;
  };

  struct IdealOptics {
    MappedNetwork network;
    std::vector<Eigen::MatrixXcd> meshes;
  };

  /// The optics of a unit of one point; keeps what it refers to.
  struct Optics {
    std::shared_ptr<const IdealOptics> ideal;
    NetworkOptics network;
  };

  /// One chip at work. Refers to the optics, which must outlive it.
  struct ChipInUse {
    std::shared_ptr<const Workload> workload;
    /// By unit: without jitter, then the realizations of jitter where there is any.
    std::vector<std::vector<ChipOptics>> optics = {};
    std::unique_ptr<CascadeChip> cascade = {};  ///< of several units
    std::optional<ServerChip> servers = {};     ///< of one, where entries are not codes
    std::optional<Receiver> receiver = {};      ///< of one, where they are codes
    Decoded decoded = {};                       ///< by entry

    /// The first unit without jitter.
    const ChipOptics& quiet() const { return optics.front().front(); }
  };

  std::unique_ptr<ChipInUse> use_chip(const PointTask& task, std::uint64_t seed,
                                      std::uint32_t chip);
  void use_codes(const ReceiverOptions& receiver, ChipInUse& used) const;
  ServerChip server_chip(const PointTask& task, const ChipInUse& used, std::size_t unit,
                         const SymbolStreams& streams, ReceiverOptions receiver) const;
  std::unique_ptr<CascadeChip> cascade_chip(const PointTask& task, const ChipInUse& used,
                                            std::uint64_t seed, std::uint32_t chip) const;
  ElementDecoder element_decoder(const PointTask& task, ChipInUse& chip,
                                 const ReceiverOptions& receiver) const;
  PieceDecoder piece_decoder(const PointTask& task, ChipInUse& chip,
                             const ReceiverOptions& receiver);
  ChipResult result(const PointTask& task, std::uint64_t seed, const ChipInUse& chip) const;
  static MeshQuality mesh_quality(const ChipInUse& chip);
  double uniform_error_rate(const PointTask& task, std::uint64_t seed, const ChipInUse& chip) const;
  std::shared_ptr<const Workload> workload(const PointTask& task);
  Workload reduce(const PointTask& task) const;
  std::vector<CodeSet> unit_codes(const PointTask& task, const GradientSource& source,
                                  const TraceStatistics& total) const;
  std::shared_ptr<const IdealOptics> ideal_optics(const PointTask& task, const LevelTask& level);
  std::shared_ptr<const std::vector<Optics>> optics(const PointTask& task);
  std::shared_ptr<const Network> network(const PointTask& task, const LevelTask& level);
  std::shared_ptr<const SourceShape> shape(const WorkloadSource& source);
  void set_levels(const ResolvedConfig& config, PointTask& task);
  void set_file_levels(const ResolvedConfig& config, CascadeKind kind, PointTask& task);

  const SweepConfig& sweep_;
  const Backend& backend_;
  MetricDetail detail_;
  std::mutex hdf5_mutex_;  ///< the HDF5 library is not used from two threads at once
  SharedCache<SourceShape> sources_;
  SharedCache<Network> networks_;
  SharedCache<Workload> workloads_;
  SharedCache<IdealOptics> ideal_optics_;
  SharedCache<std::vector<Optics>> optics_;
};

}  // namespace optinc
