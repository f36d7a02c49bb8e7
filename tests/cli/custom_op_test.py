#!/usr/bin/env python3
"""Operators that the application computes. They are declared at compile time and passed in at load time; otherwise a
message refuses them."""
import ctypes
import os
import sys
import unittest
import unittest.mock

import numpy as np

from cli_case import CliCase

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools", "python"))
import gart

HEADER = '<ir_version: 8, opset_import: ["": 16, "acme": 2]>\n'
BLEND = "acme::Blend(T[n, c], T[n, c], f32[]?) -> T[n, 2*c], i64[n]; workspace 4*n*c"

# Earlier steps compute the node's inputs; the elements of the slice are not adjacent in memory. The node's reader fuses.
MODEL = HEADER + """model (float[n, 6] x, float[n, 3] y) => (float[n, 6] z, int64[n] most) {
  begin = Constant<value_ints = [1]>()
  end = Constant<value_ints = [6]>()
  axis = Constant<value_ints = [1]>()
  step = Constant<value_ints = [2]>()
  a = Slice(x, begin, end, axis, step)
  b = Exp(y)
  both, most = acme.Blend<share = 0.25, mode = "sum", sizes = [1, 2]>(a, b)
  z = Neg(both)
}"""


def blend(inputs, outputs, attributes):
    a, b, scale = inputs
    assert attributes == {"share": 0.25, "mode": "sum", "sizes": [1, 2]}, attributes
    assert scale is None and not a.flags.writeable
    outputs[0][:] = np.concatenate([attributes["share"] * a + b, a - b], 1)
    if outputs[1] is not None:
        outputs[1][:] = np.argmax(b, 1)


class CustomOps(CliCase):
    def compiled(self, text, name, *declarations):
        self.save(name + ".onnx", text)
        declared = [word for d in declarations for word in ("--custom-op", d)]
        self.accepted("compile", name + ".onnx", "-o", name + ".gart", "--target", "x86-64-v3", *declared)
        return self.path(name + ".gart")

    def test_a_function_of_the_application(self):
        model = gart.load(self.compiled(MODEL, "blend", BLEND), custom_ops={"acme::Blend": blend, "acme::Other": blend})
        random = np.random.default_rng(0)
        for n in (1, 5, 0, 300):
            x, y = random.standard_normal((n, 6), np.float32), random.standard_normal((n, 3), np.float32)
            a, b = x[:, 1::2], np.exp(y)
            outputs = model.run({"x": x, "y": y})
            np.testing.assert_allclose(outputs["z"], -np.concatenate([0.25 * a + b, a - b], 1), rtol=1e-4, atol=1e-5)
            np.testing.assert_array_equal(outputs["most"], np.argmax(b, 1))

    def test_a_function_that_throws(self):
        """A C++ exception ends the run, not the process: it does not pass through the kernels' code."""
        throws = ctypes.cast(ctypes.CDLL("libstdc++.so.6")._ZSt17__throw_bad_allocv, gart._OpFunction)
        path = self.compiled(MODEL, "throws", BLEND)
        with unittest.mock.patch.object(gart, "_op_function", lambda function: function):
            model = gart.load(path, custom_ops={"acme::Blend": throws})
        with self.assertRaisesRegex(gart.GartError, "step 'both.*' failed: its function threw an exception"):
            model.run({"x": np.zeros((2, 6), np.float32), "y": np.zeros((2, 3), np.float32)})

    def test_an_output_that_nothing_reads(self):
        path = self.compiled(MODEL.replace(", int64[n] most)", ")"), "unread", BLEND)
        seen = []
        model = gart.load(path, custom_ops={"acme::Blend": lambda i, o, a: (seen.append(o[1]), blend(i, o, a))})
        model.run({"x": np.ones((2, 6), np.float32), "y": np.ones((2, 3), np.float32)})
        self.assertEqual(seen, [None])

    def test_any_shape_and_names_that_are_attributes(self):
        text = HEADER + """model (double[2, n] x) => (double[2, n] y, int32[n, 4] z) {
          y = acme.Twice(x)
          z = acme.Table<width = 4>(y)
        }"""
        path = self.compiled(text, "shapes", "acme::Twice(T[...]) -> T[...]", "acme::Table(T[a, b]) -> i32[b, width]")
        model = gart.load(path, custom_ops={"acme::Twice": lambda i, o, a: np.multiply(i[0], 2, out=o[0]),
                                            "acme::Table": lambda i, o, a: o[0].fill(a["width"])})
        outputs = model.run({"x": np.ones((2, 3))})
        np.testing.assert_array_equal(outputs["y"], np.full((2, 3), 2.0))
        np.testing.assert_array_equal(outputs["z"], np.full((3, 4), 4))

    def test_in_a_loop(self):
        text = HEADER + """model (float[2] x) => (float[2] y) {
          count = Constant<value_int = 5>()
          yes = Constant<value = bool {1}>()
          y = Loop(count, yes, x) <body = b (int64 i, bool go, float[2] before) => (bool go_on, float[2] after) {
            go_on = Identity(go)
            after = acme.Grow(before)
          }>
        }"""
        model = gart.load(self.compiled(text, "loop", "acme::Grow(f32[n]) -> f32[n]"),
                          custom_ops={"acme::Grow": lambda i, o, a: np.add(i[0], 1, out=o[0])})
        np.testing.assert_array_equal(model.run({"x": np.zeros(2, np.float32)})["y"], [5, 5])

    def test_what_a_function_raises(self):
        def broken(inputs, outputs, attributes):
            raise ValueError("no such mode")
        model = gart.load(self.compiled(MODEL, "raises", BLEND), custom_ops={"acme::Blend": broken})
        with self.assertRaisesRegex(gart.GartError, "step 'both.*' failed: its function returned 1") as caught:
            model.run({"x": np.ones((2, 6), np.float32), "y": np.ones((2, 3), np.float32)})
        self.assertEqual(str(caught.exception.__cause__), "no such mode")

    def test_what_a_function_returns(self):
        path, plain = self.compiled(MODEL, "returns", BLEND), gart._op_function
        try:
            for code in (7, -5, -1, 2**31 - 1, -2**31 + 1):
                gart._op_function = lambda _, code=code: gart._OpFunction(lambda user, call: code)
                model = gart.load(path, custom_ops={"acme::Blend": blend})
                with self.assertRaisesRegex(gart.GartError, f"its function returned {code}$"):
                    model.run({"x": np.ones((2, 6), np.float32), "y": np.ones((2, 3), np.float32)})
        finally:
            gart._op_function = plain

    def test_a_function_that_is_missing(self):
        path = self.compiled(MODEL, "missing", BLEND)
        for given in (None, {"Blend": blend}):
            with self.assertRaisesRegex(gart.GartError, "the model needs a function for its operator 'acme::Blend', which"):
                gart.load(path, custom_ops=given)

    def test_gpus_leave_it_to_the_cpu(self):
        self.save("gpu.onnx", MODEL)
        arguments = ("compile", "gpu.onnx", "-o", "gpu.gart", "--custom-op", BLEND, "--target")
        self.refused(*arguments, "sm_90a", says=("node 'both' is, or holds, a custom operator", "there is no CPU target"))
        said = self.accepted(*arguments, "sm_80,x86-64-v3", "--stop-after=plan", "--print-plan")
        self.assertEqual(said.count("plan for a CPU, any shape"), 2, "the whole model, and what only CPUs run")
        self.assertEqual(said.count("plan for a GPU, any shape"), 3, "its two operands, which do not wait for each other, and what is after it")

    def test_declarations_that_do_not_fit(self):
        self.save("wrong.onnx", MODEL)
        for declared, words in (
                ("acme::Blend(T[n, c]) -> T[n]", "has 2 inputs and 2 outputs, but is declared with 1 and 1"),
                ("acme::Blend(T[n, c], i32[n, c]) -> T[n, 6], i64[n]", "input 1 is f32, but is declared as i32"),
                ("acme::Blend(T[n], T[n, c]) -> T[n, 6], i64[n]", "input 0 has rank 2, but is declared as T[n] of rank 1"),
                ("acme::Blend(T[n, 3], T[n, 4]) -> T[n, 6], i64[n]", "axis 1 of input 1"),
                ("acme::Blend(T[n, c], T[n, c]) -> T[n, k], i64[n]", "'k' in output 0 is neither an extent of an input nor"),
                ("acme::Blend(T[n, c], T[n, c], f32[]) -> T[n, 6], i64[n]", "input 2 is missing"),
                ("acme::Blend(T[n, c], T[n, c]) -> S[n, c], i64[n]", "'S' of output 0 is neither an element type nor a name for that of an input"),
                ("acme::Blend T", "is not like"), ("acme::Blend(T[n) -> T[n]", "is not like"), ("acme::Blend() ->", "it makes nothing"),
                ("acme::Other(T[n]) -> T[n]", "--custom-op declares an operator of the application")):
            with self.subTest(declared):
                done = self.tool("compile", "wrong.onnx", "-o", "wrong.gart", "--target", "x86-64-v3", "--custom-op", declared)
                self.assertIn(done.returncode, (1, 2))
                self.assertIn(words, done.stderr)
                self.assertFalse(os.path.exists(self.path("wrong.gart")))


if __name__ == "__main__":
    unittest.main()
