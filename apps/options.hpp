// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/command.hpp"
#include "solver/config/sweep_config.hpp"
#include "solver/optinc/code.hpp"

namespace optinc {

/// Which engine a command uses.
struct BackendOptions {
  std::string backend;     ///< empty: OPTINC_BACKEND, then "auto"
  std::string cpu_target;  ///< empty: OPTINC_CPU_TARGET, then "auto"
  std::string precision = "f64";
};

/// Declares --backend and --cpu-target.
void add_engine_options(CLI::App& app, BackendOptions& options);

/// Declares --cpu-target.
void add_cpu_target_option(CLI::App& app, std::string& cpu_target);

/// Declares those and --precision.
void add_backend_options(CLI::App& app, BackendOptions& options);

/// Declares --threads of a command that computes chips.
void add_threads_option(CLI::App& app, unsigned& threads);

/// The instruction set for the cpu backend: `given`, else OPTINC_CPU_TARGET, else "auto".
std::string cpu_target_or_default(const std::string& given);

/// The backend these options ask for; --cpu-target asks for the cpu backend. Throws BackendError or
/// ConfigError; never falls back.
std::unique_ptr<Backend> create_backend(const BackendOptions& options,
                                        const BackendRegistry& registry);

/// How values travel as codes; what is not given has the default of `bits`.
struct FormatOptions {
  int bits = 8;
  std::optional<int> digits_per_input;
  std::string rounding = "half_up";
  std::optional<std::int64_t> code_offset;
  int input_fraction_digits = 0;
  int output_fraction_digits = 0;
};

/// Declares --bits, --digits-per-input, --rounding and --code-offset.
void add_format_options(CLI::App& app, FormatOptions& options);

/// Declares --input-fraction-digits and --output-fraction-digits, for units of a cascade.
void add_fraction_options(CLI::App& app, FormatOptions& options);

/// The format these options ask for. Throws ConfigError for a value out of range.
CodeFormat requested_format(const FormatOptions& options, int servers);

/// Declares an option whose value must be one of `choices` (message names them otherwise).
CLI::Option* add_choice_option(CLI::App& app, const std::string& name, std::string& value,
                               const std::vector<std::string>& choices,
                               const std::string& description);

/// Check that a value is one of `choices` (message names them otherwise).
CLI::Validator one_of(const std::vector<std::string>& choices);

/// Check of a number in [low, high]; unlike CLI::Range it refuses NaN.
CLI::Validator number_between(double low, double high);

/// Check of a whole number in [low, high], written with decimal digits only. Unlike CLI11's
/// conversions it refuses a sign instead of wrapping around, and takes 010 for ten.
CLI::Validator whole_number(std::uint64_t low, std::uint64_t high);

/// The check of an option that stands for an integer key of the configuration.
CLI::Validator whole_number_of_key(const std::string& path);

/// A count from 1 to 2^32 - 1.
CLI::Validator any_count();

/// Threads to use: `asked`, all cores where that is 0.
unsigned threads_or_all(unsigned asked);

/// The seeds that commands without a configuration take.
CLI::Validator any_seed();

/// Declares --out FILE|- with "-" as default.
void add_out_option(CLI::App& app, std::string& out);

/// Declares the argument TRACE.
void add_trace_argument(CLI::App& app, std::string& trace);

/// Throws ConfigError unless `out` names a CSV file: a result is several files beside each other.
void require_csv_out(const std::string& out);

/// Throws ConfigError where `out` is "-": HDF5 needs a file.
void require_file_out(const std::string& out);

/// Throws ConfigError where `out`, the value of `option`, is one of the files that the command
/// reads or writes otherwise: it would be lost.
void require_other_file(const std::string& option, const std::filesystem::path& out,
                        const std::vector<std::filesystem::path>& used);

/// The files that fixed keys and axes of a configuration name, without those that are nowhere.
std::vector<std::filesystem::path> named_files(const SweepConfig& sweep);

/// Writes text to `out_option`: "-" is the context's standard output, else a file, atomically.
void write_result(CommandContext& context, const std::string& out_option, const std::string& text);

}  // namespace optinc
