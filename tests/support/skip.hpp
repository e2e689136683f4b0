// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace optinc::test {

/// Counts the running test case as skipped and prints why; the caller returns right after it.
/// A program in which every test case that ran was skipped exits with 77.
void skip(const std::string& reason);

}  // namespace optinc::test
