#!/usr/bin/env bash
# check_all.sh ASSEMBLED_OPS_TEST ASSEMBLE_MODELS CACHE: assembles every kernel of every operator row and of every
# model, for every GPU or for those that $GCC_GRAPH_TEST_SMS names. Fails if a kernel fails.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export GCC_GRAPH_TEST_SMS=${GCC_GRAPH_TEST_SMS:-all} GCC_GRAPH_TEST_CACHE=$3
SECONDS=0 status=0
echo "== operator rows: $GCC_GRAPH_TEST_SMS"
"$1" --gtest_brief=1 || status=1
echo "== models, after $SECONDS s"
"$here/../../python_test.sh" "$here/assemble_zoo.py" --tool "$2" --cache "$3" --targets "$GCC_GRAPH_TEST_SMS" || status=1
echo "== $([ $status = 0 ] && echo passed || echo FAILED) in $SECONDS s"
exit $status
