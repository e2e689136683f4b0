// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace optinc {

/// A rectangular array of floating-point numbers in an open HDF5 file; keeps the file open.
/// Not for concurrent use, like everything in this header.
class Hdf5Dataset {
 public:
  /// Number of elements per dimension; empty for a scalar.
  const std::vector<std::uint64_t>& shape() const;

  /// Number of elements.
  std::uint64_t size() const;

  /// 16, 32 or 64 for the IEEE formats; 0 for any other type.
  int float_bits() const;

  /// Reads all elements, row-major, whatever the numeric type stored. Throws DataError.
  std::vector<double> read_all() const;

  /// Reads elements [first, first + count) of the first `rows` rows of a matrix (none given: of
  /// all) into `out[row * stride + i]`, converted to float. Throws DataError.
  void read_columns(std::uint64_t first, std::uint64_t count, float* out, std::size_t stride,
                    std::optional<std::uint64_t> rows = std::nullopt) const;

 private:
  friend class Hdf5File;
  struct Impl;
  explicit Hdf5Dataset(std::shared_ptr<const Impl> impl);
  std::shared_ptr<const Impl> impl_;
};

/// An HDF5 file open for reading. Objects are named by their path from the root ("layer/0/weight");
/// "/" is the root. Every failure, a missing object or a wrong type included, is a DataError that
/// names file and object and gives HDF5's own innermost reason.
class Hdf5File {
 public:
  /// Opens a file. Throws DataError when it is missing, truncated or not HDF5.
  explicit Hdf5File(const std::filesystem::path& path);

  const std::filesystem::path& path() const;

  /// Whether a group or dataset of this name exists.
  bool has(const std::string& object) const;

  /// Names of the members of a group, sorted.
  std::vector<std::string> children(const std::string& group) const;

  bool has_attribute(const std::string& object, const std::string& name) const;

  /// One string, of fixed or variable length.
  std::string read_string(const std::string& object, const std::string& name) const;

  /// One-dimensional array of strings, of fixed or variable length.
  std::vector<std::string> read_strings(const std::string& object, const std::string& name) const;

  /// One number of any integer type.
  std::int64_t read_int(const std::string& object, const std::string& name) const;

  /// One number of any floating-point or integer type.
  double read_double(const std::string& object, const std::string& name) const;

  /// Name and value of every attribute, in name order. Arrays read "[a, b]"; types other than
  /// strings and numbers "(not shown)".
  std::vector<std::pair<std::string, std::string>> attributes(const std::string& object) const;

  /// Opens a dataset.
  Hdf5Dataset dataset(const std::string& object) const;

 private:
  friend class Hdf5Dataset;
  struct Impl;
  std::shared_ptr<const Impl> impl_;
};

/// Builds an HDF5 file in memory and saves it in one step, so that a failure (a full disk) never
/// leaves a damaged file; or, for content that memory does not hold, on disk. Groups on the way to
/// an object are made as needed. The bytes depend on the content only, not on the time. Throws
/// DataError.
class Hdf5Writer {
 public:
  Hdf5Writer();

  /// Builds the file at `temporary` instead, which replace_atomically has given to replace
  /// `target`; `close` ends it. Messages name the target.
  Hdf5Writer(const std::filesystem::path& temporary, const std::filesystem::path& target);
  ~Hdf5Writer();
  Hdf5Writer(Hdf5Writer&&) noexcept;
  Hdf5Writer& operator=(Hdf5Writer&&) noexcept;

  /// Makes a group, so that attributes can be given to it.
  void create_group(const std::string& group);

  /// Attributes of an existing object: variable-length UTF-8 for one string, fixed length padded
  /// with nulls for a non-empty array of strings (as h5py writes them), 64 bit for numbers.
  void write_string(const std::string& object, const std::string& name, const std::string& value);
  void write_strings(const std::string& object, const std::string& name,
                     const std::vector<std::string>& values);
  void write_int(const std::string& object, const std::string& name, std::int64_t value);
  void write_double(const std::string& object, const std::string& name, double value);

  /// A dataset of row-major `values`, float32 or float64 as given, with gzip and shuffle.
  void write_dataset(const std::string& object, const std::vector<std::uint64_t>& shape,
                     const std::vector<float>& values);
  void write_dataset(const std::string& object, const std::vector<std::uint64_t>& shape,
                     const std::vector<double>& values);

  /// Makes a float32 matrix [rows, columns] to be filled by write_columns, with gzip and shuffle or
  /// as it is.
  void create_matrix(const std::string& object, std::uint64_t rows, std::uint64_t columns,
                     bool compressed);

  /// Writes elements [first, first + count) of every row of such a matrix from
  /// `values[row * stride + i]`.
  void write_columns(const std::string& object, std::uint64_t first, std::uint64_t count,
                     const float* values, std::size_t stride);

  /// Completes a file on disk; nothing can be written after it.
  void close();

  /// Replaces `path` atomically by what has been written so far.
  void save(const std::filesystem::path& path) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace optinc
