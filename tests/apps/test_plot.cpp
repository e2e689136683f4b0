// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <sys/stat.h>
#include <catch2/catch.hpp>

#include "apps/find_program.hpp"
#include "apps/summary_table.hpp"
#include "solver/error.hpp"
#include "solver/text.hpp"
#include "tests/apps/cli_run.hpp"

namespace optinc {
namespace {

using test::contains;
using test::run;

const std::string phase = "imperfections.phase.fabrication_sigma_rad";
const std::string coupler = "imperfections.coupler.sigma_rad";

/// One sweep point of a synthetic summary: axis cells and the mean of its one metric; band and
/// interval are 0.5, 0.75, 1.25 and 1.5 times the mean.
struct Point {
  std::vector<std::string> axes;
  std::string mean;
};

std::string scaled(const std::string& mean, double factor) {
  return mean.empty() ? "" : csv_number(std::stod(mean) * factor);
}

std::string summary_text(const std::vector<std::string>& axes, const std::vector<Point>& points,
                         const std::string& metric = "element_error_rate") {
  std::string text = "task_id";
  for (const std::string& axis : axes) text += "," + axis;
  text += ",chips";
  for (const char* suffix : {"mean", "std", "ci_lo", "ci_hi", "p05", "p50", "p95"}) {
    text += "," + metric + "_" + suffix;
  }
  text += ",yield,yield_ci_lo,yield_ci_hi\r\n";
  for (const Point& point : points) {
    text += "0123456789abcdef";
    for (const std::string& cell : point.axes) text += "," + csv_field(cell);
    text += ",50";
    for (const double factor : {1.0, 0.1, 0.75, 1.25, 0.5, 1.0, 1.5}) {
      text += "," + scaled(point.mean, factor);
    }
    text += ",0.5,0.4,0.6\r\n";
  }
  return text;
}

/// A folder with one summary, and the figures drawn from it.
class Plotter {
 public:
  explicit Plotter(const std::string& csv, const std::string& folder = "optinc") : folder_(folder) {
    test::write_text(folder_ / "r.summary.csv", csv);
  }
  Plotter(const std::vector<std::string>& axes, const std::vector<Point>& points)
      : Plotter(summary_text(axes, points)) {}

  test::CliRun plot(std::vector<std::string> args = {}) {
    args.insert(args.begin(),
                {"plot", (folder_ / "r.summary.csv").string(), "--out",
                 (folder_ / "r.svg").string(), "--script", (folder_ / "r.gp").string()});
    return run(args);
  }

  std::string svg() const { return test::read_text(folder_ / "r.svg"); }
  std::string script() const { return test::read_text(folder_ / "r.gp"); }
  const test::TemporaryFolder& folder() const { return folder_; }

 private:
  test::TemporaryFolder folder_;
};

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) {
    ++found;
  }
  return found;
}

void require_gnuplot() { REQUIRE(!find_program("gnuplot").empty()); }

TEST_CASE("a curve with its band, exactly the numbers of the file") {
  require_gnuplot();
  Plotter plotter({phase}, {{{"0.01"}, "0.5"}, {{"0.001"}, "0.25"}});
  const test::CliRun result = plotter.plot();
  INFO(result.err);
  REQUIRE(result.code == 0);
  CHECK(result.out.empty());
  CHECK(result.err.empty());
  CHECK(contains(plotter.script(), "\n0.001 0.25 0.125 0.375 0\n0.01 0.5 0.25 0.75 0\nEOD\n"));
  CHECK(plotter.svg().rfind("<?xml", 0) == 0);
  CHECK(contains(plotter.svg(), "phase.fabrication_sigma_rad [rad]"));
  CHECK(contains(plotter.svg(), "element_error_rate"));
  CHECK(contains(plotter.svg(), "mean over 50 chips; band: 5 to 95 % of the chips"));
  CHECK(plotter.folder().files() == 3);

  const std::string first = plotter.svg();
  REQUIRE(plotter.plot().code == 0);
  CHECK(plotter.svg() == first);

  REQUIRE(plotter.plot({"--band", "ci"}).code == 0);
  CHECK(contains(plotter.script(), "\n0.001 0.25 0.1875 0.3125 0\n"));
  REQUIRE(plotter.plot({"--band", "none", "--title", "A & B"}).code == 0);
  CHECK(contains(plotter.script(), "\n0.001 0.25 0.25 0.25 0\n"));
  CHECK(contains(plotter.svg(), "A &amp; B"));
  REQUIRE(plotter.plot({"--y", "yield"}).code == 0);
  CHECK(contains(plotter.script(), "\n0.001 0.5 0.4 0.6 0\n"));
  CHECK(contains(plotter.svg(), "share of 50 chips; band: 95 % interval"));
}

TEST_CASE("size, scales and the PNG format") {
  require_gnuplot();
  Plotter plotter({phase}, {{{"0.01"}, "0.5"}, {{"0.001"}, "0.25"}});
  const std::string png = (plotter.folder() / "r.png").string();
  REQUIRE(run({"plot", (plotter.folder() / "r.summary.csv").string(), "--out", png}).code == 0);
  CHECK(test::read_text(png).rfind("\x89PNG\r\n", 0) == 0);

  REQUIRE(plotter.plot({"--width", "640", "--height", "333"}).code == 0);
  CHECK(contains(plotter.svg(), "width=\"640\" height=\"333\""));
  CHECK(!contains(plotter.script(), "\nset logscale x"));
  CHECK(contains(plotter.script(), "\nset logscale y"));
  REQUIRE(plotter.plot({"--x-scale", "log", "--y-scale", "linear"}).code == 0);
  CHECK(contains(plotter.script(), "\nset logscale x"));
  CHECK(!contains(plotter.script(), "\nset logscale y"));
}

TEST_CASE("a row file stands for the summary beside it") {
  require_gnuplot();
  Plotter plotter({phase}, {{{"0.01"}, "0.5"}, {{"0.001"}, "0.25"}});
  const std::string rows = (plotter.folder() / "r.csv").string();
  // Only the header is read: what follows may be as long, or as broken, as it likes.
  test::write_text(rows, "task_id,chip,seed,backend,precision,version," + phase +
                             ",element_error_rate\n\"broken\n");
  const std::string svg = (plotter.folder() / "r2.svg").string();
  REQUIRE(run({"plot", rows, "--out", svg}).code == 0);
  REQUIRE(plotter.plot().code == 0);
  CHECK(test::read_text(svg) == plotter.svg());

  std::filesystem::remove(plotter.folder() / "r.summary.csv");
  const test::CliRun missing = run({"plot", rows, "--out", svg});
  CHECK(missing.code == 3);
  CHECK(contains(missing.err, "r.summary.csv"));
}

const std::vector<Point> one_effect_at_a_time = {
    {{"a.h5", "0.001", "0"}, "0.1"}, {{"a.h5", "0.1", "0"}, "0.2"},
    {{"a.h5", "0", "0.002"}, "0.3"}, {{"a.h5", "0", "0.2"}, "0.4"},
    {{"b.h5", "0.001", "0"}, "0.5"}, {{"b.h5", "0", "0.002"}, "0.6"}};
const std::vector<std::string> three_axes = {"workload.trace", phase, coupler};

TEST_CASE("several effects: a panel each, a curve per workload") {
  require_gnuplot();
  Plotter plotter(three_axes, one_effect_at_a_time);
  const test::CliRun result = plotter.plot();
  INFO(result.err);
  REQUIRE(result.code == 0);
  CHECK(contains(plotter.script(), "layout 1,2"));
  CHECK(count(plotter.script(), "\nEOD\n") == 4);
  // Rows of the other effect would stand at x = 0.
  CHECK(contains(plotter.script(),
                 "$curve_0_0 << EOD\n0.001 0.1 0.05 0.15000000000000002 0\n0.1 0.2 0.1 "
                 "0.30000000000000004 0\nEOD\n"));
  CHECK(contains(plotter.script(), "$curve_1_1 << EOD\n0.002 0.6 0.3 0.8999999999999999 0\nEOD\n"));
  CHECK(!contains(plotter.script(), "\n0 0."));
  CHECK(result.err.empty());

  REQUIRE(plotter.plot({"--x", "coupler.sigma_rad", "--where", "workload.trace=a"}).code == 0);
  CHECK(contains(plotter.script(), "layout 1,1"));
  CHECK(count(plotter.script(), "\nEOD\n") == 1);
  CHECK(!contains(plotter.script(), "\n0 0."));

  REQUIRE(plotter.plot({"--x", coupler, "--x", phase, "--group", "workload.trace"}).code == 0);
  CHECK(contains(plotter.script(), "layout 1,2"));
  CHECK(contains(plotter.script(), "$curve_1_1 << EOD\n0.001 0.5"));
}

TEST_CASE("a grid: the axis left over gives one curve per value") {
  require_gnuplot();
  Plotter plotter({phase, coupler}, {{{"0", "0"}, "0.1"},
                                     {{"0.1", "0"}, "0.2"},
                                     {{"0", "0.01"}, "0.3"},
                                     {{"0.1", "0.01"}, "0.4"}});
  REQUIRE(plotter.plot({"--x", phase, "--x-scale", "linear"}).code == 0);
  CHECK(count(plotter.script(), "\nEOD\n") == 2);
  REQUIRE(plotter.plot({"--x", phase, "--where", "coupler.sigma_rad=0.0100"}).code == 0);
  CHECK(count(plotter.script(), "\nEOD\n") == 1);
  CHECK(contains(plotter.script(), "\n0 0.3 "));
}

TEST_CASE("several files: a curve each, named by the file") {
  require_gnuplot();
  Plotter plotter({phase}, {{{"0.01"}, "0.5"}, {{"0.001"}, "0.25"}});
  const std::string other = (plotter.folder() / "other run.summary.csv").string();
  test::write_text(other, summary_text({phase}, {{{"0.02"}, "0.125"}}));
  REQUIRE(plotter.plot({other}).code == 0);
  CHECK(count(plotter.script(), "\nEOD\n") == 2);
  CHECK(contains(plotter.svg(), ">other run<"));

  test::write_text(other, summary_text({coupler}, {{{"0.02"}, "0.125"}}));
  const test::CliRun different = plotter.plot({other});
  CHECK(different.code == 2);
  CHECK(contains(different.err, "different axes"));
}

TEST_CASE("what an axis cannot show is marked or said, never dropped in silence") {
  require_gnuplot();
  Plotter plotter({phase}, {{{"0"}, "0.5"}, {{"0.001"}, "0"}, {{"0.1"}, "0.25"}, {{"0.2"}, ""}});
  const test::CliRun result = plotter.plot();
  INFO(result.err);
  REQUIRE(result.code == 0);
  CHECK(contains(result.err, "1 points at phase.fabrication_sigma_rad [rad] <= 0"));
  CHECK(contains(result.err, "1 points against phase.fabrication_sigma_rad [rad] have no finite"));
  // The zero is a triangle, flag 1, above the lower edge of the axis at 0.01.
  CHECK(contains(plotter.script(), "set yrange [0.01:1]"));
  CHECK(contains(plotter.script(), "\n0.001 0.02 0.01 0.01 1\n"));
  CHECK(contains(plotter.svg(), "none observed"));
}

TEST_CASE("degenerate data still give a figure") {
  require_gnuplot();
  const auto draws = [](const std::vector<Point>& points, const std::vector<std::string>& args) {
    Plotter plotter({phase}, points);
    const test::CliRun result = plotter.plot(args);
    INFO(result.err);
    CHECK(result.code == 0);
    CHECK(contains(plotter.svg(), "</svg>"));
  };
  for (const std::vector<std::string>& args : {std::vector<std::string>{},
                                               {"--y-scale", "linear"},
                                               {"--x-scale", "linear"},
                                               {"--y", "yield"}}) {
    draws({{{"0.01"}, "0.5"}}, args);
    draws({{{"0.01"}, "0.5"}, {{"0.1"}, "0.5"}, {{"1"}, "0.5"}}, args);
    draws({{{"0.01"}, "0"}, {{"0.1"}, "0"}, {{"1"}, "0"}}, args);
    draws({{{"0.01"}, ""}, {{"0.1"}, "0.5"}}, args);
    draws({{{"1e-300"}, "1e-300"}, {{"3"}, "1"}}, args);
    draws({{{"0.01"}, "0.5"}, {{"0.01"}, "0.25"}}, args);
  }
  draws({{{"0"}, "0.5"}}, {});
  draws({{{"0"}, "0"}}, {});
}

TEST_CASE("nothing to draw is an error that says so") {
  const auto fails = [](const std::vector<Point>& points, const std::vector<std::string>& args) {
    Plotter plotter({phase, coupler}, points);
    const test::CliRun result = plotter.plot(args);
    INFO(result.err);
    CHECK(result.code == 3);
    CHECK(contains(result.err, "nothing to draw against"));
    CHECK(plotter.folder().files() == 1);
  };
  fails({}, {});
  fails({{{"0.01", "0"}, ""}, {{"0", "0.1"}, ""}}, {});
  fails({{{"0.01", "0.02"}, "0.5"}}, {});
  fails({{{"0", "0"}, "0.5"}}, {"--x-scale", "log"});
}

TEST_CASE("negative values cannot be forced onto a log axis") {
  require_gnuplot();
  Plotter plotter({phase}, {{{"0.01"}, "-0.5"}, {{"0.1"}, "0.5"}});
  CHECK(plotter.plot().code == 0);
  const test::CliRun forced = plotter.plot({"--y-scale", "log"});
  CHECK(forced.code == 2);
  CHECK(contains(forced.err, "negative"));
}

TEST_CASE("names are text, whatever stands in them") {
  require_gnuplot();
  const std::string odd =
      "it's a \"test\" `touch pwned` $(touch pwned) @x %d 10^{-3} \\n \u00fc\u2211 &<b>";
  const test::TemporaryFolder here;
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(here.path());
  {
    Plotter plotter(summary_text({"workload.trace", phase}, {{{odd, "0.001"}, "0.25"},
                                                             {{odd, "0.01"}, "0.5"},
                                                             {{"plain, with comma", "0.01"}, "1"},
                                                             {{"two\nlines", "0.01"}, "1"}}),
                    "o'p \"t\" `touch pwned` \u00fc|");
    const test::CliRun result = plotter.plot({"--title", odd});
    INFO(result.err);
    REQUIRE(result.code == 0);
    const std::string shown =
        "it's a \"test\" `touch pwned` $(touch pwned) @x %d 10^{-3} \\n \u00fc\u2211 "
        "&amp;&lt;b>";
    std::string svg = plotter.svg();
    for (const auto& [entity, character] :
         {std::pair{"&apos;", "'"}, std::pair{"&quot;", "\""}, std::pair{"&#39;", "'"},
          std::pair{"&#160;", " "}, std::pair{"&gt;", ">"}}) {
      for (std::size_t at = 0; (at = svg.find(entity)) != std::string::npos;) {
        svg.replace(at, std::string(entity).size(), character);
      }
    }
    CHECK(count(svg, shown) >= 2);
    CHECK(contains(svg, "plain, with comma"));
    CHECK(plotter.folder().files() == 3);

    test::write_text("r.csv", test::read_text(plotter.folder() / "r.summary.csv"));
    std::filesystem::create_directory("|touch pwned; cat");
    CHECK(run({"plot", "r.csv", "--out", "|touch pwned; cat/-r.png"}).code == 0);
    CHECK(test::read_text("|touch pwned; cat/-r.png").rfind("\x89PNG", 0) == 0);
    CHECK(run({"plot", "r.csv", "--out", "two\nlines.svg"}).code == 2);
  }
  CHECK(here.files() == 2);
  std::filesystem::current_path(before);
}

/// A summary per tensor, as `sweep --layers` writes it: no yield, and the elements of the tensor.
std::string layers_text(const std::vector<std::string>& axes, const std::vector<Point>& points) {
  std::string text = "task_id";
  for (const std::string& axis : axes) text += "," + axis;
  text += ",tensor,chips,elements";
  for (const char* suffix : {"mean", "std", "ci_lo", "ci_hi", "p05", "p50", "p95"}) {
    text += std::string(",element_error_rate_") + suffix;
  }
  text += "\r\n";
  for (const Point& point : points) {
    text += "0123456789abcdef";
    for (const std::string& cell : point.axes) text += "," + csv_field(cell);
    text += ",50,1234";
    for (const double factor : {1.0, 0.1, 0.75, 1.25, 0.5, 1.0, 1.5}) {
      text += "," + scaled(point.mean, factor);
    }
    text += "\r\n";
  }
  return text;
}

/// Texts of an SVG in the order of the file.
std::vector<std::string> texts_of(const std::string& svg) {
  const std::string open = "<text>";
  std::vector<std::string> texts;
  for (std::size_t at = 0; (at = svg.find(open, at)) != std::string::npos;) {
    at += open.size();
    std::string text = svg.substr(at, svg.find("</text>", at) - at);
    for (const auto& [entity, character] :
         {std::pair{"&lt;", "<"}, {"&gt;", ">"}, {"&amp;", "&"}}) {
      for (std::size_t i = 0; (i = text.find(entity)) != std::string::npos;) {
        text.replace(i, std::string(entity).size(), character);
      }
    }
    texts.push_back(text);
  }
  return texts;
}

std::vector<std::string> those_of(const std::vector<std::string>& texts,
                                  const std::vector<std::string>& wanted) {
  std::vector<std::string> found;
  for (const std::string& text : texts) {
    if (std::find(wanted.begin(), wanted.end(), text) != wanted.end()) found.push_back(text);
  }
  return found;
}

TEST_CASE("tensors along the x axis, in the order of the file, their names taken literally") {
  require_gnuplot();
  const std::vector<std::string> names = {
      "z_first.weight", "a{b}^2_c", "with space, comma", "\u00fc\u2211.bias",
      "it's \"q\" `x`", "100%d %%", "@x \\n <b> &amp",   "1e3",
      "a_last"};
  std::vector<Point> points;
  for (const std::string& name : names) points.push_back({{"0.01", name}, "0.25"});
  points[1].mean = "0.5";
  points[2].mean = "0";
  points[3].mean = "";
  Plotter plotter(layers_text({phase}, points));
  const test::CliRun result = plotter.plot({"--x", "tensor"});
  INFO(result.err);
  REQUIRE(result.code == 0);
  CHECK(contains(result.err, "1 points against tensor have no finite element_error_rate"));
  CHECK(those_of(texts_of(plotter.svg()), names) == names);
  CHECK(contains(plotter.script(),
                 "$curve_0_0 << EOD\n0 0.25 0.125 0.375 0\n1 0.5 0.25 0.75 0\n"
                 "2 0.02 0.01 0.01 1\n4 0.25 0.125 0.375 0\n"));
  CHECK(contains(plotter.script(), "set xrange [-0.5:8.5]"));
  CHECK(contains(plotter.script(), "set logscale y"));
  CHECK(contains(plotter.script(), ":3:4 with yerrorbars"));
  CHECK(!contains(plotter.script(), "filledcurves"));
  CHECK(contains(plotter.svg(), "none observed"));
  CHECK(contains(plotter.svg(), "rotate(-90"));
  CHECK(contains(plotter.svg(), "bars: 5 to 95 % of the chips"));

  test::write_text(plotter.folder() / "r.csv", "task_id,chip,tensor\r\n");
  const std::string svg = (plotter.folder() / "rows.svg").string();
  REQUIRE(
      run({"plot", (plotter.folder() / "r.csv").string(), "--x", "tensor", "--out", svg}).code ==
      0);
  CHECK(test::read_text(svg) == plotter.svg());
}

const std::vector<Point> two_tensors = {
    {{"a.h5", "0.1", "conv"}, "0.1"}, {{"a.h5", "0.1", "bn"}, "0.2"},
    {{"a.h5", "0.2", "conv"}, "0.3"}, {{"a.h5", "0.2", "bn"}, "0.4"},
    {{"b.h5", "0.1", "fc"}, "0.5"},   {{"b.h5", "0.1", "bn"}, "0.6"}};

TEST_CASE("a curve per combination of the axes besides the tensors, side by side") {
  require_gnuplot();
  Plotter plotter(layers_text({"workload.trace", phase}, two_tensors));
  REQUIRE(plotter.plot({"--x", "tensor", "--band", "none"}).code == 0);
  CHECK(count(plotter.script(), "\nEOD\n") == 3);
  CHECK(contains(plotter.script(), "set xtics ('conv' 0, 'bn' 1, 'fc' 2)"));
  CHECK(contains(plotter.script(), "$curve_0_2 << EOD\n1 0.6 0.6 0.6 0\n2 0.5 0.5 0.5 0\nEOD"));
  for (const std::string shift : {"($1+-0.2)", "($1+0)", "($1+0.2)"}) {
    CHECK(contains(plotter.script(), "using " + shift));
  }
  for (const std::string label : {">a, 0.1<", ">a, 0.2<", ">b, 0.1<"}) {
    CHECK(contains(plotter.svg(), label));
  }

  REQUIRE(plotter.plot({"--x", "tensor", "--where", "trace=a", "--group", phase}).code == 0);
  CHECK(count(plotter.script(), "\nEOD\n") == 2);
  CHECK(!contains(plotter.script(), "'fc'"));
  CHECK(contains(plotter.svg(), ">0.2<"));

  REQUIRE(plotter.plot({"--x", "tensor", "--where", "tensor=bn"}).code == 0);
  CHECK(contains(plotter.script(), "set xtics ('bn' 0)"));
  REQUIRE(plotter.plot({"--x", "tensor", "--y-scale", "linear"}).code == 0);
  CHECK(!contains(plotter.script(), "set logscale y"));
}

TEST_CASE("a tensor as group or filter") {
  require_gnuplot();
  Plotter plotter(layers_text({"workload.trace", phase}, two_tensors));
  REQUIRE(plotter.plot({"--where", "trace=a", "--group", "tensor", "--band", "none"}).code == 0);
  CHECK(
      contains(plotter.script(), "$curve_0_0 << EOD\n0.1 0.1 0.1 0.1 0\n0.2 0.3 0.3 0.3 0\nEOD\n"));
  CHECK(contains(plotter.svg(), ">conv<"));
  CHECK(contains(plotter.svg(), ">bn<"));
  CHECK(contains(plotter.script(), "filledcurves"));

  REQUIRE(plotter.plot({"--where", "tensor=bn", "--band", "none"}).code == 0);
  CHECK(count(plotter.script(), "\nEOD\n") == 2);
  CHECK(
      contains(plotter.script(), "$curve_0_0 << EOD\n0.1 0.2 0.2 0.2 0\n0.2 0.4 0.4 0.4 0\nEOD\n"));
  const test::CliRun unknown = plotter.plot({"--where", "tensor=b"});
  CHECK(unknown.code == 2);
  CHECK(contains(unknown.err, "there are: bn, conv, fc"));
}

TEST_CASE("of many tensors every k-th is labelled, and names too long lose their beginning") {
  require_gnuplot();
  std::vector<Point> points;
  for (int i = 0; i < 100; ++i) points.push_back({{"t" + std::to_string(i)}, "0.5"});
  points[0].axes[0] = std::string(300, 'x') + "\u00fc_end";
  Plotter plotter(layers_text({}, points));
  REQUIRE(plotter.plot({"--x", "tensor"}).code == 0);
  const std::string script = plotter.script();
  CHECK(contains(script, "_end' 0, 't3' 3, 't6' 6,"));
  CHECK(contains(script, "('\u2026xx"));
  CHECK(!contains(script, std::string(100, 'x')));
  CHECK(contains(script, "set xrange [-0.5:99.5]"));
  CHECK(contains(plotter.svg(), "width=\"1000\" height=\"980\""));
  REQUIRE(plotter.plot({"--x", "tensor", "--width", "2500", "--height", "400"}).code == 0);
  CHECK(contains(plotter.script(), "_end' 0, 't1' 1, 't2' 2,"));
  CHECK(contains(plotter.svg(), "width=\"2500\" height=\"400\""));
}

TEST_CASE("what tensors do not go with") {
  const auto fails = [](const std::string& csv, const std::vector<std::string>& args,
                        const std::string& part) {
    Plotter plotter(csv);
    const test::CliRun result = plotter.plot(args);
    INFO(result.err);
    CHECK(result.code == 2);
    CHECK(contains(result.err, part));
    CHECK(plotter.folder().files() == 1);
  };
  const std::string without = summary_text({phase}, {{{"0.01"}, "0.5"}});
  fails(without, {"--x", "tensor"}, "r.summary.csv: has no column tensor");
  fails(without, {"--group", "tensor"}, "has no column tensor");
  fails(without, {"--where", "tensor=bn"}, "has no column tensor");
  const std::string with = layers_text({"workload.trace", phase}, two_tensors);
  fails(with, {"--x", "tensor", "--x", phase}, "does not go with another --x");
  fails(with, {"--x", "tensor", "--x-scale", "log"}, "--x-scale log does not go");
  fails(with, {"--x", "tensor", "--y", "yield"}, "no column 'yield'");
}

TEST_CASE("a missing or failing gnuplot leaves the old figure alone") {
  Plotter plotter({phase}, {{{"0.01"}, "0.5"}, {{"0.001"}, "0.25"}});
  test::write_text(plotter.folder() / "r.svg", "old");
  const test::TemporaryFolder programs;
  const test::ScopedEnvironment path("PATH", programs.path().string());

  const test::CliRun missing = plotter.plot();
  CHECK(missing.code == 4);
  CHECK(contains(missing.err, "gnuplot-nox"));
  CHECK(plotter.svg() == "old");

  const std::string gnuplot = (programs / "gnuplot").string();
  test::write_text(gnuplot, "#!/bin/sh\necho boom >&2\nexit 3\n");
  REQUIRE(chmod(gnuplot.c_str(), 0755) == 0);
  const test::CliRun failing = plotter.plot();
  CHECK(failing.code == 4);
  CHECK(contains(failing.err, "status 3"));
  CHECK(contains(failing.err, "boom"));
  CHECK(plotter.svg() == "old");

  test::write_text(gnuplot, "#!/bin/sh\nexit 0\n");
  CHECK(plotter.plot().code == 4);
  test::write_text(gnuplot, "#!/bin/sh\nkill -9 $$\n");
  CHECK(contains(plotter.plot().err, "status 137"));
  CHECK(plotter.folder().files() == 3);
}

TEST_CASE("output that cannot be written") {
  Plotter plotter({phase}, {{{"0.01"}, "0.5"}});
  const std::string input = (plotter.folder() / "r.summary.csv").string();
  CHECK(run({"plot", input, "--out", "/nonexistent/r.svg"}).code == 3);
  CHECK(run({"plot", input, "--out", plotter.folder().path().string() + "/r.pdf"}).code == 2);
  CHECK(run({"plot", input, "--out", (plotter.folder() / "r").string()}).code == 2);
}

TEST_CASE("columns that are not there") {
  Plotter plotter(three_axes, one_effect_at_a_time);
  const auto fails = [&](const std::vector<std::string>& args, const std::string& part) {
    const test::CliRun result = plotter.plot(args);
    INFO(result.err);
    CHECK(result.code == 2);
    CHECK(contains(result.err, part));
  };
  fails({"--x", "coupler.sigma"}, "'" + coupler + "'");
  fails({"--y", "element_eror_rate"}, "'element_error_rate'");
  fails({"--y", "nmse"}, "no column 'nmse_mean'");
  fails({"--group", "workload.trac"}, "'workload.trace'");
  fails({"--x", "workload.trace"}, "holds names, not numbers");
  fails({"--where", "workload.trace"}, "PATH=VALUE");
  fails({"--where", "trace=c"}, "there are: a, b");
  fails({"--where", "workload.bits=8"}, "no column 'workload.bits'");

  CHECK(resolve_name("sigma_rad", {"a.sigma_rad", "sigma_rad"}) == "sigma_rad");
  CHECK(resolve_name("sigma_rad", {"a.sigma_rad", "x.other"}) == "a.sigma_rad");
  CHECK_THROWS_AS(resolve_name("sigma_rad", {"a.sigma_rad", "b.sigma_rad"}), ConfigError);
  CHECK_THROWS_AS(resolve_name("ma_rad", {"a.sigma_rad"}), ConfigError);
}

TEST_CASE("files that cannot be read or are no summaries") {
  const auto fails = [](const std::string& csv, const std::string& part) {
    Plotter plotter(csv);
    const test::CliRun result = plotter.plot();
    INFO(result.err);
    CHECK(result.code == 3);
    CHECK(contains(result.err, part));
    CHECK(plotter.folder().files() == 1);
  };
  const std::string good = summary_text({phase}, {{{"0.01"}, "0.5"}, {{"0.1"}, "0.5"}});
  fails("", "not a result");
  fails("a,b\n1,2\n", "not a result");
  fails(std::string("\0\x01\xff", 3), "not a result");
  fails("yield_ci_lo\n1\n", "not a summary");
  fails(good.substr(0, good.size() - 12), ":3: 11 fields (the header has 13)");
  fails(good + "\"open,0.1\r\n", ":4: malformed");
  fails(good + "a\"b\r\n", ":4: malformed");
  fails(good + "\r\n", ":4: 1 fields");
  fails(summary_text({phase}, {{{"0.01"}, "0.5"}, {{"abc"}, "0.5"}}), ":3: column '" + phase + "'");

  const test::TemporaryFolder folder;
  CHECK(run({"plot", (folder / "none.csv").string(), "--out", "r.svg"}).code == 3);
  CHECK(run({"plot", folder.path().string(), "--out", "r.svg"}).code == 3);
}

}  // namespace
}  // namespace optinc
