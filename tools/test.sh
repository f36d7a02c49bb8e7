#!/usr/bin/env bash
# Installs missing packages, builds everything and runs all tests. The output ends with ctest's summary. These packages come from
# PyPI: engines to compare models with; two major versions of NVIDIA's run-time compiler and the CUDA headers, which assemble
# GPU code without a GPU; NVIDIA's Triton client and OpenAI's client, which test
# the server; model-signing (it imports pyopenssl, but does not require it), which makes and verifies signatures; and fixed versions
# of clang-format and clang-tidy.
#
#   tools/test.sh [CTEST OPTIONS...]
source "$(dirname "$0")/lib/setup.sh"

python_packages numpy onnx==1.22.0 onnxruntime tokenizers jinja2 nvidia-cuda-nvrtc nvidia-cuda-nvrtc-cu12 nvidia-cuda-runtime \
  clang-format==19.1.7 clang-tidy==19.1.0.1 "tritonclient[http]==2.73.0" openai==3.57.0 \
  model-signing==1.1.1 pyopenssl
export GCC_GRAPH_PYTHON=$python VIRTUAL_ENV=$PWD/build/venv
build release
# Tests find only the programs that setup.sh installs, so a test that needs another program fails here, too.
rm -rf build/programs
python3 tools/lib/listed_programs.py build/programs
[ ! -d build/programs ] || PATH=$PWD/build/programs
ctest --preset release -j "$(nproc)" "$@"
