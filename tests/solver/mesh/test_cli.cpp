// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "apps/cli.hpp"
#include "solver/mesh/mesh_json.hpp"
#include "tests/support/haar.hpp"

namespace optinc {

namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

struct Outcome {
  int code;
  std::string out;
  std::string err;
};

Outcome optinc_mesh(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "mesh");
  std::ostringstream out;
  std::ostringstream err;
  const int code = run_cli(arguments, out, err);
  return {code, out.str(), err.str()};
}

/// Output of a run that succeeds.
Json result_of(const std::vector<std::string>& arguments) {
  const Outcome outcome = optinc_mesh(arguments);
  INFO(outcome.err);
  REQUIRE(outcome.code == 0);
  return Json::parse(outcome.out);
}

std::string case_path(const std::string& name) {
  return std::string(OPTINC_SOURCE_DIR) + "/tests/golden/cases/" + name + ".json";
}

Json read_json(const std::string& path) {
  std::ifstream file(path);
  return Json::parse(file);
}

Eigen::MatrixXcd matrix_of(const Json& matrix) {
  return parse_matrix(matrix.dump(), "output", {}).values;
}

double largest_difference(const Json& a, const Json& b) {
  return (matrix_of(a) - matrix_of(b)).cwiseAbs().maxCoeff();
}

/// A folder of its own for one test case, removed at the end.
class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "optinc-mesh-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~Folder() { fs::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string path(const std::string& name) const { return (path_ / name).string(); }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name)) << text;
    return path(name);
  }

 private:
  fs::path path_;
};

const std::string case_01 = "01_clements_n4_ideal";
const std::string case_04 = "04_clements_n6_phase_and_splitter_error";

}  // namespace

TEST_CASE("mesh compose gives the matrices of the cross-check cases") {
  for (const std::string& name : {case_01, std::string("02_clements_n5_odd_splitter"), case_04,
                                  std::string("06_reck_n6_splitter")}) {
    const Json result = result_of({"compose", case_path(name)});
    const Json expected = read_json(case_path(name));
    CAPTURE(name);
    CHECK(result.at("N") == expected.at("N"));
    CHECK(largest_difference(result.at("U"), expected.at("U")) < 1e-12);
  }
  const double error = result_of({"compose", case_path(case_04)}).at("E").get<double>();
  CHECK(error == Approx(read_json(case_path(case_04)).at("E0").get<double>()).epsilon(1e-12));
}

TEST_CASE("mesh propagate gives the fields of case 04, as a matrix or as a list") {
  const Json expected = read_json(case_path(case_04));
  const Json result = result_of({"propagate", case_path(case_04), case_path(case_04)});
  CHECK(largest_difference(result.at("y"), expected.at("y")) < 1e-12);
  const Folder folder;
  Json first;
  for (const char* part : {"re", "im"}) {
    for (const Json& row : expected.at("x").at(part)) first[part].push_back(row.at(0));
  }
  const Json list =
      result_of({"propagate", case_path(case_04), folder.write("x.json", first.dump())}).at("y");
  REQUIRE(list.at("re").size() == 6);
  for (std::size_t mode = 0; mode < 6; ++mode) {
    CHECK(list.at("re").at(mode).get<double>() ==
          Approx(expected.at("y").at("re").at(mode).at(0).get<double>()).margin(1e-12));
  }
}

TEST_CASE("mesh decompose writes a program that compose turns back into the matrix") {
  const Folder folder;
  const Eigen::MatrixXcd unitary = testing::haar_unitary(7, 2);
  Json matrix;
  for (Eigen::Index row = 0; row < 7; ++row) {
    Json real;
    Json imaginary;
    for (Eigen::Index column = 0; column < 7; ++column) {
      real.push_back(unitary(row, column).real());
      imaginary.push_back(unitary(row, column).imag());
    }
    matrix["re"].push_back(real);
    matrix["im"].push_back(imaginary);
  }
  for (const Json& document : {matrix, Json{{"U", matrix}}, Json{{"U_target", matrix}}}) {
    const std::string input = folder.write("u.json", document.dump());
    const Json program = result_of({"decompose", input});
    CHECK(program.at("topology") == "clements");
    CHECK(program.at("theta").size() == 21);
    CHECK(program.at("residual").get<double>() < 1e-12);
    const Json composed = result_of({"compose", folder.write("p.json", program.dump())});
    CHECK(largest_difference(composed.at("U"), matrix) < 1e-12);
    CHECK_FALSE(composed.contains("E"));
  }
}

TEST_CASE("decompose programs a Reck mesh, and the nearest unitary on request") {
  const Folder folder;
  const std::string near =
      folder.write("u.json", R"({"re": [[0.8, -0.6, 0], [0.6, 0.8, 0], [0, 0, 1.01]]})");
  CHECK(optinc_mesh({"decompose", near}).code == 3);
  const Json program = result_of({"decompose", near, "--topology", "reck", "--nearest"});
  CHECK(program.at("topology") == "reck");
  CHECK(program.at("residual").get<double>() < 1e-14);
  const Json composed = result_of({"compose", folder.write("p.json", program.dump())});
  CHECK(composed.at("U").at("re").at(2).at(2).get<double>() == Approx(1).epsilon(1e-14));
  CHECK(composed.at("U").at("re").at(1).at(0).get<double>() == Approx(0.6).epsilon(1e-14));
}

TEST_CASE("decompose programs the other kinds of MZI, and compose reads them") {
  const Folder folder;
  const std::string swap = folder.write("u.json", R"({"re": [[0, 0, 1], [1, 0, 0], [0, 1, 0]]})");
  for (const std::string mzi : {"three_splitter", "crossing"}) {
    const Json program = result_of({"decompose", swap, "--mzi", mzi});
    CHECK(program.at("mzi") == mzi);
    CHECK(program.at("theta") != result_of({"decompose", swap}).at("theta"));
    CHECK(program.at("residual").get<double>() < 1e-14);
    const Json composed = result_of({"compose", folder.write("p.json", program.dump())});
    CHECK(largest_difference(composed.at("U"), read_json(swap)) < 1e-14);
  }
}

TEST_CASE("every option of mesh compose changes something") {
  const std::string path = case_path(case_01);
  const std::vector<std::string> base = {
      "compose", path, "--phase-sigma-rad", "0.01", "--seed", "3", "--chip", "1", "--mesh-id", "2"};
  const Json start = result_of(base);
  CHECK(start.at("E").get<double>() > 0);
  CHECK(start.at("fidelity").get<double>() < 1);
  CHECK(start.dump() == result_of(base).dump());
  const std::vector<std::vector<std::string>> changes = {
      {"--phase-sigma-rad", "0.02"}, {"--seed", "4"}, {"--chip", "2"}, {"--mesh-id", "3"}};
  for (const auto& change : changes) {
    std::vector<std::string> arguments = base;
    *(std::find(arguments.begin(), arguments.end(), change[0]) + 1) = change[1];
    CAPTURE(change[0]);
    CHECK(result_of(arguments).at("U") != start.at("U"));
  }
  const std::vector<std::vector<std::string>> additions = {
      {"--coupler-sigma-rad", "0.01"},
      {"--coupler-mean-rad", "0.01"},
      {"--no-output-screen"},
      {"--set", "imperfections.loss.mzi_db=0.1"},
      {"--set", "imperfections.crosstalk.optical_db=-30"}};
  for (const auto& addition : additions) {
    std::vector<std::string> arguments = base;
    arguments.insert(arguments.end(), addition.begin(), addition.end());
    CAPTURE(addition[0]);
    CHECK(result_of(arguments).at("U") != start.at("U"));
  }
  const std::vector<std::string> jitter = {"compose", path, "--set",
                                           "imperfections.phase.jitter_sigma_rad=0.1"};
  std::vector<std::string> next = jitter;
  next.insert(next.end(), {"--symbol", "1"});
  CHECK(result_of(next).at("U") != result_of(jitter).at("U"));
}

TEST_CASE("mesh correct writes a program that compose turns into the corrected matrix") {
  const Folder folder;
  const Json ideal = result_of({"compose", case_path(case_01)}).at("U");
  const std::string own_errors = case_path("09_errcorr_local_n8");
  for (const char* method : {"local", "self"}) {
    CAPTURE(method);
    const Json in_file = result_of({"correct", own_errors, "--method", method});
    CHECK(in_file.at("E_before").get<double>() == Approx(0.17579257780027985));
    CHECK(in_file.at("E_after").get<double>() < 1e-9);
    CHECK(in_file.at("out_of_range") == 0);
    CHECK(in_file.at("kept_uncorrected") == false);
    CHECK(in_file.at("alpha") == read_json(own_errors).at("alpha"));
    const Json composed = result_of({"compose", folder.write("in.json", in_file.dump())});
    CHECK(largest_difference(composed.at("U"), read_json(own_errors).at("U_ideal")) < 1e-8);

    std::vector<std::string> drawn = {"correct",
                                      case_path(case_01),
                                      "--coupler-sigma-rad",
                                      "0.02",
                                      "--phase-sigma-rad",
                                      "0.1",
                                      "--chip",
                                      "3"};
    std::vector<std::string> correct = drawn;
    correct.insert(correct.end(), {"--method", method});
    const Json program = result_of(correct);
    CHECK(program.at("E_before").get<double>() > 0.05);
    CHECK(program.at("E_after").get<double>() < 1e-7);
    CHECK(program.at("alpha") == read_json(case_path(case_01)).at("alpha"));
    drawn[0] = "compose";
    drawn[1] = folder.write("drawn.json", program.dump());
    CHECK(largest_difference(result_of(drawn).at("U"), ideal) < 1e-7);
  }
}

TEST_CASE("mesh --out writes the same bytes to a file") {
  const Folder folder;
  const std::string out = folder.path("u.json");
  const Outcome to_file = optinc_mesh({"compose", case_path(case_01), "--out", out});
  CHECK(to_file.code == 0);
  CHECK(to_file.out.empty());
  std::ifstream file(out);
  std::stringstream content;
  content << file.rdbuf();
  CHECK(content.str() == optinc_mesh({"compose", case_path(case_01), "--out", "-"}).out);
}

TEST_CASE("wrong use of mesh commands ends with one message and the exit code of the contract") {
  const Folder folder;
  const std::string mesh = case_path(case_01);
  const std::string cut = folder.write("cut.json", R"({"N": 4, "topology": "clem)");
  const std::string rectangle = folder.write("r.json", R"({"re": [[1, 0]]})");
  const std::string stretched = folder.write("s.json", R"({"re": [[1, 0], [0, 2]]})");
  const std::string gain = folder.write("g.json",
                                        R"({"N": 2, "topology": "clements", "theta": [1],
                                            "phi": [1], "phi_out": [0, 0],
                                            "g": [[1000, 1000, 1000, 1000]]})");
  const std::string flawless = folder.write(
      "f.json", R"({"N": 2, "topology": "clements", "theta": [1], "phi": [1], "phi_out": [0, 0]})");
  struct Misuse {
    std::vector<std::string> arguments;
    int code;
    std::string message;
  };
  const std::vector<Misuse> misuses = {
      {{"correct", flawless}, 2, "nothing to correct"},
      {{"correct", mesh, "--method", "best"}, 2, "--method"},
      {{"correct", gain}, 3, "overflows"},
      {{"compose"}, 2, "PROGRAM"},
      {{"compose", folder.path("none.json")}, 3, "cannot be read"},
      {{"compose", folder.path("")}, 3, "cannot be read"},
      {{"compose", cut}, 3, "is not JSON"},
      {{"compose", gain}, 3, "overflows"},
      {{"compose", mesh, "--phase-sigma-rad", "nan"}, 2, "must be a number"},
      {{"compose", mesh, "--phase-sigma-rad", "-1"}, 2, "must be a number"},
      {{"compose", mesh, "--coupler-sigma-rad", "inf"}, 2, "must be a number"},
      {{"compose", mesh, "--coupler-mean-rad", "x"}, 2, "must be a number"},
      {{"compose", mesh, "--no-output-screen"}, 2, "--phase-sigma-rad"},
      {{"compose", mesh, "--seed", "-1"}, 2, "--seed"},
      {{"compose", mesh, "--chip", "4294967296"}, 2, "--chip"},
      {{"compose", mesh, "--mesh-id", "65536"}, 2, "--mesh-id"},
      {{"compose", mesh, "--precision", "f32", "--backend", "reference"}, 4, "precision f32"},
      {{"compose", mesh, "--backend", "cuda"}, 4, "not available"},
      {{"compose", mesh, "--backend", "abacus"}, 2, "unknown backend"},
      {{"compose", mesh, "--out", folder.path("no/such/folder.json")}, 3, "no/such"},
      {{"propagate", mesh, case_path(case_04)}, 2, "6 modes"},
      {{"decompose", rectangle}, 3, "1 x 2"},
      {{"decompose", stretched}, 3, "not unitary"},
      {{"decompose", "matrix.h5"}, 2, "not built yet"},
      {{"decompose", rectangle, "--topology", "diamond"}, 2, "--topology"},
      {{"decompose", stretched}, 3, "--nearest"},
      {{"decompose", stretched, "--mzi", "double"}, 2, "--mzi"},
      {{"compose", mesh, "--set", "imperfections.loss.crossing_db=0.1"}, 2, "no crossings"},
      {{"decompose", rectangle, "--nearest"}, 3, "1 x 2"},
      {{"compose", mesh, "--set", "network.form=ripple"}, 2, "not a setting of a mesh"},
      {{"compose", mesh, "--set", "imperfections.combiner.amplitude_sigma=0.1"},
       2,
       "not a setting of a mesh"},
      {{"compose", mesh, "--set", "imperfections.phase.jitter_realizations=3"},
       2,
       "not a setting of a mesh"},
      {{"compose", mesh, "--set", "imperfections.loss.mzi_db=-1"}, 2, "must lie in"},
      {{"compose", mesh, "--set", "imperfections.los.mzi_db=1"}, 2, "did you mean"},
      {{"compose", mesh, "--set", "imperfections.coupler.sigma_rad=1e-3", "--coupler-sigma-rad",
        "0.1"},
       2,
       "leave one out"},
      {{"decompose", rectangle, "--unitarity-tol", "nan"}, 2, "must be a number"},
  };
  for (const Misuse& misuse : misuses) {
    const Outcome outcome = optinc_mesh(misuse.arguments);
    std::string line;
    for (const std::string& argument : misuse.arguments) line += argument + " ";
    CAPTURE(line);
    CHECK(outcome.code == misuse.code);
    CHECK(outcome.out.empty());
    CHECK_THAT(outcome.err, Catch::Contains(misuse.message));
  }
}

}  // namespace optinc
