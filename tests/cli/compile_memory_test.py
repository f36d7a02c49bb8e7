#!/usr/bin/env python3
"""The peak memory of compile, and the size of its file, for language models whose embedding table also computes the logits."""
import os
import subprocess
import sys
import unittest

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

from cli_case import TOOL, CliCase

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools", "python"))
import gart  # noqa: E402

WIDTH, INNER = 512, 2048
# Prints the peak of the command that follows, in kB. A child counts the memory of the process that started it, so that
# process must be small.
MEASURE = """import os, sys
out = os.dup(1)
os.dup2(2, 1)
_, status, usage = os.wait4(os.spawnv(os.P_NOWAIT, sys.argv[1], sys.argv[1:]), 0)
os.write(out, str(usage.ru_maxrss).encode())
sys.exit(os.waitstatus_to_exitcode(status))"""


class CompileMemory(CliCase):
    @classmethod
    def decoder(cls, name, dtype, words, layers):
        """Saves a decoder without attention. Its weights are in an external file. Returns their bytes."""
        kind = {np.float32: TensorProto.FLOAT, np.float16: TensorProto.FLOAT16}[dtype]
        random, weights, end = np.random.default_rng(1), [], 0
        with open(cls.path(name + ".bin"), "wb") as data:
            def weight(key, *shape):
                nonlocal end
                tensor = TensorProto(name=key, data_type=kind, dims=shape, data_location=TensorProto.EXTERNAL)
                size = int(np.prod(shape)) * np.dtype(dtype).itemsize
                for field, text in (("location", name + ".bin"), ("offset", end), ("length", size)):
                    tensor.external_data.add(key=field, value=str(text))
                data.write(((random.random(shape, np.float32) - np.float32(0.5)) / np.float32(np.sqrt(shape[0]))).astype(dtype).tobytes())
                weights.append(tensor)
                end += size
                return key
            nodes = [helper.make_node("Gather", [weight("table", words, WIDTH), "ids"], ["x0"])]
            for i in range(layers):
                nodes += [helper.make_node("MatMul", [f"x{i}", weight(f"up{i}", WIDTH, INNER)], [f"u{i}"]),
                          helper.make_node("Tanh", [f"u{i}"], [f"t{i}"]),
                          helper.make_node("MatMul", [f"t{i}", weight(f"down{i}", INNER, WIDTH)], [f"d{i}"]),
                          helper.make_node("Add", [f"x{i}", f"d{i}"], [f"x{i + 1}"])]
            nodes += [helper.make_node("Transpose", ["table"], ["head"], perm=[1, 0]), helper.make_node("MatMul", [f"x{layers}", "head"], ["logits"])]
        graph = helper.make_graph(nodes, "decoder", [helper.make_tensor_value_info("ids", TensorProto.INT64, ["n"])],
                                  [helper.make_tensor_value_info("logits", kind, ["n", words])], weights)
        onnx.save(helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)]), cls.path(name + ".onnx"))
        return end

    def compiled(self, name, *options):
        """Compiles NAME.onnx. Returns the peak memory in bytes."""
        command = [TOOL, "compile", name + ".onnx", "-o", name + ".gart", "--target", "x86-64-v3", *options]
        done = subprocess.run([sys.executable, "-c", MEASURE, *command], cwd=self.folder, capture_output=True, text=True, check=True)
        return int(done.stdout) << 10

    def test_peak_and_size(self):
        least = self.compiled("model")
        for dtype, words, layers in ((np.float32, 70_000, 16), (np.float16, 140_000, 32)):
            with self.subTest(dtype=dtype.__name__):
                size = self.decoder("large", dtype, words, layers)
                self.assertGreater(size, 256 << 20)
                peak = self.compiled("large")
                if not os.environ.get("GCC_GRAPH_SANITIZE"):
                    self.assertLess(peak, least + 3 * size, f"{peak >> 20} MB for a model of {size >> 20} MB")
                self.assertLess(os.path.getsize(self.path("large.gart")), 1.02 * size)

    def test_a_table_that_is_also_a_factor_is_stored_once(self):
        for dtype, error in ((np.float32, 1e-5), (np.float16, 4e-3)):
            with self.subTest(dtype=dtype.__name__):
                size = self.decoder("small", dtype, 5000, 1)
                self.compiled("small")
                self.assertLess(os.path.getsize(self.path("small.gart")), size + 400_000)
                self.assertIn("stored once", self.accepted("inspect", "small.gart"))
                ids = {"ids": np.array([0, 4999, -1, 47, 48, -5000, 2500])}
                want = onnxruntime.InferenceSession(self.path("small.onnx"), providers=["CPUExecutionProvider"]).run(None, ids)[0]
                got = gart.load(self.path("small.gart")).run(ids)["logits"]
                np.testing.assert_allclose(got.astype(np.float32), want.astype(np.float32), rtol=0, atol=error * np.abs(want).max())

    def test_a_row_that_is_not_there(self):
        self.decoder("small", np.float32, 5000, 1)
        self.compiled("small")
        with self.assertRaisesRegex(gart.GartError, "5000"):
            gart.load(self.path("small.gart")).run({"ids": np.array([5000])})


if __name__ == "__main__":
    unittest.main()
