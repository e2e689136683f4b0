// SPDX-License-Identifier: Apache-2.0
// Bad traces and networks.
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "solver/io/hdf5_file.hpp"
#include "tests/apps/bad_input.hpp"
#include "tests/support/raw_hdf5.hpp"

namespace optinc::test {

namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();

/// A trace by its parts; a part without a value is left out.
struct RawTrace {
  std::optional<std::string> format = "optinc-gradient-trace/1";
  std::optional<std::int64_t> servers = 2;
  std::optional<std::vector<std::string>> tensors = {{"w"}};
  std::vector<std::uint64_t> shape = {2, 4};
  std::vector<float> values = {1, 2, 3, 4, 5, 6, 7, 8};

  void write() const {
    Hdf5Writer writer;
    writer.create_group("gradient");
    if (format) writer.write_string("/", "format", *format);
    if (servers) writer.write_int("/", "servers", *servers);
    if (tensors) writer.write_strings("/", "tensors", *tensors);
    writer.write_dataset("gradient/w", shape, values);
    writer.save("g.h5");
  }
};

std::function<void()> trace_with(const std::function<void(RawTrace&)>& change) {
  return [change] {
    RawTrace trace;
    change(trace);
    trace.write();
  };
}

/// A network of one layer by its parts; a part without a value is left out.
struct RawNetwork {
  std::map<std::string, std::string> texts = {
      {"format", "optinc-network/1"}, {"rounding", "half_up"}, {"kind", "test"}};
  std::map<std::string, std::int64_t> integers = {
      {"servers", 2}, {"bits", 4}, {"digits_per_input", 1}, {"code_offset", 8}};
  std::string layer = "layer/0";
  std::optional<std::vector<std::uint64_t>> weight_shape = {{2, 2}};
  std::vector<double> weight = {1, 0, 0, 1};
  std::optional<std::vector<double>> bias = {{0, 0}};
  std::optional<std::string> activation = "identity";

  void write() const {
    Hdf5Writer writer;
    for (const auto& [name, value] : texts) writer.write_string("/", name, value);
    for (const auto& [name, value] : integers) writer.write_int("/", name, value);
    writer.create_group(layer);
    if (activation) writer.write_string(layer, "activation", *activation);
    if (weight_shape) writer.write_dataset(layer + "/weight", *weight_shape, weight);
    if (bias) writer.write_dataset(layer + "/bias", {bias->size()}, *bias);
    writer.save("b.h5");
  }
};

std::function<void()> network_with(const std::function<void(RawNetwork&)>& change) {
  return [change] {
    RawNetwork network;
    change(network);
    network.write();
  };
}

/// g.h5: the first bytes of a file.
std::function<void()> first_bytes_of(const std::string& file, double share) {
  return [file, share] {
    const std::string whole = read_text(file);
    const auto size = static_cast<std::size_t>(share * static_cast<double>(whole.size()));
    write_text("g.h5", whole.substr(0, size));
  };
}

/// g.h5: a trace whose dataset holds integers.
void write_integer_trace() {
  RawTrace trace;
  trace.tensors = {{"w", "v"}};
  trace.write();
  const std::vector<int> values(8, 1);
  append_raw("g.h5", "gradient/v", H5T_STD_I32LE, H5T_NATIVE_INT, {2, 4}, values.data());
}

/// b.h5: a network that claims a dataset of that shape, in a file of a few KiB.
std::function<void()> network_claiming(const std::string& object,
                                       const std::vector<hsize_t>& shape) {
  return [object, shape] {
    RawNetwork network;
    if (object == "weight") network.weight_shape.reset();
    if (object == "bias") network.bias.reset();
    network.write();
    append_raw("b.h5", "layer/0/" + object, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, shape, nullptr);
  };
}

}  // namespace

std::vector<BadInput> bad_traces() {
  const std::vector<std::string> info = words("trace info g.h5");
  return {
      {"trace: no such file", words("trace info none.h5"), 3, {"none.h5", "no such file", "check"}},
      {"trace: a folder", words("trace info ."), 3, {"cannot open . as HDF5", "Is a directory"}},
      {"trace: empty file", info, 3, {"g.h5", "file signature not found"}, text_file("g.h5", "")},
      {"trace: garbage",
       info,
       3,
       {"g.h5", "file signature not found", "check that it is a complete"},
       text_file("g.h5", std::string(3000, 'x'))},
      {"trace: cut behind the signature",
       info,
       3,
       {"g.h5", "complete HDF5 file"},
       first_bytes_of("t.h5", 0.002)},
      {"trace: cut in half",
       info,
       3,
       {"g.h5", "truncated file", "check that it is a complete"},
       first_bytes_of("t.h5", 0.5)},
      {"trace: last byte missing",
       info,
       3,
       {"g.h5", "truncated file"},
       first_bytes_of("t.h5", 0.9999)},
      {"trace: format missing",
       info,
       3,
       {"attribute format in g.h5", "it is missing"},
       trace_with([](RawTrace& trace) { trace.format.reset(); })},
      {"trace: servers missing",
       info,
       3,
       {"attribute servers in g.h5", "it is missing"},
       trace_with([](RawTrace& trace) { trace.servers.reset(); })},
      {"trace: tensors missing",
       info,
       3,
       {"attribute tensors in g.h5", "it is missing"},
       trace_with([](RawTrace& trace) { trace.tensors.reset(); })},
      {"trace: a later version",
       info,
       3,
       {"g.h5: not a gradient trace", "optinc-gradient-trace/2", "give a file whose format"},
       trace_with([](RawTrace& trace) { trace.format = "optinc-gradient-trace/2"; })},
      {"trace: a network in its place",
       words("trace stats n.h5"),
       3,
       {"n.h5: not a gradient trace", "optinc-network/1"}},
      {"trace: 0 servers",
       info,
       3,
       {"g.h5", "0 servers", "record 2 to 64 servers"},
       trace_with([](RawTrace& trace) { trace.servers = 0; })},
      {"trace: 1 server",
       info,
       3,
       {"g.h5", "1 servers", "record 2 to 64 servers"},
       trace_with([](RawTrace& trace) { trace.servers = 1; })},
      {"trace: 65 servers",
       info,
       3,
       {"g.h5", "65 servers", "record 2 to 64 servers"},
       trace_with([](RawTrace& trace) { trace.servers = 65; })},
      {"trace: a listed tensor is missing",
       info,
       3,
       {"g.h5: dataset gradient/v is missing", "tensors lists it", "add the dataset"},
       trace_with([](RawTrace& trace) {
         trace.tensors = {{"w", "v"}};
       })},
      {"trace: a tensor is not listed",
       info,
       3,
       {"dataset gradient/v is missing"},
       trace_with([](RawTrace& trace) { trace.tensors = {{"v"}}; })},
      {"trace: a tensor is listed twice",
       info,
       3,
       {"g.h5: tensor 'w' is listed twice"},
       trace_with([](RawTrace& trace) {
         trace.tensors = {{"w", "w"}};
       })},
      {"trace: rows are not the servers",
       info,
       3,
       {"g.h5: dataset gradient/w has shape [4, 2]", "expected [2, elements]", "correct"},
       trace_with([](RawTrace& trace) {
         trace.shape = {4, 2};
       })},
      {"trace: a list in place of a matrix",
       info,
       3,
       {"gradient/w has shape [8]", "expected [2"},
       trace_with([](RawTrace& trace) { trace.shape = {8}; })},
      {"trace: zero elements",
       info,
       3,
       {"g.h5: dataset gradient/w has shape [2, 0]", "correct"},
       trace_with([](RawTrace& trace) {
         trace.shape = {2, 0};
         trace.values.clear();
       })},
      {"trace: integers",
       info,
       3,
       {"g.h5: dataset gradient/v is not of type float16, float32 or float64", "convert it"},
       write_integer_trace},
      {"trace: NaN",
       words("trace stats g.h5"),
       3,
       {"g.h5: nan in tensor 'w', server 1, index 2", "must be finite", "record the trace again"},
       trace_with([](RawTrace& trace) { trace.values[6] = nan; })},
      {"trace: infinity",
       words("average g.h5 --out a.h5 --set network.form=pipeline"),
       3,
       {"g.h5: -inf in tensor 'w', server 0, index 3", "must be finite"},
       trace_with([](RawTrace& trace) { trace.values[3] = -infinity; })},
      {"trace: NaN in a sweep",
       words("sweep c.toml --out r.csv --set workload.trace=g.h5"),
       3,
       {"g.h5: nan in tensor 'w'"},
       trace_with([](RawTrace& trace) { trace.values[0] = nan; })}};
}

std::vector<BadInput> bad_networks() {
  const std::vector<std::string> check = words("onn check b.h5");
  const auto number = [](const std::string& name, std::int64_t value) {
    return network_with([=](RawNetwork& network) { network.integers[name] = value; });
  };
  return {{"network: no such file", words("onn check none.h5"), 3, {"none.h5", "no such file"}},
          {"network: garbage",
           words("onn check c.toml"),
           3,
           {"c.toml", "file signature not found", "check that it is a complete HDF5 file"}},
          {"network: cut in half",
           words("onn check g.h5"),
           3,
           {"g.h5", "truncated file"},
           first_bytes_of("n.h5", 0.5)},
          {"network: a trace in its place",
           words("onn check t.h5"),
           3,
           {"t.h5", "optinc-gradient-trace/1", "must be \"optinc-network/1\""}},
          {"network: bits missing",
           check,
           3,
           {"attribute bits in b.h5", "it is missing"},
           network_with([](RawNetwork& network) { network.integers.erase("bits"); })},
          {"network: kind missing",
           check,
           3,
           {"attribute kind in b.h5", "it is missing"},
           network_with([](RawNetwork& network) { network.texts.erase("kind"); })},
          {"network: servers as text",
           check,
           3,
           {"attribute servers in b.h5", "not an integer"},
           network_with([](RawNetwork& network) {
             network.integers.erase("servers");
             network.texts["servers"] = "two";
           })},
          {"network: odd bits",
           check,
           3,
           {"b.h5: workload.bits = 5 is odd", "give an even number"},
           number("bits", 5)},
          {"network: 65 servers",
           check,
           3,
           {"b.h5: servers = 65 is out of range", "2 to 64"},
           number("servers", 65)},
          {"network: code offset",
           check,
           3,
           {"b.h5: workload.code_offset = 15", "from 1 to 14"},
           number("code_offset", 15)},
          {"network: digits that do not divide",
           check,
           3,
           {"b.h5: network.digits_per_input = 3"},
           number("digits_per_input", 3)},
          {"network: unknown rounding",
           check,
           3,
           {"b.h5", "rounding = \"up\"", "half_even"},
           network_with([](RawNetwork& network) { network.texts["rounding"] = "up"; })},
          {"network: no layers",
           check,
           3,
           {"b.h5: network has no layers"},
           network_with([](RawNetwork& network) { network.layer = "else/0"; })},
          {"network: layers do not start at 0",
           check,
           3,
           {"b.h5: layer has 1 members but none named 0", "without gaps"},
           network_with([](RawNetwork& network) { network.layer = "layer/1"; })},
          {"network: weight missing",
           check,
           3,
           {"layer/0/weight in b.h5", "it is missing"},
           network_with([](RawNetwork& network) { network.weight_shape.reset(); })},
          {"network: bias missing",
           check,
           3,
           {"layer/0/bias in b.h5", "it is missing"},
           network_with([](RawNetwork& network) { network.bias.reset(); })},
          {"network: weight is a list",
           check,
           3,
           {"b.h5: layer/0/weight is not a matrix [out, in]"},
           network_with([](RawNetwork& network) { network.weight_shape = {{4}}; })},
          {"network: weight of 30 GB in a short file",
           check,
           3,
           {"b.h5: layer/0/weight has more than 67108864 elements"},
           network_claiming("weight", {65536, 65536})},
          {"network: bias of 8 TB in a short file",
           check,
           3,
           {"b.h5: layer/0/bias has more than 65536 elements"},
           network_claiming("bias", {hsize_t{1} << 40})},
          {"network: layers do not chain",
           check,
           3,
           {"b.h5: network layer 0: weight takes 4 inputs (the layer before gives 2)"},
           network_with([](RawNetwork& network) {
             network.weight_shape = {{1, 4}};
           })},
          {"network: bias of another length",
           check,
           3,
           {"b.h5: network layer 0: bias has 3 elements (weight gives 2 outputs)"},
           network_with([](RawNetwork& network) {
             network.bias = {{0, 0, 0}};
           })},
          {"network: NaN weight",
           check,
           3,
           {"b.h5: network layer 0", "NaN or infinite"},
           network_with([](RawNetwork& network) { network.weight[2] = static_cast<double>(nan); })},
          {"network: activation missing",
           check,
           3,
           {"attribute layer/0:activation in b.h5", "missing"},
           network_with([](RawNetwork& network) { network.activation.reset(); })},
          {"network: unknown activation",
           check,
           3,
           {"b.h5: layer/0 has activation = \"tanh\"", "known: homodyne_relu"},
           network_with([](RawNetwork& network) { network.activation = "tanh"; })},
          {"network: clip missing",
           check,
           3,
           {"attribute layer/0:clip in b.h5", "it is missing"},
           network_with([](RawNetwork& network) { network.activation = "clipped_relu"; })},
          {"network: for other servers than the trace",
           words("sweep d.toml --out r.csv"),
           2,
           {"t.h5 has 2 servers but", "b.h5 averages 4", "choose a network for 2 servers"},
           [] {
             RawNetwork network;
             network.integers["servers"] = 4;
             network.write();
             write_text("d.toml", "workload.trace = \"t.h5\"\nnetwork.file = \"b.h5\"\n");
           }}};
}

}  // namespace optinc::test
