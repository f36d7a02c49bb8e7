#!/usr/bin/env bash
# gpu_check_test.sh BUILD: tools/gpu-check.sh packs a bundle of small models, and runs a small part of each stage on the
# simulated GPU. Every stage must have its row and its lines in the table. If a stage fails, the script must name it and
# fail.
set -euo pipefail
build=$(cd "$1" && pwd)
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
[ -n "${GCC_GRAPH_PYTHON:-}" ] || { echo "SKIP: GCC_GRAPH_PYTHON is not set (tools/test.sh sets it)"; exit 77; }
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
on_gpu() { "$root/tests/cuda/sim/run_sim.sh" --build "$build" --sm 80 --libraries "$@"; }
fail() { echo "gpu_check_test: $*"; [ ! -e "$work/log" ] || tail -n 60 "$work/log"; exit 1; }

GPU_CHECK_BUILD=$build GPU_CHECK_PACK=cat GPU_CHECK_MODELS="mlp branch_loop" "$root/tools/gpu-check.sh" --bundle "$work/bundle" >"$work/log" 2>&1 ||
  fail "packing failed"
check=$work/bundle/gpu-check.sh results=$work/bundle/results
on_gpu "$check" --quick >"$work/log" 2>&1 || fail "a stage failed"

expect() { grep -qE -- "$1" "$results/table.md" || fail "the table has no line like '$1'"; }
for stage in device conformance ops models soak sanitizer libraries fleets tune bench engines; do expect "^\| $stage \| passed \| [0-9]+ \|$"; done
expect '^GPU: simulated sm_80'
expect '^[0-9]+ passed / 0 failed / [0-9]+ unsupported of 12$'
expect '^ops: [1-9][0-9]+ forms in 2 of 2 parts passed$'
for row in mlp_b1 branch_loop; do for precision in fp32 fp16; do
  expect "^$row $precision: .*(agree|within|largest|error)"
  expect "^\| $row \| $precision \| gcc-graph \| [0-9.]+ \| [0-9.]+ \| [0-9.]+ \|$"
  expect "^\| $row \| $precision \| gcc-graph, tuned \| "
done; done
expect '^tune branch_loop fp32: .* [1-9][0-9]* shapes measured'
expect '^soak mlp_b1: .*40'
expect '^\| mlp_b1 \| fp32 \| gcc-graph with cublasLt'
expect '^\| mlp_b1 \| fp32 \| gcc-graph with libraries, tuned \| '
for row in mlp_b1 branch_loop; do expect "^\| $row \| [0-9]+ on [a-z0-9:, -]+ \| [0-9.]+ \| [0-9.]+ \| [0-9.]+ % \|$"; done
expect '^(SKIP: |FAILED |PyTorch|.*torch)'

GPU_CHECK_RECORDS=$work/records "$root/tools/gpu-check.sh" --record "$results" >"$work/log" || fail "recording failed"
record=$(echo "$work"/records/*-simulated-sm-80*.md)
cmp -s "$record" "$results/table.md" || fail "the record $record is not the table"

# The script must not repeat finished work: with a GPU that cannot run anything, all stages pass, and no row occurs
# twice.
GART_SIM_FAIL=cuGraphLaunch:1:700 on_gpu "$check" --quick device conformance ops models bench engines >"$work/log" 2>&1 || fail "something was done again"
for row in '^\| mlp_b1 \| fp16 \| gcc-graph \|' '^\| branch_loop \| fp32 \| gcc-graph, tuned \|' '^# '; do
  [ "$(grep -cE "$row" "$results/table.md")" = 1 ] || fail "the table has not one line like '$row'"
done
status=0
RESULTS=$work/late GPU_CHECK_MINUTES=0 on_gpu "$check" --quick conformance ops models tune bench engines >"$work/log" 2>&1 || status=$?
[ $status = 3 ] || fail "without time the exit code was $status"
for stage in conformance ops models tune bench; do grep -q "^| $stage | unfinished |" "$work/late/table.md" || fail "stage $stage needed no time"; done

rm "$results"/*.agrees
status=0
GART_SIM_FAIL=cuGraphLaunch:2:700 GART_SIM_QUIET=1 on_gpu "$check" --quick models soak >"$work/log" 2>&1 || status=$?
[ $status = 1 ] || fail "a failed launch gave exit code $status"
expect '^\| models \| FAILED \|'
status=0
"$check" device nonsense >"$work/log" 2>&1 || status=$?
[ $status = 2 ] && grep -q "no stage 'nonsense'" "$work/log" || fail "a stage that is not there gave exit code $status"
echo "passed in $SECONDS s"
