// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "apps/command.hpp"
#include "solver/montecarlo/columns.hpp"

namespace optinc {

/// The command `sensitivity`.
std::vector<Command> sensitivity_commands();

/// Columns of its table, documented by `optinc schema`.
const std::vector<CsvColumn>& sensitivity_columns();

}  // namespace optinc
