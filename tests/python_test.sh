#!/bin/sh
# Runs a test script with the Python of tools/test.sh. Without this Python the test is skipped.
if [ -z "$GCC_GRAPH_PYTHON" ]; then
  echo "SKIP: GCC_GRAPH_PYTHON is not set (tools/test.sh sets it)"
  exit 77
fi
# A library built with AddressSanitizer needs its runtime before all others. Other programs that a test starts, such as curl and
# mpirun, would hang with it. Python and OpenMPI do not free everything.
case "$GCC_GRAPH_SANITIZE" in
  *address*)
    ASAN_OPTIONS="detect_leaks=0:$ASAN_OPTIONS"
    LD_PRELOAD="$(${CXX:-c++} -print-file-name=libasan.so) $(${CXX:-c++} -print-file-name=libstdc++.so)"
    export LD_PRELOAD ASAN_OPTIONS
    exec "$GCC_GRAPH_PYTHON" -c 'import os, runpy, sys
del os.environ["LD_PRELOAD"]
sys.argv = sys.argv[1:]
sys.path.insert(0, os.path.dirname(os.path.abspath(sys.argv[0])))
runpy.run_path(sys.argv[0], run_name="__main__")' "$@" ;;
esac
exec "$GCC_GRAPH_PYTHON" "$@"
