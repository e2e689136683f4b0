// SPDX-License-Identifier: Apache-2.0
#include "apps/bench_cases.hpp"

#include <array>
#include <atomic>
#include <complex>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <mutex>
#include <numbers>
#include <span>
#include <system_error>
#include <utility>

#include <unistd.h>

#include <fmt/format.h>
#include <Eigen/QR>

#include "noise/stream.hpp"
#include "solver/config/sweep_config.hpp"
#include "solver/gradient/statistics.hpp"
#include "solver/gradient/synthetic.hpp"
#include "solver/gradient/trace.hpp"
#include "solver/kernel/field_buffer.hpp"
#include "solver/mesh/chip_mesh.hpp"
#include "solver/mesh/decomposition.hpp"
#include "solver/montecarlo/chip_runner.hpp"

namespace optinc {

namespace {

/// Complex multiply-adds of a 2 x 2 transfer on one sample: 4 products of 6 flops, 2 sums of 2.
constexpr double flops_per_mzi_and_sample = 28;

constexpr std::uint64_t bench_seed = 1;

template <class Fill>
std::vector<double> draws(std::size_t count, const Fill& fill) {
  std::vector<double> values(count);
  fill(StreamAddress{.seed = bench_seed, .draw = DrawId::synthetic_gradient}, 0, std::span(values));
  return values;
}

/// A Clements mesh with random phases.
MeshProgram random_mesh(int modes) {
  MeshProgram program{
      .topology = clements_topology(modes), .theta_rad = {}, .phi_rad = {}, .output_phase_rad = {}};
  const std::size_t mzis = program.topology.mzi_count();
  std::vector<double> phases = draws(2 * mzis + static_cast<std::size_t>(modes), uniform_sequence);
  for (double& phase : phases) phase *= 2 * std::numbers::pi;
  const auto theta_end = phases.begin() + static_cast<std::ptrdiff_t>(mzis);
  const auto phi_end = theta_end + static_cast<std::ptrdiff_t>(mzis);
  program.theta_rad.assign(phases.begin(), theta_end);
  program.phi_rad.assign(theta_end, phi_end);
  program.output_phase_rad.assign(phi_end, phases.end());
  return program;
}

double mesh_flops(int modes, double samples) {
  return flops_per_mzi_and_sample * 0.5 * modes * (modes - 1) * samples;
}

/// The column sweep over the identity: what a composition does beyond noise and trigonometry.
template <class Real>
class Composition {
 public:
  Composition(const SimdKernels<Real>& kernels, int modes)
      : kernels_(kernels), modes_(static_cast<std::size_t>(modes)), buffer_(modes_, modes_) {
    const CompiledMesh mesh = compile(ideal_state(random_mesh(modes)));
    steps_ = sweep_steps<Real>(mesh, composition_sites(mesh));
  }

  void run() {
    for (std::size_t first = 0; first < modes_; first += buffer_.width()) {
      buffer_.set_identity(first);
      kernels_.sweep(steps_, buffer_.tile(first));
    }
  }

 private:
  const SimdKernels<Real>& kernels_;
  std::size_t modes_;
  FieldBuffer<Real> buffer_;
  std::vector<SweepStep<Real>> steps_;
};

template <class Real>
BenchCase composition_case(const SimdKernels<Real>& kernels, int modes) {
  return {.name = fmt::format("compose/{}", modes),
          .flops = mesh_flops(modes, modes),
          .prepare = [&kernels, modes] {
            const auto composition = std::make_shared<Composition<Real>>(kernels, modes);
            return [composition] { composition->run(); };
          }};
}

/// A chip's mesh from its deviates to the matrix.
BenchCase chip_mesh_case(const Backend& backend, int modes) {
  return {.name = fmt::format("compose-chip/{}", modes),
          .flops = mesh_flops(modes, modes),
          .prepare = [&backend, modes] {
            StaticImperfections imperfections;
            imperfections.phase_fabrication_sigma_rad = 0.01;
            imperfections.coupler_sigma_rad = 0.01;
            const auto mesh = std::make_shared<ChipMesh>(random_mesh(modes), imperfections, 0, 0);
            return [&backend, mesh, chip = std::uint32_t{0}]() mutable {
              backend.compose_chips({.mesh = *mesh, .seed = bench_seed, .chips = {&chip, 1}});
              ++chip;
            };
          }};
}

BenchCase propagation_case(const Backend& backend, int modes) {
  constexpr Eigen::Index vectors = 1024;
  return {.name = fmt::format("propagate/{}", modes),
          .flops = mesh_flops(modes, vectors),
          .prepare = [&backend, modes] {
            const auto state = std::make_shared<MeshState>(ideal_state(random_mesh(modes)));
            const auto fields = std::make_shared<Eigen::MatrixXcd>(
                Eigen::MatrixXcd::Constant(modes, vectors, {0.1, 0.2}));
            return [&backend, state, fields] { backend.propagate(*state, *fields); };
          }};
}

/// Layers of the paper's network for 8 bits and 4 servers, random weights.
std::vector<RealLayer> paper_layers() {
  constexpr std::array widths = {4, 64, 128, 256, 128, 64, 4};
  std::vector<RealLayer> layers;
  for (std::size_t i = 0; i + 1 < widths.size(); ++i) {
    const std::vector<double> weights =
        draws(static_cast<std::size_t>(widths[i]) * static_cast<std::size_t>(widths[i + 1]),
              normal_sequence);
    const bool last = i + 2 == widths.size();
    layers.push_back(
        {.weight = Eigen::Map<const Eigen::MatrixXd>(weights.data(), widths[i + 1], widths[i]) /
                   widths[i],
         .bias = Eigen::VectorXd::Constant(widths[i + 1], 0.01),
         .activation = last ? Activation::identity : Activation::relu});
  }
  return layers;
}

BenchCase code_case(const Backend& backend) {
  constexpr int codes = 28561;
  double weights = 0;
  for (const RealLayer& layer : paper_layers()) {
    weights += static_cast<double>(layer.weight.size());
  }
  return {
      .name = "codes/4-64-128-256-128-64-4", .flops = 2 * weights * codes, .prepare = [&backend] {
        const auto layers = std::make_shared<std::vector<RealLayer>>(paper_layers());
        const auto inputs = std::make_shared<Eigen::MatrixXd>(
            Eigen::MatrixXd::Constant(layers->front().weight.cols(), codes, 0.5));
        return [&backend, layers, inputs] { backend.evaluate_codes(*layers, *inputs); };
      }};
}

BenchCase decomposition_case(int modes) {
  return {.name = fmt::format("decompose/{}", modes),
          .flops = mesh_flops(modes, modes),
          .prepare = [modes] {
            const auto size = static_cast<std::size_t>(modes);
            const std::vector<double> parts = draws(2 * size * size, normal_sequence);
            Eigen::MatrixXcd matrix(modes, modes);
            for (Eigen::Index i = 0; i < matrix.size(); ++i) {
              const auto at = 2 * static_cast<std::size_t>(i);
              matrix.data()[i] = {parts[at], parts[at + 1]};
            }
            const auto unitary = std::make_shared<Eigen::MatrixXcd>(
                Eigen::HouseholderQR<Eigen::MatrixXcd>(matrix).householderQ());
            return [unitary] { decompose(*unitary); };
          }};
}

/// A file that is removed with its last user.
class TemporaryTrace {
 public:
  explicit TemporaryTrace(const GradientSource& source)
      : path_(std::filesystem::temp_directory_path() /
              fmt::format("optinc-bench-{}-{}.h5", getpid(), files_++)) {
    write_trace(path_, source, {});
  }
  ~TemporaryTrace() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  TemporaryTrace(const TemporaryTrace&) = delete;
  TemporaryTrace& operator=(const TemporaryTrace&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  inline static int files_ = 0;  ///< made so far
  std::filesystem::path path_;
};

/// Quantiser and code statistics of an uncompressed trace in the file cache. HDF5 is used by one
/// thread at a time, so threads add nothing here.
BenchCase trace_case() {
  constexpr std::uint64_t elements = 1U << 20U;
  constexpr int servers = 4;
  return {.name = "reduce-trace",
          .bytes = static_cast<double>(elements * servers * sizeof(float)),
          .prepare = [] {
            const auto file = std::make_shared<TemporaryTrace>(SyntheticGradient(
                {.kind = SyntheticKind::gaussian, .servers = servers, .elements = elements}));
            return [file] {
              static std::mutex hdf5;
              const std::lock_guard lock(hdf5);
              const GradientTrace trace(file->path());
              reduce_trace(trace, make_code_format(servers, 8), {}, {.per_tensor = false});
            };
          }};
}

/// Whole chips of the analytic network on a synthetic gradient, as a sweep computes them.
BenchCase chips_case(const Backend& backend) {
  return {.name = "chips/ripple-8bit-4servers", .chips = 1, .prepare = [&backend] {
            struct Sweep {
              SweepConfig config =
                  config_from_overrides({"workload.kind=gaussian", "workload.elements=262144",
                                         "imperfections.phase.fabrication_sigma_rad=1e-3",
                                         "imperfections.coupler.sigma_rad=1e-3"});
              std::unique_ptr<ChipRunner> runner;
              PointTask task;
              std::uint32_t chip = 0;
            };
            const auto sweep = std::make_shared<Sweep>();
            sweep->runner = std::make_unique<ChipRunner>(sweep->config, backend);
            sweep->task = sweep->runner->task(0);
            return [sweep] { sweep->runner->run(sweep->task, bench_seed, sweep->chip++); };
          }};
}

template <class Real>
void add_kernel_cases(const SimdKernels<Real>& kernels, std::vector<BenchCase>& cases) {
  for (const int modes : {64, 128, 256, 512}) cases.push_back(composition_case(kernels, modes));
}

template <class Real>
BenchCase peak_of(const SimdKernels<Real>& kernels) {
  constexpr std::size_t rounds = 20000;
  return {.name = "peak",
          .flops = 2.0 * static_cast<double>(rounds * kernels.multiply_adds_per_round),
          .prepare = [&kernels] {
            return [&kernels] {
              // Nobody may know that the sum is not used.
              static std::atomic<Real> sink;
              sink.store(kernels.multiply_adds(rounds, Real(1)), std::memory_order_relaxed);
            };
          }};
}

}  // namespace

std::vector<BenchCase> bench_cases(const BenchEngine& engine) {
  std::vector<BenchCase> cases;
  if (engine.instructions != nullptr) {
    if (engine.precision == Precision::f32) {
      add_kernel_cases(engine.instructions->f32, cases);
    } else {
      add_kernel_cases(engine.instructions->f64, cases);
    }
  }
  for (const int modes : {64, 128, 256, 512}) {
    cases.push_back(chip_mesh_case(engine.backend, modes));
  }
  for (const int modes : {64, 256}) cases.push_back(propagation_case(engine.backend, modes));
  cases.push_back(code_case(engine.backend));
  cases.push_back(chips_case(engine.backend));
  if (engine.precision == Precision::f64) {
    for (const int modes : {64, 256}) cases.push_back(decomposition_case(modes));
    cases.push_back(trace_case());
  }
  return cases;
}

BenchCase peak_case(const InstructionSet& instructions, Precision precision) {
  return precision == Precision::f32 ? peak_of(instructions.f32) : peak_of(instructions.f64);
}

BenchCase copy_case() {
  static constexpr std::size_t size = std::size_t{1} << 26U;
  return {.name = "copy", .bytes = 2.0 * static_cast<double>(size), .prepare = [] {
            const auto from = std::make_shared<std::vector<char>>(size, 'a');
            const auto to = std::make_shared<std::vector<char>>(size, 'b');
            return [from, to] {
              (*from)[0] = (*to)[1];
              std::memcpy(to->data(), from->data(), size);
            };
          }};
}

}  // namespace optinc
