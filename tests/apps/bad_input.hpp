// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/apps/cli_run.hpp"
#include "tests/apps/words.hpp"

namespace optinc::test {

/// One kind of bad input. The command runs in a folder of its own that holds
/// t.h5, a trace of 2 servers and 40 elements; c.toml, a sweep of it over 2 points with 2 chips;
/// n.h5, a network for it; m.json, a mesh program of 2 modes; u.json, a unitary matrix of 2 modes.
struct BadInput {
  std::string kind;
  std::vector<std::string> args;
  int code{};
  std::vector<std::string> parts;      ///< of the message
  std::function<void()> make = [] {};  ///< puts the input into the folder
  std::function<std::shared_ptr<void>()> hold = [] { return nullptr; };  ///< alive while it runs
};

/// Writes text to a file of the folder.
inline std::function<void()> text_file(const std::string& name, const std::string& text) {
  return [name, text] { write_text(name, text); };
}

/// Runs the sweep of c.toml to its end.
inline void make_result(const std::string& file, const std::vector<std::string>& options = {}) {
  std::vector<std::string> args = words("sweep c.toml --quiet --out " + file);
  args.insert(args.end(), options.begin(), options.end());
  const CliRun result = run(args);
  INFO(result.err);
  REQUIRE(result.code == 0);
}

/// Makes r.csv and the files beside it.
inline void finished() { make_result("r.csv"); }

/// Makes r.csv and, with another seed, q.csv.
inline void two_sweeps() {
  finished();
  make_result("q.csv", {"--seed", "2"});
}

/// The table, by theme.
std::vector<BadInput> bad_traces();
std::vector<BadInput> bad_networks();
std::vector<BadInput> bad_meshes();
std::vector<BadInput> bad_configurations();
std::vector<BadInput> bad_options();
std::vector<BadInput> bad_results();
std::vector<BadInput> bad_outputs();

}  // namespace optinc::test
