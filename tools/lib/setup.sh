# Sourced by tools/demo.sh and tools/test.sh. Installs missing packages on Debian 12 or Ubuntu 24.04, configures and
# builds. It is safe to run again: existing installations are not touched.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

say() { printf '== %s\n' "$*"; }

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; elif command -v sudo >/dev/null; then sudo "$@"; else
    echo "setup: '$*' needs root, and there is no sudo" >&2; exit 1; fi
}

# Debian packages, by purpose. A script that sources this file may set more_packages for itself.
packages=(
  g++ cmake ninja-build ccache mold pkgconf git ca-certificates  # build
  llvm-19-dev zlib1g-dev libzstd-dev                             # code generation
  libonnx-dev libprotobuf-dev protobuf-compiler                  # ONNX import
  libflatbuffers-dev flatbuffers-compiler libxxhash-dev          # artifact
  libcli11-dev libhwloc-dev libzip-dev nlohmann-json3-dev libgtest-dev        # tools, tests
  libsqlite3-dev libboost-dev curl                               # store of models, server
  libssl-dev openssl                                             # signatures
  libpng-dev libjpeg-dev libsndfile1-dev                         # pictures and sounds as inputs
  python3 python3-venv python3-dev binutils                      # model maker, comparisons, size checks
  xz-utils                                                       # bundles for machines with a GPU
  dpkg-dev file                                                  # the dependencies of packages
  g++-aarch64-linux-gnu qemu-user-static                         # the runtime for aarch64, and its tests
  libopenmpi-dev openmpi-bin                                     # models over several hosts
)

install_packages() {
  local missing=() p
  for p in "${packages[@]}" "${more_packages[@]}"; do
    dpkg-query -W -f='${Status}' "$p" 2>/dev/null | grep -q 'ok installed' || missing+=("$p")
  done
  # Older releases ship flatc's CMake files in a package of their own.
  if ! dpkg-query -W -f='${Status}' flatbuffers-compiler-dev 2>/dev/null | grep -q 'ok installed' &&
     apt-cache show flatbuffers-compiler-dev >/dev/null 2>&1; then missing+=(flatbuffers-compiler-dev); fi
  [ ${#missing[@]} = 0 ] && return
  say "installing: ${missing[*]}"
  as_root apt-get update -qq
  if apt-cache show flatbuffers-compiler-dev >/dev/null 2>&1 && [[ " ${missing[*]} " != *" flatbuffers-compiler-dev "* ]]; then
    missing+=(flatbuffers-compiler-dev); fi
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

# Makes a virtual environment with the given PyPI packages; its Python is $python.
python_packages() {
  local venv=build/venv stamp
  stamp=$venv/.$(printf '%s_' "$@" | tr -c 'a-zA-Z0-9._=\n' _)
  python=$PWD/$venv/bin/python
  [ -e "$stamp" ] && return
  say "Python packages: $*"
  mkdir -p build
  [ -x "$python" ] || python3 -m venv "$venv"
  "$python" -m pip install -q --disable-pip-version-check "$@"
  touch "$stamp"
}

# build PRESET [TARGET...]
build() {
  local preset=$1; shift
  [ -e "build/$preset/build.ninja" ] || { say "configuring $preset"; cmake --preset "$preset" >"build/$preset.configure.log" 2>&1 ||
    { tail -n 30 "build/$preset.configure.log" >&2; exit 1; }; }
  say "building $preset"
  cmake --build --preset "$preset" -j "$(nproc)" ${1:+--target "$@"}
}

mkdir -p build
install_packages
