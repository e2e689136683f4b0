// SPDX-License-Identifier: Apache-2.0
#include "solver/montecarlo/workload_config.hpp"

#include <utility>

#include <fmt/format.h>

#include "solver/gradient/stoppable.hpp"
#include "solver/gradient/trace.hpp"
#include "solver/montecarlo/imperfection_config.hpp"

namespace optinc {

std::string WorkloadSource::name() const {
  if (trace) {
    return trace_servers ? fmt::format("{} (first {} servers)", trace->string(), *trace_servers)
                         : trace->string();
  }
  return fmt::format(
      "synthetic {} ({} servers, {} elements, correlation {}, degrees of freedom {}, "
      "scale {}, seed {})",
      enum_name(synthetic.kind), synthetic.servers, synthetic.elements, synthetic.correlation,
      synthetic.degrees_of_freedom, synthetic.scale, synthetic.seed);
}

WorkloadSource workload_source_of(const ResolvedConfig& config, const SweepConfig& sweep) {
  if (config.text("workload.kind") == "trace") {
    WorkloadSource source{.trace = sweep.find_file(config.text("workload.trace")),
                          .trace_servers = std::nullopt};
    if (config.has("workload.servers")) {
      source.trace_servers = static_cast<int>(config.integer("workload.servers"));
    }
    return source;
  }
  SyntheticOptions synthetic{
      .kind = choice<SyntheticKind>(config, "workload.kind"),
      .servers = static_cast<int>(config.integer("workload.servers")),
      .elements = static_cast<std::uint64_t>(config.integer("workload.elements")),
      .correlation = config.real("workload.correlation"),
      .scale = config.real("workload.scale"),
      .seed = static_cast<std::uint64_t>(config.integer("montecarlo.seed"))};
  if (config.has("workload.degrees_of_freedom")) {
    synthetic.degrees_of_freedom = config.real("workload.degrees_of_freedom");
  }
  return {.synthetic = synthetic};
}

std::unique_ptr<GradientSource> open_source(const WorkloadSource& source) {
  std::unique_ptr<GradientSource> gradient;
  if (source.trace) {
    gradient = std::make_unique<GradientTrace>(*source.trace, source.trace_servers);
  } else {
    gradient = std::make_unique<SyntheticGradient>(source.synthetic);
  }
  if (!source.stop_requested) return gradient;
  return std::make_unique<StoppableGradient>(std::move(gradient), source.stop_requested);
}

EvaluationOptions evaluation_of(const ResolvedConfig& config) {
  EvaluationOptions options{.kind = choice<Evaluation>(config, "evaluation"),
                            .max_codes = static_cast<std::uint64_t>(config.integer("max_codes")),
                            .uniform_codes = config.boolean("report.uniform_codes")};
  if (options.kind == Evaluation::sampled) {
    options.sample_elements = static_cast<std::uint64_t>(config.integer("sample_elements"));
    options.seed = static_cast<std::uint64_t>(config.integer("montecarlo.seed"));
  }
  return options;
}

QuantiserOptions quantiser_of(const ResolvedConfig& config) {
  QuantiserOptions options{.block = static_cast<std::uint64_t>(config.integer("workload.block")),
                           .power_of_two_scale = config.boolean("workload.power_of_two_scale")};
  if (config.boolean("workload.stochastic_rounding")) {
    options.rounding_seed = static_cast<std::uint64_t>(config.integer("montecarlo.seed"));
  }
  return options;
}

}  // namespace optinc
