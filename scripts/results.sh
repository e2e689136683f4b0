#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the sweeps behind docs/results.md on shipped files and rewrites its tables and figures:
# results.sh [OPTINC_BINARY]
set -euo pipefail
cd "$(dirname "$0")/.."

optinc=${1:-build/release/optinc}
out=build/results
mkdir -p "$out"
"$optinc" sweep data/sweeps/networks.toml --out "$out/networks.csv"
"$optinc" sweep data/sweeps/presets.toml --out "$out/presets.csv"
for workload in resnet50_cifar100 llama_wikitext2; do
  "$optinc" plot "$out/networks.csv" --out "docs/figures/networks_$workload.svg" \
    --where "workload.trace=../traces/$workload.h5" --height 700 \
    --title "Wrong elements of the averaged gradient, $workload, 20 chips"
done
python3 scripts/results_table.py "$out/networks.summary.csv" "$out/presets.summary.csv" docs/results.md
