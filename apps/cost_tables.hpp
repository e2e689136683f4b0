// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "apps/result_table.hpp"
#include "solver/cost/hardware.hpp"

namespace optinc {

/// A name for how the layers of a unit are mapped.
struct MappingPlan {
  std::string name;
  std::vector<MappingOptions> layers;  ///< one per layer
  MappingOptions added;                ///< of the layers that a cascade adds
};

/// What is asked about, every default filled in.
struct CostQuestion {
  std::vector<LayerShape> shapes;
  int servers = 4;
  double required_ser = 0;
  std::vector<MappingPlan> plans;
  std::vector<LayerShape> cascade_layers;  ///< what a unit of a cascade has in addition
  Hardware hardware;
  std::vector<int> traffic_servers;
  std::vector<Workload> workloads;
  std::vector<int> batches;  ///< per server
  std::vector<int> step_bits;
  int baseline_bits = 32;
  std::vector<double> reductions;  ///< empty: those that the paper published
};

/// The tables without rows, in the order of the documentation.
const std::vector<ResultTable>& empty_cost_tables();

/// The table of that name with its rows.
ResultTable cost_table(const std::string& name, const CostQuestion& question);

}  // namespace optinc
