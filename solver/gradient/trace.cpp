// SPDX-License-Identifier: Apache-2.0
#include "solver/gradient/trace.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "solver/error.hpp"
#include "solver/io/atomic_file.hpp"
#include "solver/io/hdf5_file.hpp"

namespace optinc {
namespace {

constexpr const char* trace_format = "optinc-gradient-trace/1";
constexpr const char* gradient_group = "gradient";

std::string dataset_name(const std::string& tensor) {
  return fmt::format("{}/{}", gradient_group, tensor);
}

}  // namespace

struct GradientTrace::Impl {
  Impl(const std::filesystem::path& path, std::optional<int> first_servers) : file(path) {
    check_format();
    read_servers();
    read_tensors();
    check_every_dataset_is_listed();
    attributes = file.attributes("/");
    servers = first_servers.value_or(servers_in_file);
    check_servers();
  }

  [[noreturn]] void fail(const std::string& problem, const std::string& reason,
                         const std::string& advice) const {
    throw DataError(fmt::format("{}: {} ({}); {}", file.path().string(), problem, reason, advice));
  }

  void check_format() const {
    const std::string format = file.read_string("/", "format");
    if (format != trace_format) {
      fail("not a gradient trace", fmt::format("attribute format is '{}'", format),
           fmt::format("give a file whose format is '{}'", trace_format));
    }
  }

  void read_servers() {
    const std::int64_t count = file.read_int("/", "servers");
    if (count < 2 || count > 64) {
      fail(fmt::format("a trace of {} servers cannot be averaged", count),
           "attribute servers is outside 2 to 64", "record 2 to 64 servers");
    }
    servers_in_file = static_cast<int>(count);
  }

  void check_servers() const {
    if (servers >= 2 && servers <= servers_in_file) return;
    throw ConfigError(fmt::format("{} servers of {} are asked for (it has {}); give 2 to {}",
                                  servers, file.path().string(), servers_in_file, servers_in_file));
  }

  void read_tensors() {
    std::set<std::string> seen;
    for (std::string& name : file.read_strings("/", "tensors")) {
      if (!seen.insert(name).second) {
        fail(fmt::format("tensor '{}' is listed twice", name), "attribute tensors",
             "list every tensor once");
      }
      const std::uint64_t count = checked_elements(name);
      if (count > std::numeric_limits<std::uint64_t>::max() - elements) {
        fail("the tensors have too many elements", "their number overflows 64 bits",
             "check the shapes");
      }
      elements += count;
      tensors.push_back({std::move(name), count});
    }
    if (tensors.empty()) {
      fail("the trace is empty", "attribute tensors lists nothing", "list at least one tensor");
    }
  }

  std::uint64_t checked_elements(const std::string& tensor) const {
    const std::string name = dataset_name(tensor);
    if (!file.has(name)) {
      fail(fmt::format("dataset {} is missing", name), "attribute tensors lists it",
           "add the dataset or take it off the list");
    }
    const Hdf5Dataset dataset = file.dataset(name);
    const std::vector<std::uint64_t>& shape = dataset.shape();
    if (shape.size() != 2 || shape[0] != static_cast<std::uint64_t>(servers_in_file) ||
        shape[1] == 0) {
      fail(fmt::format("dataset {} has shape [{}]", name, fmt::join(shape, ", ")),
           fmt::format("expected [{}, elements], one row per server", servers_in_file),
           "correct the dataset or the attribute servers");
    }
    if (dataset.float_bits() == 0) {
      fail(fmt::format("dataset {} is not of type float16, float32 or float64", name),
           "gradients are IEEE floating-point numbers", "convert it");
    }
    return shape[1];
  }

  /// Tensor names may hold slashes, so a member of the group may be a folder of tensors.
  void check_every_dataset_is_listed() const {
    std::set<std::string> listed;
    for (const TraceTensor& tensor : tensors) {
      listed.insert(tensor.name.substr(0, tensor.name.find('/')));
    }
    for (const std::string& member : file.children(gradient_group)) {
      if (listed.count(member) == 0) {
        fail(fmt::format("dataset {} would be ignored", dataset_name(member)),
             "attribute tensors does not list it", "list or remove it");
      }
    }
  }

  const Hdf5Dataset& opened(std::size_t tensor) {
    if (!open_dataset || open_tensor != tensor) {
      open_dataset.reset();
      open_dataset = file.dataset(dataset_name(tensors.at(tensor).name));
      open_tensor = tensor;
    }
    return *open_dataset;
  }

  void check_finite(std::size_t tensor, int server, std::uint64_t first, std::uint64_t count,
                    const float* row) const {
    const float* bad = std::find_if_not(row, row + count, [](float g) { return std::isfinite(g); });
    if (bad == row + count) return;
    fail(fmt::format("{} in tensor '{}', server {}, index {}", *bad, tensors[tensor].name, server,
                     first + static_cast<std::uint64_t>(bad - row)),
         "gradients must be finite float32 numbers", "record the trace again from a finite step");
  }

  Hdf5File file;
  int servers_in_file = 0;
  int servers = 0;  ///< the first ones, which are read
  std::uint64_t elements = 0;
  std::vector<TraceTensor> tensors;
  std::vector<std::pair<std::string, std::string>> attributes;
  std::optional<Hdf5Dataset> open_dataset;  ///< kept between reads for its chunk cache
  std::size_t open_tensor = 0;
};

GradientTrace::GradientTrace(const std::filesystem::path& path, std::optional<int> servers)
    : impl_(std::make_unique<Impl>(path, servers)) {}
GradientTrace::~GradientTrace() = default;
GradientTrace::GradientTrace(GradientTrace&&) noexcept = default;
GradientTrace& GradientTrace::operator=(GradientTrace&&) noexcept = default;

int GradientTrace::servers() const { return impl_->servers; }
const std::vector<TraceTensor>& GradientTrace::tensors() const { return impl_->tensors; }
std::uint64_t GradientTrace::elements() const { return impl_->elements; }
const std::vector<std::pair<std::string, std::string>>& GradientTrace::attributes() const {
  return impl_->attributes;
}

void GradientTrace::read(std::size_t tensor, std::uint64_t first, std::uint64_t count, float* out,
                         std::size_t stride) const {
  impl_->opened(tensor).read_columns(first, count, out, stride,
                                     static_cast<std::uint64_t>(impl_->servers));
  for (int server = 0; server < impl_->servers; ++server) {
    impl_->check_finite(tensor, server, first, count,
                        out + static_cast<std::size_t>(server) * stride);
  }
}

void write_trace(const std::filesystem::path& path, const TraceData& data) {
  if (data.values.size() != data.tensors.size()) {
    throw DataError(fmt::format("cannot write {} ({} tensors are named, {} have values)",
                                path.string(), data.tensors.size(), data.values.size()));
  }
  Hdf5Writer writer;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < data.tensors.size(); ++i) {
    const TraceTensor& tensor = data.tensors[i];
    names.push_back(tensor.name);
    writer.write_dataset(dataset_name(tensor.name),
                         {static_cast<std::uint64_t>(data.servers), tensor.elements},
                         data.values[i]);
  }
  writer.write_string("/", "format", trace_format);
  writer.write_int("/", "servers", data.servers);
  writer.write_strings("/", "tensors", names);
  writer.write_string("/", "workload", data.workload);
  writer.write_string("/", "model", data.model);
  writer.write_int("/", "step", data.step);
  writer.write_int("/", "batch_per_server", data.batch_per_server);
  writer.write_string("/", "note", data.note);
  writer.save(path);
}

void write_gradient_file(const std::filesystem::path& path, const GradientFileHeader& header,
                         const std::function<void(const GradientSink&)>& produce) {
  replace_atomically(path, [&](const std::filesystem::path& temporary) {
    Hdf5Writer writer(temporary, path);
    std::vector<std::string> names;
    for (const TraceTensor& tensor : header.tensors) names.push_back(tensor.name);
    writer.write_string("/", "format", header.format);
    writer.write_int("/", "servers", header.servers);
    writer.write_strings("/", "tensors", names);
    for (const auto& [name, value] : header.attributes) writer.write_string("/", name, value);
    std::size_t open_tensor = names.size();
    produce([&](std::size_t tensor, std::uint64_t first, std::uint64_t count, const float* values,
                std::size_t stride) {
      const std::string dataset = dataset_name(names.at(tensor));
      if (tensor != open_tensor) {
        writer.create_matrix(dataset, header.rows, header.tensors[tensor].elements,
                             header.compressed);
        open_tensor = tensor;
      }
      writer.write_columns(dataset, first, count, values, stride);
    });
    writer.close();
  });
}

void write_trace(const std::filesystem::path& path, const GradientSource& source,
                 const TraceAttributes& attributes) {
  constexpr std::uint64_t piece = 65536;
  const auto servers = static_cast<std::uint64_t>(source.servers());
  const GradientFileHeader header{.format = trace_format,
                                  .rows = servers,
                                  .servers = source.servers(),
                                  .tensors = source.tensors(),
                                  .attributes = attributes,
                                  .compressed = false};
  write_gradient_file(path, header, [&](const GradientSink& sink) {
    std::vector<float> values(servers * std::min(piece, source.elements()));
    for (std::size_t tensor = 0; tensor < header.tensors.size(); ++tensor) {
      const std::uint64_t elements = header.tensors[tensor].elements;
      for (std::uint64_t first = 0; first < elements; first += piece) {
        const std::uint64_t count = std::min(piece, elements - first);
        source.read(tensor, first, count, values.data(), count);
        sink(tensor, first, count, values.data(), count);
      }
    }
  });
}

}  // namespace optinc
