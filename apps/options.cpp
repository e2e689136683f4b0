// SPDX-License-Identifier: Apache-2.0
#include "apps/options.hpp"

#include <cstdlib>
#include <ostream>

#include "solver/io/atomic_file.hpp"
#include "solver/names.hpp"

namespace optinc {

void add_backend_options(CLI::App& app, BackendOptions& options) {
  app.add_option("--backend", options.backend,
                 "auto, cuda, cpu or reference; one that is missing here is an error (default "
                 "OPTINC_BACKEND, else auto)")
      ->type_name("NAME");
  add_choice_option(app, "--precision", options.precision, enum_names<Precision>(),
                    "floating-point precision of the optics");
}

std::unique_ptr<Backend> create_backend(const BackendOptions& options,
                                        const BackendRegistry& registry) {
  std::string name = options.backend;
  if (name.empty()) {
    const char* environment = std::getenv("OPTINC_BACKEND");
    name = environment != nullptr && *environment != '\0' ? environment : "auto";
  }
  return registry.create(name, *parse_enum<Precision>(options.precision));
}

CLI::Option* add_choice_option(CLI::App& app, const std::string& name, std::string& value,
                               const std::vector<std::string>& choices,
                               const std::string& description) {
  std::string type;
  for (const std::string& choice : choices) type += (type.empty() ? "" : "|") + choice;
  CLI::Option* option = app.add_option(name, value, description)
                            ->check([choices, type](const std::string& text) {
                              for (const std::string& choice : choices) {
                                if (choice == text) return std::string();
                              }
                              return "'" + text + "' (must be one of " + type + ")";
                            })
                            ->type_name(type);
  if (!value.empty()) option->default_str(value);
  return option;
}

void add_out_option(CLI::App& app, std::string& out) {
  out = "-";
  app.add_option("--out", out, "output file, - for standard output")
      ->type_name("FILE|-")
      ->default_str("-");
}

void write_result(CommandContext& context, const std::string& out_option, const std::string& text) {
  if (out_option == "-") {
    context.out << text;
  } else {
    write_file_atomically(out_option, text);
  }
}

}  // namespace optinc
