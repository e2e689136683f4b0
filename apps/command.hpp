// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "solver/backend/registry.hpp"
#include "solver/error.hpp"

namespace optinc {

/// What a running command may use. Results go to `out`, progress and messages to `err`.
struct CommandContext {
  std::ostream& out;
  std::ostream& err;
  const BackendRegistry& registry;
  bool err_is_terminal = false;
};

/// One example of a man page.
struct CommandExample {
  std::string command_line;
  std::string explanation;
};

using CommandAction = std::function<ExitCode(CommandContext&)>;

/// A subcommand as data: terminal help, docs/cli.md and the parser are all made from it.
struct Command {
  std::string name;         ///< one or two words, e.g. "sweep", "mesh compose"
  std::string summary;      ///< one line
  std::string description;  ///< paragraphs separated by blank lines
  std::vector<CommandExample> examples;
  /// Declares options on `app` and returns what to run once they are parsed.
  std::function<CommandAction(CLI::App& app)> declare;
};

/// The commands, one function per file pair in apps/.
std::vector<Command> sweep_commands();
std::vector<Command> tolerance_commands();
std::vector<Command> combine_commands();
std::vector<Command> plot_commands();
std::vector<Command> mesh_commands();
std::vector<Command> onn_commands();
std::vector<Command> trace_commands();
std::vector<Command> average_commands();
std::vector<Command> cost_commands();
std::vector<Command> bench_commands();
std::vector<Command> info_commands();
std::vector<Command> schema_commands();
std::vector<Command> help_commands();

/// Every command of the program, in the order of the documentation.
std::vector<Command> all_commands();

}  // namespace optinc
