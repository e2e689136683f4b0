// SPDX-License-Identifier: Apache-2.0
// Results that were changed since they were written, or belong to something else.
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "tests/apps/bad_input.hpp"
#include "tests/solver/montecarlo/sweep_fixture.hpp"

namespace optinc::test {

namespace {

namespace fs = std::filesystem;

/// Lines with their line breaks.
using Lines = std::vector<std::string>;

Lines lines_of_file(const std::string& file) { return lines_of(read_text(file)); }

/// A finished r.csv whose lines were changed.
std::function<void()> rows_with(const std::function<void(Lines&)>& change) {
  return [change] {
    make_result("r.csv");
    Lines lines = lines_of_file("r.csv");
    change(lines);
    std::string text;
    for (const std::string& line : lines) text += line;
    write_text("r.csv", text);
  };
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

/// A finished result one of whose files was changed.
std::function<void()> file_with(const std::string& name, const std::string& from,
                                const std::string& to) {
  return [=] {
    make_result("r.csv");
    write_text(name, replaced(read_text(name), from, to));
  };
}

/// A finished result one of whose files holds something else.
std::function<void()> file_is(const std::string& name, const std::string& text) {
  return [=] {
    make_result("r.csv");
    write_text(name, text);
  };
}

void without_manifest() {
  finished();
  fs::remove("r.manifest.json");
}

void two_versions_of_a_row() {
  finished();
  make_result("q.csv");
  Lines lines = lines_of_file("q.csv");
  lines[2] = lines[2].substr(0, lines[2].rfind(',')) + ",123\n";
  std::string text;
  for (const std::string& line : lines) text += line;
  write_text("q.csv", text);
}

/// The trace that c.toml names holds other gradients than when r.csv was written.
void other_trace() {
  finished();
  REQUIRE(
      run(words("trace make --kind gaussian --servers 2 --elements 40 --seed 9 --out t.h5")).code ==
      0);
}

}  // namespace

std::vector<BadInput> bad_results() {
  const std::vector<std::string> sweep = words("sweep c.toml --out r.csv");
  const std::vector<std::string> combine = words("combine r.csv q.csv --out z.csv");
  const std::vector<std::string> combine_one = words("combine r.csv --out z.csv");
  const std::vector<std::string> plot = words("plot r.csv --out f.svg");
  return {
      {"rows: reordered",
       sweep,
       3,
       {"r.csv:2: the row of task", "chip 0 is expected", "--fresh"},
       rows_with([](Lines& lines) { std::swap(lines[1], lines[2]); })},
      {"rows: one twice",
       sweep,
       3,
       {"r.csv:3: the row of task", "chip 1 is expected"},
       rows_with([](Lines& lines) { lines.insert(lines.begin() + 1, lines[1]); })},
      {"rows: one missing",
       sweep,
       3,
       {"r.csv:2: the row of task", "chip 0 is expected"},
       rows_with([](Lines& lines) { lines.erase(lines.begin() + 1); })},
      {"rows: too many",
       sweep,
       3,
       {"r.csv:6: more rows than this sweep has", "restore the file"},
       rows_with([](Lines& lines) { lines.push_back(lines.back()); })},
      {"rows: a flipped bit", sweep, 3, {"r.csv:3: the row of task"}, rows_with([](Lines& lines) {
         lines[2][3] = lines[2][3] == 'a' ? 'c' : 'a';
       })},
      {"rows: a metric is no number",
       sweep,
       3,
       {"r.csv:2: a metric is not a number"},
       rows_with([](Lines& lines) { lines[1].insert(lines[1].size() - 1, "x"); })},
      {"rows: a field too many",
       sweep,
       3,
       {"r.csv:5: wrong number of fields"},
       rows_with([](Lines& lines) { lines[4].insert(lines[4].size() - 1, ",5"); })},
      {"rows: a stray quote",
       sweep,
       3,
       {"r.csv:2: a quote is not closed", "restore the file"},
       rows_with([](Lines& lines) { lines[1].insert(lines[1].find(",0.01,") + 1, "\""); })},
      {"rows: other columns",
       sweep,
       3,
       {"r.csv:1: other columns", "--fresh"},
       file_with("r.csv", "nmse", "nsme")},
      {"rows: line breaks of another system",
       sweep,
       3,
       {"r.csv:1: other columns", "--fresh"},
       rows_with([](Lines& lines) {
         for (std::string& line : lines) line.insert(line.size() - 1, "\r");
       })},
      {"rows: notes of the user",
       sweep,
       3,
       {"r.csv is not a result of this sweep", "--fresh"},
       file_is("r.csv", "my notes")},
      {"rows: notes of the user without a manifest",
       sweep,
       3,
       {"r.manifest.json is missing"},
       text_file("r.csv", "my notes\n")},
      {"rows: other settings",
       words("sweep c.toml --out r.csv --set workload.block=7"),
       3,
       {"r.csv was made with other settings", "workload.block (1024 there, 7 here)", "--fresh"},
       finished},
      {"rows: another chip count",
       words("sweep c.toml --out r.csv --chips 3"),
       3,
       {"r.csv holds 4 rows", "made for 2 chips", "with 3", "--fresh"},
       finished},
      {"rows: another trace of the same name",
       sweep,
       3,
       {"r.csv was made with other settings", "workload.trace", "--fresh"},
       other_trace},
      {"manifest: missing", sweep, 3, {"r.manifest.json is missing", "--fresh"}, without_manifest},
      {"manifest: empty",
       sweep,
       3,
       {"r.manifest.json is damaged", "line 1, column 1", "--fresh"},
       file_is("r.manifest.json", "")},
      {"manifest: garbage",
       sweep,
       3,
       {"r.manifest.json is damaged", "invalid literal", "--fresh"},
       file_is("r.manifest.json", "garbage")},
      {"manifest: a list",
       sweep,
       3,
       {"r.manifest.json is damaged", "another type", "--fresh"},
       file_is("r.manifest.json", "[]")},
      {"manifest: settings missing",
       sweep,
       3,
       {"r.manifest.json is damaged", "'settings'"},
       file_with("r.manifest.json", "\"settings\"", "\"sittings\"")},
      {"manifest: another format",
       sweep,
       3,
       {"r.manifest.json is damaged", "not a sweep manifest"},
       file_with("r.manifest.json", "optinc-", "other-")},
      {"manifest: edited seed",
       sweep,
       3,
       {"montecarlo.seed (2 there, 1 here)", "--fresh"},
       file_with("r.manifest.json", "\"montecarlo.seed\": 1", "\"montecarlo.seed\": 2")},
      {"manifest: edited task",
       sweep,
       3,
       {"r.manifest.json is damaged", "its points are not those"},
       file_with("r.manifest.json", "\"task_id\": \"", "\"task_id\": \"0")},
      {"combine: different sweeps",
       combine,
       3,
       {"q.csv is not of the same sweep as r.csv", "montecarlo.seed (1 there, 2 here)"},
       two_sweeps},
      {"combine: rows that differ",
       combine,
       3,
       {"r.csv:3 and q.csv:3", "chip 1", "'123'", "compute one of the files again"},
       two_versions_of_a_row},
      {"combine: no such file",
       words("combine none.csv --out z.csv"),
       3,
       {"none.csv: cannot be read"}},
      {"combine: a folder", words("combine . --out z.csv"), 3, {".: cannot be read"}},
      {"combine: no row file",
       words("combine c.toml --out z.csv"),
       3,
       {"c.toml: is not a row file", "give the file that --out named"}},
      {"combine: a summary",
       words("combine r.summary.csv --out z.csv"),
       3,
       {"r.summary.csv: is not a row file", "not its summary"},
       finished},
      {"combine: manifest missing",
       combine_one,
       3,
       {"r.manifest.json is missing", "keep it beside"},
       without_manifest},
      {"combine: manifest garbage",
       combine_one,
       3,
       {"r.manifest.json is damaged", "keep it beside"},
       file_is("r.manifest.json", "{")},
      {"combine: a foreign file as --out",
       words("combine r.csv --out q.csv"),
       3,
       {"q.csv: is not a row file"},
       [] {
         finished();
         write_text("q.csv", "my notes\n");
       }},
      {"plot: no such file", words("plot none.csv --out f.svg"), 3, {"none.csv: cannot be read"}},
      {"plot: empty file",
       words("plot p.csv --out f.svg"),
       3,
       {"p.csv: is not a result"},
       text_file("p.csv", "")},
      {"plot: garbage", words("plot t.h5 --out f.svg"), 3, {"t.h5: is not a result"}},
      {"plot: summary missing",
       plot,
       3,
       {"r.summary.csv: cannot be read"},
       [] {
         finished();
         fs::remove("r.summary.csv");
       }},
      {"plot: no rows",
       plot,
       3,
       {"nothing to draw", "check --y"},
       [] {
         finished();
         write_text("r.summary.csv", lines_of_file("r.summary.csv")[0]);
       }},
      {"plot: a short row",
       plot,
       3,
       {"r.summary.csv:4: 2 fields", "write the file anew"},
       [] {
         finished();
         write_text("r.summary.csv", read_text("r.summary.csv") + "a,b\n");
       }},
      {"plot: a number is no number",
       plot,
       3,
       {"r.summary.csv:2: column 'chips' holds 'x'"},
       file_with("r.summary.csv", ",2,", ",x,")},
      {"plot: unknown metric",
       words("plot r.csv --out f.svg --y nsme"),
       2,
       {"no column 'nsme' (did you mean 'nmse'?)"},
       finished},
      {"plot: unknown axis",
       words("plot r.csv --out f.svg --x bits"),
       2,
       {"no column 'bits'"},
       finished},
      {"plot: no such value",
       words("plot r.csv --out f.svg --where coupler.sigma_rad=7 --y nmse"),
       2,
       {"r.summary.csv: has no numeric axis", "give --x"},
       finished}};
}

}  // namespace optinc::test
