// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "noise/combiner_errors.hpp"
#include "solver/backend/backend.hpp"
#include "solver/cost/collective.hpp"
#include "solver/gradient/sampling.hpp"
#include "solver/gradient/synthetic.hpp"
#include "solver/onn/analytic.hpp"
#include "solver/onn/mapping.hpp"
#include "solver/onn/training/constraint.hpp"
#include "solver/optinc/cascade_format.hpp"
#include "solver/optinc/chip.hpp"
#include "solver/optinc/code.hpp"
#include "solver/optinc/receiver.hpp"

namespace optinc {

/// Names of an enumeration as they stand in files, configurations and options, in the order of
/// the documentation.
template <class Enum>
struct EnumNames;

template <>
struct EnumNames<Rounding> {
  static constexpr std::array<std::pair<Rounding, std::string_view>, 3> table{
      {{Rounding::half_up, "half_up"},
       {Rounding::half_even, "half_even"},
       {Rounding::floor, "floor"}}};
};

template <>
struct EnumNames<SyntheticKind> {
  static constexpr std::array<std::pair<SyntheticKind, std::string_view>, 3> table{
      {{SyntheticKind::gaussian, "gaussian"},
       {SyntheticKind::laplace, "laplace"},
       {SyntheticKind::student_t, "student_t"}}};
};

template <>
struct EnumNames<Activation> {
  static constexpr std::array<std::pair<Activation, std::string_view>, 3> table{
      {{Activation::relu, "homodyne_relu"},
       {Activation::clipped_relu, "clipped_relu"},
       {Activation::identity, "identity"}}};
};

template <>
struct EnumNames<AnalyticForm> {
  static constexpr std::array<std::pair<AnalyticForm, std::string_view>, 2> table{
      {{AnalyticForm::ripple, "ripple"}, {AnalyticForm::pipeline, "pipeline"}}};
};

template <>
struct EnumNames<CascadeKind> {
  static constexpr std::array<std::pair<CascadeKind, std::string_view>, 3> table{
      {{CascadeKind::none, "none"},
       {CascadeKind::fraction, "fraction"},
       {CascadeKind::naive, "naive"}}};
};

template <>
struct EnumNames<LayerGain> {
  static constexpr std::array<std::pair<LayerGain, std::string_view>, 2> table{
      {{LayerGain::nominal, "nominal"}, {LayerGain::none, "none"}}};
};

template <>
struct EnumNames<Mapping> {
  static constexpr std::array<std::pair<Mapping, std::string_view>, 3> table{
      {{Mapping::svd, "svd"},
       {Mapping::segmented, "segmented"},
       {Mapping::real_part, "real_part"}}};
};

template <>
struct EnumNames<BlockConstraint> {
  static constexpr std::array<std::pair<BlockConstraint, std::string_view>, 2> table{
      {{BlockConstraint::retraction, "retraction"}, {BlockConstraint::projection, "projection"}}};
};

/// Topologies that have a name; a list of columns has none.
template <>
struct EnumNames<Topology::Kind> {
  static constexpr std::array<std::pair<Topology::Kind, std::string_view>, 2> table{
      {{Topology::Kind::clements, "clements"}, {Topology::Kind::reck, "reck"}}};
};

template <>
struct EnumNames<MziKind> {
  static constexpr std::array<std::pair<MziKind, std::string_view>, 3> table{
      {{MziKind::standard, "standard"},
       {MziKind::three_splitter, "three_splitter"},
       {MziKind::crossing, "crossing"}}};
};

template <>
struct EnumNames<LossPlacement> {
  static constexpr std::array<std::pair<LossPlacement, std::string_view>, 2> table{
      {{LossPlacement::mzi_only, "mzi_only"}, {LossPlacement::balanced, "balanced"}}};
};

template <>
struct EnumNames<ThermalCrosstalk::Model> {
  static constexpr std::array<std::pair<ThermalCrosstalk::Model, std::string_view>, 2> table{
      {{ThermalCrosstalk::Model::exponential, "exponential"},
       {ThermalCrosstalk::Model::table, "table"}}};
};

template <>
struct EnumNames<Ablation::Meshes> {
  static constexpr std::array<std::pair<Ablation::Meshes, std::string_view>, 3> table{
      {{Ablation::Meshes::all, "all"},
       {Ablation::Meshes::input, "input"},
       {Ablation::Meshes::output, "output"}}};
};

template <>
struct EnumNames<MeshCalibration> {
  static constexpr std::array<std::pair<MeshCalibration, std::string_view>, 3> table{
      {{MeshCalibration::none, "none"},
       {MeshCalibration::local, "local"},
       {MeshCalibration::self, "self"}}};
};

template <>
struct EnumNames<CombinerMode> {
  static constexpr std::array<std::pair<CombinerMode, std::string_view>, 2> table{
      {{CombinerMode::coherent, "coherent"}, {CombinerMode::incoherent, "incoherent"}}};
};

template <>
struct EnumNames<Evaluation> {
  static constexpr std::array<std::pair<Evaluation, std::string_view>, 3> table{
      {{Evaluation::codes, "codes"},
       {Evaluation::sampled, "sampled"},
       {Evaluation::tuples, "tuples"}}};
};

template <>
struct EnumNames<Calibration> {
  static constexpr std::array<std::pair<Calibration, std::string_view>, 3> table{
      {{Calibration::none, "none"}, {Calibration::gain, "gain"}, {Calibration::affine, "affine"}}};
};

template <>
struct EnumNames<Collective> {
  static constexpr std::array<std::pair<Collective, std::string_view>, 7> table{
      {{Collective::ring, "ring"},
       {Collective::halving_doubling, "halving_doubling"},
       {Collective::double_tree, "double_tree"},
       {Collective::parameter_server, "parameter_server"},
       {Collective::in_network, "in_network"},
       {Collective::optinc, "optinc"},
       {Collective::optinc_cascade, "optinc_cascade"}}};
};

template <>
struct EnumNames<Precision> {
  static constexpr std::array<std::pair<Precision, std::string_view>, 2> table{
      {{Precision::f32, "f32"}, {Precision::f64, "f64"}}};
};

template <class Enum>
std::string enum_name(Enum value) {
  for (const auto& [entry, name] : EnumNames<Enum>::table) {
    if (entry == value) return std::string(name);
  }
  return "?";
}

template <class Enum>
std::optional<Enum> parse_enum(std::string_view text) {
  for (const auto& [entry, name] : EnumNames<Enum>::table) {
    if (name == text) return entry;
  }
  return std::nullopt;
}

/// All names, for messages and option checks.
template <class Enum>
std::vector<std::string> enum_names() {
  std::vector<std::string> names;
  for (const auto& [entry, name] : EnumNames<Enum>::table) names.emplace_back(name);
  return names;
}

}  // namespace optinc
