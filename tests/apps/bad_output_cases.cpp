// SPDX-License-Identifier: Apache-2.0
// Outputs that cannot be written or would take the place of an input.
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <unistd.h>

#include "solver/montecarlo/journal.hpp"
#include "tests/apps/bad_input.hpp"
#include "tests/support/file_size_limit.hpp"

namespace optinc::test {

namespace {

namespace fs = std::filesystem;

std::shared_ptr<void> another_writer() { return std::make_shared<Journal>("r.csv"); }

std::shared_ptr<void> full_disk() { return std::make_shared<FileSizeLimit>(100); }

/// Room for the commands to gnuplot but not for the figure.
std::shared_ptr<void> disk_full_later() { return std::make_shared<FileSizeLimit>(6000); }

/// A finished result with its figure.
void with_figure() {
  finished();
  REQUIRE(run(words("plot r.csv --out f.svg")).code == 0);
}

}  // namespace

std::vector<BadInput> bad_outputs() {
  const std::string make = "trace make --kind gaussian --elements 40 --out ";
  std::vector<BadInput> table = {
      {"output: no folder, rows",
       words("sweep c.toml --out none/r.csv"),
       3,
       {"none/r.csv", "No such file", "check the folder"}},
      {"output: no folder, trace",
       words(make + "none/g.h5"),
       3,
       {"cannot write none/g.h5 (No such file or directory)", "check the folder"}},
      {"output: no folder, network",
       words("onn build --out none/b.h5"),
       3,
       {"cannot write none/b.h5 (No such file or directory)", "check the folder"}},
      {"output: no folder, JSON",
       words("mesh compose m.json --out none/b.json"),
       3,
       {"cannot write none/b.json (No such file or directory)", "check the folder"}},
      {"output: no folder, figure",
       words("plot r.csv --out none/f.svg"),
       3,
       {"cannot write none/f.svg (No such file or directory)", "check the folder"},
       finished},
      {"output: no folder, combined",
       words("combine r.csv --out none/z.csv"),
       3,
       {"cannot write none/z.csv (No such file or directory)", "check the folder"},
       finished},
      {"output: a folder, rows",
       words("sweep c.toml --out d.csv"),
       3,
       {"cannot open d.csv", "Is a directory"},
       [] { fs::create_directory("d.csv"); }},
      {"output: a folder, trace",
       words(make + "."),
       3,
       {"cannot write . (it is not a regular file); give a file name"}},
      {"output: a folder, average",
       words("average t.h5 --config c.toml --point 0 --out ."),
       3,
       {"cannot write . (it is not a regular file); give a file name"}},
      {"output: a full device",
       words(make + "/dev/full"),
       3,
       {"cannot write /dev/full (it is not a regular file)"}},
      {"output: a full device, rows",
       words("sweep c.toml --out full.csv"),
       3,
       {"cannot write full.csv (it is not a regular file)", "give a file name"},
       [] { fs::create_symlink("/dev/full", "full.csv"); }},
      {"output: a link to a folder that vanished",
       words("sweep c.toml --out link.csv"),
       3,
       {"cannot open link.csv for writing (No such file or directory)"},
       [] { fs::create_symlink("gone/r.csv", "link.csv"); }},
      {"output: rows without ending",
       words("sweep c.toml --out r"),
       2,
       {"--out r (must end in .csv)"}},
      {"output: rows on standard output",
       words("sweep c.toml --out -"),
       2,
       {"give --out FILE.csv"}},
      {"output: figure without ending",
       words("plot r.csv --out f.gif"),
       2,
       {"f.gif: must end in .svg or .png"},
       finished},
      {"output: combined on standard output",
       words("combine r.csv --out -"),
       2,
       {"give --out FILE.csv"},
       finished},
      {"output: the trace itself",
       words("average t.h5 --config c.toml --point 0 --out t.h5"),
       2,
       {"--out t.h5 is a file that the command uses too", "give another name"}},
      {"output: a hard link to the trace",
       words("average t.h5 --config c.toml --point 0 --out l.h5"),
       2,
       {"--out l.h5 is a file that the command uses too"},
       [] { fs::create_hard_link("t.h5", "l.h5"); }},
      {"output: the configuration",
       words("average t.h5 --config c.toml --point 0 --out ./c.toml"),
       2,
       {"--out ./c.toml is a file that the command uses too"}},
      {"output: the configuration, afresh",
       words("sweep c.csv --out c.csv --fresh"),
       2,
       {"--out c.csv is a file that the command uses too"},
       [] { fs::copy_file("c.toml", "c.csv"); }},
      {"output: the result as script",
       words("plot r.csv --out f.svg --script r.csv"),
       2,
       {"--script r.csv is a file that the command uses too"},
       finished},
      {"output: the figure as script",
       words("plot r.csv --out f.svg --script f.svg"),
       2,
       {"--script f.svg is a file that the command uses too"},
       finished},
      {"output: another writer",
       words("sweep c.toml --out r.csv"),
       3,
       {"r.csv is being written by another optinc", "wait for it"},
       finished,
       another_writer},
      {"output: another writer, afresh",
       words("sweep c.toml --out r.csv --fresh"),
       3,
       {"r.csv is being written by another optinc"},
       finished,
       another_writer},
      {"output: another writer, combine",
       words("combine q.csv --out r.csv"),
       3,
       {"r.csv is being written by another optinc"},
       two_sweeps,
       another_writer},
      {"output: disk full, trace",
       words(make + "t.h5"),
       3,
       {"cannot write", "in t.h5 (", "File too large"},
       [] {},
       full_disk},
      {"output: disk full, average",
       words("average t.h5 --config c.toml --point 0 --out a.h5"),
       3,
       {"cannot write", "in a.h5 (", "File too large", "free space"},
       [] {},
       full_disk},
      {"output: disk full, network",
       words("onn build --out n.h5"),
       3,
       {"cannot write n.h5 (File too large)", "free space"},
       [] {},
       full_disk},
      {"output: disk full, JSON",
       words("mesh decompose u.json --out m.json"),
       3,
       {"cannot write m.json (File too large)", "free space"},
       [] {},
       full_disk},
      {"output: disk full, rows",
       words("sweep c.toml --out r.csv"),
       3,
       {"cannot write r.manifest.json (File too large)", "free space"},
       [] {},
       full_disk},
      {"output: disk full, combine",
       words("combine r.csv --out z.csv"),
       3,
       {"cannot write z.csv (File too large)"},
       finished,
       full_disk},
      {"output: disk full, figure",
       words("plot r.csv --out f.svg"),
       3,
       {"cannot write f.svg (gnuplot wrote a part of it only)", "free space"},
       with_figure,
       disk_full_later},
      {"output: disk full, PNG",
       words("plot r.csv --out f.png"),
       3,
       {"cannot write f.png (gnuplot wrote a part of it only)", "free space"},
       finished,
       disk_full_later}};
  // Root may write anywhere.
  if (::geteuid() != 0) {
    table.push_back({"output: a folder without permission",
                     words(make + "closed/g.h5"),
                     3,
                     {"cannot write closed/g.h5 (Permission denied)", "permissions"},
                     [] {
                       fs::create_directory("closed");
                       fs::permissions("closed", fs::perms::owner_read | fs::perms::owner_exec);
                     }});
  }
  return table;
}

}  // namespace optinc::test
