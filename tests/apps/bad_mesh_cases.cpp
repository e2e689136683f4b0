// SPDX-License-Identifier: Apache-2.0
// Bad mesh programs, matrices and fields.
#include <map>
#include <string>
#include <vector>

#include "tests/apps/bad_input.hpp"

namespace optinc::test {

namespace {

/// A good mesh program with one member changed, added or, where the value is empty, left out.
std::string program_with(const std::string& key, const std::string& value) {
  std::map<std::string, std::string> members = {{"N", "2"},
                                                {"topology", "\"clements\""},
                                                {"theta", "[1.5]"},
                                                {"phi", "[0]"},
                                                {"phi_out", "[0, 0]"}};
  members[key] = value;
  std::string text;
  for (const auto& [name, json] : members) {
    if (json.empty()) continue;
    text += (text.empty() ? "{\"" : ", \"") + name + "\": " + json;
  }
  return text + "}";
}

}  // namespace

std::vector<BadInput> bad_meshes() {
  const std::vector<std::string> compose = words("mesh compose b.json");
  const std::vector<std::string> decompose = words("mesh decompose b.json");
  const auto program = [](const std::string& key, const std::string& value) {
    return text_file("b.json", program_with(key, value));
  };
  const auto matrix = [](const std::string& text) { return text_file("b.json", text); };
  return {
      {"mesh: no such file", words("mesh compose none.json"), 3, {"none.json: cannot be read"}},
      {"mesh: a folder", words("mesh compose ."), 3, {".: cannot be read", "a folder"}},
      {"mesh: empty file", compose, 3, {"b.json: is not JSON", "line 1, column 1"}, matrix("")},
      {"mesh: garbage",
       compose,
       3,
       {"b.json: is not JSON", "line 1, column 1", "invalid literal"},
       matrix("mesh!\n")},
      {"mesh: cut in half",
       compose,
       3,
       {"b.json: is not JSON", "unexpected end of input"},
       matrix("{\"N\": 2, \"theta\": [1")},
      {"mesh: binary", compose, 3, {"b.json: is not JSON"}, matrix("\xff\xfe\x01\x02")},
      {"mesh: list at the top", compose, 3, {"b.json: must be a JSON object"}, matrix("[1, 2]")},
      {"mesh: N missing", compose, 3, {"b.json: N (number of modes) is missing"}, program("N", "")},
      {"mesh: theta missing", compose, 3, {"b.json: theta is missing"}, program("theta", "")},
      {"mesh: topology missing",
       compose,
       3,
       {"b.json: topology is missing", "known: clements"},
       program("topology", "")},
      {"mesh: N is 0", compose, 3, {"b.json: N = 0", "1 .. 4096"}, program("N", "0")},
      {"mesh: N is negative", compose, 3, {"b.json: N holds -1"}, program("N", "-1")},
      {"mesh: N is text",
       compose,
       3,
       {"b.json: N holds \"2\"", "whole number"},
       program("N", "\"2\"")},
      {"mesh: N does not fit the lists",
       compose,
       3,
       {"b.json: theta must be a list of 3 numbers (has 1)"},
       program("N", "3")},
      {"mesh: list of wrong length",
       compose,
       3,
       {"b.json: phi_out must be a list of 2", "has 3"},
       program("phi_out", "[0, 0, 0]")},
      {"mesh: NaN phase",
       compose,
       3,
       {"b.json: is not JSON", "invalid literal"},
       program("phi", "[NaN]")},
      {"mesh: overflowing phase",
       compose,
       3,
       {"b.json: is not JSON", "number overflow"},
       program("phi", "[1e999]")},
      {"mesh: null phase",
       compose,
       3,
       {"b.json: phi holds null (must be a number)"},
       program("phi", "[null]")},
      {"mesh: unknown key",
       compose,
       3,
       {"b.json: unknown key 'alhpa'", "did you mean 'alpha'"},
       program("alhpa", "[0.1]")},
      {"mesh: unknown topology",
       compose,
       3,
       {"b.json: topology = \"clemens\"", "known: clements"},
       program("topology", "\"clemens\"")},
      {"mesh: column that does not fit",
       compose,
       3,
       {"b.json: column 0 of the mesh does not fit"},
       text_file("b.json",
                 "{\"N\": 2, \"topology\": \"columns\", \"shifts\": [1], \"lens\": [1],"
                 "\"theta\": [0], \"phi\": [0], \"phi_out\": [0, 0]}")},
      {"mesh: nothing to correct",
       words("mesh correct m.json"),
       2,
       {"m.json: nothing to correct", "give errors"}},
      {"mesh: a matrix in HDF5", words("mesh decompose t.h5"), 2, {"t.h5", "give JSON"}},
      {"matrix: key missing",
       decompose,
       3,
       {"b.json: holds no matrix", "looked for re and im"},
       matrix("{\"real\": [[1]]}")},
      {"matrix: not unitary",
       decompose,
       3,
       {"b.json: matrix is not unitary", "--nearest"},
       matrix("{\"re\": [[1, 1], [0, 1]]}")},
      {"matrix: not square",
       decompose,
       3,
       {"b.json: matrix of shape 1 x 2", "square"},
       matrix("{\"re\": [[1, 0]]}")},
      {"matrix: ragged rows",
       decompose,
       3,
       {"b.json: row 1 of re has another length"},
       matrix("{\"re\": [[1, 0], [0]]}")},
      {"matrix: re and im differ in shape",
       decompose,
       3,
       {"b.json: re and im have different"},
       matrix("{\"re\": [[1]], \"im\": [[0, 0]]}")},
      {"matrix: no nearest unitary",
       words("mesh decompose b.json --nearest"),
       3,
       {"b.json: matrix has no single nearest unitary"},
       matrix("{\"re\": [[0, 0], [0, 0]]}")},
      {"fields: other modes than the mesh",
       words("mesh propagate m.json b.json"),
       2,
       {"b.json: fields of 3 modes for a mesh of 2", "give one row per mode"},
       matrix("{\"re\": [1, 0, 0]}")}};
}

}  // namespace optinc::test
