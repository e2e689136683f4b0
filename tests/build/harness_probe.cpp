// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include <stdexcept>

#include "tests/support/skip.hpp"

TEST_CASE("passes") { CHECK(1 + 1 == 2); }

TEST_CASE("fails 77 times") {
  for (int i = 0; i < 77; ++i) CHECK(i < 0);
}

TEST_CASE("throws") { throw std::runtime_error("thrown"); }

TEST_CASE("skips") { optinc::test::skip("no device"); }
