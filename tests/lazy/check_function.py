#!/usr/bin/env python3
"""gl.function: recording once and many calls, refusals, gradients, files and threads."""
import os
import subprocess
import tempfile
import threading
import unittest

import numpy as np

from lazy_case import compiled, gl

import gart

CLI = os.environ["GCC_GRAPH"]


def weights(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


class Functions(unittest.TestCase):
    def setUp(self):
        gl.wait()

    def test_the_body_runs_once_for_each_form(self):
        ran = []

        @gl.function
        def block(x, w, turns=1):
            """Some turns."""
            ran.append(turns)
            for _ in range(turns):
                x = gl.tanh(x @ w) + 0.5
            return x
        x, w = weights(4, 8), weights(8, 8, seed=1)
        for _ in range(3):
            y = block(block(gl.array(x), gl.array(w)), w)
            first = np.tanh(x @ w) + 0.5
            expected = np.tanh(first @ w) + 0.5
            np.testing.assert_allclose(y.numpy(), expected, rtol=1e-5, atol=1e-5)
        self.assertEqual((ran, block.recordings), ([1], 1))
        block(gl.array(x), w, turns=2)
        block(gl.array(x[:2]), w)
        self.assertEqual(ran, [1, 2, 1])
        self.assertEqual((block.name, block.__doc__), ("block", "Some turns."))

    def test_lists_and_dicts_go_in_and_out(self):
        @gl.function(name="acme::Cell")
        def cell(state, p):
            h = gl.tanh(state["h"] @ p[0] + p[1])
            return {"h": h, "parts": [h * 2, state["n"] + 1]}
        state, p = {"h": gl.array(weights(2, 3)), "n": gl.array(0)}, (gl.array(weights(3, 3, seed=1)), np.ones(3, np.float32))
        h = weights(2, 3)
        for n in range(3):
            out = cell(state, p)
            h = np.tanh(h @ weights(3, 3, seed=1) + 1)
            np.testing.assert_allclose(out["parts"][0].numpy(), 2 * h, rtol=1e-5, atol=1e-6)
            self.assertEqual(out["parts"][1].item(), n + 1)
            state = {"h": out["h"], "n": out["parts"][1]}
        self.assertEqual((cell.name, cell.recordings), ("acme::Cell", 1))

    def test_one_compiled_graph_for_a_loop_of_calls(self):
        @gl.function
        def turn(x, w):
            return x - 0.1 * gl.tanh(x @ w)
        x, w = gl.ones((3, 3)), gl.ones((3, 3))
        before = gl.stats()["compiles"]
        for _ in range(6):
            x = turn(x, w)
            x.numpy()
            gl.wait()
        self.assertEqual(gl.stats()["compiles"] - before, 1)

    def test_functions_in_functions(self):
        @gl.function
        def inner(x):
            return gl.exp(x) * 0.25
        early = inner(gl.ones(3))  # `inner` is recorded here, and again inside the other function

        @gl.function
        def outer(x):
            return inner(x) + inner(inner(x[:2])).sum()
        x = np.array([0.1, 0.2, 0.3], np.float32)
        f = lambda v: np.exp(v) * 0.25  # noqa: E731
        for _ in range(2):
            np.testing.assert_allclose(outer(gl.array(x)).numpy(), f(x) + f(f(x[:2])).sum(), rtol=1e-5)
        np.testing.assert_allclose(early.numpy(), f(np.ones(3)), rtol=1e-5)
        self.assertEqual((inner.recordings, outer.recordings), (2, 1))

    def test_gradients_and_files(self):
        @gl.function
        def layer(x, w):
            return gl.tanh(x @ w)

        def loss(w, x):
            return (layer(layer(x, w), w) ** 2).sum()
        x, w = gl.array(weights(4, 5)), gl.array(weights(5, 5, seed=1))
        plain = gl.grad(lambda w: (gl.tanh(gl.tanh(x @ w) @ w) ** 2).sum())(w).numpy()
        np.testing.assert_allclose(gl.grad(loss)(w, x).numpy(), plain, rtol=1e-4, atol=1e-5)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "f.gart")
            gl.save(lambda x: layer(x, w), {"x": x}, path)
            np.testing.assert_array_equal(gart.load(path, threads=1).run({"x": x.numpy()})["out0"], compiled(layer, x, w))

    def test_what_it_refuses(self):
        outside = gl.array(weights(3, 3))

        @gl.function
        def captures(x):
            return x @ outside  # this line

        @gl.function
        def branches(x):
            return x if x.sum() > 0 else -x

        @gl.function
        def recurs(x, n):
            return x if n == 0 else recurs(x, n - 1)

        @gl.function
        def ping(x):
            return pong(x)

        @gl.function
        def pong(x):
            return ping(x)

        @gl.function
        def wrong(x):
            return x @ gl.ones((7, 7))
        x = gl.ones((3, 3))
        for f, arguments, words in ((captures, (x,), r"f32\[3,3\].*not an argument.*check_function.py, line \d+"),
                                    (branches, (x,), "recorded once for all values"),
                                    (recurs, (x, 2), r"'recurs' calls itself \(recurs -> recurs\)"),
                                    (ping, (x,), r"'ping' calls itself \(ping -> pong -> ping\)"),
                                    (wrong, (x,), r"MatMul of f32\[3,3\], f32\[7,7\].*check_function.py, line \d+"),
                                    (gl.function(lambda x: 1, name="nothing"), (x,), "'nothing' gives no array"),
                                    (captures, ({1},), "'captures' takes arrays.*not a set")):
            for _ in range(2):
                with self.assertRaisesRegex(gl.Error, words):
                    f(*arguments)
        with self.assertRaisesRegex(TypeError, "captures.*missing"):
            captures()
        np.testing.assert_array_equal((x + 1).numpy(), np.full((3, 3), 2))

    def test_threads(self):
        @gl.function
        def f(x, k):
            return (x * k).sum()
        wrong = []

        def work(k):
            for i in range(30):
                if f(np.full(8, i, np.float32), float(k)).item() != 8 * i * k:
                    wrong.append((k, i))
        threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(wrong, [])

    def test_numbers_are_told_apart(self):
        @gl.function
        def f(x, k):
            return 1 / (x * k)
        one = gl.ones(1)
        self.assertEqual([f(one, k).item() for k in (0.0, -0.0, 0.0, -0.0, True, 2, 2.0)], [np.inf, -np.inf, np.inf, -np.inf, 1, 0.5, 0.5])


class Libraries(unittest.TestCase):
    """Functions that `gcc-graph function` carved out, used from gart.lazy."""

    @classmethod
    def setUpClass(cls):
        from onnx import TensorProto, helper, numpy_helper, save
        cls.folder = tempfile.TemporaryDirectory()
        w = weights(6, 4)
        nodes = [helper.make_node("Shape", ["x"], ["shape"]), helper.make_node("Gather", ["shape", "zero"], ["rows"]),
                 helper.make_node("Unsqueeze", ["rows", "axes"], ["rows1"]), helper.make_node("Concat", ["rows1", "rest"], ["to"], axis=0),
                 helper.make_node("MatMul", ["x", "w"], ["a"]), helper.make_node("Reshape", ["a", "to"], ["y"]), helper.make_node("Tanh", ["a"], ["t"]),
                 helper.make_node("Exp", ["x"], ["e"])]
        constants = {"w": w, "zero": np.array(0), "axes": np.array([0]), "rest": np.array([2, 2])}
        graph = helper.make_graph(nodes, "net", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 6])],
                                  [helper.make_tensor_value_info(v, TensorProto.FLOAT, None) for v in ("y", "t", "e")],
                                  [numpy_helper.from_array(v, k) for k, v in constants.items()])
        cls.path, cls.w = os.path.join(cls.folder.name, "net.onnx"), w
        save(helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 21)]), cls.path)
        cls.first, cls.second, cls.third = (os.path.join(cls.folder.name, n) for n in ("a.onnx", "b.onnx", "c.onnx"))
        for name, to, library in (("Block", "y,t", cls.first), ("acme::Up", "e", cls.second), ("Block", "e", cls.third)):
            subprocess.run([CLI, "function", "add", name, cls.path, "--from", "x", "--to", to, "-o", library], check=True, capture_output=True)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_they_compute_what_they_did(self):
        lib = gl.library(self.first, self.second)
        self.assertEqual(list(lib), ["acme::Up", "functions::Block"])
        for n in (2, 5):
            x = weights(n, 6, seed=n)
            y, t = lib.Block(gl.array(x))
            np.testing.assert_allclose(y.numpy(), (x @ self.w).reshape(n, 2, 2), rtol=1e-4, atol=1e-5)
            np.testing.assert_allclose((t * 2).numpy(), 2 * np.tanh(x @ self.w), rtol=1e-4, atol=1e-5)
            np.testing.assert_allclose(lib["acme::Up"](x).numpy(), np.exp(x), rtol=1e-5)
        slope = gl.grad(lambda x: lib.Block(x)[1].sum())(gl.array(x)).numpy()
        np.testing.assert_allclose(slope, (1 - np.tanh(x @ self.w) ** 2) @ self.w.T, rtol=1e-3, atol=1e-5)

    def test_what_is_refused(self):
        lib, x = gl.library(self.first, self.second), gl.ones((2, 6))
        for wrong, words in ((lambda: lib.Blok, "no function 'functions::Blok'; the nearest: 'functions::Block'"),
                             (lambda: lib["acme::Ups"], "no function 'acme::Ups'; the nearest: 'acme::Up'"),
                             (lambda: lib.Block(x, x), "'functions::Block' takes 1 input, not 2"),
                             (lambda: lib.Block(gl.ones((2, 7))), "MatMul.*7.*6"),
                             (lambda: lib.Block(gl.ones((2, 6), gl.int32)), "MatMul"),
                             (lambda: gl.library(self.first, self.third), "'functions::Block' is in .*a.onnx and in .*c.onnx"),
                             (lambda: gl.library(self.path + "x"), "netx|net.onnxx")):
            with self.assertRaisesRegex(gl.Error, words):
                wrong()


if __name__ == "__main__":
    unittest.main()
