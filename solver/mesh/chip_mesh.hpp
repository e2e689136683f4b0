// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "noise/static_errors.hpp"
#include "solver/mesh/heaters.hpp"
#include "solver/mesh/program.hpp"

namespace optinc {

/// Throws ConfigError when an effect is on that a mesh of such MZIs has no place for: crossing loss
/// without crossings.
void validate(const StaticImperfections& imperfections, MziKind mzi_kind);

/// Names a realization of a mesh: the chip with what is static, and the realization of its fast
/// noise.
struct ChipDraw {
  std::uint64_t seed{};
  std::uint32_t chip{};
  std::optional<std::uint32_t> jitter = {};  ///< none: without jitter
};

/// Draws chips of a programmed mesh. What all chips share (driver rounding, thermal crosstalk, mean
/// losses, the correlation of the fabrication error) is worked out once, in the constructor.
class ChipMesh {
 public:
  /// Args: facets: how often light enters or leaves the chip at this mesh, for the facet loss.
  /// Throws ConfigError as `validate` does.
  ChipMesh(const MeshProgram& program, const StaticImperfections& imperfections,
           std::uint16_t mesh_id, int facets = 2);

  /// The mesh of one chip. With all imperfections off it equals `ideal_state` bit for bit.
  MeshState chip(const ChipDraw& draw) const;

  /// The same mesh with errors of its own, such as those of a file, under the drawn ones:
  /// `own` is `ideal_state(program)` with these errors.
  MeshState chip(const ChipDraw& draw, const MeshState& own) const;

  /// The programmed mesh with its mean losses only: what a designer compensates by gain.
  MeshState lossy_state() const;

  /// The same device with other phases programmed on a mesh of the same topology.
  ChipMesh reprogrammed(const MeshProgram& program) const;

  const MeshProgram& program() const { return program_; }
  const StaticImperfections& imperfections() const { return imperfections_; }

 private:
  void set_program(const MeshProgram& program);
  void set_drivers(MeshState& state) const;
  void set_losses(MeshState& state) const;
  void draw_errors(const ChipDraw& draw, MeshState& state) const;
  void draw_drift(const ChipDraw& draw, MeshState& state) const;
  void draw_jitter(const ChipDraw& draw, MeshState& state) const;
  void draw_losses(const ChipDraw& draw, MeshState& state) const;
  StreamAddress address(const ChipDraw& draw, DrawId id) const;
  void detune(MeshState& state) const;

  MeshProgram program_;
  StaticImperfections imperfections_;
  std::uint16_t mesh_id_;
  int facets_;
  MeshProgram driven_;  ///< phases as the drivers set them
  std::optional<ThermalShifts> thermal_;
  std::shared_ptr<const SparseMap> correlation_;  ///< of the layout, whatever is programmed
};

/// One chip of a mesh that is needed only once.
MeshState perturbed_state(const MeshProgram& program, const StaticImperfections& imperfections,
                          std::uint64_t seed, std::uint32_t chip, std::uint16_t mesh_id);

}  // namespace optinc
