# SPDX-License-Identifier: Apache-2.0
"""Every header of ours compiles alone: in the source of the same name, which includes it first, or
here. Usage: test_headers.py WORK_DIR INCLUDE_DIRS COMPILER...

INCLUDE_DIRS are separated by "|"; COMPILER may start with a launcher such as ccache.
"""

import concurrent.futures
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import tree_rules

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORK_DIR = pathlib.Path(sys.argv[1])
INCLUDE_DIRS = sorted({folder for folder in sys.argv[2].split("|") if folder and folder != "/usr/include"})
COMPILER = sys.argv[3:]
# As tests/CMakeLists.txt defines them for every test.
DEFINITIONS = ['-DOPTINC_SOURCE_DIR="."', '-DOPTINC_BINARY="optinc"']
FOLDERS = tree_rules.LAYERS + ["tests"]


def is_first_in_its_source(header):
    """Whether the build compiles the header alone, ahead of all others."""
    source = header.with_suffix(".cpp")
    if not source.exists():
        return False
    includes = [line for line in source.read_text(encoding="utf-8").splitlines()
                if line.startswith("#include")]
    return includes[:1] == [f'#include "{header.relative_to(ROOT).as_posix()}"']


def compile_alone(root, header):
    """Compiles a file that only includes the header, twice. Returns the compiler's messages."""
    name = header.relative_to(root).as_posix()
    # The same path in every run, so that ccache knows the file.
    source = WORK_DIR / (name.replace("/", "_") + ".cpp")
    source.write_text(f'#include "{name}"\n#include "{name}"\n', encoding="utf-8")
    ours = {str(root), str(ROOT)}
    includes = [f"-I{root}"] + [f"-isystem{folder}" for folder in INCLUDE_DIRS
                                if folder not in ours]
    result = subprocess.run(
        [*COMPILER, "-std=c++20", "-Wall", "-Wextra", "-Werror", *DEFINITIONS, *includes, "-c", str(source),
         "-o", str(source.with_suffix(".o"))],
        capture_output=True, text=True, check=False)
    return result.stderr if result.returncode != 0 else ""


class Headers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        WORK_DIR.mkdir(parents=True, exist_ok=True)

    def test_all(self):
        headers = [header for header in tree_rules.files_under(ROOT, FOLDERS, {".hpp"})
                   if not is_first_in_its_source(header)]
        self.assertGreater(len(headers), 0)
        self.assertIn("devices/mzi.hpp", [str(header.relative_to(ROOT)) for header in headers])
        with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            results = list(pool.map(lambda header: compile_alone(ROOT, header), headers))
        for header, messages in zip(headers, results):
            with self.subTest(header.name):
                self.assertEqual(messages, "")

    def test_a_header_that_needs_another_is_caught(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            header = root / "planted_violation.hpp"
            header.write_text("#pragma once\nstd::vector<int> values();\n", encoding="utf-8")
            self.assertIn("vector", compile_alone(root, header))

    def test_a_header_without_guard_is_caught(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            header = root / "planted_guard.hpp"
            header.write_text("struct Twice {};\n", encoding="utf-8")
            self.assertIn("Twice", compile_alone(root, header))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
