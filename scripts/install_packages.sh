#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the Debian packages that optinc needs, only those that are missing.
# --dev adds what the format, lint, clang and sanitizer checks need.
set -euo pipefail

packages=(
  build-essential cmake ninja-build git
  libeigen3-dev libhwy-dev catch2 libcli11-dev libtomlplusplus-dev nlohmann-json3-dev libfmt-dev
  librandom123-dev libhdf5-dev libssl-dev libboost-dev gnuplot-nox python3
)
case "${1:-}" in
  "") ;;
  --dev) packages+=(clang-14 clang-format-14 clang-tidy-14 libclang-rt-14-dev) ;;
  *) echo "usage: $0 [--dev]" >&2; exit 2 ;;
esac

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  echo "$0: needs apt (Debian 12 or a relative); install by hand: ${packages[*]}" >&2
  exit 1
fi

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query -W -f '${Status}' "$package" 2>/dev/null || true)
  [[ $status == "install ok installed" ]] || missing+=("$package")
done
if ((${#missing[@]} == 0)); then exit 0; fi

root=()
if ((EUID != 0)); then
  command -v sudo >/dev/null || { echo "$0: run as root or install sudo; missing: ${missing[*]}" >&2; exit 1; }
  root=(sudo)
fi
echo "installing ${missing[*]}"
"${root[@]}" apt-get update -qq
"${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
