// SPDX-License-Identifier: Apache-2.0
#include "solver/montecarlo/manifest.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <optional>
#include <set>
#include <thread>

#include <fmt/format.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include "build_info.hpp"
#include "solver/config/preset.hpp"
#include "solver/error.hpp"
#include "solver/io/atomic_file.hpp"
#include "solver/io/json_problem.hpp"
#include "solver/montecarlo/columns.hpp"
#include "solver/text.hpp"

namespace optinc {

namespace {

using Json = nlohmann::ordered_json;

std::string axis_json(const AxisGroup& group, std::size_t column) {
  std::string text;
  for (const std::vector<ConfigValue>& row : group.rows) {
    text += (text.empty() ? "[" : ",") + value_json(row[column]);
  }
  return text + "]";
}

/// Points that together show every key that follows from an axis: the last one, where all axes have
/// moved, and one per preset of an axis, each of which sets keys of its own.
std::vector<std::size_t> telling_points(const SweepConfig& sweep) {
  std::vector<std::size_t> points = {sweep.points() - 1};
  std::size_t stride = sweep.points();
  for (const AxisGroup& group : sweep.axes) {
    stride /= group.rows.size();
    if (std::count(group.paths.begin(), group.paths.end(), preset_key) == 0) continue;
    for (std::size_t row = 1; row < group.rows.size(); ++row) points.push_back(row * stride);
  }
  return points;
}

/// Values that all points share. What follows from an axis (defaults, keys of a preset) is left
/// out.
std::map<std::string, ConfigValue> shared_values(const SweepConfig& sweep) {
  std::map<std::string, ConfigValue> shared = sweep.point(0).values();
  for (const std::string& path : sweep.axis_paths()) shared.erase(path);
  for (const std::size_t point : telling_points(sweep)) {
    const std::map<std::string, ConfigValue> values = sweep.point(point).values();
    std::erase_if(shared, [&](const auto& entry) {
      const auto other = values.find(entry.first);
      return other == values.end() || other->second != entry.second;
    });
  }
  return shared;
}

void add_axis_settings(const SweepConfig& sweep, FileHashes& hashes,
                       std::map<std::string, std::string>& settings) {
  for (const AxisGroup& group : sweep.axes) {
    for (std::size_t column = 0; column < group.paths.size(); ++column) {
      settings["axis " + group.paths[column]] = axis_json(group, column);
      for (const std::vector<ConfigValue>& row : group.rows) {
        const std::optional<std::string> file = file_of_value(group.paths[column], row[column]);
        if (file) settings["content of " + *file] = value_json(hashes.hex(sweep, *file));
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

Json columns_json(const Manifest& manifest) {
  Json columns = Json::array();
  for (const CsvColumn& column : identity_columns()) columns.push_back(column_json(column));
  for (const std::string& path : axis_paths(manifest)) {
    const ConfigKey* key = find_config_key(path);
    if (key == nullptr) throw DataError(fmt::format("unknown axis '{}' in a manifest", path));
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

Json points_json(const Manifest& manifest) {
  Json json = Json::array();
  for (std::size_t point = 0; point < manifest.points.size(); ++point) {
    json.push_back({{"task_id", manifest.task_ids[point]},
                    {"wall_s", manifest.points[point].wall_s},
                    {"core_s", manifest.points[point].core_s}});
  }
  return json;
}

Manifest manifest_from(const Json& document) {
  Manifest manifest;
  if (document.at("format") != manifest.format) throw DataError("not a sweep manifest");
  for (const auto& [name, value] : document.at("settings").items()) {
    manifest.settings[name] = value.dump();
  }
  for (const auto& [key, name] : document.at("files").items()) {
    manifest.files[key] = name.get<std::string>();
  }
  for (const Json& point : document.at("points")) {
    manifest.task_ids.push_back(point.at("task_id").get<std::string>());
    manifest.points.push_back({point.at("wall_s").get<double>(), point.at("core_s").get<double>()});
  }
  return manifest;
}

/// JSON text of a setting; "nothing" where it is not there.
std::string setting_text(const Manifest& manifest, const std::string& name) {
  const auto setting = manifest.settings.find(name);
  return setting == manifest.settings.end() ? "nothing" : setting->second;
}

}  // namespace

Manifest make_manifest(const SweepConfig& sweep, const RunIdentity& identity, FileHashes& hashes) {
  Manifest manifest;
  for (const auto& [path, value] : shared_values(sweep)) {
    const std::optional<std::string> file = file_of_value(path, value);
    if (file) manifest.files[path] = *file;
    // Files are known by their content, so that a copy elsewhere continues the same result.
    manifest.settings[path] =
        file ? value_json("sha256:" + hashes.hex(sweep, *file)) : value_json(value);
  }
  add_axis_settings(sweep, hashes, manifest.settings);
  manifest.settings["axes in order"] = axis_order(sweep);
  manifest.settings["backend"] = value_json(identity.backend);
  manifest.settings["precision"] = value_json(identity.precision);
  manifest.settings["version"] = value_json(identity.version);
  manifest.settings["physics_version"] = fmt::format("{}", physics_version);
  if (!identity.shard.whole()) {
    manifest.settings["shard"] = value_json(shard_text(identity.shard));
  }
  if (identity.per_tensor) manifest.settings[layers_key] = "true";
  // Both sides of a comparison then went through the same JSON text.
  for (auto& [name, text] : manifest.settings) text = Json::parse(text).dump();
  manifest.points.resize(sweep.points());
  for (std::size_t point = 0; point < sweep.points(); ++point) {
    manifest.task_ids.push_back(task_id(sweep, sweep.point(point), hashes));
  }
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

std::string differences_text(const std::vector<std::string>& names, const Manifest& there,
                             const Manifest& here) {
  constexpr std::size_t longest_shown = 48;
  std::vector<std::string> texts;
  for (const std::string& name : names) {
    const std::string values =
        fmt::format(" ({} there, {} here)", setting_text(there, name), setting_text(here, name));
    texts.push_back(values.size() > longest_shown ? name : name + values);
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::vector<std::string> axis_paths(const Manifest& manifest) {
  std::vector<std::string> paths;
  try {
    for (const Json& group : Json::parse(manifest.settings.at("axes in order"))) {
      for (const Json& path : group) paths.push_back(path.get<std::string>());
    }
  } catch (const std::exception&) {
    throw DataError("a manifest does not list its axes");
  }
  return paths;
}

double number_setting(const Manifest& manifest, const std::string& name) {
  const auto setting = manifest.settings.find(name);
  double number = 0;
  if (setting == manifest.settings.end() || !parse_number(setting->second, number)) {
    throw DataError(fmt::format("a manifest has no number {}", name));
  }
  return number;
}

Shard shard_of(const Manifest& manifest) {
  const auto setting = manifest.settings.find("shard");
  if (setting == manifest.settings.end()) return {};
  const Json text = Json::parse(setting->second);
  const std::optional<Shard> shard =
      text.is_string() ? parse_shard(text.get<std::string>()) : std::nullopt;
  if (!shard) throw DataError(fmt::format("a manifest names no shard: {}", setting->second));
  return *shard;
}

void write_manifest(const std::filesystem::path& path, const Manifest& manifest) {
  Json settings;
  for (const auto& [name, text] : manifest.settings) settings[name] = Json::parse(text);
  Json files = Json::object();
  for (const auto& [key, name] : manifest.files) files[key] = name;
  const Json document = {
      {"format", manifest.format},
      {"settings", settings},
      {"files", files},
      {"columns", columns_json(manifest)},
      {"summary_columns", summary_columns_json()},
      {"build",
       {{"version", build_info::version},
        {"commit", build_info::commit},
        {"compiler", build_info::compiler},
        {"build_type", build_info::build_type},
        {"flags", build_info::compiler_flags}}},
      {"host", {{"name", host_name()}, {"hardware_threads", std::thread::hardware_concurrency()}}},
      {"points", points_json(manifest)}};
  write_file_atomically(
      path, document.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

Manifest read_manifest(const std::filesystem::path& path, const std::string& advice) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    throw DataError(fmt::format("{} is missing (it says what the rows beside it are); {}",
                                path.string(), advice));
  }
  const auto damaged = [&](const std::string& problem) {
    return DataError(fmt::format("{} is damaged ({}); {}", path.string(), problem, advice));
  };
  try {
    Manifest manifest = manifest_from(Json::parse(file));
    // Whoever reads it relies on these.
    (void)axis_paths(manifest);
    (void)shard_of(manifest);
    (void)number_setting(manifest, "montecarlo.chips");
    (void)number_setting(manifest, "report.yield_limit");
    return manifest;
  } catch (const UserError& error) {
    throw damaged(error.what());
  } catch (const Json::exception& error) {
    throw damaged(json_problem(error));
  }
}

}  // namespace optinc
