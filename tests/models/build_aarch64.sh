#!/bin/sh
# build_aarch64.sh CMAKE FOLDER: builds gart-run and its libraries for aarch64 by the preset. Skipped without the cross compiler.
set -e
if ! command -v aarch64-linux-gnu-g++ >/dev/null; then
  echo "SKIP: the package g++-aarch64-linux-gnu is not installed"
  exit 77
fi
cd "$(dirname "$0")/../.."
[ -e "$2/build.ninja" ] || "$1" --preset aarch64
"$1" --build --preset aarch64 -j 2 --target gart-run gart_cpu
