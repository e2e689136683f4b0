// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "apps/command.hpp"
#include "apps/options.hpp"
#include "solver/montecarlo/combine.hpp"

namespace optinc {

namespace {

struct CombineCommandOptions {
  std::vector<std::string> files;
  std::string out;
  bool json = false;
  bool quiet = false;
};

std::string report_text(const CombineReport& report, const std::string& out) {
  std::string text = fmt::format("{}: {} rows of {} points from {} files", out, report.rows,
                                 report.points, report.files);
  if (report.repeated > 0) text += fmt::format(", {} equal ones left out", report.repeated);
  return text + "\n";
}

std::string report_json(const CombineReport& report) {
  const nlohmann::ordered_json document = {{"files", report.files},
                                           {"points", report.points},
                                           {"rows", report.rows},
                                           {"repeated", report.repeated},
                                           {"missing", report.missing}};
  return document.dump(2) + "\n";
}

ExitCode run(CommandContext& context, const CombineCommandOptions& options) {
  require_csv_out(options.out);
  const auto notice = [&](const std::string& text) {
    if (!options.quiet) context.err << "optinc: " << text << "\n";
  };
  const CombineReport report =
      combine_results({.inputs = {options.files.begin(), options.files.end()},
                       .out = options.out,
                       .notice = notice});
  if (report.missing > 0) {
    notice(
        fmt::format("{} lacks {} of the {} rows of its sweep; its summary is over the chips "
                    "that are there",
                    options.out, report.missing, report.missing + report.rows));
  }
  if (options.json) {
    context.out << report_json(report);
  } else if (!options.quiet) {
    context.out << report_text(report, options.out);
  }
  return ExitCode::done;
}

CommandAction declare_combine(CLI::App& app) {
  const auto options = std::make_shared<CombineCommandOptions>();
  app.add_option("FILES", options->files, "row files of one sweep, manifests beside them")
      ->required()
      ->type_name("FILE.csv...");
  app.add_option("--out", options->out,
                 "combined row file; summary and manifest are written beside it")
      ->required()
      ->type_name("FILE.csv");
  app.add_flag("--json", options->json, "print the numbers of rows as JSON");
  app.add_flag("--quiet", options->quiet, "no notices and no report");
  return [options](CommandContext& context) { return run(context, *options); };
}

}  // namespace

std::vector<Command> combine_commands() {
  return {
      {.name = "combine",
       .summary = "merge the row files of a sweep's shards",
       .description =
           "Merges row files of one sweep: all settings but the shard and the number of chips "
           "must agree. Rows come in the order of sweep point, then chip, each once, so neither "
           "the order of the files nor combining them again matters, and all shards together "
           "give the bytes of the sweep without --shard. Rows of the same chip that differ are "
           "an error that names both places.\n\n"
           "The summary is made anew over the chips that are there. A combined file can be "
           "plotted, combined again and, once no row before its last one is missing, continued by "
           "`optinc sweep` without --shard. An --out file that exists is one more input, so its "
           "rows are never lost. An incomplete last line is left out with a notice; the inputs "
           "stay as they are.\n\n"
           "Memory is 32 bytes per row and the metrics of the chips of one point.",
       .examples = {{"optinc combine r0.csv r1.csv r2.csv --out r.csv", "Three shards:"}},
       .declare = declare_combine}};
}

}  // namespace optinc
