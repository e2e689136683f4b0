// SPDX-License-Identifier: Apache-2.0
#include "solver/montecarlo/manifest.hpp"

#include <array>
#include <fstream>
#include <set>
#include <thread>

#include <fmt/format.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include "build_info.hpp"
#include "solver/error.hpp"
#include "solver/io/atomic_file.hpp"
#include "solver/montecarlo/columns.hpp"

namespace optinc {

namespace {

using Json = nlohmann::ordered_json;

bool is_file_key(const std::string& path) {
  const ConfigKey* key = find_config_key(path);
  return key != nullptr && key->type == ConfigType::file;
}

std::string axis_json(const AxisGroup& group, std::size_t column) {
  std::string text;
  for (const std::vector<ConfigValue>& row : group.rows) {
    text += (text.empty() ? "[" : ",") + value_json(row[column]);
  }
  return text + "]";
}

/// Values that all points share. Defaults that follow from an axis are left out: they differ
/// between the ends of the sweep.
std::map<std::string, ConfigValue> shared_values(const SweepConfig& sweep) {
  std::map<std::string, ConfigValue> shared = sweep.point(0).values();
  const std::map<std::string, ConfigValue> last = sweep.point(sweep.points() - 1).values();
  for (const std::string& path : sweep.axis_paths()) shared.erase(path);
  std::erase_if(shared, [&](const auto& entry) {
    const auto other = last.find(entry.first);
    return other == last.end() || other->second != entry.second;
  });
  return shared;
}

void add_axis_settings(const SweepConfig& sweep, FileHashes& hashes,
                       std::map<std::string, std::string>& settings) {
  for (const AxisGroup& group : sweep.axes) {
    for (std::size_t column = 0; column < group.paths.size(); ++column) {
      settings["axis " + group.paths[column]] = axis_json(group, column);
      if (!is_file_key(group.paths[column])) continue;
      for (const std::vector<ConfigValue>& row : group.rows) {
        const auto& name = std::get<std::string>(row[column]);
        settings["content of " + name] = value_json(hashes.hex(sweep, name));
      }
    }
  }
}

std::string axis_order(const SweepConfig& sweep) {
  Json order = Json::array();
  for (const AxisGroup& group : sweep.axes) order.push_back(group.paths);
  return order.dump();
}

Json column_json(const CsvColumn& column) {
  return {{"name", column.name}, {"unit", column.unit}, {"meaning", column.meaning}};
}

Json columns_json(const SweepConfig& sweep) {
  Json columns = Json::array();
  for (const CsvColumn& column : identity_columns()) columns.push_back(column_json(column));
  for (const std::string& path : sweep.axis_paths()) {
    const ConfigKey* key = find_config_key(path);
    columns.push_back(column_json({path, key->unit, "swept: " + key->description}));
  }
  for (const CsvColumn& column : metric_columns()) columns.push_back(column_json(column));
  return columns;
}

Json summary_columns_json() {
  Json columns = Json::array();
  for (const CsvColumn& column : summary_columns()) columns.push_back(column_json(column));
  return columns;
}

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

Json points_json(const std::vector<PointTime>& points) {
  Json json = Json::array();
  for (const PointTime& point : points) {
    json.push_back({{"wall_s", point.wall_s}, {"core_s", point.core_s}});
  }
  return json;
}

Manifest manifest_from(const Json& document) {
  Manifest manifest;
  if (document.at("format") != manifest.format) throw DataError("not a sweep manifest");
  for (const auto& [name, value] : document.at("settings").items()) {
    manifest.settings[name] = value.dump();
  }
  for (const Json& point : document.at("points")) {
    manifest.points.push_back({point.at("wall_s").get<double>(), point.at("core_s").get<double>()});
  }
  return manifest;
}

}  // namespace

Manifest make_manifest(const SweepConfig& sweep, const RunIdentity& identity, FileHashes& hashes) {
  Manifest manifest;
  for (const auto& [path, value] : shared_values(sweep)) {
    // Files are known by their content, so that a copy elsewhere continues the same result.
    manifest.settings[path] =
        is_file_key(path) ? value_json("sha256:" + hashes.hex(sweep, std::get<std::string>(value)))
                          : value_json(value);
  }
  add_axis_settings(sweep, hashes, manifest.settings);
  manifest.settings["axes in order"] = axis_order(sweep);
  manifest.settings["backend"] = value_json(identity.backend);
  manifest.settings["precision"] = value_json(identity.precision);
  manifest.settings["version"] = value_json(identity.version);
  manifest.settings["physics_version"] = fmt::format("{}", physics_version);
  // Both sides of a comparison then went through the same JSON text.
  for (auto& [name, text] : manifest.settings) text = Json::parse(text).dump();
  manifest.points.resize(sweep.points());
  return manifest;
}

std::vector<std::string> differing_settings(const Manifest& left, const Manifest& right) {
  std::set<std::string> names;
  for (const auto& [name, text] : left.settings) names.insert(name);
  for (const auto& [name, text] : right.settings) names.insert(name);
  std::erase_if(names, [&](const std::string& name) {
    const auto in_left = left.settings.find(name);
    const auto in_right = right.settings.find(name);
    return in_left != left.settings.end() && in_right != right.settings.end() &&
           in_left->second == in_right->second;
  });
  return {names.begin(), names.end()};
}

void write_manifest(const std::filesystem::path& path, const SweepConfig& sweep,
                    const Manifest& manifest) {
  Json settings;
  for (const auto& [name, text] : manifest.settings) settings[name] = Json::parse(text);
  Json files = Json::object();
  for (const auto& [key, value] : shared_values(sweep)) {
    if (is_file_key(key)) files[key] = std::get<std::string>(value);
  }
  const Json document = {
      {"format", manifest.format},
      {"settings", settings},
      {"files", files},
      {"columns", columns_json(sweep)},
      {"summary_columns", summary_columns_json()},
      {"build",
       {{"version", build_info::version},
        {"commit", build_info::commit},
        {"compiler", build_info::compiler},
        {"build_type", build_info::build_type},
        {"flags", build_info::compiler_flags}}},
      {"host", {{"name", host_name()}, {"hardware_threads", std::thread::hardware_concurrency()}}},
      {"points", points_json(manifest.points)}};
  write_file_atomically(
      path, document.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

Manifest read_manifest(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    throw DataError(
        fmt::format("{} is missing, so the result beside it cannot be continued; use "
                    "--fresh to start over or another --out file",
                    path.string()));
  }
  try {
    return manifest_from(Json::parse(file));
  } catch (const std::exception& error) {
    throw DataError(
        fmt::format("{} is damaged ({}); use --fresh to start over or another --out "
                    "file",
                    path.string(), error.what()));
  }
}

}  // namespace optinc
