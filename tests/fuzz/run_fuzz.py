#!/usr/bin/env python3
"""Builds the fuzz targets with clang and runs them one after the other. Prints the executions of each; exit code 1 if one has found a fault.

run_fuzz.py [--seconds N] [TARGET..]: the default is 60 seconds for each target. Inputs that cover new code stay in build/release/fuzz/corpus,
and inputs that show a fault in build/release/fuzz/faults."""
import argparse
import glob
import os
import re
import shutil
import subprocess
import sys

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
TARGETS = sorted(os.path.basename(f)[:-4] for f in glob.glob(os.path.join(ROOT, "tests/fuzz/targets/*.cpp")))
LONGEST = {"artifact": 1 << 18, "onnx": 1 << 16, "npz": 1 << 14}  # bytes of an input; 4096 for the others


PROBE = """#include <utility>
extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) {
  const auto [a, b] = std::pair(0, 0);
  return [&] { return a + b; }();
}
"""


def clang(folder):
    """A clang++ that compiles this project's C++ (from clang 16 on) and has libFuzzer, which some packages lack; None without one."""
    source = os.path.join(folder, "probe.cpp")
    with open(source, "w") as f:
        f.write(PROBE)
    for compiler in filter(None, map(shutil.which, ("clang++-19", "clang++"))):
        if subprocess.run([compiler, "-std=c++20", "-fsanitize=fuzzer,address", source, "-o", source + ".out"], capture_output=True).returncode == 0:
            return compiler
    return None


def prepare(folder, build, compiler, targets):
    """Configures and builds. Makes seeds if there are none."""
    command = ["cmake", "-S", os.path.join(ROOT, "tests/fuzz/targets"), "-B", folder, "-G", "Ninja", f"-DCMAKE_CXX_COMPILER={compiler}", f"-DGCC_GRAPH_BUILD={build}"]
    for step in (command, ["cmake", "--build", folder, "--target", *(f"fuzz_{t}" for t in targets)]):
        done = subprocess.run(step, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit("\n".join((done.stdout + done.stderr).splitlines()[-30:]))
    seeds = os.path.join(folder, "seeds")
    if not os.path.isdir(seeds):
        tool = os.environ.get("GCC_GRAPH", os.path.join(build, "bin/gcc-graph"))
        subprocess.run([sys.executable, os.path.join(ROOT, "tests/fuzz/make_seeds.py"), seeds + ".new"], env={**os.environ, "GCC_GRAPH": tool}, check=True)
        os.rename(seeds + ".new", seeds)


def run(folder, target, seconds, seed=None):
    """Returns True if no input shows a fault. `seed`: of the random numbers; without it, they differ from run to run, and the corpus is kept."""
    corpus, faults = os.path.join(folder, "corpus" if seed is None else "scratch", target), os.path.join(folder, "faults", target)
    if seed is not None:
        shutil.rmtree(corpus, ignore_errors=True)
    for made in (corpus, faults):
        os.makedirs(made, exist_ok=True)
    command = [os.path.join(folder, "fuzz_" + target), corpus, os.path.join(folder, "seeds", target), f"-max_total_time={seconds}", f"-artifact_prefix={faults}/",
               f"-max_len={LONGEST.get(target, 4096)}", "-timeout=20", "-rss_limit_mb=3000", "-print_final_stats=1", *([f"-seed={seed}"] if seed is not None else [])]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    executions = re.search(r"number_of_executed_units: (\d+)", done.stderr)
    edges = re.findall(r"cov: (\d+)", done.stderr)
    print(f"{target}: {executions[1] if executions else 0} executions, {edges[-1] if edges else 0} edges", "" if done.returncode == 0 else "FAULT", flush=True)
    if done.returncode != 0:
        print("\n".join(line for line in done.stderr.splitlines() if re.search(r"ERROR|SUMMARY|runtime error|Test unit|#\d+ 0x|terminat|check failed|alive", line))[:4000])
    return done.returncode == 0


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--seconds", type=int, default=60, help="time for each target")
    arguments.add_argument("--build", default=os.path.join(ROOT, "build/release"), help="a finished build of gcc-graph")
    arguments.add_argument("--seed", type=int, help="begin with these random numbers and without the corpus of earlier runs")
    arguments.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(TARGETS))
    a = arguments.parse_args()
    for target in a.targets:
        if target not in TARGETS:
            sys.exit(f"there is no target '{target}'; known: {', '.join(TARGETS)}")
    folder = os.path.join(a.build, "fuzz")
    os.makedirs(folder, exist_ok=True)
    compiler = clang(folder)
    if compiler is None:
        print("SKIP: clang++ 16 or newer with libFuzzer is not installed (packages clang-19 and libclang-rt-19-dev)")
        sys.exit(77)
    targets = a.targets or TARGETS
    prepare(folder, a.build, compiler, targets)
    if not all([run(folder, target, a.seconds, a.seed) for target in targets]):
        sys.exit(1)


if __name__ == "__main__":
    main()
