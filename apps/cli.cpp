// SPDX-License-Identifier: Apache-2.0
#include "apps/cli.hpp"

#include <algorithm>
#include <cctype>
#include <exception>
#include <iterator>
#include <memory>
#include <new>
#include <optional>
#include <ostream>

#include <fmt/format.h>

#include "apps/help.hpp"
#include "apps/sensitivity.hpp"
#include "build_info.hpp"
#include "cuda/cuda_backend.hpp"
#include "solver/text.hpp"

namespace optinc {

namespace {

/// Commands of the design that this version refuses with a message of its own.
const std::vector<std::string>& unbuilt_commands() {
  static const std::vector<std::string> names = {"onn show"};
  return names;
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string not_built_text(const std::string& what) {
  return fmt::format("{} is part of the design and not built yet in this version", what);
}

std::vector<std::string> known_names(const std::vector<Command>& commands) {
  std::vector<std::string> names;
  for (const Command& command : commands) names.push_back(command.name);
  return names;
}

const Command* find_command(const std::vector<Command>& commands, const std::string& name) {
  const auto found = std::find_if(commands.begin(), commands.end(),
                                  [&](const Command& command) { return command.name == name; });
  return found == commands.end() ? nullptr : &*found;
}

/// Whether `word` is the first word of two-word commands ("mesh").
bool is_command_group(const std::vector<Command>& commands, const std::string& word) {
  return std::any_of(commands.begin(), commands.end(), [&](const Command& command) {
    return command.name.rfind(word + " ", 0) == 0;
  });
}

/// The command that `args` begins with; removes its words from `args`.
const Command& take_command(const std::vector<Command>& commands, std::vector<std::string>& args) {
  std::string name = args.front();
  std::size_t words = 1;
  if (find_command(commands, name) == nullptr && args.size() > 1 &&
      (is_command_group(commands, name) || contains(unbuilt_commands(), name + " " + args[1]))) {
    name += " " + args[1];
    words = 2;
  }
  const Command* command = find_command(commands, name);
  if (command == nullptr) fail_unknown_command(name);
  args.erase(args.begin(), args.begin() + static_cast<std::ptrdiff_t>(words));
  return *command;
}

/// Unlike a negative number.
bool looks_like_option(const std::string& arg) {
  if (arg.rfind("--", 0) == 0) return true;
  return arg.size() > 1 && arg[0] == '-' && std::isalpha(static_cast<unsigned char>(arg[1])) != 0;
}

/// What is wrong with `args`: the first unknown option, which may be the cause of everything else,
/// or else CLI11's message.
std::string parse_message(const CLI::App& app, const CLI::ParseError& error,
                          const std::vector<std::string>& args) {
  std::vector<std::string> known;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
  }
  for (const std::string& arg : args) {
    if (arg == "--") break;
    const std::string name = arg.substr(0, arg.find('='));
    if (!looks_like_option(name) || contains(known, name)) continue;
    return fmt::format("unknown option '{}' (did you mean '{}'?)", name, nearest_name(name, known));
  }
  return error.what();
}

/// Values that only a mistake can give, such as a variable that is not set in `--out "$FILE"`.
void refuse_missing_values(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& value : option->results()) {
      const std::string name = option->get_name();
      if (value.empty()) {
        throw ConfigError(fmt::format("{} is empty; give it a value or leave it out", name));
      }
      if (value.rfind("--", 0) == 0 && app.get_option_no_throw(value) != nullptr) {
        throw ConfigError(
            fmt::format("{} has no value (option {} comes next); give one", name, value));
      }
    }
  }
}

/// One line without control characters: names and values of the user may hold any.
std::string one_line(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  std::replace_if(
      text.begin(), text.end(),
      [](char character) { return std::iscntrl(static_cast<unsigned char>(character)) != 0; }, ' ');
  return text;
}

bool is_help_flag(const std::string& arg) { return arg == "--help" || arg == "-h"; }

ExitCode run_command(const Command& command, std::vector<std::string> args,
                     CommandContext& context) {
  CLI::App app(command.summary, "optinc " + command.name);
  app.set_help_flag();
  bool help = false;
  app.add_flag("-h,--help", help, "print this page")->configurable(false);
  const CommandAction action = command.declare(app);
  if (std::any_of(args.begin(), args.end(), is_help_flag)) {
    context.out << command_page(command);
    return ExitCode::done;
  }
  const std::vector<std::string> given = args;
  std::reverse(args.begin(), args.end());
  try {
    app.parse(args);
    refuse_missing_values(app);
  } catch (const CLI::ParseError& error) {
    throw ConfigError(
        fmt::format("{}; see `optinc help {}`", parse_message(app, error, given), command.name));
  }
  return action(context);
}

ExitCode dispatch(std::vector<std::string> args, CommandContext& context) {
  const std::vector<Command> commands = all_commands();
  if (args.empty()) {
    context.err << overview_page(commands);
    return ExitCode::usage;
  }
  if (args.front() == "--version") {
    context.out << "optinc " << build_info::version << "\n";
    return ExitCode::done;
  }
  if (is_help_flag(args.front())) args.front() = "help";
  if (args.size() == 2 && is_command_group(commands, args[0]) && is_help_flag(args[1])) {
    args = {"help", args[0]};
  }
  if (args.size() == 1 && is_command_group(commands, args.front())) {
    throw ConfigError(
        fmt::format("'{}' needs a subcommand; see `optinc help {}`", args.front(), args.front()));
  }
  const Command& command = take_command(commands, args);
  return run_command(command, std::move(args), context);
}

}  // namespace

std::vector<Command> all_commands() {
  std::vector<Command> commands;
  for (auto* make :
       {sweep_commands, tolerance_commands, sensitivity_commands, combine_commands, plot_commands,
        mesh_commands, onn_commands, trace_commands, average_commands, cost_commands,
        bench_commands, info_commands, schema_commands, help_commands}) {
    std::vector<Command> more = make();
    std::move(more.begin(), more.end(), std::back_inserter(commands));
  }
  return commands;
}

void fail_unknown_command(const std::string& name) {
  if (contains(unbuilt_commands(), name)) {
    throw ConfigError(not_built_text(fmt::format("command '{}'", name)));
  }
  std::vector<std::string> known = known_names(all_commands());
  known.emplace_back("--version");
  throw ConfigError(fmt::format("unknown {} '{}' (did you mean '{}'?); see `optinc help`",
                                name.rfind('-', 0) == 0 ? "option" : "command", name,
                                nearest_name(name, known)));
}

BackendRegistry default_registry() {
  return BackendRegistry({cuda_backend_entry(), cpu_backend_entry(), reference_backend_entry()});
}

int run_cli(const std::vector<std::string>& args, std::ostream& out, std::ostream& err,
            bool err_is_terminal) {
  try {
    const BackendRegistry registry = default_registry();
    CommandContext context{out, err, registry, err_is_terminal};
    const ExitCode code = dispatch(args, context);
    out.flush();
    if (!out) throw DataError("standard output cannot be written (full disk or closed pipe)");
    return static_cast<int>(code);
  } catch (const UserError& error) {
    err << "optinc: error: " << one_line(error.what()) << "\n";
    return static_cast<int>(error.code());
  } catch (const std::bad_alloc&) {
    err << "optinc: error: out of memory (use a smaller problem or fewer threads)\n";
  } catch (const std::exception& error) {
    err << "optinc: internal error: " << one_line(error.what()) << "\n";
  }
  return static_cast<int>(ExitCode::internal_error);
}

}  // namespace optinc
