// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "solver/gradient/average.hpp"
#include "solver/gradient/statistics.hpp"
#include "solver/gradient/stoppable.hpp"
#include "solver/io/hdf5_file.hpp"
#include "solver/montecarlo/workload_config.hpp"
#include "tests/apps/cli_run.hpp"
#include "tests/solver/montecarlo/sweep_fixture.hpp"

namespace optinc {
namespace {

using test::contains;
using test::read_text;
using test::TemporaryFolder;
using test::write_text;

/// Waits until `condition` holds; fails after a minute, or once the program has ended.
void wait_for(pid_t child, const std::function<bool()>& condition) {
  for (int i = 0; i < 60000; ++i) {
    if (condition()) return;
    siginfo_t ended{};
    REQUIRE(waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOHANG | WNOWAIT) == 0);
    REQUIRE(ended.si_pid == 0);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  FAIL("the program did not get there");
}

/// Whether a program has a handler of its own for a signal, by what the kernel says.
bool catches(pid_t child, int signal) {
  const std::string status = read_text("/proc/" + std::to_string(child) + "/status");
  const std::string key = "SigCgt:";
  const std::size_t at = status.find(key);
  if (at == std::string::npos) return false;
  const std::uint64_t mask = std::stoull(status.substr(at + key.size()), nullptr, 16);
  return (mask >> (static_cast<unsigned>(signal) - 1U) & 1U) == 1;
}

bool has_hidden_file(const std::filesystem::path& folder) {
  const std::filesystem::directory_iterator entries(folder);
  return std::any_of(begin(entries), end(entries), [](const auto& entry) {
    return entry.path().filename().string().starts_with(".");
  });
}

/// A trace of 2e11 zeros in a small file: none of its chunks is stored.
void write_endless_trace(const std::filesystem::path& path) {
  write_text(path, "");
  Hdf5Writer writer(path, path);
  writer.write_string("/", "format", "optinc-gradient-trace/1");
  writer.write_int("/", "servers", 2);
  writer.write_strings("/", "tensors", {"w"});
  writer.create_matrix("gradient/w", 2, 100'000'000'000, true);
  writer.close();
}

/// Starts the program in a folder whose out.h5 is old, sends the signal at that moment and checks
/// that one line and the exit code are all that comes of it.
void check_stops(std::vector<std::string> args, const TemporaryFolder& folder, int signal,
                 const std::function<bool(pid_t)>& moment) {
  CAPTURE(args, signal);
  const std::filesystem::path out = folder / "out.h5";
  const bool writes = args[1] != "stats";
  if (writes) args.insert(args.end(), {"--out", out.string()});
  write_text(out, "old");
  const TemporaryFolder elsewhere;
  const std::string err_file = (elsewhere / "err").string();
  const pid_t child = test::start_program(args, err_file);
  wait_for(child, [&] { return moment(child); });
  kill(child, signal);
  const int status = test::wait_status(child);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 128 + signal);
  const std::string err = read_text(err_file);
  CHECK(err.starts_with("optinc: stopped by a signal ("));
  CHECK(contains(err, writes ? "out.h5 was not written" : "no statistics"));
  CHECK(std::count(err.begin(), err.end(), '\n') == 1);
  CHECK(read_text(out) == "old");
  CHECK(!has_hidden_file(folder.path()));
}

/// A source that asks for a stop at the given question.
std::unique_ptr<GradientSource> stopping_source(const SyntheticOptions& options, int question) {
  return open_source({.synthetic = options, .stop_requested = [question, asked = 0]() mutable {
                        return ++asked == question;
                      }});
}

}  // namespace

TEST_CASE("SIGINT and SIGTERM end trace make, trace stats and average") {
  const TemporaryFolder folder;
  const TemporaryFolder input;
  const std::string endless = (input / "t.h5").string();
  write_endless_trace(endless);
  for (const int signal : {SIGINT, SIGTERM}) {
    const auto reading = [&](pid_t child) { return catches(child, signal); };
    check_stops({"trace", "stats", endless}, folder, signal, reading);
    check_stops({"trace", "stats", endless, "--block", "10000000"}, folder, signal, reading);
    check_stops({"average", endless}, folder, signal, reading);
    const auto writing = [&](pid_t) { return has_hidden_file(folder.path()); };
    check_stops({"trace", "make", "--kind", "student_t", "--elements", "1000000000"}, folder,
                signal, writing);
  }
}

TEST_CASE("a gradient that is stopped while it is written leaves the old file alone") {
  const SyntheticOptions options{.servers = 2, .elements = 200'000, .tensors = 2};
  const CodeFormat format = make_code_format(2, 4);
  const QuantiserOptions quantiser{.block = 1000};
  const TraceStatistics statistics = reduce_trace(SyntheticGradient(options), format, quantiser);
  const std::vector<CodeKey>& codes = statistics.total.codes;
  const std::vector<std::int64_t> decoded = target_values(format, codes);
  for (const int question : {1, 2, 3}) {
    const TemporaryFolder folder;
    const std::filesystem::path out = folder / "out.h5";
    write_text(out, "old");
    CHECK_THROWS_AS(write_trace(out, *stopping_source(options, question), {}), Stopped);
    CHECK_THROWS_AS(write_average(out, *stopping_source(options, question), format, quantiser,
                                  code_decoder(format, codes, decoded), {}),
                    Stopped);
    CHECK(read_text(out) == "old");
    CHECK(folder.files() == 1);
    write_average(out, *stopping_source(options, -1), format, quantiser,
                  code_decoder(format, codes, decoded), {});
    CHECK(read_text(out) != "old");
  }
}

TEST_CASE("a gradient that may be stopped has the same values") {
  const SyntheticOptions options{.servers = 3, .elements = 150'001};
  const std::size_t stride = 150'100;
  std::vector<float> plain(3 * stride, -1);
  std::vector<float> stoppable = plain;
  SyntheticGradient(options).read(0, 1, 150'000, plain.data(), stride);
  stopping_source(options, -1)->read(0, 1, 150'000, stoppable.data(), stride);
  CHECK(plain == stoppable);
}

TEST_CASE("traces of an installed program are found by name") {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder / "bin");
  std::filesystem::create_directories(folder / "share/optinc/traces");
  std::filesystem::copy_file(OPTINC_BINARY, folder / "bin/optinc");
  write_trace(folder / "share/optinc/traces/t.h5",
              SyntheticGradient({.servers = 2, .elements = 100}), {});
  const auto code = [&](const std::string& command) {
    const std::string line =
        "cd '" + folder.path().string() + "' && ./bin/optinc " + command + " >out 2>err";
    const int status = std::system(line.c_str());
    REQUIRE(WIFEXITED(status));
    return WEXITSTATUS(status);
  };
  for (const std::string name : {"traces/t.h5", "data/traces/t.h5"}) {
    CHECK(code("average " + name + " --out a.h5") == 0);
    CHECK(code("trace info " + name) == 0);
    CHECK(code("trace stats " + name) == 0);
    CHECK(contains(read_text(folder / "out"), "100"));
  }
  CHECK(code("average traces/none.h5 --out a.h5") == 3);
  CHECK(contains(read_text(folder / "err"), "traces/none.h5"));
}

}  // namespace optinc
