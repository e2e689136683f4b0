// SPDX-License-Identifier: Apache-2.0
#include "solver/mesh/bench.hpp"

#include <cmath>

#include <Eigen/LU>

#include "solver/kernel/compiled_mesh.hpp"
#include "solver/mesh/correction.hpp"
#include "solver/mesh/transfer.hpp"

namespace optinc {

namespace {

using Amplitude = std::complex<double>;
using Index = Eigen::Index;
using Kind = PhaseShifter::Kind;

/// The part of a chip's mesh that is one column, with a plain output screen.
MeshState single_column(const MeshState& frame, const MeshState& chip, std::size_t column,
                        std::size_t first_mzi) {
  MeshState part = frame;
  part.topology.columns = {chip.topology.columns[column]};
  const auto first = chip.mzis.begin() + static_cast<std::ptrdiff_t>(first_mzi);
  part.mzis.assign(first, first + chip.topology.columns[column].mzi_count);
  return part;
}

}  // namespace

double& phase_of(MeshProgram& program, PhaseShifter shifter) {
  switch (shifter.kind) {
    case Kind::theta:
      return program.theta_rad[shifter.index];
    case Kind::phi:
      return program.phi_rad[shifter.index];
    case Kind::output:
      break;
  }
  return program.output_phase_rad[shifter.index];
}

SimulatedBench::SimulatedBench(const MeshState& chip, MeshProgram programmed,
                               Eigen::MatrixXcd ideal)
    : unprogrammed_(reprogrammed(chip, programmed, without_phases(programmed))),
      programmed_(std::move(programmed)),
      ideal_(std::move(ideal)) {
  const CompiledMesh mesh = compile(chip);
  const std::vector<std::size_t> starts = column_starts(mesh.columns);
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const MeshColumn& column = mesh.columns[i];
    stages_.push_back({column.first_mode, starts[i], static_cast<std::size_t>(column.mzi_count)});
  }
  for (const Transfer2x2<double>& entries : mesh.transfers)
    transfers_.push_back(to_matrix(entries));
  output_.resize(static_cast<Index>(mesh.output.size()));
  for (Index mode = 0; mode < output_.size(); ++mode) {
    const Complex<double> factor = mesh.output[static_cast<std::size_t>(mode)];
    output_(mode) = Amplitude(factor.re, factor.im);
  }
  find_places(chip);
  find_entry_factors(chip);
  entering_ = Eigen::MatrixXcd::Identity(ideal_.rows(), ideal_.rows());
}

/// A column of the topology becomes one or more of the compiled mesh, its MZIs the first of them.
void SimulatedBench::find_places(const MeshState& chip) {
  MeshState frame = chip;
  frame.mzis.clear();
  std::size_t stage = 0;
  for (std::size_t column = 0; column < chip.topology.columns.size(); ++column) {
    const std::size_t first_mzi = places_.size();
    const auto count = static_cast<std::size_t>(chip.topology.columns[column].mzi_count);
    for (std::size_t i = 0; i < count; ++i) {
      places_.push_back({stage, stages_[stage].first_transfer + i,
                         stages_[stage].first_mode + 2 * static_cast<Index>(i)});
    }
    stage += compile(single_column(frame, chip, column, first_mzi)).columns.size();
  }
}

void SimulatedBench::find_entry_factors(const MeshState& chip) {
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const Eigen::Matrix2cd bare = mzi_matrix(chip.mzis[i]);
    const Eigen::Matrix2cd& whole = transfers_[places_[i].transfer];
    const auto factor = [&](Index input) {
      const double power = bare.col(input).squaredNorm();
      return power > 0 ? bare.col(input).dot(whole.col(input)) / power : Amplitude(0);
    };
    entry_.emplace_back(factor(0), factor(1));
  }
}

std::size_t SimulatedBench::stage_of(PhaseShifter shifter) const {
  return shifter.kind == Kind::output ? stages_.size() : places_[shifter.index].stage;
}

SimulatedBench::Phases SimulatedBench::phases_with(PhaseShifter shifter, double setting_rad) const {
  Phases phases{programmed_.theta_rad[shifter.index], programmed_.phi_rad[shifter.index]};
  (shifter.kind == Kind::theta ? phases.theta_rad : phases.phi_rad) = setting_rad;
  return phases;
}

Eigen::Matrix2cd SimulatedBench::transfer(std::size_t mzi, Phases phases) const {
  MziState<double> state = unprogrammed_.mzis[mzi];
  state.theta_rad += phases.theta_rad;
  state.phi_rad += phases.phi_rad;
  return mzi_matrix(state) * entry_[mzi].asDiagonal();
}

Amplitude SimulatedBench::output_with(std::size_t mode, double setting_rad) const {
  return output_(static_cast<Index>(mode)) *
         std::polar(1.0, setting_rad - programmed_.output_phase_rad[mode]);
}

void SimulatedBench::set(PhaseShifter shifter, double setting_rad) {
  const std::size_t stage = stage_of(shifter);
  if (stage == loop_stage_) {
    loop_overlap_ += overlap_change(shifter, setting_rad);
  } else {
    loop_stage_.reset();
  }
  if (shifter.kind == Kind::output) {
    output_(static_cast<Index>(shifter.index)) = output_with(shifter.index, setting_rad);
  } else {
    transfers_[places_[shifter.index].transfer] =
        transfer(shifter.index, phases_with(shifter, setting_rad));
  }
  phase_of(programmed_, shifter) = setting_rad;
  return_to(stage);
}

Eigen::MatrixXcd SimulatedBench::probe(std::size_t mzi, const Monitor& monitor,
                                       const Eigen::VectorXcd& input) {
  const Place& place = places_[mzi];
  enter(place.stage);
  const Eigen::MatrixXcd arriving = entering_ * input;
  Eigen::MatrixXcd responses;
  for (std::size_t i = 0; i < probe_settings_rad.size(); ++i) {
    const auto& [theta_rad, phi_rad] = probe_settings_rad[i];
    Eigen::MatrixXcd fields = arriving;
    apply_stage(place.stage, fields);
    fields.middleRows<2>(place.mode) =
        transfer(mzi, {theta_rad, phi_rad}) * arriving.middleRows<2>(place.mode);
    for (std::size_t s = place.stage + 1; s < stage_of(monitor.shifter); ++s)
      apply_stage(s, fields);
    const Eigen::VectorXcd response = modulation(monitor, fields);
    if (i == 0) responses.resize(response.size(), probe_settings_rad.size());
    responses.col(static_cast<Index>(i)) = response;
  }
  return responses;
}

/// Fields right behind the monitor, whose further way does not depend on what is ahead of it.
Eigen::VectorXcd SimulatedBench::modulation(const Monitor& monitor,
                                            const Eigen::MatrixXcd& fields) const {
  const std::size_t index = monitor.shifter.index;
  if (monitor.shifter.kind == Kind::output) {
    const Amplitude change = output_with(index, 0) - output_with(index, std::numbers::pi);
    return change * fields.row(static_cast<Index>(index));
  }
  return switched(monitor) * fields.middleRows<2>(places_[index].mode);
}

/// Change of the monitor's MZI when it is switched.
Eigen::Matrix2cd SimulatedBench::switched(const Monitor& monitor) const {
  const PhaseShifter shifter = monitor.shifter;
  const auto change = [&](Phases phases) -> Eigen::Matrix2cd {
    double& switched_rad = shifter.kind == Kind::theta ? phases.theta_rad : phases.phi_rad;
    switched_rad = 0;
    const Eigen::Matrix2cd off = transfer(shifter.index, phases);
    switched_rad = std::numbers::pi;
    return off - transfer(shifter.index, phases);
  };
  if (!monitor.averaged) return change(phases_with(shifter, 0));
  return (change(phases_with(*monitor.averaged, 0)) +
          change(phases_with(*monitor.averaged, std::numbers::pi))) /
         2;
}

double SimulatedBench::overlap(PhaseShifter shifter, double setting_rad) {
  close_loop_at(stage_of(shifter));
  return loop_overlap_ + overlap_change(shifter, setting_rad);
}

/// What moving one phase of the stage left out of the loop adds to the overlap.
double SimulatedBench::overlap_change(PhaseShifter shifter, double setting_rad) const {
  if (shifter.kind == Kind::output) {
    const auto mode = static_cast<Index>(shifter.index);
    const Amplitude change = output_with(shifter.index, setting_rad) - output_(mode);
    return (change * loop_(mode, mode)).real();
  }
  const Place& place = places_[shifter.index];
  const Eigen::Matrix2cd change =
      transfer(shifter.index, phases_with(shifter, setting_rad)) - transfers_[place.transfer];
  return (loop_.block<2, 2>(place.mode, place.mode) * change).trace().real();
}

/// Re Tr of the loop with the stage that was left out.
double SimulatedBench::closed_loop() const {
  if (loop_stage_ == stages_.size()) {
    return (output_.array() * loop_.diagonal().array()).sum().real();
  }
  Eigen::MatrixXcd closed = loop_;
  append_stage(*loop_stage_, closed);
  return closed.trace().real();
}

void SimulatedBench::apply_stage(std::size_t stage, Eigen::MatrixXcd& fields) const {
  const Stage& column = stages_[stage];
  for (std::size_t i = 0; i < column.count; ++i) {
    auto rows = fields.middleRows<2>(column.first_mode + 2 * static_cast<Index>(i));
    rows = (transfers_[column.first_transfer + i] * rows).eval();
  }
}

/// product <- product * stage
void SimulatedBench::append_stage(std::size_t stage, Eigen::MatrixXcd& product) const {
  const Stage& column = stages_[stage];
  for (std::size_t i = 0; i < column.count; ++i) {
    auto columns = product.middleCols<2>(column.first_mode + 2 * static_cast<Index>(i));
    columns = (columns * transfers_[column.first_transfer + i]).eval();
  }
}

/// product <- product * stage^-1; not finite where an arm transmits nothing
void SimulatedBench::remove_stage(std::size_t stage, Eigen::MatrixXcd& product) const {
  const Stage& column = stages_[stage];
  for (std::size_t i = 0; i < column.count; ++i) {
    auto columns = product.middleCols<2>(column.first_mode + 2 * static_cast<Index>(i));
    columns = (columns * transfers_[column.first_transfer + i].inverse()).eval();
  }
}

/// Drops the product of entered stages when `stage` is among them.
void SimulatedBench::return_to(std::size_t stage) {
  if (stage >= entering_stage_) return;
  entering_.setIdentity();
  entering_stage_ = 0;
}

void SimulatedBench::enter(std::size_t stage) {
  return_to(stage);
  for (; entering_stage_ < stage; ++entering_stage_) apply_stage(entering_stage_, entering_);
}

void SimulatedBench::start_loop() {
  loop_ = ideal_.adjoint();
  if (!stages_.empty()) loop_ *= output_.asDiagonal();
  for (std::size_t stage = stages_.size(); stage-- > 1;) append_stage(stage, loop_);
  loop_stage_ = 0;
  loop_overlap_ = closed_loop();
}

void SimulatedBench::close_loop_at(std::size_t stage) {
  if (!loop_stage_ || stage < *loop_stage_) start_loop();
  while (*loop_stage_ < stage) step_loop();
}

/// Leaves the next stage (at last the output screen) out of the loop instead of the present one.
void SimulatedBench::step_loop() {
  apply_stage(*loop_stage_, loop_);
  ++*loop_stage_;
  if (*loop_stage_ < stages_.size()) {
    remove_stage(*loop_stage_, loop_);
  } else {
    loop_ *= output_.cwiseInverse().asDiagonal();
  }
  loop_overlap_ = closed_loop();
}

}  // namespace optinc
