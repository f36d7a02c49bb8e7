#!/usr/bin/env python3
"""compare: two artifacts, an artifact and its model, and the first of a model's values that differs."""
import unittest

import numpy as np
import onnx
from onnx import numpy_helper

from cli_case import HEADER, CliCase

NET = HEADER + """net (float[n, 16] x) => (float[n, 16] y, int64[n] best) {
  a = MatMul(x, w)
  b = Relu(a)
  c = MatMul(b, w)
  y = Softmax<axis = -1>(c)
  best = ArgMax<axis = -1, keepdims = 0>(y)
}"""


class Compare(CliCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.save_net("net.onnx", 1)
        cls.save_net("other.onnx", 2)
        for name, target in (("net", "x86-64-v3"), ("other", "x86-64-v3"), ("net", "x86-64-v4")):
            done = cls.tool("compile", name + ".onnx", "-o", f"{name}.{target[-2:]}.gart", "--target", target)
            assert done.returncode == 0, done.stderr

    @classmethod
    def save_net(cls, name, seed):
        model = onnx.parser.parse_model(NET)
        w = np.random.default_rng(seed).standard_normal((16, 16)).astype(np.float32)
        model.graph.initializer.append(numpy_helper.from_array(w, "w"))
        onnx.save(model, cls.path(name))

    def differs(self, *arguments):
        done = self.tool("compare", *arguments)
        self.assertEqual((done.returncode, done.stderr), (3, ""), done.stdout)
        return done.stdout

    def test_an_artifact_and_its_model(self):
        text = self.accepted("compare", "net.onnx", "net.v3.gart", "--dim", "n=5")
        self.assertIn("y: f32[5, 16], ok", text)
        self.assertIn("best: i64[5], ok", text)
        np.save(self.path("x.npy"), np.ones((3, 16), np.float32))
        self.assertIn("y: f32[3, 16], ok", self.accepted("compare", "net.v3.gart", "net.onnx", "--input", "x=x.npy"))

    def test_two_artifacts(self):
        self.assertIn("y: f32[1, 16], ok", self.accepted("compare", "net.v3.gart", "net.v3.gart"))
        text = self.differs("net.v3.gart", "other.v3.gart", "--dim", "n=4")
        self.assertRegex(text, r"y: f32\[4, 16\], FAIL, relative error .* at element \d+: ")

    def test_the_first_layer_that_differs(self):
        self.assertEqual(self.accepted("compare", "net.onnx", "--layers", "--dim", "n=4"), "4 of 4 values agree\n")
        text = self.differs("net.onnx", "--layers", "--dim", "n=4", "--rtol", "1e-9", "--atol", "0")
        self.assertIn("the first that differs is 'a': f32[4, 16], FAIL", text)

    def test_faults_are_sentences(self):
        self.refused("compare", "net.onnx", says="two files")
        self.refused("compare", "net.onnx", "other.onnx", says="artifact")
        self.refused("compare", "net.v3.gart", "--layers", says=".onnx")
        self.refused("compare", "net.v3.gart", "model.gart", "--dim", "n=2", says="input")
        self.refused("compare", "net.v3.gart", "none.gart", says="none.gart")


if __name__ == "__main__":
    unittest.main()
