// SPDX-License-Identifier: Apache-2.0
#include "apps/help.hpp"

#include <algorithm>
#include <memory>
#include <ostream>
#include <sstream>

#include <fmt/format.h>

#include "apps/cli.hpp"

namespace optinc {

namespace {

/// One documented option or positional argument.
struct OptionText {
  std::string synopsis;
  std::string description;
  bool positional = false;
  bool required = false;
};

/// Name of an option's value, without the descriptions of its checks that CLI11 appends.
std::string value_name(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  return type.substr(0, type.find(':'));
}

std::vector<OptionText> option_texts(const Command& command) {
  CLI::App app;
  app.set_help_flag();
  command.declare(app);
  std::vector<OptionText> texts;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;
    OptionText text;
    text.positional = option->get_positional();
    text.required = option->get_required();
    text.synopsis = text.positional ? option->get_name(true) : option->get_name(false, true);
    if (!text.positional && option->get_items_expected_max() > 0) {
      text.synopsis += " " + value_name(*option);
    }
    text.description = option->get_description();
    if (!option->get_default_str().empty()) {
      text.description += fmt::format(" (default {})", option->get_default_str());
    }
    texts.push_back(text);
  }
  texts.push_back({"-h,--help", "print this page", false, false});
  return texts;
}

std::string synopsis(const Command& command, const std::vector<OptionText>& options) {
  std::string line = "optinc " + command.name;
  for (const OptionText& option : options) {
    if (option.positional) {
      line += option.required ? " " + option.synopsis : " [" + option.synopsis + "]";
    }
  }
  for (const OptionText& option : options) {
    if (!option.positional && option.required) line += " " + option.synopsis;
  }
  return line + " [OPTIONS]";
}

/// Breaks text at spaces so that lines stay within 78 columns; blank lines part paragraphs.
std::string wrap(const std::string& text, std::size_t indent) {
  std::string wrapped;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::size_t column = 0;
    for (std::string word; words >> word;) {
      if (column > 0 && indent + column + 1 + word.size() > 78) {
        wrapped += "\n";
        column = 0;
      }
      wrapped += column == 0 ? std::string(indent, ' ') : " ";
      wrapped += word;
      column += word.size() + 1;
    }
    wrapped += "\n";
  }
  return wrapped;
}

struct ExitCodeText {
  ExitCode code;
  const char* meaning;
};

const std::vector<ExitCodeText>& exit_code_texts() {
  static const std::vector<ExitCodeText> texts = {
      {ExitCode::done, "done"},
      {ExitCode::internal_error, "internal error"},
      {ExitCode::usage, "usage or configuration"},
      {ExitCode::data, "data missing, corrupt or in conflict; output cannot be written"},
      {ExitCode::backend_unavailable, "backend, precision or external program not available"},
      {ExitCode::time_limit, "stopped by --time-limit with work left; what was computed is saved"},
      {ExitCode::interrupted, "interrupted (SIGINT); what was computed is saved"},
      {ExitCode::terminated, "terminated (SIGTERM); what was computed is saved"}};
  return texts;
}

const char* const reproducibility_text =
    "The same seed, version, backend, instruction set and precision give identical bytes for any "
    "thread count, any division into shards and any resume point. Random bits are the same on all "
    "backends. A deviate "
    "depends on seed, chip, mesh, element and symbol alone, so the same chip meets the same "
    "errors at every sweep point and sigma only scales them.";

struct EnvironmentText {
  const char* name;
  const char* meaning;
};

const std::vector<EnvironmentText>& environment_texts() {
  static const std::vector<EnvironmentText> texts = {
      {"OPTINC_BACKEND", "backend where --backend is not given"},
      {"OPTINC_CPU_TARGET", "instruction set of the cpu backend where --cpu-target is not given"}};
  return texts;
}

struct HelpOptions {
  std::vector<std::string> topic;
  bool markdown = false;
};

std::string topic_page(const std::vector<Command>& commands, const std::string& topic) {
  std::string group_page;
  for (const Command& command : commands) {
    if (command.name == topic) return command_page(command);
    if (command.name.rfind(topic + " ", 0) == 0) {
      group_page += fmt::format("  optinc {:<18} {}\n", command.name, command.summary);
    }
  }
  if (!group_page.empty()) {
    return fmt::format("COMMANDS\n{}\nSee `optinc help {} <command>`.\n", group_page, topic);
  }
  fail_unknown_command(topic);
}

}  // namespace

std::string command_page(const Command& command) {
  const std::vector<OptionText> options = option_texts(command);
  std::string page =
      fmt::format("NAME\n    optinc {} - {}\n\nSYNOPSIS\n    {}\n\nDESCRIPTION\n{}", command.name,
                  command.summary, synopsis(command, options), wrap(command.description, 4));
  page += "\nOPTIONS\n";
  for (const OptionText& option : options) {
    page += fmt::format("    {}\n{}", option.synopsis, wrap(option.description, 8));
  }
  if (!command.examples.empty()) page += "\nEXAMPLES\n";
  for (const CommandExample& example : command.examples) {
    page += fmt::format("{}        {}\n", wrap(example.explanation, 4), example.command_line);
  }
  page += "\nEXIT CODES\n";
  for (const ExitCodeText& text : exit_code_texts()) {
    page += fmt::format("    {:<4} {}\n", static_cast<int>(text.code), text.meaning);
  }
  return page;
}

std::string overview_page(const std::vector<Command>& commands) {
  std::string page =
      "optinc - what hardware imperfections do to gradients averaged by light\n\n"
      "USAGE\n    optinc <command> [OPTIONS]\n    optinc help <command>\n    optinc --version\n\n"
      "COMMANDS\n";
  for (const Command& command : commands) {
    page += fmt::format("    {:<16} {}\n", command.name, command.summary);
  }
  page += "\nREPRODUCIBILITY\n" + wrap(reproducibility_text, 4) + "\nENVIRONMENT\n";
  for (const EnvironmentText& text : environment_texts()) {
    page += fmt::format("    {:<16} {}\n", text.name, text.meaning);
  }
  page += "\nEXIT CODES\n";
  for (const ExitCodeText& text : exit_code_texts()) {
    page += fmt::format("    {:<4} {}\n", static_cast<int>(text.code), text.meaning);
  }
  return page;
}

std::string markdown_cell(std::string text) {
  for (std::size_t bar = 0; (bar = text.find('|', bar)) != std::string::npos; bar += 2) {
    text.insert(bar, "\\");
  }
  return text;
}

std::string markdown_reference(const std::vector<Command>& commands) {
  std::string page =
      "# Command line\n\nGenerated by `optinc help --markdown`; do not edit.\n\n"
      "## Reproducibility\n\n" +
      std::string(reproducibility_text) +
      "\n\n## Environment\n\n| variable | meaning |\n|---|---|\n";
  for (const EnvironmentText& text : environment_texts()) {
    page += fmt::format("| `{}` | {} |\n", text.name, text.meaning);
  }
  page += "\n## Exit codes\n\n| code | meaning |\n|---|---|\n";
  for (const ExitCodeText& text : exit_code_texts()) {
    page += fmt::format("| {} | {} |\n", static_cast<int>(text.code), text.meaning);
  }
  for (const Command& command : commands) {
    const std::vector<OptionText> options = option_texts(command);
    page += fmt::format(
        "\n## optinc {}\n\n{}\n\n```\n{}\n```\n\n{}\n\n| option | meaning |\n|---|---|\n",
        command.name, command.summary, synopsis(command, options), command.description);
    for (const OptionText& option : options) {
      page += fmt::format("| `{}` | {} |\n", markdown_cell(option.synopsis),
                          markdown_cell(option.description));
    }
    for (const CommandExample& example : command.examples) {
      page += fmt::format("\n{}\n\n```\n{}\n```\n", example.explanation, example.command_line);
    }
  }
  return page;
}

std::vector<Command> help_commands() {
  return {{.name = "help",
           .summary = "print the manual page of a command",
           .description = "Without a topic, lists the commands.",
           .examples = {{"optinc help sweep", "The page of one command:"},
                        {"optinc help mesh", "The commands of a group:"}},
           .declare = [](CLI::App& app) -> CommandAction {
             const auto options = std::make_shared<HelpOptions>();
             app.add_option("COMMAND", options->topic, "command, one or two words");
             app.add_flag("--markdown", options->markdown, "print the whole reference as Markdown");
             return [options](CommandContext& context) {
               const std::vector<Command> commands = all_commands();
               if (options->markdown) {
                 if (!options->topic.empty()) {
                   throw ConfigError("--markdown prints all commands; leave the topic out");
                 }
                 context.out << markdown_reference(commands);
                 return ExitCode::done;
               }
               if (options->topic.empty()) {
                 context.out << overview_page(commands);
                 return ExitCode::done;
               }
               context.out << topic_page(commands,
                                         fmt::format("{}", fmt::join(options->topic, " ")));
               return ExitCode::done;
             };
           }}};
}

}  // namespace optinc
