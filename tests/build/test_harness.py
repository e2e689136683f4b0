# SPDX-License-Identifier: Apache-2.0
"""Exit codes and last line of the test programs. Usage: test_harness.py PROBE"""

import subprocess
import sys
import unittest

PROBE = sys.argv.pop(1)


def run(*args):
    result = subprocess.run([PROBE, *args], capture_output=True, text=True)
    lines = result.stdout.strip().splitlines()
    return result.returncode, lines[-1] if lines else ""


class Harness(unittest.TestCase):
    def test_pass(self):
        self.assertEqual(run("passes"), (0, "1 passed, 0 failed, 0 skipped"))

    def test_failures_never_look_like_a_skip(self):
        self.assertEqual(run("fails 77 times"), (1, "0 passed, 1 failed, 0 skipped"))

    def test_exception(self):
        self.assertEqual(run("throws"), (1, "0 passed, 1 failed, 0 skipped"))

    def test_skip(self):
        self.assertEqual(run("skips"), (77, "0 passed, 0 failed, 1 skipped"))

    def test_skip_beside_others(self):
        self.assertEqual(run("passes,skips"), (0, "1 passed, 0 failed, 1 skipped"))
        self.assertEqual(run(), (1, "1 passed, 2 failed, 1 skipped"))

    def test_name_without_test(self):
        self.assertEqual(run("no such test"), (1, "0 passed, 0 failed, 0 skipped"))

    def test_unknown_option(self):
        self.assertEqual(run("--no-such-option")[0], 1)

    def test_list_has_names_only(self):
        self.assertEqual(run("--list-test-names-only", "s*"), (1, "skips"))


if __name__ == "__main__":
    unittest.main()
