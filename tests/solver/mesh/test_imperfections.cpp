// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <memory>
#include <numbers>
#include <random>
#include <string>
#include <vector>

#include <Eigen/Dense>
#include <catch2/catch.hpp>

#include "solver/backend/registry.hpp"
#include "solver/error.hpp"
#include "solver/io/atomic_file.hpp"
#include "solver/kernel/compiled_mesh.hpp"
#include "solver/mesh/chip_mesh.hpp"
#include "solver/mesh/decomposition.hpp"
#include "solver/mesh/thermal_table.hpp"
#include "tests/support/haar.hpp"
#include "tests/support/reference.hpp"

namespace optinc {

namespace {

using testing::haar_unitary;

using std::numbers::pi;

using testing::reference;

MeshProgram random_program(const Topology& topology, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::uniform_real_distribution<double> phase(0, 2 * pi);
  const auto draw = [&](std::size_t count) {
    std::vector<double> phases_rad(count);
    for (double& phase_rad : phases_rad) phase_rad = phase(engine);
    return phases_rad;
  };
  return {.topology = topology,
          .theta_rad = draw(topology.mzi_count()),
          .phi_rad = draw(topology.mzi_count()),
          .output_phase_rad = draw(static_cast<std::size_t>(topology.modes))};
}

Eigen::MatrixXcd composed(const MeshState& state) { return reference()->compose(state); }

/// Chip 0 of a mesh, composed.
Eigen::MatrixXcd composed(const MeshProgram& program, const StaticImperfections& imperfections) {
  return composed(perturbed_state(program, imperfections, 1, 0, 0));
}

double amplitude(double loss_db) { return std::pow(10, -loss_db / 20); }

double relative_distance(const Eigen::MatrixXcd& a, const Eigen::MatrixXcd& b) {
  return (a - b).norm() / b.norm();
}

StaticImperfections with_loss(const LossParameters& loss) {
  StaticImperfections imperfections;
  imperfections.loss = loss;
  return imperfections;
}

Topology butterfly(int modes) {
  std::vector<MeshColumn> columns;
  for (int first = 0; first < 3; ++first) {
    columns.push_back({first, (modes - first) / 3});
    columns.push_back({0, 0});
  }
  return column_topology(modes, columns);
}

/// The four arms' phases and positions, written out without the library's helpers.
struct PlainArm {
  double x_um{};
  double y_um{};
  double heater_phase_rad = 0;  ///< 0 where the arm has no heater
};

std::vector<PlainArm> plain_arms(const MeshProgram& program, const MeshLayout& layout) {
  std::vector<PlainArm> arms;
  std::size_t index = 0;
  double start_um = 0;
  for (const MeshColumn& column : program.topology.columns) {
    for (int i = 0; i < column.mzi_count; ++i, ++index) {
      const double middle_um = layout.row_pitch_um * (column.first_mode + 2 * i + 0.5);
      const double half_um = layout.arm_spacing_um / 2;
      const double phi_x = start_um + layout.phi_offset_um;
      const double theta_x = start_um + layout.theta_offset_um;
      arms.push_back({phi_x, middle_um - half_um, program.phi_rad[index]});
      arms.push_back({phi_x, middle_um + half_um, 0});
      arms.push_back({theta_x, middle_um - half_um, program.theta_rad[index]});
      arms.push_back({theta_x, middle_um + half_um, 0});
    }
    start_um += layout.column_pitch_um;
  }
  for (int mode = 0; mode < program.topology.modes; ++mode) {
    arms.push_back({start_um + layout.phi_offset_um, layout.row_pitch_um * mode,
                    program.output_phase_rad[static_cast<std::size_t>(mode)]});
  }
  return arms;
}

/// Shift of every arm by all pairs: the oracle of the neighbour search.
std::vector<double> dense_shifts(const std::vector<PlainArm>& arms, const ThermalCrosstalk& model) {
  std::vector<double> shifts;
  for (std::size_t victim = 0; victim < arms.size(); ++victim) {
    double sum = 0;
    for (std::size_t other = 0; other < arms.size(); ++other) {
      if (other == victim) continue;
      const double distance_um = std::sqrt(std::pow(arms[victim].x_um - arms[other].x_um, 2) +
                                           std::pow(arms[victim].y_um - arms[other].y_um, 2));
      sum += model.coupling(distance_um) * arms[other].heater_phase_rad;
    }
    shifts.push_back(sum);
  }
  return shifts;
}

std::vector<double> flat_shifts(const ThermalShifts& shifts) {
  std::vector<double> flat;
  for (const ThermalShifts::OfMzi& shift : shifts.mzis) {
    flat.insert(flat.end(), {shift.input_upper_rad, shift.input_lower_rad, shift.internal_upper_rad,
                             shift.internal_lower_rad});
  }
  flat.insert(flat.end(), shifts.output_rad.begin(), shifts.output_rad.end());
  return flat;
}

std::string table_refusal(const std::string& text) {
  try {
    parse_thermal_table(text, "t.csv");
  } catch (const DataError& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("balanced uniform loss is a scalar on any standard mesh") {
  // Law A14: 0, 1, N columns of a Clements mesh, 2 N - 3 of a Reck mesh.
  constexpr double loss_db = 0.37;
  const StaticImperfections lossy =
      with_loss({.mzi_db = loss_db, .placement = LossPlacement::balanced});
  for (const int modes : {1, 2, 3, 4, 5, 8, 13}) {
    for (const auto kind : {Topology::Kind::clements, Topology::Kind::reck}) {
      CAPTURE(modes, static_cast<int>(kind));
      const Eigen::MatrixXcd unitary = haar_unitary(modes, 7);
      const MeshProgram program = decompose(unitary, kind);
      const int clements_columns = modes < 3 ? modes - 1 : modes;
      const int columns =
          kind == Topology::Kind::reck ? std::max(0, 2 * modes - 3) : clements_columns;
      const Eigen::MatrixXcd expected = amplitude(columns * loss_db) * unitary;
      CHECK(relative_distance(composed(program, lossy), expected) < 1e-12);
    }
  }
}

TEST_CASE("loss of single MZIs, guides and facets has its closed form") {
  const MeshProgram one = decompose(haar_unitary(2, 3));
  const Eigen::MatrixXcd ideal = composed(ideal_state(one));
  CHECK(relative_distance(composed(one, with_loss({.mzi_db = 3})), amplitude(3) * ideal) < 1e-14);
  CHECK(relative_distance(composed(one, with_loss({.facet_db = 1.5})), amplitude(3) * ideal) <
        1e-14);
  CHECK(
      relative_distance(
          composed(ChipMesh(one, with_loss({.facet_db = 1.5}), 0, 1).chip({.seed = 1, .chip = 0})),
          amplitude(1.5) * ideal) < 1e-14);
  StaticImperfections guides = with_loss({.waveguide_db_per_cm = 2});
  guides.layout.column_pitch_um = 2500;  // 0.5 dB per column
  CHECK(relative_distance(composed(one, guides), amplitude(0.5) * ideal) < 1e-14);
  // Three modes, all cross: a mode's loss counts the MZIs on its path, not the columns.
  MeshProgram three{.topology = clements_topology(3),
                    .theta_rad = {0, 0, 0},
                    .phi_rad = {0, 0, 0},
                    .output_phase_rad = {0, 0, 0}};
  const Eigen::MatrixXd power =
      composed(three, with_loss({.mzi_db = 1})).cwiseAbs2().colwise().sum();
  CHECK(power(0) == Approx(std::pow(10, -0.2)).epsilon(1e-12));  // 0 -> 1 -> 2
  CHECK(power(1) == Approx(std::pow(10, -0.2)).epsilon(1e-12));  // 1 -> 0, passes, 0 -> 1
  CHECK(power(2) == Approx(std::pow(10, -0.2)).epsilon(1e-12));  // passes, 2 -> 1 -> 0
  three.theta_rad = {pi, pi, pi};
  const Eigen::MatrixXd bar = composed(three, with_loss({.mzi_db = 1})).cwiseAbs2().colwise().sum();
  CHECK(bar(0) == Approx(std::pow(10, -0.2)).epsilon(1e-12));  // columns 0 and 2
  CHECK(bar(1) == Approx(std::pow(10, -0.3)).epsilon(1e-12));  // all three
  CHECK(bar(2) == Approx(std::pow(10, -0.1)).epsilon(1e-12));  // column 1 only
}

TEST_CASE("the spread of MZI losses has its mean and deviation and stops at 0 dB") {
  const MeshProgram program = random_program(clements_topology(64), 5);
  const auto losses = [&](double mean_db, double sigma_db, std::uint32_t chip) {
    const MeshState state = perturbed_state(
        program, with_loss({.mzi_db = mean_db, .mzi_sigma_db = sigma_db}), 3, chip, 0);
    std::vector<double> values;
    for (const MziState<double>& mzi_state : state.mzis) {
      CHECK(mzi_state.input_upper.amplitude_transmission ==
            mzi_state.input_lower.amplitude_transmission);
      values.push_back(-20 * std::log10(mzi_state.input_upper.amplitude_transmission));
    }
    return values;
  };
  double sum = 0;
  double squares = 0;
  double count = 0;
  for (std::uint32_t chip = 0; chip < 10; ++chip) {
    for (const double loss_db : losses(1.0, 0.1, chip)) {
      sum += loss_db;
      squares += std::pow(loss_db - 1.0, 2);
      ++count;
    }
  }
  // 20,160 draws: 6.5 standard errors, false alarm below 1e-9 (cut at 10 sigma: no effect).
  CHECK(std::abs(sum / count - 1.0) < 6.5 * 0.1 / std::sqrt(count));
  CHECK(std::abs(squares / count - 0.01) < 6.5 * 0.01 * std::sqrt(2 / count));
  const std::vector<double> cut = losses(0.0, 0.1, 0);
  CHECK(*std::min_element(cut.begin(), cut.end()) >= 0);
  const auto dark = std::count_if(cut.begin(), cut.end(), [](double loss) { return loss == 0; });
  CHECK(std::abs(static_cast<double>(dark) - 1008) < 6.5 * std::sqrt(2016 * 0.25));
  CHECK(losses(1.0, 0.1, 1) != losses(1.0, 0.1, 2));
}

TEST_CASE("published F-norm of lossy Clements and Reck meshes") {
  // Table 2.2: mean over Haar matrices, loss on both arms of every MZI. Tolerance: 6.5 standard
  // errors of our mean plus half a unit of their last digit and their own unknown spread, taken as
  // that of 30 matrices.
  struct Entry {
    double loss_db;
    int modes;
    double clements;
    double reck;
  };
  for (const Entry& entry : {Entry{0.1, 4, .99996, .99990}, Entry{0.1, 8, .99989, .99925},
                             Entry{0.1, 16, .99982, .99582}, Entry{0.2, 8, .99955, .99705},
                             Entry{0.5, 4, .99870, .99759}, Entry{0.5, 8, .99742, .98167},
                             Entry{0.5, 16, .99556, .89803}, Entry{0.5, 32, .99262, .64281}}) {
    for (const auto kind : {Topology::Kind::clements, Topology::Kind::reck}) {
      constexpr int matrices = 30;
      double sum = 0;
      double squares = 0;
      for (std::uint64_t seed = 0; seed < matrices; ++seed) {
        const Eigen::MatrixXcd unitary = haar_unitary(entry.modes, 300 + seed);
        const Eigen::MatrixXcd lossy =
            composed(decompose(unitary, kind), with_loss({.mzi_db = entry.loss_db}));
        const double fidelity =
            std::norm((unitary.adjoint() * lossy).trace()) / (entry.modes * lossy.squaredNorm());
        sum += fidelity;
        squares += fidelity * fidelity;
      }
      const double mean = sum / matrices;
      const double deviation = std::sqrt(std::max(0.0, squares / matrices - mean * mean));
      const double expected = kind == Topology::Kind::reck ? entry.reck : entry.clements;
      CAPTURE(entry.loss_db, entry.modes, static_cast<int>(kind), mean, deviation);
      CHECK(std::abs(mean - expected) < 6.5 * deviation * std::sqrt(2.0 / matrices) + 0.5e-5);
    }
  }
}

TEST_CASE("phases from converters lie on their grid and follow the law of b bits") {
  for (const int bits : {4, 8, 16}) {
    const double step = 2 * pi / std::pow(2, bits);
    for (const double phase_rad : {-7.0, -1e-9, 0.0, 0.3, 3.0, 6.2831853, 100.0}) {
      const double driven = driver_phase_rad(phase_rad, bits);
      CHECK(driven >= 0);
      CHECK(driven < 2 * pi);
      CHECK(std::abs(std::remainder(driven - phase_rad, 2 * pi)) <= step / 2 * (1 + 1e-9));
      CHECK(std::abs(std::remainder(driven, step)) < 1e-12);
      CHECK(driver_phase_rad(driven, bits) == driven);
    }
  }
  // Law A11: E = sqrt(N) 2 pi / (2^b sqrt 12), mean over 40 Haar meshes within 3 %: the spread of E
  // from mesh to mesh is 1.5 % at N = 64 (4,096 phases), so 3 % is 12 standard errors.
  constexpr int modes = 64;
  double sum = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const Eigen::MatrixXcd unitary = haar_unitary(modes, 500 + seed);
    StaticImperfections rounded;
    rounded.phase_dac_bits = 8;
    sum += (composed(decompose(unitary), rounded) - unitary).norm() / std::sqrt(double{modes});
  }
  CHECK(sum / 40 == Approx(8 * 2 * pi / (256 * std::sqrt(12.0))).epsilon(0.03));
}

TEST_CASE("thermal crosstalk equals the sum over all pairs of arms") {
  ThermalCrosstalk exponential;
  exponential.coefficient = 0.3;
  exponential.decay_um = 40;
  exponential.radius_um = 333;
  ThermalCrosstalk table;
  table.model = ThermalCrosstalk::Model::table;
  table.table = {{10, 0.2}, {50, 0.05}, {400, 0.01}};
  table.radius_um = 1e6;
  MeshLayout layout;
  layout.row_pitch_um = 45;
  layout.column_pitch_um = 170;
  layout.theta_offset_um = 110;
  layout.phi_offset_um = 20;
  for (const Topology& topology : {clements_topology(7), reck_topology(6), butterfly(9),
                                   clements_topology(1), clements_topology(40)}) {
    const MeshProgram program = random_program(topology, 11);
    for (const ThermalCrosstalk& model : {exponential, table}) {
      const std::vector<double> expected = dense_shifts(plain_arms(program, layout), model);
      const std::vector<double> shifts = flat_shifts(thermal_shifts(program, layout, model));
      REQUIRE(shifts.size() == expected.size());
      for (std::size_t i = 0; i < shifts.size(); ++i) {
        CHECK(shifts[i] == Approx(expected[i]).epsilon(1e-12).margin(1e-14));
      }
    }
  }
}

TEST_CASE("thermal crosstalk acts on the arms of a chip after driver rounding") {
  StaticImperfections imperfections;
  imperfections.thermal = ThermalCrosstalk{};
  imperfections.thermal->radius_um = 500;
  imperfections.thermal->decay_um = 100;
  imperfections.phase_dac_bits = 4;
  MeshProgram program = random_program(clements_topology(5), 12);
  program.theta_rad[0] = -1;  // any phase is accepted; heat is counted in [0, 2 pi)
  MeshProgram driven = program;
  for (std::vector<double>* phases_rad :
       {&driven.theta_rad, &driven.phi_rad, &driven.output_phase_rad}) {
    for (double& phase_rad : *phases_rad) {
      phase_rad = std::remainder(std::round(phase_rad * 16 / (2 * pi)), 16) * 2 * pi / 16;
      if (phase_rad < -1e-9) phase_rad += 2 * pi;
    }
  }
  const std::vector<double> expected = dense_shifts(plain_arms(driven, {}), *imperfections.thermal);
  const MeshState state = perturbed_state(program, imperfections, 1, 0, 0);
  std::size_t arm = 0;
  for (const MziState<double>& mzi_state : state.mzis) {
    CHECK(mzi_state.input_upper.phase_rad == Approx(expected[arm++]).epsilon(1e-12));
    CHECK(mzi_state.input_lower.phase_rad == Approx(expected[arm++]).epsilon(1e-12));
    CHECK(mzi_state.internal_upper.phase_rad == Approx(expected[arm++]).epsilon(1e-12));
    CHECK(mzi_state.internal_lower.phase_rad == Approx(expected[arm++]).epsilon(1e-12));
  }
  for (std::size_t mode = 0; mode < 5; ++mode) {
    CHECK(state.output_phase_rad[mode] - driven.output_phase_rad[mode] ==
          Approx(expected[arm++]).epsilon(1e-9));
  }
}

TEST_CASE("thermal coupling follows its models") {
  const ThermalCrosstalk published;  // arXiv 2407.05510, far branch
  CHECK(published.coupling(25) == Approx(0.0090).margin(5e-5));
  CHECK(published.coupling(40) == Approx(0.0013).margin(5e-5));
  CHECK(published.coupling(60.001) == 0);
  const auto table = parse_thermal_table(
      "# from a fit\ndistance_um,coupling\n8,0.169\r\n10,0.101\n\n20,0.0156\n", "t.csv");
  ThermalCrosstalk model{.model = ThermalCrosstalk::Model::table, .radius_um = 100, .table = table};
  CHECK(model.coupling(1) == 0.169);
  CHECK(model.coupling(9) == Approx(0.135));
  CHECK(model.coupling(20) == 0.0156);
  CHECK(model.coupling(20.01) == 0);
  model.radius_um = 9.5;
  CHECK(model.coupling(9.6) == 0);
  CHECK_THAT(table_refusal(""), Catch::Contains("0 entries"));
  CHECK_THAT(table_refusal("8,1\n9,0\n"), Catch::Contains("t.csv:1: the first line"));
  CHECK_THAT(table_refusal("distance_um,coupling\n8,0.1\n8,0.2\n"), Catch::Contains("t.csv:3"));
  CHECK_THAT(table_refusal("distance_um,coupling\n8,0.1\n9\n"), Catch::Contains("two numbers"));
  CHECK_THAT(table_refusal("distance_um,coupling\n8,1.1\n9,0\n"), Catch::Contains("0 .. 1"));
  CHECK_THAT(table_refusal("distance_um,coupling\n8,nan\n9,0\n"), Catch::Contains("t.csv:2"));
  CHECK_THAT(table_refusal("distance_um,coupling\n8,0.1\n"), Catch::Contains("1 entries"));
}

TEST_CASE("the shipped table of thermal crosstalk has the published values") {
  const std::string path =
      std::string(OPTINC_SOURCE_DIR) + "/data/devices/thermal_crosstalk_silicon.csv";
  const ThermalCrosstalk model{.model = ThermalCrosstalk::Model::table,
                               .radius_um = 60,
                               .table = parse_thermal_table(read_text_file(path), path)};
  // Evaluated from the fit of arXiv 2407.05510 by others.
  for (const auto& [distance_um, coupling] :
       {std::pair{8.0, 0.169}, std::pair{10.0, 0.101}, std::pair{15.0, 0.039},
        std::pair{25.0, 0.0090}, std::pair{30.0, 0.0047}, std::pair{40.0, 0.0013}}) {
    CHECK(model.coupling(distance_um) == Approx(coupling).margin(6e-4).epsilon(0.02));
  }
  CHECK(model.coupling(60) == Approx(1e-4).epsilon(0.05));
  CHECK(model.coupling(61) == 0);
}

TEST_CASE("optical crosstalk on 2 to 4 modes has its closed form") {
  constexpr double crosstalk_db = -13;
  const double kappa = std::asin(std::sqrt(std::pow(10, crosstalk_db / 10)));
  StaticImperfections imperfections;
  imperfections.optical_crosstalk_db = crosstalk_db;
  const auto coupler_on = [&](int modes, int upper) {
    Eigen::MatrixXcd matrix = Eigen::MatrixXcd::Identity(modes, modes);
    matrix(upper, upper) = matrix(upper + 1, upper + 1) = std::cos(kappa);
    matrix(upper, upper + 1) = matrix(upper + 1, upper) = std::complex<double>(0, std::sin(kappa));
    return matrix;
  };
  const auto empty_columns = [&](int modes, std::size_t columns) {
    return random_program(column_topology(modes, std::vector<MeshColumn>(columns, {0, 0})), 1);
  };
  const auto screen = [](const MeshProgram& program) {
    Eigen::VectorXcd phases(program.topology.modes);
    for (Eigen::Index i = 0; i < phases.size(); ++i) {
      phases(i) = std::polar(1.0, program.output_phase_rad[static_cast<std::size_t>(i)]);
    }
    return phases;
  };
  const MeshProgram two = empty_columns(2, 1);
  CHECK(std::norm(composed(two, imperfections)(0, 1)) == Approx(std::pow(10, -1.3)));
  CHECK(relative_distance(composed(two, imperfections),
                          screen(two).asDiagonal() * coupler_on(2, 0)) < 1e-14);
  const MeshProgram three = empty_columns(3, 2);
  const Eigen::MatrixXcd step = coupler_on(3, 1) * coupler_on(3, 0);
  CHECK(relative_distance(composed(three, imperfections),
                          screen(three).asDiagonal() * step * step) < 1e-14);
  // A Clements mesh of 2: its only pair is joined, nothing couples.
  const MeshProgram joined = random_program(clements_topology(2), 2);
  CHECK(composed(joined, imperfections) == composed(ideal_state(joined)));
  // One Clements column on 4 modes: only the middle pair couples.
  const MeshProgram four = random_program(column_topology(4, {{0, 2}}), 3);
  CHECK(relative_distance(composed(four, imperfections),
                          screen(four).asDiagonal() * coupler_on(4, 1) *
                              screen(four).conjugate().asDiagonal() * composed(ideal_state(four))) <
        1e-14);
}

TEST_CASE("the compiled form of a mesh is the mesh, whatever acts in it") {
  StaticImperfections everything;
  everything.phase_fabrication_sigma_rad = 0.1;
  everything.coupler_sigma_rad = 0.05;
  everything.loss = {.mzi_db = 0.4,
                     .mzi_sigma_db = 0.2,
                     .waveguide_db_per_cm = 3,
                     .facet_db = 1,
                     .placement = LossPlacement::balanced};
  everything.optical_crosstalk_db = -15;
  everything.thermal = ThermalCrosstalk{};
  for (const Topology& topology :
       {clements_topology(1), clements_topology(2), clements_topology(8), reck_topology(7),
        butterfly(10), column_topology(5, {{4, 0}, {1, 1}, {3, 1}, {0, 2}}),
        column_topology(3, {})}) {
    const MeshState state = perturbed_state(random_program(topology, 21), everything, 4, 2, 1);
    const CompiledMesh compiled = compile(state);
    MeshState plain{.topology = column_topology(topology.modes, compiled.columns),
                    .mzis = {},
                    .output_phase_rad = {}};
    Eigen::MatrixXcd product = Eigen::MatrixXcd::Identity(topology.modes, topology.modes);
    std::size_t next = 0;
    for (const MeshColumn& column : compiled.columns) {
      for (int i = 0; i < column.mzi_count; ++i) {
        const Transfer2x2<double>& t = compiled.transfers.at(next++);
        Eigen::Matrix2cd block;
        block << std::complex(t.m11.re, t.m11.im), std::complex(t.m12.re, t.m12.im),
            std::complex(t.m21.re, t.m21.im), std::complex(t.m22.re, t.m22.im);
        const Eigen::MatrixXcd rows = product.middleRows(column.first_mode + 2 * i, 2);
        product.middleRows(column.first_mode + 2 * i, 2) = block * rows;
      }
    }
    REQUIRE(next == compiled.transfers.size());
    for (Eigen::Index mode = 0; mode < topology.modes; ++mode) {
      const Complex<double>& factor = compiled.output.at(static_cast<std::size_t>(mode));
      product.row(mode) *= std::complex(factor.re, factor.im);
    }
    CHECK(relative_distance(product, composed(state)) < 1e-13);
  }
}

TEST_CASE("correlated phase errors have unit variance and the covariance of their filter") {
  MeshLayout dense;  // pitches well below the length: the continuum law holds
  dense.column_pitch_um = 20;
  dense.row_pitch_um = 20;
  dense.arm_spacing_um = 10;
  dense.theta_offset_um = 10;
  dense.phi_offset_um = 0;
  const std::vector<Position> heaters = heater_positions(clements_topology(24), dense);
  constexpr double length_um = 60;
  const SparseMap filter = correlation_filter(heaters, length_um);
  const auto covariance = [&](std::size_t a, std::size_t b) {
    double sum = 0;
    for (std::size_t i = filter.row_start[a]; i < filter.row_start[a + 1]; ++i) {
      for (std::size_t j = filter.row_start[b]; j < filter.row_start[b + 1]; ++j) {
        if (filter.terms[i].column == filter.terms[j].column) {
          sum += filter.terms[i].weight * filter.terms[j].weight;
        }
      }
    }
    return sum;
  };
  // Away from the rim, where every heater has all its neighbours.
  const auto inside = [&](const Position& heater) {
    return std::abs(heater.x_um - 240) < 65 && std::abs(heater.y_um - 240) < 65;
  };
  const std::size_t middle = 288;  // theta of the MZI on modes 10 and 11 of column 12
  REQUIRE(std::hypot(heaters[middle].x_um - 240, heaters[middle].y_um - 240) < 40);
  int compared = 0;
  for (std::size_t other = 0; other < heaters.size(); ++other) {
    CHECK(covariance(other, other) == Approx(1).epsilon(1e-12));
    if (!inside(heaters[other])) continue;
    ++compared;
    const double distance_um = std::hypot(heaters[other].x_um - heaters[middle].x_um,
                                          heaters[other].y_um - heaters[middle].y_um);
    CHECK(covariance(middle, other) ==
          Approx(std::exp(-std::pow(distance_um / length_um, 2) / 2)).margin(0.03));
  }
  CHECK(compared > 30);
  // A length far below every distance changes nothing.
  const SparseMap none = correlation_filter(heaters, 0.01);
  CHECK(none.terms.size() == heaters.size());

  StaticImperfections imperfections;
  imperfections.phase_fabrication_sigma_rad = 0.1;
  imperfections.layout = dense;
  const MeshProgram program = random_program(clements_topology(24), 3);
  const MeshState white = perturbed_state(program, imperfections, 1, 0, 0);
  imperfections.phase_correlation_um = 1e-3;
  const MeshState same = perturbed_state(program, imperfections, 1, 0, 0);
  imperfections.phase_correlation_um = length_um;
  const MeshState smooth = perturbed_state(program, imperfections, 1, 0, 0);
  double roughness_white = 0;
  double roughness_smooth = 0;
  for (std::size_t i = 0; i < program.theta_rad.size(); ++i) {
    CHECK(white.mzis[i].theta_rad == same.mzis[i].theta_rad);
    const auto difference = [&](const MeshState& state) {
      return (state.mzis[i].theta_rad - program.theta_rad[i]) -
             (state.mzis[i].phi_rad - program.phi_rad[i]);
    };
    roughness_white += std::pow(difference(white), 2);
    roughness_smooth += std::pow(difference(smooth), 2);
  }
  CHECK(roughness_smooth < 0.2 * roughness_white);  // 10 um apart: 2 (1 - e^{-1/72}) against 2
}

TEST_CASE("detuning scales all phases and shifts all couplers, a warm chip is a detuned one") {
  MeshProgram program = random_program(clements_topology(6), 8);
  StaticImperfections imperfections;
  imperfections.detuning.wavelength_nm = 10;
  imperfections.detuning.coupler_rad_per_nm = 0.002;
  const MeshState state = perturbed_state(program, imperfections, 1, 0, 0);
  for (std::size_t i = 0; i < state.mzis.size(); ++i) {
    CHECK(state.mzis[i].theta_rad == Approx(program.theta_rad[i] * 1550 / 1560).epsilon(1e-12));
    CHECK(state.mzis[i].phi_rad == Approx(program.phi_rad[i] * 1550 / 1560).epsilon(1e-12));
    CHECK(state.mzis[i].alpha_rad == Approx(0.02).epsilon(1e-12));
    CHECK(state.mzis[i].beta_rad == Approx(0.02).epsilon(1e-12));
  }
  CHECK(state.output_phase_rad[3] ==
        Approx(program.output_phase_rad[3] * 1550 / 1560).epsilon(1e-12));
  const Eigen::MatrixXcd detuned = composed(state);
  imperfections.detuning.wavelength_nm = 0;
  imperfections.detuning.temperature_k = -10 / 0.07;
  CHECK(relative_distance(composed(program, imperfections), detuned) < 1e-12);
  imperfections.detuning.wavelength_nm = -10;
  CHECK(imperfections.detuning.effective_nm() == Approx(0).margin(1e-12));
  // Whole turns on a driver are no phase: a program and its wrapped form behave alike.
  imperfections.detuning = {.wavelength_nm = 10};
  const Eigen::MatrixXcd wrapped = composed(program, imperfections);
  program.theta_rad[2] += 2 * pi;
  program.output_phase_rad[0] -= 2 * pi;
  CHECK(relative_distance(composed(program, imperfections), wrapped) < 1e-12);
}

TEST_CASE("the order of columns that share no mode does not matter, and light stays in its cone") {
  // Two MZIs on disjoint modes, in one column or in two, either order.
  std::vector<MeshState> states;
  for (const auto& columns :
       {std::vector<MeshColumn>{{0, 1}, {2, 1}}, std::vector<MeshColumn>{{2, 1}, {0, 1}},
        std::vector<MeshColumn>{{0, 2}}}) {
    MeshProgram program = random_program(column_topology(4, columns), 5);
    if (columns.front().first_mode == 2) {
      std::swap(program.theta_rad[0], program.theta_rad[1]);
      std::swap(program.phi_rad[0], program.phi_rad[1]);
    }
    states.push_back(ideal_state(program));
  }
  CHECK(composed(states[0]) == composed(states[1]));
  CHECK(composed(states[0]) == composed(states[2]));
  // After c columns of a Clements mesh, light from one mode has spread by at most c modes.
  constexpr int modes = 12;
  std::vector<MeshColumn> columns;
  for (int count = 1; count <= 5; ++count) {
    columns.push_back({(count - 1) % 2, (modes - (count - 1) % 2) / 2});
    const Eigen::MatrixXcd matrix =
        composed(ideal_state(random_program(column_topology(modes, columns), 9)));
    for (Eigen::Index out = 0; out < modes; ++out) {
      for (Eigen::Index in = 0; in < modes; ++in) {
        if (std::abs(out - in) > count) CHECK(matrix(out, in) == 0.0);
      }
    }
  }
}

TEST_CASE("a mesh traversed backwards has the transposed matrix") {
  // Reciprocity: T^T is the same MZI with phi at its output; the columns come in reverse.
  const MeshProgram program = random_program(clements_topology(6), 31);
  StaticImperfections imperfections;
  imperfections.coupler_sigma_rad = 0.1;
  imperfections.loss.mzi_db = 0.5;
  const MeshState state = perturbed_state(program, imperfections, 1, 0, 0);
  std::vector<std::pair<int, Eigen::Matrix2cd>> elements;
  std::size_t next = 0;
  for (const MeshColumn& column : state.topology.columns) {
    for (int i = 0; i < column.mzi_count; ++i) {
      const Transfer2x2<double> t = mzi(state.mzis[next++]);
      Eigen::Matrix2cd block;
      block << std::complex(t.m11.re, t.m11.im), std::complex(t.m12.re, t.m12.im),
          std::complex(t.m21.re, t.m21.im), std::complex(t.m22.re, t.m22.im);
      elements.emplace_back(column.first_mode + 2 * i, block);
    }
  }
  Eigen::MatrixXcd backwards = Eigen::MatrixXcd::Identity(6, 6);
  for (Eigen::Index mode = 0; mode < 6; ++mode) {
    backwards.row(mode) *= std::polar(1.0, state.output_phase_rad[static_cast<std::size_t>(mode)]);
  }
  for (auto element = elements.rbegin(); element != elements.rend(); ++element) {
    const Eigen::MatrixXcd rows = backwards.middleRows(element->first, 2);
    backwards.middleRows(element->first, 2) = element->second.transpose() * rows;
  }
  CHECK(relative_distance(backwards, composed(state).transpose()) < 1e-13);
}

TEST_CASE("error laws of any column list: E^2 and exp(-E^2)") {
  // Law A5: E^2 = (phases sigma_phi^2 + 4 sigma^2 MZIs) / N, exact to second order: <E^2> = 2 - 2
  // Re<Tr U^H U'>/N. Law A6: F = exp(-E^2). Small sigmas; 600 chips, 6.5 standard errors.
  for (const Topology& topology : {butterfly(12), reck_topology(9), clements_topology(10)}) {
    const MeshProgram program = random_program(topology, 17);
    const Eigen::MatrixXcd ideal = composed(ideal_state(program));
    const double modes = topology.modes;
    StaticImperfections imperfections;
    imperfections.phase_fabrication_sigma_rad = 0.01;
    imperfections.coupler_sigma_rad = 0.008;
    const double mzis = static_cast<double>(topology.mzi_count());
    const double law = ((2 * mzis + modes) * 1e-4 + 4 * 0.64e-4 * mzis) / modes;
    constexpr int chips = 600;
    double sum = 0;
    double squares = 0;
    double fidelity_ratio = 0;
    for (std::uint32_t chip = 0; chip < chips; ++chip) {
      const Eigen::MatrixXcd actual = composed(perturbed_state(program, imperfections, 6, chip, 0));
      const double error = (actual - ideal).squaredNorm() / modes;
      sum += error;
      squares += error * error;
      const double fidelity = std::norm((ideal.adjoint() * actual).trace()) / (modes * modes);
      fidelity_ratio += fidelity / std::exp(-error) / chips;
    }
    const double mean = sum / chips;
    const double standard_error = std::sqrt((squares / chips - mean * mean) / chips);
    CHECK(std::abs(mean - law) < 6.5 * standard_error + law * law);
    CHECK(standard_error < 0.02 * law);
    CHECK(fidelity_ratio == Approx(1).margin(0.1 * law));
  }
}

TEST_CASE("losses act the same wherever light is measured: no field grows") {
  StaticImperfections imperfections = with_loss({.mzi_db = 0.3, .mzi_sigma_db = 0.3});
  imperfections.optical_crosstalk_db = -20;
  const MeshProgram program = random_program(reck_topology(9), 2);
  for (std::uint32_t chip = 0; chip < 20; ++chip) {
    const Eigen::MatrixXcd matrix = composed(perturbed_state(program, imperfections, 1, chip, 0));
    CHECK(matrix.operatorNorm() <= 1 + 1e-12);
  }
}

}  // namespace optinc
