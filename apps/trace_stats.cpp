// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "apps/installed_data.hpp"
#include "apps/options.hpp"
#include "apps/signals.hpp"
#include "apps/trace_summary.hpp"
#include "solver/gradient/statistics.hpp"
#include "solver/montecarlo/workload_config.hpp"
#include "solver/names.hpp"

namespace optinc {
namespace {

using Json = nlohmann::ordered_json;

struct StatsOptions {
  std::string path;
  std::optional<int> servers;  ///< none: all
  FormatOptions format;
  std::int64_t block = 1024;
  bool power_of_two_scale = false;
  bool stochastic_rounding = false;
  std::uint64_t seed = 1;
  bool json = false;
};

/// A tensor, or the whole trace, through quantisers and an ideal unit.
struct TableSummary {
  std::uint64_t elements = 0;
  std::uint64_t codes = 0;
  double mean_rms = 0;         ///< of the mean over the servers
  double mean_zero_share = 0;  ///< elements whose mean is zero
  GradientMetrics metrics;
};

TableSummary summarise_table(const CodeFormat& format, const CodeTable& table) {
  TableSummary summary;
  summary.codes = table.codes.size();
  std::uint64_t with_sign = 0;
  double sum_g2 = 0;
  for (const CodeStatistics& code : table.statistics) {
    summary.elements += code.count;
    with_sign += code.count_positive + code.count_negative;
    sum_g2 += code.sum_g2;
  }
  const auto elements = static_cast<double>(summary.elements);
  summary.mean_rms = std::sqrt(sum_g2 / elements);
  summary.mean_zero_share = static_cast<double>(summary.elements - with_sign) / elements;
  summary.metrics = gradient_metrics(format, table, target_values(format, table.codes));
  return summary;
}

/// Everything that is printed.
struct StatsReport {
  CodeFormat format;
  QuantiserOptions quantiser;
  TableSummary total;
  std::vector<TableSummary> tensors;
  std::vector<TensorSummary> servers;  ///< per tensor, over the values of all servers
};

QuantiserOptions requested_quantiser(const StatsOptions& options) {
  QuantiserOptions quantiser{.block = static_cast<std::uint64_t>(options.block),
                             .power_of_two_scale = options.power_of_two_scale};
  if (options.stochastic_rounding) quantiser.rounding_seed = options.seed;
  return quantiser;
}

StatsReport make_report(const GradientSource& trace, const StatsOptions& options) {
  StatsReport report{.format = requested_format(options.format, trace.servers()),
                     .quantiser = requested_quantiser(options),
                     .total = {},
                     .tensors = {},
                     .servers = {}};
  const TraceStatistics statistics = reduce_trace(trace, report.format, report.quantiser);
  report.total = summarise_table(report.format, statistics.total);
  for (std::size_t i = 0; i < statistics.tensors.size(); ++i) {
    report.tensors.push_back(summarise_table(report.format, statistics.tensors[i].table));
    report.servers.push_back(summarise_tensor(trace, i));
  }
  return report;
}

std::string quantiser_rounding(const QuantiserOptions& quantiser) {
  return quantiser.rounding_seed ? fmt::format("stochastic, seed {}", *quantiser.rounding_seed)
                                 : "half_even";
}

Json table_json(const TableSummary& summary) {
  return {{"elements", summary.elements},
          {"codes", summary.codes},
          {"mean_rms", summary.mean_rms},
          {"mean_zero_share", summary.mean_zero_share},
          {"ideal_chip", gradient_json(summary.metrics)}};
}

Json tensor_json(const std::string& name, const TableSummary& summary,
                 const TensorSummary& servers) {
  Json document = {{"name", name}};
  document.update(table_json(summary));
  document["rms"] = servers.rms;
  document["max_over_rms"] = servers.max_abs / servers.rms;
  document["zero_share"] = servers.zero_share;
  return document;
}

void print_json(std::ostream& out, const GradientSource& trace, const StatsReport& report) {
  Json tensors = Json::array();
  for (std::size_t i = 0; i < report.tensors.size(); ++i) {
    tensors.push_back(tensor_json(trace.tensors()[i].name, report.tensors[i], report.servers[i]));
  }
  Json document = {
      {"servers", trace.servers()},
      {"bits", report.format.bits},
      {"digits_per_input", report.format.digits_per_input},
      {"rounding", enum_name(report.format.rounding)},
      {"code_offset", report.format.code_offset},
      {"block", report.quantiser.block},
      {"power_of_two_scale", report.quantiser.power_of_two_scale},
      {"quantiser_rounding", quantiser_rounding(report.quantiser)},
      {"alphabet", report.format.alphabet_size()},
      {"alphabet_share", static_cast<double>(report.total.codes) / report.format.alphabet_size()}};
  document.update(table_json(report.total));
  document["tensors"] = tensors;
  out << document.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
}

void print_text(std::ostream& out, const GradientSource& trace, const StatsReport& report) {
  const double alphabet = report.format.alphabet_size();
  const GradientMetrics& metrics = report.total.metrics;
  out << fmt::format("{:<18} {}\n{:<18} {}\n", "servers", trace.servers(), "elements",
                     report.total.elements);
  out << fmt::format("{:<18} {} bits, {} digits per input, average {}, zero is {}\n", "code",
                     report.format.bits, report.format.digits_per_input,
                     enum_name(report.format.rounding), report.format.code_offset);
  out << fmt::format("{:<18} blocks of {}, {}{}\n", "quantiser", report.quantiser.block,
                     quantiser_rounding(report.quantiser),
                     report.quantiser.power_of_two_scale ? ", power-of-two scales" : "");
  out << fmt::format("{:<18} {} of {:.0f} ({:.3g} %)\n", "codes that occur", report.total.codes,
                     alphabet, 100 * static_cast<double>(report.total.codes) / alphabet);
  out << fmt::format("{:<18} SNR {:.2f} dB, bias {:+.4f} LSB, largest error {:.3f} LSB\n\n",
                     "ideal chip", metrics.snr_db, metrics.bias_lsb, metrics.max_error_lsb);
  const std::size_t width = name_width(trace);
  out << fmt::format("{:<{}} {:>12} {:>9} {:>8} {:>12} {:>8} {:>9}\n", "tensor", width, "elements",
                     "codes", "zeros", "rms", "max/rms", "SNR dB");
  for (std::size_t i = 0; i < report.tensors.size(); ++i) {
    const TableSummary& tensor = report.tensors[i];
    const TensorSummary& servers = report.servers[i];
    out << fmt::format("{:<{}} {:>12} {:>9} {:>7.2f}% {:>12.4e} {:>8.1f} {:>9.2f}\n",
                       trace.tensors()[i].name, width, tensor.elements, tensor.codes,
                       100 * servers.zero_share, servers.rms, servers.max_abs / servers.rms,
                       tensor.metrics.snr_db);
  }
}

ExitCode run_stats(const CommandContext& context, const StatsOptions& options) {
  return run_stoppable(context, "no statistics", [&](const std::function<bool()>& stop) {
    const std::unique_ptr<GradientSource> trace =
        open_source({.trace = find_data_file(options.path),
                     .trace_servers = options.servers,
                     .stop_requested = stop});
    const StatsReport report = make_report(*trace, options);
    if (options.json) {
      print_json(context.out, *trace, report);
    } else {
      print_text(context.out, *trace, report);
    }
    return ExitCode::done;
  });
}

CommandAction declare_stats(CLI::App& app) {
  auto options = std::make_shared<StatsOptions>();
  add_trace_argument(app, options->path);
  app.add_option("--servers", options->servers,
                 "average only the first N servers of the trace, 2 or more (default: all)")
      ->type_name("N");
  add_format_options(app, options->format);
  app.add_option("--block", options->block, "elements that share one quantiser scale")
      ->check(whole_number_of_key("workload.block"))
      ->capture_default_str();
  app.add_flag("--power-of-two-scale", options->power_of_two_scale,
               "round block scales up to powers of two");
  CLI::Option* stochastic = app.add_flag("--stochastic-rounding", options->stochastic_rounding,
                                         "round up or down at random, right on average, instead "
                                         "of half to even");
  app.add_option("--seed", options->seed, "seed of stochastic rounding")
      ->check(any_seed())
      ->capture_default_str()
      ->needs(stochastic);
  app.add_flag("--json", options->json, "print JSON instead of text");
  return [options](CommandContext& context) { return run_stats(context, *options); };
}

}  // namespace

Command trace_stats_command() {
  Command stats;
  stats.name = "trace stats";
  stats.summary = "reduce a gradient trace to statistics of its codes";
  stats.description =
      "Quantises a trace as a sweep does and reduces it to statistics per code, which are all that "
      "a sweep needs of it. Prints the codes that occur and their share of the alphabet, and in "
      "total and per tensor what the average of an ideal chip is worth against the mean of the "
      "float gradients: the SNR of quantisers and rounding, the best that any chip can reach.\n\n"
      "zeros, rms and max/rms are over the values of all servers that are averaged. In JSON, "
      "mean_rms and "
      "mean_zero_share are those of the mean over them. A number that is not defined, such "
      "as the SNR of a tensor of zeros, is nan, in JSON null.";
  stats.examples = {
      {"optinc trace stats data/traces/resnet50_cifar100.h5", "8 bits in blocks of 1024"},
      {"optinc trace stats t.h5 --bits 12 --block 256 --power-of-two-scale --stochastic-rounding "
       "--seed 7 --json",
       "another quantiser, for a script"},
      {"optinc trace stats t.h5 --servers 2", "as if only the first two servers took part"}};
  stats.declare = declare_stats;
  return stats;
}

}  // namespace optinc
