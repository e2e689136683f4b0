// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "solver/backend/registry.hpp"
#include "solver/error.hpp"
#include "solver/kernel/column_sweep.hpp"

namespace optinc {

namespace {

using RowMajorFields =
    Eigen::Matrix<std::complex<double>, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

void sweep(const MeshState& mesh, RowMajorFields& fields) {
  // Complex<double> has the layout of std::complex<double>, which has that of double[2].
  auto* data = reinterpret_cast<Complex<double>*>(fields.data());
  sweep_columns<double>(mesh, {data, static_cast<std::size_t>(fields.size())},
                        static_cast<std::size_t>(fields.cols()));
}

void apply_activation(const RealLayer& layer, Eigen::MatrixXd& values) {
  switch (layer.activation) {
    case Activation::identity:
      return;
    case Activation::relu:
      values = values.cwiseMax(0.0);
      return;
    case Activation::clipped_relu:
      values = values.cwiseMax(0.0).cwiseMin(layer.clip);
      return;
  }
}

/// Codes per tile: the widest layer of a tile stays in cache.
constexpr Eigen::Index tile_codes = 512;

class ReferenceBackend final : public Backend {
 public:
  std::string name() const override { return "reference"; }

  std::vector<Eigen::MatrixXcd> compose_chips(const ComposeRequest& request) const override {
    std::vector<Eigen::MatrixXcd> matrices;
    matrices.reserve(request.chips.size());
    for (const std::uint32_t chip : request.chips) {
      matrices.push_back(compose(request.mesh.chip({request.seed, chip, request.jitter})));
    }
    return matrices;
  }

  Eigen::MatrixXcd compose(const MeshState& mesh) const override {
    RowMajorFields fields = RowMajorFields::Identity(mesh.topology.modes, mesh.topology.modes);
    sweep(mesh, fields);
    return fields;
  }

  void propagate(const MeshState& mesh, Eigen::MatrixXcd& fields) const override {
    require_modes(mesh.topology, fields);
    RowMajorFields work = fields;
    sweep(mesh, work);
    fields = work;
  }

  Eigen::MatrixXd evaluate_codes(std::span<const RealLayer> layers,
                                 const Eigen::MatrixXd& inputs) const override {
    const Eigen::Index outputs = layers.empty() ? inputs.rows() : layers.back().weight.rows();
    Eigen::MatrixXd result(outputs, inputs.cols());
    for (Eigen::Index first = 0; first < inputs.cols(); first += tile_codes) {
      const Eigen::Index count = std::min(tile_codes, inputs.cols() - first);
      Eigen::MatrixXd values = inputs.middleCols(first, count);
      for (const RealLayer& layer : layers) {
        Eigen::MatrixXd next = layer.weight * values;
        next.colwise() += layer.bias;
        apply_activation(layer, next);
        values = std::move(next);
      }
      result.middleCols(first, count) = values;
    }
    return result;
  }
};

}  // namespace

BackendEntry reference_backend_entry() {
  return {.name = "reference",
          .description = "double precision, scalar column sweep, one thread per chip: the oracle",
          .unavailable_reason = "",
          .precisions = {Precision::f64},
          .create = [](Precision) { return std::make_unique<ReferenceBackend>(); }};
}

}  // namespace optinc
