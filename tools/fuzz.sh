#!/usr/bin/env bash
# Builds the fuzz targets (clang, libFuzzer, AddressSanitizer) and runs each for a minute, or for N seconds. Prints the
# executions of each target; exit code 1 if one has found a fault.
#
#   tools/fuzz.sh [--seconds N] [TARGET...]
#
# Targets: artifact, fleet, npy, npz, onnx, safetensors, tuning. build/release/fuzz/faults has the inputs that show a fault;
# `build/release/fuzz/fuzz_TARGET FILE` runs one of them again. build/release/fuzz/corpus keeps the inputs that cover new code.
more_packages=(clang-19 libclang-rt-19-dev)
source "$(dirname "$0")/lib/setup.sh"

python_packages numpy onnx==1.22.0
build release gcc-graph compiler gart_static artifact
exec "$python" tests/fuzz/run_fuzz.py "$@"
