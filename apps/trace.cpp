// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "apps/installed_data.hpp"
#include "apps/options.hpp"
#include "apps/trace_summary.hpp"
#include "solver/gradient/metrics.hpp"
#include "solver/gradient/statistics.hpp"
#include "solver/gradient/trace.hpp"

namespace optinc {
namespace {

struct TraceInfoOptions {
  std::string path;
  int bits = 8;
  std::int64_t block = 1024;
  bool json = false;
};

/// What the block quantiser and the half_up average do to a trace, before any optics.
struct QuantisationSummary {
  CodeFormat format;
  std::uint64_t block = 0;
  std::uint64_t codes = 0;
  std::uint64_t elements_in_zero_blocks = 0;
  GradientMetrics metrics;
};

QuantisationSummary summarise_quantisation(const GradientTrace& trace, int bits,
                                           std::uint64_t block) {
  QuantisationSummary summary;
  summary.format = make_code_format(trace.servers(), bits);
  summary.block = block;
  const CodeTable table = reduce_trace(trace, summary.format, {.block = block}).total;
  summary.codes = table.codes.size();
  for (const CodeStatistics& code : table.statistics) {
    summary.elements_in_zero_blocks += code.count_zero_scale;
  }
  summary.metrics =
      gradient_metrics(summary.format, table, target_values(summary.format, table.codes));
  return summary;
}

/// The attributes that are not shown in another place.
std::vector<std::pair<std::string, std::string>> shown_attributes(const GradientTrace& trace) {
  std::vector<std::pair<std::string, std::string>> shown;
  for (const auto& attribute : trace.attributes()) {
    if (attribute.first != "tensors" && attribute.first != "servers") shown.push_back(attribute);
  }
  return shown;
}

void print_text(std::ostream& out, const GradientTrace& trace,
                const std::vector<TensorSummary>& tensors, const QuantisationSummary& quantised) {
  for (const auto& [name, value] : shown_attributes(trace)) {
    out << fmt::format("{:<18} {}\n", name, value);
  }
  out << fmt::format("{:<18} {}\n{:<18} {}\n{:<18} {}\n\n", "servers", trace.servers(), "tensors",
                     tensors.size(), "elements", trace.elements());
  const std::size_t width = name_width(trace);
  out << fmt::format("{:<{}} {:>12} {:>12} {:>12} {:>8}\n", "tensor", width, "elements", "rms",
                     "max |g|", "zeros");
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    out << fmt::format("{:<{}} {:>12} {:>12.4e} {:>12.4e} {:>7.2f}%\n", trace.tensors()[i].name,
                       width, trace.tensors()[i].elements, tensors[i].rms, tensors[i].max_abs,
                       100 * tensors[i].zero_share);
  }
  out << fmt::format(
      "\nquantised to {} bits in blocks of {}, averaged with half_up rounding\n"
      "{:<18} {} of {:.0f}\n{:<18} {}\n{:<18} {:.2f} dB against the float mean\n"
      "{:<18} {:+.4f} LSB\n",
      quantised.format.bits, quantised.block, "codes that occur", quantised.codes,
      quantised.format.alphabet_size(), "in all-zero blocks", quantised.elements_in_zero_blocks,
      "NMSE", -quantised.metrics.snr_db, "bias", quantised.metrics.bias_lsb);
}

void print_json(std::ostream& out, const GradientTrace& trace,
                const std::vector<TensorSummary>& tensors, const QuantisationSummary& quantised) {
  nlohmann::ordered_json attributes = nlohmann::ordered_json::object();
  for (const auto& [name, value] : shown_attributes(trace)) attributes[name] = value;
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    rows.push_back({{"name", trace.tensors()[i].name},
                    {"elements", trace.tensors()[i].elements},
                    {"rms", tensors[i].rms},
                    {"max_abs", tensors[i].max_abs},
                    {"zero_share", tensors[i].zero_share}});
  }
  const nlohmann::ordered_json document = {
      {"attributes", attributes},
      {"servers", trace.servers()},
      {"elements", trace.elements()},
      {"tensors", rows},
      {"quantised",
       {{"bits", quantised.format.bits},
        {"block", quantised.block},
        {"codes", quantised.codes},
        {"alphabet", quantised.format.alphabet_size()},
        {"elements_in_zero_blocks", quantised.elements_in_zero_blocks},
        {"nmse", quantised.metrics.nmse},
        {"nmse_db", -quantised.metrics.snr_db},
        {"bias_lsb", quantised.metrics.bias_lsb}}}};
  out << document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << '\n';
}

ExitCode run_trace_info(const CommandContext& context, const TraceInfoOptions& options) {
  const GradientTrace trace(find_data_file(options.path));
  const QuantisationSummary quantised =
      summarise_quantisation(trace, options.bits, static_cast<std::uint64_t>(options.block));
  std::vector<TensorSummary> tensors;
  for (std::size_t i = 0; i < trace.tensors().size(); ++i) {
    tensors.push_back(summarise_tensor(trace, i));
  }
  if (options.json) {
    print_json(context.out, trace, tensors, quantised);
  } else {
    print_text(context.out, trace, tensors, quantised);
  }
  return ExitCode::done;
}

CommandAction declare_trace_info(CLI::App& app) {
  auto options = std::make_shared<TraceInfoOptions>();
  add_trace_argument(app, options->path);
  app.add_option("--bits", options->bits, "Bits per transmitted value: even, 4 to 16")
      ->capture_default_str();
  app.add_option("--block", options->block, "Elements that share one quantiser scale")
      ->check(whole_number_of_key("workload.block"))
      ->capture_default_str();
  app.add_flag("--json", options->json, "Print JSON instead of text");
  return [options](CommandContext& context) { return run_trace_info(context, *options); };
}

}  // namespace

std::vector<Command> trace_commands() {
  Command info;
  info.name = "trace info";
  info.summary = "show what a gradient trace holds and what quantising it costs";
  info.description =
      "Prints the attributes of a gradient trace and, per tensor, the elements of one server and "
      "over all servers the rms, the largest magnitude and the share of zeros.\n\n"
      "Then quantises it as an ideal unit would: the number of different codes that the network "
      "sees, the size of their alphabet, the normalised mean square error of the rounded average "
      "against the mean of the float gradients, and the mean bias of rounding halves up, about "
      "1/(2N) LSB for an even number N of servers. No optics are involved: this is the best that "
      "any chip can reach.";
  info.examples = {
      {"optinc trace info data/traces/resnet50_cifar100.h5", "8 bits in blocks of 1024 elements"},
      {"optinc trace info data/traces/llama_wikitext2.h5 --bits 6 --block 256 --json",
       "coarser values, finer blocks, for a script"}};
  info.declare = declare_trace_info;
  return {info, trace_make_command(), trace_stats_command()};
}

}  // namespace optinc
