#!/usr/bin/env bash
# Checks and measures gcc-graph on a machine with an NVIDIA GPU that has nothing but the driver.
#
#   tools/gpu-check.sh --bundle DIR          on a machine with the project's tools: packs everything that the check needs, and
#                                            this script, into DIR/part-00, part-01, ...: at most 64 MiB with the
#                                            repository's own files
#   DIR/gpu-check.sh [--quick] [STAGE...]    on the machine with the GPU: all stages, or the named ones, in this order:
#     device       describes the machine: GPU, driver, CPU, compilers
#     conformance  every case of the ONNX backend suite that the CPU passes: compiled, run, compared
#     ops          the operator tables
#     models       the benchmark models, fp32 and fp16, against this machine's CPU
#     soak         10,000 runs on 4 threads, all results equal
#     sanitizer    the operator tables under compute-sanitizer, if that is installed
#     libraries    the models again with cuBLASLt and cuDNN bound (--libraries auto), if the machine or its Python has them
#     fleets       rates and links of all GPUs and CPU pools; the models over all of them: correctness and speed
#     tune         every product of the benchmark models, and every call of installed libraries, with every candidate, into
#                  RESULTS/tuning.json
#     bench        wall, device and enqueue time by the cost model and by tuning.json
#     engines      PyTorch and JAX for comparison, if they are installed
#   tools/gpu-check.sh --record RESULTS      back in the project: adds RESULTS/table.md to tests/bench/results/DATE-GPU.md
#
# Results go to $RESULTS (default: DIR/results), and tables to RESULTS/table.md, which ends with each stage's outcome. The exit
# code is 1 if a stage failed. Results that are already in $RESULTS are not measured again, except failed ones, so an
# interrupted run continues.
# GPU_CHECK_MINUTES=N starts nothing new after N minutes (running work may take a minute or two more). The exit code is then
# 3, and the same call does the rest.
# --quick runs a small part of every stage, as a smoke test: a few cases (no whole networks), operators, small models (one of
# them tuned), few runs and milliseconds. These variables set its parts: GPU_CHECK_CASES=N cases, GPU_CHECK_SOAK=N runs,
# GPU_CHECK_MODELS="mlp ..." (also of the bundle), GPU_CHECK_OPS=PATTERN of operator tests, GPU_CHECK_SECONDS=N for each row,
# GPU_CHECK_TUNE_SECONDS=N for each candidate, GPU_CHECK_JOBS=N parallel processes for work that is not timed.
# Without a GPU: tests/cuda/sim/run_sim.sh --sm 80 DIR/gpu-check.sh.
# For tests of this script: GPU_CHECK_BUILD=DIR packs the programs of that build, $GCC_GRAPH_PYTHON makes the models,
# GPU_CHECK_PACK=cat packs without compression, GPU_CHECK_RECORDS=DIR replaces tests/bench/results.
set -euo pipefail

say() { printf '== %s\n' "$*"; }

# ---- on this machine: the bundle

copy_libraries() {  # copies the libraries of a program, except those that every system has
  ldd "$1" | awk '/=> \// {print $3}' | grep -vE '/(libc|libm|libdl|libpthread|librt)\.so|ld-linux' | xargs -I{} cp -L {} "$2"
}

find_nvrtc() {
  local dir
  for dir in "${CUDA_HOME:-/usr/local/cuda}/lib64" build/venv/lib/python3*/site-packages/nvidia/*/lib; do
    ls "$dir"/libnvrtc.so.[0-9]* >/dev/null 2>&1 && { echo "$dir"; return; }
  done
}

make_models() {  # FOLDER
  local name source made=build/models
  [ -z "${GPU_CHECK_BUILD:-}" ] || made=$GPU_CHECK_BUILD/models
  mkdir -p "$made"
  for name in ${GPU_CHECK_MODELS:-resnet50 mobilenet_v2 bert_base bert_large minilm_l6 vit_b_16 googlenet gpt2_step chain_500 branch_loop mlp}; do
    source=$made/$name.onnx
    [ -e "$source" ] || "$python" tools/models/make_model.py "$name" "$source"
    "$python" tests/gpu/strip_weights.py "$source" "$1/$name.onnx"
  done
}

# Sets $build and $python.
prepare_tools() {
  if [ -n "${GPU_CHECK_BUILD:-}" ]; then
    build=$GPU_CHECK_BUILD python=${GCC_GRAPH_PYTHON:-python3}
  else
    source tools/lib/setup.sh
    python_packages numpy onnx==1.22.0
    build release gcc-graph gpu_soak gpu_ops_test make_weights
    build=build/release
  fi
}

# The models' weights are noise, and are generated again on the other machine. Most of the bundle is the code of NVRTC
# and LLVM, which xz's filter for it makes 6 % smaller.
bundle() {
  local out home nvrtc size limit
  out=$(realpath -m "$1"); cd "$(dirname "${BASH_SOURCE[0]}")/.."
  limit=$(((64 << 20) - $(git ls-files -z 2>/dev/null | xargs -0r cat | wc -c)))
  prepare_tools
  home=$(mktemp -d)
  mkdir -p "$home"/{bin,lib,models,cases}
  for program in bin/gcc-graph gpu/gpu_soak bin/gpu_ops_test gpu/make_weights; do
    strip -o "$home/bin/$(basename "$program")" "$build/$program"
  done
  copy_libraries "$build/bin/gcc-graph" "$home/lib"
  copy_libraries "$build/bin/gpu_ops_test" "$home/lib"
  nvrtc=$(find_nvrtc)
  [ -n "$nvrtc" ] || { python_packages numpy onnx==1.22.0 nvidia-cuda-nvrtc; nvrtc=$(find_nvrtc); }
  cp -L "$(ls "$nvrtc"/libnvrtc.so.[0-9]* | sort -V | tail -n 1)" "$nvrtc"/libnvrtc-builtins.so.[0-9]* "$home/lib/"
  cp tests/gpu/compare_torch.py tests/gpu/compare_jax.py "$home/bin/"
  make_models "$home/models"
  "$python" tests/gpu/export_conformance.py "$home/cases"
  mkdir -p "$out"; rm -f "$out"/part-*
  tar -C "$home" -c . | ${GPU_CHECK_PACK:-xz -T0 --x86 --lzma2=preset=6} | split -b 30m -d - "$out/part-"
  cp tools/gpu-check.sh "$out/"; rm -rf "$home"
  size=$(cat "$out"/part-* | wc -c)
  say "bundle of $size bytes"; ls -l "$out"
  [ "${GPU_CHECK_PACK:-}" = cat ] || [ "$size" -le $limit ] || { echo "gpu-check: the bundle has $size bytes, more than the limit of $limit" >&2; return 1; }
}

record() {  # RESULTS
  local gpu day folder
  folder=${GPU_CHECK_RECORDS:-$(realpath "$(dirname "${BASH_SOURCE[0]}")/..")/tests/bench/results}
  day=$(sed -n '1s/^# \([0-9-]*\).*/\1/p' "$1/table.md") gpu=$(sed -n 's/^GPU: //p' "$1/table.md" | head -n 1 | cut -d, -f1 | tr -cs 'A-Za-z0-9\n' -)
  [ -n "$day" ] && [ -n "$gpu" ] || { echo "gpu-check: $1/table.md does not begin with a date and a GPU: run the stage 'device' first" >&2; return 1; }
  mkdir -p "$folder"
  cat "$1/table.md" >>"$folder/$day-$gpu.md"
  say "added to $folder/$day-$gpu.md"
}

# ---- on the machine with the GPU: the stages

# Runs a program of the bundle with the bundle's libraries. cuBLASLt and cuDNN come from the machine or from its Python packages.
bundled() {
  local program=$home/bin/$1; shift
  LD_LIBRARY_PATH="$home/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}${wheels:+:$wheels}" ${wrapper:-} "$program" "$@"
}
tool() { bundled gcc-graph "$@"; }

time_is_up() { [ "$(date +%s)" -ge "$deadline" ]; }

unxz_by_python() { python3 -c 'import lzma, shutil, sys; shutil.copyfileobj(lzma.open(sys.stdin.buffer), sys.stdout.buffer)'; }

# Prints the command that unpacks the parts, by their first bytes: xz, python3, zstd or cat.
unpacker() {
  case $(head -c 4 "$here/part-00" | od -An -tx1 | tr -d ' ') in
    fd377a58) if command -v xz >/dev/null; then echo "xz -d -T0"; elif command -v python3 >/dev/null; then echo unxz_by_python
      else echo "gpu-check: neither xz nor python3 is installed, and the bundle is packed with xz (GPU_CHECK_PACK=cat packs one without)" >&2; exit 2; fi ;;
    28b52ffd) echo "zstd -d" ;;
    *) echo cat ;;
  esac
}

unpack() {
  local nvrtc with
  home=$here/unpacked
  [ -e "$home/.done" ] || { with=$(unpacker); mkdir -p "$home"; cat "$here"/part-* | $with | tar -C "$home" -x; touch "$home/.done"; }
  nvrtc=$(ls "$home"/lib/libnvrtc.so.* | sort -V | tail -n 1)
  wheels=$(python3 -c 'import glob, sys; print(":".join(d for p in sys.path for d in sorted(glob.glob(p + "/nvidia/*/lib"))))' 2>/dev/null || true)
  export GCC_GRAPH_NVRTC=${GCC_GRAPH_NVRTC:-$nvrtc} home results wheels
  results=${RESULTS:-$here/results}; mkdir -p "$results"
  table=$results/table.md
}

describe_gpu() {
  if [ -n "${GART_SIM_SM:-}" ]; then echo "simulated sm_$GART_SIM_SM, whose times mean nothing"; return; fi
  nvidia-smi --query-gpu=name,driver_version,compute_cap,memory.total,clocks.max.sm --format=csv,noheader 2>/dev/null | head -n 1
}

stage_device() {
  [ ! -s "$table" ] || { cat "$table"; return 0; }
  { date -u +"# %Y-%m-%d %H:%M UTC"; echo
    echo "GPU: $(describe_gpu)"
    echo "CPU: $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(nproc) threads"
    echo "System: $(uname -sr), $(basename "$GCC_GRAPH_NVRTC"), target $target"; echo; } | tee "$table"
}

# The GPU's SM version, with the suffix for architecture-specific instructions.
gpu_target() {
  local cap=${GART_SIM_SM:-}
  [ -n "$cap" ] || cap=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | head -n 1 | tr -d .)
  [ -n "$cap" ] || { echo "gpu-check: no GPU found" >&2; exit 2; }
  case $cap in 90|100|120) [ -n "${GART_SIM_SM:-}" ] && echo "sm_$cap" || echo "sm_${cap}a" ;; *) echo "sm_$cap" ;; esac
}

cases_part() {  # PART PARTS LIST OUT: one process runs every PARTS-th line, because creating a context takes longer than a case
  awk -v part="$1" -v parts="$2" 'NR % parts == part' "$3" |
    XDG_CACHE_HOME=$results/cache bundled gpu_ops_test --cases "$home/cases" "$target" "$deadline" 2>>"$results/conformance.errors" >>"$4"
}

spread() {  # N FILE: N evenly spread lines of it, or all if it has fewer
  awk -v n="$1" '{line[NR] = $0} END {for (i = 1; i <= NR; ++i) if (n >= NR || int(i * n / NR) > int((i - 1) * n / NR)) print line[i]}' "$2"
}

check_cases() {  # LINES OUT
  local all=$results/cases.txt
  spread "$1" <(grep -vE "${GPU_CHECK_WITHOUT:-^$}" "$home/cases/cases.txt") >"$all"
  touch "$2"; sed -i '/^FAILED/d' "$2"
  awk 'FILENAME == ARGV[1] {done[$2]; next} !($1 in done)' "$2" "$all" >"$results/cases.left"
  seq 0 $((jobs - 1)) | xargs -P "$jobs" -I{} bash -c 'cases_part "$@"' part {} "$jobs" "$results/cases.left" "$2"
  grep '^FAILED' "$2" | head -n 40 || true
  echo "$(grep -c '^passed' "$2" || true) passed / $(grep -c '^FAILED' "$2" || true) failed / $(grep -c '^unsupported' "$2" || true) unsupported of $(wc -l <"$all")"
}

stage_conformance() {
  check_cases "${GPU_CHECK_CASES:-100000}" "$results/conformance.txt" | tee -a "$table"
  ! grep -q '^FAILED' "$results/conformance.txt" || return 1
  [ "$(wc -l <"$results/conformance.txt")" -ge "$(wc -l <"$results/cases.txt")" ] || return 3
  grep -q '^passed' "$results/conformance.txt"
}

ops_part() {  # LOG PART PARTS PREFIX...: its output goes to LOG.passed or LOG.failed
  local log=$1 part=$2/$3; shift 3
  [ ! -e "$log.passed" ] && ! time_is_up || return 0
  rm -f "$log.failed"
  GPU_OPS_TARGET=$target GPU_OPS_PART=$part XDG_CACHE_HOME=$results/cache wrapper="$*" \
    bundled gpu_ops_test --gtest_brief=1 --gtest_filter="${GPU_CHECK_OPS:-*}" >"$log.log" 2>&1 && mv "$log.log" "$log.passed" || mv "$log.log" "$log.failed"
}

run_ops() {  # NAME PREFIX...: runs parts of the operator tables side by side, each as an argument of the command PREFIX
  local name=$1 folder=$results/$1 parts=${GPU_CHECK_PARTS:-$((4 * jobs))} passed failed log; shift
  mkdir -p "$folder"
  seq 0 $((parts - 1)) | xargs -P "$jobs" -I{} bash -c 'ops_part "$@"' part "$folder/{}" {} "$parts" "$@"
  passed=$(find "$folder" -name '*.passed' | wc -l) failed=$(find "$folder" -name '*.failed' | wc -l)
  { echo "$name: $(cat "$folder"/*.passed 2>/dev/null | awk '$2 == "forms" {n += $1} END {print n + 0}') forms in $passed of $parts parts passed"
    for log in "$folder"/*.failed; do [ ! -e "$log" ] || grep -E '^\[  FAILED  \]|ERROR SUMMARY' "$log" || tail -n 1 "$log"; done | sort -u | head -n 40 | sed "s/^/FAILED $name: /"; } | tee -a "$table"
  [ "$failed" = 0 ] || return 1
  [ "$passed" = "$parts" ] || return 3
}

stage_ops() { run_ops ops env; }

stage_sanitizer() {
  local sanitizer; sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null) ||
    { echo "SKIP sanitizer: there is no compute-sanitizer" | tee -a "$table"; return 0; }
  run_ops sanitizer "$sanitizer" --error-exitcode 9
}

models() { if [ -n "${GPU_CHECK_MODELS:-}" ]; then echo "$GPU_CHECK_MODELS"; else (cd "$home/models" && basename -s .onnx -a ./*.onnx); fi; }

# The measured rows: ROW MODEL NAME=VALUE... compare_torch.py and compare_jax.py use the same row names.
bench_rows() {
  local size sequence batch
  echo "resnet50_b1 resnet50 batch=1
resnet50_b8 resnet50 batch=8
mobilenet_v2_b1 mobilenet_v2 batch=1
vit_b_16_b1 vit_b_16 batch=1
vit_b_16_b8 vit_b_16 batch=8
googlenet_b1 googlenet batch=1
minilm_l6_s128_b1 minilm_l6 batch=1 sequence=128
gpt2_step_p128 gpt2_step batch=1 past=128
chain_500 chain_500 batch=64
branch_loop branch_loop batch=1
mlp_b1 mlp batch=1"
  for size in base large; do for sequence in 128 384; do for batch in 1 8; do
    echo "bert_${size}_s${sequence}_b$batch bert_$size batch=$batch sequence=$sequence"
  done; done; done
}

# The rows whose models exist. If $1 is "models": only the first row of each model.
rows() {
  local row name dims there=" $(models | tr '\n' ' ') " seen=" "
  bench_rows | while read -r row name dims; do
    [[ $there == *" $name "* ]] || continue
    [ "${1:-}" = models ] && [[ $seen == *" $name "* ]] && continue
    seen+="$name "; echo "$row $name $dims"
  done
}

dim_options() { printf -- '--dim %s ' "$@"; }

make_weights_of() {  # MODEL
  local model=$home/models/$1
  [ -e "$model.weights" ] || [ ! -e "$model.recipe" ] || { bundled make_weights "$model.recipe" "$model.weights.tmp" && mv "$model.weights.tmp" "$model.weights"; }
}

compile_row() {  # ROW MODEL PRECISION DIM...: uses tuning.json if it exists. With LIBRARIES=auto it writes ROW.PRECISION.auto.gart
  local row=$1 model=$home/models/$2.onnx precision=$3 libraries=${LIBRARIES:-none}
  local artifact=$results/$row.$precision; shift 3
  [ "$libraries" = none ] || artifact+=.$libraries
  make_weights_of "$(basename "$model" .onnx)"
  [ -e "$artifact.gart" ] || tool compile "$model" -o "$artifact.gart" --target "x86-64-v3,x86-64-v4,$target" --precision "$precision" \
    --libraries "$libraries" $(dim_options "$@") >"$artifact.compile.txt" || return 1
  [ ! -e "$results/tuning.json" ] || [ -e "$artifact.tuned.gart" ] || tool compile "$model" -o "$artifact.tuned.gart" \
    --target "$target" --precision "$precision" --libraries "$libraries" --tuning "$results/tuning.json" $(dim_options "$@") >"$artifact.tuned.compile.txt"
}

stage_models() {
  local row name dims precision status=0 rtol line
  while read -r row name dims; do
    for precision in fp32 fp16; do
      [ ! -e "$results/$row.$precision.agrees" ] || continue
      ! time_is_up || return 3
      compile_row "$row" "$name" "$precision" $dims </dev/null || { echo "FAILED $row $precision: not compiled" | tee -a "$table"; status=1; continue; }
      [ -e "$results/$row.npz" ] || tool run "$results/$row.$precision.gart" --device cpu --random 1 $(dim_options $dims) --outputs "$results/$row.npz" >/dev/null </dev/null
      rtol=1e-3; [ $precision = fp16 ] && rtol=3e-2
      line=$(tool run "$results/$row.$precision.gart" --device cuda --random 1 $(dim_options $dims) --expect "$results/$row.npz" --rtol $rtol 2>&1 </dev/null | tail -n 1) &&
        touch "$results/$row.$precision.agrees" || status=1
      echo "$row $precision: $line" | tee -a "$table"
    done
  done < <(rows models)
  return $status
}

stage_soak() {
  local row name dims
  read -r row name dims < <(rows models | grep -m 1 -E ' (resnet50|mlp) ') || { echo "SKIP soak: neither resnet50 nor mlp is here" | tee -a "$table"; return 0; }
  compile_row "$row" "$name" fp32 $dims
  ! time_is_up || return 3
  bundled gpu_soak "$results/$row.fp32.gart" cuda 4 "${GPU_CHECK_SOAK:-10000}" | sed "s/^/soak $row: /" | tee -a "$table"
}

stage_tune() {
  local row name dims precision status=0
  while read -r row name dims; do
    for precision in ${GPU_CHECK_TUNE_PRECISIONS:-fp32 fp16}; do
      ! time_is_up || return 3
      make_weights_of "$name"
      tool tune "$home/models/$name.onnx" -o "$results/tuning.json" --target "$target" --precision "$precision" --seconds "${GPU_CHECK_TUNE_SECONDS:-0.05}" \
        --launches "${GPU_CHECK_TUNE_LAUNCHES:-20}" --libraries auto \
        $(dim_options $dims) </dev/null 2>&1 | sed "s/^/tune $row $precision: /" | tee -a "$table" || { echo "FAILED tune $row $precision" | tee -a "$table"; status=1; }
    done
  done < <(rows | head -n "${GPU_CHECK_TUNE_ROWS:-1000}")
  return $status
}

bench_row() {  # ARTIFACT "| ROW | PRECISION | ENGINE" DIM...
  local artifact=$1 head=$2; shift 2
  ! grep -F -- "$head | " "$table" 2>/dev/null | grep -qv '| failed |' || return 0
  tool bench "$artifact" --device cuda --random 1 $(dim_options "$@") --seconds "${GPU_CHECK_SECONDS:-2}" --json >"$artifact.json" </dev/null || { echo "$head | failed | | |" | tee -a "$table"; return 1; }
  tr -d ' ",' <"$artifact.json" | awk -F: -v head="$head" '
    $1 == "wall_p50_ms" {w = $2} $1 == "device_p50_ms" {d = $2} $1 == "enqueue_p50_us" {e = $2}
    END {printf "%s | %.4f | %.4f | %.1f |\n", head, w, d, e}' | tee -a "$table"
}

# Prints "ROW PRECISION ENGINE WALL DEVICE ENQUEUE" lines as rows of the table, and all other lines below it.
other_rows() {  # LOG...
  { awk 'NF == 6 && $1 !~ /^(#|SKIP|FAILED)/ {print "| " $1 " | " $2 " | " $3 " | " $4 " | " $5 " | " $6 " |"}' "$@"
    echo; grep -hE '^(#|SKIP|FAILED)' "$@" | sed 's/^# //' || true; } | awk 'FILENAME == ARGV[1] {there[$0]; next} $0 == "" || !($0 in there)' "$table" - >"$results/other_rows.txt"
  tee -a "$table" <"$results/other_rows.txt"
}

# Compares ours with each other engine: ratios of wall and device times, above 1 if ours is faster.
ratios() {
  echo; echo "| row | precision | engine | wall: theirs / ours | device: theirs / ours |"; echo "|---|---|---|---|---|"
  awk -F' *\\| *' 'NF == 8 && $4 == "gcc-graph" {wall[$2 $3] = $5; device[$2 $3] = $6}
    NF == 8 && $4 !~ /gcc-graph|engine|---/ && $2 $3 in wall {
      printf "| %s | %s | %s | %.2f | %s |\n", $2, $3, $4, $5 / wall[$2 $3], $6 == "-" ? "-" : sprintf("%.2f", $6 / device[$2 $3])}' "$table"
}

# LIBRARY: true if the machine has it. A model that calls the library loads only on such a machine.
has_library() {
  local row name dims line
  while read -r row name dims; do
    LIBRARIES=$1 compile_row "$row" "$name" fp32 $dims </dev/null
    grep -q " by $1" "$results/$row.fp32.$1.compile.txt" || continue
    line=$(tool run "$results/$row.fp32.$1.gart" --device cuda --random 1 $(dim_options $dims) 2>&1 >/dev/null </dev/null) && return 0
    echo "no $1: $line" | tee -a "$table"; return 1
  done < <(rows models)
  return 1
}

stage_libraries() {
  local row name dims precision library found= status=0 rtol line
  for library in cublasLt cudnn; do ! has_library $library || found="$found $library"; done
  [ -n "$found" ] || { echo "SKIP libraries: the machine has none" | tee -a "$table"; return 0; }
  { echo; echo "| row | precision | engine | wall p50 ms | device p50 ms | enqueue p50 us |"; echo "|---|---|---|---|---|---|"; } | tee -a "$table"
  while read -r row name dims; do
    for precision in fp32 fp16; do
      ! time_is_up || return 3
      LIBRARIES=auto compile_row "$row" "$name" "$precision" $dims </dev/null || { echo "FAILED $row $precision with libraries: not compiled" | tee -a "$table"; status=1; continue; }
      [ -e "$results/$row.npz" ] || tool run "$results/$row.$precision.auto.gart" --device cpu --random 1 $(dim_options $dims) --outputs "$results/$row.npz" >/dev/null </dev/null
      rtol=1e-3; [ $precision = fp16 ] && rtol=3e-2
      line=$(tool run "$results/$row.$precision.auto.gart" --device cuda --random 1 $(dim_options $dims) --expect "$results/$row.npz" --rtol $rtol 2>&1 </dev/null | tail -n 1) ||
        { echo "FAILED $row $precision with libraries: $line" | tee -a "$table"; status=1; continue; }
      bench_row "$results/$row.$precision.auto.gart" "| $row | $precision | gcc-graph with$found" $dims || status=1
    done
  done < <(rows models)
  return $status
}

# Runs parts of the models on all GPUs and CPU pools, placed by measured rates and links. Checks the results, measures
# the speed of single runs and of a pipeline, and compares predictions with runs of random placements.
stage_fleets() {
  local row name dims status=0 line fleet=$results/fleet.json artifact
  [ -s "$fleet" ] || { tool devices --probe --json >"$fleet.tmp" && mv "$fleet.tmp" "$fleet"; } || return 1
  { echo; echo "| row | devices of groups | p50 ms | pipelined ms per run | median error of predictions |"; echo "|---|---|---|---|---|"; } | tee -a "$table"
  while read -r row name dims; do
    artifact=$results/$row.fleet.gart
    ! grep -qE "^\| $row \| [0-9]+ " "$table" || continue
    ! time_is_up || return 3
    make_weights_of "$name"
    tool compile "$home/models/$name.onnx" -o "$artifact" --fleet "$fleet" --cut support,stages $(dim_options $dims) >"$artifact.txt" </dev/null ||
      { echo "FAILED $row on a fleet: not compiled" | tee -a "$table"; status=1; continue; }
    [ -e "$results/$row.npz" ] || tool run "$artifact" --device cpu --random 1 $(dim_options $dims) --outputs "$results/$row.npz" >/dev/null </dev/null
    line=$(tool run "$artifact" --fleet "$fleet" --random 1 $(dim_options $dims) --expect "$results/$row.npz" --rtol 1e-3 2>&1 </dev/null | tail -n 1) ||
      { echo "FAILED $row on a fleet: $line" | tee -a "$table"; status=1; continue; }
    { tool bench "$artifact" --fleet "$fleet" --random 1 $(dim_options $dims) --seconds "${GPU_CHECK_SECONDS:-2}" --json
      tool bench "$artifact" --fleet "$fleet" --random 1 $(dim_options $dims) --seconds "${GPU_CHECK_SECONDS:-2}" --placements 4 --json
    } >"$artifact.json" </dev/null || { echo "FAILED $row on a fleet: not measured" | tee -a "$table"; status=1; continue; }
    tr -d ' ",' <"$artifact.json" | awk -F: -v row="$row" -v groups="$(grep -oE '^    .* on [^ ]+ \(of' "$artifact.txt" | sed -E 's/.* on ([^ ]+) \(of/\1/' | sort | uniq -c | awk '{printf "%s%s on %s", (NR > 1 ? ", " : ""), $1, $2}')" '
      $1 == "p50_ms" {p = $2} $1 == "ms_per_run" {m = $2} $1 == "median_error" {e = $2}
      END {printf "| %s | %s | %.4f | %.4f | %.1f %% |\n", row, groups, p, m, 100 * e}' | tee -a "$table"
  done < <(rows models)
  return $status
}

stage_bench() {
  local row name dims precision status=0
  { echo; echo "| row | precision | engine | wall p50 ms | device p50 ms | enqueue p50 us |"; echo "|---|---|---|---|---|---|"; } | tee -a "$table"
  while read -r row name dims; do
    for precision in fp32 fp16; do
      ! time_is_up || return 3
      compile_row "$row" "$name" "$precision" $dims </dev/null || { echo "FAILED $row $precision: not compiled" | tee -a "$table"; status=1; continue; }
      bench_row "$results/$row.$precision.gart" "| $row | $precision | gcc-graph" $dims || status=1
      [ ! -e "$results/$row.$precision.tuned.gart" ] || bench_row "$results/$row.$precision.tuned.gart" "| $row | $precision | gcc-graph, tuned" $dims || status=1
      [ -e "$results/$row.$precision.auto.gart" ] && [ -e "$results/tuning.json" ] || continue
      LIBRARIES=auto compile_row "$row" "$name" "$precision" $dims </dev/null
      bench_row "$results/$row.$precision.auto.tuned.gart" "| $row | $precision | gcc-graph with libraries, tuned" $dims || status=1
    done
  done < <(rows)
  return $status
}

# The rows of the bundle's models that have not been measured yet.
run_engine() {  # NAME
  local log=$results/$1.txt errors=$results/$1.errors.txt status=0
  touch "$log"; sed -i '/^\(#\|SKIP\|FAILED\)/d' "$log"
  command -v python3 >/dev/null || { echo "SKIP $1: there is no python3" >>"$log"; return 0; }
  timeout "$((deadline > $(date +%s) ? deadline - $(date +%s) : 1))" python3 "$home/bin/compare_$1.py" --seconds "${GPU_CHECK_SECONDS:-2}" --done "$log" \
    $(rows | cut -d' ' -f1) >>"$log" 2>"$errors" || status=$?
  [ $status != 124 ] || return 3
  [ $status = 0 ] || echo "FAILED $1: $(tail -n 1 "$errors")" >>"$log"
}

stage_engines() {
  local engine status=0
  for engine in torch jax; do run_engine $engine || status=3; done
  { echo; echo "| row | precision | engine | wall p50 ms | device p50 ms | enqueue p50 us |"; echo "|---|---|---|---|---|---|"; } | tee -a "$table"
  other_rows "$results/torch.txt" "$results/jax.txt"
  ratios >"$results/ratios.md"; tee -a "$table" <"$results/ratios.md"
  return $status
}

# Runs a small part of everything.
be_quick() {
  export GPU_CHECK_WITHOUT='^light-' GPU_CHECK_CASES=${GPU_CHECK_CASES:-12} GPU_CHECK_SOAK=${GPU_CHECK_SOAK:-40} GPU_CHECK_OPS=${GPU_CHECK_OPS:-Softmax*:Gemm*}
  export GPU_CHECK_SECONDS=${GPU_CHECK_SECONDS:-0.05} GPU_CHECK_TUNE_SECONDS=${GPU_CHECK_TUNE_SECONDS:-0.001}
  export GPU_CHECK_PARTS=${GPU_CHECK_PARTS:-2} GPU_CHECK_TUNE_LAUNCHES=1 GPU_CHECK_TUNE_ROWS=1 GPU_CHECK_TUNE_PRECISIONS=fp32
  export GPU_CHECK_MODELS=${GPU_CHECK_MODELS:-mlp branch_loop}
}

run_stages() {  # STAGE...
  local stage begin outcome rc status=0 outcomes=
  for stage in "$@"; do
    say "$stage"; begin=$SECONDS rc=0
    "stage_$stage" || rc=$?
    case $rc in 0) outcome=passed ;; 3) outcome=unfinished ;; *) outcome=FAILED ;; esac
    [ $rc = 0 ] || [ $status = 1 ] || status=$((rc == 3 ? 3 : 1))
    outcomes+="| $stage | $outcome | $((SECONDS - begin)) |"$'\n'
  done
  { echo; echo "| stage | outcome | seconds |"; echo "|---|---|---|"; printf '%s' "$outcomes"; } | tee -a "$table"
  [ $status != 3 ] || say "time is up: the same call does the rest"
  return $status
}

if [ "${1:-}" = --bundle ]; then bundle "${2:?gpu-check.sh --bundle DIR}"; exit; fi
if [ "${1:-}" = --record ]; then record "${2:?gpu-check.sh --record RESULTS}"; exit; fi
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
[ -e "$here/part-00" ] || { sed -n '2,/^set/s/^# \{0,1\}//p' "$0" | sed '$d'; exit 2; }
if [ "${1:-}" = --quick ]; then shift; be_quick; fi
stages="device conformance ops models soak sanitizer libraries fleets tune bench engines"
[ $# -gt 0 ] || set -- $stages
for stage in "$@"; do
  [[ " $stages " == *" $stage "* ]] || { echo "gpu-check: there is no stage '$stage'; there are: $stages" >&2; exit 2; }
done
jobs=${GPU_CHECK_JOBS:-$(nproc)} deadline=$(($(date +%s) + 60 * ${GPU_CHECK_MINUTES:-525600}))
unpack
target=$(gpu_target)
export jobs deadline target
export -f bundled tool time_is_up cases_part ops_part
run_stages "$@"
