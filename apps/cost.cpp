// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "apps/command.hpp"
#include "apps/cost_tables.hpp"
#include "apps/installed_data.hpp"
#include "apps/options.hpp"
#include "solver/config/sweep_config.hpp"
#include "solver/names.hpp"
#include "solver/onn/analytic.hpp"
#include "solver/onn/network_file.hpp"
#include "solver/text.hpp"

namespace optinc {

namespace {

using Json = nlohmann::ordered_json;

constexpr int default_servers = 4;
constexpr int default_bits = 8;

struct CostOptions {
  std::vector<int> widths = {4, 64, 128, 256, 128, 64, 4};
  std::string network;
  std::string analytic;
  std::optional<int> servers;
  std::optional<int> bits;
  std::vector<std::string> mappings = enum_names<Mapping>();
  std::optional<int> segment;
  std::string segmented_layers;
  std::string mesh = enum_name(Topology::Kind::clements);
  std::vector<std::string> cascade_layers;
  std::string hardware;
  std::vector<std::string> settings;
  std::vector<int> traffic_servers = {4, 8, 16};
  std::vector<std::string> workloads;
  std::vector<int> batches = {32};
  std::vector<int> step_bits = {8, 32};
  int baseline_bits = 32;
  std::vector<double> reductions;
  std::vector<std::string> tables;
  bool csv = false;
  bool json = false;
  std::string out;
};

/// What the cost is of: the shapes of a network and the code it is for.
struct CostedNetwork {
  std::string kind;
  std::vector<LayerShape> shapes;
  CodeFormat format;
};

CostedNetwork costed(const Network& network) {
  return {.kind = network.kind, .shapes = layer_shapes(network), .format = network.format};
}

CostedNetwork network_of_file(const CostOptions& options) {
  const Network network = read_network(find_data_file(options.network));
  const auto refuse_other = [&](const char* option, const std::optional<int>& given, int value) {
    if (!given || *given == value) return;
    throw ConfigError(fmt::format("{} {} but {} is for {} (the file fixes it); leave it out",
                                  option, *given, options.network, value));
  };
  refuse_other("--servers", options.servers, network.format.servers);
  refuse_other("--bits", options.bits, network.format.bits);
  return costed(network);
}

/// Two bits per output, one PAM4 digit.
CostedNetwork network_of_widths(const CostOptions& options) {
  const int bits = options.bits.value_or(2 * options.widths.back());
  if (bits != 2 * options.widths.back()) {
    throw ConfigError(fmt::format(
        "--bits {} but --widths ends in {} outputs, PAM4 digits of {} bits; leave --bits out or "
        "change the last width",
        bits, options.widths.back(), 2 * options.widths.back()));
  }
  CostedNetwork network{
      .kind = "widths",
      .shapes = layer_shapes(options.widths),
      .format = make_code_format(options.servers.value_or(default_servers), bits)};
  validate(network.format);
  return network;
}

CostedNetwork costed_network(const CostOptions& options) {
  if (!options.network.empty()) return network_of_file(options);
  if (options.analytic.empty()) return network_of_widths(options);
  const CodeFormat format = make_code_format(options.servers.value_or(default_servers),
                                             options.bits.value_or(default_bits));
  return costed(
      build_analytic_network(format, {.form = parse_enum<AnalyticForm>(options.analytic).value()}));
}

MappingOptions mapping_options(const CostOptions& options, Mapping mapping) {
  MappingOptions result;
  result.mapping = mapping;
  result.mesh = parse_enum<Topology::Kind>(options.mesh).value();
  if (mapping != Mapping::svd) result.segment = options.segment.value_or(0);
  return result;
}

MappingPlan plain_plan(const CostOptions& options, Mapping mapping, std::size_t layers) {
  const MappingOptions every = mapping_options(options, mapping);
  return {.name = enum_name(mapping),
          .layers = std::vector<MappingOptions>(layers, every),
          .added = every};
}

/// First and last of a range of layers, from 1.
struct LayerRange {
  std::size_t first{};
  std::size_t last{};
};

LayerRange parse_layer_range(const std::string& text, std::size_t layers) {
  const std::size_t dash = text.find('-');
  std::string first = text.substr(0, dash);
  std::string last = dash == std::string::npos ? first : text.substr(dash + 1);
  const CLI::Validator check = whole_number(1, layers);
  if (!check(first).empty() || !check(last).empty() || std::stoul(first) > std::stoul(last)) {
    throw ConfigError(fmt::format(
        "--segmented-layers {} (must be FIRST-LAST with 1 <= FIRST <= LAST <= {}, the layers of "
        "this network)",
        text, layers));
  }
  return {.first = std::stoul(first), .last = std::stoul(last)};
}

MappingPlan mixed_plan(const CostOptions& options, std::size_t layers) {
  const LayerRange range = parse_layer_range(options.segmented_layers, layers);
  MappingPlan plan = plain_plan(options, Mapping::svd, layers);
  plan.added = mapping_options(options, Mapping::segmented);
  for (std::size_t i = range.first - 1; i < range.last; ++i) plan.layers[i] = plan.added;
  plan.name = range.first == range.last ? fmt::format("segmented {}", range.first)
                                        : fmt::format("segmented {}-{}", range.first, range.last);
  return plan;
}

std::vector<MappingPlan> mapping_plans(const CostOptions& options, std::size_t layers) {
  std::vector<MappingPlan> plans;
  for (const std::string& name : options.mappings) {
    plans.push_back(plain_plan(options, parse_enum<Mapping>(name).value(), layers));
  }
  if (!options.segmented_layers.empty()) plans.push_back(mixed_plan(options, layers));
  const bool only_svd = std::all_of(plans.begin(), plans.end(), [](const MappingPlan& plan) {
    return plan.added.mapping == Mapping::svd;
  });
  if (options.segment && only_svd) {
    throw ConfigError(
        "--segment goes with a mapping in blocks (segmented, real_part); leave it out or add one");
  }
  return plans;
}

bool has_hidden_width(const std::vector<LayerShape>& shapes, Eigen::Index width) {
  return std::any_of(shapes.begin() + 1, shapes.end(),
                     [&](const LayerShape& shape) { return shape.inputs == width; });
}

/// The paper adds two layers of 64 x 64 to networks that have layers of 64 outputs.
std::vector<LayerShape> cascade_layers(const CostOptions& options,
                                       const std::vector<LayerShape>& shapes) {
  constexpr Eigen::Index paper_width = 64;
  std::vector<LayerShape> added;
  if (options.cascade_layers.empty()) {
    if (has_hidden_width(shapes, paper_width)) added.resize(2, {paper_width, paper_width});
    return added;
  }
  if (options.cascade_layers == std::vector<std::string>{"none"}) return added;
  const CLI::Validator check = whole_number(1, 4096);
  for (std::string text : options.cascade_layers) {
    const std::string problem = check(text);
    if (!problem.empty()) {
      throw ConfigError(fmt::format("--cascade-layers: {}, or none alone", problem));
    }
    const auto width = static_cast<Eigen::Index>(std::stoul(text));
    added.push_back({width, width});
  }
  return added;
}

std::vector<Workload> chosen_workloads(const CostOptions& options, const Hardware& hardware) {
  std::vector<Workload> chosen;
  for (const Workload& workload : hardware.workloads()) {
    const std::vector<std::string>& names = options.workloads;
    if (names.empty() || std::find(names.begin(), names.end(), workload.name) != names.end()) {
      chosen.push_back(workload);
    }
  }
  return chosen;
}

CostQuestion question_of(const CostOptions& options, const CostedNetwork& network) {
  CostQuestion question;
  question.shapes = network.shapes;
  question.servers = network.format.servers;
  question.plans = mapping_plans(options, network.shapes.size());
  question.cascade_layers = cascade_layers(options, network.shapes);
  question.hardware = load_hardware(
      options.hardware.empty() ? std::filesystem::path() : find_data_file(options.hardware),
      options.settings);
  const double given_ser = question.hardware.link.required_ser;
  question.required_ser =
      given_ser > 0 ? given_ser : required_symbol_error_rate(network.format.bits);
  question.traffic_servers = options.traffic_servers;
  question.workloads = chosen_workloads(options, question.hardware);
  question.batches = options.batches;
  question.step_bits = options.step_bits;
  question.baseline_bits = options.baseline_bits;
  question.reductions = options.reductions;
  return question;
}

std::vector<std::string> table_names() {
  std::vector<std::string> names;
  for (const ResultTable& table : empty_cost_tables()) names.push_back(table.name);
  return names;
}

bool is_long(const std::string& table) { return table == "link" || table == "noise"; }

/// Those asked for; else all, as text without the long ones.
std::vector<std::string> chosen_tables(const CostOptions& options) {
  if (!options.tables.empty()) return options.tables;
  std::vector<std::string> names = table_names();
  if (!options.json) std::erase_if(names, [](const std::string& name) { return is_long(name); });
  return names;
}

std::vector<ResultTable> asked_tables(const CostOptions& options, const CostQuestion& question) {
  std::vector<ResultTable> tables;
  for (const std::string& name : chosen_tables(options)) {
    tables.push_back(cost_table(name, question));
  }
  return tables;
}

std::vector<Eigen::Index> widths_of(const std::vector<LayerShape>& shapes) {
  std::vector<Eigen::Index> widths = {shapes.front().inputs};
  for (const LayerShape& shape : shapes) widths.push_back(shape.outputs);
  return widths;
}

std::string report_text(const CostedNetwork& network, const std::vector<ResultTable>& tables) {
  std::string text = fmt::format("network: {}, {}, {} servers, {} bits\n", network.kind,
                                 fmt::join(widths_of(network.shapes), "-"), network.format.servers,
                                 network.format.bits);
  for (const ResultTable& table : tables) text += "\n" + table_text(table);
  return text;
}

std::string report_json(const CostedNetwork& network, const Hardware& hardware,
                        const std::vector<ResultTable>& tables) {
  Json document;
  document["network"] = {{"kind", network.kind},
                         {"widths", widths_of(network.shapes)},
                         {"servers", network.format.servers},
                         {"bits", network.format.bits}};
  for (const auto& [path, value] : hardware_values(hardware)) {
    document["hardware"][path] = Json::parse(value_json(value));
  }
  document["rows"] = Json::array();
  for (const ResultTable& table : tables) {
    for (Json& row : table_json(table)) document["rows"].push_back(std::move(row));
  }
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

ExitCode run(CommandContext& context, const CostOptions& options) {
  if (options.csv && options.tables.size() != 1) {
    throw ConfigError("--csv prints one table; choose it with --table");
  }
  require_other_file("--out", options.out, {options.network, options.hardware});
  const CostedNetwork network = costed_network(options);
  const CostQuestion question = question_of(options, network);
  const std::vector<ResultTable> tables = asked_tables(options, question);
  write_result(context, options.out,
               options.csv    ? table_csv(tables.front())
               : options.json ? report_json(network, question.hardware, tables)
                              : report_text(network, tables));
  return ExitCode::done;
}

void convert(const std::string& text, std::string& value) { value = text; }
void convert(const std::string& text, int& value) { value = std::stoi(text); }
void convert(const std::string& text, double& value) { parse_number(text, value); }

/// The values of a list, each accepted by `check`. Unlike CLI11's delimiter it keeps empty ones.
template <class Value>
std::vector<Value> parse_list(const std::string& option, const std::string& list,
                              const CLI::Validator& check) {
  std::vector<Value> values;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    std::string text = list.substr(begin, end - begin);
    const std::string problem = check(text);
    if (!problem.empty()) throw CLI::ValidationError(option, problem);
    convert(text, values.emplace_back());
    begin = end + 1;
  }
  return values;
}

/// An option that takes values separated by commas.
template <class Value>
CLI::Option* add_list_option(CLI::App& app, const std::string& name, std::vector<Value>& values,
                             const CLI::Validator& check, const std::string& description) {
  const std::string shown = fmt::format("{}", fmt::join(values, ","));
  CLI::Option* option = app.add_option_function<std::string>(
      name,
      [&values, name, check](const std::string& list) {
        values = parse_list<Value>(name, list, check);
      },
      description);
  if (!shown.empty()) option->default_str(shown);
  return option;
}

constexpr int most_servers = 4096;
constexpr int widest_element = 64;

void add_network_options(CLI::App& app, CostOptions& options) {
  CLI::Option* widths = add_list_option(
      app, "--widths", options.widths, whole_number(1, 4096),
      "widths of a network: inputs, then the outputs of every layer; two bits per last output");
  widths->type_name("N,...");
  CLI::Option* network =
      app.add_option("--network", options.network,
                     "network (HDF5, optinc-network/1) instead, also of the installed data")
          ->type_name("FILE")
          ->excludes(widths);
  add_choice_option(app, "--analytic", options.analytic, enum_names<AnalyticForm>(),
                    "analytic network for --servers and --bits instead")
      ->excludes(widths)
      ->excludes(network);
  app.add_option("--servers", options.servers,
                 "servers of a unit: 2 to 64 (default that of --network, else 4)")
      ->check(whole_number(2, 64))
      ->type_name("N");
  app.add_option("--bits", options.bits,
                 "bits per value, even: 4 to 16 (default those of --network or --widths, else 8)")
      ->check(whole_number(4, 16))
      ->type_name("N");
}

void add_mapping_options(CLI::App& app, CostOptions& options) {
  add_list_option(app, "--mapping", options.mappings, one_of(enum_names<Mapping>()),
                  "mappings to compare")
      ->type_name("NAME,...");
  app.add_option("--segment", options.segment,
                 "block size of segmented and real_part (default: the smaller side of each weight "
                 "matrix)")
      ->check(whole_number_of_key("network.segment"))
      ->type_name("N");
  app.add_option("--segmented-layers", options.segmented_layers,
                 "one more mapping: these layers, counted from 1, segmented, the others svd")
      ->type_name("FIRST-LAST");
  add_choice_option(app, "--mesh", options.mesh, enum_names<Topology::Kind>(),
                    "topology of the meshes");
  add_list_option(app, "--cascade-layers", options.cascade_layers, CLI::Validator(),
                  "widths of the square layers that each unit of a cascade has in addition, or "
                  "none (default 64,64 for networks with a hidden width of 64, else none)")
      ->type_name("N,...|none");
}

void add_step_options(CLI::App& app, CostOptions& options) {
  std::vector<std::string> workloads;
  for (const Workload& workload : Hardware().workloads()) workloads.push_back(workload.name);
  add_list_option(app, "--traffic-servers", options.traffic_servers, whole_number(2, most_servers),
                  "numbers of servers in table traffic")
      ->type_name("N,...");
  add_list_option(app, "--workload", options.workloads, one_of(workloads),
                  fmt::format("models to train: {} (default all)", fmt::join(workloads, ", ")))
      ->type_name("NAME,...");
  add_list_option(app, "--batch", options.batches, whole_number(1, 1000000000),
                  "samples per server and step")
      ->type_name("N,...");
  add_list_option(app, "--step-bits", options.step_bits, whole_number(1, widest_element),
                  "bits per gradient element in table step; OptINC takes even ones from 4 to 16")
      ->type_name("N,...");
  app.add_option("--baseline-bits", options.baseline_bits,
                 "bits per gradient element of the ring that reductions refer to")
      ->check(whole_number(1, widest_element))
      ->type_name("N")
      ->capture_default_str();
  add_list_option(app, "--reduction", options.reductions, number_between(0.0001, 0.9999),
                  "reductions of the step time in table reduction (default what the paper "
                  "published: 0.25 for ResNet-50, 0.17 for LLaMA)")
      ->type_name("SHARE,...");
}

CommandAction declare_cost(CLI::App& app) {
  const auto options = std::make_shared<CostOptions>();
  add_network_options(app, *options);
  add_mapping_options(app, *options);
  app.add_option("--hardware", options->hardware,
                 "TOML file with keys of docs/hardware.md, also of the installed data")
      ->type_name("FILE");
  app.add_option("--set", options->settings, "one of these keys, e.g. loss.mzi_db=0.1; repeatable")
      ->type_name("PATH=VALUE")
      ->allow_extra_args(false);
  add_step_options(app, *options);
  add_list_option(app, "--table", options->tables, one_of(table_names()),
                  fmt::format("tables to print: {} (default all with --json, else all but link and "
                              "noise)",
                              fmt::join(table_names(), ", ")))
      ->type_name("NAME,...");
  CLI::Option* csv = app.add_flag("--csv", options->csv, "print one table as CSV");
  app.add_flag("--json", options->json, "print JSON: network, hardware, rows")->excludes(csv);
  add_out_option(app, options->out);
  return [options](CommandContext& context) { return run(context, *options); };
}

}  // namespace

std::vector<Command> cost_commands() {
  return {
      {.name = "cost",
       .summary = "MZIs, losses, link budget, traffic and step time of a unit",
       .description =
           "Counts the MZIs of a network in every mapping, alone and as a cascade of units, "
           "follows "
           "the light from laser to slicer, and compares training steps with gradients averaged "
           "by OptINC and by electrical networks, by the alpha-beta model.\n\n"
           "Nothing is simulated: every figure follows from the shape of the network and the "
           "hardware's values. Those have defaults; --hardware gives a file of others and --set "
           "single ones. data/hardware/optinc_paper.toml holds what the paper states. Equations "
           "and assumptions: docs/cost.md.\n\n"
           "Columns of the tables: `optinc schema`. The cascade has as many first-level units as a "
           "unit has servers.",
       .examples = {{"optinc cost --table structure,layers",
                     "The paper's 8-bit network for 4 servers:"},
                    {"optinc cost --widths 4,64,128,256,512,256,128,64,8 --segmented-layers 4-6",
                     "Its 16-bit network with three layers approximated:"},
                    {"optinc cost --analytic pipeline --servers 16 --table structure",
                     "An analytic network:"},
                    {"optinc cost --hardware data/hardware/optinc_paper.toml --table step --batch "
                     "1,4,16,64,256 --step-bits 8,16,32 --csv --out step.csv",
                     "Step time against batch size and precision:"}},
       .declare = declare_cost}};
}

}  // namespace optinc
