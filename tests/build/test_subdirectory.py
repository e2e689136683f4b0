# SPDX-License-Identifier: Apache-2.0
"""optinc inside another project. Usage: test_subdirectory.py CMAKE WORK_DIR CMAKE_OPTIONS..."""

import pathlib
import sys
import unittest

import consumer_build
from consumer_build import run

CMAKE, WORK_DIR = sys.argv[1:3]
OPTIONS = sys.argv[3:]
ROOT = pathlib.Path(__file__).resolve().parents[2]


# What depends on the place in the tree: include folders, links and generated files. Each library
# has its program in the consumer of the installed package, so solver and apps need not be built
# whole once more.
SOLVER_OBJECT = "optinc/solver/CMakeFiles/optinc_solver.dir/io/hash.cpp.o"
APPS_OBJECT = "optinc/apps/CMakeFiles/optinc_cli.dir/info.cpp.o"


class Subdirectory(unittest.TestCase):
    def test_libraries(self):
        work_dir = pathlib.Path(WORK_DIR)
        consumer_build.build(CMAKE, work_dir, [*OPTIONS, f"-DOPTINC_SUBDIRECTORY={ROOT}"],
                             ["use_devices", "use_noise", SOLVER_OBJECT, APPS_OBJECT])
        for library in ("devices", "noise"):
            with self.subTest(library):
                run(work_dir / f"use_{library}")
        self.assertEqual(list(work_dir.rglob("test_*")), [], "tests are built for a user")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
