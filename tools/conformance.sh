#!/usr/bin/env bash
# Builds missing programs, then compiles and runs the ONNX backend suite (PyPI onnx 1.22.0, 1914 cases). Prints a table by
# operator and 'passed / failed / unsupported of 1914'; exit code 1 if a case failed.
#
#   tools/conformance.sh [--target T] [--simulate] [--sample N | CASE...] [--json FILE]
#
# With a GPU target such as sm_80, each case runs on the CPU and on the GPU. A case that passes only on the CPU fails.
# Without a GPU, or with --simulate, the GPU is the simulation of tests/cuda/sim; the output says so.
source "$(dirname "$0")/lib/setup.sh"

python_packages numpy onnx==1.22.0
simulation=
for word in "$@"; do case $word in sm_*|--target=sm_*|ptx|--target=ptx) simulation=cuda_sim ;; esac; done
build release gcc-graph gart $simulation
exec "$python" tools/conformance.py "$@"
