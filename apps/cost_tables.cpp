// SPDX-License-Identifier: Apache-2.0
#include "apps/cost_tables.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "solver/names.hpp"

namespace optinc {

namespace {

using Rows = std::vector<std::vector<TableCell>>;

std::vector<CsvColumn> structure_columns() {
  return {{"mapping", "", "how weights become meshes"},
          {"design", "", "unit; cascade_unit: with the layers that a cascade adds; cascade: all"},
          {"units", "", "units of the design"},
          {"mzi_count", "", "MZIs, attenuators included"},
          {"area_ratio", "", "over the MZIs of the same design mapped as svd"},
          {"overhead", "", "share of MZIs above as many plain units"},
          {"depth", "", "columns of MZIs through all layers of a unit"},
          {"worst_loss_db", "dB", "largest insertion loss of a layer"}};
}

std::vector<CsvColumn> layer_columns() {
  return {{"mapping", "", "how weights become meshes"},
          {"layer", "", "from 1"},
          {"inputs", "", "columns of the weight matrix"},
          {"outputs", "", "its rows"},
          {"modes", "", "of the layer's largest mesh"},
          {"block_rows", "", "copies that an input is split into"},
          {"block_columns", "", "block outputs summed into an output"},
          {"mzi_count", "", "MZIs, attenuators included"},
          {"depth", "", "columns of MZIs on the longest path"},
          {"split_db", "dB", "split over the block rows"},
          {"mzi_db", "dB", "loss of the MZIs on that path"},
          {"waveguide_db", "dB", "loss of the waveguides on that path"},
          {"facet_db", "dB", "in and out of the chip"},
          {"sum_db", "dB", "sum of the block columns"},
          {"loss_db", "dB", "sum of these"},
          {"detected_dbm", "dBm", "full-scale power at a detector"},
          {"snr_db", "dB", "full scale over noise"},
          {"margin_db", "dB",
           "power above what a full scale of three digits needs for required_ser; empty: no power "
           "suffices"}};
}

std::vector<CsvColumn> link_columns() {
  return {{"mapping", "", "how weights become meshes; empty: of no influence"},
          {"link", "", "layer 1, 2, ..., or output: from its modulator to the servers"},
          {"stage", "", "part of the link"},
          {"change_db", "dB", "gain or loss of that part"},
          {"power_dbm", "dBm", "behind it: full scale in a layer, highest level at the output"},
          {"required_dbm", "dBm", "power there that required_ser needs"},
          {"margin_db", "dB", "power above that; empty: no power suffices"}};
}

std::vector<CsvColumn> slicer_columns() {
  return {{"decision", "", "between two digits; all: the slicer"},
          {"spacing_ua", "uA", "between their currents"},
          {"distance_below", "", "threshold minus lower level, in noise of that level"},
          {"distance_above", "", "upper level minus threshold, in noise of that level"},
          {"symbol_error_rate", "", "share of symbols decided wrongly here"},
          {"required_ser", "", "rate that the margin refers to"},
          {"margin_db", "dB", "optical power above that need; empty: no power suffices"}};
}

std::vector<CsvColumn> noise_columns() {
  return {{"mapping", "", "how weights become meshes; empty: of no influence"},
          {"detector", "", "layer 1, 2, ... at full scale, or slicer at the highest level"},
          {"current_ua", "uA", "signal"},
          {"shot_ua", "uA", "noise, root mean square"},
          {"dark_ua", "uA", "shot noise of the dark current"},
          {"thermal_ua", "uA", "of the amplifier"},
          {"intensity_ua", "uA", "of the laser"},
          {"converter_ua", "uA", "rounding of the slicer's converter"},
          {"total_ua", "uA", "all together"}};
}

std::vector<CsvColumn> traffic_columns() {
  return {{"servers", "", "that average their gradients"},
          {"scheme", "", "how gradients are averaged"},
          {"traffic_ratio", "", "sent by the busiest server over the gradient size"},
          {"serial_ratio", "", "transferred one after the other over the gradient size"},
          {"added_ratio", "", "added up by the busiest machine over the gradient size"},
          {"messages", "", "between machines, one after the other"},
          {"switch_passes", "", "ways to or from switches that add"},
          {"unit_passes", "", "optical units one after the other"}};
}

std::vector<CsvColumn> step_columns() {
  return {{"workload", "", "model"},
          {"parameters", "", "elements of its gradient"},
          {"servers", "", "that average their gradients"},
          {"batch", "", "samples per server"},
          {"bits", "", "per gradient element"},
          {"scheme", "", "how gradients are averaged"},
          {"traffic_ratio", "", "sent by the busiest server over the gradient size"},
          {"communication_s", "s", "averaging alone"},
          {"compute_s", "s", "forward and backward pass"},
          {"step_time_s", "s", "compute and the communication that it does not hide"},
          {"reduction", "", "of the step time against ring at baseline bits"},
          {"reduction_same_bits", "", "of the step time against ring at the same bits"}};
}

std::vector<CsvColumn> reduction_columns() {
  return {{"workload", "", "model"},
          {"servers", "", "that average their gradients"},
          {"ring_bits", "", "per gradient element of the ring"},
          {"bits", "", "per gradient element of OptINC"},
          {"reduction", "", "of the step time by OptINC that is asked for"},
          {"largest_reduction", "", "that of a step without compute"},
          {"compute_s", "s", "compute time at which the reduction is reached; empty: never"},
          {"batch", "", "samples per server that take so long; below 1: no whole sample"},
          {"sample_flops", "", "of forward and backward pass"}};
}

std::vector<LayerShape> extended_shapes(const CostQuestion& question) {
  std::vector<LayerShape> shapes = question.shapes;
  shapes.insert(shapes.end(), question.cascade_layers.begin(), question.cascade_layers.end());
  return shapes;
}

UnitStructure plain_unit(const CostQuestion& question, const MappingPlan& plan) {
  return unit_structure(question.shapes, plan.layers);
}

UnitStructure extended_unit(const CostQuestion& question, const MappingPlan& plan) {
  std::vector<MappingOptions> options = plan.layers;
  options.resize(options.size() + question.cascade_layers.size(), plan.added);
  return unit_structure(extended_shapes(question), options);
}

std::int64_t svd_count(const std::vector<LayerShape>& shapes, const MappingPlan& plan) {
  MappingOptions svd;
  svd.mesh = plan.added.mesh;
  return unit_structure(shapes, std::vector<MappingOptions>(shapes.size(), svd)).mzi_count();
}

double worst_loss_db(const UnitStructure& unit, const LossValues& loss) {
  double worst = 0;
  for (const LayerStructure& layer : unit.layers) {
    worst = std::max(worst, layer_loss(layer, loss).total_db());
  }
  return worst;
}

double share(std::int64_t part, std::int64_t whole) {
  return static_cast<double>(part) / static_cast<double>(whole);
}

Rows structure_rows(const CostQuestion& question) {
  Rows rows;
  for (const MappingPlan& plan : question.plans) {
    const UnitStructure plain = plain_unit(question, plan);
    const UnitStructure extended = extended_unit(question, plan);
    const double overhead = share(extended.mzi_count(), plain.mzi_count()) - 1;
    const double ratio = share(extended.mzi_count(), svd_count(extended_shapes(question), plan));
    const LossValues& loss = question.hardware.loss;
    const double worst_db = worst_loss_db(extended, loss);
    // N servers at each of N first-level units, and one unit above them.
    const std::int64_t units = question.servers + 1;
    rows.push_back({plan.name, "unit", std::int64_t{1}, plain.mzi_count(),
                    share(plain.mzi_count(), svd_count(question.shapes, plan)), 0.0, plain.depth(),
                    worst_loss_db(plain, loss)});
    rows.push_back({plan.name, "cascade_unit", std::int64_t{1}, extended.mzi_count(), ratio,
                    overhead, extended.depth(), worst_db});
    rows.push_back({plan.name, "cascade", units, units * extended.mzi_count(), ratio, overhead,
                    extended.depth(), worst_db});
  }
  return rows;
}

LayerLink layer_link(const CostQuestion& question, const UnitStructure& unit, std::size_t index) {
  return layer_link(unit, index, question.servers, question.required_ser, question.hardware.loss,
                    question.hardware.link);
}

OutputLink output_link(const CostQuestion& question) {
  return output_link(question.servers, question.required_ser, question.hardware.loss,
                     question.hardware.link);
}

Rows layer_rows(const CostQuestion& question) {
  Rows rows;
  for (const MappingPlan& plan : question.plans) {
    const UnitStructure unit = plain_unit(question, plan);
    for (std::size_t i = 0; i < unit.layers.size(); ++i) {
      const LayerStructure& layer = unit.layers[i];
      const LayerLoss loss = layer_loss(layer, question.hardware.loss);
      const LayerLink link = layer_link(question, unit, i);
      rows.push_back({plan.name, static_cast<std::int64_t>(i + 1), std::int64_t{layer.shape.inputs},
                      std::int64_t{layer.shape.outputs}, std::int64_t{layer.modes},
                      layer.block_rows, layer.block_columns, layer.mzi_count, layer.depth,
                      loss.split_db, loss.mzi_db, loss.waveguide_db, loss.facet_db, loss.sum_db,
                      loss.total_db(), link.stages.back().power_dbm, link.snr_db, link.margin_db});
    }
  }
  return rows;
}

template <class Link>
void add_stages(const std::string& mapping, const std::string& name, const Link& link, Rows& rows) {
  for (const LinkStage& stage : link.stages) {
    rows.push_back({mapping, name, stage.name, stage.change_db, stage.power_dbm,
                    stage.power_dbm - link.margin_db, link.margin_db});
  }
}

std::string layer_name(std::size_t index) { return fmt::format("layer {}", index + 1); }

Rows link_rows(const CostQuestion& question) {
  Rows rows;
  for (const MappingPlan& plan : question.plans) {
    const UnitStructure unit = plain_unit(question, plan);
    for (std::size_t i = 0; i < unit.layers.size(); ++i) {
      add_stages(plan.name, layer_name(i), layer_link(question, unit, i), rows);
    }
  }
  add_stages("", "output", output_link(question), rows);
  return rows;
}

constexpr double micro = 1e6;

Rows slicer_rows(const CostQuestion& question) {
  const OutputLink link = output_link(question);
  Rows rows;
  for (std::size_t i = 0; i < link.slicer.gaps.size(); ++i) {
    const SlicerGap& gap = link.slicer.gaps[i];
    rows.push_back({fmt::format("{} or {}", i, i + 1), gap.spacing_a * micro, gap.below, gap.above,
                    gap.error_rate, TableCell(), TableCell()});
  }
  rows.push_back({"all", TableCell(), TableCell(), TableCell(), link.slicer.symbol_error_rate,
                  question.required_ser, link.margin_db});
  return rows;
}

std::vector<TableCell> noise_row(const std::string& mapping, const std::string& detector,
                                 double current_a, const CurrentNoise& noise, double converter) {
  const auto micro_of = [](double variance) { return std::sqrt(variance) * micro; };
  return {mapping,
          detector,
          current_a * micro,
          micro_of(noise.shot),
          micro_of(noise.dark),
          micro_of(noise.thermal),
          micro_of(noise.intensity),
          micro_of(converter),
          micro_of(noise.total() + converter)};
}

Rows noise_rows(const CostQuestion& question) {
  Rows rows;
  for (const MappingPlan& plan : question.plans) {
    const UnitStructure unit = plain_unit(question, plan);
    for (std::size_t i = 0; i < unit.layers.size(); ++i) {
      const LayerLink link = layer_link(question, unit, i);
      rows.push_back(noise_row(plan.name, layer_name(i), link.current_a, link.noise, 0));
    }
  }
  const SlicerBudget slicer = output_link(question).slicer;
  rows.push_back(
      noise_row("", "slicer", slicer.top_current_a, slicer.noise, slicer.converter_variance));
  return rows;
}

std::vector<Collective> all_collectives() {
  std::vector<Collective> all;
  for (const auto& [collective, name] : EnumNames<Collective>::table) all.push_back(collective);
  return all;
}

std::optional<CollectiveCost> cost_of(const CostQuestion& question, Collective collective,
                                      int servers) {
  return collective_cost(collective, servers,
                         {.switch_levels = question.hardware.fabric.switch_levels});
}

Rows traffic_rows(const CostQuestion& question) {
  Rows rows;
  for (const int servers : question.traffic_servers) {
    for (const Collective collective : all_collectives()) {
      const std::optional<CollectiveCost> cost = cost_of(question, collective, servers);
      if (!cost) continue;
      rows.push_back({std::int64_t{servers}, enum_name(collective), cost->sent, cost->serial,
                      cost->added, std::int64_t{cost->messages}, std::int64_t{cost->switch_passes},
                      std::int64_t{cost->unit_passes}});
    }
  }
  return rows;
}

/// Codes have an even number of bits from 4 to 16.
bool is_code_width(int bits) { return bits % 2 == 0 && bits >= 4 && bits <= 16; }

std::optional<double> averaging_time_s(const CostQuestion& question, Collective collective,
                                       const Workload& workload, int bits) {
  if (sends_codes(collective) && !is_code_width(bits)) return std::nullopt;
  return communication_time_s(collective, question.servers,
                              static_cast<double>(workload.parameters), bits,
                              question.hardware.fabric, question.hardware.compute);
}

/// One step: what is trained, with which batch, in how many bits.
struct StepCase {
  const Workload& workload;
  int batch;
  int bits;
};

void add_step_rows(const CostQuestion& question, const StepCase& step, Rows& rows) {
  const ComputeHardware& compute = question.hardware.compute;
  const double compute_s = compute.compute_time_s(step.workload, step.batch);
  const auto step_s = [&](double communication_s) {
    return step_time_s(compute_s, communication_s, compute.overlap);
  };
  const auto ring_step_s = [&](int bits) {
    return step_s(*averaging_time_s(question, Collective::ring, step.workload, bits));
  };
  for (const Collective collective : all_collectives()) {
    const std::optional<double> time_s =
        averaging_time_s(question, collective, step.workload, step.bits);
    if (!time_s) continue;
    rows.push_back({step.workload.name, step.workload.parameters, std::int64_t{question.servers},
                    std::int64_t{step.batch}, std::int64_t{step.bits}, enum_name(collective),
                    cost_of(question, collective, question.servers)->sent, *time_s, compute_s,
                    step_s(*time_s), 1 - step_s(*time_s) / ring_step_s(question.baseline_bits),
                    1 - step_s(*time_s) / ring_step_s(step.bits)});
  }
}

Rows step_rows(const CostQuestion& question) {
  Rows rows;
  for (const Workload& workload : question.workloads) {
    for (const int batch : question.batches) {
      for (const int bits : question.step_bits) {
        add_step_rows(question, {.workload = workload, .batch = batch, .bits = bits}, rows);
      }
    }
  }
  return rows;
}

void add_reduction_row(const CostQuestion& question, const Workload& workload, int ring_bits,
                       int bits, double reduction, Rows& rows) {
  const ComputeHardware& compute = question.hardware.compute;
  const double ring_s = *averaging_time_s(question, Collective::ring, workload, ring_bits);
  const std::optional<double> unit_s =
      averaging_time_s(question, Collective::optinc, workload, bits);
  if (!unit_s) return;
  const std::optional<double> compute_s =
      compute_time_for_reduction_s(ring_s, *unit_s, reduction, compute.overlap);
  std::vector<TableCell> row = {workload.name,
                                std::int64_t{question.servers},
                                std::int64_t{ring_bits},
                                std::int64_t{bits},
                                reduction,
                                1 - *unit_s / ring_s};
  if (compute_s) {
    row.insert(row.end(), {*compute_s, *compute_s / compute.compute_time_s(workload, 1)});
  } else {
    row.insert(row.end(), {TableCell(), TableCell()});
  }
  row.emplace_back(workload.step_flops());
  rows.push_back(std::move(row));
}

Rows reduction_rows(const CostQuestion& question) {
  std::set<int> ring_bits(question.step_bits.begin(), question.step_bits.end());
  ring_bits.insert(question.baseline_bits);
  Rows rows;
  for (const Workload& workload : question.workloads) {
    const std::vector<double> published = {workload.published_reduction};
    for (const double reduction : question.reductions.empty() ? published : question.reductions) {
      for (const int wide : ring_bits) {
        for (const int bits : question.step_bits) {
          if (bits > wide) continue;
          add_reduction_row(question, workload, wide, bits, reduction, rows);
        }
      }
    }
  }
  return rows;
}

/// A table and what fills it.
struct TableMaker {
  ResultTable empty;
  Rows (*rows)(const CostQuestion&);
};

const std::vector<TableMaker>& table_makers() {
  static const std::vector<TableMaker> makers = {
      {{"structure", "MZIs of a unit and of a cascade", structure_columns(), {}}, structure_rows},
      {{"layers", "size, losses and margin of every layer", layer_columns(), {}}, layer_rows},
      {{"link", "power from laser to detector", link_columns(), {}}, link_rows},
      {{"slicer", "decisions of a server's receiver", slicer_columns(), {}}, slicer_rows},
      {{"noise", "noise currents of the detectors", noise_columns(), {}}, noise_rows},
      {{"traffic", "what averaging one gradient transfers", traffic_columns(), {}}, traffic_rows},
      {{"step", "time of a training step", step_columns(), {}}, step_rows},
      {{"reduction",
        "batch at which OptINC shortens a step by so much against ring",
        reduction_columns(),
        {}},
       reduction_rows}};
  return makers;
}

}  // namespace

const std::vector<ResultTable>& empty_cost_tables() {
  static const std::vector<ResultTable> tables = [] {
    std::vector<ResultTable> all;
    for (const TableMaker& maker : table_makers()) all.push_back(maker.empty);
    return all;
  }();
  return tables;
}

ResultTable cost_table(const std::string& name, const CostQuestion& question) {
  const std::vector<TableMaker>& makers = table_makers();
  const TableMaker& maker = *std::find_if(
      makers.begin(), makers.end(), [&](const TableMaker& one) { return one.empty.name == name; });
  ResultTable table = maker.empty;
  table.rows = maker.rows(question);
  return table;
}

}  // namespace optinc
