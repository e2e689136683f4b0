#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs clang-tidy over every source file, with the compilation database of the clang preset.
# --analyzer adds the static analyzer, which doubles the time.
set -euo pipefail
cd "$(dirname "$0")/.."

export extra_checks=-clang-analyzer-*
case "${1:-}" in
  "") ;;
  --analyzer) extra_checks= ;;
  *) echo "usage: $0 [--analyzer]" >&2; exit 2 ;;
esac
cmake --preset clang >/dev/null

# Keeps clang-tidy's count of suppressed warnings quiet, but nothing else.
tidy() {
  local messages
  messages=$(clang-tidy-14 -p build/clang --quiet --checks="$extra_checks" --warnings-as-errors='*' "$1" 2>&1) ||
    { echo "$messages"; return 1; }
}
export -f tidy
git ls-files '*.cpp' ':!tests/build/consumer' |
  xargs -P "$(nproc)" -I {} bash -c 'tidy "$1"' tidy {}
