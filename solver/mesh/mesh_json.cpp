// SPDX-License-Identifier: Apache-2.0
#include "solver/mesh/mesh_json.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstddef>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "solver/error.hpp"
#include "solver/io/file_context.hpp"
#include "solver/io/json_problem.hpp"
#include "solver/names.hpp"
#include "solver/text.hpp"

namespace optinc {

namespace {

using MeshJson = nlohmann::json;

[[noreturn]] void fail_mesh(const std::string& name, const std::string& problem) {
  throw DataError(fmt::format("{}: {}", name, problem));
}

MeshJson parse_document(const std::string& text, const std::string& name) {
  try {
    return MeshJson::parse(text);
  } catch (const MeshJson::exception& error) {
    fail_mesh(name, fmt::format("is not JSON ({})", json_problem(error)));
  }
}

double finite_number(const MeshJson& value, const std::string& name, const std::string& key) {
  if (!value.is_number())
    fail_mesh(name, fmt::format("{} holds {} (must be a number)", key, value.dump()));
  const double number = value.get<double>();
  if (!std::isfinite(number))
    fail_mesh(name, fmt::format("{} holds a number that is not finite", key));
  return number;
}

std::vector<double> numbers(const MeshJson& document, const std::string& key, std::size_t count,
                            const std::string& name, bool required) {
  if (!document.contains(key)) {
    if (required) fail_mesh(name, fmt::format("{} is missing", key));
    return {};
  }
  const MeshJson& list = document.at(key);
  if (!list.is_array() || list.size() != count) {
    fail_mesh(name, fmt::format("{} must be a list of {} numbers{}", key, count,
                                list.is_array() ? fmt::format(" (has {})", list.size()) : ""));
  }
  std::vector<double> values;
  for (const MeshJson& entry : list) values.push_back(finite_number(entry, name, key));
  return values;
}

int whole_number(const MeshJson& value, const std::string& name, const std::string& key) {
  constexpr std::int64_t limit = 1'000'000;
  if (!value.is_number_integer() || value.get<std::int64_t>() < 0 ||
      value.get<std::int64_t>() > limit) {
    fail_mesh(name, fmt::format("{} holds {} (must be a whole number up to {})", key, value.dump(),
                                limit));
  }
  return value.get<int>();
}

std::vector<MeshColumn> read_columns(const MeshJson& document, const std::string& name) {
  for (const char* key : {"shifts", "lens"}) {
    if (!document.contains(key) || !document.at(key).is_array()) {
      fail_mesh(name, fmt::format("{} must be a list (it describes the columns)", key));
    }
  }
  const MeshJson& shifts = document.at("shifts");
  const MeshJson& lens = document.at("lens");
  if (shifts.size() != lens.size()) {
    fail_mesh(name, fmt::format("shifts has {} entries, lens {}", shifts.size(), lens.size()));
  }
  std::vector<MeshColumn> columns;
  for (std::size_t i = 0; i < shifts.size(); ++i) {
    columns.push_back(
        {whole_number(shifts[i], name, "shifts"), whole_number(lens[i], name, "lens")});
  }
  return columns;
}

std::string text_entry(const MeshJson& document, const char* key, const std::string& name) {
  if (!document.at(key).is_string()) fail_mesh(name, fmt::format("{} must be a string", key));
  return document.at(key).get<std::string>();
}

/// The topology that the `kind` of a cross-check case implies.
std::string topology_of_kind(const std::string& kind, const std::string& name) {
  if (kind.rfind("reck", 0) == 0) return "reck";
  for (const char* start : {"clements", "errcorr", "simphox_rect"}) {
    if (kind.rfind(start, 0) == 0) return "clements";
  }
  fail_mesh(name, fmt::format("kind = \"{}\" implies no known topology (give topology)", kind));
}

std::string topology_name(const MeshJson& document, const std::string& name) {
  if (document.contains("topology")) return text_entry(document, "topology", name);
  if (!document.contains("kind"))
    fail_mesh(name, "topology is missing (known: clements, reck, columns)");
  return topology_of_kind(text_entry(document, "kind", name), name);
}

MziKind read_mzi_kind(const MeshJson& document, const std::string& name) {
  if (!document.contains("mzi")) return MziKind::standard;
  const std::string kind = text_entry(document, "mzi", name);
  if (const auto known = parse_enum<MziKind>(kind)) return *known;
  fail_mesh(name,
            fmt::format("mzi = \"{}\" (known: {})", kind, fmt::join(enum_names<MziKind>(), ", ")));
}

Topology read_topology(const MeshJson& document, const std::string& name) {
  if (!document.contains("N")) fail_mesh(name, "N (number of modes) is missing");
  const int modes = whole_number(document.at("N"), name, "N");
  constexpr int most_modes = 4096;
  if (modes < 1 || modes > most_modes) {
    fail_mesh(name, fmt::format("N = {} (must lie in 1 .. {})", modes, most_modes));
  }
  const std::string topology = topology_name(document, name);
  const bool has_columns = document.contains("shifts") || document.contains("lens");
  // A cross-check case names a Reck mesh and lists its columns too.
  if (topology == "columns" || (topology == "reck" && has_columns)) {
    const std::vector<MeshColumn> listed = read_columns(document, name);
    const Topology columns = with_file_name(name, [&] { return column_topology(modes, listed); });
    const Topology reck = reck_topology(modes);
    return columns.columns == reck.columns && topology == "reck" ? reck : columns;
  }
  if (has_columns) fail_mesh(name, "shifts and lens belong to topology \"columns\"");
  if (topology == "clements") return clements_topology(modes);
  if (topology == "reck") return reck_topology(modes);
  fail_mesh(name, fmt::format("topology = \"{}\" (known: clements, reck, columns)", topology));
}

/// Keys that hold errors of a mesh.
const std::vector<std::string> error_keys = {"alpha",    "beta", "gamma", "dtheta", "dphi",
                                             "dphi_out", "f",    "q",     "g"};

/// Keys of a cross-check case that change its matrix in a way this reader does not model.
void check_case_keys(const MeshJson& document, const std::string& name) {
  for (const char* key : {"e0", "e1", "loss_db"}) {
    if (document.contains(key)) {
      fail_mesh(name,
                fmt::format("{} is a parameter of another library (convert it: e0 = alpha, e1 = "
                            "beta, loss_db = g)",
                            key));
    }
  }
  if (document.contains("screen") && document.at("screen") != "out") {
    fail_mesh(name, fmt::format("screen = {} (known: \"out\")", document.at("screen").dump()));
  }
}

/// Outside a cross-check case an unknown key is a mistake.
void check_keys(const MeshJson& document, const std::string& name) {
  if (!document.is_object()) fail_mesh(name, "must be a JSON object");
  if (document.contains("kind")) return check_case_keys(document, name);
  std::vector<std::string> known = {
      "N",       "topology", "shifts",   "lens",    "mzi",          "theta",           "phi",
      "phi_out", "residual", "E_before", "E_after", "out_of_range", "kept_uncorrected"};
  known.insert(known.end(), error_keys.begin(), error_keys.end());
  for (const auto& [key, value] : document.items()) {
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      fail_mesh(name, fmt::format("unknown key '{}' (did you mean '{}'?)", key,
                                  nearest_name(key, known)));
    }
  }
}

/// Reads one of f, q, g: a row of four numbers per MZI.
std::vector<std::array<double, 4>> arm_table(const MeshJson& document, const std::string& key,
                                             std::size_t count, const std::string& name) {
  std::vector<std::array<double, 4>> table;
  const MeshJson& rows = document.at(key);
  if (!rows.is_array() || rows.size() != count) {
    fail_mesh(name, fmt::format("{} must be a list of {} rows", key, count));
  }
  for (const MeshJson& row : rows) {
    if (!row.is_array() || row.size() != 4) {
      fail_mesh(name, fmt::format("a row of {} must be four numbers, arms [11, 21, 12, 22]", key));
    }
    std::array<double, 4> values{};
    for (std::size_t i = 0; i < 4; ++i) values[i] = finite_number(row[i], name, key);
    table.push_back(values);
  }
  return table;
}

/// The arms in the order of the file's columns.
std::array<Arm<double>*, 4> arms(MziState<double>& mzi_state) {
  return {&mzi_state.input_upper, &mzi_state.input_lower, &mzi_state.internal_upper,
          &mzi_state.internal_lower};
}

void add_arm_errors(const MeshJson& document, const std::string& name, MeshFile& file) {
  for (const char* key : {"f", "q", "g"}) {
    if (!document.contains(key)) continue;
    file.has_errors = true;
    const auto table = arm_table(document, key, file.state.mzis.size(), name);
    for (std::size_t i = 0; i < table.size(); ++i) {
      for (std::size_t arm = 0; arm < 4; ++arm) {
        Arm<double>& state = *arms(file.state.mzis[i])[arm];
        if (*key == 'g') {
          state.amplitude_transmission *= std::exp(table[i][arm] / 2);
        } else {
          state.phase_rad += table[i][arm];
        }
      }
    }
  }
}

void add_mzi_errors(const MeshJson& document, const std::string& name, MeshFile& file) {
  const std::vector<std::pair<const char*, double MziState<double>::*>> members = {
      {"alpha", &MziState<double>::alpha_rad},
      {"beta", &MziState<double>::beta_rad},
      {"gamma", &MziState<double>::gamma_rad},
      {"dtheta", &MziState<double>::theta_rad},
      {"dphi", &MziState<double>::phi_rad}};
  const MziKind kind = file.program.topology.mzi_kind;
  if (document.contains("gamma") && kind != MziKind::three_splitter) {
    fail_mesh(name, fmt::format("gamma is the error of a third coupler, which mzi = \"{}\" has not",
                                enum_name(kind)));
  }
  for (const auto& [key, member] : members) {
    const std::vector<double> errors = numbers(document, key, file.state.mzis.size(), name, false);
    file.has_errors = file.has_errors || !errors.empty();
    for (std::size_t i = 0; i < errors.size(); ++i) file.state.mzis[i].*member += errors[i];
  }
  const std::vector<double> screen =
      numbers(document, "dphi_out", file.state.output_phase_rad.size(), name, false);
  file.has_errors = file.has_errors || !screen.empty();
  for (std::size_t i = 0; i < screen.size(); ++i) file.state.output_phase_rad[i] += screen[i];
}

Eigen::MatrixXd real_matrix(const MeshJson& rows, const std::string& name, const std::string& key) {
  if (!rows.is_array() || rows.empty())
    fail_mesh(name, fmt::format("{} must be a list of rows", key));
  const bool vector = !rows.front().is_array();
  const std::size_t columns = vector ? 1 : rows.front().size();
  if (columns == 0) fail_mesh(name, fmt::format("row 0 of {} is empty", key));
  Eigen::MatrixXd matrix(static_cast<Eigen::Index>(rows.size()),
                         static_cast<Eigen::Index>(columns));
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const MeshJson& entries = rows[row];
    if (entries.is_array() == vector || (!vector && entries.size() != columns)) {
      fail_mesh(name, fmt::format("row {} of {} has another length than the first", row, key));
    }
    for (std::size_t column = 0; column < columns; ++column) {
      matrix(static_cast<Eigen::Index>(row), static_cast<Eigen::Index>(column)) =
          finite_number(vector ? entries : entries[column], name, key);
    }
  }
  return matrix;
}

nlohmann::ordered_json program_document(const MeshProgram& program) {
  nlohmann::ordered_json document;
  document["N"] = program.topology.modes;
  if (program.topology.kind == Topology::Kind::clements) {
    document["topology"] = "clements";
  } else if (program.topology.kind == Topology::Kind::reck) {
    document["topology"] = "reck";
  } else {
    document["topology"] = "columns";
    for (const MeshColumn& column : program.topology.columns) {
      document["shifts"].push_back(column.first_mode);
      document["lens"].push_back(column.mzi_count);
    }
  }
  if (program.topology.mzi_kind != MziKind::standard) {
    document["mzi"] = enum_name(program.topology.mzi_kind);
  }
  document["theta"] = program.theta_rad;
  document["phi"] = program.phi_rad;
  document["phi_out"] = program.output_phase_rad;
  return document;
}

}  // namespace

MeshFile parse_mesh(const std::string& text, const std::string& name) {
  const MeshJson document = parse_document(text, name);
  check_keys(document, name);
  MeshFile file;
  file.program.topology = read_topology(document, name);
  file.program.topology.mzi_kind = read_mzi_kind(document, name);
  const std::size_t mzis = file.program.topology.mzi_count();
  const auto modes = static_cast<std::size_t>(file.program.topology.modes);
  file.program.theta_rad = numbers(document, "theta", mzis, name, true);
  file.program.phi_rad = numbers(document, "phi", mzis, name, true);
  file.program.output_phase_rad = numbers(document, "phi_out", modes, name, true);
  file.state = ideal_state(file.program);
  add_mzi_errors(document, name, file);
  add_arm_errors(document, name, file);
  return file;
}

std::string mesh_json(const MeshProgram& program, std::optional<double> residual) {
  nlohmann::ordered_json document = program_document(program);
  if (residual) document["residual"] = *residual;
  return document.dump() + "\n";
}

std::string correction_json(const Correction& correction, const std::string& source,
                            const std::string& name) {
  nlohmann::ordered_json document = program_document(correction.program);
  const MeshJson read = parse_document(source, name);
  for (const std::string& key : error_keys) {
    if (read.contains(key)) document[key] = read.at(key);
  }
  document["E_before"] = correction.error_before;
  document["E_after"] = correction.error_after;
  document["out_of_range"] = correction.out_of_range;
  document["kept_uncorrected"] = correction.kept_uncorrected;
  return document.dump() + "\n";
}

MatrixFile parse_matrix(const std::string& text, const std::string& name,
                        const std::vector<std::string>& keys) {
  MeshJson document = parse_document(text, name);
  if (!document.is_object()) fail_mesh(name, "must be a JSON object with re and im");
  if (!document.contains("re")) {
    const auto key = std::find_if(keys.begin(), keys.end(), [&](const std::string& entry) {
      return document.contains(entry);
    });
    if (key == keys.end()) {
      fail_mesh(name,
                fmt::format("holds no matrix (looked for re and im, {})", fmt::join(keys, ", ")));
    }
    const MeshJson inner = document.at(*key);
    document = inner;
  }
  if (!document.is_object() || !document.contains("re")) fail_mesh(name, "re is missing");
  const Eigen::MatrixXd real = real_matrix(document.at("re"), name, "re");
  MatrixFile file{.values = real.cast<std::complex<double>>(),
                  .is_list = !document.at("re").front().is_array()};
  if (document.contains("im")) {
    const Eigen::MatrixXd imaginary = real_matrix(document.at("im"), name, "im");
    if (imaginary.rows() != real.rows() || imaginary.cols() != real.cols()) {
      fail_mesh(name, "re and im have different shapes");
    }
    file.values.imag() = imaginary;
  }
  return file;
}

}  // namespace optinc
