// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include <Eigen/Core>

#include "solver/config/sweep_config.hpp"
#include "solver/gradient/statistics.hpp"
#include "solver/gradient/trace.hpp"
#include "solver/montecarlo/chip_result.hpp"
#include "solver/montecarlo/shared_cache.hpp"
#include "solver/montecarlo/workload_config.hpp"
#include "solver/onn/analytic.hpp"
#include "solver/optinc/chip.hpp"

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
  Calibration calibration{};
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

  /// Number of different codes that the trace of a task holds.
  std::size_t codes(const PointTask& task);

  /// Its network as meshes.
  std::shared_ptr<const MappedNetwork> mapped_network(const PointTask& task);

  /// Simulates one chip.
  ChipResult run(const PointTask& task, std::uint64_t seed, std::uint32_t chip);

  /// Simulates one chip and writes the gradient that its servers decode (write_average).
  ChipResult write(const PointTask& task, std::uint64_t seed, std::uint32_t chip,
                   const std::filesystem::path& path, const TraceAttributes& attributes);

 private:
  /// One tensor reduced to codes. `place[i]` is where `table.codes[i]` is in the whole trace's.
  struct TensorCodes {
    std::string name;
    CodeTable table;
    std::vector<std::size_t> place;
  };

  /// A trace reduced to codes, with what the network sees and should say for each.
  struct Workload {
    CodeTable table;
    Eigen::MatrixXd inputs;
    std::vector<std::int64_t> targets;
    std::vector<TensorCodes> tensors = {};  ///< with MetricDetail::per_tensor
  };

  /// What one chip makes of a workload.
  struct Average {
    std::shared_ptr<const Workload> workload;
    std::vector<std::int64_t> decoded;  ///< by code
    ChipResult result;
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

  static std::vector<TensorCodes> tensor_codes(TraceStatistics statistics,
                                               const std::vector<CodeKey>& codes);
  static std::vector<TensorMetrics> tensor_metrics(const CodeFormat& format,
                                                   const Workload& workload,
                                                   const std::vector<std::int64_t>& decoded);
  Average average(const PointTask& task, std::uint64_t seed, std::uint32_t chip);
  std::shared_ptr<const Workload> workload(const PointTask& task);
  std::shared_ptr<const IdealOptics> ideal_optics(const PointTask& task);
  std::shared_ptr<const Optics> optics(const PointTask& task);
  std::shared_ptr<const Network> network(const PointTask& task);
  int servers(const WorkloadSource& source);
  CodeFormat format(const ResolvedConfig& config, const PointTask& task);

  const SweepConfig& sweep_;
  const Backend& backend_;
  MetricDetail detail_;
  std::mutex hdf5_mutex_;  ///< the HDF5 library is not used from two threads at once
  SharedCache<int> servers_;
  SharedCache<Network> networks_;
  SharedCache<Workload> workloads_;
  SharedCache<IdealOptics> ideal_optics_;
  SharedCache<Optics> optics_;
};

}  // namespace optinc
