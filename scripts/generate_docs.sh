#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Writes the reference pages from the program: generate_docs.sh [OPTINC_BINARY]
set -euo pipefail
cd "$(dirname "$0")/.."
optinc=${1:-build/ci/optinc}
"$optinc" help --markdown >docs/cli.md
"$optinc" schema --markdown >docs/csv.md
"$optinc" schema --config --markdown >docs/config.md
"$optinc" schema --hardware --markdown >docs/hardware.md
