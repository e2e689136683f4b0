# SPDX-License-Identifier: Apache-2.0
"""Configures and builds the project in consumer/."""

import pathlib
import subprocess

CONSUMER = pathlib.Path(__file__).resolve().parent / "consumer"


def run(*command):
    """Runs a command and returns its output; fails with the output otherwise."""
    result = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True, check=False)
    if result.returncode != 0:
        raise AssertionError(f"{command} gave {result.returncode}:\n{result.stdout}")
    return result.stdout


def build(cmake, work_dir, options, targets=("all",)):
    """Builds the consumer afresh in work_dir. The build type is empty: fast to compile."""
    run(cmake, "-S", CONSUMER, "-B", work_dir, "--fresh", *options)
    run(cmake, "--build", work_dir, "--clean-first", "--target", *targets)
