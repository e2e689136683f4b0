// SPDX-License-Identifier: Apache-2.0
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>

#include <fmt/format.h>

#include "apps/options.hpp"
#include "apps/signals.hpp"
#include "apps/trace_summary.hpp"
#include "solver/gradient/synthetic.hpp"
#include "solver/gradient/trace.hpp"
#include "solver/montecarlo/workload_config.hpp"
#include "solver/names.hpp"

namespace optinc {
namespace {

struct MakeOptions {
  std::string kind;
  SyntheticOptions synthetic;
  std::optional<double> degrees_of_freedom;
  std::string out;
};

SyntheticOptions requested(const MakeOptions& options) {
  SyntheticOptions synthetic = options.synthetic;
  synthetic.kind = parse_enum<SyntheticKind>(options.kind).value();
  if (!options.degrees_of_freedom) return synthetic;
  if (synthetic.kind != SyntheticKind::student_t) {
    throw ConfigError(fmt::format(
        "--degrees-of-freedom does not go with --kind {} (only student_t has them); leave it out",
        options.kind));
  }
  synthetic.degrees_of_freedom = *options.degrees_of_freedom;
  return synthetic;
}

/// How to make the same trace again.
TraceAttributes origin(const SyntheticOptions& synthetic) {
  TraceAttributes attributes = {
      {"workload", "synthetic-" + enum_name(synthetic.kind)},
      {"correlation", fmt::format("{}", synthetic.correlation)},
      {"scale", fmt::format("{}", synthetic.scale)},
      {"seed", fmt::format("{}", synthetic.seed)},
      {"note", "random numbers made by optinc trace make, not gradients of a training run"}};
  if (synthetic.kind == SyntheticKind::student_t) {
    attributes.emplace_back("degrees_of_freedom", fmt::format("{}", synthetic.degrees_of_freedom));
  }
  return attributes;
}

ExitCode run_make(const CommandContext& context, const MakeOptions& options) {
  require_file_out(options.out);
  const SyntheticOptions synthetic = requested(options);
  const std::string loss = fmt::format("{} was not written", options.out);
  return run_stoppable(context, loss, [&](const std::function<bool()>& stop) {
    write_trace(options.out, *open_source({.synthetic = synthetic, .stop_requested = stop}),
                origin(synthetic));
    context.out << fmt::format("wrote {}: {}, {} servers, {} elements in {} tensors\n", options.out,
                               options.kind, synthetic.servers, synthetic.elements,
                               synthetic.tensors);
    return ExitCode::done;
  });
}

CommandAction declare_make(CLI::App& app) {
  auto options = std::make_shared<MakeOptions>();
  SyntheticOptions& synthetic = options->synthetic;
  add_choice_option(app, "--kind", options->kind, enum_names<SyntheticKind>(),
                    "distribution of the values")
      ->required();
  app.add_option("--servers", synthetic.servers, "servers N: 2 to 64")->capture_default_str();
  app.add_option("--elements", synthetic.elements, "elements per server, over all tensors")
      ->check(whole_number_of_key("workload.elements"))
      ->required();
  app.add_option("--tensors", synthetic.tensors,
                 "tensors of nearly equal size; no value depends on it")
      ->capture_default_str();
  app.add_option("--correlation", synthetic.correlation,
                 "correlation between servers, 0 to 1; see above")
      ->capture_default_str();
  app.add_option("--degrees-of-freedom", options->degrees_of_freedom,
                 fmt::format("of student_t, 1 to 1e6 (default {})", synthetic.degrees_of_freedom));
  app.add_option("--scale", synthetic.scale,
                 "factor on the unit normal, the Laplace of density exp(-|x|)/2, or Student's t")
      ->capture_default_str();
  app.add_option("--seed", synthetic.seed, "seed of the random numbers")
      ->check(any_seed())
      ->capture_default_str();
  app.add_option("--out", options->out, "trace to write (HDF5, optinc-gradient-trace/1)")
      ->type_name("FILE")
      ->required();
  return [options](CommandContext& context) { return run_make(context, *options); };
}

}  // namespace

Command trace_make_command() {
  Command make;
  make.name = "trace make";
  make.summary = "write a synthetic gradient trace";
  make.description =
      "Writes random values as a gradient trace. Memory does not grow with its size; SIGINT and "
      "SIGTERM stop it without leaving a file. A value "
      "depends on the options, its server and its index alone; a sweep with workload.kind, "
      "workload.servers, workload.elements, workload.correlation and montecarlo.seed set to the "
      "same values sees the same gradients without a file.\n\n"
      "Elements of one server are independent. Between servers, the elements of one index have "
      "unit normal scores z = sqrt(r) z_common + sqrt(1-r) z_own with r = --correlation. For "
      "gaussian the values are the scores, so r is their correlation. For laplace and student_t "
      "each score is mapped to the value of the same rank (a Gaussian copula): the distribution of "
      "each server is exact, r fixes the rank correlation, 6/pi asin(r/2), and the correlation of "
      "the values themselves is slightly below r. For all kinds two servers have equal signs in a "
      "share 1/2 + asin(r)/pi of the elements.";
  make.examples = {
      {"optinc trace make --kind gaussian --servers 8 --elements 1000000 --correlation 0.5 --out "
       "g.h5",
       "8 servers that share half of their variance"},
      {"optinc trace make --kind student_t --degrees-of-freedom 3 --elements 100000000 --scale "
       "1e-3 --out t.h5",
       "heavy tails, larger than memory"}};
  make.declare = declare_make;
  return make;
}

}  // namespace optinc
