// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <hdf5.h>

namespace optinc::test {

/// Writes a dataset with the HDF5 library alone, in a type that our writer does not produce;
/// without values only its shape, which takes no space.
void append_raw(const std::filesystem::path& path, const std::string& name, hid_t file_type,
                hid_t memory_type, const std::vector<hsize_t>& shape, const void* values);

}  // namespace optinc::test
