#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Fails when a source file is not formatted as .clang-format says.
set -euo pipefail
cd "$(dirname "$0")/.."
git ls-files '*.hpp' '*.cpp' | xargs clang-format-14 --dry-run --Werror
