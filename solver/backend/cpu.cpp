// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <hwy/aligned_allocator.h>

#include "solver/backend/registry.hpp"
#include "solver/error.hpp"
#include "solver/kernel/compiled_mesh.hpp"
#include "solver/kernel/field_buffer.hpp"
#include "solver/kernel/panel_matrix.hpp"
#include "solver/kernel/simd_kernels.hpp"

namespace optinc {

namespace {

/// A pair of code tiles, part of the second-level cache.
constexpr std::size_t code_tile_bytes = std::size_t(256) * 1024;

template <class Real>
PackedLayer<Real> pack_layer(const RealLayer& layer) {
  const std::size_t neurons = unsigned_size(layer.weight.rows());
  const std::size_t inputs = unsigned_size(layer.weight.cols());
  const auto [floor, ceiling] = activation_limits(layer.activation, layer.clip);
  PackedLayer<Real> packed = empty_layer<Real>(neurons, inputs);
  packed.floor = static_cast<Real>(floor);
  packed.ceiling = static_cast<Real>(ceiling);
  for (std::size_t neuron = 0; neuron < neurons; ++neuron) {
    packed.bias[neuron] = static_cast<Real>(layer.bias(eigen_index(neuron)));
    for (std::size_t input = 0; input < inputs; ++input) {
      weight_at(packed, neuron, input) =
          static_cast<Real>(layer.weight(eigen_index(neuron), eigen_index(input)));
    }
  }
  return packed;
}

template <class Real>
std::vector<PackedLayer<Real>> pack_layers(std::span<const RealLayer> layers, Eigen::Index inputs) {
  std::vector<PackedLayer<Real>> packed;
  packed.reserve(layers.size());
  for (const RealLayer& layer : layers) {
    if (layer.weight.cols() != inputs) {
      throw ConfigError(fmt::format("layer {} of the network takes {} inputs and is given {}",
                                    packed.size(), layer.weight.cols(), inputs));
    }
    packed.push_back(pack_layer<Real>(layer));
    inputs = layer.weight.rows();
  }
  return packed;
}

/// Neurons of the widest layer, inputs included, in whole blocks; at least 1.
template <class Real>
std::size_t widest(std::span<const PackedLayer<Real>> layers) {
  std::size_t neurons = 1;
  for (const PackedLayer<Real>& layer : layers) {
    neurons = std::max({neurons, layer.inputs, layer.blocks * neurons_per_block});
  }
  return neurons;
}

/// Takes a tile of codes through all layers while it is in cache.
template <class Real>
class CodeChain {
 public:
  CodeChain(const SimdKernels<Real>& kernels, std::span<const PackedLayer<Real>> layers)
      : kernels_(kernels),
        layers_(layers),
        panel_values_(widest(layers) * kernels.codes_per_panel),
        panels_(std::max<std::size_t>(1, code_tile_bytes / (2 * sizeof(Real) * panel_values_))),
        inputs_(aligned_zeros<Real>(panels_ * panel_values_)),
        outputs_(aligned_zeros<Real>(panels_ * panel_values_)) {}

  /// Codes in a tile.
  std::size_t codes() const { return panels_ * kernels_.codes_per_panel; }

  /// Outputs [output, code] for inputs [input, code] of at most codes() codes.
  void evaluate(const Eigen::Ref<const Eigen::MatrixXd>& inputs,
                Eigen::Ref<Eigen::MatrixXd> outputs) {
    for (Eigen::Index code = 0; code < inputs.cols(); ++code) {
      Real* values = values_of(code);
      for (Eigen::Index input = 0; input < inputs.rows(); ++input) {
        values[unsigned_size(input) * kernels_.codes_per_panel] =
            static_cast<Real>(inputs(input, code));
      }
    }
    pass_layers(panels_needed(unsigned_size(inputs.cols())));
    for (Eigen::Index code = 0; code < outputs.cols(); ++code) {
      const Real* values = values_of(code);
      for (Eigen::Index output = 0; output < outputs.rows(); ++output) {
        outputs(output, code) =
            static_cast<double>(values[unsigned_size(output) * kernels_.codes_per_panel]);
      }
    }
  }

 private:
  std::size_t panels_needed(std::size_t codes) const {
    return (codes + kernels_.codes_per_panel - 1) / kernels_.codes_per_panel;
  }

  /// Values of one code in `inputs_`, codes_per_panel apart.
  Real* values_of(Eigen::Index code) const {
    const std::size_t panel = unsigned_size(code) / kernels_.codes_per_panel;
    const std::size_t within = unsigned_size(code) % kernels_.codes_per_panel;
    return inputs_.get() + panel * panel_values_ + within;
  }

  /// From and to `inputs_`.
  void pass_layers(std::size_t panels) {
    for (const PackedLayer<Real>& layer : layers_) {
      kernels_.evaluate_layer(layer, {inputs_.get(), panels, panel_values_},
                              {outputs_.get(), panels, panel_values_});
      std::swap(inputs_, outputs_);
    }
  }

  const SimdKernels<Real>& kernels_;
  std::span<const PackedLayer<Real>> layers_;
  std::size_t panel_values_;
  std::size_t panels_;
  hwy::AlignedFreeUniquePtr<Real[]> inputs_;
  hwy::AlignedFreeUniquePtr<Real[]> outputs_;
};

template <class Real>
const SimdKernels<Real>& kernels_of(const InstructionSet& set) {
  if constexpr (std::is_same_v<Real, float>) {
    return set.f32;
  } else {
    return set.f64;
  }
}

template <class Real>
class CpuBackend final : public Backend {
 public:
  explicit CpuBackend(const InstructionSet& set)
      : name_(fmt::format("cpu/{}", set.name)), kernels_(kernels_of<Real>(set)) {}

  std::string name() const override { return name_; }

  std::vector<Eigen::MatrixXcd> compose_chips(const ComposeRequest& request) const override {
    std::vector<SweepSite> sites;  // all chips of a mesh have the same columns
    std::vector<Eigen::MatrixXcd> matrices;
    matrices.reserve(request.chips.size());
    for (const std::uint32_t chip : request.chips) {
      const CompiledMesh compiled =
          compile(request.mesh.chip({request.seed, chip, request.jitter}));
      if (sites.empty()) sites = composition_sites(compiled);
      matrices.push_back(compose_at(sites, compiled));
    }
    return matrices;
  }

  Eigen::MatrixXcd compose(const MeshState& mesh) const override {
    const CompiledMesh compiled = compile(mesh);
    return compose_at(composition_sites(compiled), compiled);
  }

  void propagate(const MeshState& mesh, Eigen::MatrixXcd& fields) const override {
    require_modes(mesh.topology, fields);
    const CompiledMesh compiled = compile(mesh);
    const std::vector<SweepStep<Real>> steps =
        sweep_steps<Real>(compiled, propagation_sites(compiled));
    const std::size_t samples = unsigned_size(fields.cols());
    FieldBuffer<Real> buffer(unsigned_size(fields.rows()), samples);
    for (std::size_t first = 0; first < samples; first += buffer.width()) {
      auto block = fields.middleCols(eigen_index(first),
                                     eigen_index(std::min(buffer.width(), samples - first)));
      buffer.set(block);
      kernels_.sweep(steps, buffer.tile(0));
      buffer.get(compiled.output, block);
    }
  }

  Eigen::MatrixXd evaluate_codes(std::span<const RealLayer> layers,
                                 const Eigen::MatrixXd& inputs) const override {
    if (layers.empty()) return inputs;
    const std::vector<PackedLayer<Real>> packed = pack_layers<Real>(layers, inputs.rows());
    CodeChain<Real> chain(kernels_, packed);
    Eigen::MatrixXd outputs(layers.back().weight.rows(), inputs.cols());
    const Eigen::Index tile = eigen_index(chain.codes());
    for (Eigen::Index first = 0; first < inputs.cols(); first += tile) {
      const Eigen::Index count = std::min(tile, inputs.cols() - first);
      chain.evaluate(inputs.middleCols(first, count), outputs.middleCols(first, count));
    }
    return outputs;
  }

 private:
  Eigen::MatrixXcd compose_at(const std::vector<SweepSite>& sites, const CompiledMesh& mesh) const {
    const std::vector<SweepStep<Real>> steps = sweep_steps<Real>(mesh, sites);
    const auto modes = static_cast<std::size_t>(mesh.modes);
    Eigen::MatrixXcd matrix(mesh.modes, mesh.modes);
    FieldBuffer<Real> buffer(modes, modes);
    for (std::size_t first = 0; first < modes; first += buffer.width()) {
      buffer.set_identity(first);
      kernels_.sweep(steps, buffer.tile(first));
      buffer.get(mesh.output,
                 matrix.middleCols(eigen_index(first),
                                   eigen_index(std::min(buffer.width(), modes - first))));
    }
    return matrix;
  }

  std::string name_;
  const SimdKernels<Real>& kernels_;
};

std::unique_ptr<Backend> create_cpu_backend(const std::string& cpu_target, Precision precision) {
  const InstructionSet& set = find_instruction_set(cpu_target);
  if (precision == Precision::f32) return std::make_unique<CpuBackend<float>>(set);
  return std::make_unique<CpuBackend<double>>(set);
}

}  // namespace

BackendEntry cpu_backend_entry(const std::string& cpu_target) {
  return {.name = "cpu",
          .description = "vectorised CPU kernels with run-time choice of the instruction set",
          .unavailable_reason = "",
          .precisions = {Precision::f32, Precision::f64},
          .create = [cpu_target](Precision precision) {
            return create_cpu_backend(cpu_target, precision);
          }};
}

}  // namespace optinc
