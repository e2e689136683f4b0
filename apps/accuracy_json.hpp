// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include "solver/onn/accuracy.hpp"

namespace optinc {

/// What scripts may rely on of a network's accuracy.
inline nlohmann::ordered_json accuracy_json(const NetworkAccuracy& accuracy) {
  return {{"codes", accuracy.codes},
          {"correct", accuracy.correct},
          {"accuracy", accuracy.accuracy()},
          {"max_error_digits", accuracy.max_error_digits},
          {"margin_digits", accuracy.margin_digits()},
          {"exhaustive", accuracy.exhaustive}};
}

}  // namespace optinc
