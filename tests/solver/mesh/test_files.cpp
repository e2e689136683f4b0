// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <fstream>
#include <memory>
#include <numbers>
#include <sstream>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "solver/backend/registry.hpp"
#include "solver/error.hpp"
#include "solver/mesh/decomposition.hpp"
#include "solver/mesh/mesh_json.hpp"
#include "tests/support/haar.hpp"
#include "tests/support/reference.hpp"

namespace optinc {

namespace {

using Json = nlohmann::json;

std::string case_text(const std::string& name) {
  const std::string path = std::string(OPTINC_SOURCE_DIR) + "/tests/golden/cases/" + name + ".json";
  std::ifstream file(path);
  INFO(path);
  REQUIRE(file);
  std::stringstream content;
  content << file.rdbuf();
  return content.str();
}

using testing::reference;

double largest_difference(const Eigen::MatrixXcd& a, const Eigen::MatrixXcd& b) {
  REQUIRE(a.rows() == b.rows());
  REQUIRE(a.cols() == b.cols());
  return (a - b).cwiseAbs().maxCoeff();
}

Eigen::MatrixXcd matrix_of(const std::string& text, const std::string& key) {
  return parse_matrix(text, "case", {key}).values;
}

/// The message of the DataError that `parse` throws.
template <class Parse>
std::string refusal(const Parse& parse) {
  try {
    parse();
  } catch (const DataError& error) {
    return error.what();
  }
  return "accepted";
}

std::string mesh_refusal(const Json& document) {
  return refusal([&] { parse_mesh(document.dump(), "mesh.json"); });
}

std::string matrix_refusal(const std::string& text) {
  return refusal([&] { parse_matrix(text, "matrix.json", {"U"}); });
}

/// A small program that is accepted.
Json small_program() {
  return {{"N", 3},
          {"topology", "clements"},
          {"theta", {0.1, 0.2, 0.3}},
          {"phi", {1.1, 1.2, 1.3}},
          {"phi_out", {2.1, 2.2, 2.3}}};
}

Json changed(const std::string& key, const Json& value) {
  Json document = small_program();
  document[key] = value;
  return document;
}

}  // namespace

TEST_CASE("meshes of independent simulators compose to their matrices") {
  for (const char* name :
       {"01_clements_n4_ideal", "02_clements_n5_odd_splitter",
        "04_clements_n6_phase_and_splitter_error", "06_reck_n6_splitter",
        "07_clements_n4_generic_loss_crosstalk", "08_clements_decomposition_n6"}) {
    const std::string text = case_text(name);
    const MeshFile file = parse_mesh(text, name);
    CAPTURE(name);
    CHECK(largest_difference(reference()->compose(file.state), matrix_of(text, "U")) < 1e-12);
    CHECK(file.has_errors);  // the files give zeros where there are none
  }
}

TEST_CASE("case 04: error-free mesh, E and propagated fields") {
  const std::string text = case_text("04_clements_n6_phase_and_splitter_error");
  const MeshFile file = parse_mesh(text, "case 04");
  const Eigen::MatrixXcd ideal = reference()->compose(ideal_state(file.program));
  CHECK(largest_difference(ideal, matrix_of(text, "U_ideal")) < 1e-12);
  const double error = (reference()->compose(file.state) - ideal).norm() / std::sqrt(6.0);
  CHECK(error == Approx(Json::parse(text).at("E0").get<double>()).epsilon(1e-12));
  Eigen::MatrixXcd fields = matrix_of(text, "x");
  reference()->propagate(file.state, fields);
  CHECK(largest_difference(fields, matrix_of(text, "y")) < 1e-12);
}

TEST_CASE("case 08: the target decomposes, with the transmissions its author found") {
  const std::string text = case_text("08_clements_decomposition_n6");
  const Eigen::MatrixXcd target = matrix_of(text, "U_target");
  const MeshProgram program = decompose(target);
  // The target has 12 digits, so no mesh can be nearer than its distance from unitarity.
  CHECK(largest_difference(reference()->compose(ideal_state(program)), target) < 1e-11);
  const auto bars = Json::parse(text).at("reflectivity_T11_sq").get<std::vector<double>>();
  REQUIRE(bars.size() == program.theta_rad.size());
  for (std::size_t i = 0; i < bars.size(); ++i) {
    CHECK(std::pow(std::sin(program.theta_rad[i] / 2), 2) == Approx(bars[i]).margin(1e-10));
  }
}

TEST_CASE("case 11: another library's splitter errors and loss, converted") {
  const std::string text = case_text("11_simphox_rectangular_n4");
  const Json source = Json::parse(text);
  Json document = {
      {"N", source.at("N")},     {"topology", "clements"},          {"theta", source.at("theta")},
      {"phi", source.at("phi")}, {"phi_out", source.at("phi_out")}, {"alpha", source.at("e0")},
      {"beta", source.at("e1")}};
  const double tolerance = source.at("tol").get<double>();
  const MeshFile lossless = parse_mesh(document.dump(), "converted");
  CHECK(largest_difference(reference()->compose(lossless.state), matrix_of(text, "U_noloss")) <
        tolerance);
  // loss_db = [theta arm, phi arm] in amplitude dB; g is a power exponent.
  for (const Json& row : source.at("loss_db")) {
    const auto exponent = [&](std::size_t i) {
      return std::numbers::ln10 * row.at(i).get<double>() / 10;
    };
    document["g"].push_back({exponent(1), 0, exponent(0), 0});
  }
  const MeshFile lossy = parse_mesh(document.dump(), "converted");
  CHECK(largest_difference(reference()->compose(lossy.state), matrix_of(text, "U_loss")) <
        tolerance);
  CHECK_THAT(refusal([&] { parse_mesh(text, "case 11"); }), Catch::Contains("convert it"));
}

TEST_CASE("a written program reads back bit for bit") {
  const MeshProgram program = decompose(testing::haar_unitary(9, 3));
  const MeshFile file = parse_mesh(mesh_json(program, 1e-15), "written");
  CHECK(file.program.topology == program.topology);
  CHECK(file.program.theta_rad == program.theta_rad);
  CHECK(file.program.phi_rad == program.phi_rad);
  CHECK(file.program.output_phase_rad == program.output_phase_rad);
  CHECK_FALSE(file.has_errors);
  const MeshFile reck = parse_mesh(case_text("06_reck_n6_splitter"), "case 06");
  const MeshFile again = parse_mesh(mesh_json(reck.program, std::nullopt), "written");
  CHECK(again.program.topology == reck.program.topology);
  CHECK(again.program.theta_rad == reck.program.theta_rad);
}

TEST_CASE("a single mode is a phase") {
  const MeshFile file = parse_mesh(
      R"({"N": 1, "topology": "clements", "theta": [], "phi": [], "phi_out": [0.5]})", "one");
  CHECK(std::abs(reference()->compose(file.state)(0, 0) - std::polar(1.0, 0.5)) < 1e-15);
}

TEST_CASE("a wrong mesh program is refused with its key and what is wrong") {
  REQUIRE(mesh_refusal(small_program()) == "accepted");
  CHECK_THAT(mesh_refusal(changed("thtea", 1)), Catch::Contains("did you mean 'theta'"));
  CHECK_THAT(mesh_refusal(changed("peer", "x")), Catch::Contains("unknown key 'peer'"));
  CHECK_THAT(mesh_refusal(changed("theta", {1, 2})), Catch::Contains("theta must be a list of 3"));
  CHECK_THAT(mesh_refusal(changed("theta", "no")), Catch::Contains("theta must be a list of 3"));
  CHECK_THAT(mesh_refusal(changed("phi", {1, 2, nullptr})), Catch::Contains("phi holds null"));
  CHECK_THAT(mesh_refusal(changed("phi_out", {1, 2, "3"})), Catch::Contains("must be a number"));
  CHECK_THAT(mesh_refusal(changed("alpha", {0})), Catch::Contains("alpha must be a list of 3"));
  CHECK_THAT(mesh_refusal(changed("dphi_out", {0})), Catch::Contains("dphi_out must be a list"));
  CHECK_THAT(mesh_refusal(changed("f", {{0, 0, 0, 0}})), Catch::Contains("f must be a list of 3"));
  CHECK_THAT(mesh_refusal(changed("g", {{0, 0}, {0, 0}, {0, 0}})), Catch::Contains("four numbers"));
  CHECK_THAT(mesh_refusal(changed("N", 0)), Catch::Contains("N = 0"));
  CHECK_THAT(mesh_refusal(changed("N", 3.5)), Catch::Contains("whole number"));
  CHECK_THAT(mesh_refusal(changed("N", 1e18)), Catch::Contains("whole number"));
  CHECK(mesh_refusal(changed("topology", "reck")) == "accepted");
  CHECK_THAT(mesh_refusal(changed("topology", "ring")), Catch::Contains("known: clements"));
  CHECK_THAT(mesh_refusal(changed("topology", 3)), Catch::Contains("must be a string"));
  CHECK_THAT(mesh_refusal(changed("topology", "columns")), Catch::Contains("shifts must be"));
  CHECK_THAT(mesh_refusal(changed("shifts", {0})), Catch::Contains("belong to topology"));
  CHECK_THAT(mesh_refusal(changed("kind", "statistics")), Catch::Contains("accepted"));
  for (const char* key : {"N", "topology", "theta", "phi", "phi_out"}) {
    Json document = small_program();
    document.erase(key);
    CHECK_THAT(mesh_refusal(document),
               Catch::Contains(std::string(key)) && Catch::Contains("is missing"));
  }
  Json case_document = small_program();
  case_document.erase("topology");
  case_document["kind"] = "statistics";
  CHECK_THAT(mesh_refusal(case_document), Catch::Contains("implies no known topology"));
  case_document["kind"] = "clements_matrix";
  CHECK(mesh_refusal(case_document) == "accepted");
  case_document["screen"] = "in";
  CHECK_THAT(mesh_refusal(case_document), Catch::Contains("screen"));
}

TEST_CASE("a column list that does not fit is refused") {
  Json document = changed("topology", "columns");
  document["shifts"] = {0, 1, 0};
  document["lens"] = {1, 1, 1};
  CHECK(mesh_refusal(document) == "accepted");
  document["shifts"] = {0, 2, 0};
  CHECK_THAT(mesh_refusal(document), Catch::Contains("column 1 of the mesh does not fit"));
  document["shifts"] = {0, -1, 0};
  CHECK_THAT(mesh_refusal(document), Catch::Contains("shifts holds -1"));
  document["shifts"] = {0, 1};
  CHECK_THAT(mesh_refusal(document), Catch::Contains("shifts has 2 entries, lens 3"));
}

TEST_CASE("text that is no JSON program is refused, whatever it is") {
  const auto text_refusal = [](const std::string& text) {
    return refusal([&] { parse_mesh(text, "mesh.json"); });
  };
  const std::string whole = small_program().dump();
  for (std::size_t length = 0; length < whole.size(); ++length) {
    CHECK_THAT(text_refusal(whole.substr(0, length)), Catch::Contains("mesh.json: is not JSON"));
  }
  CHECK_THAT(text_refusal("[1, 2]"), Catch::Contains("must be a JSON object"));
  CHECK_THAT(text_refusal(R"({"N": NaN})"), Catch::Contains("is not JSON"));
  CHECK_THAT(text_refusal(R"({"N": 1e999})"), Catch::Contains("is not JSON"));
  CHECK_THAT(text_refusal(std::string("\xff\xfe\0", 3)), Catch::Contains("is not JSON"));
}

TEST_CASE("matrices are read as [out][in], complex, real, or one column") {
  const MatrixFile full =
      parse_matrix(R"({"re": [[1, 2], [3, 4], [5, 6]], "im": [[0, 0], [0, 0], [0, 7]]})", "m", {});
  CHECK(full.values.rows() == 3);
  CHECK(full.values(2, 1) == std::complex<double>(6, 7));
  CHECK_FALSE(full.is_list);
  const MatrixFile list = parse_matrix(R"({"x": {"re": [1, 2]}})", "m", {"U", "x"});
  CHECK(list.values.cols() == 1);
  CHECK(list.values(1, 0) == std::complex<double>(2, 0));
  CHECK(list.is_list);
}

TEST_CASE("a wrong matrix is refused with the reason") {
  CHECK_THAT(matrix_refusal("{"), Catch::Contains("matrix.json: is not JSON"));
  CHECK_THAT(matrix_refusal("[]"), Catch::Contains("must be a JSON object"));
  CHECK_THAT(matrix_refusal(R"({"V": 1})"), Catch::Contains("holds no matrix"));
  CHECK_THAT(matrix_refusal(R"({"U": 1})"), Catch::Contains("re is missing"));
  CHECK_THAT(matrix_refusal(R"({"re": []})"), Catch::Contains("must be a list of rows"));
  CHECK_THAT(matrix_refusal(R"({"re": [[]]})"), Catch::Contains("is empty"));
  CHECK_THAT(matrix_refusal(R"({"re": [[1, 2], [3]]})"), Catch::Contains("row 1 of re"));
  CHECK_THAT(matrix_refusal(R"({"re": [[1], 2]})"), Catch::Contains("row 1 of re"));
  CHECK_THAT(matrix_refusal(R"({"re": [["a"]]})"), Catch::Contains("must be a number"));
  CHECK_THAT(matrix_refusal(R"({"re": [[1]], "im": [[1, 2]]})"),
             Catch::Contains("different shapes"));
}

}  // namespace optinc
