// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "solver/montecarlo/journal.hpp"
#include "tests/solver/montecarlo/sweep_fixture.hpp"

using namespace optinc;
using namespace optinc::test;

namespace {

/// The tiny sweep as one file and as three shards.
struct ShardedSweep : TinySweep {
  std::vector<std::string> shards;
  std::string all_rows;
  std::string all_summary;
  std::string combined = path("c.csv");

  ShardedSweep() {
    REQUIRE(sweep().code == 0);
    all_rows = read_text(rows);
    all_summary = summary_of(rows);
    for (int i = 0; i < 3; ++i) {
      shards.push_back(path("s" + std::to_string(i) + ".csv"));
      REQUIRE(sweep_to(shards.back(), {"--shard", std::to_string(i) + "/3"}).code == 0);
    }
  }

  CliRun combine(std::vector<std::string> files, const std::string& out) const {
    files.insert(files.begin(), "combine");
    files.insert(files.end(), {"--out", out});
    return run(files);
  }

  /// Combines into a file that is not there yet.
  CliRun combine_anew(const std::vector<std::string>& files) const {
    std::filesystem::remove(combined);
    return combine(files, combined);
  }

  void require_whole(const std::string& file) const {
    REQUIRE(read_text(file) == all_rows);
    REQUIRE(summary_of(file) == all_summary);
  }

  /// A row file with those bytes and the manifest of another.
  std::string file_with(const std::string& name, const std::string& content,
                        const std::string& manifest) const {
    write_text(path(name + ".csv"), content);
    write_text(path(name + ".manifest.json"), manifest);
    return path(name + ".csv");
  }
};

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("shards combine to the bytes of the whole sweep in any order and grouping") {
  const ShardedSweep sweep;
  std::vector<std::string> order = sweep.shards;
  do {
    REQUIRE(sweep.combine_anew(order).code == 0);
    sweep.require_whole(sweep.combined);
  } while (std::next_permutation(order.begin(), order.end()));

  const std::string pair = sweep.path("pair.csv");
  for (std::size_t left_out = 0; left_out < 3; ++left_out) {
    std::vector<std::string> two = sweep.shards;
    two.erase(two.begin() + static_cast<std::ptrdiff_t>(left_out));
    std::filesystem::remove(pair);
    REQUIRE(sweep.combine(two, pair).code == 0);
    REQUIRE(sweep.combine_anew({pair, sweep.shards[left_out]}).code == 0);
    sweep.require_whole(sweep.combined);
    REQUIRE(sweep.combine_anew({sweep.shards[left_out], pair}).code == 0);
    sweep.require_whole(sweep.combined);
  }
}

TEST_CASE("combining again changes nothing, and neither does the sweep") {
  const ShardedSweep sweep;
  REQUIRE(sweep.combine_anew(sweep.shards).code == 0);
  const std::string manifest = manifest_of(sweep.combined);
  REQUIRE(sweep.combine({sweep.combined}, sweep.combined).code == 0);
  sweep.require_whole(sweep.combined);
  REQUIRE(
      sweep.combine({sweep.combined, sweep.combined, sweep.shards[1], sweep.rows}, sweep.combined)
          .code == 0);
  sweep.require_whole(sweep.combined);
  CHECK(manifest_of(sweep.combined) == manifest);
  REQUIRE(sweep.sweep_to(sweep.combined).code == 0);
  sweep.require_whole(sweep.combined);
  CHECK(manifest_of(sweep.combined) == manifest);

  // Times are those of the shards.
  const auto seconds = [](const std::string& file, std::size_t point) {
    return nlohmann::json::parse(manifest_of(file))
        .at("points")
        .at(point)
        .at("core_s")
        .get<double>();
  };
  for (std::size_t point = 0; point < 3; ++point) {
    double sum = 0;
    for (const std::string& shard : sweep.shards) sum += seconds(shard, point);
    CHECK(seconds(sweep.combined, point) == Approx(sum));
  }
}

TEST_CASE("any parts that cover the sweep combine to it") {
  const ShardedSweep sweep;
  const std::vector<std::string> lines = lines_of(sweep.all_rows);
  const std::string manifest = manifest_of(sweep.rows);
  std::mt19937 random(1);
  for (int round = 0; round < 20; ++round) {
    std::vector<std::string> parts(1 + random() % 5, lines[0]);
    for (std::size_t row = 1; row < lines.size(); ++row) {
      const std::size_t owner = random() % parts.size();
      for (std::size_t part = 0; part < parts.size(); ++part) {
        if (part == owner || random() % 4 == 0) parts[part] += lines[row];
      }
    }
    std::vector<std::string> files;
    for (const std::string& part : parts) {
      files.push_back(sweep.file_with("p" + std::to_string(files.size()), part, manifest));
    }
    REQUIRE(sweep.combine_anew(files).code == 0);
    sweep.require_whole(sweep.combined);
  }
}

TEST_CASE("a single shard stays a shard") {
  const ShardedSweep sweep;
  REQUIRE(sweep.combine_anew({sweep.shards[1]}).code == 0);
  CHECK(read_text(sweep.combined) == read_text(sweep.shards[1]));
  CHECK(summary_of(sweep.combined) == summary_of(sweep.shards[1]));
  CHECK(sweep.sweep_to(sweep.combined, {"--shard", "1/3"}).code == 0);
}

TEST_CASE("missing rows are reported, refused by the sweep, and can be added") {
  const ShardedSweep sweep;
  const CliRun partial = sweep.combine_anew({sweep.shards[0], sweep.shards[2]});
  CHECK(partial.code == 0);
  CHECK(contains(partial.err, "lacks 6 of the 21 rows"));
  const Table summary = parse_table(summary_of(sweep.combined));
  REQUIRE(summary.size() == 3);
  CHECK(number(summary[2], "chips") == 5);

  const std::string before = read_text(sweep.combined);
  const CliRun refused = sweep.sweep_to(sweep.combined);
  CHECK(refused.code == 3);
  CHECK(contains(refused.err, "shards were missing"));
  CHECK(contains(refused.err, sweep.combined + ":3"));
  CHECK(read_text(sweep.combined) == before);

  // What is in --out already is kept.
  const CliRun completed = sweep.combine({sweep.shards[1], "--json"}, sweep.combined);
  REQUIRE(completed.code == 0);
  const auto report = nlohmann::json::parse(completed.out);
  CHECK(report.at("rows") == 21);
  CHECK(report.at("missing") == 0);
  CHECK(report.at("files") == 2);
  sweep.require_whole(sweep.combined);
}

TEST_CASE("the combined beginning of a sweep is continued by it") {
  const ShardedSweep sweep;
  const std::string torn = sweep.file_with(
      "torn", sweep.all_rows.substr(0, sweep.all_rows.size() * 2 / 3), manifest_of(sweep.rows));
  const CliRun combined = sweep.combine_anew({torn});
  CHECK(combined.code == 0);
  CHECK(contains(combined.err, "torn.csv: left out an incomplete last line"));
  REQUIRE(sweep.sweep_to(sweep.combined).code == 0);
  sweep.require_whole(sweep.combined);
}

TEST_CASE("more chips of the same sweep are combined") {
  const ShardedSweep sweep;
  const std::string more = sweep.path("more.csv");
  REQUIRE(sweep.sweep_to(more, {"--chips", "10"}).code == 0);
  REQUIRE(sweep.combine_anew({sweep.rows, more}).code == 0);
  CHECK(read_text(sweep.combined) == read_text(more));
  CHECK(summary_of(sweep.combined) == summary_of(more));
  CHECK(sweep.sweep_to(sweep.combined, {"--chips", "10"}).code == 0);
}

TEST_CASE("rows that differ are a conflict with both places") {
  const ShardedSweep sweep;
  std::vector<std::string> lines = lines_of(read_text(sweep.shards[1]));
  const std::size_t comma = lines[4].rfind(',');
  lines[4] = lines[4].substr(0, comma) + ",123\n";
  std::string changed;
  for (const std::string& line : lines) changed += line;
  const std::string other = sweep.file_with("other", changed, manifest_of(sweep.shards[1]));
  for (const std::vector<std::string>& files :
       {std::vector<std::string>{sweep.rows, other}, {other, sweep.rows}}) {
    const CliRun conflict = sweep.combine_anew(files);
    INFO(conflict.err);
    CHECK(conflict.code == 3);
    // Second point, chip 4: row 7 + 4 of the whole sweep, the fourth of the shard.
    CHECK(contains(conflict.err, sweep.rows + ":13"));
    CHECK(contains(conflict.err, other + ":5"));
    CHECK(contains(conflict.err, "chip 4"));
    CHECK(contains(conflict.err, "insertion_loss_db"));
    CHECK(contains(conflict.err, "'123'"));
    CHECK_FALSE(std::filesystem::exists(sweep.combined));
  }
  // Nothing of an output that is there is lost either.
  REQUIRE(sweep.combine({sweep.shards[0]}, other).code == 0);
  CHECK(sweep.combine({sweep.rows}, other).code == 3);
  CHECK(contains(read_text(other), ",123\n"));
}

TEST_CASE("parts of different sweeps are refused by what differs") {
  const ShardedSweep sweep;
  struct Case {
    std::vector<std::string> settings;
    std::string part;
  };
  const std::string other = sweep.path("other.csv");
  for (const Case& different :
       std::vector<Case>{{{"--seed", "5"}, "montecarlo.seed (1 there, 5 here)"},
                         {{"--set", "workload.block=512"}, "workload.block (1024 there, 512 here)"},
                         {{"--backend", "reference"}, "backend"},
                         {{"--precision", "f32"}, "precision (\"f64\" there, \"f32\" here)"}}) {
    std::vector<std::string> args = different.settings;
    args.emplace_back("--fresh");
    REQUIRE(sweep.sweep_to(other, args).code == 0);
    const CliRun refused = sweep.combine_anew({sweep.rows, other});
    INFO(refused.err);
    CHECK(refused.code == 3);
    CHECK(contains(refused.err, "not of the same sweep"));
    CHECK(contains(refused.err, different.part));
  }
  write_text(sweep.config, replaced(read_text(sweep.config), "[0.01, 0.05, 0.2]", "[0.01]"));
  REQUIRE(sweep.sweep_to(other, {"--fresh"}).code == 0);
  CHECK(contains(sweep.combine_anew({sweep.rows, other}).err, "axis imperfections.phase"));
  const std::string version = sweep.file_with(
      "version", sweep.all_rows,
      replaced(manifest_of(sweep.rows), "\"version\": \"0.1.0\"", "\"version\": \"9.0.0\""));
  CHECK(contains(sweep.combine_anew({sweep.rows, version}).err, "version (\"0.1.0\" there"));
}

TEST_CASE("damaged and foreign files are refused with their name and line") {
  const ShardedSweep sweep;
  const std::string manifest = manifest_of(sweep.rows);
  const std::vector<std::string> lines = lines_of(sweep.all_rows);
  const auto file = [&](const std::string& content) {
    return sweep.file_with("bad", content, manifest);
  };
  struct Case {
    std::string content;
    std::string part;
  };
  const std::string head = lines[0] + lines[1];
  const std::string id = lines[1].substr(0, 16);
  for (const Case& bad : std::vector<Case>{
           {"", "not a row file"},
           {"hello\n", "not a row file"},
           {sweep.all_summary, "not a row file"},
           {lines[0].substr(0, lines[0].size() - 1), "bad.csv:1: incomplete header"},
           {replaced(lines[0], "nmse", "nsme"), "bad.csv:1: other columns"},
           {head + replaced(lines[2], id, "0123456789abcdef"), "bad.csv:3: task_id"},
           {head + replaced(lines[2], ",1,1,", ",7,1,"), "bad.csv:3: chip '7'"},
           {head + replaced(lines[2], ",1,1,", ",-1,1,"), "bad.csv:3: chip '-1'"},
           {head + replaced(lines[2], ",1,1,", ",1,2,"), "bad.csv:3: seed is '2'"},
           {head + replaced(lines[2], "f64", "f32"), "bad.csv:3: precision is 'f32'"},
           {head + replaced(lines[2], ",0.01,", ",0.02,"), "bad.csv:3: rows of the same task"},
           {head + replaced(lines[2], ",0.01,", ",\"0.01,") + lines[3], "bad.csv:3: a quote"},
           {head + replaced(lines[2], "\n", ",5\n"), "bad.csv:3: not a row of"},
           {head + replaced(lines[2], "\n", "x\n"), "bad.csv:3: insertion_loss_db is"}}) {
    const CliRun refused = sweep.combine_anew({file(bad.content)});
    INFO(refused.err);
    CHECK(refused.code == 3);
    CHECK(contains(refused.err, bad.part));
    CHECK_FALSE(std::filesystem::exists(sweep.combined));
  }
  const auto fails = [&](const std::string& input, const std::string& part) {
    const CliRun refused = sweep.combine_anew({sweep.rows, input});
    INFO(refused.err);
    CHECK(refused.code == 3);
    CHECK(contains(refused.err, part));
  };
  fails(sweep.path("none.csv"), "none.csv: cannot be read");
  fails(sweep.folder.path().string(), "no regular file");
  fails(sweep.file_with("bad", sweep.all_rows, "{"), "bad.manifest.json is damaged");
  fails(sweep.file_with("bad", sweep.all_rows, replaced(manifest, id, "0123456789abcdef")),
        "its points are not those of");
  fails(sweep.file_with("bad", sweep.all_rows,
                        replaced(manifest, "\"backend\"", "\"shard\": 5, \"backend\"")),
        "bad.manifest.json is damaged");
  const std::string shard = read_text(sweep.shards[1]);
  fails(sweep.file_with("bad", sweep.all_rows, manifest_of(sweep.shards[1])), "shard 1/3");
  std::filesystem::remove(sweep.path("bad.manifest.json"));
  fails(sweep.path("bad.csv"), "bad.manifest.json is missing");
}

TEST_CASE("where a combined file cannot go") {
  const ShardedSweep sweep;
  CHECK(sweep.combine(sweep.shards, "-").code == 2);
  CHECK(sweep.combine(sweep.shards, sweep.path("c.txt")).code == 2);
  CHECK(run({"combine", "--out", sweep.combined}).code == 2);
  CHECK(run({"combine", sweep.rows}).code == 2);
  CHECK(sweep.combine(sweep.shards, "/no/such/folder/c.csv").code == 3);
  write_text(sweep.combined, "my notes\n");
  const CliRun foreign = sweep.combine(sweep.shards, sweep.combined);
  CHECK(foreign.code == 3);
  CHECK(contains(foreign.err, "not a row file"));
  CHECK(read_text(sweep.combined) == "my notes\n");
  const Journal writing(sweep.rows);
  const CliRun busy = sweep.combine(sweep.shards, sweep.rows);
  CHECK(busy.code == 3);
  CHECK(contains(busy.err, "another optinc"));
}
