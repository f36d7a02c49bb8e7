#!/usr/bin/env bash
# Builds what is missing, then compiles and runs the ONNX backend suite (PyPI onnx 1.22.0, 1914 cases). Prints a table by
# operator and 'passed / failed / unsupported of 1914'; exit code 1 if a case failed.
#
#   tools/conformance.sh [--target T] [--sample N | CASE...] [--json FILE]
source "$(dirname "$0")/lib/setup.sh"

python_packages numpy onnx==1.22.0
build release gcc-graph gart
exec "$python" tools/conformance.py "$@"
