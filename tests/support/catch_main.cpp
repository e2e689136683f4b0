// SPDX-License-Identifier: Apache-2.0
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>

#include <cstddef>
#include <iostream>
#include <optional>

#include "tests/support/skip.hpp"

namespace {

struct Counts {
  std::size_t passed = 0;
  std::size_t failed = 0;
  std::size_t skipped = 0;
};

std::size_t skipped_count = 0;
std::optional<Counts> run_counts;  // empty: nothing ran, as with --list-tests

class CountListener : public Catch::TestEventListenerBase {
 public:
  using TestEventListenerBase::TestEventListenerBase;

  void testRunEnded(const Catch::TestRunStats& stats) override {
    const Catch::Counts& cases = stats.totals.testCases;
    run_counts = {cases.passed + cases.failedButOk - skipped_count, cases.failed, skipped_count};
  }
};

CATCH_REGISTER_LISTENER(CountListener)

int exit_code(const Counts& counts, int session_result) {
  const std::size_t total = counts.passed + counts.failed + counts.skipped;
  if (session_result != 0 || counts.failed > 0 || total == 0) return 1;
  return counts.skipped == total ? 77 : 0;
}

}  // namespace

namespace optinc::test {

void skip(const std::string& reason) {
  ++skipped_count;
  WARN("skipped: " << reason);
}

}  // namespace optinc::test

/// Asked for by the leak checker. HDF5 never lets go of what belongs to a file that it could not
/// write.
extern "C" const char* __lsan_default_suppressions() {  // NOLINT(readability-identifier-naming)
  return "leak:libhdf5\n";
}

int main(int argc, char* argv[]) {
  Catch::Session session;
  if (session.applyCommandLine(argc, argv) != 0) return 1;
  // Catch2 returns the number of failures, which may be 77 too.
  const int result = session.run();
  if (!run_counts) {
    // Catch2's CMake script warns when a list of test names comes with exit code 0.
    return session.configData().listTestNamesOnly || result != 0 ? 1 : 0;
  }
  std::cout << run_counts->passed << " passed, " << run_counts->failed << " failed, "
            << run_counts->skipped << " skipped\n";
  return exit_code(*run_counts, result);
}
