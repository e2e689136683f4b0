// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "solver/onn/network.hpp"

namespace optinc {

/// Reads a network in the schema `optinc-network/1` (docs/formats.md).
/// Throws DataError naming file, object and what is wrong with it.
Network read_network(const std::filesystem::path& path);

/// Writes the same schema, atomically (temporary file, then rename). Throws DataError.
void write_network(const std::filesystem::path& path, const Network& network);

}  // namespace optinc
