// SPDX-License-Identifier: Apache-2.0
#include "tests/support/raw_hdf5.hpp"

#include <catch2/catch.hpp>

namespace optinc::test {

void append_raw(const std::filesystem::path& path, const std::string& name, hid_t file_type,
                hid_t memory_type, const std::vector<hsize_t>& shape, const void* values) {
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
  const hid_t links = H5Pcreate(H5P_LINK_CREATE);
  H5Pset_create_intermediate_group(links, 1);
  const hid_t space = H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr);
  const hid_t dataset =
      H5Dcreate2(file, name.c_str(), file_type, space, links, H5P_DEFAULT, H5P_DEFAULT);
  REQUIRE(dataset >= 0);
  if (values != nullptr) {
    REQUIRE(H5Dwrite(dataset, memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
  }
  H5Dclose(dataset);
  H5Sclose(space);
  H5Pclose(links);
  H5Fclose(file);
}

}  // namespace optinc::test
