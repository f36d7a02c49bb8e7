#!/bin/sh
# Runs a test script with the Python of tools/test.sh. Without this Python the test is skipped.
if [ -z "$GCC_GRAPH_PYTHON" ]; then
  echo "SKIP: GCC_GRAPH_PYTHON is not set (tools/test.sh sets it)"
  exit 77
fi
# Libraries built with AddressSanitizer need its runtime before all others. Python and OpenMPI do not free everything.
case "$GCC_GRAPH_SANITIZE" in
  *address*)
    LD_PRELOAD="$(${CXX:-c++} -print-file-name=libasan.so) $(${CXX:-c++} -print-file-name=libstdc++.so)"
    ASAN_OPTIONS="detect_leaks=0:$ASAN_OPTIONS"
    export LD_PRELOAD ASAN_OPTIONS ;;
esac
exec "$GCC_GRAPH_PYTHON" "$@"
