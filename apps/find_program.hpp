// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace optinc {

/// First executable of that name in PATH; empty when there is none.
std::filesystem::path find_program(const std::string& name);

}  // namespace optinc
