#!/usr/bin/env bash
# check_all_rows.sh CUDA_SIM_OPS_TEST [FILTER]: runs every form of every row of tests/ops on the simulated GPU, in a
# process per test, as many at a time as there are CPUs. Prints the output of each test that fails, then "N tests
# passed, N failed".
set -uo pipefail
program=$1
export GART_SIM_ALL_ROWS=1 program logs
logs=$(mktemp -d); trap 'rm -rf "$logs"' EXIT
SECONDS=0
names() { "$program" --gtest_list_tests --gtest_filter="$1" | awk '/^[^ ].*\.$/ {suite = $1; next} /^ / {print suite $1}'; }
check() {  # NAME
  if "$program" --gtest_brief=1 --gtest_filter="$1" >"$logs/$1" 2>&1 && grep -h '^forms: ' "$logs/$1"; then :; else
    echo "FAILED $1"; grep -vE '^(Running main|\[)' "$logs/$1" | head -n 40; fi
}
export -f check
total=$(names "${2:-*}" | wc -l)
names "${2:-*}" | xargs -P "$(nproc)" -I{} bash -c 'check {}' | {
  passed=0 failed=0 forms=0
  while IFS= read -r line; do
    case $line in
      "forms: "*) ((++passed)); ((forms += ${line#forms: })) ;;
      FAILED*) ((++failed)); echo "$line" ;;
      *) echo "$line"; continue ;;
    esac
    (((passed + failed) % 10)) || echo "  $((passed + failed)) of $total tests, $SECONDS s"
  done
  echo "$forms forms in $passed tests passed, $failed tests failed, in $SECONDS s"
  [ $failed = 0 ] && [ $passed = "$total" ]
}
