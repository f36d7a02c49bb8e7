#!/bin/sh
# Runs a command on a machine with a simulated GPU:  run_sim.sh [--build DIR] [--sm N] [--libraries] [--] COMMAND [ARGUMENT...]
#
#   run_sim.sh --sm 80 build/release/bin/gcc-graph compile model.onnx -o model.gart --target sm_80
#   run_sim.sh --sm 80 build/release/bin/gcc-graph run model.gart --device cuda --random 1
#
# --build DIR  the build with the simulation (default: build/release of this repository)
# --sm N       the architecture of the GPU (default: 80); code for another architecture does not load
# --libraries  adds simulated cuBLASLt and cuDNN; without it no such library can be opened, not even a real one
# README.md beside this file lists the variables for all other settings. The simulation prints its findings to stderr, and
# each one makes the driver's call fail, as a fault of the GPU would.
set -e
here=$(cd "$(dirname "$0")" && pwd)
build=$here/../../../build/release
sm=80
libraries=no_libraries
while [ $# -gt 0 ]; do
  case $1 in
    --build) build=$2; shift 2 ;;
    --sm) sm=$2; shift 2 ;;
    --libraries) libraries=libraries; shift ;;
    --) shift; break ;;
    *) break ;;
  esac
done
build=$(cd "$build" && pwd)
[ -e "$build/cuda_sim/libcuda.so.1" ] || { echo "run_sim.sh: there is no simulation in $build; build the target cuda_sim" >&2; exit 2; }
# Kernels that another version of the simulation compiled must not be reused.
version=$(cat "$here"/shim/* | cksum | cut -d' ' -f1)
export GCC_GRAPH_NVRTC="$build/cuda_sim/libnvrtc_sim.so"
export LD_LIBRARY_PATH="$build/cuda_sim:$build/cuda_sim/$libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
[ "${GART_SIM_WATCH:-1}" != 0 ] || version=$version-unwatched
export XDG_CACHE_HOME="$build/cuda_sim/cache/$version"
export GART_SIM_SM="$sm"
exec "$@"
