#!/usr/bin/env python3
"""Compile time as graphs grow, and for a window attention network: ninja check_compile_time

Graphs of 2,500, 5,000 and 10,000 nodes (layers of ten nodes of seven kinds) are compiled for both CPU targets. Four
times the nodes may take at most five times the processor time. swin_t of the zoo, if the zoo lies beside the
repository, may take at most 4 s of wall time on two cores. bench_zoo has the bars for all other files of the zoo. Exit
code 1 beyond these bars."""
import importlib
import os
import subprocess
import sys
import tempfile
import time

import onnx

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
sys.path[:0] = [os.path.join(HERE, "fleet")]

from fleet_sizes import layers, processor_seconds

GROWTH, WINDOWS_S = 5.0, 4.0
TARGETS = "x86-64-v3,x86-64-v4"


def compile_in(folder, name):
    subprocess.run([os.environ["GCC_GRAPH"], "compile", name, "-o", "m.gart", "--target", TARGETS], cwd=folder, check=True, capture_output=True)


def seconds_of(nodes, folder):
    onnx.save(layers(nodes), os.path.join(folder, "m.onnx"))
    return min(processor_seconds(lambda: compile_in(folder, "m.onnx")) for _ in range(2))


def windows(folder):
    """Yields (name, seconds of wall time) for the zoo's window attention networks."""
    home = os.path.join(os.environ.get("GCC_GRAPH_MODELS") or os.path.join(ROOT, "..", "shared", "models"), "zoo")
    if not os.path.isdir(home):
        print("SKIP swin_t: no zoo beside the repository")
        return
    sys.path.insert(0, home)
    zoo = importlib.import_module("zoo")
    for name in zoo.load_zoo(home):
        if not name.startswith("swin_t"):
            continue
        zoo.materialise(home, name, folder)
        taken = []
        for _ in range(3):
            begin = time.perf_counter()
            compile_in(folder, f"{name}.onnx")
            taken.append(time.perf_counter() - begin)
        yield name, min(taken)


def main():
    good = True
    with tempfile.TemporaryDirectory(prefix="gcc-graph-") as folder:
        taken = {}
        for nodes in (2_500, 5_000, 10_000):
            taken[nodes] = seconds_of(nodes, folder)
            print(f"{nodes:6} nodes: {taken[nodes]:.2f} s of processor time, {1e3 * taken[nodes] / nodes:.3f} ms a node", flush=True)
        growth = taken[10_000] / taken[2_500]
        good &= growth <= GROWTH
        print(f"four times the nodes take {growth:.2f} times as long (at most {GROWTH})")
        for name, seconds in windows(folder):
            good &= seconds <= WINDOWS_S
            print(f"{name}: {seconds:.2f} s of wall time on {len(os.sched_getaffinity(0))} cores (at most {WINDOWS_S})", flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
