// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "apps/accuracy_json.hpp"
#include "apps/command.hpp"
#include "apps/onn_train.hpp"
#include "apps/options.hpp"
#include "solver/names.hpp"
#include "solver/onn/accuracy.hpp"
#include "solver/onn/analytic.hpp"
#include "solver/onn/mapping.hpp"
#include "solver/onn/network_file.hpp"
#include "solver/optinc/chip.hpp"

namespace optinc {
namespace {

struct BuildOptions {
  int servers = 4;
  FormatOptions format;
  std::string form = enum_name(AnalyticForm::ripple);
  std::string step = "clipped_relu";
  std::string out;
};

struct CheckOptions {
  std::string network;
  std::string mapping = "none";
  std::optional<int> segment;
  std::string mesh = enum_name(Topology::Kind::clements);
  std::uint64_t max_codes = 4194304;
  std::uint64_t sample_seed = 1;
  BackendOptions backend;
  bool json = false;
};

/// Structure of a network as hardware.
struct NetworkShape {
  std::vector<Eigen::Index> widths;  ///< inputs, then the outputs of every layer
  std::vector<double> gains;         ///< per layer: what its passive optics are divided by
  std::vector<std::int64_t> depths;  ///< per layer: MZI columns on the longest path
  std::int64_t mzi_count = 0;
};

NetworkShape shape_of(const Network& network, const MappedNetwork& mapped) {
  NetworkShape shape;
  shape.widths.push_back(network.format.inputs());
  for (const MappedLayer& layer : mapped.layers) {
    shape.widths.push_back(layer.bias.size());
    shape.gains.push_back(layer.gain);
    std::int64_t depth = 0;
    for (const MappedBlock& block : layer.blocks) depth = std::max(depth, block.depth());
    shape.depths.push_back(depth);
  }
  shape.mzi_count = mapped.mzi_count();
  return shape;
}

ExitCode run_build(const CommandContext& context, const BuildOptions& options) {
  require_file_out(options.out);
  const AnalyticOptions analytic{
      .form = parse_enum<AnalyticForm>(options.form).value(),
      .step = options.step == "relu" ? Activation::relu : Activation::clipped_relu};
  const Network network =
      build_analytic_network(requested_format(options.format, options.servers), analytic);
  write_network(options.out, network);
  const NetworkShape shape = shape_of(network, map_network(network, {}));
  context.out << fmt::format("wrote {}: {} network, widths {}, {} MZIs by SVD\n", options.out,
                             network.kind, fmt::join(shape.widths, "-"), shape.mzi_count);
  return ExitCode::done;
}

CommandAction declare_build(CLI::App& app) {
  auto options = std::make_shared<BuildOptions>();
  app.add_option("--servers", options->servers, "servers N that are averaged: 2 to 64")
      ->capture_default_str();
  add_format_options(app, options->format);
  add_fraction_options(app, options->format);
  add_choice_option(app, "--form", options->form, enum_names<AnalyticForm>(),
                    "how the digits are resolved");
  add_choice_option(app, "--step", options->step, {"clipped_relu", "relu"},
                    "nonlinearity of the hidden layers");
  app.add_option("--out", options->out, "file to write (HDF5, optinc-network/1)")
      ->type_name("FILE")
      ->required();
  return [options](CommandContext& context) { return run_build(context, *options); };
}

std::vector<RealLayer> checked_layers(const Network& network, const MappedNetwork& mapped,
                                      const Backend& backend, const std::string& mapping) {
  if (mapping == "none") return dense_layers(network);
  return ideal_layers(mapped, backend);
}

void print_json(std::ostream& out, const Network& network, const NetworkShape& shape,
                const NetworkAccuracy& accuracy, const CheckOptions& options,
                const std::string& backend) {
  nlohmann::ordered_json document = accuracy_json(accuracy);
  document.update({{"kind", network.kind},
                   {"servers", network.format.servers},
                   {"bits", network.format.bits},
                   {"digits_per_input", network.format.digits_per_input},
                   {"rounding", enum_name(network.format.rounding)},
                   {"input_fraction_digits", network.format.input_fraction_digits},
                   {"output_fraction_digits", network.format.output_fraction_digits},
                   {"mapping", options.mapping},
                   {"mesh", options.mesh},
                   {"backend", backend},
                   {"widths", shape.widths},
                   {"mzi_count", shape.mzi_count},
                   {"depths", shape.depths},
                   {"layer_gains", shape.gains}});
  out << document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << '\n';
}

/// The digits behind the point of a unit of a cascade.
std::string fraction_text(const CodeFormat& format) {
  std::string text;
  if (format.input_fraction_digits > 0) {
    text += fmt::format(", takes {} fraction digits", format.input_fraction_digits);
  }
  if (format.output_fraction_digits > 0) {
    text += fmt::format(", gives {} fraction digits", format.output_fraction_digits);
  }
  return text;
}

void print_text(std::ostream& out, const Network& network, const NetworkShape& shape,
                const NetworkAccuracy& accuracy, const CheckOptions& options,
                const std::string& backend) {
  const std::string extent = accuracy.exhaustive
                                 ? "all of them"
                                 : fmt::format("a sample of {:.3g}, seed {}",
                                               network.format.alphabet_size(), options.sample_seed);
  out << fmt::format("{:<24} {}, {} servers, {} bits, {} digits per input, {}{}\n", "network",
                     network.kind, network.format.servers, network.format.bits,
                     network.format.digits_per_input, enum_name(network.format.rounding),
                     fraction_text(network.format));
  out << fmt::format("{:<24} {}\n", "widths", fmt::join(shape.widths, "-"));
  out << fmt::format("{:<24} {}\n", "MZIs", shape.mzi_count);
  out << fmt::format("{:<24} {}\n", "MZI columns per layer", fmt::join(shape.depths, ", "));
  out << fmt::format("{:<24} {:.4g}\n", "gain per layer", fmt::join(shape.gains, ", "));
  out << fmt::format("{:<24} {}, {} backend\n", "mapping", options.mapping, backend);
  out << fmt::format("{:<24} {} ({})\n", "codes", accuracy.codes, extent);
  out << fmt::format("{:<24} {} ({:.6f})\n", "correct", accuracy.correct, accuracy.accuracy());
  out << fmt::format("{:<24} {:.3g} digits, margin {:.3g}\n", "largest output error",
                     accuracy.max_error_digits, accuracy.margin_digits());
}

/// The mapping whose size is printed; with none it is the one the network is made for.
MappingOptions mapping_of(const CheckOptions& options) {
  MappingOptions mapping;
  mapping.mapping = parse_enum<Mapping>(options.mapping);
  mapping.mesh = parse_enum<Topology::Kind>(options.mesh).value();
  if (options.segment) mapping.segment = *options.segment;
  return mapping;
}

ExitCode run_check(const CommandContext& context, const CheckOptions& options) {
  const Network network = read_network(options.network);
  const std::unique_ptr<Backend> backend = create_backend(options.backend, context.registry);
  const MappedNetwork mapped = map_network(network, mapping_of(options));
  const NetworkAccuracy accuracy =
      measure_accuracy(checked_layers(network, mapped, *backend, options.mapping), network.format,
                       *backend, {.max_codes = options.max_codes, .seed = options.sample_seed});
  const NetworkShape shape = shape_of(network, mapped);
  if (options.json) {
    print_json(context.out, network, shape, accuracy, options, backend->name());
  } else {
    print_text(context.out, network, shape, accuracy, options, backend->name());
  }
  return ExitCode::done;
}

CommandAction declare_check(CLI::App& app) {
  auto options = std::make_shared<CheckOptions>();
  app.add_option("NETWORK", options->network, "network (HDF5, optinc-network/1)")->required();
  std::vector<std::string> mappings = {"none"};
  for (const std::string& name : enum_names<Mapping>()) mappings.push_back(name);
  mappings.emplace_back(as_trained);
  add_choice_option(app, "--mapping", options->mapping, mappings,
                    "none: the weights as they are; else through decomposed, ideal meshes, with "
                    "as_trained those that the network is made for. The size is that of the "
                    "mapping, with none that of as_trained");
  app.add_option("--segment", options->segment,
                 "side of the square blocks that a weight matrix is cut into (default: its smaller "
                 "side, with svd the whole matrix)")
      ->check(whole_number_of_key("network.segment"))
      ->type_name("N");
  add_choice_option(app, "--mesh", options->mesh, enum_names<Topology::Kind>(),
                    "topology of the meshes");
  app.add_option("--max-codes", options->max_codes,
                 "above this many codes, look at a sample of this size")
      ->check(any_count())
      ->capture_default_str();
  app.add_option("--sample-seed", options->sample_seed, "seed of that sample")
      ->check(any_seed())
      ->capture_default_str();
  add_backend_options(app, options->backend);
  app.add_flag("--json", options->json, "print JSON instead of text");
  return [options](CommandContext& context) { return run_check(context, *options); };
}

Command build_command() {
  Command build;
  build.name = "onn build";
  build.summary = "write an optical network that is exact by construction";
  build.description =
      "Builds a network that gives the digits of the rounded average for every code, without "
      "training, and writes it as HDF5.\n\n"
      "The ripple form passes carries from the lowest digit up. It exists for 2 and 4 servers and "
      "one digit per input. The pipeline form resolves digits from the top like a pipelined "
      "converter. It exists for 2 to 64 servers, is smaller, and asks for far more precise "
      "optics.\n\n"
      "Units of a cascade take or give digits behind the point (docs/cascade.md).\n\n"
      "A step is one unit of a clipped ReLU or two units of a plain ReLU (relu, "
      "homodyne_relu in the file).";
  build.examples = {
      {"optinc onn build --servers 4 --bits 8 --out ripple.h5", "the shipped ripple network"},
      {"optinc onn build --servers 7 --bits 6 --rounding half_even --form pipeline --out p.h5",
       "an odd number of servers, ties to even"},
      {"optinc onn build --servers 4 --bits 8 --output-fraction-digits 1 --out level1.h5",
       "level 1 of a cascade: the exact average with its fraction"},
      {"optinc onn build --servers 4 --bits 8 --input-fraction-digits 1 --out level2.h5",
       "level 2 of that cascade"}};
  build.declare = declare_build;
  return build;
}

Command check_command() {
  Command check;
  check.name = "onn check";
  check.summary = "measure the accuracy of a network over all its codes";
  check.description =
      "Evaluates a network on every code of its alphabet, without noise, and counts the codes "
      "whose digits are all right. Prints the largest distance of an output from its digit, the "
      "margin that is left to the slicer, the size of the network as MZIs, and for each layer the "
      "MZI "
      "columns that light passes and the gain, which amplifies the errors of its meshes.\n\n"
      "An alphabet above --max-codes is sampled with uniform independent levels; the result then "
      "says \"exhaustive\": false.";
  check.examples = {
      {"optinc onn check data/networks/analytic_ripple_4servers_8bits.h5", "all 28,561 codes"},
      {"optinc onn check ripple.h5 --mapping svd --json", "through ideal meshes, for a script"},
      {"optinc onn check ripple.h5 --mapping real_part --segment 8", "as blocks of 8 modes"}};
  check.declare = declare_check;
  return check;
}

}  // namespace

std::vector<Command> onn_commands() { return {build_command(), train_command(), check_command()}; }

}  // namespace optinc
