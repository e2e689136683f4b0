#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Configures and builds a preset: build.sh PRESET [TARGET...]
set -euo pipefail
cd "$(dirname "$0")/.."
preset=$1
shift

launcher=()
if command -v ccache >/dev/null; then launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache); fi
cmake --preset "$preset" "${launcher[@]}" >/dev/null
# A compiler process needs up to 1.5 GB here.
memory_gb=$(awk '/MemAvailable/ {print int($2 / 1048576)}' /proc/meminfo)
jobs=$(nproc)
limit=$((memory_gb * 2 / 3))
if ((limit < 1)); then limit=1; fi
if ((jobs > limit)); then jobs=$limit; fi
targets=()
if (($# > 0)); then targets=(--target "$@"); fi
cmake --build --preset "$preset" -j "$jobs" "${targets[@]}"
