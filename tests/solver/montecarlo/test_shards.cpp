// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "solver/montecarlo/columns.hpp"
#include "solver/montecarlo/shard.hpp"
#include "tests/solver/montecarlo/sweep_fixture.hpp"

using namespace optinc;
using namespace optinc::test;

TEST_CASE("shards divide the chips") {
  for (std::uint32_t count = 1; count < 9; ++count) {
    for (std::uint64_t chips = 0; chips < 20; ++chips) {
      std::vector<int> owners(chips, 0);
      for (std::uint32_t index = 0; index < count; ++index) {
        const Shard shard{index, count};
        for (std::uint64_t i = 0; i < shard.chips(chips); ++i) {
          REQUIRE(shard.chip(i) < chips);
          CHECK(shard.has(shard.chip(i)));
          ++owners[shard.chip(i)];
        }
      }
      CHECK(std::count(owners.begin(), owners.end(), 1) == static_cast<std::ptrdiff_t>(chips));
    }
  }
}

TEST_CASE("shards are written i/n") {
  REQUIRE(parse_shard("3/17"));
  CHECK(parse_shard("3/17")->index == 3);
  CHECK(parse_shard("3/17")->count == 17);
  CHECK(shard_text(*parse_shard("3/17")) == "3/17");
  for (const char* text : {"", "/", "1", "1/", "/2", "2/2", "3/2", "0/0", "-1/2", "+0/2", "a/b",
                           "1/2/3", "1 /2", "0.5/2", "0/99999999999"}) {
    INFO(text);
    CHECK_FALSE(parse_shard(text));
  }
}

TEST_CASE("a shard has the rows of its chips and their summary") {
  const TinySweep tiny;
  REQUIRE(tiny.sweep().code == 0);
  const std::vector<std::string> whole = lines_of(read_text(tiny.rows));
  const Table whole_table = parse_table(read_text(tiny.rows));
  REQUIRE(whole.size() == 22);
  for (std::size_t index = 0; index < 3; ++index) {
    const std::string file = tiny.path("s.csv");
    const CliRun result = tiny.sweep_to(file, {"--fresh", "--shard", std::to_string(index) + "/3"});
    INFO(result.err);
    REQUIRE(result.code == 0);
    std::string expected = whole[0];
    for (std::size_t row = 0; row < 21; ++row) {
      if (row % 7 % 3 == index) expected += whole[1 + row];
    }
    CHECK(read_text(file) == expected);
    const auto manifest = nlohmann::json::parse(manifest_of(file));
    CHECK(manifest.at("settings").at("shard") == std::to_string(index) + "/3");

    const Table summary = parse_table(summary_of(file));
    REQUIRE(summary.size() == 3);
    for (std::size_t point = 0; point < 3; ++point) {
      double sum = 0;
      double good = 0;
      double chips = 0;
      for (std::size_t chip = index; chip < 7; chip += 3) {
        const double rate = number(whole_table[7 * point + chip], "element_error_rate");
        sum += rate;
        good += rate < 1e-3 ? 1 : 0;
        ++chips;
      }
      CHECK(number(summary[point], "chips") == chips);
      CHECK(number(summary[point], "element_error_rate_mean") == Approx(sum / chips));
      CHECK(number(summary[point], "yield") == Approx(good / chips));
    }
  }
}

TEST_CASE("shard 0/1 is the whole sweep") {
  const TinySweep tiny;
  REQUIRE(tiny.sweep().code == 0);
  const std::string rows = read_text(tiny.rows);
  CHECK(tiny.sweep({"--shard", "0/1"}).code == 0);
  CHECK(read_text(tiny.rows) == rows);
}

TEST_CASE("a shard is continued by itself alone") {
  const TinySweep tiny;
  REQUIRE(tiny.sweep({"--shard", "1/3"}).code == 0);
  const std::string rows = read_text(tiny.rows);
  for (const std::string other : {"0/3", "1/4", "0/1"}) {
    const CliRun refused = tiny.sweep({"--shard", other});
    INFO(refused.err);
    CHECK(refused.code == 3);
    CHECK(contains(refused.err, "shard (\"1/3\" there"));
    CHECK(read_text(tiny.rows) == rows);
  }
  for (std::size_t cut = 1; cut < rows.size(); cut += 97) {
    write_text(tiny.rows, rows.substr(0, cut));
    REQUIRE(tiny.sweep({"--shard", "1/3", "--threads", "2"}).code == 0);
    REQUIRE(read_text(tiny.rows) == rows);
  }
}

TEST_CASE("a shard of one point goes on with more chips") {
  const TinySweep tiny;
  const std::vector<std::string> lines = [&] {
    REQUIRE(tiny.sweep({"--shard", "1/3", "--chips", "30"}).code == 0);
    return lines_of(read_text(tiny.rows));
  }();
  std::string first_rows = lines[0];
  for (std::size_t row = 1; row <= 5; ++row) first_rows += lines[row];
  write_text(tiny.rows, first_rows);
  CHECK(tiny.sweep({"--shard", "1/3", "--chips", "12"}).code == 3);  // has 4 chips only
  REQUIRE(tiny.sweep({"--shard", "1/3", "--chips", "14"}).code == 0);
  CHECK(read_text(tiny.rows).rfind(first_rows, 0) == 0);
  CHECK(parse_table(read_text(tiny.rows)).size() == 15);
}

TEST_CASE("a shard that cannot be is a usage error") {
  const TinySweep tiny;
  for (const std::string shard : {"3/3", "0/0", "x"}) {
    const CliRun refused = tiny.sweep({"--shard", shard});
    CHECK(refused.code == 2);
    CHECK(contains(refused.err, "0 <= i < n"));
  }
  const CliRun empty = tiny.sweep({"--shard", "7/8"});
  CHECK(empty.code == 2);
  CHECK(contains(empty.err, "7/8 has no chips"));
  CHECK_FALSE(std::filesystem::exists(tiny.rows));
  CHECK(tiny.sweep({"--shard", "6/8"}).code == 0);
  CHECK(parse_table(read_text(tiny.rows)).size() == 3);
}
