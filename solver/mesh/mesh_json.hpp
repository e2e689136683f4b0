// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <Eigen/Core>

#include "solver/mesh/correction.hpp"
#include "solver/mesh/program.hpp"

namespace optinc {

/// A mesh read from JSON: the programmed phases, and the same mesh with the errors the file gives.
struct MeshFile {
  MeshProgram program;
  MeshState state;
  bool has_errors = false;
};

/// Reads a JSON mesh program: N, topology ("clements", "reck", or "columns" with shifts and lens),
/// mzi ("standard", also where it is missing, "three_splitter", "crossing"), theta, phi, phi_out,
/// optional alpha, beta, gamma (three_splitter only), dtheta, dphi, dphi_out and per-arm f, q
/// (phase, rad) and g (power exponent: amplitude e^{g/2}) with columns [11, 21, 12, 22]. A
/// cross-check case's `kind` implies its topology, and keys that describe a case (peer, convention,
/// U, tol, ...) are then allowed. Args: text; name, for messages. Throws DataError naming key and
/// problem.
MeshFile parse_mesh(const std::string& text, const std::string& name);

/// The program as JSON, with "residual" where given.
std::string mesh_json(const MeshProgram& program, std::optional<double> residual);

/// A corrected mesh as JSON: its program, the errors of the file it was read from, "E_before",
/// "E_after", "out_of_range" and "kept_uncorrected". Throws DataError when `source` is no JSON.
/// Args: source, text of that file; name, for messages.
std::string correction_json(const Correction& correction, const std::string& source,
                            const std::string& name);

/// A complex matrix read from JSON.
struct MatrixFile {
  Eigen::MatrixXcd values;
  bool is_list = false;  ///< the file gives one column as a plain list
};

/// Reads a complex matrix {"re": [[..]], "im": [[..]]}, or the one under the first of `keys` that
/// the document holds. A list of numbers is one column. Throws DataError.
MatrixFile parse_matrix(const std::string& text, const std::string& name,
                        const std::vector<std::string>& keys);

}  // namespace optinc
