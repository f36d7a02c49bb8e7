#!/usr/bin/env python3
"""Models with states: sessions of the tool and of Python give the same results as onnxruntime with its outputs fed back."""
import json
import os
import struct
import sys
import unittest

import numpy as np
import onnxruntime

from cli_case import HEADER, CliCase

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools", "python"))
import gart

# One attention layer with grouped queries and a cache: each pair of query heads shares a head of k and v. Its steps take any
# number of tokens; a running sum is a state that does not grow.
STEP = HEADER + """step (float[batch, tokens, 8] x, float[batch, 2, past, 2] past_key, float[batch, 2, past, 2] past_value,
                      float[8] total)
    => (float[batch, tokens, 8] y, float[batch, 2, all, 2] present_key, float[batch, 2, all, 2] present_value, float[8] total_next) {
  four = Constant<value_ints = [0, 0, 4, 2]>()
  two = Constant<value_ints = [0, 0, 2, 2]>()
  wide = Constant<value_ints = [1, 1, 2, 1, 1]>()
  merged = Constant<value_ints = [0, 4, -1, 2]>()
  flat = Constant<value_ints = [0, 0, 8]>()
  axis = Constant<value_ints = [2]>()
  rows = Constant<value_ints = [0, 1]>()
  first = Constant<value_ints = [0]>()
  fourth = Constant<value_ints = [4]>()
  last = Constant<value_ints = [2]>()
  xs = Slice(x, first, fourth, last)
  q_rows = Reshape(x, four)
  q = Transpose<perm = [0, 2, 1, 3]>(q_rows)
  kv_rows = Reshape(xs, two)
  k = Transpose<perm = [0, 2, 1, 3]>(kv_rows)
  v = Sin(k)
  present_key = Concat<axis = -2>(past_key, k)
  present_value = Concat<axis = -2>(past_value, v)
  k5 = Unsqueeze(present_key, axis)
  v5 = Unsqueeze(present_value, axis)
  k_wide = Expand(k5, wide)
  v_wide = Expand(v5, wide)
  keys = Reshape(k_wide, merged)
  values = Reshape(v_wide, merged)
  columns = Transpose<perm = [0, 1, 3, 2]>(keys)
  scores = MatMul(q, columns)
  weights = Softmax<axis = -1>(scores)
  heads = MatMul(weights, values)
  back = Transpose<perm = [0, 2, 1, 3]>(heads)
  y = Reshape(back, flat)
  sums = ReduceSum<keepdims = 0>(x, rows)
  total_next = Add(total, sums)
}"""
STATES = ["past_key", "past_value", "total"]


class States(CliCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.save("step.onnx", STEP)
        cls.accepted_once("compile", "step.onnx", "-o", "step.gart", "--state", "auto,total=total_next")

    @classmethod
    def accepted_once(cls, *arguments):
        done = cls.tool(*arguments)
        assert done.returncode == 0, done.stderr

    def reference(self, batch):
        """Returns a function that runs a step in onnxruntime and keeps the states itself."""
        session = onnxruntime.InferenceSession(self.path("step.onnx"))
        states = [np.zeros((batch, 2, 0, 2), np.float32), np.zeros((batch, 2, 0, 2), np.float32), np.zeros(8, np.float32)]

        def step(x):
            y, *states[:] = session.run(None, {"x": x, **dict(zip(STATES, states))})
            return y, states
        return step

    @staticmethod
    def tokens(seed, batch, count):
        return np.random.default_rng(seed).standard_normal((batch, count, 8)).astype(np.float32)

    def test_sessions_in_python(self):
        model = gart.load(self.path("step.gart"))
        self.assertEqual(model.device.startswith("cuda"), "GCC_GRAPH_NVRTC" in os.environ, "where the simulated GPU is")
        self.assertEqual((model.inputs, model.outputs), (["x"], ["y"]))
        for batch in (1, 3):
            session, step = model.session(), self.reference(batch)
            self.assertEqual(session.states, STATES)
            for i, count in enumerate([5, 1, 1, 1, 17, 1, 1]):
                x = self.tokens(i, batch, count)
                want, states = step(x)
                np.testing.assert_allclose(session.run({"x": x})["y"], want, rtol=1e-5, atol=1e-6)
                for name, value in zip(STATES, states):
                    np.testing.assert_allclose(session.state(name), value, rtol=1e-5, atol=1e-6)
            copy = session.fork()
            x = self.tokens(99, batch, 2)
            np.testing.assert_array_equal(copy.run({"x": x})["y"], session.run({"x": x})["y"])

    def test_files(self):
        model = gart.load(self.path("step.gart"))
        session = model.session()
        session.run({"x": self.tokens(0, 2, 3)})
        session.save(self.path("s.safetensors"))
        data = self.read("s.safetensors")
        length = struct.unpack("<Q", data[:8])[0]
        header = json.loads(data[8:8 + length])
        self.assertEqual(list(header), STATES)
        for name, tensor in header.items():
            begin, end = tensor["data_offsets"]
            value = np.frombuffer(data[8 + length + begin:8 + length + end], np.float32).reshape(tensor["shape"])
            np.testing.assert_array_equal(value, session.state(name))
        other = model.session()
        other.load(self.path("s.safetensors"))
        x = self.tokens(1, 2, 1)
        np.testing.assert_array_equal(other.run({"x": x})["y"], session.run({"x": x})["y"])
        for name in STATES:
            other.set_state(name, session.state(name))
        np.testing.assert_array_equal(other.run({"x": x})["y"], session.run({"x": x})["y"])
        other.reset()
        with self.assertRaisesRegex(gart.GartError, "has no value before the first run"):
            other.state("total")
        with self.assertRaisesRegex(gart.GartError, r"run it in a session \(model.session\(\)\)"):
            model.run({"x": x})

    def test_the_tool(self):
        step = self.reference(1)
        for i in range(3):
            x = self.tokens(i, 1, 2)
            want, _ = step(x)
            np.savez(self.path("x.npz"), x=x)
            np.savez(self.path("y.npz"), y=want)
            self.accepted("run", "step.gart", "--inputs", "x.npz", "--expect", "y.npz", "--session", "chat.safetensors")
        shown = self.accepted("inspect", "step.gart")
        self.assertIn("  state past_key f32[batch,2,past,2], grows along axis 2 in place\n", shown)
        self.assertIn("  state total f32[8]\n", shown)
        self.assertIn("p50_ms", self.accepted("bench", "step.gart", "--inputs", "x.npz", "--session", "chat.safetensors", "--iterations", "5"))
        self.refused("run", "model.gart", "--random", "1", "--session", "s.safetensors", says="--session s.safetensors: the model has no states")
        self.refused("compile", "model.onnx", "-o", "x.gart", "--capacity", "4", says="--capacity 4 needs states")

    def test_rows_that_a_convolution_makes(self):
        """A GPU stores images channels last, but a state keeps the model's order."""
        self.save("images.onnx", HEADER + """images (float[1, 64, 8, 8] x, float[64, 64, 3, 3] w, float[past, 64, 8, 8] past)
            => (float[all, 64, 8, 8] y, float[all, 64, 8, 8] present) {
          c = Conv<kernel_shape = [3, 3], pads = [1, 1, 1, 1]>(x, w)
          present = Concat<axis = 0>(past, c)
          y = Conv<kernel_shape = [3, 3], pads = [1, 1, 1, 1]>(present, w)
        }""")
        self.accepted("compile", "images.onnx", "-o", "images.gart", "--state", "auto")
        random, past = np.random.default_rng(1), np.zeros((0, 64, 8, 8), np.float32)
        w = random.standard_normal((64, 64, 3, 3)).astype(np.float32) / 24
        session, reference = gart.load(self.path("images.gart")).session(), onnxruntime.InferenceSession(self.path("images.onnx"))
        for _ in range(3):
            x = random.standard_normal((1, 64, 8, 8)).astype(np.float32)
            want, past = reference.run(None, {"x": x, "w": w, "past": past})
            np.testing.assert_allclose(session.run({"x": x, "w": w})["y"], want, rtol=1e-4, atol=1e-4)
            np.testing.assert_allclose(session.state("past"), past, rtol=1e-4, atol=1e-4)

    def test_capacity(self):
        self.accepted("compile", "step.onnx", "-o", "small.gart", "--state", "auto,total=total_next", "--capacity", "4")
        session = gart.load(self.path("small.gart")).session()
        session.run({"x": self.tokens(0, 1, 4)})
        with self.assertRaisesRegex(gart.GartError, "would have 5 along axis 2; its capacity is 4"):
            session.run({"x": self.tokens(1, 1, 1)})
        self.assertEqual(session.state("past_key").shape, (1, 2, 4, 2))

    def test_entries(self):
        self.save("twice.onnx", STEP.replace("step (", "twice (").replace("v = Sin(k)", "v0 = Sin(k)\n  v = Add(v0, v0)"))
        self.accepted("compile", "step.onnx", "--entry", "twice=twice.onnx", "-o", "both.gart", "--state", "auto,total=total_next")
        session, step = gart.load(self.path("both.gart")).session(), self.reference(1)
        x = self.tokens(0, 1, 3)
        np.testing.assert_allclose(session.run({"x": x})["y"], step(x)[0], rtol=1e-5, atol=1e-6)
        session.run({"x": x}, entry="twice")
        self.assertEqual(session.state("past_key").shape, (1, 2, 6, 2))
        np.testing.assert_allclose(session.state("past_value")[:, :, 3:], 2 * session.state("past_value")[:, :, :3],
                                   rtol=1e-6)
        with self.assertRaisesRegex(gart.GartError, "the model has no entry point 'thrice', only 'step', 'twice'"):
            session.run({"x": x}, entry="thrice")
        self.accepted("run", "both.gart", "--entry", "twice", "--random", "1", "--dim", "tokens=2")
        self.refused("run", "both.gart", "--entry", "thrice", "--random", "1",
                     says="--entry thrice: the file has no such entry point, only 'step', 'twice'")
        self.refused("compile", "step.onnx", "--entry", "step=step.onnx", "-o", "x.gart", says="two entry points are called 'step'")
        self.refused("compile", "step.onnx", "--entry", "twice.onnx", "-o", "x.gart", says="--entry twice.onnx: expected NAME=FILE.onnx")


if __name__ == "__main__":
    unittest.main()
