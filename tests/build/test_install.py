# SPDX-License-Identifier: Apache-2.0
"""An installed optinc and its users.

Usage: test_install.py CMAKE BUILD_DIR WORK_DIR VERSION CMAKE_OPTIONS...
"""

import pathlib
import shutil
import sys
import unittest

import consumer_build
from consumer_build import run

CMAKE, BUILD_DIR, WORK_DIR, VERSION = sys.argv[1:5]
OPTIONS = sys.argv[5:]
ROOT = pathlib.Path(__file__).resolve().parents[2]
FIRST = pathlib.Path(WORK_DIR) / "first"
PREFIX = pathlib.Path(WORK_DIR) / "prefix"
CONSUMER = pathlib.Path(WORK_DIR) / "consumer"


class Install(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        shutil.rmtree(WORK_DIR, ignore_errors=True)
        run(CMAKE, "--install", BUILD_DIR, "--prefix", FIRST)
        # Moved, so that a path into the place of installation would show.
        FIRST.rename(PREFIX)
        consumer_build.build(CMAKE, CONSUMER, [
            *OPTIONS, f"-DCMAKE_PREFIX_PATH={PREFIX}", f"-DOPTINC_VERSION={VERSION}"])

    def test_program(self):
        self.assertEqual(run(PREFIX / "bin" / "optinc", "--version"), f"optinc {VERSION}\n")

    def test_libraries(self):
        for library in ("devices", "noise", "solver", "cuda"):
            with self.subTest(library):
                run(CONSUMER / f"use_{library}")
        self.assertEqual(run(CONSUMER / "use_cli", "--version"), f"optinc {VERSION}\n")

    def test_data(self):
        for path in ("traces/resnet50_cifar100.h5", "traces/README.md", "sweeps/quickstart.toml"):
            installed = PREFIX / "share" / "optinc" / path
            self.assertEqual(installed.read_bytes(), (ROOT / "data" / path).read_bytes())

    def test_another_version_is_refused(self):
        major, minor, _ = VERSION.split(".")
        for version in (f"{int(major) + 1}.0.0", f"{major}.{int(minor) + 1}.0"):
            with self.assertRaisesRegex(AssertionError, "version"):
                run(CMAKE, "-S", consumer_build.CONSUMER, "-B", CONSUMER.parent / "refused",
                    "--fresh", *OPTIONS, f"-DCMAKE_PREFIX_PATH={PREFIX}",
                    f"-DOPTINC_VERSION={version}")

    def test_a_missing_library_is_named(self):
        with self.assertRaisesRegex(AssertionError, "libfmt-dev"):
            run(CMAKE, "-S", consumer_build.CONSUMER, "-B", CONSUMER.parent / "refused", "--fresh",
                *OPTIONS, f"-DCMAKE_PREFIX_PATH={PREFIX}", "-DCMAKE_DISABLE_FIND_PACKAGE_fmt=ON")

    def test_nothing_of_the_source_or_build_tree_is_exported(self):
        for path in (PREFIX / "lib" / "cmake" / "optinc").glob("*.cmake"):
            text = path.read_text(encoding="utf-8")
            for word in (str(ROOT), BUILD_DIR, str(FIRST), "optinc_flags"):
                self.assertNotIn(word, text, path.name)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
