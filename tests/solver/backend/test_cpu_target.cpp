// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "solver/kernel/simd_kernels.hpp"
#include "tests/apps/cli_run.hpp"

namespace optinc {

namespace {

using test::CliRun;
using test::run;
using test::ScopedEnvironment;

const std::string network =
    std::string(OPTINC_SOURCE_DIR) + "/data/networks/analytic_ripple_4servers_8bits.h5";

CliRun check(std::vector<std::string> options) {
  options.insert(options.begin(), {"onn", "check", network, "--max-codes", "50", "--json"});
  return run(options);
}

/// The backend that a run with these options reports.
std::string backend_of(const std::vector<std::string>& options) {
  const CliRun result = check(options);
  INFO(result.err);
  REQUIRE(result.code == 0);
  return nlohmann::json::parse(result.out).at("backend").get<std::string>();
}

void check_refused(const std::vector<std::string>& options, int code, const std::string& part) {
  const CliRun result = check(options);
  CAPTURE(options, result.err);
  CHECK(result.code == code);
  CHECK(result.out.empty());
  CHECK_THAT(result.err, Catch::Contains(part));
}

std::string best() { return std::string(cpu_instruction_sets().front().name); }

/// An instruction set that this CPU lacks, or an empty name.
std::string missing() {
  const auto sets = cpu_instruction_sets();
  for (const std::string& name : instruction_set_names()) {
    if (std::none_of(sets.begin(), sets.end(), [&](auto& set) { return set.name == name; })) {
      return name;
    }
  }
  return "";
}

}  // namespace

TEST_CASE("option --cpu-target chooses the instruction set and with it the cpu backend") {
  CHECK(backend_of({"--backend", "cpu"}) == "cpu/" + best());
  for (const InstructionSet& set : cpu_instruction_sets()) {
    const std::string name(set.name);
    CHECK(backend_of({"--cpu-target", name}) == "cpu/" + name);
    CHECK(backend_of({"--backend", "cpu", "--cpu-target", name}) == "cpu/" + name);
    CHECK(backend_of({"--cpu-target", name, "--precision", "f32"}) == "cpu/" + name);
  }
  CHECK(backend_of({"--cpu-target", "auto", "--backend", "reference"}) == "reference");
}

TEST_CASE("OPTINC_CPU_TARGET is used where --cpu-target is not given") {
  const ScopedEnvironment environment("OPTINC_CPU_TARGET", "scalar");
  CHECK(backend_of({"--backend", "cpu"}) == "cpu/scalar");
  CHECK(backend_of({"--backend", "cpu", "--cpu-target", best()}) == "cpu/" + best());
  CHECK(backend_of({"--backend", "cpu", "--cpu-target", "auto"}) == "cpu/" + best());
  // It says which instruction set, not which backend.
  CHECK(backend_of({"--backend", "reference"}) == "reference");
}

TEST_CASE("option --cpu-target with another backend is a usage error") {
  check_refused({"--backend", "reference", "--cpu-target", "scalar"}, 2, "reference");
  check_refused({"--backend", "cuda", "--cpu-target", "scalar"}, 2, "cuda");
  const ScopedEnvironment environment("OPTINC_BACKEND", "reference");
  check_refused({"--cpu-target", "scalar"}, 2, "reference");
}

TEST_CASE("an instruction set that is unknown or missing here is refused, named where it is from") {
  check_refused({"--cpu-target", "avx1024"}, 2, "auto|avx512|avx2|sse4|scalar");
  if (!missing().empty()) check_refused({"--cpu-target", missing()}, 4, "scalar");
  {
    const ScopedEnvironment environment("OPTINC_CPU_TARGET", "avx1024");
    check_refused({"--backend", "cpu"}, 2, "avx512, avx2, sse4, scalar");
  }
  if (!missing().empty()) {
    const ScopedEnvironment environment("OPTINC_CPU_TARGET", missing());
    check_refused({"--backend", "cpu"}, 4, missing());
  }
}

TEST_CASE("info lists the instruction sets and the chosen one") {
  const auto info = nlohmann::json::parse(run({"info", "--json"}).out).at("instruction_sets");
  std::vector<std::string> names;
  for (const InstructionSet& set : cpu_instruction_sets()) names.emplace_back(set.name);
  CHECK(info.at("available").get<std::vector<std::string>>() == names);
  CHECK(info.at("chosen") == best());
  CHECK_THAT(run({"info"}).out, Catch::Contains(best() + " (chosen)"));
  const ScopedEnvironment environment("OPTINC_CPU_TARGET", "scalar");
  CHECK_THAT(run({"info"}).out, Catch::Contains("scalar (chosen)"));
}

}  // namespace optinc
