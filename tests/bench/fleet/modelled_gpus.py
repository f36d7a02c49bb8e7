#!/usr/bin/env python3
"""Placements that the cost model finds on fleets of 1 to 64 modelled GPUs; no GPU is needed: ninja check_modelled_gpus

  modelled_gpus.py [--target sm_90a] [--branches 64] [MODEL.onnx...]

Two models are compiled once (NVRTC assembles the kernels): branches of equal work with one common input, and a chain
that is cut for a pipeline. gcc-graph place then places them for each fleet. More GPUs must never make a run longer than
fewer do. Branches must speed up by at least 0.7 times the number of GPUs, up to 16. Each MODEL is placed, too. Exit
code 1 beyond these bars; 77 without NVRTC."""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

COUNTS = (1, 2, 4, 8, 16, 32, 64)
WIDTH, DEPTH = 1024, 8
LEAST_GAIN, GAIN_UP_TO = 0.7, 16


def branches(count):
    """y = the sum of the branches' means."""
    nodes, ends, numbers = [], [], []
    for b in range(count):
        numbers.append(numpy_helper.from_array(np.float32(1 + b), f"n{b}"))  # or they would be one
        nodes.append(helper.make_node("Mul", ["x", f"n{b}"], [f"b{b}_x"], name=f"b{b}_x"))
        nodes.append(helper.make_node("Cos", [f"b{b}_x"], [f"b{b}_c"], name=f"b{b}_c"))
        at = f"b{b}_c"
        for i in range(DEPTH):
            nodes.append(helper.make_node("MatMul", [at, "w"], [f"b{b}_{i}"], name=f"b{b}_{i}"))
            at = f"b{b}_{i}"
        nodes.append(helper.make_node("ReduceMean", [at], [f"b{b}_mean"], name=f"b{b}_mean", axes=[0], keepdims=1))
        ends.append(f"b{b}_mean")
    nodes.append(helper.make_node("Sum", ends, ["y"], name="sum"))
    weight = numpy_helper.from_array((np.random.default_rng(0).standard_normal((WIDTH, WIDTH)) / WIDTH).astype(np.float32), "w")
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, [rows, WIDTH]) for n, rows in (("x", WIDTH), ("y", 1)))
    return helper.make_model(helper.make_graph(nodes, "branches", [x], [y], [weight, *numbers]), opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def fleet_of(gpus, target):
    """Every GPU reaches every other at 200 GB/s, and the host at 25 GB/s."""
    names = [f"cuda:{i}" for i in range(gpus)]
    devices = [{"name": n, "kind": "cuda", "ordinal": i, "target": target, "memory_bytes": 80 << 30} for i, n in enumerate(names)]
    links = [{"from": a, "to": b, "gbytes_per_s": 200, "us": 5} for a in names for b in names if a != b]
    links += [{"from": a, "to": b, "gbytes_per_s": 25, "us": 8} for n in names for a, b in ((n, "cpu"), ("cpu", n))]
    return {"devices": devices + [{"name": "cpu", "kind": "cpu", "target": "x86-64-v3"}], "links": links}


def falls(times):
    return all(later <= before * (1 + 1e-6) for before, later in zip(times, times[1:]))


def place_all(name, options, a, tool, path):
    def save_fleet(gpus):
        with open(path("fleet.json"), "w") as f:
            json.dump(fleet_of(gpus, a.target), f)
    save_fleet(COUNTS[-1])
    tool("compile", name, "-o", "m.gart", "--fleet", "fleet.json", "--target", f"{a.target},x86-64-v3", "--assign", "*=cuda", *options)
    times = []
    for gpus in COUNTS:
        save_fleet(gpus)
        said = tool("place", "m.gart", "--fleet", "fleet.json", "--threshold", "0", "-o", "placed.gart")
        used = {g["device"] for g in json.loads(tool("inspect", "placed.gart", "--json"))["groups"]}
        times.append((float(re.search(r"a run takes ([\d.e+]+) us by the model", said)[1]), len(used)))
    groups = len(json.loads(tool("inspect", "m.gart", "--json"))["groups"])
    print(f"{os.path.basename(name)}, {groups} groups: " + ", ".join(f"{n} GPUs {us:.0f} us ({times[0][0] / us:.2f} x, on {used})"
                                                                     for n, (us, used) in zip(COUNTS, times)), flush=True)
    return [us for us, _ in times]


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("--target", default="sm_90a")
    p.add_argument("--branches", type=int, default=64)
    p.add_argument("models", nargs="*")
    a = p.parse_args()
    models, good = [os.path.abspath(m) for m in a.models], True
    with tempfile.TemporaryDirectory(prefix="gcc-graph-") as folder:
        path = lambda name: os.path.join(folder, name)

        def tool(*words):
            done = subprocess.run([os.environ["GCC_GRAPH"], *words], cwd=folder, capture_output=True, text=True)
            if done.returncode == 0:
                return done.stdout
            print(("SKIP: " if "NVRTC" in done.stderr else "") + done.stderr.strip())
            sys.exit(77 if "NVRTC" in done.stderr else 1)
        onnx.save(branches(a.branches), path("branches.onnx"))
        onnx.save(branches(1), path("chain.onnx"))
        labels = [o for b in range(a.branches) for o in ("--label", f"b{b}_*=b{b}")]
        times = place_all("branches.onnx", ["--cut", "support", *labels], a, tool, path)
        good &= all(times[0] / us >= LEAST_GAIN * n for n, us in zip(COUNTS, times) if n <= GAIN_UP_TO)
        for name, options in [("chain.onnx", ["--cut", "support,stages"])] + [(m, ["--dim", "batch=1", "--dim", "sequence=128"]) for m in models]:
            others = place_all(name, options, a, tool, path)
            good &= falls(others)
        good &= falls(times)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
