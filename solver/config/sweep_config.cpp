// SPDX-License-Identifier: Apache-2.0
#include "solver/config/sweep_config.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <optional>
#include <set>
#include <system_error>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "solver/config/preset.hpp"
#include "solver/config/toml_values.hpp"
#include "solver/error.hpp"
#include "solver/gradient/sampling.hpp"
#include "solver/gradient/synthetic.hpp"
#include "solver/io/atomic_file.hpp"
#include "solver/io/hash.hpp"
#include "solver/optinc/code.hpp"
#include "solver/text.hpp"

namespace optinc {

using namespace toml_values;

namespace {

/// Makes interior points independent of the last bits of the math library, and readable.
double rounded_to_12_digits(double value) {
  double rounded = value;
  parse_number(fmt::format("{:.11e}", value), rounded);
  return rounded;
}

/// [first value, last value, count] of a linspace or logspace; interior points are rounded to 12
/// significant digits.
std::vector<double> spaced_values(const toml::node& node, bool logarithmic,
                                  const std::string& where) {
  const char* kind = logarithmic ? "logspace" : "linspace";
  const toml::array* array = node.as_array();
  const bool shaped = array != nullptr && array->size() == 3 && (*array)[0].is_number() &&
                      (*array)[1].is_number() && (*array)[2].is_integer();
  if (!shaped) fail(where, fmt::format("{} must be [first value, last value, count]", kind));
  const double first = *(*array)[0].value<double>();
  const double last = *(*array)[1].value<double>();
  const std::int64_t count = *(*array)[2].value<std::int64_t>();
  if (count < 1 || count > 100000) {
    fail(where, fmt::format("{} count = {} (must lie in 1 .. 100000)", kind, count));
  }
  if (!std::isfinite(first) || !std::isfinite(last))
    fail(where, fmt::format("{} must be finite", kind));
  if (logarithmic && (first <= 0 || last <= 0)) {
    fail(where, "logspace needs positive first and last values");
  }
  std::vector<double> values;
  for (std::int64_t i = 0; i < count; ++i) {
    const double fraction =
        count == 1 ? 0.0 : static_cast<double>(i) / static_cast<double>(count - 1);
    const double between =
        logarithmic ? first * std::pow(last / first, fraction) : first + (last - first) * fraction;
    const bool at_end = count > 1 && i == count - 1;
    values.push_back(i == 0 ? first : (at_end ? last : rounded_to_12_digits(between)));
  }
  return values;
}

/// A number of a linspace or logspace as a value of the key.
ConfigValue spaced_value(const ConfigKey& key, double number, const std::string& where) {
  if (key.type != ConfigType::integer) return key_value(key, toml::value<double>(number), where);
  if (number != std::round(number)) {
    fail(where, fmt::format("{} takes whole numbers, the axis gives {}", key.path, number));
  }
  require_in_range(key, number, where);
  return key_value(key, toml::value<std::int64_t>(static_cast<std::int64_t>(number)), where);
}

std::vector<ConfigValue> axis_values(const ConfigKey& key, const toml::table& axis,
                                     const std::string& name, const std::string& where) {
  std::vector<ConfigValue> values;
  int given = 0;
  for (const bool logarithmic : {false, true}) {
    const toml::node* node = axis.get(logarithmic ? "logspace" : "linspace");
    if (node == nullptr) continue;
    ++given;
    for (const double number : spaced_values(*node, logarithmic, place(name, node->source()))) {
      values.push_back(spaced_value(key, number, where));
    }
  }
  if (const toml::node* node = axis.get("values")) {
    ++given;
    if (!node->is_array()) fail(where, "values must be a list");
    for (const toml::node& entry : *node->as_array()) {
      values.push_back(key_value(key, entry, place(name, entry.source())));
    }
  }
  if (given != 1) fail(where, "an axis needs exactly one of values, linspace, logspace");
  if (values.empty()) fail(where, fmt::format("axis over {} is empty", key.path));
  return values;
}

std::string axis_text(const toml::table& axis, const char* entry, const std::string& where) {
  const std::optional<std::string> text = axis[entry].value_exact<std::string>();
  if (!text || text->empty()) fail(where, fmt::format("axis {} must be a non-empty string", entry));
  return *text;
}

/// Adds an axis as a group of its own or to the group of its zip name.
void add_axis(const toml::table& axis, const std::string& name,
              std::map<std::string, std::size_t>& zips, std::vector<AxisGroup>& groups) {
  const std::string where = place(name, axis.source());
  for (const auto& [key, node] : axis) {
    const std::vector<std::string> known = {"path", "values", "linspace", "logspace", "zip"};
    if (std::find(known.begin(), known.end(), key.str()) == known.end()) {
      fail(place(name, key.source()), fmt::format("unknown axis key '{}' (did you mean '{}'?)",
                                                  key.str(), nearest_name(key.str(), known)));
    }
  }
  const std::string path = axis_text(axis, "path", where);
  if (path.rfind("montecarlo.", 0) == 0 || path.rfind("report.", 0) == 0) {
    fail(where, fmt::format("{} cannot be an axis (it describes the run, not the chip)", path));
  }
  for (const AxisGroup& group : groups) {
    if (std::find(group.paths.begin(), group.paths.end(), path) != group.paths.end()) {
      fail(where, fmt::format("second axis over {}", path));
    }
  }
  const std::vector<ConfigValue> values =
      axis_values(require_key(config_keys(), path, where), axis, name, where);
  std::size_t index = groups.size();
  if (axis.contains("zip"))
    index = zips.try_emplace(axis_text(axis, "zip", where), index).first->second;
  if (index == groups.size())
    groups.push_back({{}, std::vector<std::vector<ConfigValue>>(values.size())});
  AxisGroup& group = groups[index];
  if (group.rows.size() != values.size()) {
    fail(where, fmt::format("axis over {} has {} values, others of its zip have {}", path,
                            values.size(), group.rows.size()));
  }
  group.paths.push_back(path);
  for (std::size_t i = 0; i < values.size(); ++i) group.rows[i].push_back(values[i]);
}

void read_axes(const toml::node& node, const std::string& name, std::vector<AxisGroup>& groups) {
  const toml::array* array = node.as_array();
  if (array == nullptr || (!array->empty() && !array->is_array_of_tables())) {
    fail(place(name, node.source()), "axes are written as [[axis]] tables");
  }
  std::map<std::string, std::size_t> zips;
  for (const toml::node& axis : *array) add_axis(*axis.as_table(), name, zips, groups);
}

void apply_override(const std::string& text, SweepConfig& sweep) {
  const Setting setting = split_setting(text);
  const std::string where = setting.where();
  const ConfigKey& key = require_key(config_keys(), setting.path, where);
  for (const std::string& axis : sweep.axis_paths()) {
    if (axis == setting.path) fail(where, fmt::format("{} is an axis of this sweep", axis));
  }
  sweep.base.set(setting.path, setting_value(key, setting));
}

void set_schema_defaults(ResolvedConfig& config) {
  for (const ConfigKey& key : config_keys()) {
    if (key.built && key.default_value) config.set(key.path, *key.default_value);
  }
}

/// The keys that the preset of a configuration without axes gives.
ResolvedConfig preset_of(const SweepConfig& sweep) {
  if (!sweep.base.has(preset_key)) return {};
  const std::optional<std::string> file =
      file_of_value(preset_key, sweep.base.values().at(preset_key));
  return file ? load_preset(sweep.find_file(*file)) : ResolvedConfig();
}

void set_all(const ResolvedConfig& from, ResolvedConfig& config) {
  for (const auto& [path, value] : from.values()) config.set(path, value);
}

/// Takes out the keys that a network file fixes.
void leave_to_network_file(ResolvedConfig& config, const std::set<std::string>& given) {
  for (const char* key :
       {"network.kind", "network.form", "network.step", "network.digits_per_input",
        "workload.rounding", "workload.bits", "workload.code_offset"}) {
    if (given.count(key) != 0) {
      throw ConfigError(fmt::format(
          "{} is given together with network.file (the file fixes it); leave one out", key));
    }
    config.erase(key);
  }
  if (given.count("network.mapping") == 0) config.set("network.mapping", std::string(as_trained));
}

void set_unless_given(ResolvedConfig& config, const std::string& path, ConfigValue value) {
  if (!config.has(path)) config.set(path, std::move(value));
}

/// Keys that describe a workload go with some kinds only.
void refuse_key(const ResolvedConfig& config, const char* key) {
  if (!config.has(key)) return;
  throw ConfigError(
      fmt::format("{} is given but workload.kind is \"{}\"; leave it out or choose "
                  "another kind",
                  key, config.text("workload.kind")));
}

void complete_workload(ResolvedConfig& config) {
  const std::string& kind = config.text("workload.kind");
  if (kind != "student_t") refuse_key(config, "workload.degrees_of_freedom");
  if (kind == "trace") {
    for (const char* key : {"workload.elements", "workload.correlation", "workload.scale"}) {
      refuse_key(config, key);
    }
    return;
  }
  refuse_key(config, "workload.trace");
  const SyntheticOptions defaults;
  set_unless_given(config, "workload.servers", std::int64_t{defaults.servers});
  set_unless_given(config, "workload.elements", static_cast<std::int64_t>(defaults.elements));
  set_unless_given(config, "workload.correlation", defaults.correlation);
  set_unless_given(config, "workload.scale", defaults.scale);
  if (kind == "student_t") {
    set_unless_given(config, "workload.degrees_of_freedom", defaults.degrees_of_freedom);
  }
}

bool is_cascade(const ResolvedConfig& config) {
  return config.has("network.cascade") && config.text("network.cascade") != "none";
}

/// Keys of a cascade go with each other.
void check_cascade(const ResolvedConfig& config) {
  const auto refuse = [&](std::initializer_list<const char*> keys, const char* reason) {
    for (const char* key : keys) {
      if (config.has(key)) throw ConfigError(fmt::format("{} is given but {}", key, reason));
    }
  };
  if (!is_cascade(config)) {
    return refuse(
        {"network.level2_servers", "network.level2_digits_per_input", "network.level2_file"},
        "network.cascade is none; leave it out or choose \"fraction\" or \"naive\"");
  }
  if (!config.has("network.file")) {
    return refuse({"network.level2_file"},
                  "network.file is not (the file of level 1); give both files or none");
  }
  if (!config.has("network.level2_file")) {
    throw ConfigError(
        "network.file is given with network.cascade but network.level2_file is not; give the "
        "files of both levels or none");
  }
  refuse({"network.level2_servers", "network.level2_digits_per_input"},
         "network.level2_file fixes it; leave it out");
}

/// The key of an imperfection that makes the decoded value depend on more than the code: on who
/// sent which digit, or on the symbol.
std::optional<std::string> key_beyond_codes(const ResolvedConfig& config) {
  const std::string p = "imperfections.";
  for (const char* key :
       {"combiner.amplitude_sigma", "combiner.phase_sigma_rad", "laser.server_phase_sigma_rad",
        "phase.jitter_sigma_rad", "laser.rin_db_hz", "laser.linewidth_hz",
        "transmitter.extinction_ratio_db", "amplifier.noise_sigma"}) {
    if (config.has(p + key) && config.real(p + key) != 0) return p + key;
  }
  const std::string mismatch = p + "transmitter.rlm";
  if (config.has(mismatch) && config.real(mismatch) != 1) return mismatch;
  return std::nullopt;
}

void complete_jitter(ResolvedConfig& config) {
  const std::string sigma = "imperfections.phase.jitter_sigma_rad";
  if (!config.has(sigma) || config.real(sigma) == 0) return;
  set_unless_given(config, "imperfections.phase.jitter_realizations", std::int64_t{64});
}

void complete_evaluation(ResolvedConfig& config) {
  const std::optional<std::string> differ = key_beyond_codes(config);
  const bool cascade = is_cascade(config);
  const bool sampled = differ.has_value() || cascade || config.has("sample_elements");
  set_unless_given(config, "evaluation", std::string(sampled ? "sampled" : "codes"));
  const std::string& evaluation = config.text("evaluation");
  if (differ && evaluation == "codes") {
    throw ConfigError(fmt::format(
        "evaluation is \"codes\" but {} differs between servers or symbols (so that the "
        "code alone does not decide); choose \"sampled\" or \"tuples\"",
        *differ));
  }
  if (cascade && evaluation == "codes") {
    throw ConfigError(
        "evaluation is \"codes\" but network.cascade has several units (so that the code of all "
        "servers does not decide); choose \"sampled\" or \"tuples\"");
  }
  if (differ && config.boolean("report.uniform_codes")) {
    throw ConfigError(
        fmt::format("report.uniform_codes is given but {} differs between servers or symbols (so "
                    "that a code alone has no decoded value); leave it out",
                    *differ));
  }
  if (evaluation == "sampled") {
    set_unless_given(config, "sample_elements",
                     static_cast<std::int64_t>(SampleOptions{}.elements));
  } else if (config.has("sample_elements")) {
    throw ConfigError(fmt::format(
        "sample_elements is given but evaluation is \"{}\"; leave it out or choose \"sampled\"",
        evaluation));
  }
}

void refuse_without_target(const ResolvedConfig& config) {
  for (const char* key : {"montecarlo.target.abs_halfwidth", "montecarlo.target.rel_halfwidth",
                          "montecarlo.min_chips", "montecarlo.max_chips"}) {
    if (!config.has(key)) continue;
    throw ConfigError(fmt::format(
        "{} is given but montecarlo.target.metric is not; give the metric or leave it out", key));
  }
}

void complete_stopping(ResolvedConfig& config, const std::set<std::string>& given) {
  if (!config.has("montecarlo.target.metric")) return refuse_without_target(config);
  if (given.count("montecarlo.chips") != 0) {
    throw ConfigError(
        "montecarlo.chips (or --chips) is given together with montecarlo.target.metric; leave it "
        "out and give montecarlo.max_chips");
  }
  if (!config.has("montecarlo.target.abs_halfwidth") &&
      !config.has("montecarlo.target.rel_halfwidth")) {
    throw ConfigError(
        "montecarlo.target.metric is given without a half-width to reach; give "
        "montecarlo.target.abs_halfwidth or rel_halfwidth");
  }
  constexpr std::int64_t usual_min = 30;
  constexpr std::int64_t usual_max = 10000;
  set_unless_given(config, "montecarlo.max_chips", usual_max);
  const std::int64_t most = config.integer("montecarlo.max_chips");
  set_unless_given(config, "montecarlo.min_chips", std::min(usual_min, most));
  if (config.integer("montecarlo.min_chips") > most) {
    throw ConfigError(fmt::format("montecarlo.min_chips = {} is above montecarlo.max_chips = {}",
                                  config.integer("montecarlo.min_chips"), most));
  }
  config.set("montecarlo.chips", most);
}

/// Fills in the defaults that depend on other keys.
void complete_defaults(ResolvedConfig& config, const std::set<std::string>& given) {
  complete_stopping(config, given);
  complete_workload(config);
  check_cascade(config);
  complete_jitter(config);
  complete_evaluation(config);
  if (config.has("network.file")) return leave_to_network_file(config, given);
  const auto bits = static_cast<int>(config.integer("workload.bits"));
  set_unless_given(config, "network.digits_per_input",
                   std::int64_t{default_digits_per_input(bits)});
  set_unless_given(config, "workload.code_offset", std::int64_t{1} << (bits - 1));
}

}  // namespace

std::filesystem::path find_in_folders(const std::vector<std::filesystem::path>& folders,
                                      const std::filesystem::path& data_directory,
                                      const std::string& name) {
  std::vector<std::filesystem::path> places;
  for (const std::filesystem::path& folder : folders) places.push_back(folder / name);
  if (!data_directory.empty()) {
    const std::string prefix = "data/";
    places.push_back(data_directory / name);
    if (name.starts_with(prefix)) places.push_back(data_directory / name.substr(prefix.size()));
  }
  std::error_code error;
  const auto found = std::find_if(
      places.begin(), places.end(),
      [&](const std::filesystem::path& place) { return std::filesystem::exists(place, error); });
  return found == places.end() ? std::filesystem::path() : *found;
}

const ConfigValue& ResolvedConfig::at(const std::string& path) const {
  const auto entry = values_.find(path);
  if (entry == values_.end()) throw ConfigError(fmt::format("{} must be given", path));
  return entry->second;
}

double ResolvedConfig::real(const std::string& path) const { return std::get<double>(at(path)); }

std::int64_t ResolvedConfig::integer(const std::string& path) const {
  return std::get<std::int64_t>(at(path));
}

bool ResolvedConfig::boolean(const std::string& path) const { return std::get<bool>(at(path)); }

const std::string& ResolvedConfig::text(const std::string& path) const {
  return std::get<std::string>(at(path));
}

std::size_t SweepConfig::points() const {
  std::size_t total = 1;
  for (const AxisGroup& group : axes) total *= group.rows.size();
  return total;
}

SweepConfig SweepConfig::single(std::size_t index) const {
  SweepConfig one{
      .directory = directory, .data_directory = data_directory, .base = base, .axes = {}};
  for (auto group = axes.rbegin(); group != axes.rend(); ++group) {
    const std::vector<ConfigValue>& row = group->rows[index % group->rows.size()];
    index /= group->rows.size();
    for (std::size_t i = 0; i < row.size(); ++i) one.base.set(group->paths[i], row[i]);
  }
  return one;
}

SweepConfig SweepConfig::without_preset() const {
  SweepConfig expanded = *this;
  expanded.base = preset_of(*this);
  set_all(base, expanded.base);
  expanded.base.erase(preset_key);
  return expanded;
}

ResolvedConfig SweepConfig::point(std::size_t index) const {
  ResolvedConfig config;
  set_schema_defaults(config);
  std::set<std::string> given;
  const SweepConfig one = single(index);
  set_all(preset_of(one), config);
  for (const auto& [path, value] : one.base.values()) {
    config.set(path, value);
    given.insert(path);
  }
  complete_defaults(config, given);
  return config;
}

std::vector<std::string> SweepConfig::axis_paths() const {
  std::vector<std::string> paths;
  for (const AxisGroup& group : axes) {
    paths.insert(paths.end(), group.paths.begin(), group.paths.end());
  }
  return paths;
}

std::filesystem::path SweepConfig::find_file(const std::string& name) const {
  std::filesystem::path found = find_in_folders({directory, ""}, data_directory, name);
  if (!found.empty()) return found;
  throw DataError(
      fmt::format("{}: no such file (looked in {}, the current directory and the installed data); "
                  "give a path relative to the configuration file",
                  name, directory.empty() ? "." : directory.string()));
}

SweepConfig load_sweep_config(const std::filesystem::path& path,
                              const std::vector<std::string>& overrides) {
  const std::string name = path.string();
  SweepConfig sweep{.directory = path.parent_path(), .data_directory = {}, .base = {}, .axes = {}};
  toml::table table = parse_toml_file(path);
  if (const toml::node* axes = table.get("axis")) {
    read_axes(*axes, name, sweep.axes);
    table.erase("axis");
  }
  read_table(config_keys(), table, name, sweep.base);
  for (const std::string& axis : sweep.axis_paths()) {
    if (sweep.base.has(axis)) fail(name, fmt::format("{} is both a fixed key and an axis", axis));
  }
  constexpr std::size_t most_points = 10'000'000;
  double points = 1;
  for (const AxisGroup& group : sweep.axes) points *= static_cast<double>(group.rows.size());
  if (points > static_cast<double>(most_points)) {
    fail(name, fmt::format("{:.3g} sweep points (limit {})", points, most_points));
  }
  for (const std::string& text : overrides) apply_override(text, sweep);
  return sweep;
}

SweepConfig config_from_overrides(const std::vector<std::string>& overrides) {
  SweepConfig config{.directory = {}, .data_directory = {}, .base = {}, .axes = {}};
  for (const std::string& text : overrides) apply_override(text, config);
  return config;
}

std::string value_text(const ConfigValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return fmt::format("{}", *whole);
  return csv_number(std::get<double>(value));
}

std::string value_json(const ConfigValue& value) {
  const auto* text = std::get_if<std::string>(&value);
  if (text == nullptr) return value_text(value);
  return nlohmann::json(*text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

const std::string& FileHashes::hex(const SweepConfig& sweep, const std::string& name) {
  const auto known = hex_by_name_.find(name);
  if (known != hex_by_name_.end()) return known->second;
  return hex_by_name_.emplace(name, sha256_file_hex(sweep.find_file(name))).first->second;
}

std::string canonical_json(const SweepConfig& sweep, const ResolvedConfig& point,
                           FileHashes& hashes) {
  std::map<std::string, std::string> members = {
      {"physics_version", fmt::format("{}", physics_version)}};
  for (const auto& [path, value] : point.values()) {
    if (path.starts_with("montecarlo.")) continue;
    const std::optional<std::string> file = file_of_value(path, value);
    members[path] = file ? value_json("sha256:" + hashes.hex(sweep, *file)) : value_json(value);
  }
  std::vector<std::string> texts;
  for (const auto& [path, json] : members) texts.push_back(fmt::format("\"{}\":{}", path, json));
  return fmt::format("{{{}}}", fmt::join(texts, ","));
}

std::string task_id(const SweepConfig& sweep, const ResolvedConfig& point, FileHashes& hashes) {
  return sha256_hex(canonical_json(sweep, point, hashes)).substr(0, 16);
}

}  // namespace optinc
