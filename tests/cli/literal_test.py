#!/usr/bin/env python3
"""Inputs written on the command line as numbers, and open extents of 0."""
import unittest

import numpy as np

from cli_case import HEADER, CliCase


class Literals(CliCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.save("rate.onnx", HEADER + """g (float[n, 4] x, int64 sr, bool[n] keep, uint8[1] level) => (float[n, 4] y, int64 rate) {
            axes = Constant<value_ints = [1]>()
            few = Constant<value_ints = [3]>()
            rows = Unsqueeze(keep, axes)
            zero = Constant<value = float {0}>()
            kept = Where(rows, x, zero)
            rate = Identity(sr)
            f = Cast<to = 1>(sr)
            g = Cast<to = 1>(level)
            scaled = Mul(kept, f)
            y = Add(scaled, g)
          }""")
        cls.tool("compile", "rate.onnx", "-o", "rate.gart", "--target", "x86-64-v3")
        np.save(cls.path("x.npy"), np.ones((3, 4), np.float32))

    def test_numbers_fill_their_inputs(self):
        given = ("--input", "x=x.npy", "--input", "sr=16000", "--input", "keep=true", "--input", "level=200")
        out = self.accepted("run", "rate.gart", *given)
        self.assertIn("y f32[3,4] min 16200 max 16200", out)
        self.assertIn("rate i64[] min 16000", out)
        out = self.accepted("run", "rate.gart", "--random", "1", "--dim", "n=5", "--input", "sr=-1", "--input", "keep=0",
                            "--input", "x=1e-3")
        self.assertIn("y f32[5,4]", out)
        self.accepted("bench", "rate.gart", "--seconds", "0.01", "--random", "1", "--input", "sr=16000", "--profile")

    def test_numbers_of_another_type(self):
        for text in ("keep=2", "level=256", "level=-1", "sr=0.5", "sr=", "sr=9223372036854775808", "x=1,2"):
            self.refused("run", "rate.gart", "--random", "1", "--input", text, says=(f"--input {text}: neither", "nor a number"))
        self.refused("run", "rate.gart", "--input", "sr=1", says="missing")

    def test_an_extent_of_0(self):
        self.accepted("compile", "model.onnx", "-o", "none.gart", "--dim", "batch=0")
        for artifact in ("none.gart", "model.gart"):
            self.assertIn("z f32[0,8]\n", self.accepted("run", artifact, "--random", "1", "--dim", "batch=0"))


if __name__ == "__main__":
    unittest.main()
