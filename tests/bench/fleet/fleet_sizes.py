#!/usr/bin/env python3
"""What large models cost to compile for four devices, and placing anew: ninja check_fleet_sizes

  fleet_sizes.py [--nodes 10000]

A model of layers of ten nodes (two branches and a residual edge each; half of the devices lack Softplus) is compiled for two pools that
stand for accelerators and two others: at most 10 s of wall time. It is then placed anew by other rates: at most 50 ms of processor time.
Its parts give the bits of the placement before. Exit code 1 beyond these bars."""
import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

WIDTH = 64
COMPILE_BAR, PLACE_BAR = 10, 0.05  # seconds


def layers(count):
    """As many nodes as that, ten in a layer."""
    nodes, last = [], "x"

    def node(op, inputs, name):
        nodes.append(helper.make_node(op, inputs, [name], name=name))
        return name
    for i in range(count // 10):
        a = node("Softplus", [node("MatMul", [last, "w"], f"a{i}")], f"b{i}")
        c = node("MatMul", [a, "w"], f"c{i}")
        e = node("Tanh", [node("MatMul", [last, "w"], f"d{i}")], f"e{i}")
        g = node("Softmax", [node("Add", [c, e], f"f{i}")], f"g{i}")
        last = node("Add", [node("Sigmoid", [node("MatMul", [g, "w"], f"h{i}")], f"i{i}"), last], f"j{i}")
    weight = numpy_helper.from_array((np.random.default_rng(0).standard_normal((WIDTH, WIDTH)) / WIDTH).astype(np.float32), "w")
    types = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [8, WIDTH]) for n in ("x", last)]
    graph = helper.make_graph(nodes, "layers", types[:1], types[1:], [weight])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("--nodes", type=int, default=10_000)
    a = p.parse_args()
    cores = sorted(os.sched_getaffinity(0))
    fleet = {"devices": [{"name": f"acc:{i}", "kind": "cpu", "cores": [cores[i % len(cores)]], "denies": ["Softplus"]} for i in range(2)]
             + [{"name": f"pool:{i}", "kind": "cpu", "cores": [cores[i % len(cores)]]} for i in range(2)]}
    with tempfile.TemporaryDirectory(prefix="gcc-graph-") as folder:
        path = lambda name: os.path.join(folder, name)
        tool = lambda *words: subprocess.run([os.environ["GCC_GRAPH"], *words], cwd=folder, check=True, capture_output=True, text=True).stdout

        def save_fleet():
            with open(path("fleet.json"), "w") as f:
                json.dump(fleet, f)

        def outputs():
            tool("run", "m.gart", "--random", "1", "--outputs", "out.npz", "--fleet", "fleet.json")
            with np.load(path("out.npz")) as found:
                return {name: value.tobytes() for name, value in found.items()}
        onnx.save(layers(a.nodes), path("m.onnx"))
        save_fleet()
        begin = time.perf_counter()
        tool("compile", "m.onnx", "-o", "m.gart", "--fleet", "fleet.json", "--target", "x86-64-v3")
        to_compile = time.perf_counter() - begin
        groups = json.loads(tool("inspect", "m.gart", "--json"))["groups"]
        before = outputs()
        to_place = float("inf")
        for fast in range(4):
            for i, device in enumerate(fleet["devices"]):
                device["gflops"] = 1000 if i == fast else 100
            save_fleet()
            begin = resource.getrusage(resource.RUSAGE_CHILDREN)
            tool("place", "m.gart", "--fleet", "fleet.json")
            end = resource.getrusage(resource.RUSAGE_CHILDREN)
            to_place = min(to_place, end.ru_utime + end.ru_stime - begin.ru_utime - begin.ru_stime)
        same = outputs() == before
    print(f"{a.nodes} nodes, {len(groups)} groups on {len({g['device'] for g in groups})} of 4 devices: compiled in {to_compile:.1f} s, "
          f"placed anew in {1e3 * to_place:.0f} ms of processor time, {'the same bits' if same else 'OTHER BITS'}")
    return 0 if to_compile <= COMPILE_BAR and to_place <= PLACE_BAR and same else 1


if __name__ == "__main__":
    sys.exit(main())
