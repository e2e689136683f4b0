// SPDX-License-Identifier: Apache-2.0
// Bad input in configurations and on the command line.
#include <memory>
#include <string>
#include <vector>

#include "tests/apps/bad_input.hpp"

namespace optinc::test {

namespace {

const char* const workload = "[workload]\ntrace = \"t.h5\"\nbits = 4\n";
const char* const axis = "[[axis]]\npath = \"imperfections.coupler.sigma_rad\"\n";

/// A case of a configuration b.toml: the text behind the workload's three lines.
BadInput after_workload(const std::string& kind, const std::string& text,
                        const std::vector<std::string>& parts, int code = 2) {
  return {"config: " + kind, words("sweep b.toml --out r.csv"), code, parts,
          text_file("b.toml", workload + text)};
}

/// A case of a configuration b.toml as a whole.
BadInput whole(const std::string& kind, const std::string& text,
               const std::vector<std::string>& parts, int code = 2) {
  return {"config: " + kind, words("sweep b.toml --out r.csv"), code, parts,
          text_file("b.toml", text)};
}

/// A case of an axis over the splitter error, its table being line 4 of b.toml.
BadInput in_axis(const std::string& kind, const std::string& text,
                 const std::vector<std::string>& parts) {
  return after_workload("axis: " + kind, axis + text, parts);
}

/// A case of options behind a good sweep command.
BadInput sweep_option(const std::string& options, const std::vector<std::string>& parts,
                      int code = 2) {
  return {"option: " + options, words("sweep c.toml --out r.csv " + options), code, parts};
}

/// A case of a command line.
BadInput command(const std::string& line, const std::vector<std::string>& parts, int code = 2) {
  return {"command: " + line, words(line), code, parts};
}

BadInput in_environment(const char* variable, const std::string& value,
                        const std::vector<std::string>& parts, int code) {
  BadInput bad{std::string("environment: ") + variable + "=" + value,
               words("sweep c.toml --out r.csv"), code, parts};
  bad.hold = [=] { return std::make_shared<ScopedEnvironment>(variable, value); };
  return bad;
}

std::string three_long_axes() {
  std::string text;
  for (const char* key : {"coupler.sigma_rad", "coupler.mean_rad", "phase.fabrication_sigma_rad"}) {
    text +=
        std::string("[[axis]]\npath = \"imperfections.") + key + "\"\nlinspace = [0, 0.1, 1000]\n";
  }
  return text;
}

}  // namespace

std::vector<BadInput> bad_configurations() {
  return {
      {"config: no such file",
       words("sweep none.toml --out r.csv"),
       3,
       {"none.toml: cannot be read"}},
      {"config: a folder", words("sweep . --out r.csv"), 3, {".: cannot be read", "a folder"}},
      {"config: binary file", words("sweep t.h5 --out r.csv"), 2, {"t.h5:1:1: ", "utf-8"}},
      whole("empty", "", {"workload.trace must be given"}),
      whole("section misspelt", "[worklod]\nbits = 4\n",
            {"b.toml:2:1: unknown key 'worklod.bits'", "did you mean 'workload.bits'"}),
      whole("section is a number", "workload = 3\n", {"b.toml:1:1: unknown key 'workload'"}),
      whole("bits as text", "[workload]\nbits = \"4\"\n",
            {"b.toml:2:1: workload.bits must be an integer"}),
      whole("bits with a point", "[workload]\nbits = 4.0\n", {"b.toml:2:1: workload.bits must be"}),
      whole("bits in a list", "[workload]\nbits = [4]\n", {"b.toml:2:1: workload.bits must be"}),
      whole("odd bits", "[workload]\ntrace = \"t.h5\"\nbits = 5\n",
            {"workload.bits = 5 is odd", "PAM4", "give an even number"}),
      whole("too many bits", "[workload]\nbits = 18\n",
            {"b.toml:2:1: workload.bits = 18 (must lie in 4 .. 16)"}),
      whole("trace is a number", "[workload]\ntrace = 4\n",
            {"b.toml:2:1: workload.trace must be a string"}),
      whole("trace is empty", "[workload]\ntrace = \"\"\n",
            {"b.toml:2:1: workload.trace is empty"}),
      whole("trace is nowhere", "[workload]\ntrace = \"none.h5\"\n",
            {"none.h5: no such file", "relative to the configuration"}, 3),
      whole("trace is a folder", "[workload]\ntrace = \".\"\n", {"Is a directory"}, 3),
      whole("65 servers", "[workload]\nkind = \"gaussian\"\nservers = 65\n",
            {"b.toml:3:1: workload.servers = 65 (must lie in 2 .. 64)"}),
      whole("0 servers", "[workload]\nkind = \"gaussian\"\nservers = 0\n",
            {"b.toml:3:1: workload.servers = 0 (must lie in 2 .. 64)"}),
      whole("zero elements", "[workload]\nkind = \"gaussian\"\nelements = 0\n",
            {"b.toml:3:1: workload.elements = 0 (must lie in 1 .. "}),
      whole("no ripple network for 3 servers", "[workload]\nkind = \"gaussian\"\nservers = 3\n",
            {"no ripple network for 3 servers", "use the pipeline form"}),
      after_workload("key misspelt", "[imperfections]\ncoupler.sigma_rd = 0.1\n",
                     {"b.toml:5:9: unknown key 'imperfections.coupler.sigma_rd'",
                      "did you mean 'imperfections.coupler.sigma_rad'"}),
      after_workload("bracket not closed", "[imperfections\n", {"b.toml:4:15: ", "expected ']'"}),
      after_workload("quote not closed", "kind = \"trace\n", {"b.toml:4:14: ", "string"}),
      after_workload("two values", "block = 3 4\n", {"b.toml:4:11: ", "saw '4'"}),
      after_workload("comma decimals", "[imperfections]\ncoupler.sigma_rad = 0,1\n",
                     {"b.toml:5:22: ", "saw ','"}),
      after_workload("key given twice", "bits = 6\n", {"b.toml:4:8: ", "redefine", "'bits'"}),
      after_workload("section given twice", "[workload]\nblock = 3\n",
                     {"b.toml:4:1: ", "redefine existing table 'workload'"}),
      after_workload("no UTF-8", "# \xff\n", {"b.toml:4:", "utf-8"}),
      after_workload("a zero byte", std::string(1, '\0'), {"b.toml:4:1: "}),
      after_workload("nested too deeply", "x = " + std::string(5000, '[') + "\n",
                     {"b.toml:4:", "256"}),
      after_workload("line break in a value", "[network]\nmesh = \"re\\nck\"\n",
                     {"b.toml:5:1: network.mesh = \"re ck\"", "known: clements, reck"}),
      after_workload("NaN", "[imperfections]\ncoupler.sigma_rad = nan\n",
                     {"b.toml:5:9: imperfections.coupler.sigma_rad = nan (must be finite)"}),
      after_workload("infinity", "[imperfections]\ncoupler.sigma_rad = inf\n",
                     {"b.toml:5:9: imperfections.coupler.sigma_rad = inf (must be finite)"}),
      after_workload("negative sigma", "[imperfections]\ncoupler.sigma_rad = -0.1\n",
                     {"b.toml:5:9: imperfections.coupler.sigma_rad = -0.1 (must lie in 0 .. "}),
      after_workload("number too large for 64 bits", "block = 99999999999999999999\n",
                     {"b.toml:4:", "'99999999999999999999'"}),
      after_workload("number that no double holds", "block = 9007199254740993\n",
                     {"b.toml:4:1: workload.block = 9007199254740993 (must lie in 1 .. "}),
      after_workload("no chips", "[montecarlo]\nchips = 0\n",
                     {"b.toml:5:1: montecarlo.chips = 0 (must lie in 1 .. "}),
      after_workload("unknown choice", "[network]\nmesh = \"clement\"\n",
                     {"b.toml:5:1: network.mesh = \"clement\" (known: clements, reck)"}),
      after_workload("unknown preset", "[imperfections]\npreset = \"idael\"\n",
                     {"b.toml:5:1: imperfections.preset = \"idael\" (known: ideal, lab_best, "
                      "foundry_typical, foundry_worst, sin)"}),
      after_workload("key not built yet", "[network]\nclip = 3.0\n",
                     {"b.toml:5:1: network.clip", "not built yet", "leave it out"}),
      after_workload("receiver noise without a bandwidth",
                     "[imperfections]\nlaser.power_dbm = 3\nreceiver.responsivity_a_w = 0.8\n",
                     {"imperfections.receiver.responsivity_a_w is given but "
                      "imperfections.receiver.bandwidth_ghz is not",
                      "give it too"}),
      after_workload(
          "amplifier noise alone", "[imperfections]\nreceiver.thermal_pa_rthz = 16.9\n",
          {"imperfections.receiver.thermal_pa_rthz is given but", "is not", "give it too"}),
      after_workload("more servers than the trace has", "servers = 5\n",
                     {"5 servers of t.h5", "(it has 2)", "give 2"}),
      after_workload("trace beside a distribution", "kind = \"laplace\"\n",
                     {"workload.trace is given but workload.kind is \"laplace\"", "leave it out"}),
      after_workload("network file and bits", "[network]\nfile = \"n.h5\"\n",
                     {"workload.bits is given together with network.file", "leave one out"}),
      after_workload("segment of the network's own mapping",
                     "[network]\nmapping = \"as_trained\"\nsegment = 2\n",
                     {"network.segment is given but network.mapping", "leave it out"}),
      after_workload("axis is a number", "axis = 3\n", {"unknown key 'workload.axis'"}),
      after_workload("axis as a plain table", "[axis]\npath = \"x\"\n",
                     {"b.toml:4:1: axes are written as [[axis]] tables"}),
      after_workload("axis without path", "[[axis]]\nvalues = [1]\n", {"b.toml:4:1: axis path"}),
      after_workload("axis over an unknown key",
                     "[[axis]]\npath = \"workload.bit\"\nvalues = [4]\n",
                     {"b.toml:4:1: unknown key 'workload.bit'", "'workload.bits'"}),
      after_workload("axis over the run", "[[axis]]\npath = \"montecarlo.chips\"\nvalues = [1]\n",
                     {"b.toml:4:1: montecarlo.chips cannot be an axis"}),
      after_workload("axis of broken numbers for an integer",
                     "[[axis]]\npath = \"workload.block\"\nlinspace = [1, 2, 3]\n",
                     {"b.toml:4:1: workload.block takes whole numbers, the axis gives 1.5"}),
      after_workload("axis of huge numbers for an integer",
                     "[[axis]]\npath = \"workload.block\"\nlinspace = [1, 1e30, 2]\n",
                     {"b.toml:4:1: workload.block = 1e+30 (must lie in 1 .. "}),
      after_workload("too many points", three_long_axes(),
                     {"b.toml: 1e+09 sweep points (limit 10000000)"}),
      in_axis("empty", "values = []\n",
              {"b.toml:4:1: axis over imperfections.coupler", "is empty"}),
      in_axis("no values", "", {"b.toml:4:1: ", "exactly one of values, linspace, logspace"}),
      in_axis("two kinds of values", "values = [0.1]\nlinspace = [0, 0.1, 3]\n",
              {"b.toml:4:1: ", "exactly one of values, linspace, logspace"}),
      in_axis("key misspelt", "vales = [0.1]\n",
              {"b.toml:6:1: unknown axis key 'vales' (did you mean 'values'?)"}),
      in_axis("value of another type", "values = [0.1, \"x\"]\n", {"b.toml:6:16: ", "a number"}),
      in_axis("value out of range", "values = [0.1, 7]\n", {"b.toml:6:16: ", "= 7 (must lie in"}),
      in_axis("NaN", "values = [nan]\n", {"b.toml:6:11: ", "= nan (must be finite)"}),
      in_axis("linspace without count", "linspace = [0, 0.1]\n",
              {"b.toml:6:12: linspace must be [first value, last value, count]"}),
      in_axis("linspace of none", "linspace = [0, 0.1, 0]\n", {"b.toml:6:12: linspace count = 0"}),
      in_axis("logspace from 0", "logspace = [0, 0.1, 3]\n", {"b.toml:6:12: logspace needs pos"}),
      in_axis("given twice", std::string("values = [0.1]\n") + axis + "values = [0.2]\n",
              {"b.toml:7:1: second axis over imperfections.coupler.sigma_rad"}),
      in_axis("fixed too", "values = [0.1]\n[imperfections]\ncoupler.sigma_rad = 0.1\n",
              {"b.toml: imperfections.coupler.sigma_rad is both a fixed key and an axis"}),
      in_axis("equal points", "values = [0.1, 0.2, 0.1]\n",
              {"sweep points 1 and 3 are the same", "remove the repeated axis value"}),
      in_axis("unequal zip",
              "values = [0.1, 0.2]\nzip = \"z\"\n[[axis]]\nzip = \"z\"\nvalues = [0.1]\n"
              "path = \"imperfections.coupler.mean_rad\"\n",
              {"b.toml:8:1: axis over imperfections.coupler.mean_rad has 1 values", "have 2"}),
      {"config: equal points in a dry run",
       words("sweep b.toml --dry-run"),
       2,
       {"sweep points 1 and 2 are the same"},
       text_file("b.toml", std::string(workload) + axis + "values = [0.1, 0.1]\n")}};
}

std::vector<BadInput> bad_options() {
  std::vector<BadInput> table = {
      command("swep c.toml", {"unknown command 'swep'", "'sweep'", "optinc help"}),
      command("mesh", {"'mesh' needs a subcommand", "optinc help mesh"}),
      command("mesh compos m.json", {"unknown command 'mesh compos'", "'mesh compose'"}),
      command("onn show", {"command 'onn show'", "not built yet"}),
      command("cost surplus", {"not expected: surplus"}),
      command("cost --widths 4", {"one width makes no layer", "outputs of every layer"}),
      command("cost --widths 4,0,4", {"--widths: '0'", "whole number from 1 to 4096"}),
      command("cost --widths 4,,4", {"--widths: ''", "whole number"}),
      command("cost --widths 4,8.5,4", {"--widths: '8.5'", "whole number"}),
      command("cost --widths 4,8,1", {"bits = 2", "4 to 16"}),
      command("cost --widths 4,8,4 --bits 6", {"--bits 6", "4 outputs", "leave --bits out"}),
      command("cost --widths 4,8,4 --network n.h5", {"--widths excludes --network"}),
      command("cost --network n.h5 --analytic ripple", {"--network excludes --analytic"}),
      command("cost --network n.h5 --servers 4", {"--servers 4", "n.h5 is for 2", "leave it out"}),
      command("cost --network n.h5 --bits 8", {"--bits 8", "n.h5 is for 4", "leave it out"}),
      command("cost --network none.h5", {"none.h5", "no such file", "check the path"}, 3),
      command("cost --network n.h5 --out n.h5", {"--out n.h5", "another name"}),
      command("cost --analytic ripple --servers 8", {"no ripple network for 8 servers"}),
      command("cost --analytic pipeline --bits 5", {"bits"}),
      command("cost --servers 1", {"--servers: '1'", "2 to 64"}),
      command("cost --mapping svd,polar", {"--mapping: 'polar'", "svd|segmented|real_part"}),
      command("cost --mapping svd --segment 8", {"--segment goes with", "leave it out"}),
      command("cost --segment 0", {"--segment: '0'", "whole number from 1"}),
      command("cost --segmented-layers 5-4", {"--segmented-layers 5-4", "<= LAST <= 6"}),
      command("cost --segmented-layers 4-7", {"--segmented-layers 4-7", "<= LAST <= 6"}),
      command("cost --segmented-layers x", {"--segmented-layers x", "FIRST-LAST"}),
      command("cost --cascade-layers 64,none", {"--cascade-layers: 'none'", "none alone"}),
      command("cost --traffic-servers 1", {"--traffic-servers: '1'", "from 2"}),
      command("cost --workload bert", {"--workload: 'bert'", "resnet50|"}),
      command("cost --batch 0", {"--batch: '0'", "from 1"}),
      command("cost --step-bits 8,65", {"--step-bits: '65'", "1 to 64"}),
      command("cost --reduction 1.5", {"--reduction: '1.5'", "0.9999"}),
      command("cost --reduction nan", {"--reduction: 'nan'", "number"}),
      command("cost --table area", {"--table: 'area'", "structure|layers"}),
      command("cost --csv", {"--csv prints one table", "--table"}),
      command("cost --csv --table step,link", {"--csv prints one table"}),
      command("cost --csv --json --table step", {"--csv excludes --json"}),
      command("cost --set loss.mzi_db", {"--set loss.mzi_db: must have the form path=value"}),
      command("cost --set loss.mzi=1", {"unknown key 'loss.mzi'", "'loss.mzi_db'"}),
      command("cost --set loss.mzi_db=-1", {"loss.mzi_db = -1", "must lie in 0"}),
      command("cost --hardware none.toml", {"none.toml: cannot be read"}, 3),
      command("cost --hardware c.toml", {"c.toml:6:3", "unknown key 'axis'"}),
      command("help swep", {"unknown command 'swep'"}),
      command("--quiet", {"unknown option '--quiet'"}),
      command("sweep", {"CONFIG is required", "optinc help sweep"}),
      command("sweep c.toml", {"--out FILE.csv"}),
      command("sweep c.toml --out", {"--out", "missing"}),
      command("sweep c.toml surplus --out r.csv", {"not expected: surplus"}),
      command("sweep c.toml --out r.csv --out q.csv", {"--out: At Most 1 required"}),
      command("combine r.csv", {"--out is required"}),
      command("trace make --elements 5 --out g.h5", {"--kind is required"}),
      command("average t.h5", {"--out is required"}),
      command("average t.h5 --out --json", {"--out has no value (option --json comes next)"}),
      command("average t.h5 --out a.h5 --config c.toml", {"2 sweep points", "0 to 1"}),
      command("average t.h5 --out a.h5 --config c.toml --point 2", {"2 sweep points", "0 to 1"}),
      command("average t.h5 --out a.h5 --set workload.trace=t.h5", {"TRACE", "leave it out"}),
      command("average t.h5 --out a.h5 --chip -1", {"--chip: '-1'", "whole number from 0 to"}),
      command("average t.h5 --out a.h5 --chip 4294967296", {"--chip: '4294967296'", "4294967295"}),
      command("average t.h5 --out -", {"--out -", "give a file"}),
      command("trace make --kind gaussian --elements 5 --out -", {"--out -", "give a file"}),
      command("trace make --kind gaussian --elements -1 --out g.h5",
              {"--elements: '-1'", "from 1"}),
      command("trace make --kind gaussian --elements 1e6 --out g.h5", {"--elements: '1e6'"}),
      command("trace make --kind gaussian --elements 5 --seed -3 --out g.h5", {"--seed: '-3'"}),
      command("trace make --kind gaussian --elements 5 --servers 1 --out g.h5", {"servers = 1"}),
      command("trace make --kind gaussian --elements 5 --servers 65 --out g.h5", {"servers = 65"}),
      command("trace make --kind gaussian --elements 5 --scale nan --out g.h5", {"scale = nan"}),
      command("trace make --kind gaussian --elements 5 --tensors 6 --out g.h5",
              {"6 tensors cannot share 5 elements"}),
      command("trace make --kind cauchy --elements 5 --out g.h5", {"'cauchy'", "laplace"}),
      command("trace make --kind gaussian --elements 5 --degrees-of-freedom 3 --out g.h5",
              {"--degrees-of-freedom does not go with --kind gaussian"}),
      command("trace stats t.h5 --block 0", {"--block: '0'", "whole number from 1 to"}),
      command("trace stats t.h5 --bits 5", {"5 is odd", "even number"}),
      command("trace stats t.h5 --seed 3", {"--seed requires --stochastic-rounding"}),
      command("onn build --servers 3 --out b.h5", {"no ripple network for 3 servers"}),
      command("onn build --bits 18 --out b.h5", {"bits = 18", "4 to 16"}),
      command("onn build --out -", {"--out -", "give a file"}),
      command("onn check n.h5 --max-codes 0", {"--max-codes: '0'", "from 1"}),
      command("onn check n.h5 --segment 2", {"network.segment is given", "leave it out"}),
      command("mesh compose m.json --seed -1", {"--seed: '-1'", "whole number"}),
      command("mesh compose m.json --mesh-id 65536", {"--mesh-id: '65536'", "0 to 65535"}),
      command("mesh compose m.json --phase-sigma-rad nan", {"--phase-sigma-rad: 'nan'"}),
      command("mesh compose m.json --phase-sigma-rad 0,1", {"--phase-sigma-rad: '0,1'"}),
      command("mesh compose m.json --set workload.bits=4", {"not a setting of a mesh"}),
      command(
          "mesh compose m.json --coupler-sigma-rad 0.1 --set imperfections.coupler.sigma_rad=1e-3",
          {"imperfections.coupler.sigma_rad is given by its own option too", "leave one out"}),
      command("mesh decompose u.json --unitarity-tol nan", {"--unitarity-tol: 'nan'"}),
      command("mesh propagate m.json", {"FIELDS is required"}),
      command("plot r.csv --out r.svg --width 10", {"--width: '10'", "200 to 10000"}),
      command("plot r.csv --out r.svg --band p10-p90", {"'p10-p90'", "p05-p95|ci|none"}),
      command("schema --json --markdown", {"--markdown excludes --json"}),
      sweep_option("-x", {"unknown option '-x'"}),
      sweep_option("--chip 3", {"unknown option '--chip' (did you mean '--chips'?)"}),
      sweep_option("--quiet=maybe", {"--quiet = maybe"}),
      sweep_option("--chips 0", {"--chips: '0' (must be a whole number from 1 to 4294967295)"}),
      sweep_option("--chips 1.5", {"--chips: '1.5'", "whole number"}),
      sweep_option("--chips ten", {"--chips: 'ten'", "whole number"}),
      sweep_option("--chips --quiet", {"--chips"}),
      sweep_option("--seed -1", {"--seed: '-1'", "whole number from 0"}),
      sweep_option("--seed 9007199254740993", {"--seed: '9007199254740993'", "9007199254740992"}),
      sweep_option("--threads 0", {"--threads: '0' (must be a whole number from 1 to 4096)"}),
      sweep_option("--threads 1e3", {"--threads: '1e3'"}),
      sweep_option("--shard 2/2", {"--shard 2/2 (must be i/n with 0 <= i < n"}),
      sweep_option("--shard 1", {"--shard 1 (must be i/n"}),
      sweep_option("--shard 3/4", {"--shard 3/4 has no chips", "use at most 2 shards"}),
      sweep_option("--time-limit 5m", {"--time-limit 5m", "s, min, h or d"}),
      sweep_option("--time-limit -1", {"--time-limit -1", "positive"}),
      sweep_option("--set workload.bits", {"--set workload.bits: must have the form path=value"}),
      sweep_option("--set workload.bit=4", {"unknown key 'workload.bit'", "'workload.bits'"}),
      sweep_option("--set workload.bits=", {"--set workload.bits=: is not a TOML value"}),
      sweep_option("--set workload.bits=6.5", {"--set workload.bits=6.5", "must be an integer"}),
      sweep_option("--set workload.code_offset=15", {"workload.code_offset = 15", "1 to 14"}),
      sweep_option("--set imperfections.coupler.mean_rad=0,1", {"is not a TOML value", "','"}),
      sweep_option("--set imperfections.coupler.mean_rad=nan", {"must be finite"}),
      sweep_option("--set imperfections.coupler.sigma_rad=0.1", {"is an axis"}),
      sweep_option("--backend gpu", {"unknown backend 'gpu'", "cpu, reference"}),
      sweep_option("--backend cuda", {"backend 'cuda' is not available here", "--backend auto"}, 4),
      sweep_option("--precision f16", {"--precision: 'f16'", "f32|f64"}),
      sweep_option("--backend reference --precision f32", {"no precision f32", "use another"}, 4),
      sweep_option("--cpu-target neon", {"--cpu-target: 'neon'", "scalar"}),
      sweep_option("--backend reference --cpu-target scalar", {"does not go with", "give one"}),
      in_environment("OPTINC_BACKEND", "gpu", {"unknown backend 'gpu'"}, 2),
      in_environment("OPTINC_BACKEND", "cuda", {"backend 'cuda' is not available here"}, 4),
      in_environment("OPTINC_CPU_TARGET", "neon", {"unknown instruction set 'neon'", "scalar"}, 2)};
  // An empty value, as of a variable that is not set, is not the same as no option.
  for (const char* option : {"--backend", "--set", "--out"}) {
    table.push_back({std::string("option: empty ") + option,
                     words_and(std::string("sweep c.toml --dry-run ") + option, ""),
                     2,
                     {std::string(option) + " is empty", "give it a value or leave it out"}});
  }
  table.push_back(
      {"option: empty CONFIG", {"sweep", "", "--out", "r.csv"}, 2, {"CONFIG is empty"}});
  table.push_back({"option: two lines in --chips",
                   words_and("sweep c.toml --dry-run --chips", "2\nbits = 3"),
                   2,
                   {"--chips: '2 bits = 3'"}});
  return table;
}

}  // namespace optinc::test
