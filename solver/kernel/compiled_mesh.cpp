// SPDX-License-Identifier: Apache-2.0
#include "solver/kernel/compiled_mesh.hpp"

#include <cstddef>
#include <utility>

namespace optinc {

namespace {

Complex<double> scaled(Complex<double> value, double factor) {
  return {value.re * factor, value.im * factor};
}

/// Builds a compiled mesh element by element. Losses of modes that pass a column wait until the
/// next element on their mode takes them in.
class Compiler {
 public:
  explicit Compiler(const MeshState& mesh)
      : mesh_(mesh), waiting_(static_cast<std::size_t>(mesh.topology.modes), 1.0) {
    compiled_.modes = mesh.topology.modes;
    compiled_.transfers.reserve(mesh.mzis.size());
  }

  CompiledMesh run() && {
    std::size_t flat_index = 0;
    for (const MeshColumn& column : mesh_.topology.columns) {
      compiled_.columns.push_back(column);
      for (int i = 0; i < column.mzi_count; ++i) {
        push_transfer(mzi(mesh_.mzis[flat_index++]), column.first_mode + 2 * i);
      }
      if (mesh_.pass_amplitude_transmission != 1) add_passing_loss(column);
      if (mesh_.optical_crosstalk_angle_rad != 0) add_crosstalk(column);
    }
    add_output();
    return std::move(compiled_);
  }

 private:
  double& waiting(int mode) { return waiting_[static_cast<std::size_t>(mode)]; }

  void push_transfer(Transfer2x2<double> transfer, int mode) {
    const double upper = std::exchange(waiting(mode), 1.0);
    const double lower = std::exchange(waiting(mode + 1), 1.0);
    compiled_.transfers.push_back({scaled(transfer.m11, upper), scaled(transfer.m12, lower),
                                   scaled(transfer.m21, upper), scaled(transfer.m22, lower)});
  }

  void add_passing_loss(const MeshColumn& column) {
    for_each_passing_mode(column, compiled_.modes,
                          [&](int mode) { waiting(mode) *= mesh_.pass_amplitude_transmission; });
  }

  /// The couplers act from the top; those two modes apart share a column.
  void add_crosstalk(const MeshColumn& column) {
    const Transfer2x2<double> transfer = coupler(mesh_.optical_crosstalk_angle_rad);
    bool first = true;
    for_each_unjoined_pair(column, compiled_.modes, [&](int mode) {
      MeshColumn& last = compiled_.columns.back();
      const bool extends = !first && mode == last.first_mode + 2 * last.mzi_count;
      if (extends) {
        ++last.mzi_count;
      } else {
        compiled_.columns.push_back({mode, 1});
      }
      first = false;
      push_transfer(transfer, mode);
    });
  }

  void add_output() {
    for (std::size_t mode = 0; mode < mesh_.output_phase_rad.size(); ++mode) {
      compiled_.output.push_back(arm_transmission(Arm<double>{
          mesh_.output_phase_rad[mode], mesh_.common_amplitude_transmission * waiting_[mode]}));
    }
  }

  const MeshState& mesh_;
  std::vector<double> waiting_;  ///< per mode: amplitude still to be applied
  CompiledMesh compiled_;
};

}  // namespace

CompiledMesh compile(const MeshState& mesh) { return Compiler(mesh).run(); }

}  // namespace optinc
