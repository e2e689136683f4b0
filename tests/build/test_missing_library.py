# SPDX-License-Identifier: Apache-2.0
"""Configuring without a library. Usage: test_missing_library.py CMAKE CXX_COMPILER WORK_DIR"""

import pathlib
import shutil
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CMAKE, COMPILER, WORK_DIR = sys.argv[1:]


class MissingLibrary(unittest.TestCase):
    def test_one_message_names_all_packages(self):
        shutil.rmtree(WORK_DIR, ignore_errors=True)
        result = subprocess.run(
            [CMAKE, "-S", ROOT, "-B", WORK_DIR, f"-DCMAKE_CXX_COMPILER={COMPILER}",
             "-DCMAKE_DISABLE_FIND_PACKAGE_fmt=ON", "-DCMAKE_DISABLE_FIND_PACKAGE_Catch2=ON",
             "-DOPTINC_RANDOM123_INCLUDE_DIR=OPTINC_RANDOM123_INCLUDE_DIR-NOTFOUND",
             "-DCMAKE_SYSTEM_IGNORE_PREFIX_PATH=/usr"],
            capture_output=True, text=True, check=False)
        self.assertNotEqual(result.returncode, 0)
        self.assertEqual(result.stderr.count("CMake Error"), 1, result.stderr)
        words = result.stderr.split()
        for package in ("libfmt-dev", "librandom123-dev", "catch2"):
            self.assertIn(package, words)
        self.assertIn("apt-get install", " ".join(words))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
