#!/usr/bin/env bash
# Installs what is missing, builds everything, runs all tests. Ends with ctest's summary line.
#
#   tools/test.sh [CTEST OPTIONS...]
source "$(dirname "$0")/lib/setup.sh"

python_packages numpy onnx==1.22.0 onnxruntime
build release
export GCC_GRAPH_PYTHON=$python
ctest --preset release -j "$(nproc)" "$@"
