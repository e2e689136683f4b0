// SPDX-License-Identifier: Apache-2.0
#include "apps/options.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <ostream>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "solver/config/preset.hpp"
#include "solver/io/atomic_file.hpp"
#include "solver/kernel/simd_kernels.hpp"
#include "solver/names.hpp"
#include "solver/text.hpp"

namespace optinc {

namespace {

/// `given`, or where that is empty what the environment says, or where that is empty "auto".
std::string option_or_environment(const std::string& given, const char* variable) {
  if (!given.empty()) return given;
  const char* environment = std::getenv(variable);
  return environment != nullptr && *environment != '\0' ? environment : "auto";
}

std::vector<std::string> cpu_target_choices() {
  std::vector<std::string> choices = {"auto"};
  for (const std::string& name : instruction_set_names()) choices.push_back(name);
  return choices;
}

std::string alternatives(const std::vector<std::string>& choices) {
  return fmt::format("{}", fmt::join(choices, "|"));
}

/// The same backends, the cpu backend with that instruction set.
BackendRegistry with_cpu_target(const BackendRegistry& registry, const std::string& cpu_target) {
  std::vector<BackendEntry> entries = registry.entries();
  for (BackendEntry& entry : entries) {
    if (entry.name == "cpu") entry = cpu_backend_entry(cpu_target);
  }
  return BackendRegistry(std::move(entries));
}

/// The backend to create, given that --cpu-target asks for the cpu backend.
std::string backend_name(const BackendOptions& options) {
  std::string name = option_or_environment(options.backend, "OPTINC_BACKEND");
  const bool any_cpu_target = options.cpu_target.empty() || options.cpu_target == "auto";
  if (any_cpu_target || name == "cpu") return name;
  if (name == "auto") return "cpu";
  throw ConfigError(fmt::format(
      "--cpu-target {} does not go with backend '{}' (it chooses the instruction set of backend "
      "'cpu'); give one of the two",
      options.cpu_target, name));
}

}  // namespace

void add_engine_options(CLI::App& app, BackendOptions& options) {
  app.add_option("--backend", options.backend,
                 "auto, cuda, cpu or reference; one that is missing here is an error (default "
                 "OPTINC_BACKEND, else auto)")
      ->type_name("NAME");
  add_cpu_target_option(app, options.cpu_target);
}

void add_cpu_target_option(CLI::App& app, std::string& cpu_target) {
  add_choice_option(app, "--cpu-target", cpu_target, cpu_target_choices(),
                    "instruction set of the cpu backend; one that this CPU lacks is an error "
                    "(default OPTINC_CPU_TARGET, else auto: the best there is)");
}

void add_backend_options(CLI::App& app, BackendOptions& options) {
  add_engine_options(app, options);
  add_choice_option(app, "--precision", options.precision, enum_names<Precision>(),
                    "floating-point precision of the optics");
}

void add_threads_option(CLI::App& app, unsigned& threads) {
  app.add_option("--threads", threads,
                 "chips computed at once; no result depends on it (default: all cores)")
      ->check(whole_number(1, 4096))
      ->type_name("N");
}

std::string cpu_target_or_default(const std::string& given) {
  return option_or_environment(given, "OPTINC_CPU_TARGET");
}

std::unique_ptr<Backend> create_backend(const BackendOptions& options,
                                        const BackendRegistry& registry) {
  const std::string cpu_target = cpu_target_or_default(options.cpu_target);
  return with_cpu_target(registry, cpu_target)
      .create(backend_name(options), *parse_enum<Precision>(options.precision));
}

void add_format_options(CLI::App& app, FormatOptions& options) {
  app.add_option("--bits", options.bits, "bits per transmitted value: even, 4 to 16")
      ->capture_default_str();
  app.add_option("--digits-per-input", options.digits_per_input,
                 "PAM4 digits merged per network input; must divide bits/2 (default 1 up to 8 "
                 "bits, else 2 where bits/2 is even)");
  add_choice_option(app, "--rounding", options.rounding, enum_names<Rounding>(),
                    "rounding of the average");
  app.add_option("--code-offset", options.code_offset, "code that means zero (default 2^(bits-1))");
}

void add_fraction_options(CLI::App& app, FormatOptions& options) {
  app.add_option("--input-fraction-digits", options.input_fraction_digits,
                 "base-4 digits behind the point of the values that are averaged: level 2 of a "
                 "cascade")
      ->check(whole_number(0, 3))
      ->capture_default_str();
  app.add_option("--output-fraction-digits", options.output_fraction_digits,
                 "base-4 digits behind the point of the average, which is then exact instead of "
                 "rounded: level 1 of a cascade; 1 for 2 and 4 servers, 2 for 8 and 16, 3 for 32 "
                 "and 64")
      ->check(whole_number(0, 3))
      ->capture_default_str();
}

CodeFormat requested_format(const FormatOptions& options, int servers) {
  CodeFormat format = make_code_format(servers, options.bits);
  format.input_fraction_digits = options.input_fraction_digits;
  format.output_fraction_digits = options.output_fraction_digits;
  format.digits_per_input = default_digits_per_input(options.bits, options.input_fraction_digits);
  if (options.digits_per_input) format.digits_per_input = *options.digits_per_input;
  if (options.code_offset) format.code_offset = *options.code_offset;
  format.rounding = parse_enum<Rounding>(options.rounding).value();
  validate(format);
  return format;
}

CLI::Option* add_choice_option(CLI::App& app, const std::string& name, std::string& value,
                               const std::vector<std::string>& choices,
                               const std::string& description) {
  CLI::Option* option = app.add_option(name, value, description)
                            ->check(one_of(choices))
                            ->type_name(alternatives(choices));
  if (!value.empty()) option->default_str(value);
  return option;
}

CLI::Validator one_of(const std::vector<std::string>& choices) {
  return CLI::Validator(
      [choices](std::string& text) {
        for (const std::string& choice : choices) {
          if (choice == text) return std::string();
        }
        return fmt::format("'{}' (must be one of {})", text, alternatives(choices));
      },
      "");
}

CLI::Validator number_between(double low, double high) {
  return CLI::Validator(
      [low, high](std::string& text) {
        double value = 0;
        const bool accepted = parse_number(text, value) && value >= low && value <= high;
        return accepted ? std::string()
                        : fmt::format("'{}' (must be a number from {} to {})", text, low, high);
      },
      "");
}

CLI::Validator whole_number(std::uint64_t low, std::uint64_t high) {
  return CLI::Validator(
      [low, high](std::string& text) {
        std::uint64_t number = 0;
        const char* const text_end = text.data() + text.size();
        const auto [end, error] = std::from_chars(text.data(), text_end, number);
        if (error != std::errc() || end != text_end || number < low || number > high) {
          return fmt::format("'{}' (must be a whole number from {} to {})", text, low, high);
        }
        // CLI11 would read a leading zero as octal.
        text = fmt::format("{}", number);
        return std::string();
      },
      "");
}

CLI::Validator whole_number_of_key(const std::string& path) {
  const ConfigKey& key = *find_config_key(path);
  return whole_number(static_cast<std::uint64_t>(key.minimum),
                      static_cast<std::uint64_t>(key.maximum));
}

CLI::Validator any_count() { return whole_number(1, std::numeric_limits<std::uint32_t>::max()); }

unsigned threads_or_all(unsigned asked) {
  return asked > 0 ? asked : std::max(1U, std::thread::hardware_concurrency());
}

CLI::Validator any_seed() { return whole_number(0, std::numeric_limits<std::uint64_t>::max()); }

void add_out_option(CLI::App& app, std::string& out) {
  out = "-";
  app.add_option("--out", out, "output file, - for standard output")
      ->type_name("FILE|-")
      ->default_str("-");
}

void add_trace_argument(CLI::App& app, std::string& trace) {
  app.add_option("TRACE", trace,
                 "gradient trace (HDF5, optinc-gradient-trace/1), also of the installed data")
      ->required();
}

void require_csv_out(const std::string& out) {
  if (out.empty() || out == "-") {
    throw ConfigError("a result is several files beside each other; give --out FILE.csv");
  }
  if (std::filesystem::path(out).extension() != ".csv") {
    throw ConfigError(fmt::format("--out {} (must end in .csv)", out));
  }
}

void require_file_out(const std::string& out) {
  if (out == "-") throw ConfigError("--out - (HDF5 does not go to standard output); give a file");
}

void require_other_file(const std::string& option, const std::filesystem::path& out,
                        const std::vector<std::filesystem::path>& used) {
  for (const std::filesystem::path& file : used) {
    std::error_code ignored;
    if (std::filesystem::equivalent(out, file, ignored) ||
        std::filesystem::weakly_canonical(out, ignored) ==
            std::filesystem::weakly_canonical(file, ignored)) {
      throw ConfigError(
          fmt::format("{} {} is a file that the command uses too (it would be lost); "
                      "give another name",
                      option, out.string()));
    }
  }
}

std::vector<std::filesystem::path> named_files(const SweepConfig& sweep) {
  std::vector<std::filesystem::path> files;
  const auto add = [&](const std::string& path, const ConfigValue& value) {
    const std::optional<std::string> file = file_of_value(path, value);
    if (!file) return;
    try {
      files.push_back(sweep.find_file(*file));
    } catch (const DataError&) {
      return;  // Whoever needs it reports that.
    }
  };
  for (const auto& [path, value] : sweep.base.values()) add(path, value);
  for (const AxisGroup& group : sweep.axes) {
    for (const std::vector<ConfigValue>& row : group.rows) {
      for (std::size_t i = 0; i < row.size(); ++i) add(group.paths[i], row[i]);
    }
  }
  return files;
}

void write_result(CommandContext& context, const std::string& out_option, const std::string& text) {
  if (out_option == "-") {
    context.out << text;
  } else {
    write_file_atomically(out_option, text);
  }
}

}  // namespace optinc
