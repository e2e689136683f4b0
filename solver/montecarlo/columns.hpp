// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace optinc {

/// Documentation of one CSV column; printed by `optinc schema`, written to manifests.
struct CsvColumn {
  std::string name;
  std::string unit;  ///< "" for none
  std::string meaning;
};

/// Columns of the row file before the swept axes: task_id, chip, seed, backend, ...
const std::vector<CsvColumn>& identity_columns();

/// Metric columns, after the axes, in file order.
const std::vector<CsvColumn>& metric_columns();

/// Columns of the per-tensor file after the axes, in file order.
const std::vector<CsvColumn>& tensor_columns();

/// Columns that the summary file has per metric (suffixes mean, std, ...) and per point.
const std::vector<CsvColumn>& summary_columns();

}  // namespace optinc
