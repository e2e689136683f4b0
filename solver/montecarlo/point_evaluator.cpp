// SPDX-License-Identifier: Apache-2.0
#include "solver/montecarlo/point_evaluator.hpp"

#include <utility>

#include "solver/gradient/stoppable.hpp"
#include "solver/montecarlo/chip_result.hpp"
#include "solver/montecarlo/ordered_run.hpp"

namespace optinc {

PointEvaluator::PointEvaluator(SweepConfig base, const Backend& backend,
                               PointEvaluatorOptions options)
    : sweep_(std::move(base)), options_(std::move(options)), runner_(sweep_, backend) {}

std::vector<std::vector<double>> PointEvaluator::evaluate(const ResolvedConfig& values) {
  sweep_.base = values;
  const auto seed = static_cast<std::uint64_t>(sweep_.point(0).integer("montecarlo.seed"));
  PointTask task = runner_.task(0);
  task.point = evaluations_++;  // The runner keeps optics by this number.
  std::vector<std::vector<double>> chips;
  OrderedRun<std::vector<double>> ordered(
      options_.threads,
      [&](std::uint64_t chip) {
        return metric_values(runner_.run(task, seed, static_cast<std::uint32_t>(chip)));
      },
      [&](std::uint64_t chip, std::vector<double> metrics) {
        chips.push_back(std::move(metrics));
        options_.progress(chip + 1);
        return chip + 1;
      });
  if (ordered.run(0, options_.chips, options_.stop_requested) < options_.chips) throw Stopped();
  return chips;
}

}  // namespace optinc
