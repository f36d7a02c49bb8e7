#!/usr/bin/env python3
"""Time to compile large models for four devices, and to place them again: ninja check_fleet_sizes

  fleet_sizes.py [--nodes 10000]

A model of layers of ten nodes (two branches and a residual edge each; half of the devices lack Softplus) is compiled
for two pools that represent accelerators and two others: at most 10 s of processor time. It is then placed again with
other rates: at most 50 ms of processor time, and as much for a small model with 256 MB of weights. The parts must give
the same bits as before. Exit code 1 beyond these bars."""
import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

WIDTH = 64
COMPILE_BAR, PLACE_BAR = 10, 0.05  # seconds


def layers(count, columns=0):
    """`count` nodes, ten in a layer. With `columns`, also a product with that many columns."""
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
    weights = [numpy_helper.from_array((np.random.default_rng(0).standard_normal((WIDTH, WIDTH)) / WIDTH).astype(np.float32), "w")]
    types = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [8, WIDTH]) for n in ("x", last)]
    if columns > 0:
        weights.append(numpy_helper.from_array(np.ones((WIDTH, columns), np.float32), "wide"))
        nodes.append(helper.make_node("ReduceMax", [node("MatMul", [last, "wide"], "product")], ["most"], name="most", axes=[1]))
        types.append(helper.make_tensor_value_info("most", TensorProto.FLOAT, [8, 1]))
    graph = helper.make_graph(nodes, "layers", types[:1], types[1:], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def processor_seconds(call):
    """Processor time of the programs that `call` starts."""
    begin = resource.getrusage(resource.RUSAGE_CHILDREN)
    call()
    end = resource.getrusage(resource.RUSAGE_CHILDREN)
    return end.ru_utime + end.ru_stime - begin.ru_utime - begin.ru_stime


class Model:
    """A model in a folder, compiled for a fleet of four."""

    def __init__(self, folder, model):
        self.folder, cores = folder, sorted(os.sched_getaffinity(0))
        of = lambda i: [cores[i % len(cores)]]
        self.devices = [{"name": f"acc:{i}", "kind": "cpu", "cores": of(i), "denies": ["Softplus"]} for i in range(2)] \
            + [{"name": f"pool:{i}", "kind": "cpu", "cores": of(i)} for i in range(2)]
        onnx.save(model, os.path.join(folder, "m.onnx"))
        self.save_fleet()
        command = ("compile", "m.onnx", "-o", "m.gart", "--fleet", "fleet.json", "--target", "x86-64-v3")
        self.to_compile = processor_seconds(lambda: self.tool(*command))
        self.groups = json.loads(self.tool("inspect", "m.gart", "--json"))["groups"]

    def tool(self, *words):
        return subprocess.run([os.environ["GCC_GRAPH"], *words], cwd=self.folder, check=True, capture_output=True, text=True).stdout

    def save_fleet(self):
        with open(os.path.join(self.folder, "fleet.json"), "w") as f:
            json.dump({"devices": self.devices}, f)

    def outputs(self):
        self.tool("run", "m.gart", "--random", "1", "--outputs", "out.npz", "--fleet", "fleet.json")
        with np.load(os.path.join(self.folder, "out.npz")) as found:
            return {name: value.tobytes() for name, value in found.items()}

    def place_anew(self):
        """Places the model with other rates. Returns the smallest processor time of several attempts, in seconds, and
        whether the outputs are unchanged."""
        before, least = self.outputs(), float("inf")
        for fast in range(4):
            for i, device in enumerate(self.devices):
                device["gflops"] = 1000 if i == fast else 100
            self.save_fleet()
            least = min(least, processor_seconds(lambda: self.tool("place", "m.gart", "--fleet", "fleet.json")))
        return least, self.outputs() == before


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("--nodes", type=int, default=10_000)
    a = p.parse_args()
    good = True
    for nodes, megabytes in ((a.nodes, 0), (100, 256)):
        with tempfile.TemporaryDirectory(prefix="gcc-graph-") as folder:
            model = Model(folder, layers(nodes, megabytes * 2 ** 18 // WIDTH))
            to_place, same = model.place_anew()
        good &= model.to_compile <= COMPILE_BAR and to_place <= PLACE_BAR and same
        print(f"{nodes} nodes, {megabytes} MB, {len(model.groups)} groups on {len({g['device'] for g in model.groups})} of 4 devices: compiled in "
              f"{model.to_compile:.1f} s, placed anew in {1e3 * to_place:.0f} ms of processor time, {'the same bits' if same else 'OTHER BITS'}",
              flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
