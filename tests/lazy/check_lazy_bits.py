#!/usr/bin/env python3
"""The bits of results: compiled code gives the same bits wherever the program reads values. The interpreter gives the
same bits for operators that round once, which docs/lazy.md lists."""
import random
import unittest

import numpy as np

from lazy_case import compiled, gl

ROWS, COLUMNS = 13, 37


def operand(seed):
    return np.random.default_rng(seed).standard_normal((ROWS, COLUMNS)).astype(np.float32)


def program(seed, cuts, shape):
    """A chain of layers; the program reads the values after the layers in `cuts`."""
    chosen, numbers = random.Random(seed), np.random.default_rng(seed)
    y = old = gl.array(numbers.standard_normal(shape).astype(np.float32))
    w = gl.array((numbers.standard_normal((shape[1], shape[1])) * 0.2).astype(np.float32))
    b, ones = gl.array(numbers.standard_normal(shape[1]).astype(np.float32)), gl.ones(shape[1])
    layers = [lambda: gl.tanh(y), lambda: y @ w + b, lambda: y + old, lambda: y - y.mean(1, keepdims=True), lambda: gl.nn.softmax(y),
              lambda: gl.exp(y * 0.1), lambda: gl.nn.layer_norm(y, ones, b), lambda: y * gl.sigmoid(old), lambda: gl.nn.gelu(y),
              lambda: y / (1 + gl.sqrt((y * y).sum(0))), lambda: gl.relu(y @ w) * 0.5, lambda: y - y.max(1, keepdims=True)]
    for i in range(6):
        new, old = chosen.choice(layers)(), y if chosen.random() < 0.4 else old
        y = new
        if i in cuts:
            gl.evaluate(y)
    return y.numpy()


class Bits(unittest.TestCase):
    def test_cuts_along_rows_do_not_change_them(self):
        with gl.deterministic():
            for seed in range(4):
                for shape in ((24, 40), (3, 7)):
                    whole = program(seed, (), shape)
                    for cuts in ((2,), (0, 1, 2, 3, 4)):
                        np.testing.assert_array_equal(program(seed, cuts, shape).view(np.uint32), whole.view(np.uint32), f"{seed} {shape} {cuts}")

    def test_open_extents_do_not_change_them(self):
        def norm(x):
            return (x - x.mean(1, keepdims=True)) / gl.sqrt(x.var(1, keepdims=True) + 1e-5)
        with gl.deterministic():
            for f in (norm, lambda x: x + x.var(1, keepdims=True), lambda x: gl.nn.softmax(x), lambda x: x.sum(0), lambda x: gl.tanh(x @ x.T)):
                def value(columns, f=f):
                    return f(gl.array(np.random.default_rng(3).standard_normal((24, columns)).astype(np.float32))).numpy()
                gl.clear()
                fixed = value(40)
                gl.clear()
                value(53)
                np.testing.assert_array_equal(value(40).view(np.uint32), fixed.view(np.uint32))
                self.assertIn("open now", gl.explain()[-1])

    def test_open_sides_of_images_do_not_change_them(self):
        numbers = np.random.default_rng(4)
        for channels, wide, shape, options in ((64, 64, (3, 3), {"padding": 1}), (8, 24, (3, 3), {"padding": 1}), (32, 32, (5, 5), {"padding": 2, "strides": 2}),
                                               (96, 48, (1, 1), {}), (16, 16, (3, 3), {"padding": 1, "groups": 2})):
            w = gl.array((numbers.standard_normal((wide, channels // options.get("groups", 1), *shape)) * 0.1).astype(np.float32))

            def value(side, w=w, channels=channels, options=options):
                return gl.relu(gl.nn.conv(gl.array(np.random.default_rng(side).standard_normal((1, channels, side, 21)).astype(np.float32)), w, **options)).numpy()
            with self.subTest(channels=channels, shape=shape), gl.deterministic():
                gl.clear()
                fixed = value(30)
                gl.clear()
                value(17)
                np.testing.assert_array_equal(value(30).view(np.uint32), fixed.view(np.uint32))
                self.assertIn("open now", gl.explain()[-1])
            self.assertFalse([line for line in gl.explain() if "not compiled" in line])

    def test_the_interpreter_s_are_the_same_where_operators_round_once(self):
        x, y = operand(0), operand(1)
        h, k = x.astype(np.float16), (x * 50).astype(np.int32)
        for name, f, arguments in (
                ("arithmetic", lambda a, b: (a + b) * (a - b) / (b * b + 0.5) * a + b, (x, y)), ("sqrt", lambda a: gl.sqrt(gl.abs(a)) + 1 / a, (x,)),
                ("choices", lambda a, b: gl.where(a < b, gl.maximum(a, 0.25), gl.minimum(-b, a)), (x, y)), ("power", lambda a: a ** 2 + a ** 3, (x,)),
                ("rounding", lambda a: gl.floor(a * 9) + gl.ceil(a * 7) + gl.rint(a * 5), (x,)), ("relu", lambda a: gl.relu(a) + gl.sign(a), (x,)),
                ("remainder", lambda a, b: a % b + a // b, (x, y)), ("moves", lambda a: gl.concatenate([a.T, a.T * 2], 1)[::-1, 3:].reshape(-1), (x,)),
                ("f16", lambda a: a * a + a, (h,)), ("casts", lambda a: gl.astype(a * 100, np.int32) + gl.astype(a * 3, np.int32), (x,)),
                ("integers", lambda a: (a * 7 + 3) // 5 % 11 - a.sum(1, keepdims=True), (k,)), ("largest", lambda a: a.max(1) - a.min(1), (x,))):
            arrays = [gl.array(a) for a in arguments]
            first, later = f(*arrays).numpy(), compiled(f, *arrays)
            self.assertEqual(first.tobytes(), later.tobytes(), name)

    def test_functions_and_sums_are_near(self):
        x = operand(2)
        for f in (gl.exp, gl.tanh, gl.sin, gl.erf, gl.sigmoid, lambda a: gl.log(gl.abs(a)), lambda a: a.sum(1), lambda a: a @ a.T):
            np.testing.assert_allclose(f(gl.array(x)).numpy(), compiled(f, gl.array(x)), rtol=2e-6, atol=2e-5)


if __name__ == "__main__":
    unittest.main()
