#!/usr/bin/env bash
# Installs missing packages, builds everything, runs all tests. Ends with ctest's summary line. These packages come from PyPI:
# the engines that models are compared with; NVIDIA's run-time compilers of both major versions and the CUDA headers, so
# that GPU code is assembled even without a GPU; NVIDIA's client for Triton and OpenAI's client, as clients of the server;
# clang-format and clang-tidy, of the same version on every machine.
#
#   tools/test.sh [CTEST OPTIONS...]
source "$(dirname "$0")/lib/setup.sh"

python_packages numpy onnx==1.22.0 onnxruntime tokenizers jinja2 nvidia-cuda-nvrtc nvidia-cuda-nvrtc-cu12 nvidia-cuda-runtime \
  clang-format==19.1.7 clang-tidy==19.1.0.1 "tritonclient[http]==2.73.0" openai==3.57.0
export GCC_GRAPH_PYTHON=$python VIRTUAL_ENV=$PWD/build/venv
build release
# Tests find only the programs that setup.sh installs, so a test that needs another program fails here, too.
rm -rf build/programs
python3 tools/lib/listed_programs.py build/programs
[ ! -d build/programs ] || PATH=$PWD/build/programs
ctest --preset release -j "$(nproc)" "$@"
