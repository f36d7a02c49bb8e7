#!/usr/bin/env python3
"""Removes the edges of a model's CUDA graph, one at a time. The simulation must detect the missing edge.

  run_sim.sh --sm 80 check_edges.py [TARGET]      TARGET: sm_80 by default; from sm_90 on launches overlap

A chain needs each of its edges. If streams run concurrently, an edge may be redundant, or may order steps that share no
byte; then the run without it must still be right. In both cases, every wrong result must come with a finding. If
launches overlap, kernels that forget to wait must be detected, too.
"""
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", ".."))
sys.path[:0] = [os.path.join(ROOT, "tests", "models"), os.path.join(ROOT, "tools", "models")]

import onnx
from onnx import TensorProto

import make_model
import model_check

STREAMS = 3
TARGET = sys.argv[1] if len(sys.argv) > 1 else "sm_80"


def forked():
    """Independent chains of small products: too many kernels to run one after the other on one stream."""
    m = make_model.Maker("forked")
    x = m.input("x", TensorProto.FLOAT, [4, 32])
    ends = []
    for _ in range(STREAMS):
        h = x
        for _ in range(4):
            h = m.op("Softmax", m.op("MatMul", h, m.weight(32, 32)), axis=-1)
        ends.append(h)
    m.output(m.op("Concat", *ends, axis=1), "y", TensorProto.FLOAT, [4, 32 * STREAMS])
    return m.model(17)


def run(artifact, expected=None, outputs=None, drop=0, forget_waits=False):
    """(exit code, standard error) of one run on the simulated GPU."""
    options = ["--expect", expected] if expected else ["--outputs", outputs]
    environment = dict(os.environ, GART_SIM_DROP_EDGE=str(drop), GART_SIM_STATS="1", GART_SIM_LEAKS="1",
                       GART_SIM_NO_WAIT=str(int(forget_waits)))
    done = subprocess.run([model_check.tool(), "run", artifact, "--device", "cuda", "--random", "1", *options],
                          capture_output=True, text=True, env=environment)
    return done.returncode, done.stderr


def check(name, model, folder):
    """Prints a row. Returns the number of missed edges and of all edges, or None if a run is wrong."""
    path = os.path.join(folder, name)
    onnx.save(model, path + ".onnx")
    model_check.compile_model(path + ".onnx", path + ".gart", "--target", TARGET)
    code, errors = run(path + ".gart", outputs=path + ".npz")
    if code:
        print(f"{name}: {errors}")
        return None
    edges = int(re.search(r"graph_edges (\d+)", errors).group(1))
    if "programmatic_edges" in errors:
        code, errors = run(path + ".gart", expected=path + ".npz", forget_waits=True)
        if code == 0 or "graph_race" not in errors:
            print(f"{name}: nobody misses the waits of kernels that overlap others")
            return None
    elif TARGET.startswith("sm_90"):
        print(f"{name}: no launch overlaps another")
        return None
    found = 0
    for k in range(1, edges + 1):
        code, errors = run(path + ".gart", expected=path + ".npz", drop=k)
        if code and "graph_race" not in errors and "uninitialised" not in errors:
            print(f"{name}: without edge {k}: exit code {code}, {errors}")
            return None
        found += code != 0
    print(f"{name}: {found} of {edges} edges are missed when they are taken away")
    return found, edges


def main():
    with tempfile.TemporaryDirectory(prefix="gcc-graph-sim-") as folder:
        chain, fork = check("mlp", make_model.mlp(), folder), check("forked", forked(), folder)
    # The copy of the chain's result waits for both launches of its last product, whose depth is split: one of the two edges is redundant.
    good = chain and fork and chain[0] >= chain[1] - 1 and fork[0] >= 0.5 * fork[1]
    print("all passed" if good else "failed")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
