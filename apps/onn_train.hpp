// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apps/command.hpp"

namespace optinc {

/// `optinc onn train`, declared with the other `onn` commands.
Command train_command();

}  // namespace optinc
