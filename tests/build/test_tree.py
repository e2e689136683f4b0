# SPDX-License-Identifier: Apache-2.0
"""The source tree keeps the rules of tree_rules.py, and each rule catches a violation."""

import pathlib
import tempfile
import unittest

import tree_rules

ROOT = pathlib.Path(__file__).resolve().parents[2]
SPDX = "// SPDX-License-Identifier: Apache-2.0\n"


class ThisTree(unittest.TestCase):
    maxDiff = None

    def test_rules(self):
        for rule in tree_rules.RULES:
            with self.subTest(rule.__name__):
                self.assertEqual(rule(ROOT), [])

    def test_sources_are_found(self):
        for layer in tree_rules.LAYERS:
            with self.subTest(layer):
                paths = tree_rules.files_under(ROOT, [layer], tree_rules.SOURCE_SUFFIXES)
                self.assertGreater(len(paths), 0)


class PlantedViolations(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.write(".ci/run", "#!/bin/bash\n# SPDX-License-Identifier: Apache-2.0\n")

    def write(self, path, text):
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text, encoding="utf-8")

    def expect(self, rule, *fragments):
        problems = rule(self.root)
        self.assertEqual(len(problems), len(fragments), problems)
        for problem, fragment in zip(problems, fragments):
            self.assertIn(fragment, problem)

    def test_lower_layers_are_allowed(self):
        self.write("apps/a.cpp", '#include <cuda/a.hpp>\n#include "build_info.hpp"\n')
        self.write("cuda/a.hpp", '#include "solver/a.hpp"\n#include "devices/a.hpp"\n')
        self.expect(tree_rules.include_directions)

    def test_higher_layer(self):
        self.write("noise/a.hpp", '#include "solver/a.hpp"\n')
        self.expect(tree_rules.include_directions, "noise/a.hpp: includes solver/a.hpp")

    def test_solver_and_cuda(self):
        self.write("solver/deep/a.cpp", "#  include <cuda/a.hpp>\n")
        self.expect(tree_rules.include_directions, "solver/deep/a.cpp: includes cuda/a.hpp")

    def test_include_without_layer(self):
        self.write("solver/a.cpp", '#include "a.hpp"\n#include "../apps/b.hpp"\n'
                                   '#include "tests/c.hpp"\n')
        self.expect(tree_rules.include_directions, "a.hpp", "../apps/b.hpp", "tests/c.hpp")

    def test_cuda_words(self):
        self.write("devices/a.hpp", "#ifdef __CUDACC__\n")
        self.write("solver/a.hpp", "__device__ int f();\n")
        self.write("cuda/a.cu", "#ifdef __CUDA_ARCH__\n__global__ void f();\n")
        self.expect(tree_rules.cuda_words, "devices/a.hpp: __CUDACC__", "solver/a.hpp: __device__")

    def test_licence_line(self):
        self.write("noise/a.hpp", "#pragma once\n" + SPDX)
        self.write("noise/b.hpp", SPDX + "#pragma once\n")
        self.write("noise/c.hpp", "")
        self.write("scripts/d.sh", "#!/bin/bash\nset -e\n")
        self.write("solver/CMakeLists.txt", "add_library(a a.cpp)\n")
        self.expect(tree_rules.licence_lines, "noise/a.hpp", "noise/c.hpp", "scripts/d.sh",
                    "solver/CMakeLists.txt")

    def test_unlisted_source(self):
        self.write("tests/CMakeLists.txt", "add_library(main support/main.cpp)\n")
        self.write("tests/support/main.cpp", SPDX)
        self.write("solver/CMakeLists.txt", "# c.cpp\nadd_library(a a.cpp)\n")
        for name in ("a", "b", "c"):
            self.write(f"solver/{name}.cpp", SPDX)
        self.expect(tree_rules.listed_sources, "solver/b.cpp", "solver/c.cpp")


if __name__ == "__main__":
    unittest.main()
