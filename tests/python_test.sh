#!/bin/sh
# Runs a test script with the Python of tools/test.sh. Without this Python the test is skipped.
if [ -z "$GCC_GRAPH_PYTHON" ]; then
  echo "SKIP: GCC_GRAPH_PYTHON is not set (tools/test.sh sets it)"
  exit 77
fi
exec "$GCC_GRAPH_PYTHON" "$@"
