#!/usr/bin/env bash
# Checks and measures gcc-graph on a machine with an NVIDIA GPU that has nothing but the driver.
#
#   tools/gpu-check.sh --bundle DIR          on a machine with the project's tools: packs all that the check needs into
#                                            DIR/part-00, part-01, ... of at most 60 MiB each, and this script
#   DIR/gpu-check.sh [STAGE...]              on the machine with the GPU: all stages, or those named, in this order:
#     device       what there is: GPU, driver, CPU
#     conformance  every case of the ONNX backend suite that compiles: compiled, run, compared
#     models       the benchmark models, fp32 and fp16, against this machine's CPU
#     soak         10,000 runs on 4 threads, all results equal
#     sanitizer    a sample of conformance under compute-sanitizer, where that is installed
#     libraries    the models once more with cuBLASLt and cuDNN bound (--libraries auto), where the machine has them
#     bench        wall, device and enqueue time of the models; PyTorch beside it, where that is installed
#
# Results go to $RESULTS (default: DIR/results), the tables to RESULTS/table.md, as tests/bench/results/ keeps them. The exit code is 1
# if a case or a model gave a wrong result. GPU_CHECK_CASES=N takes the first N cases, GPU_CHECK_SOAK=N that many runs,
# GPU_CHECK_MODELS="mlp ..." those models (of the bundle, too). Where there is no GPU: tests/cuda/sim/run_sim.sh --sm 80 DIR/gpu-check.sh.
set -euo pipefail

say() { printf '== %s\n' "$*"; }

# ---- here: the bundle

copy_libraries() {  # of a program, without those every system has
  ldd "$1" | awk '/=> \// {print $3}' | grep -vE '/(libc|libm|libdl|libpthread|librt)\.so|ld-linux' | xargs -I{} cp -L {} "$2"
}

find_nvrtc() {
  local dir
  for dir in "${CUDA_HOME:-/usr/local/cuda}/lib64" build/venv/lib/python3*/site-packages/nvidia/*/lib; do
    ls "$dir"/libnvrtc*.so* >/dev/null 2>&1 && { echo "$dir"; return; }
  done
}

make_models() {  # into $1
  local name source
  for name in ${GPU_CHECK_MODELS:-resnet50 mobilenet_v2 bert_base minilm_l6 vit_b_16 gpt2_step mlp}; do
    source=build/models/$name.onnx
    [ -e "$source" ] || "$python" tools/models/make_model.py "$name" "$source"
    "$python" tests/gpu/strip_weights.py "$source" "$1/$name.onnx"
  done
}

bundle() {
  local out home nvrtc
  out=$(realpath -m "$1"); cd "$(dirname "${BASH_SOURCE[0]}")/.."
  source tools/lib/setup.sh
  python_packages numpy onnx==1.22.0
  build release gcc-graph gpu_soak make_weights
  home=$(mktemp -d)
  mkdir -p "$home"/{bin,lib,models,cases}
  strip -o "$home/bin/gcc-graph" build/release/bin/gcc-graph
  strip -o "$home/bin/gpu_soak" build/release/gpu/gpu_soak
  strip -o "$home/bin/make_weights" build/release/gpu/make_weights
  copy_libraries build/release/bin/gcc-graph "$home/lib"
  nvrtc=$(find_nvrtc)
  [ -n "$nvrtc" ] || { python_packages numpy onnx==1.22.0 nvidia-cuda-nvrtc; nvrtc=$(find_nvrtc); }
  cp -L "$nvrtc"/libnvrtc.so.[0-9]* "$nvrtc"/libnvrtc-builtins.so.[0-9]* "$home/lib/"
  cp tests/gpu/compare_torch.py "$home/bin/"
  make_models "$home/models"
  "$python" tests/gpu/export_conformance.py "$home/cases"
  mkdir -p "$out"; rm -f "$out"/part-*
  tar -C "$home" -c . | xz -T0 -3 | split -b 60m -d - "$out/part-"
  cp tools/gpu-check.sh "$out/"; rm -rf "$home"
  say "bundle"; ls -l "$out"
}

# ---- there: the stages

tool() { LD_LIBRARY_PATH="$home/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" "$home/bin/gcc-graph" "$@"; }

unpack() {
  home=$here/unpacked
  [ -e "$home/.done" ] || { mkdir -p "$home"; cat "$here"/part-* | xz -d -T0 | tar -C "$home" -x; touch "$home/.done"; }
  local nvrtc; nvrtc=$(ls "$home"/lib/libnvrtc.so.* | sort -V | tail -n 1)
  export GCC_GRAPH_NVRTC=${GCC_GRAPH_NVRTC:-$nvrtc} home results
  results=${RESULTS:-$here/results}; mkdir -p "$results"
  table=$results/table.md
}

stage_device() {
  { date -u +"# %Y-%m-%d %H:%M UTC"; echo
    nvidia-smi --query-gpu=name,driver_version,compute_cap,memory.total,clocks.max.sm --format=csv,noheader 2>/dev/null || echo "no nvidia-smi"
    grep -m 1 'model name' /proc/cpuinfo || true; echo "target $target"; echo; } | tee "$table"
}

# The SM of the GPU, with the instructions that only that one has.
gpu_target() {
  local cap=${GART_SIM_SM:-}
  [ -n "$cap" ] || cap=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | head -n 1 | tr -d .)
  [ -n "$cap" ] || { echo "gpu-check: no GPU found" >&2; exit 2; }
  case $cap in 90|100|120) [ -n "${GART_SIM_SM:-}" ] && echo "sm_$cap" || echo "sm_${cap}a" ;; *) echo "sm_$cap" ;; esac
}

check_case() {  # NAME SETS RTOL ATOL: "passed NAME", "unsupported NAME", "FAILED NAME: why"
  local name=$1 sets=$2 rtol=$3 atol=$4 i why artifact=$results/$1.gart
  why=$(tool compile "$home/cases/$name/model.onnx" -o "$artifact" --target "$target" --threads 1 2>&1 >/dev/null) || {
    [ $? = 2 ] && echo "unsupported $name" || echo "FAILED $name: $why"; return; }
  for ((i = 0; i < sets; i++)); do
    why=$(timeout 120 $wrapper env LD_LIBRARY_PATH="$home/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" "$home/bin/gcc-graph" run "$artifact" \
      --device cuda --inputs "$home/cases/$name/in_$i.npz" --expect "$home/cases/$name/out_$i.npz" --rtol "$rtol" --atol "$atol" 2>&1) ||
      { echo "FAILED $name: $(tail -n 1 <<<"$why")"; rm -f "$artifact"; return; }
  done
  rm -f "$artifact"; echo "passed $name"
}

check_cases() {  # LINES OUT
  export -f tool check_case; export target wrapper=${wrapper:-}
  head -n "$1" "$home/cases/cases.txt" | xargs -P "${GPU_CHECK_JOBS:-$(nproc)}" -L 1 bash -c 'check_case "$@"' check >"$2"
  grep '^FAILED' "$2" | head -n 40 || true
  echo "$(grep -c '^passed' "$2" || true) passed / $(grep -c '^FAILED' "$2" || true) failed / $(grep -c '^unsupported' "$2" || true) unsupported of $(wc -l <"$2")"
}

stage_conformance() {
  check_cases "${GPU_CHECK_CASES:-100000}" "$results/conformance.txt" | tee -a "$table"
  ! grep -q '^FAILED' "$results/conformance.txt"
}

stage_sanitizer() {
  local sanitizer; sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null) ||
    { echo "SKIP sanitizer: there is no compute-sanitizer" | tee -a "$table"; return 0; }
  wrapper="$sanitizer --error-exitcode 9 --quiet" check_cases "${GPU_CHECK_SANITIZED:-150}" "$results/sanitizer.txt" | tee -a "$table"
  ! grep -q '^FAILED' "$results/sanitizer.txt"
}

models() { if [ -n "${GPU_CHECK_MODELS:-}" ]; then echo "$GPU_CHECK_MODELS"; else (cd "$home/models" && basename -s .onnx -a ./*.onnx); fi; }

dims_of() {  # the benchmark's extents
  case $1 in bert_base|minilm_l6) echo "--dim batch=1 --dim sequence=128" ;; gpt2_step) echo "--dim batch=1 --dim past=128" ;; *) echo "--dim batch=1" ;; esac
}

compile_model() {  # NAME PRECISION [LIBRARIES]: NAME.PRECISION.gart, or NAME.PRECISION.LIBRARIES.gart
  local model=$home/models/$1 name=$1.$2${3:+.$3}
  [ -e "$model.weights" ] || "$home/bin/make_weights" "$model.recipe" "$model.weights"
  [ -e "$results/$name.gart" ] || tool compile "$model.onnx" -o "$results/$name.gart" --target "x86-64-v3,x86-64-v4,$target" --precision "$2" \
    --libraries "${3:-none}" $(dims_of "$1") >"$results/$name.compile.txt"
}

stage_models() {
  local name precision status=0 rtol line
  for name in $(models); do
    for precision in fp32 fp16; do
      compile_model "$name" "$precision" || { echo "FAILED $name $precision: not compiled" | tee -a "$table"; status=1; continue; }
      [ -e "$results/$name.npz" ] || tool run "$results/$name.$precision.gart" --device cpu --random 1 $(dims_of "$name") --outputs "$results/$name.npz" >/dev/null
      rtol=1e-3; [ $precision = fp16 ] && rtol=3e-2
      line=$(tool run "$results/$name.$precision.gart" --device cuda --random 1 $(dims_of "$name") --expect "$results/$name.npz" --rtol $rtol 2>&1 | tail -n 1) || status=1
      echo "$name $precision: $line" | tee -a "$table"
    done
  done
  return $status
}

stage_soak() {
  local name; name=$(models | tr ' ' '\n' | grep -m 1 -E 'resnet50|mlp')
  compile_model "$name" fp32
  "$home/bin/gpu_soak" "$results/$name.fp32.gart" cuda 4 "${GPU_CHECK_SOAK:-10000}" | sed "s/^/soak $name: /" | tee -a "$table"
}

bench_row() {  # ARTIFACT LABEL DIMS...
  local artifact=$1 label=$2; shift 2
  tool bench "$results/$artifact.gart" --device cuda --random 1 "$@" --seconds 2 --json >"$results/$artifact.json"
  tr -d ' ",' <"$results/$artifact.json" | awk -F: -v row="| $label" '
    $1 == "wall_p50_ms" {w = $2} $1 == "device_p50_ms" {d = $2} $1 == "enqueue_p50_us" {e = $2} END {print row " | " w " | " d " | " e " |"}' | tee -a "$table"
}

# LIBRARY: does the machine have it? A model that calls it loads only there.
has_library() {
  local name line
  for name in $(models); do
    compile_model "$name" fp32 "$1"
    grep -q " by $1" "$results/$name.fp32.$1.compile.txt" || continue
    line=$(tool run "$results/$name.fp32.$1.gart" --device cuda --random 1 $(dims_of "$name") 2>&1 >/dev/null) && return 0
    echo "no $1: $line" | tee -a "$table"; return 1
  done
  return 1
}

stage_libraries() {
  local name precision library found= status=0 rtol line
  for library in cublasLt cudnn; do ! has_library $library || found="$found $library"; done
  [ -n "$found" ] || { echo "SKIP libraries: the machine has none" | tee -a "$table"; return 0; }
  { echo; echo "| model with$found | precision | wall p50 ms | device p50 ms | enqueue p50 us |"; echo "|---|---|---|---|---|"; } | tee -a "$table"
  for name in $(models); do
    for precision in fp32 fp16; do
      compile_model "$name" "$precision" auto
      [ -e "$results/$name.npz" ] || tool run "$results/$name.$precision.auto.gart" --device cpu --random 1 $(dims_of "$name") --outputs "$results/$name.npz" >/dev/null
      rtol=1e-3; [ $precision = fp16 ] && rtol=3e-2
      line=$(tool run "$results/$name.$precision.auto.gart" --device cuda --random 1 $(dims_of "$name") --expect "$results/$name.npz" --rtol $rtol 2>&1 | tail -n 1) ||
        { echo "FAILED $name $precision with libraries: $line" | tee -a "$table"; status=1; continue; }
      bench_row "$name.$precision.auto" "$name | $precision" $(dims_of "$name")
    done
  done
  return $status
}

stage_bench() {
  local name precision
  { echo; echo "| model | precision | wall p50 ms | device p50 ms | enqueue p50 us |"; echo "|---|---|---|---|---|"; } | tee -a "$table"
  for name in $(models); do
    for precision in fp32 fp16; do
      compile_model "$name" "$precision"
      bench_row "$name.$precision" "$name | $precision" $(dims_of "$name")
    done
  done
  if command -v python3 >/dev/null; then python3 "$home/bin/compare_torch.py" | tee "$results/torch.txt" | tee -a "$table"; else echo "SKIP PyTorch: no python3" | tee -a "$table"; fi
}

if [ "${1:-}" = --bundle ]; then bundle "${2:?gpu-check.sh --bundle DIR}"; exit; fi
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
[ -e "$here/part-00" ] || { sed -n '2,/^set/s/^# \{0,1\}//p' "$0" | sed '$d'; exit 2; }
unpack
target=$(gpu_target)
status=0
[ $# -gt 0 ] || set -- device conformance models soak sanitizer libraries bench
for stage in "$@"; do
  say "$stage"
  "stage_$stage" || status=1
done
exit $status
