// SPDX-License-Identifier: Apache-2.0
#include "solver/onn/network_file.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "solver/error.hpp"
#include "solver/io/hdf5_file.hpp"
#include "solver/names.hpp"

namespace optinc {

namespace {

constexpr const char* network_format = "optinc-network/1";

using RowMajorMatrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

[[noreturn]] void fail(const Hdf5File& file, const std::string& object,
                       const std::string& problem) {
  throw DataError(fmt::format("{}: {} {}; docs/formats.md has the layout", file.path().string(),
                              object == "/" ? "the root group" : object, problem));
}

template <class Enum>
Enum read_enum(const Hdf5File& file, const std::string& object, const std::string& name) {
  const std::string text = file.read_string(object, name);
  const std::optional<Enum> value = parse_enum<Enum>(text);
  if (!value) {
    fail(file, object,
         fmt::format("has {} = \"{}\" (known: {})", name, text,
                     fmt::join(enum_names<Enum>(), ", ")));
  }
  return *value;
}

int read_small_int(const Hdf5File& file, const std::string& name) {
  const std::int64_t value = file.read_int("/", name);
  if (value < 0 || value > 1'000'000)
    fail(file, "/", fmt::format("has {} = {}, which is out of range", name, value));
  return static_cast<int>(value);
}

CodeFormat read_format(const Hdf5File& file) {
  CodeFormat format;
  format.servers = read_small_int(file, "servers");
  format.bits = read_small_int(file, "bits");
  format.digits_per_input = read_small_int(file, "digits_per_input");
  format.rounding = read_enum<Rounding>(file, "/", "rounding");
  format.code_offset = file.read_int("/", "code_offset");
  return format;
}

/// Features of the schema that a mapped or trained network may carry and this version cannot
/// honour.
void refuse_unbuilt(const Hdf5File& file, const std::string& group) {
  for (const std::string& member : file.children(group)) {
    if (member == "sigma" || member == "mesh") {
      fail(file, group,
           "holds mapped meshes (sigma, mesh), which are part of the design and not built yet");
    }
    if (member != "weight" && member != "bias") {
      fail(file, group, fmt::format("has a member {} (it would be ignored)", member));
    }
  }
  if (file.has_attribute(group, "topology") && file.read_string(group, "topology") != "clements") {
    fail(file, group,
         fmt::format("has topology = \"{}\", which is part of the design and not built yet (known: "
                     "clements)",
                     file.read_string(group, "topology")));
  }
}

LayerMapping read_mapping(const Hdf5File& file, const std::string& group) {
  LayerMapping mapping;
  if (file.has_attribute(group, "mapping")) {
    mapping.mapping = read_enum<Mapping>(file, group, "mapping");
  }
  if (file.has_attribute(group, "segment")) {
    constexpr std::int64_t largest_segment = 4096;
    const std::int64_t segment = file.read_int(group, "segment");
    if (segment < 1 || segment > largest_segment) {
      fail(file, group,
           fmt::format("has segment = {}, which is out of range (1 .. {})", segment,
                       largest_segment));
    }
    mapping.segment = static_cast<int>(segment);
  }
  return mapping;
}

NetworkLayer read_layer(const Hdf5File& file, const std::string& group) {
  refuse_unbuilt(file, group);
  const Hdf5Dataset weight = file.dataset(group + "/weight");
  const Hdf5Dataset bias = file.dataset(group + "/bias");
  if (weight.shape().size() != 2) fail(file, group + "/weight", "is not a matrix [out, in]");
  if (bias.shape().size() != 1) fail(file, group + "/bias", "is not a vector [out]");
  constexpr std::uint64_t largest_dimension = 65536;
  if (weight.shape()[0] > largest_dimension || weight.shape()[1] > largest_dimension) {
    fail(file, group + "/weight",
         fmt::format("has more than {} rows or columns", largest_dimension));
  }
  // A short file may claim any size: what it claims must not fill the memory.
  constexpr std::uint64_t most_weights = std::uint64_t{1} << 26;
  if (weight.size() > most_weights) {
    fail(file, group + "/weight", fmt::format("has more than {} elements", most_weights));
  }
  if (bias.size() > largest_dimension) {
    fail(file, group + "/bias", fmt::format("has more than {} elements", largest_dimension));
  }
  const std::vector<double> weights = weight.read_all();
  const std::vector<double> biases = bias.read_all();
  NetworkLayer layer;
  layer.weight =
      Eigen::Map<const RowMajorMatrix>(weights.data(), static_cast<Eigen::Index>(weight.shape()[0]),
                                       static_cast<Eigen::Index>(weight.shape()[1]));
  layer.bias =
      Eigen::Map<const Eigen::VectorXd>(biases.data(), static_cast<Eigen::Index>(biases.size()));
  layer.activation = read_enum<Activation>(file, group, "activation");
  if (layer.activation == Activation::clipped_relu) layer.clip = file.read_double(group, "clip");
  layer.mapping = read_mapping(file, group);
  return layer;
}

std::string layer_group(std::size_t index) { return fmt::format("layer/{}", index); }

void write_layer(Hdf5Writer& writer, const std::string& group, const NetworkLayer& layer) {
  const RowMajorMatrix weight = layer.weight;
  writer.create_group(group);
  writer.write_string(group, "activation", enum_name(layer.activation));
  if (layer.activation == Activation::clipped_relu) writer.write_double(group, "clip", layer.clip);
  writer.write_string(group, "mapping", enum_name(layer.mapping.mapping));
  if (layer.mapping.segment > 0) writer.write_int(group, "segment", layer.mapping.segment);
  writer.write_string(group, "topology", "clements");
  writer.write_dataset(
      group + "/weight",
      {static_cast<std::uint64_t>(weight.rows()), static_cast<std::uint64_t>(weight.cols())},
      std::vector<double>(weight.data(), weight.data() + weight.size()));
  writer.write_dataset(
      group + "/bias", {static_cast<std::uint64_t>(layer.bias.size())},
      std::vector<double>(layer.bias.data(), layer.bias.data() + layer.bias.size()));
}

}  // namespace

Network read_network(const std::filesystem::path& path) {
  const Hdf5File file(path);
  const std::string format = file.read_string("/", "format");
  if (format != network_format) {
    fail(file, "/", fmt::format("has format = \"{}\" (must be \"{}\")", format, network_format));
  }
  Network network{.format = read_format(file), .kind = file.read_string("/", "kind"), .layers = {}};
  const std::size_t layers = file.has("layer") ? file.children("layer").size() : 0;
  for (std::size_t i = 0; i < layers; ++i) {
    if (!file.has(layer_group(i))) {
      fail(file, "layer",
           fmt::format("has {} members but none named {} (layers are named 0, 1, ... without gaps)",
                       layers, i));
    }
    network.layers.push_back(read_layer(file, layer_group(i)));
  }
  try {
    validate(network);
  } catch (const UserError& error) {
    throw DataError(fmt::format("{}: {}", path.string(), error.what()));
  }
  return network;
}

void write_network(const std::filesystem::path& path, const Network& network) {
  validate(network);
  Hdf5Writer writer;
  writer.write_string("/", "format", network_format);
  writer.write_int("/", "servers", network.format.servers);
  writer.write_int("/", "bits", network.format.bits);
  writer.write_int("/", "digits_per_input", network.format.digits_per_input);
  writer.write_string("/", "rounding", enum_name(network.format.rounding));
  writer.write_int("/", "code_offset", network.format.code_offset);
  writer.write_string("/", "kind", network.kind);
  for (std::size_t i = 0; i < network.layers.size(); ++i) {
    write_layer(writer, layer_group(i), network.layers[i]);
  }
  writer.save(path);
}

}  // namespace optinc
