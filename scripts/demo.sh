#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing, builds optinc and runs the shipped sweep on real gradients.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install_packages.sh
scripts/build.sh release
optinc=build/release/optinc
out=build/demo
mkdir -p "$out"

"$optinc" sweep data/sweeps/quickstart.toml --out "$out/quickstart.csv"
"$optinc" plot "$out/quickstart.csv" --out "$out/quickstart.svg"
echo
echo "rows     $out/quickstart.csv"
echo "summary  $out/quickstart.summary.csv"
echo "figure   $out/quickstart.svg"
