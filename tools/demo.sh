#!/usr/bin/env bash
# Runs the main job on a fresh Debian 12 or Ubuntu 24.04: installs missing packages, builds, compiles a model and runs it.
#
#   tools/demo.sh [--cuda] [model.onnx] [-- COMPILE OPTIONS...]
#
# Without a model it makes ResNet-50 with seeded weights (tools/models/make_model.py). --cuda installs NVIDIA's run-time
# compiler from PyPI and compiles for GPUs as well. If the machine has a GPU, the model runs on it; otherwise on the CPU.
source "$(dirname "$0")/lib/setup.sh"

cuda=
if [ "${1:-}" = --cuda ]; then cuda=1; shift; fi
model=
if [ $# -gt 0 ] && [ "$1" != -- ]; then model=$(realpath "$OLDPWD/$1" 2>/dev/null || realpath "$1"); shift; fi
[ "${1:-}" = -- ] && shift

build release gcc-graph gart
python_packages numpy onnx
if [ -z "$model" ]; then
  model=$PWD/build/models/resnet50.onnx
  "$python" tools/models/make_model.py resnet50 "$model"
  set -- --dim batch=1 "$@"
fi
if [ -n "$cuda" ]; then
  python_packages nvidia-cuda-nvrtc
  export VIRTUAL_ENV=$PWD/build/venv
  set -- --target x86-64-v3,x86-64-v4,sm_80,sm_87,sm_90a,sm_120 "$@"
fi
out=build/demo/$(basename "${model%.onnx}").gart
mkdir -p build/demo
gcc_graph=build/release/bin/gcc-graph

say "compile"; "$gcc_graph" compile "$model" -o "$out" "$@"
say "inspect"; "$gcc_graph" inspect "$out"
say "run";     "$gcc_graph" run "$out" --random 1
say "bench";   "$gcc_graph" bench "$out" --random 1 --seconds 3
