#!/usr/bin/env python3
"""compile writes the same bytes from the same model and options, whatever the folder, the time, the environment and the threads."""
import os
import subprocess
import time
import unittest

import numpy as np
import onnx
from onnx import helper, numpy_helper

from cli_case import TOOL, CliCase


def network():
    """Convolutions, products with 16-bit and 4-bit weights, a loop of kernels of all kinds, and names in plenty."""
    numbers = np.random.default_rng(1)
    weights = [numpy_helper.from_array(numbers.standard_normal(shape).astype(np.float32), name)
               for name, shape in (("first", (32, 3, 3, 3)), ("second", (32, 32, 3, 3)), *((f"w{i}", (64, 64)) for i in range(4)))]
    weights += [numpy_helper.from_array(numbers.integers(0, 256, (64, 2, 16), np.uint8), "packed"),
                numpy_helper.from_array(numbers.random(128).astype(np.float32), "scales"), numpy_helper.from_array(np.array([5]), "five")]
    nodes = [helper.make_node("Conv", ["image", "first"], ["a"], pads=[1] * 4), helper.make_node("Relu", ["a"], ["b"]),
             helper.make_node("Conv", ["b", "second"], ["c"], pads=[1] * 4), helper.make_node("Add", ["b", "c"], ["d"]),
             helper.make_node("GlobalAveragePool", ["d"], ["pooled"])]
    value = "x"
    for i in range(4):
        nodes += [helper.make_node("MatMul", [value, f"w{i}"], [f"m{i}"]), helper.make_node("Gelu", [f"m{i}"], [f"g{i}"])]
        value = f"g{i}"
    nodes += [helper.make_node("MatMulNBits", [value, "packed", "scales"], ["q"], domain="com.microsoft", K=64, N=64, bits=4, block_size=32),
              helper.make_node("Softmax", ["q"], ["p"]), helper.make_node("TopK", ["p", "five"], ["best", "places"])]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("image", 1, ["n", 3, 20, 20]), helper.make_tensor_value_info("x", 1, ["n", 64])],
                              [helper.make_tensor_value_info(name, kind, None) for name, kind in (("pooled", 1), ("best", 1), ("places", 7))], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1)], ir_version=9)


class SameBytes(CliCase):
    def compiled(self, folder, name, *options, **environment):
        done = subprocess.run([TOOL, "compile", *options, "-o", self.path(name)], cwd=folder, capture_output=True, text=True, timeout=300,
                              env={**os.environ, **environment})
        self.assertEqual(done.returncode, 0, done.stderr)
        return self.read(name)

    def compare(self, *options):
        os.makedirs(self.path("another/folder"), exist_ok=True)
        for path in ("net.onnx", "another/folder/net.onnx"):
            onnx.save(network(), self.path(path))
        first = self.compiled(self.folder, "first.gart", "net.onnx", "--threads", "1", *options)
        time.sleep(1.1)
        others = {"TZ": "Asia/Tokyo", "LC_ALL": "C", "HOME": self.folder, "TMPDIR": self.path("another")}
        second = self.compiled("/", "second.gart", self.path("another/folder/net.onnx"), "--threads", "2", *options, **others)
        self.assertEqual(len(first), len(second))
        self.assertEqual([i for i, (a, b) in enumerate(zip(first, second)) if a != b][:10], [])
        for name in ("net.onnx", "first.gart", "second.gart"):
            os.remove(self.path(name))

    def test_several_targets(self):
        self.compare("--target", "x86-64-v3,x86-64-v4-bf16,aarch64,sm_80", "--dim", "n=1,8")

    def test_golden_vectors_and_open_extents(self):
        self.compare("--target", "x86-64-v3", "--golden")

    def test_parts_of_a_fleet(self):
        self.compare("--dim", "n=2", "--keep", "d,g1")

    def test_training(self):
        self.compare("--target", "x86-64-v3", "--dim", "n=2", "--train", "loss=mse(pooled,wanted),optimizer=adam(lr=input)")


if __name__ == "__main__":
    unittest.main()
