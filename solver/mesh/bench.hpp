// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <complex>
#include <cstddef>
#include <numbers>
#include <optional>
#include <utility>
#include <vector>

#include <Eigen/Core>

#include "solver/mesh/program.hpp"

namespace optinc {

/// One programmable phase of a mesh.
struct PhaseShifter {
  enum class Kind { theta, phi, output };
  Kind kind{};
  std::size_t index{};  ///< of the MZI (flat order), or of the mode for the output screen
};

/// The program's entry for a phase.
double& phase_of(MeshProgram& program, PhaseShifter shifter);

/// A phase shifter that is switched to read the light on one mode ahead of it, and the one that is
/// switched as well where other light reaches it: the mean over its two settings is free of that.
struct Monitor {
  PhaseShifter shifter;
  std::optional<PhaseShifter> averaged;
};

/// Settings (theta, phi) at which an MZI is probed, rad.
inline constexpr std::array<std::pair<double, double>, 4> probe_settings_rad = {
    {{0, 0}, {std::numbers::pi, 0}, {0, std::numbers::pi}, {std::numbers::pi, std::numbers::pi}}};

/// A chip as its controller sees it: phases go in, measured figures come out.
class Bench {
 public:
  Bench() = default;
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;
  virtual ~Bench() = default;

  /// Programs one phase.
  virtual void set(PhaseShifter shifter, double setting_rad) = 0;

  /// Change of the output fields for `input` [mode] when the monitor is switched, with one MZI at
  /// each of `probe_settings_rad`: [field, setting]. Every column is the light at the monitor times
  /// one vector that does not depend on the phases ahead of it; which vector is left open.
  virtual Eigen::MatrixXcd probe(std::size_t mzi, const Monitor& monitor,
                                 const Eigen::VectorXcd& input) = 0;

  /// Re Tr(U_target^H U) with one phase at `setting_rad` and all the others as programmed.
  virtual double overlap(PhaseShifter shifter, double setting_rad) = 0;
};

/// A bench that answers from partial products of the chip's mesh: cheapest when the columns are
/// visited in propagation order.
class SimulatedBench final : public Bench {
 public:
  /// Args: chip, the mesh with `programmed` on it; ideal, U_target.
  SimulatedBench(const MeshState& chip, MeshProgram programmed, Eigen::MatrixXcd ideal);

  void set(PhaseShifter shifter, double setting_rad) override;
  Eigen::MatrixXcd probe(std::size_t mzi, const Monitor& monitor,
                         const Eigen::VectorXcd& input) override;
  double overlap(PhaseShifter shifter, double setting_rad) override;

 private:
  /// One column of the compiled mesh.
  struct Stage {
    Eigen::Index first_mode{};
    std::size_t first_transfer{};
    std::size_t count{};
  };
  /// Where an MZI sits in the compiled mesh.
  struct Place {
    std::size_t stage{};
    std::size_t transfer{};
    Eigen::Index mode{};
  };
  struct Phases {
    double theta_rad{};
    double phi_rad{};
  };

  void find_places(const MeshState& chip);
  void find_entry_factors(const MeshState& chip);
  std::size_t stage_of(PhaseShifter shifter) const;
  Phases phases_with(PhaseShifter shifter, double setting_rad) const;
  Eigen::Matrix2cd transfer(std::size_t mzi, Phases phases) const;
  std::complex<double> output_with(std::size_t mode, double setting_rad) const;
  Eigen::Matrix2cd switched(const Monitor& monitor) const;
  Eigen::VectorXcd modulation(const Monitor& monitor, const Eigen::MatrixXcd& fields) const;
  void apply_stage(std::size_t stage, Eigen::MatrixXcd& fields) const;
  void append_stage(std::size_t stage, Eigen::MatrixXcd& product) const;
  void remove_stage(std::size_t stage, Eigen::MatrixXcd& product) const;
  void return_to(std::size_t stage);
  void enter(std::size_t stage);
  void close_loop_at(std::size_t stage);
  void start_loop();
  void step_loop();
  double closed_loop() const;
  double overlap_change(PhaseShifter shifter, double setting_rad) const;

  MeshState unprogrammed_;  ///< the chip with all phases programmed to zero
  MeshProgram programmed_;
  Eigen::MatrixXcd ideal_;
  std::vector<Stage> stages_;
  std::vector<Place> places_;                ///< per MZI
  std::vector<Eigen::Vector2cd> entry_;      ///< per MZI: factors compiled into its inputs
  std::vector<Eigen::Matrix2cd> transfers_;  ///< flat order of the compiled mesh
  Eigen::VectorXcd output_;                  ///< per mode: the screen with its losses
  Eigen::MatrixXcd entering_;                ///< product of the stages before `entering_stage_`
  std::size_t entering_stage_ = 0;
  Eigen::MatrixXcd loop_;    ///< (stages before) U_target^H (output screen) (stages behind)
  double loop_overlap_ = 0;  ///< overlap of the chip as it is programmed
  std::optional<std::size_t> loop_stage_;  ///< the stage left out of `loop_`; none: not valid
};

}  // namespace optinc
