#!/usr/bin/env python3
"""compile --outputs: other values of a model become its outputs."""
import json
import os
import sys
import unittest

import numpy as np

from cli_case import HEADER, CliCase

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools", "python"))
import gart

CPU = ("--target", "x86-64-v3")


class Outputs(CliCase):
    """The model: s = [8, 8], w = zeros(s), a = x w, b = a + y, z = softmax(b)."""

    def steps(self, artifact):
        return json.loads(self.accepted("inspect", artifact, "--json"))["entry_points"][0]["plans"][0]["steps"]

    def test_any_value_is_an_output(self):
        self.accepted("compile", "model.onnx", "-o", "whole.gart", *CPU)
        self.accepted("compile", "model.onnx", "--outputs", "b,a", "-o", "two.gart", *CPU)
        model = gart.load(self.path("two.gart"))
        feeds = self.inputs(y=np.arange(16, dtype=np.float32).reshape(2, 8))
        out = model.run(feeds)
        self.assertEqual(list(out), ["b", "a"])
        np.testing.assert_array_equal(out["b"], feeds["y"])
        np.testing.assert_array_equal(out["a"], np.zeros((2, 8)))

    def test_only_what_they_need_runs(self):
        self.save("chains.onnx", HEADER + """chains (float[n,8] x, float[m,8] y) => (float[8] p, float[8] q) {
          zero = Constant<value_ints = [0]>()
          a = Exp(x) b = ReduceSum<keepdims = 0>(a, zero) p = Softmax(b) c = Tanh(y) d = ReduceSum<keepdims = 0>(c, zero) q = Softmax(d)
        }""")
        self.accepted("compile", "chains.onnx", "-o", "both.gart", *CPU)
        self.accepted("compile", "chains.onnx", "--outputs", "q", "-o", "one.gart", *CPU)
        self.assertEqual(2 * self.steps("one.gart"), self.steps("both.gart"))
        self.assertEqual(list(gart.load(self.path("one.gart")).inputs), ["y"])

    def test_unknown_names(self):
        self.refused("compile", "model.onnx", "--outputs", "zz", "-o", "no.gart",
                     says="the model has no value 'zz' that could be an output; the nearest: 'z'")
        self.refused("compile", "model.onnx", "--outputs", "a,a", "-o", "no.gart", says="value 'a' is listed as an output twice")


if __name__ == "__main__":
    unittest.main()
