// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace optinc {

/// share/optinc beside the bin folder of the running program; empty when it is not there.
std::filesystem::path installed_data_directory();

/// The file that a command line names: from the current directory, else of the installed data
/// ("traces/x.h5" or, as in the sources, "data/traces/x.h5"). A name that is in neither comes back
/// as it is.
std::filesystem::path find_data_file(const std::string& name);

}  // namespace optinc
