// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <ostream>
#include <string>

#include <H5public.h>
#include <fmt/format.h>
#include <Eigen/Core>
#include <nlohmann/json.hpp>

#include "apps/command.hpp"
#include "apps/find_program.hpp"
#include "apps/options.hpp"
#include "build_info.hpp"
#include "solver/kernel/simd_kernels.hpp"
#include "solver/names.hpp"

namespace optinc {

namespace {

using Json = nlohmann::ordered_json;

Json backend_json(const BackendEntry& entry) {
  Json precisions = Json::array();
  for (const Precision precision : entry.precisions) precisions.push_back(enum_name(precision));
  Json json = {{"name", entry.name},
               {"description", entry.description},
               {"available", entry.available()},
               {"precisions", precisions}};
  if (!entry.available()) json["reason"] = entry.unavailable_reason;
  return json;
}

/// What this CPU can run, best first, and what the cpu backend takes when no option says otherwise.
Json instruction_sets_json() {
  Json available = Json::array();
  for (const InstructionSet& set : cpu_instruction_sets()) available.push_back(set.name);
  return {{"available", available},
          {"chosen", find_instruction_set(cpu_target_or_default("")).name}};
}

Json info_json(const BackendRegistry& registry) {
  Json backends = Json::array();
  for (const BackendEntry& entry : registry.entries()) backends.push_back(backend_json(entry));
  return {{"version", build_info::version},
          {"commit", build_info::commit},
          {"compiler", build_info::compiler},
          {"build_type", build_info::build_type},
          {"flags", build_info::compiler_flags},
          {"eigen",
           fmt::format("{}.{}.{}", EIGEN_WORLD_VERSION, EIGEN_MAJOR_VERSION, EIGEN_MINOR_VERSION)},
          {"hdf5", fmt::format("{}.{}.{}", H5_VERS_MAJOR, H5_VERS_MINOR, H5_VERS_RELEASE)},
          {"gnuplot", find_program("gnuplot").string()},
          {"instruction_sets", instruction_sets_json()},
          {"backends", backends}};
}

std::string instruction_sets_text(const Json& sets) {
  std::string text;
  for (const Json& set : sets["available"]) {
    if (!text.empty()) text += ", ";
    text += set.get<std::string>();
    if (set == sets["chosen"]) text += " (chosen)";
  }
  return text;
}

std::string info_text(const Json& info) {
  std::string text;
  for (const char* key :
       {"version", "commit", "compiler", "build_type", "flags", "eigen", "hdf5"}) {
    text += fmt::format("{:<12}{}\n", key, info[key].get<std::string>());
  }
  const auto gnuplot = info["gnuplot"].get<std::string>();
  text += fmt::format("{:<12}{}\n", "gnuplot",
                      gnuplot.empty() ? "not found (`optinc plot` needs it)" : gnuplot);
  text += fmt::format("{:<12}{}\n\nbackends, best first:\n", "CPU has",
                      instruction_sets_text(info["instruction_sets"]));
  for (const Json& backend : info["backends"]) {
    text += fmt::format("  {:<11}{}\n", backend["name"].get<std::string>(),
                        backend["description"].get<std::string>());
    text += fmt::format("  {:<11}{}\n", "",
                        backend["available"].get<bool>()
                            ? "available"
                            : "not available: " + backend["reason"].get<std::string>());
  }
  return text;
}

}  // namespace

std::vector<Command> info_commands() {
  return {{.name = "info",
           .summary = "build, instruction sets, backends and why one is missing",
           .description =
               "Prints version and build, the libraries in use, the instruction sets of "
               "this CPU with the one that the cpu backend takes, and every backend with "
               "the reason where it is not available.",
           .examples = {{"optinc info --json", "For scripts:"}},
           .declare = [](CLI::App& app) -> CommandAction {
             const auto json = std::make_shared<bool>(false);
             app.add_flag("--json", *json, "print JSON");
             return [json](CommandContext& context) {
               const Json info = info_json(context.registry);
               context.out << (*json ? info.dump(2) + "\n" : info_text(info));
               return ExitCode::done;
             };
           }}};
}

}  // namespace optinc
