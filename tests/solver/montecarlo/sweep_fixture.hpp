// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "solver/gradient/trace.hpp"
#include "solver/text.hpp"
#include "tests/apps/cli_run.hpp"
#include "tests/apps/shipped.hpp"

namespace optinc::test {

inline const std::string source = OPTINC_SOURCE_DIR;
inline const std::string trace = resnet_trace;

inline std::string config_text(const std::string& sigmas) {
  return "[workload]\ntrace = \"" + trace +
         "\"\n[montecarlo]\nchips = 3\n[[axis]]\npath = "
         "\"imperfections.phase.fabrication_sigma_rad\"\nvalues = [" +
         sigmas + "]\n";
}

/// A sweep of two points and three chips in a folder of its own.
struct SweepFixture {
  TemporaryFolder folder;
  std::string config = (folder / "c.toml").string();
  std::string rows = (folder / "r.csv").string();

  explicit SweepFixture(const std::string& sigmas = "3e-4, 1e-3") {
    write_text(config, config_text(sigmas));
  }
  CliRun sweep(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> args = {"sweep", config, "--out", rows, "--quiet"};
    args.insert(args.end(), more.begin(), more.end());
    return run(args);
  }
  std::string summary() const { return read_text(folder / "r.summary.csv"); }
};

using Table = std::vector<std::map<std::string, std::string>>;

inline Table parse_table(const std::string& text) {
  std::istringstream lines(text);
  std::string line;
  std::getline(lines, line);
  std::vector<std::string> header;
  REQUIRE(split_csv(line, header));
  Table table;
  while (std::getline(lines, line)) {
    std::vector<std::string> cells;
    REQUIRE(split_csv(line, cells));
    REQUIRE(cells.size() == header.size());
    table.emplace_back();
    for (std::size_t i = 0; i < cells.size(); ++i) table.back()[header[i]] = cells[i];
  }
  return table;
}

inline double number(const std::map<std::string, std::string>& row, const std::string& column) {
  double value = 0;
  REQUIRE(parse_number(row.at(column), value));
  return value;
}

/// Starts the real program; standard output and error go to files.
inline pid_t start_program(const std::vector<std::string>& args, const std::string& err_file) {
  std::vector<std::string> words = {OPTINC_BINARY};
  words.insert(words.end(), args.begin(), args.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, err_file.c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC, 0600);
  pid_t child = 0;
  REQUIRE(posix_spawn(&child, OPTINC_BINARY, &actions, nullptr, argv.data(), environ) == 0);
  posix_spawn_file_actions_destroy(&actions);
  return child;
}

inline int wait_status(pid_t child) {
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  return status;
}

/// Waits until the file has at least that many lines.
inline void wait_for_lines(const std::string& path, std::ptrdiff_t lines) {
  for (int i = 0; i < 3000; ++i) {
    const std::string text = read_text(path);
    if (std::count(text.begin(), text.end(), '\n') >= lines) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  FAIL("the sweep wrote no rows");
}

/// A trace of two servers and 300 elements in these tensors: any spread-out values do.
inline void write_spread_trace(const std::filesystem::path& path,
                               const std::vector<TraceTensor>& tensors) {
  TraceData data{.servers = 2,
                 .workload = "test",
                 .model = "none",
                 .step = 0,
                 .batch_per_server = 1,
                 .note = "",
                 .tensors = tensors,
                 .values = {}};
  int i = 0;
  for (const TraceTensor& tensor : tensors) {
    std::vector<float>& values = data.values.emplace_back(2 * tensor.elements);
    for (float& value : values) {
      value = static_cast<float>((i * 7919) % 601 - 300) / 300.0F;
      ++i;
    }
  }
  write_trace(path, data);
}

/// A sweep of three points and seven chips over a trace of 300 elements: milliseconds.
struct TinySweep {
  TemporaryFolder folder;
  std::string config = (folder / "c.toml").string();
  std::string rows = (folder / "r.csv").string();

  TinySweep() {
    write_spread_trace(folder / "t.h5", {{"w", 300}});
    write_text(config,
               "[workload]\ntrace = \"t.h5\"\nbits = 4\n[montecarlo]\nchips = 7\n[[axis]]\npath = "
               "\"imperfections.phase.fabrication_sigma_rad\"\nvalues = [0.01, 0.05, 0.2]\n");
  }

  std::string path(const std::string& name) const { return (folder / name).string(); }

  CliRun sweep_to(const std::string& file, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> args = {"sweep", config, "--out", file, "--quiet"};
    args.insert(args.end(), more.begin(), more.end());
    return run(args);
  }

  CliRun sweep(const std::vector<std::string>& more = {}) const { return sweep_to(rows, more); }
};

inline std::string summary_of(const std::string& rows) {
  return read_text(std::filesystem::path(rows).replace_extension(".summary.csv"));
}

inline std::string manifest_of(const std::string& rows) {
  return read_text(std::filesystem::path(rows).replace_extension(".manifest.json"));
}

/// Lines with their line breaks.
inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line + "\n");
  return lines;
}

}  // namespace optinc::test
