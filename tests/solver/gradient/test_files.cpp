// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include <hdf5.h>
#include <unistd.h>

#include "solver/error.hpp"
#include "solver/gradient/synthetic.hpp"
#include "solver/gradient/trace.hpp"
#include "solver/io/atomic_file.hpp"
#include "solver/io/hash.hpp"
#include "solver/io/hdf5_file.hpp"
#include "tests/solver/gradient/shipped.hpp"
#include "tests/support/file_size_limit.hpp"
#include "tests/support/raw_hdf5.hpp"

namespace optinc {
namespace {

using test::shipped;

namespace fs = std::filesystem;

/// As the library does ahead of its first call; here the tests' own calls may come first.
[[maybe_unused]] const herr_t without_cleanup_at_exit = H5dont_atexit();
using Catch::Matchers::Contains;
using test::append_raw;
using test::FileSizeLimit;

/// A folder of its own, removed at the end.
class Folder {
 public:
  Folder() {
    std::string pattern = (fs::temp_directory_path() / "optinc-XXXXXX").string();
    REQUIRE(::mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
  }
  ~Folder() { fs::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  fs::path operator/(const std::string& name) const { return path_ / name; }
  std::size_t entries() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(path_), fs::directory_iterator()));
  }

 private:
  fs::path path_;
};

std::string content_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void put(const fs::path& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

/// Message of the DataError that `action` throws.
template <typename Action>
std::string data_error(Action action) {
  try {
    action();
  } catch (const DataError& error) {
    return error.what();
  }
  return "no DataError";
}

TraceData small_trace() {
  TraceData data;
  data.servers = 2;
  data.workload = "test";
  data.model = "none";
  data.step = 7;
  data.batch_per_server = 3;
  data.note = "made by a test";
  data.tensors = {{"first", 3}, {"folder/second", 2}};
  data.values = {{1, 2, 3, 4, 5, 6}, {-1, 0, 0.5F, 1e-30F}};
  return data;
}

void replace_by_empty_list(const fs::path& path, const char* attribute_name) {
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
  REQUIRE(H5Adelete(file, attribute_name) >= 0);
  const hsize_t none = 0;
  const hid_t space = H5Screate_simple(1, &none, nullptr);
  const hid_t attribute =
      H5Acreate2(file, attribute_name, H5T_C_S1, space, H5P_DEFAULT, H5P_DEFAULT);
  REQUIRE(attribute >= 0);
  H5Aclose(attribute);
  H5Sclose(space);
  H5Fclose(file);
}

/// IEEE half as h5py stores numpy's float16.
hid_t half_type() {
  const hid_t type = H5Tcopy(H5T_IEEE_F32LE);
  H5Tset_fields(type, 15, 10, 5, 0, 10);
  H5Tset_size(type, 2);
  H5Tset_ebias(type, 15);
  return type;
}

double half_value(unsigned pattern) {
  const unsigned exponent = (pattern >> 10) & 31U;
  const unsigned fraction = pattern & 1023U;
  const double sign = (pattern & 0x8000U) != 0 ? -1 : 1;
  if (exponent == 31) {
    return fraction == 0 ? sign * std::numeric_limits<double>::infinity()
                         : std::numeric_limits<double>::quiet_NaN();
  }
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(1024 + fraction, static_cast<int>(exponent) - 25);
}

/// A trace with chosen root attributes and no tensors yet.
Hdf5Writer trace_writer(const std::string& format, std::int64_t servers,
                        const std::vector<std::string>& tensors) {
  Hdf5Writer writer;
  writer.create_group("gradient");
  writer.write_string("/", "format", format);
  writer.write_int("/", "servers", servers);
  writer.write_strings("/", "tensors", tensors);
  return writer;
}

constexpr const char* good_format = "optinc-gradient-trace/1";

}  // namespace

TEST_CASE("SHA-256 of the FIPS 180 examples") {
  CHECK(sha256_hex("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(sha256_hex("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  const Folder folder;
  put(folder / "a", std::string(1000000, 'a'));
  CHECK(sha256_file_hex(folder / "a") ==
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  CHECK_THAT(data_error([&] { sha256_file_hex(folder / "none"); }),
             Contains("none") && Contains("No such file"));
  CHECK_THAT(data_error([&] { sha256_file_hex(folder / "."); }), Contains("cannot read"));
}

TEST_CASE("A file is replaced as a whole or not at all") {
  const Folder folder;
  const fs::path target = folder / "target";
  write_file_atomically(target, "old");
  CHECK(content_of(target) == "old");
  write_file_atomically(target, "new");
  CHECK(content_of(target) == "new");

  SECTION("full disk") {
    const FileSizeLimit limit(100);
    CHECK_THAT(data_error([&] { write_file_atomically(target, std::string(1000, 'x')); }),
               Contains("target") && Contains("File too large"));
  }
  SECTION("a writer that throws") {
    CHECK_THROWS_AS(replace_atomically(target,
                                       [](const fs::path& temporary) {
                                         put(temporary, "half");
                                         throw std::runtime_error("stop");
                                       }),
                    std::runtime_error);
  }
  SECTION("symbolic links are followed") {
    fs::create_symlink(target, folder / "link");
    write_file_atomically(folder / "link", "new");
    CHECK(fs::is_symlink(folder / "link"));
    fs::remove(folder / "link");
  }
  CHECK(content_of(target) == "new");
  CHECK(folder.entries() == 1);
}

TEST_CASE("Targets that cannot be written are refused with a reason") {
  const Folder folder;
  CHECK_THAT(data_error([&] { write_file_atomically(folder / "none/file", "x"); }),
             Contains("none/file") && Contains("No such file or directory"));
  CHECK_THAT(data_error([&] { write_file_atomically(folder / ".", "x"); }),
             Contains("not a regular file"));
  CHECK_THAT(data_error([] { write_file_atomically("/dev/null", "x"); }),
             Contains("not a regular file"));
  CHECK(fs::is_character_file("/dev/null"));
}

TEST_CASE("HDF5 files come back as written") {
  const Folder folder;
  const fs::path path = folder / "f.h5";
  const std::vector<float> floats = {1.5F, -2, 3, 4, 5, 6};
  const std::vector<double> doubles = {0.1, 1e300};
  const std::vector<std::string> names = {"a", "longer", ""};
  Hdf5Writer writer;
  writer.write_dataset("layer/0/weight", {2, 3}, floats);
  writer.write_dataset("layer/0/bias", {2}, doubles);
  writer.write_dataset("layer/1/empty", {0, 3}, std::vector<float>());
  writer.create_group("other");
  writer.write_string("/", "format", "käse");
  writer.write_string("layer/0", "empty", "");
  writer.write_strings("/", "names", names);
  writer.write_int("layer/0", "servers", -4);
  writer.write_double("layer/0/weight", "x", 0.1);
  writer.save(path);

  const Hdf5File file(path);
  CHECK(file.dataset("layer/0/weight").shape() == std::vector<std::uint64_t>{2, 3});
  CHECK(file.dataset("layer/0/weight").float_bits() == 32);
  CHECK(file.dataset("layer/0/weight").read_all() ==
        std::vector<double>(floats.begin(), floats.end()));
  CHECK(file.dataset("layer/0/bias").float_bits() == 64);
  CHECK(file.dataset("layer/0/bias").read_all() == doubles);
  CHECK(file.dataset("layer/1/empty").read_all().empty());
  CHECK(file.read_string("/", "format") == "käse");
  CHECK(file.read_string("layer/0", "empty").empty());
  CHECK(file.read_strings("/", "names") == names);
  CHECK(file.read_int("layer/0", "servers") == -4);
  CHECK(file.read_double("layer/0", "servers") == -4);
  CHECK(file.read_double("layer/0/weight", "x") == 0.1);
  CHECK(file.has("layer/0"));
  CHECK(file.has("/"));
  CHECK_FALSE(file.has("layer/2/weight"));
  CHECK_FALSE(file.has("layer/0/weight/deeper"));
  CHECK(file.has_attribute("/", "format"));
  CHECK_FALSE(file.has_attribute("/", "servers"));
  CHECK(file.children("/") == std::vector<std::string>{"layer", "other"});
  CHECK(file.attributes("/") == std::vector<std::pair<std::string, std::string>>{
                                    {"format", "käse"}, {"names", "[a, longer, ]"}});
}

TEST_CASE("HDF5 errors name file, object and reason") {
  const Folder folder;
  const fs::path path = folder / "f.h5";
  Hdf5Writer writer;
  writer.write_dataset("group/data", {2, 2}, std::vector<float>{1, 2, 3, 4});
  writer.write_string("/", "text", "x");
  writer.write_strings("/", "texts", {"x", "y"});
  writer.save(path);
  const Hdf5File file(path);
  const auto names_the_file = Contains("f.h5");
  CHECK_THAT(data_error([&] { file.read_int("/", "none"); }),
             names_the_file && Contains("attribute none") && Contains("missing"));
  CHECK_THAT(data_error([&] { file.read_int("nowhere", "none"); }),
             names_the_file && Contains("nowhere") && Contains("doesn't exist"));
  CHECK_THAT(data_error([&] { file.read_int("/", "text"); }), Contains("not an integer"));
  CHECK_THAT(data_error([&] { file.read_double("/", "text"); }), Contains("not a number"));
  CHECK_THAT(data_error([&] { file.read_string("/", "texts"); }), Contains("2 values"));
  CHECK_THAT(data_error([&] { file.dataset("group/none"); }),
             names_the_file && Contains("group/none") && Contains("missing"));
  CHECK_THAT(data_error([&] { file.dataset("group"); }), Contains("group in"));
  CHECK_THAT(data_error([&] { file.children("group/data"); }), Contains("group/data"));
  CHECK_THAT(data_error([&] { Hdf5File(folder / "none.h5"); }),
             Contains("none.h5") && Contains("no such file"));
  CHECK_THAT(data_error([&] { writer.write_dataset("group/data", {1}, std::vector<float>{1}); }),
             Contains("group/data"));
  CHECK_THAT(data_error([&] { writer.write_dataset("x", {3}, std::vector<float>{1}); }),
             Contains("shape and number of values differ"));
}

TEST_CASE("Saving HDF5 depends on no clock and survives a full disk") {
  const Folder folder;
  write_trace(folder / "a.h5", small_trace());
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));
  write_trace(folder / "b.h5", small_trace());
  CHECK(content_of(folder / "a.h5") == content_of(folder / "b.h5"));
  {
    const FileSizeLimit limit(1000);
    CHECK_THAT(data_error([&] { write_trace(folder / "b.h5", small_trace()); }),
               Contains("b.h5") && Contains("File too large"));
  }
  CHECK(content_of(folder / "a.h5") == content_of(folder / "b.h5"));
  CHECK(folder.entries() == 2);
}

TEST_CASE("All half-precision numbers are read exactly") {
  const Folder folder;
  const fs::path path = folder / "half.h5";
  Hdf5Writer().save(path);
  std::vector<std::uint16_t> patterns(65536);
  for (std::size_t i = 0; i < patterns.size(); ++i) patterns[i] = static_cast<std::uint16_t>(i);
  const hid_t half = half_type();
  append_raw(path, "half", half, half, {2, 32768}, patterns.data());
  H5Tclose(half);

  const Hdf5File file(path);
  const Hdf5Dataset dataset = file.dataset("half");
  CHECK(dataset.float_bits() == 16);
  std::vector<float> values(65536);
  dataset.read_columns(0, 32768, values.data(), 32768);
  std::size_t wrong = 0;
  for (unsigned i = 0; i < 65536; ++i) {
    const double expected = half_value(i);
    const auto value = static_cast<double>(values[i]);
    const bool same = std::isnan(expected) ? std::isnan(value) : value == expected;
    wrong += same ? 0 : 1;
  }
  CHECK(wrong == 0);
}

TEST_CASE("Columns are read into strided rows and nothing else is touched") {
  const Folder folder;
  const fs::path path = folder / "f.h5";
  std::vector<float> matrix(600000);
  for (std::size_t i = 0; i < matrix.size(); ++i) matrix[i] = static_cast<float>(i);
  Hdf5Writer writer;
  writer.write_dataset("m", {3, 200000}, matrix);
  writer.save(path);
  const Hdf5File file(path);
  const Hdf5Dataset dataset = file.dataset("m");
  std::vector<float> out(2 * 8 + 5, -1);
  dataset.read_columns(65534, 5, out.data(), 8);
  for (std::size_t row = 0; row < 3; ++row) {
    for (std::size_t i = 0; i < 8 && row * 8 + i < out.size(); ++i) {
      CAPTURE(row, i);
      CHECK(out[row * 8 + i] == (i < 5 ? matrix[row * 200000 + 65534 + i] : -1));
    }
  }
  std::vector<float> two(16, -1);
  dataset.read_columns(7, 8, two.data(), 8, 2);
  for (std::size_t i = 0; i < 16; ++i) CHECK(two[i] == matrix[i / 8 * 200000 + 7 + i % 8]);
  CHECK_THROWS_AS(dataset.read_columns(0, 5, out.data(), 8, 4), DataError);
  CHECK_THROWS_AS(dataset.read_columns(199999, 2, out.data(), 8), DataError);
  CHECK_THROWS_AS(dataset.read_columns(0, 9, out.data(), 8), DataError);
}

TEST_CASE("Strings of other writers: variable length arrays, padded with spaces") {
  const Folder folder;
  const fs::path path = folder / "f.h5";
  Hdf5Writer().save(path);
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
  const hsize_t two = 2;
  const hid_t space = H5Screate_simple(1, &two, nullptr);
  const hid_t variable = H5Tcopy(H5T_C_S1);
  H5Tset_size(variable, H5T_VARIABLE);
  const char* texts[2] = {"one", "three"};
  const hid_t first = H5Acreate2(file, "variable", variable, space, H5P_DEFAULT, H5P_DEFAULT);
  REQUIRE(H5Awrite(first, variable, static_cast<const void*>(texts)) >= 0);
  const hid_t padded = H5Tcopy(H5T_FORTRAN_S1);
  H5Tset_size(padded, 4);
  const hid_t second = H5Acreate2(file, "padded", padded, space, H5P_DEFAULT, H5P_DEFAULT);
  REQUIRE(H5Awrite(second, padded, "a b full") >= 0);
  H5Aclose(first);
  H5Aclose(second);
  H5Tclose(variable);
  H5Tclose(padded);
  H5Sclose(space);
  H5Fclose(file);

  const Hdf5File read(path);
  CHECK(read.read_strings("/", "variable") == std::vector<std::string>{"one", "three"});
  CHECK(read.read_strings("/", "padded") == std::vector<std::string>{"a b", "full"});
}

TEST_CASE("A trace comes back as written") {
  const Folder folder;
  const TraceData data = small_trace();
  write_trace(folder / "t.h5", data);
  const GradientTrace trace(folder / "t.h5");
  CHECK(trace.servers() == 2);
  CHECK(trace.elements() == 5);
  REQUIRE(trace.tensors().size() == 2);
  for (std::size_t t = 0; t < 2; ++t) {
    const std::uint64_t elements = data.tensors[t].elements;
    CHECK(trace.tensors()[t].name == data.tensors[t].name);
    REQUIRE(trace.tensors()[t].elements == elements);
    std::vector<float> values(2 * elements);
    trace.read(t, 0, elements, values.data(), elements);
    CHECK(values == data.values[t]);
  }
  using Attributes = std::vector<std::pair<std::string, std::string>>;
  CHECK(trace.attributes() == Attributes{{"batch_per_server", "3"},
                                         {"format", good_format},
                                         {"model", "none"},
                                         {"note", "made by a test"},
                                         {"servers", "2"},
                                         {"step", "7"},
                                         {"tensors", "[first, folder/second]"},
                                         {"workload", "test"}});
}

TEST_CASE("A gradient is written piece by piece as what it is") {
  const Folder folder;
  const SyntheticGradient gradient({.servers = 3, .elements = 200'003, .tensors = 2});
  write_trace(folder / "a.h5", gradient, {{"workload", "test"}, {"note", "käse"}});
  write_trace(folder / "b.h5", gradient, {{"workload", "test"}, {"note", "käse"}});
  CHECK(content_of(folder / "a.h5") == content_of(folder / "b.h5"));
  const GradientTrace trace(folder / "a.h5");
  CHECK(trace.servers() == 3);
  CHECK(trace.attributes().at(1) == std::pair<std::string, std::string>{"note", "käse"});
  REQUIRE(trace.tensors().size() == 2);
  for (std::size_t t = 0; t < 2; ++t) {
    const std::uint64_t elements = gradient.tensors()[t].elements;
    CHECK(trace.tensors()[t].name == gradient.tensors()[t].name);
    REQUIRE(trace.tensors()[t].elements == elements);
    std::vector<float> read(3 * elements);
    std::vector<float> made(3 * elements);
    trace.read(t, 0, elements, read.data(), elements);
    gradient.read(t, 0, elements, made.data(), elements);
    CHECK(read == made);
  }
}

TEST_CASE("Compressed matrices take pieces of any size") {
  const Folder folder;
  std::vector<float> matrix(2 * 150'000);
  for (std::size_t i = 0; i < matrix.size(); ++i) matrix[i] = static_cast<float>(i % 1000);
  Hdf5Writer writer(folder / "f.h5", folder / "f.h5");
  writer.create_matrix("group/m", 2, 150'000, true);
  for (std::uint64_t first = 0, size = 1; first < 150'000; first += size, size *= 3) {
    size = std::min<std::uint64_t>(size, 150'000 - first);
    writer.write_columns("group/m", first, size, matrix.data() + first, 150'000);
  }
  CHECK_THROWS_AS(writer.write_columns("group/other", 0, 1, matrix.data(), 1), DataError);
  writer.close();
  CHECK(Hdf5File(folder / "f.h5").dataset("group/m").read_all() ==
        std::vector<double>(matrix.begin(), matrix.end()));
  CHECK(fs::file_size(folder / "f.h5") < 200'000);
}

TEST_CASE("A full disk while writing piece by piece is an error and leaves the old file") {
  const Folder folder;
  put(folder / "t.h5", "old");
  for (const bool compressed : {false, true}) {
    const FileSizeLimit limit(300'000);
    const SyntheticGradient gradient({.servers = 2, .elements = 200'000});
    const GradientFileHeader header{.format = good_format,
                                    .rows = 2,
                                    .servers = 2,
                                    .tensors = gradient.tensors(),
                                    .attributes = {},
                                    .compressed = compressed};
    const std::string message = data_error([&] {
      write_gradient_file(folder / "t.h5", header, [&](const GradientSink& sink) {
        std::vector<float> values(400'000);
        gradient.read(0, 0, 200'000, values.data(), 200'000);
        sink(0, 0, 200'000, values.data(), 200'000);
      });
    });
    CHECK_THAT(message, Contains("t.h5") && Contains("free space"));
  }
  CHECK(content_of(folder / "t.h5") == "old");
  CHECK(folder.entries() == 1);
  // The library works on after the failures.
  write_trace(folder / "t.h5", small_trace());
  CHECK(GradientTrace(folder / "t.h5").elements() == 5);
}

TEST_CASE("Traces that break the schema are refused with what is wrong") {
  const Folder folder;
  const fs::path path = folder / "bad.h5";
  const auto opening = [&](const Hdf5Writer& writer) {
    writer.save(path);
    return data_error([&] { GradientTrace trace(path); });
  };
  const std::vector<float> four = {1, 2, 3, 4};

  SECTION("format") {
    CHECK_THAT(opening(trace_writer("optinc-network/1", 2, {"t"})),
               Contains("bad.h5") && Contains("optinc-network/1") && Contains(good_format));
    CHECK_THAT(opening(Hdf5Writer()), Contains("attribute format") && Contains("missing"));
  }
  SECTION("servers") {
    CHECK_THAT(opening(trace_writer(good_format, 1, {"t"})), Contains("1 servers"));
    CHECK_THAT(opening(trace_writer(good_format, 65, {"t"})), Contains("65 servers"));
    Hdf5Writer three = trace_writer(good_format, 3, {"t"});
    three.write_dataset("gradient/t", {2, 2}, four);
    CHECK_THAT(opening(three), Contains("gradient/t has shape [2, 2]") && Contains("[3, "));
  }
  SECTION("tensors") {
    CHECK_THAT(opening(trace_writer(good_format, 2, {"t"})), Contains("gradient/t is missing"));
    trace_writer(good_format, 2, {"t"}).save(path);
    replace_by_empty_list(path, "tensors");
    CHECK_THAT(data_error([&] { GradientTrace trace(path); }), Contains("the trace is empty"));
    Hdf5Writer twice = trace_writer(good_format, 2, {"t", "t"});
    twice.write_dataset("gradient/t", {2, 2}, four);
    CHECK_THAT(opening(twice), Contains("'t' is listed twice"));
    Hdf5Writer unlisted = trace_writer(good_format, 2, {"t"});
    unlisted.write_dataset("gradient/t", {2, 2}, four);
    unlisted.write_dataset("gradient/extra", {2, 2}, four);
    CHECK_THAT(opening(unlisted), Contains("gradient/extra would be ignored"));
  }
  SECTION("shape") {
    Hdf5Writer flat = trace_writer(good_format, 2, {"t"});
    flat.write_dataset("gradient/t", {4}, four);
    CHECK_THAT(opening(flat), Contains("gradient/t has shape [4]"));
    Hdf5Writer none = trace_writer(good_format, 2, {"t"});
    none.write_dataset("gradient/t", {2, 0}, std::vector<float>());
    CHECK_THAT(opening(none), Contains("gradient/t has shape [2, 0]"));
  }
  SECTION("type") {
    trace_writer(good_format, 2, {"t"}).save(path);
    const std::vector<int> integers = {1, 2, 3, 4};
    append_raw(path, "gradient/t", H5T_STD_I32LE, H5T_NATIVE_INT, {2, 2}, integers.data());
    CHECK_THAT(data_error([&] { GradientTrace trace(path); }),
               Contains("gradient/t is not of type float16"));
  }
}

TEST_CASE("Values that are not finite are named by tensor, server and index") {
  const Folder folder;
  const fs::path path = folder / "t.h5";
  const auto reading = [&] {
    const GradientTrace trace(path);
    std::vector<float> values(10);
    trace.read(0, 1, 2, values.data(), 5);
  };
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()}) {
    TraceData data = small_trace();
    data.values[0][5] = bad;
    write_trace(path, data);
    CHECK_THAT(data_error(reading), Contains("t.h5") && Contains("tensor 'first'") &&
                                        Contains("server 1") && Contains("index 2"));
  }
  Hdf5Writer wide = trace_writer(good_format, 2, {"wide"});
  wide.write_dataset("gradient/wide", {2, 3}, std::vector<double>{1, 1e300, 1, 1, 1, 1});
  wide.save(path);
  CHECK_THAT(data_error(reading), Contains("tensor 'wide', server 0, index 1"));
}

TEST_CASE("Missing, truncated and damaged trace files are data errors") {
  const Folder folder;
  const fs::path path = folder / "t.h5";
  CHECK_THAT(data_error([&] { GradientTrace trace(path); }),
             Contains("t.h5") && Contains("no such file"));
  CHECK_THAT(data_error([] { GradientTrace trace("/"); }), Contains("cannot open /"));

  put(path, "");
  CHECK_THAT(data_error([&] { GradientTrace trace(path); }), Contains("t.h5"));
  put(path, std::string(5000, 'x'));
  CHECK_THAT(data_error([&] { GradientTrace trace(path); }), Contains("signature not found"));

  std::string whole = content_of(shipped("resnet50_cifar100.h5"));
  REQUIRE(whole.size() > 1000000);
  for (const std::size_t size :
       {std::size_t{100}, std::size_t{2048}, whole.size() / 2, whole.size() - 1}) {
    CAPTURE(size);
    put(path, whole.substr(0, size));
    CHECK_THAT(data_error([&] { GradientTrace trace(path); }), Contains("truncated file"));
  }

  std::memset(whole.data() + whole.size() / 2, 0xFF, 8192);
  put(path, whole);
  const std::string message = data_error([&] {
    const GradientTrace trace(path);
    std::vector<float> values(std::size_t{4} * 1850);
    for (std::size_t t = 0; t < trace.tensors().size(); ++t) {
      trace.read(t, 0, trace.tensors()[t].elements, values.data(), 1850);
    }
  });
  CHECK_THAT(message, Contains("gradient/layer") && Contains("t.h5"));
}

}  // namespace optinc
