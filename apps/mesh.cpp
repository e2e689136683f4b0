// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "apps/command.hpp"
#include "apps/installed_data.hpp"
#include "apps/options.hpp"
#include "solver/io/atomic_file.hpp"
#include "solver/io/file_context.hpp"
#include "solver/mesh/chip_mesh.hpp"
#include "solver/mesh/correction.hpp"
#include "solver/mesh/decomposition.hpp"
#include "solver/mesh/mesh_json.hpp"
#include "solver/mesh/self_configuration.hpp"
#include "solver/montecarlo/imperfection_config.hpp"
#include "solver/names.hpp"
#include "solver/optinc/chip.hpp"

namespace optinc {

namespace {

using Json = nlohmann::ordered_json;

/// Errors drawn on top of those of the file.
struct ErrorOptions {
  std::optional<double> phase_sigma_rad;
  std::optional<double> coupler_sigma_rad;
  std::optional<double> coupler_mean_rad;
  bool no_output_screen = false;
  std::vector<std::string> settings;
  std::uint64_t seed = 1;
  std::uint32_t chip = 0;
  std::uint32_t symbol = 0;
  std::uint16_t mesh_id = 0;
};

struct MeshOptions {
  std::string program;
  std::string fields;
  std::string out;
  ErrorOptions errors;
  BackendOptions backend;
};

struct CorrectOptions {
  MeshOptions mesh;
  std::string method = "local";
};

struct DecomposeOptions {
  std::string matrix;
  std::string out;
  std::string topology = enum_name(Topology::Kind::clements);
  std::string mzi = enum_name(MziKind::standard);
  bool nearest = false;
  double unitarity_tolerance = default_unitarity_tolerance;
};

std::string read_text(const std::string& path) {
  if (path.ends_with(".h5") || path.ends_with(".hdf5")) {
    throw ConfigError(fmt::format(
        "{}: matrices in HDF5 are part of the design and not built yet; give JSON", path));
  }
  return read_text_file(path);
}

void require_mesh_settings(const SweepConfig& config) {
  for (const auto& [path, value] : config.base.values()) {
    if (acts_on_meshes(path)) continue;
    throw ConfigError(
        fmt::format("--set {}: not a setting of a mesh (keys under imperfections.phase, .coupler, "
                    ".loss, .crosstalk, .detuning and layout are, and imperfections.preset)",
                    path));
  }
}

/// The named options where given, else the settings.
StaticImperfections imperfections_of(const ErrorOptions& options) {
  SweepConfig config = config_from_overrides(options.settings);
  config.data_directory = installed_data_directory();
  require_mesh_settings(config);
  const std::string p = "imperfections.";
  const auto give = [&](const std::string& path, const ConfigValue& value) {
    if (config.base.has(path)) {
      throw ConfigError(
          fmt::format("--set {} is given by its own option too; leave one out", path));
    }
    config.base.set(path, value);
  };
  if (options.phase_sigma_rad) give(p + "phase.fabrication_sigma_rad", *options.phase_sigma_rad);
  if (options.no_output_screen) give(p + "phase.on_output_screen", false);
  if (options.coupler_sigma_rad) give(p + "coupler.sigma_rad", *options.coupler_sigma_rad);
  if (options.coupler_mean_rad) give(p + "coupler.mean_rad", *options.coupler_mean_rad);
  return optinc::imperfections_of(config.point(0), config);
}

void add_error_options(CLI::App& app, ErrorOptions& options) {
  const CLI::Validator sigma_range = number_between(0, 10);
  CLI::Option* phase_sigma = app.add_option("--phase-sigma-rad", options.phase_sigma_rad,
                                            "Gaussian error of every phase, rad")
                                 ->check(sigma_range)
                                 ->type_name("RAD")
                                 ->default_str("0");
  app.add_option("--coupler-sigma-rad", options.coupler_sigma_rad,
                 "Gaussian splitting-angle error of every coupler, rad")
      ->check(sigma_range)
      ->type_name("RAD")
      ->default_str("0");
  app.add_option("--coupler-mean-rad", options.coupler_mean_rad,
                 "common splitting-angle error, rad")
      ->check(number_between(-10, 10))
      ->type_name("RAD")
      ->default_str("0");
  app.add_flag("--no-output-screen", options.no_output_screen,
               "leave the output phase screen without phase error")
      ->needs(phase_sigma);
  app.add_option("--set", options.settings,
                 "any other imperfection or layout length by its configuration key, e.g. "
                 "imperfections.loss.mzi_db=0.3 (see docs/config.md); repeatable")
      ->type_name("PATH=VALUE")
      ->allow_extra_args(false);
  app.add_option("--seed", options.seed, "seed of the errors")
      ->check(any_seed())
      ->type_name("N")
      ->default_str("1");
  app.add_option("--chip", options.chip, "realization of the errors")
      ->check(whole_number(0, std::numeric_limits<std::uint32_t>::max()))
      ->type_name("N")
      ->default_str("0");
  app.add_option("--symbol", options.symbol,
                 "realization of the jitter (imperfections.phase.jitter_sigma_rad)")
      ->check(whole_number(0, std::numeric_limits<std::uint32_t>::max()))
      ->type_name("N")
      ->default_str("0");
  app.add_option("--mesh-id", options.mesh_id, "mesh number within the chip")
      ->check(whole_number(0, std::numeric_limits<std::uint16_t>::max()))
      ->type_name("N")
      ->default_str("0");
}

/// The mesh of the file with its own errors and those drawn for the chip of the options.
MeshState perturbed(const MeshFile& file, const StaticImperfections& imperfections,
                    const ErrorOptions& options) {
  return ChipMesh(file.program, imperfections, options.mesh_id)
      .chip({.seed = options.seed, .chip = options.chip, .jitter = options.symbol}, file.state);
}

Json real_rows(const Eigen::MatrixXd& matrix, bool as_vector) {
  Json rows = Json::array();
  for (Eigen::Index row = 0; row < matrix.rows(); ++row) {
    if (as_vector) {
      rows.push_back(matrix(row, 0));
      continue;
    }
    const Eigen::VectorXd entries = matrix.row(row);
    rows.push_back(std::vector<double>(entries.data(), entries.data() + entries.size()));
  }
  return rows;
}

Json matrix_json(const Eigen::MatrixXcd& matrix, bool as_vector) {
  return {{"re", real_rows(matrix.real(), as_vector)}, {"im", real_rows(matrix.imag(), as_vector)}};
}

void require_finite(const Eigen::MatrixXcd& result, const std::string& file_name) {
  if (!result.allFinite()) {
    throw DataError(fmt::format(
        "{}: the result overflows (amplitudes too large); check g and the fields", file_name));
  }
}

ExitCode run_compose(CommandContext& context, const MeshOptions& options) {
  const MeshFile file = parse_mesh(read_text(options.program), options.program);
  const std::unique_ptr<Backend> backend = create_backend(options.backend, context.registry);
  const StaticImperfections imperfections = imperfections_of(options.errors);
  const Eigen::MatrixXcd matrix = backend->compose(perturbed(file, imperfections, options.errors));
  require_finite(matrix, options.program);
  Json document = {{"N", file.program.topology.modes}, {"U", matrix_json(matrix, false)}};
  if (file.has_errors || !imperfections.none()) {
    const MeshQuality quality = mesh_quality(backend->compose(ideal_state(file.program)), matrix);
    document["E"] = quality.matrix_error;
    document["fidelity"] = quality.fidelity;
    document["fidelity_normalised"] = quality.fidelity_normalised;
    document["insertion_loss_db"] = quality.insertion_loss_db;
  }
  write_result(context, options.out, document.dump() + "\n");
  return ExitCode::done;
}

ExitCode run_propagate(CommandContext& context, const MeshOptions& options) {
  const MeshFile file = parse_mesh(read_text(options.program), options.program);
  MatrixFile fields = parse_matrix(read_text(options.fields), options.fields, {"x"});
  const std::unique_ptr<Backend> backend = create_backend(options.backend, context.registry);
  const MeshState chip = perturbed(file, imperfections_of(options.errors), options.errors);
  with_file_name(options.fields, [&] { backend->propagate(chip, fields.values); });
  require_finite(fields.values, options.program);
  const Json document = {{"N", file.program.topology.modes},
                         {"y", matrix_json(fields.values, fields.is_list)}};
  write_result(context, options.out, document.dump() + "\n");
  return ExitCode::done;
}

ExitCode run_correct(CommandContext& context, const CorrectOptions& options) {
  const std::string& name = options.mesh.program;
  const std::string text = read_text(name);
  const MeshFile file = parse_mesh(text, name);
  const StaticImperfections imperfections = imperfections_of(options.mesh.errors);
  if (!file.has_errors && imperfections.none()) {
    throw ConfigError(fmt::format(
        "{}: nothing to correct (neither the file nor the options give errors); give errors, e.g. "
        "--coupler-sigma-rad 0.02",
        name));
  }
  const std::unique_ptr<Backend> backend = create_backend(options.mesh.backend, context.registry);
  const MeshState chip = perturbed(file, when_calibrated(imperfections), options.mesh.errors);
  require_finite(backend->compose(chip), name);
  const Eigen::MatrixXcd ideal = backend->compose(ideal_state(file.program));
  const Correction found = options.method == "self"
                               ? self_configure(file.program, chip, ideal, *backend)
                               : correct_locally(file.program, chip, ideal, *backend);
  // Some imperfections (converters, heat) move with the phases: E is that of the chip anew.
  const auto transfer = [&](const MeshProgram& program) {
    MeshFile other = file;
    other.state = reprogrammed(file.state, file.program, program);
    other.program = program;
    return backend->compose(perturbed(other, imperfections, options.mesh.errors));
  };
  const Correction correction =
      better_of(file.program, found.program, found.out_of_range, transfer, ideal);
  write_result(context, options.mesh.out, correction_json(correction, text, name));
  return ExitCode::done;
}

ExitCode run_decompose(CommandContext& context, const DecomposeOptions& options) {
  Eigen::MatrixXcd matrix =
      parse_matrix(read_text(options.matrix), options.matrix, {"U_target", "U"}).values;
  const MeshProgram program = with_file_name(options.matrix, [&] {
    if (options.nearest) matrix = nearest_unitary(matrix);
    return with_mzi_kind(decompose(matrix, parse_enum<Topology::Kind>(options.topology).value(),
                                   options.unitarity_tolerance),
                         parse_enum<MziKind>(options.mzi).value());
  });
  const std::unique_ptr<Backend> reference = context.registry.create("reference", Precision::f64);
  const double residual = matrix_error(reference->compose(ideal_state(program)), matrix);
  write_result(context, options.out, mesh_json(program, residual));
  return ExitCode::done;
}

CommandAction declare_compose(CLI::App& app) {
  const auto options = std::make_shared<MeshOptions>();
  app.add_option("PROGRAM", options->program, "mesh program, JSON")->required();
  add_error_options(app, options->errors);
  add_backend_options(app, options->backend);
  add_out_option(app, options->out);
  return [options](CommandContext& context) { return run_compose(context, *options); };
}

CommandAction declare_propagate(CLI::App& app) {
  const auto options = std::make_shared<MeshOptions>();
  app.add_option("PROGRAM", options->program, "mesh program, JSON")->required();
  app.add_option("FIELDS", options->fields,
                 "input fields, JSON {\"re\", \"im\"}: a list, or a [mode][sample] matrix")
      ->required();
  add_error_options(app, options->errors);
  add_backend_options(app, options->backend);
  add_out_option(app, options->out);
  return [options](CommandContext& context) { return run_propagate(context, *options); };
}

CommandAction declare_correct(CLI::App& app) {
  const auto options = std::make_shared<CorrectOptions>();
  app.add_option("PROGRAM", options->mesh.program, "mesh program, JSON")->required();
  add_choice_option(app, "--method", options->method, {"local", "self"},
                    "local: MZI by MZI from its known errors; self: from measured fields only");
  add_error_options(app, options->mesh.errors);
  add_backend_options(app, options->mesh.backend);
  add_out_option(app, options->mesh.out);
  return [options](CommandContext& context) { return run_correct(context, *options); };
}

CommandAction declare_decompose(CLI::App& app) {
  const auto options = std::make_shared<DecomposeOptions>();
  app.add_option("MATRIX", options->matrix, "unitary matrix, JSON {\"re\", \"im\"} or under \"U\"")
      ->required();
  add_choice_option(app, "--topology", options->topology, enum_names<Topology::Kind>(),
                    "arrangement of the MZIs");
  add_choice_option(app, "--mzi", options->mzi, enum_names<MziKind>(),
                    "plain MZIs, with a third coupler ahead, or with a waveguide crossing behind");
  app.add_flag("--nearest", options->nearest,
               "program the unitary nearest to the matrix (Frobenius norm)");
  app.add_option("--unitarity-tol", options->unitarity_tolerance,
                 "largest ||U^H U - I||_F / sqrt(N) that is accepted")
      ->check(number_between(0, 1))
      ->type_name("X")
      ->default_str("1e-9");
  add_out_option(app, options->out);
  return [options](CommandContext& context) { return run_decompose(context, *options); };
}

}  // namespace

std::vector<Command> mesh_commands() {
  return {{.name = "mesh compose",
           .summary = "transfer matrix of a programmed mesh",
           .description =
               "Multiplies the MZIs of a mesh program out and prints {\"N\", \"U\"} as JSON, "
               "U[out][in]. "
               "Errors in the file (alpha, beta, gamma, dtheta, dphi, dphi_out, f, q, g) and "
               "errors drawn "
               "here add up; with any of them, E and the fidelity against the error-free mesh are "
               "printed too.",
           .examples = {{"optinc mesh compose mesh.json", "The ideal matrix:"},
                        {"optinc mesh compose mesh.json --phase-sigma-rad 0.01 --chip 3",
                         "One chip with phase errors:"},
                        {"optinc mesh compose mesh.json --set imperfections.loss.mzi_db=0.3",
                         "With 0.3 dB in every MZI:"}},
           .declare = declare_compose},
          {.name = "mesh correct",
           .summary = "phases that make up for the errors of one chip",
           .description =
               "Finds phases with which the chip comes as close as it can to the error-free mesh, "
               "and prints the program with them as JSON. Errors in the file stay in it and those "
               "drawn here do not go into it, so composing the result with the same options gives "
               "the corrected matrix. E_before and E_after are ||U' - U||_F / sqrt(N) against the "
               "error-free mesh, out_of_range counts the MZIs that cannot do their part, and "
               "kept_uncorrected says that no better phases were found and the old ones kept.\n\n"
               "local sets each MZI from its own errors and ignores losses. self knows no errors: "
               "it sets phases and measures fields (simulated, without noise), first nulling MZI "
               "by MZI, then raising the overlap with the error-free mesh phase by phase.",
           .examples = {{"optinc mesh correct mesh.json --coupler-sigma-rad 0.02 --out fixed.json",
                         "Correct chip 0 and write its program:"},
                        {"optinc mesh compose fixed.json --coupler-sigma-rad 0.02",
                         "The matrix of the corrected chip:"},
                        {"optinc mesh correct measured.json --method self",
                         "Self-configure a chip whose errors are in the file:"}},
           .declare = declare_correct},
          {.name = "mesh decompose",
           .summary = "phases that make a mesh a given unitary",
           .description = "Programs a Clements or Reck mesh and prints it as JSON with the "
                          "residual ||U' - U||_F / sqrt(N). Phases lie in [0, 2 pi).",
           .examples = {{"optinc mesh decompose unitary.json --out mesh.json", "Write a program:"},
                        {"optinc mesh decompose noisy.json --topology reck --nearest",
                         "A triangular mesh from a measured matrix:"},
                        {"optinc mesh decompose unitary.json --mzi three_splitter",
                         "MZIs that can be corrected at any size of the mesh:"}},
           .declare = declare_decompose},
          {.name = "mesh propagate",
           .summary = "fields through a programmed mesh",
           .description = "Sends complex fields through the mesh column by column and prints the "
                          "output fields as JSON.",
           .examples = {{"optinc mesh propagate mesh.json fields.json --coupler-sigma-rad 0.02",
                         "With splitter errors:"}},
           .declare = declare_propagate}};
}

}  // namespace optinc
