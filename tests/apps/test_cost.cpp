// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "apps/cost_tables.hpp"
#include "solver/text.hpp"
#include "tests/apps/cli_run.hpp"
#include "tests/apps/shipped.hpp"
#include "tests/apps/words.hpp"

namespace optinc {

namespace {

using test::CliRun;
using test::contains;
using test::data_folder;
using test::json_of;
using test::run;
using test::words;
using Json = nlohmann::json;

Json cost(const std::string& options) { return json_of(words("cost " + options)); }

/// The rows of a table whose members are as in `like`.
std::vector<Json> rows_like(const Json& report, const Json& like) {
  std::vector<Json> found;
  for (const Json& row : report.at("rows")) {
    bool same = true;
    for (const auto& [name, value] : like.items()) {
      same = same && row.contains(name) && row.at(name) == value;
    }
    if (same) found.push_back(row);
  }
  return found;
}

Json row_like(const Json& report, const Json& like) {
  const std::vector<Json> found = rows_like(report, like);
  INFO(like.dump());
  REQUIRE(found.size() == 1);
  return found.front();
}

Json unit_row(const Json& report, const std::string& mapping, const std::string& design = "unit") {
  return row_like(report, {{"table", "structure"}, {"mapping", mapping}, {"design", design}});
}

double number(const Json& row, const std::string& name) { return row.at(name).get<double>(); }

}  // namespace

TEST_CASE("cost prints the paper's areas") {
  const Json report = cost("");
  CHECK(report.at("network").at("widths") == Json({4, 64, 128, 256, 128, 64, 4}));
  CHECK(unit_row(report, "svd").at("mzi_count") == 106260);
  CHECK(unit_row(report, "svd").at("area_ratio") == 1.0);
  CHECK(unit_row(report, "segmented").at("mzi_count") == 41664);
  CHECK(number(unit_row(report, "segmented"), "area_ratio") == Approx(0.392).margin(0.003));
  CHECK(unit_row(report, "real_part").at("mzi_count") == 40768);
  CHECK(number(unit_row(report, "real_part"), "area_ratio") == Approx(0.384).margin(0.001));
  const Json cascade_unit = unit_row(report, "segmented", "cascade_unit");
  CHECK(cascade_unit.at("mzi_count") == 41664 + 4160);
  CHECK(number(cascade_unit, "overhead") == Approx(0.0998).margin(1e-4));
  const Json cascade = unit_row(report, "segmented", "cascade");
  CHECK(cascade.at("units") == 5);
  CHECK(cascade.at("mzi_count") == 5 * (41664 + 4160));
  const Json sixteen =
      cost("--widths 4,64,128,256,512,256,128,64,8 --segmented-layers 4-6 --table structure");
  CHECK(sixteen.at("network").at("bits") == 16);
  CHECK(number(unit_row(sixteen, "segmented 4-6"), "area_ratio") == Approx(0.492).margin(0.003));
}

TEST_CASE("layers of cost add up to the unit") {
  const Json report = cost("--segmented-layers 2 --segment 8");
  for (const char* mapping : {"svd", "segmented", "real_part", "segmented 2"}) {
    std::int64_t mzis = 0;
    std::int64_t depth = 0;
    double worst = 0;
    const auto layers = rows_like(report, {{"table", "layers"}, {"mapping", mapping}});
    REQUIRE(layers.size() == 6);
    for (const Json& layer : layers) {
      mzis += layer.at("mzi_count").get<std::int64_t>();
      depth += layer.at("depth").get<std::int64_t>();
      worst = std::max(worst, number(layer, "loss_db"));
      double sum = 0;
      for (const char* part : {"split_db", "mzi_db", "waveguide_db", "facet_db", "sum_db"}) {
        sum += number(layer, part);
      }
      CHECK(number(layer, "loss_db") == Approx(sum));
    }
    CHECK(unit_row(report, mapping).at("mzi_count") == mzis);
    CHECK(unit_row(report, mapping).at("depth") == depth);
    CHECK(number(unit_row(report, mapping), "worst_loss_db") == Approx(worst));
  }
}

TEST_CASE("cost prints the paper's traffic") {
  const Json report = cost("--table traffic");
  for (const auto& [servers, ratio] : {std::pair{4, 1.5}, {8, 1.75}, {16, 1.875}}) {
    const auto of = [&, servers = servers](const char* scheme) {
      return row_like(report, {{"servers", servers}, {"scheme", scheme}});
    };
    CHECK(of("ring").at("traffic_ratio") == ratio);
    CHECK(of("halving_doubling").at("traffic_ratio") == ratio);
    CHECK(of("optinc").at("traffic_ratio") == 1.0);
  }
  CHECK(rows_like(report, {{"scheme", "optinc_cascade"}}).size() == 2);
}

TEST_CASE("step times follow from their parts") {
  const Json report = cost("--table step --batch 16 --step-bits 8,16,32 --baseline-bits 16");
  for (const Json& row : report.at("rows")) {
    CHECK(number(row, "step_time_s") ==
          Approx(number(row, "compute_s") + number(row, "communication_s")));
    const auto ring_step = [&](const Json& bits) {
      return number(
          row_like(report, {{"workload", row.at("workload")}, {"bits", bits}, {"scheme", "ring"}}),
          "step_time_s");
    };
    CHECK(number(row, "reduction") ==
          Approx(1 - number(row, "step_time_s") / ring_step(16)).margin(1e-12));
    CHECK(number(row, "reduction_same_bits") ==
          Approx(1 - number(row, "step_time_s") / ring_step(row.at("bits"))).margin(1e-12));
  }
  // OptINC's codes end at 16 bits.
  CHECK(rows_like(report, {{"scheme", "optinc"}, {"bits", 32}}).empty());
  CHECK(rows_like(report, {{"scheme", "optinc"}, {"bits", 16}}).size() == 3);
}

TEST_CASE("the batch of table reduction gives that reduction") {
  const std::string paper = "--hardware " + data_folder + "hardware/optinc_paper.toml ";
  const Json wanted = cost(paper + "--table reduction --step-bits 8,16,32");
  int reached = 0;
  for (const Json& row : wanted.at("rows")) {
    if (row.at("batch").is_null()) {
      CHECK(number(row, "reduction") > number(row, "largest_reduction"));
      continue;
    }
    // A batch of whole samples near it brackets the reduction.
    const double batch = number(row, "batch");
    if (batch < 1) continue;
    const auto reduction_at = [&](double samples) {
      const Json steps =
          cost(paper + "--table step --workload " + row.at("workload").get<std::string>() +
               " --batch " + std::to_string(static_cast<int>(samples)) + " --step-bits " +
               std::to_string(row.at("bits").get<int>()) + " --baseline-bits " +
               std::to_string(row.at("ring_bits").get<int>()));
      return number(row_like(steps, {{"scheme", "optinc"}}), "reduction");
    };
    CHECK(reduction_at(std::floor(batch)) >= number(row, "reduction"));
    CHECK(reduction_at(std::ceil(batch)) <= number(row, "reduction"));
    ++reached;
  }
  CHECK(reached > 5);
}

TEST_CASE("every option of cost changes something") {
  const Json base = cost("");
  std::set<std::string> reports = {base.dump()};
  for (const char* options : {"--widths 4,64,4",
                              "--analytic ripple",
                              "--analytic pipeline",
                              "--analytic pipeline --servers 8",
                              "--analytic ripple --bits 6",
                              "--servers 8",
                              "--mapping svd",
                              "--mapping svd,real_part",
                              "--segment 8",
                              "--segmented-layers 2-3",
                              "--segmented-layers 2",
                              "--mesh reck",
                              "--cascade-layers none",
                              "--cascade-layers 32",
                              "--traffic-servers 4,5",
                              "--workload llama",
                              "--workload resnet50",
                              "--batch 64",
                              "--batch 32,64",
                              "--step-bits 16",
                              "--baseline-bits 16",
                              "--reduction 0.1",
                              "--table step",
                              "--table step,link",
                              "--set loss.mzi_db=0.1",
                              "--set fabric.message_us=5"}) {
    INFO(options);
    CHECK(reports.insert(cost(options).dump()).second);
  }
  CHECK(
      reports.insert(cost("--hardware " + data_folder + "hardware/h100_bf16.toml").dump()).second);
  CHECK(cost("--network " + data_folder + "networks/analytic_ripple_4servers_8bits.h5") != base);
}

TEST_CASE("every hardware key changes a table") {
  const std::string base = cost("").at("rows").dump();
  for (const ConfigKey& key : hardware_keys()) {
    INFO(key.path);
    std::string value = "true";
    if (key.type == ConfigType::integer) {
      value = std::to_string(std::get<std::int64_t>(*key.default_value) + 1);
    } else if (key.type == ConfigType::real) {
      const double number = std::get<double>(*key.default_value);
      value = csv_number(number + 0.04 <= key.maximum ? number + 0.04 : number - 0.04);
    }
    CHECK(cost("--set " + key.path + "=" + value).at("rows").dump() != base);
  }
}

TEST_CASE("a network file costs what onn check counts") {
  const std::string file = data_folder + "networks/analytic_pipeline_4servers_8bits.h5";
  const Json report = cost("--network " + file);
  CHECK(report.at("network").at("kind") == "analytic-pipeline");
  for (const char* mapping : {"svd", "segmented", "real_part"}) {
    const Json checked = json_of({"onn", "check", file, "--mapping", mapping});
    CHECK(unit_row(report, mapping).at("mzi_count") == checked.at("mzi_count"));
  }
  CHECK(cost("--analytic pipeline").at("rows") == report.at("rows"));
  CHECK(cost("--analytic pipeline --servers 16 --bits 16").at("network").at("servers") == 16);
}

TEST_CASE("cost as text and CSV") {
  const CliRun text = run(words("cost"));
  CHECK(text.code == 0);
  CHECK(contains(text.out, "network: widths, 4-64-128-256-128-64-4, 4 servers, 8 bits\n"));
  for (const ResultTable& table : empty_cost_tables()) {
    const bool is_long = table.name == "link" || table.name == "noise";
    CHECK(contains(text.out, "\n" + table.name + ": ") == !is_long);
  }
  CHECK(contains(text.out, "106260"));
  for (const ResultTable& table : empty_cost_tables()) {
    INFO(table.name);
    const CliRun csv = run(words("cost --csv --table " + table.name));
    std::istringstream lines(csv.out);
    std::vector<std::string> fields;
    std::string line;
    std::size_t count = 0;
    while (std::getline(lines, line)) {
      REQUIRE(split_csv(line, fields));
      REQUIRE(fields.size() == table.columns.size());
      if (count++ > 0) continue;
      for (std::size_t i = 0; i < fields.size(); ++i) CHECK(fields[i] == table.columns[i].name);
    }
    CHECK(count == cost("--table " + table.name).at("rows").size() + 1);
  }
  const test::TemporaryFolder folder;
  CHECK(
      run({"cost", "--csv", "--table", "step", "--out", (folder / "s.csv").string()}).out.empty());
  CHECK(test::read_text(folder / "s.csv") == run(words("cost --csv --table step")).out);
}

TEST_CASE("columns of cost are documented") {
  const Json schema = Json::parse(run({"schema", "--json"}).out);
  for (const ResultTable& table : empty_cost_tables()) {
    CHECK(schema.at("cost_" + table.name).size() == table.columns.size());
    for (const CsvColumn& column : table.columns) CHECK(!column.meaning.empty());
  }
}

}  // namespace optinc
