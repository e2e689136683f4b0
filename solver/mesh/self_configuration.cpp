// SPDX-License-Identifier: Apache-2.0
#include "solver/mesh/self_configuration.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <numbers>
#include <utility>
#include <vector>

#include "devices/angle.hpp"
#include "solver/error.hpp"
#include "solver/mesh/bench.hpp"
#include "solver/mesh/transfer.hpp"

namespace optinc {

namespace {

using Amplitude = std::complex<double>;
using Index = Eigen::Index;
using Kind = PhaseShifter::Kind;

/// A chip behind a callback: every answer is a difference or a sum of measured fields.
class MeasuredBench final : public Bench {
 public:
  MeasuredBench(const MeasureFields& measure, MeshProgram programmed, Eigen::MatrixXcd ideal)
      : measure_(measure), programmed_(std::move(programmed)), ideal_(std::move(ideal)) {}

  void set(PhaseShifter shifter, double setting_rad) override {
    phase_of(programmed_, shifter) = setting_rad;
  }

  Eigen::MatrixXcd probe(std::size_t mzi, const Monitor& monitor,
                         const Eigen::VectorXcd& input) override {
    Eigen::MatrixXcd responses(input.size(), probe_settings_rad.size());
    MeshProgram program = programmed_;
    for (std::size_t i = 0; i < probe_settings_rad.size(); ++i) {
      program.theta_rad[mzi] = probe_settings_rad[i].first;
      program.phi_rad[mzi] = probe_settings_rad[i].second;
      responses.col(static_cast<Index>(i)) = modulation(program, monitor, input);
    }
    return responses;
  }

  double overlap(PhaseShifter shifter, double setting_rad) override {
    MeshProgram program = programmed_;
    phase_of(program, shifter) = setting_rad;
    const Index modes = ideal_.rows();
    const Eigen::MatrixXcd actual = measure_(program, Eigen::MatrixXcd::Identity(modes, modes));
    return ideal_.conjugate().cwiseProduct(actual).sum().real();
  }

 private:
  Eigen::VectorXcd modulation(MeshProgram program, const Monitor& monitor,
                              const Eigen::VectorXcd& input) const {
    const auto change = [&] {
      phase_of(program, monitor.shifter) = 0;
      const Eigen::VectorXcd off = measure_(program, input);
      phase_of(program, monitor.shifter) = std::numbers::pi;
      return Eigen::VectorXcd(off - measure_(program, input));
    };
    if (!monitor.averaged) return change();
    phase_of(program, *monitor.averaged) = 0;
    const Eigen::VectorXcd first = change();
    phase_of(program, *monitor.averaged) = std::numbers::pi;
    return (first + change()) / 2;
  }

  const MeasureFields& measure_;
  MeshProgram programmed_;
  Eigen::MatrixXcd ideal_;
};

/// Where the light of one MZI output goes next.
struct Exits {
  Monitor upper;
  Monitor lower;
};

/// The monitors of all MZIs, found from the outputs backwards.
std::vector<Exits> find_exits(const Topology& topology) {
  std::vector<Monitor> next;
  for (int mode = 0; mode < topology.modes; ++mode) {
    next.push_back({{Kind::output, static_cast<std::size_t>(mode)}, {}});
  }
  std::size_t mzi = topology.mzi_count();
  std::vector<Exits> exits(mzi);
  for (auto column = topology.columns.rbegin(); column != topology.columns.rend(); ++column) {
    for (int i = column->mzi_count; i-- > 0;) {
      const int mode = column->first_mode + 2 * i;
      const auto upper = static_cast<std::size_t>(mode);
      --mzi;
      exits[mzi] = {next[upper], next[upper + 1]};
      next[upper] = {{Kind::phi, mzi}, {}};
      next[upper + 1] = {{Kind::theta, mzi}, PhaseShifter{Kind::phi, mzi}};
    }
  }
  return exits;
}

/// Light at a monitor as a function of an MZI's phases:
/// (constant + theta e^{i theta}) + e^{i phi} (phi + both e^{i theta}).
struct LightAtMonitor {
  Amplitude constant, theta, phi, both;
};

LightAtMonitor light_at_monitor(const Eigen::MatrixXcd& responses) {
  Index brightest = 0;
  responses.colwise().squaredNorm().maxCoeff(&brightest);
  const Eigen::VectorXcd direction = responses.col(brightest).normalized();
  const Eigen::RowVector4cd light = direction.adjoint() * responses;
  return {.constant = (light(0) + light(1) + light(2) + light(3)) / 4.0,
          .theta = (light(0) - light(1) + light(2) - light(3)) / 4.0,
          .phi = (light(0) + light(1) - light(2) - light(3)) / 4.0,
          .both = (light(0) - light(1) - light(2) + light(3)) / 4.0};
}

struct NullSetting {
  double theta_rad{};
  double phi_rad{};
  bool found{};  ///< whether the light vanishes there
};

/// The phases with the least light. It vanishes for some phi where both brackets are equally
/// bright, |constant + theta z| = |phi + both z|, which is Re(slope z) = level for z = e^{i theta}.
/// Of two nulls the one with theta closer to the present setting is taken.
NullSetting darkest(const LightAtMonitor& light, double theta_rad, double phi_rad) {
  NullSetting setting{.theta_rad = theta_rad, .phi_rad = phi_rad, .found = true};
  const Amplitude slope =
      std::conj(light.constant) * light.theta - std::conj(light.phi) * light.both;
  const double level = (std::norm(light.phi) + std::norm(light.both) - std::norm(light.constant) -
                        std::norm(light.theta)) /
                       2;
  constexpr double rounding = 1e-12;
  const double reach = std::abs(slope);
  setting.found = std::abs(level) <= reach * (1 + rounding);
  if (reach > 0) {
    const double swing_rad = std::acos(std::clamp(level / reach, -1.0, 1.0));
    const double first_rad = swing_rad - std::arg(slope);
    const double second_rad = -swing_rad - std::arg(slope);
    const auto distance = [&](double angle_rad) {
      return std::abs(std::remainder(angle_rad - theta_rad, 2 * std::numbers::pi));
    };
    setting.theta_rad =
        wrap_rad(distance(first_rad) <= distance(second_rad) ? first_rad : second_rad);
  }
  const Amplitude internal = std::polar(1.0, setting.theta_rad);
  const Amplitude contrast =
      -(light.constant + light.theta * internal) * std::conj(light.phi + light.both * internal);
  if (std::abs(contrast) > amplitude_residue * reach)
    setting.phi_rad = wrap_rad(std::arg(contrast));
  return setting;
}

/// Self-configuration of one mesh on a bench.
class Controller {
 public:
  Controller(const MeshProgram& target, Bench& bench)
      : target_(target), bench_(bench), program_(target) {}

  /// Part 1; returns the number of MZIs that found no null.
  std::size_t null_all() {
    const std::vector<Exits> exits = find_exits(target_.topology);
    const MeshState ideal = ideal_state(target_);
    const Index modes = target_.topology.modes;
    Eigen::MatrixXcd gathered = Eigen::MatrixXcd::Identity(modes, modes);
    std::size_t mzi = 0;
    std::size_t failures = 0;
    for (const MeshColumn& column : target_.topology.columns) {
      for (int i = 0; i < column.mzi_count; ++i) {
        auto rows = gathered.middleRows<2>(column.first_mode + 2 * i);
        rows = (mzi_matrix(ideal.mzis[mzi]) * rows).eval();
        if (!null_one(mzi, exits[mzi], rows)) ++failures;
        ++mzi;
      }
    }
    return failures;
  }

  /// Part 2.
  void raise_overlap(const SelfConfigurationLimits& limits) {
    double overlap = tune_screen();
    const auto perfect = static_cast<double>(target_.topology.modes);
    for (int sweep = 0; sweep < limits.most_sweeps; ++sweep) {
      for (std::size_t mzi = 0; mzi < program_.theta_rad.size(); ++mzi) {
        tune({Kind::theta, mzi});
        tune({Kind::phi, mzi});
      }
      const double gain = tune_screen() - overlap;
      if (!(gain > limits.stall * (perfect - overlap))) return;
      overlap += gain;
    }
  }

  MeshProgram program() && { return std::move(program_); }

 private:
  /// Sends in what the ideal mesh would gather in one output of the MZI and nulls the other.
  bool null_one(std::size_t mzi, const Exits& exits, const Eigen::MatrixXcd& gathered) {
    const bool null_lower = !exits.lower.averaged || exits.upper.averaged;
    const Eigen::MatrixXcd responses = bench_.probe(mzi, null_lower ? exits.lower : exits.upper,
                                                    gathered.row(null_lower ? 0 : 1).adjoint());
    const NullSetting setting =
        darkest(light_at_monitor(responses), program_.theta_rad[mzi], program_.phi_rad[mzi]);
    set({Kind::theta, mzi}, setting.theta_rad);
    set({Kind::phi, mzi}, setting.phi_rad);
    return setting.found;
  }

  void set(PhaseShifter shifter, double setting_rad) {
    phase_of(program_, shifter) = setting_rad;
    bench_.set(shifter, setting_rad);
  }

  /// Sets a phase to the maximum of the overlap, a sinusoid known from three settings; returns it.
  double tune(PhaseShifter shifter) {
    constexpr std::size_t settings = 3;
    double mean = 0;
    Amplitude swing = 0;
    for (std::size_t i = 0; i < settings; ++i) {
      const double setting_rad = 2 * std::numbers::pi * static_cast<double>(i) / settings;
      const double overlap = bench_.overlap(shifter, setting_rad);
      mean += overlap / settings;
      swing += overlap * std::polar(2.0 / settings, setting_rad);
    }
    if (std::abs(swing) > amplitude_residue * static_cast<double>(target_.topology.modes)) {
      set(shifter, wrap_rad(std::arg(swing)));
    }
    return mean + std::abs(swing);
  }

  double tune_screen() {
    double overlap = 0;
    for (std::size_t mode = 0; mode < program_.output_phase_rad.size(); ++mode) {
      overlap = tune({Kind::output, mode});
    }
    return overlap;
  }

  const MeshProgram& target_;
  Bench& bench_;
  MeshProgram program_;
};

struct Configured {
  MeshProgram program;
  std::size_t without_null{};
};

Configured configure(const MeshProgram& target, Bench& bench,
                     const SelfConfigurationLimits& limits) {
  Controller controller(target, bench);
  const bool can_null = target.topology.mzi_kind != MziKind::three_splitter;
  const std::size_t without_null = can_null ? controller.null_all() : 0;
  controller.raise_overlap(limits);
  return {std::move(controller).program(), without_null};
}

}  // namespace

Correction self_configure(const MeshProgram& target, const MeasureFields& measure,
                          const Eigen::MatrixXcd& ideal, const SelfConfigurationLimits& limits) {
  require_same_shape(target, ideal_state(target));
  MeasuredBench bench(measure, target, ideal);
  Configured configured = configure(target, bench, limits);
  const Eigen::MatrixXcd inputs = Eigen::MatrixXcd::Identity(ideal.rows(), ideal.rows());
  return better_of(
      target, std::move(configured.program), configured.without_null,
      [&](const MeshProgram& program) { return measure(program, inputs); }, ideal);
}

Correction self_configure(const MeshProgram& target, const MeshState& chip,
                          const Eigen::MatrixXcd& ideal, const Backend& backend,
                          const SelfConfigurationLimits& limits) {
  require_same_shape(target, chip);
  SimulatedBench bench(chip, target, ideal);
  Configured configured = configure(target, bench, limits);
  return better_of(
      target, std::move(configured.program), configured.without_null,
      [&](const MeshProgram& program) {
        return backend.compose(reprogrammed(chip, target, program));
      },
      ideal);
}

}  // namespace optinc
