// SPDX-License-Identifier: Apache-2.0
#include "solver/io/hdf5_file.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <new>
#include <numeric>
#include <string_view>

#include <fmt/format.h>
#include <hdf5.h>

#include "solver/error.hpp"
#include "solver/io/atomic_file.hpp"

namespace optinc {
namespace {

template <herr_t (*Close)(hid_t)>
class Handle {
 public:
  explicit Handle(hid_t id = H5I_INVALID_HID) : id_(id) {}
  ~Handle() {
    if (id_ >= 0) Close(id_);
  }
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, H5I_INVALID_HID)) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(id_, other.id_);
    return *this;
  }

  bool valid() const { return id_ >= 0; }
  hid_t get() const { return id_; }

  /// Closes before the end of life, to see whether it fails.
  herr_t close() { return valid() ? Close(std::exchange(id_, H5I_INVALID_HID)) : 0; }

 private:
  hid_t id_;
};

using FileHandle = Handle<&H5Fclose>;
using ObjectHandle = Handle<&H5Oclose>;
using DatasetHandle = Handle<&H5Dclose>;
using AttributeHandle = Handle<&H5Aclose>;
using GroupHandle = Handle<&H5Gclose>;
using TypeHandle = Handle<&H5Tclose>;
using SpaceHandle = Handle<&H5Sclose>;
using PropertiesHandle = Handle<&H5Pclose>;

// Attributes larger than this are taken for a damaged file, not allocated.
constexpr std::size_t largest_attribute_bytes = std::size_t{1} << 28;
// Enough to keep one row of chunks of any sensible trace.
constexpr std::size_t largest_chunk_cache_bytes = std::size_t{1} << 28;
constexpr std::size_t default_chunk_cache_bytes = std::size_t{1} << 20;
constexpr std::uint64_t chunk_elements = std::uint64_t{1} << 16;
constexpr std::size_t image_increment_bytes = std::size_t{1} << 20;
constexpr unsigned gzip_level = 6;

/// Comes before anything else of the library. Its cleanup at exit is left out: after a write that
/// failed (a full disk) it tries once more on what is closed by then, and crashes.
void prepare_library() {
  static const herr_t without_cleanup = H5dont_atexit();
  static_cast<void>(without_cleanup);
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

herr_t keep_description(unsigned /*position*/, const H5E_error2_t* error, void* target) {
  auto& text = *static_cast<std::string*>(target);
  if (text.empty() && error->desc != nullptr) text = error->desc;
  return 0;
}

/// HDF5 says of a system call that failed when it was, and all its arguments; what helps is the
/// error of the system.
std::string without_call_details(const std::string& text) {
  const std::size_t details = text.find(": time = ");
  if (details == std::string::npos) return text;
  constexpr std::string_view label = "error message = '";
  const std::size_t start = text.find(label, details);
  if (start == std::string::npos) return text.substr(0, details);
  const std::size_t first = start + label.size();
  return fmt::format("{}: {}", text.substr(0, details),
                     text.substr(first, text.find('\'', first) - first));
}

std::string innermost_reason() {
  std::string text;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, &keep_description, &text);
  return text.empty() ? "HDF5 gives no reason" : without_call_details(text);
}

/// Errors of one file: each names the file, the object and a reason.
class Place {
 public:
  explicit Place(
      std::string file,
      std::string advice = "check that the file is complete and has the documented layout",
      const char* action = "use")
      : file_(std::move(file)), advice_(std::move(advice)), action_(action) {}

  [[noreturn]] void fail(const std::string& object, std::string_view reason) const {
    throw DataError(fmt::format("cannot {} {} in {} ({}); {}", action_,
                                object == "/" ? "the root group" : object, file_, reason, advice_));
  }

  /// `handle`, or the error that HDF5 has just reported about `object`.
  template <typename HandleType>
  HandleType require(HandleType handle, const std::string& object) const {
    if (!handle.valid()) fail(object, innermost_reason());
    return handle;
  }

  void require_success(herr_t status, const std::string& object) const {
    if (status < 0) fail(object, innermost_reason());
  }

 private:
  std::string file_;
  std::string advice_;
  const char* action_;
};

std::string attribute_place(const std::string& object, const std::string& name) {
  return fmt::format("attribute {}{}", object == "/" ? "" : object + ":", name);
}

/// An open attribute with its type and number of values.
class Attribute {
 public:
  Attribute(const Place& place, hid_t file, const std::string& object, const std::string& name)
      : place_(place), label_(attribute_place(object, name)) {
    const ObjectHandle owner =
        place_.require(ObjectHandle(H5Oopen(file, object.c_str(), H5P_DEFAULT)), object);
    if (H5Aexists(owner.get(), name.c_str()) == 0) place_.fail(label_, "it is missing");
    attribute_ =
        place_.require(AttributeHandle(H5Aopen(owner.get(), name.c_str(), H5P_DEFAULT)), label_);
    type_ = place_.require(TypeHandle(H5Aget_type(attribute_.get())), label_);
    space_ = place_.require(SpaceHandle(H5Aget_space(attribute_.get())), label_);
    const hssize_t points = H5Sget_simple_extent_npoints(space_.get());
    place_.require_success(points < 0 ? -1 : 0, label_);
    points_ = static_cast<std::size_t>(points);
    if (points_ * std::max<std::size_t>(1, H5Tget_size(type_.get())) > largest_attribute_bytes ||
        points_ > largest_attribute_bytes) {
      place_.fail(label_, "it is larger than 256 MiB");
    }
  }

  H5T_class_t type_class() const { return H5Tget_class(type_.get()); }
  bool is_scalar() const { return H5Sget_simple_extent_type(space_.get()) == H5S_SCALAR; }

  std::vector<std::string> strings() const {
    if (type_class() != H5T_STRING) place_.fail(label_, "it is not a string");
    return H5Tis_variable_str(type_.get()) > 0 ? variable_strings() : fixed_strings();
  }

  std::vector<std::int64_t> integers() const {
    if (type_class() != H5T_INTEGER) place_.fail(label_, "it is not an integer");
    return numbers<std::int64_t>(H5T_NATIVE_INT64);
  }

  std::vector<double> reals() const {
    if (type_class() != H5T_INTEGER && type_class() != H5T_FLOAT) {
      place_.fail(label_, "it is not a number");
    }
    return numbers<double>(H5T_NATIVE_DOUBLE);
  }

  template <typename Value>
  Value only(std::vector<Value> values) const {
    if (values.size() != 1) {
      place_.fail(label_, fmt::format("it has {} values, not one", values.size()));
    }
    return std::move(values.front());
  }

  /// For listings.
  std::string text() const {
    switch (type_class()) {
      case H5T_STRING:
        return listing(strings());
      case H5T_INTEGER:
        return listing(integers());
      case H5T_FLOAT:
        return listing(reals());
      default:
        return "(not shown)";
    }
  }

 private:
  template <typename Value>
  std::string listing(const std::vector<Value>& values) const {
    if (is_scalar()) return fmt::format("{}", values.front());
    return fmt::format("[{}]", fmt::join(values, ", "));
  }

  template <typename Value>
  std::vector<Value> numbers(hid_t memory_type) const {
    std::vector<Value> values(points_);
    if (points_ > 0) read(memory_type, values.data());
    return values;
  }

  // Strings are read with the type of the file: HDF5 does not convert between ASCII and UTF-8.
  std::vector<std::string> variable_strings() const {
    std::vector<char*> pointers(points_, nullptr);
    if (points_ > 0) read(type_.get(), pointers.data());
    std::vector<std::string> texts;
    texts.reserve(points_);
    for (const char* pointer : pointers) texts.emplace_back(pointer == nullptr ? "" : pointer);
    H5Dvlen_reclaim(type_.get(), space_.get(), H5P_DEFAULT, pointers.data());
    return texts;
  }

  std::vector<std::string> fixed_strings() const {
    const std::size_t length = H5Tget_size(type_.get());
    std::vector<char> bytes(points_ * length);
    if (points_ > 0) read(type_.get(), bytes.data());
    const bool space_padded = H5Tget_strpad(type_.get()) == H5T_STR_SPACEPAD;
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < points_; ++i) {
      const char* first = bytes.data() + i * length;
      std::string text(first, std::find(first, first + length, '\0'));
      if (space_padded) text.erase(text.find_last_not_of(' ') + 1);
      texts.push_back(std::move(text));
    }
    return texts;
  }

  void read(hid_t memory_type, void* values) const {
    place_.require_success(H5Aread(attribute_.get(), memory_type, values), label_);
  }

  const Place& place_;
  std::string label_;
  AttributeHandle attribute_;
  TypeHandle type_;
  SpaceHandle space_;
  std::size_t points_ = 0;
};

std::uint64_t product(const std::vector<std::uint64_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::uint64_t{1}, std::multiplies<>());
}

int ieee_float_bits(hid_t type) {
  if (H5Tget_class(type) != H5T_FLOAT) return 0;
  const std::size_t bytes = H5Tget_size(type);
  const std::size_t bias = H5Tget_ebias(type);
  if (bytes == 2 && bias == 15) return 16;
  if (bytes == 4 && bias == 127) return 32;
  if (bytes == 8 && bias == 1023) return 64;
  return 0;
}

/// Columns [first, first + count) of a matrix on disk, and the same as rows `stride` apart in
/// memory.
struct ColumnSelection {
  ColumnSelection(hid_t dataset, hsize_t rows, hsize_t first, hsize_t count, hsize_t stride)
      : file(H5Dget_space(dataset)) {
    const hsize_t file_start[2] = {0, first};
    const hsize_t memory_start[2] = {0, 0};
    const hsize_t block[2] = {rows, count};
    const hsize_t memory_extent[2] = {rows, stride};
    memory = SpaceHandle(H5Screate_simple(2, memory_extent, nullptr));
    H5Sselect_hyperslab(file.get(), H5S_SELECT_SET, file_start, nullptr, block, nullptr);
    H5Sselect_hyperslab(memory.get(), H5S_SELECT_SET, memory_start, nullptr, block, nullptr);
  }

  SpaceHandle file;
  SpaceHandle memory;
};

/// Access to a dataset through a cache of that many bytes.
PropertiesHandle cached_access(std::size_t cache_bytes) {
  PropertiesHandle access(H5Pcreate(H5P_DATASET_ACCESS));
  H5Pset_chunk_cache(access.get(), H5D_CHUNK_CACHE_NSLOTS_DEFAULT, cache_bytes,
                     H5D_CHUNK_CACHE_W0_DEFAULT);
  return access;
}

/// Bytes of the chunks that one pass along the columns of a matrix goes through at a time.
std::size_t chunk_row_bytes(hid_t dataset, const std::vector<std::uint64_t>& shape) {
  const PropertiesHandle properties(H5Dget_create_plist(dataset));
  if (shape.size() != 2 || H5Pget_layout(properties.get()) != H5D_CHUNKED) return 0;
  hsize_t chunk[2] = {1, 1};
  if (H5Pget_chunk(properties.get(), 2, chunk) != 2) return 0;
  const TypeHandle type(H5Dget_type(dataset));
  const double bytes = static_cast<double>(H5Tget_size(type.get())) *
                       static_cast<double>(chunk[1]) *
                       static_cast<double>(std::max<std::uint64_t>(shape[0], chunk[0]) + chunk[0]);
  return static_cast<std::size_t>(std::min(bytes, double{largest_chunk_cache_bytes}));
}

herr_t collect_name(hid_t /*group*/, const char* name, const H5L_info_t* /*info*/, void* target) {
  static_cast<std::vector<std::string>*>(target)->emplace_back(name);
  return 0;
}

herr_t collect_attribute(hid_t /*object*/, const char* name, const H5A_info_t* /*info*/,
                         void* target) {
  static_cast<std::vector<std::string>*>(target)->emplace_back(name);
  return 0;
}

FileHandle open_for_reading(const std::filesystem::path& path) {
  prepare_library();
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) {
    throw DataError(
        fmt::format("cannot open {} (there is no such file); check the path", path.string()));
  }
  FileHandle file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT));
  if (!file.valid()) {
    throw DataError(fmt::format(
        "cannot open {} as HDF5 ({}); check that it is a complete HDF5 file that can be read",
        path.string(), innermost_reason()));
  }
  return file;
}

}  // namespace

struct Hdf5File::Impl {
  explicit Impl(const std::filesystem::path& file_path)
      : path(file_path), place(file_path.string()), file(open_for_reading(file_path)) {}

  Attribute attribute(const std::string& object, const std::string& name) const {
    return {place, file.get(), object, name};
  }

  ObjectHandle open(const std::string& object) const {
    return place.require(ObjectHandle(H5Oopen(file.get(), object.c_str(), H5P_DEFAULT)), object);
  }

  std::filesystem::path path;
  Place place;
  FileHandle file;
};

struct Hdf5Dataset::Impl {
  Impl(std::shared_ptr<const Hdf5File::Impl> open_file, const std::string& object)
      : file(std::move(open_file)), name(object) {
    dataset = open(H5P_DEFAULT);
    read_shape();
    const std::size_t cache_bytes = chunk_row_bytes(dataset.get(), shape);
    if (cache_bytes > default_chunk_cache_bytes) reopen_with_cache(cache_bytes);
    const TypeHandle type(H5Dget_type(dataset.get()));
    float_bits = ieee_float_bits(type.get());
  }

  DatasetHandle open(hid_t access) const {
    return file->place.require(DatasetHandle(H5Dopen2(file->file.get(), name.c_str(), access)),
                               name);
  }

  void read_shape() {
    const SpaceHandle space(H5Dget_space(dataset.get()));
    const int rank = H5Sget_simple_extent_ndims(space.get());
    file->place.require_success(rank < 0 ? -1 : 0, name);
    std::vector<hsize_t> extent(static_cast<std::size_t>(rank));
    H5Sget_simple_extent_dims(space.get(), extent.data(), nullptr);
    shape.assign(extent.begin(), extent.end());
  }

  void reopen_with_cache(std::size_t cache_bytes) {
    const PropertiesHandle access = cached_access(cache_bytes);
    dataset = DatasetHandle();
    dataset = open(access.get());
  }

  std::shared_ptr<const Hdf5File::Impl> file;
  std::string name;
  DatasetHandle dataset;
  std::vector<std::uint64_t> shape;
  int float_bits = 0;
};

Hdf5Dataset::Hdf5Dataset(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

const std::vector<std::uint64_t>& Hdf5Dataset::shape() const { return impl_->shape; }

std::uint64_t Hdf5Dataset::size() const { return product(impl_->shape); }

int Hdf5Dataset::float_bits() const { return impl_->float_bits; }

std::vector<double> Hdf5Dataset::read_all() const {
  std::vector<double> values;
  try {
    values.resize(size());
  } catch (const std::exception&) {
    impl_->file->place.fail(impl_->name, "it does not fit into memory");
  }
  const herr_t status = values.empty() ? 0
                                       : H5Dread(impl_->dataset.get(), H5T_NATIVE_DOUBLE, H5S_ALL,
                                                 H5S_ALL, H5P_DEFAULT, values.data());
  impl_->file->place.require_success(status, impl_->name);
  return values;
}

void Hdf5Dataset::read_columns(std::uint64_t first, std::uint64_t count, float* out,
                               std::size_t stride, std::optional<std::uint64_t> rows) const {
  if (shape().size() != 2 || first + count > shape()[1] || count > stride ||
      rows.value_or(0) > shape()[0]) {
    impl_->file->place.fail(impl_->name, "rows or columns outside a matrix were asked for");
  }
  const std::uint64_t selected_rows = rows.value_or(shape()[0]);
  if (count == 0 || selected_rows == 0) return;
  const ColumnSelection selection(impl_->dataset.get(), selected_rows, first, count, stride);
  impl_->file->place.require_success(
      H5Dread(impl_->dataset.get(), H5T_NATIVE_FLOAT, selection.memory.get(), selection.file.get(),
              H5P_DEFAULT, out),
      impl_->name);
}

Hdf5File::Hdf5File(const std::filesystem::path& path) : impl_(std::make_shared<const Impl>(path)) {}

const std::filesystem::path& Hdf5File::path() const { return impl_->path; }

bool Hdf5File::has(const std::string& object) const {
  if (object == "/") return true;
  // H5Lexists fails, rather than answers, when a group on the way is missing.
  for (std::size_t end = object.find('/', 1); end != std::string::npos;
       end = object.find('/', end + 1)) {
    if (H5Lexists(impl_->file.get(), object.substr(0, end).c_str(), H5P_DEFAULT) <= 0) return false;
  }
  return H5Lexists(impl_->file.get(), object.c_str(), H5P_DEFAULT) > 0 &&
         H5Oexists_by_name(impl_->file.get(), object.c_str(), H5P_DEFAULT) > 0;
}

std::vector<std::string> Hdf5File::children(const std::string& group) const {
  const GroupHandle handle = impl_->place.require(
      GroupHandle(H5Gopen2(impl_->file.get(), group.c_str(), H5P_DEFAULT)), group);
  std::vector<std::string> names;
  impl_->place.require_success(
      H5Literate(handle.get(), H5_INDEX_NAME, H5_ITER_INC, nullptr, &collect_name, &names), group);
  return names;
}

bool Hdf5File::has_attribute(const std::string& object, const std::string& name) const {
  return H5Aexists(impl_->open(object).get(), name.c_str()) > 0;
}

std::string Hdf5File::read_string(const std::string& object, const std::string& name) const {
  const Attribute attribute = impl_->attribute(object, name);
  return attribute.only(attribute.strings());
}

std::vector<std::string> Hdf5File::read_strings(const std::string& object,
                                                const std::string& name) const {
  return impl_->attribute(object, name).strings();
}

std::int64_t Hdf5File::read_int(const std::string& object, const std::string& name) const {
  const Attribute attribute = impl_->attribute(object, name);
  return attribute.only(attribute.integers());
}

double Hdf5File::read_double(const std::string& object, const std::string& name) const {
  const Attribute attribute = impl_->attribute(object, name);
  return attribute.only(attribute.reals());
}

std::vector<std::pair<std::string, std::string>> Hdf5File::attributes(
    const std::string& object) const {
  std::vector<std::string> names;
  impl_->place.require_success(H5Aiterate2(impl_->open(object).get(), H5_INDEX_NAME, H5_ITER_INC,
                                           nullptr, &collect_attribute, &names),
                               object);
  std::vector<std::pair<std::string, std::string>> listing;
  listing.reserve(names.size());
  for (const std::string& name : names) {
    listing.emplace_back(name, impl_->attribute(object, name).text());
  }
  return listing;
}

Hdf5Dataset Hdf5File::dataset(const std::string& object) const {
  if (!has(object)) impl_->place.fail(object, "it is missing");
  return Hdf5Dataset(std::make_shared<const Hdf5Dataset::Impl>(impl_, object));
}

struct Hdf5Writer::Impl {
  Impl() : place("a new HDF5 file"), link_properties(new_links()) {
    const PropertiesHandle in_memory(H5Pcreate(H5P_FILE_ACCESS));
    H5Pset_fapl_core(in_memory.get(), image_increment_bytes, /*backing_store=*/0);
    create(unique_name(), in_memory.get());
  }

  Impl(const std::filesystem::path& temporary, const std::filesystem::path& target)
      : place(target.string(), "check the folder, its permissions and free space", "write"),
        link_properties(new_links()) {
    create(temporary.string(), H5P_DEFAULT);
  }

  static PropertiesHandle new_links() {
    prepare_library();
    PropertiesHandle links(H5Pcreate(H5P_LINK_CREATE));
    H5Pset_create_intermediate_group(links.get(), 1);
    return links;
  }

  void create(const std::string& name, hid_t access) {
    file =
        place.require(FileHandle(H5Fcreate(name.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access)), "/");
  }

  /// HDF5 takes two open files of one name for the same file, in memory as well.
  static std::string unique_name() {
    static std::atomic<std::uint64_t> count{0};
    return fmt::format("optinc-in-memory-{}", count++);
  }

  void write_attribute(const std::string& object, const std::string& name, hid_t type, hid_t space,
                       const void* values) const {
    const std::string label = attribute_place(object, name);
    const ObjectHandle owner =
        place.require(ObjectHandle(H5Oopen(file.get(), object.c_str(), H5P_DEFAULT)), object);
    const AttributeHandle attribute =
        place.require(AttributeHandle(H5Acreate2(owner.get(), name.c_str(), type, space,
                                                 H5P_DEFAULT, H5P_DEFAULT)),
                      label);
    place.require_success(H5Awrite(attribute.get(), type, values), label);
  }

  void write_scalar(const std::string& object, const std::string& name, hid_t type,
                    const void* value) const {
    const SpaceHandle scalar(H5Screate(H5S_SCALAR));
    write_attribute(object, name, type, scalar.get(), value);
  }

  template <typename Value>
  void write_dataset(const std::string& object, const std::vector<std::uint64_t>& shape,
                     const std::vector<Value>& values, hid_t type) const {
    if (product(shape) != values.size()) place.fail(object, "shape and number of values differ");
    const std::vector<hsize_t> extent(shape.begin(), shape.end());
    const DatasetHandle dataset =
        create_dataset(object, extent, type, dataset_properties(extent), H5P_DEFAULT);
    place.require_success(
        H5Dwrite(dataset.get(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), object);
  }

  DatasetHandle create_dataset(const std::string& object, const std::vector<hsize_t>& extent,
                               hid_t type, const PropertiesHandle& creation, hid_t access) const {
    const SpaceHandle space(
        H5Screate_simple(static_cast<int>(extent.size()), extent.data(), nullptr));
    return place.require(DatasetHandle(H5Dcreate2(file.get(), object.c_str(), type, space.get(),
                                                  link_properties.get(), creation.get(), access)),
                         object);
  }

  /// One matrix is open at a time: its chunk cache is for passing along its columns.
  void create_matrix(const std::string& object, const std::vector<hsize_t>& extent,
                     bool compressed) {
    close_matrix();
    const std::size_t cache_bytes =
        static_cast<std::size_t>(extent[0] + 1) * chunk_elements * sizeof(float);
    const PropertiesHandle access = cached_access(
        std::clamp(cache_bytes, default_chunk_cache_bytes, largest_chunk_cache_bytes));
    matrix =
        create_dataset(object, extent, H5T_NATIVE_FLOAT,
                       compressed ? dataset_properties(extent) : plain_properties(), access.get());
    matrix_name = object;
    matrix_rows = extent[0];
  }

  void close_matrix() { place.require_success(matrix.close(), matrix_name); }

  /// Contiguous, and not filled with zeros first.
  static PropertiesHandle plain_properties() {
    PropertiesHandle creation(H5Pcreate(H5P_DATASET_CREATE));
    H5Pset_obj_track_times(creation.get(), false);
    H5Pset_fill_time(creation.get(), H5D_FILL_TIME_NEVER);
    return creation;
  }

  static PropertiesHandle dataset_properties(const std::vector<hsize_t>& extent) {
    PropertiesHandle creation(H5Pcreate(H5P_DATASET_CREATE));
    H5Pset_obj_track_times(creation.get(), false);
    if (extent.empty() || std::find(extent.begin(), extent.end(), 0) != extent.end()) {
      return creation;
    }
    std::vector<hsize_t> chunk(extent.size(), 1);
    chunk.back() = std::min<hsize_t>(extent.back(), chunk_elements);
    H5Pset_chunk(creation.get(), static_cast<int>(chunk.size()), chunk.data());
    H5Pset_shuffle(creation.get());
    H5Pset_deflate(creation.get(), gzip_level);
    return creation;
  }

  std::vector<char> image() const {
    place.require_success(H5Fflush(file.get(), H5F_SCOPE_GLOBAL), "/");
    const ssize_t size = H5Fget_file_image(file.get(), nullptr, 0);
    place.require_success(size < 0 ? -1 : 0, "/");
    std::vector<char> bytes(static_cast<std::size_t>(size));
    const ssize_t copied = H5Fget_file_image(file.get(), bytes.data(), bytes.size());
    place.require_success(copied < 0 ? -1 : 0, "/");
    return bytes;
  }

  Place place;
  PropertiesHandle link_properties;
  FileHandle file;
  DatasetHandle matrix;
  std::string matrix_name;
  hsize_t matrix_rows = 0;
};

Hdf5Writer::Hdf5Writer() : impl_(std::make_unique<Impl>()) {}
Hdf5Writer::Hdf5Writer(const std::filesystem::path& temporary, const std::filesystem::path& target)
    : impl_(std::make_unique<Impl>(temporary, target)) {}
Hdf5Writer::~Hdf5Writer() = default;
Hdf5Writer::Hdf5Writer(Hdf5Writer&&) noexcept = default;
Hdf5Writer& Hdf5Writer::operator=(Hdf5Writer&&) noexcept = default;

void Hdf5Writer::create_group(const std::string& group) {
  impl_->place.require(
      GroupHandle(H5Gcreate2(impl_->file.get(), group.c_str(), impl_->link_properties.get(),
                             H5P_DEFAULT, H5P_DEFAULT)),
      group);
}

void Hdf5Writer::write_string(const std::string& object, const std::string& name,
                              const std::string& value) {
  const TypeHandle type(H5Tcopy(H5T_C_S1));
  H5Tset_size(type.get(), H5T_VARIABLE);
  H5Tset_cset(type.get(), H5T_CSET_UTF8);
  const char* text = value.c_str();
  impl_->write_scalar(object, name, type.get(), static_cast<const void*>(&text));
}

void Hdf5Writer::write_strings(const std::string& object, const std::string& name,
                               const std::vector<std::string>& values) {
  if (values.empty()) impl_->place.fail(attribute_place(object, name), "it has no values");
  std::size_t length = 1;
  for (const std::string& value : values) length = std::max(length, value.size());
  std::vector<char> bytes(values.size() * length, '\0');
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::memcpy(bytes.data() + i * length, values[i].data(), values[i].size());
  }
  const TypeHandle type(H5Tcopy(H5T_C_S1));
  H5Tset_size(type.get(), length);
  H5Tset_strpad(type.get(), H5T_STR_NULLPAD);
  const hsize_t extent = values.size();
  const SpaceHandle space(H5Screate_simple(1, &extent, nullptr));
  impl_->write_attribute(object, name, type.get(), space.get(), bytes.data());
}

void Hdf5Writer::write_int(const std::string& object, const std::string& name, std::int64_t value) {
  impl_->write_scalar(object, name, H5T_NATIVE_INT64, &value);
}

void Hdf5Writer::write_double(const std::string& object, const std::string& name, double value) {
  impl_->write_scalar(object, name, H5T_NATIVE_DOUBLE, &value);
}

void Hdf5Writer::write_dataset(const std::string& object, const std::vector<std::uint64_t>& shape,
                               const std::vector<float>& values) {
  impl_->write_dataset(object, shape, values, H5T_NATIVE_FLOAT);
}

void Hdf5Writer::write_dataset(const std::string& object, const std::vector<std::uint64_t>& shape,
                               const std::vector<double>& values) {
  impl_->write_dataset(object, shape, values, H5T_NATIVE_DOUBLE);
}

void Hdf5Writer::create_matrix(const std::string& object, std::uint64_t rows, std::uint64_t columns,
                               bool compressed) {
  impl_->create_matrix(object, {rows, columns}, compressed);
}

void Hdf5Writer::write_columns(const std::string& object, std::uint64_t first, std::uint64_t count,
                               const float* values, std::size_t stride) {
  if (object != impl_->matrix_name) impl_->place.fail(object, "it is not the open matrix");
  const ColumnSelection selection(impl_->matrix.get(), impl_->matrix_rows, first, count, stride);
  impl_->place.require_success(
      H5Dwrite(impl_->matrix.get(), H5T_NATIVE_FLOAT, selection.memory.get(), selection.file.get(),
               H5P_DEFAULT, values),
      object);
}

void Hdf5Writer::close() {
  impl_->close_matrix();
  impl_->place.require_success(H5Fflush(impl_->file.get(), H5F_SCOPE_GLOBAL), "/");
  impl_->place.require_success(impl_->file.close(), "/");
}

void Hdf5Writer::save(const std::filesystem::path& path) const {
  const std::vector<char> image = impl_->image();
  write_file_atomically(path, {image.data(), image.size()});
}

}  // namespace optinc
