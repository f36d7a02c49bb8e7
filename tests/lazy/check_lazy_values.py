#!/usr/bin/env python3
"""gart.lazy against NumPy: values by the interpreter and by compiled code, types, indices, random numbers, gradients by differences."""
import unittest

import numpy as np

from lazy_case import compiled, gl

R = np.random.default_rng(5)
X, Y = R.standard_normal((3, 4, 5)).astype(np.float32), R.standard_normal((3, 4, 5)).astype(np.float32)
V = np.abs(X) * 0.4 + 0.1


def softmax(x, axis):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def conv(x, w):
    rows, columns = x.shape[2] - w.shape[2] + 1, x.shape[3] - w.shape[3] + 1
    out = np.zeros((x.shape[0], w.shape[0], rows, columns))
    for i in range(w.shape[2]):
        for j in range(w.shape[3]):
            out += np.einsum("nchw,mc->nmhw", x[:, :, i:i + rows, j:j + columns].astype(np.float64), w[:, :, i, j].astype(np.float64))
    return out


IMAGE, FILTER = R.standard_normal((2, 3, 7, 6)).astype(np.float32), R.standard_normal((4, 3, 3, 2)).astype(np.float32)
Q = R.standard_normal((2, 2, 6, 4)).astype(np.float32)
CAUSAL = np.where(np.tril(np.ones((6, 6))) > 0, 0, -np.inf)
TABLE = [  # name, our function, NumPy's function, arguments
    ("arithmetic", lambda x, y: (x + y) * x - y / (y * y + 1), None, (X, Y)),
    ("numbers", lambda x: 2 * x - 1 + x / 3 + 1 / (x + 10) + x ** 2 + (-x), None, (X,)),
    ("comparisons", lambda x, y: (x < y) & (x != y) | ~(x >= 0) ^ (y <= 1), None, (X, Y)),
    ("floor division", lambda x, y: x // 3 + x % 3 - (x // -2) * (x % -2), None, (np.arange(-9, 9), None)),
    ("float remainder", lambda x: x % 0.75 + x // 0.75, None, (X,)),
    ("where", lambda x, y: NP.where(x > 0, x, y), None, (X, Y)),
    ("functions", lambda v: NP.exp(v) + NP.log(v) + NP.sqrt(v) + NP.tanh(v) + NP.sin(v) + NP.cos(v) + NP.arctan(v) + NP.floor(v * 9), None, (V,)),
    ("more functions", lambda v: NP.arcsin(v * 0.5) + NP.sinh(v) + NP.log1p(v) + NP.expm1(v) + NP.log2(v) + NP.log10(v) + NP.square(v), None, (V,)),
    ("clip", lambda x: NP.clip(x, -0.5, 0.5) + NP.maximum(x, 0) + NP.minimum(x, 0.1), None, (X,)),
    ("sums", lambda x: x.sum() + x.mean(0).sum(1)[0] + x.max((0, 2))[1] + x.min() + x.var() + x.std(1)[0, 0] + x.prod(2)[0, 0], None, (X,)),
    ("which", lambda x: x.argmax(1) + x.argmin(1), None, (X,)),
    ("cumsum", lambda x: NP.cumsum(x, 1), None, (X,)),
    ("sort", lambda x: NP.sort(x, -1) + NP.argsort(x, -1), None, (X,)),
    ("shapes", lambda x: NP.transpose(x.reshape(4, -1), (1, 0)).reshape(5, 3, 4).swapaxes(0, 2), None, (X,)),
    ("joins", lambda x, y: NP.concatenate([x, y], 1)[:, 2:6] + NP.stack([x, y], 1)[:, 1], None, (X, Y)),
    ("splits", lambda x: NP.split(x, [1, 3], 1)[1] * NP.split(x, 2, 1)[0], None, (X,)),
    ("repeats", lambda x: NP.tile(x, (1, 2, 1))[:, 3:5] + NP.broadcast_to(x[:, :1], (3, 2, 5)) + NP.flip(x, 1)[:, :2] + NP.roll(x, 2, 1)[:, :2], None, (X,)),
    ("triangles", lambda x: NP.tril(x) - NP.triu(x, 1), None, (X,)),
    ("products", lambda x, y: x @ NP.swapaxes(y, 1, 2), None, (X, Y)),
    ("einsum", lambda x, y: NP.einsum("abc,adc->bd", x, y), None, (X, Y)),
    ("outer", lambda x: NP.outer(x[0, 0], x[1, 1]) + NP.eye(5) + NP.arange(5), None, (X,)),
    ("padding", lambda x: x, None, (X,)),
    ("softmax", lambda x: gl.nn.softmax(x, 1), lambda x: softmax(x, 1), (X,)),
    ("log softmax", lambda x: gl.nn.log_softmax(x), lambda x: np.log(softmax(x, -1)), (X,)),
    ("layer norm", lambda x: gl.nn.layer_norm(x, gl.ones(5), gl.zeros(5)), lambda x: (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5), (X,)),
    ("rms norm", lambda x: gl.nn.rms_norm(x, gl.ones(5)), lambda x: x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5), (X,)),
    ("convolution", lambda x, w: gl.nn.conv(x, w), conv, (IMAGE, FILTER)),
    ("attention", lambda q: gl.nn.attention(q, q, q, causal=True), lambda q: softmax(q @ q.swapaxes(-1, -2) * 0.5 + CAUSAL, -1) @ q, (Q,)),
    ("one hot", lambda i: gl.nn.one_hot(i, 4), lambda i: np.eye(4)[i], (np.array([0, 3, 1]),)),
    ("by name", lambda x: gl.onnx.HardSwish(x) + gl.onnx.Slice(x, [0], [3], [1])[:, :1], lambda x: x * np.clip(x / 6 + 0.5, 0, 1) + x[:, :1], (X,)),
]
INDICES = [0, -1, (1, 2), (slice(None), 1), (slice(0, 2), None, slice(None, None, -1)), (Ellipsis, 2), ([0, 2],), (slice(None), [1, 2, 2]), ([0, 1], [1, 2]),
           (0, slice(1, 3), [0, 1]), (slice(None), [0, 1], [1, 2]), (slice(2, 0, -1),), (None, Ellipsis, slice(1, None)), X > 0,
           (slice(None), np.array([[0, 1], [2, 3]])), (slice(1, 1),)]
NP = np


class Values(unittest.TestCase):
    def test_functions(self):
        global NP
        for name, ours, theirs, arguments in TABLE:
            arguments = [a for a in arguments if a is not None]
            with self.subTest(name):
                NP = np
                if name == "floor division":
                    expected = (lambda x: x // 3 + x % 3 - (x // -2) * (x % -2))(arguments[0])
                    ours = lambda x: x // 3 + x % 3 - (x // -2) * (x % -2)  # noqa: E731
                else:
                    expected = (theirs or ours)(*arguments)
                NP = gl
                given = [gl.array(a) for a in arguments]
                first, second = ours(*given), compiled(ours, *given)
                if theirs is None:
                    self.assertEqual(first.dtype.kind, np.asarray(expected).dtype.kind)
                np.testing.assert_allclose(first.numpy(), expected, rtol=2e-5, atol=2e-5)
                np.testing.assert_allclose(second, expected, rtol=2e-5, atol=2e-5)

    def test_indices(self):
        x = gl.array(X)
        for index in INDICES:
            with self.subTest(str(index)[:40]):
                np.testing.assert_array_equal(x[index].numpy(), X[index])
                np.testing.assert_array_equal(compiled(lambda: x[index]), X[index])
        with self.assertRaises(IndexError):
            x[3]
        with self.assertRaisesRegex(gl.Error, "4 indices for 3"):
            x[0, 0, 0, 0]
        with self.assertRaisesRegex(TypeError, "do not change"):
            x[0] = 1

    def test_types_are_numpys(self):
        types = [np.bool_, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64, np.float16, np.float32, np.float64]
        for a in types:
            for b in types:
                expected = np.result_type(a, b)
                if expected == np.float64 and np.float64 not in (a, b):
                    expected = np.dtype(np.float32)
                with self.subTest(f"{np.dtype(a)} + {np.dtype(b)}"):
                    y = gl.array(np.ones(2, a)) + gl.array(np.ones(2, b))
                    self.assertEqual(y.dtype, expected)
                    self.assertEqual((gl.array(np.ones(2, a)) * 2).dtype, expected if a == b and a != np.bool_ else (np.ones(2, a) * 2).dtype)
        self.assertEqual((gl.array(np.ones(2, np.int32)) * 0.5).dtype, np.float32)
        self.assertEqual((gl.array(np.ones(2, np.int32)) / 2).dtype, np.float32)
        self.assertEqual(gl.array([1.5]).dtype, np.float32)
        self.assertEqual(gl.array([1]).dtype, np.int64)
        self.assertEqual(gl.array(np.ones(2)).dtype, np.float64)

    def test_random_numbers_depend_on_the_key_alone(self):
        key = gl.random.key(7)
        x = gl.random.uniform(key, (1000,))
        y = gl.random.normal(key, (999,)) * 2
        np.testing.assert_array_equal(x.numpy(), gl.random.uniform(gl.random.key(7), (1000,)).numpy())
        a, b = gl.random.split(key)
        self.assertNotEqual(gl.random.uniform(a).item(), gl.random.uniform(b).item())
        # Splitting a known key does not record a node, so a loop's keys do not make a growing graph. In a function the split is recorded, and gives the same
        # keys.
        recorded = gl.function(lambda k: [gl.random.split(k, 3)[2], gl.random.fold_in(k, 5)])(key)
        before = gl.stats()["nodes_recorded"]
        now = gl.random.split(key, 3)[2]
        self.assertTrue(now.is_ready and gl.stats()["nodes_recorded"] == before)
        for there, later in zip((now, gl.random.fold_in(key, 5)), recorded):
            self.assertEqual(there.tolist(), later.tolist())
        big = gl.random.normal(key, (200000,)).numpy()
        self.assertLess(abs(big.mean()), 0.01)
        self.assertLess(abs(big.std() - 1), 0.01)
        self.assertLess(abs(x.numpy().mean() - 0.5), 0.05)
        self.assertEqual(y.shape, (999,))
        drawn = gl.random.randint(key, (1000,), 3, 9).numpy()
        self.assertEqual((drawn.min(), drawn.max()), (3, 8))
        self.assertEqual(sorted(gl.random.permutation(key, 10).tolist()), list(range(10)))
        # Philox4x32-10 against its authors' test vectors: counter 0, key 0.
        words = gl.random.bits(gl.random.key(0), (4,)).numpy()
        self.assertEqual([hex(w) for w in words], ["0x6627e8d5", "0xe169c58d", "0xbc57ac4c", "0x9b00dbd8"])

    def test_gradients_by_differences(self):
        cases = [(lambda x: gl.tanh(x @ gl.swapaxes(x, 1, 2)).sum(), X), (lambda x: gl.nn.cross_entropy(x[0], [1, 0, 4, 2]), X),
                 (lambda x: (gl.nn.softmax(x) * x).std(), X), (lambda x: gl.concatenate([x[:, ::2], gl.exp(-x)[:, 1:3]], 1).mean() + x.max(), X),
                 (lambda x: (gl.nn.layer_norm(x, gl.ones(5)) ** 3).sum() + gl.nn.gelu(x).sum(), X), (lambda x: gl.einsum("abc,abd->cd", x, x).sum(), X),
                 (lambda x: (gl.nn.conv(x, gl.array(FILTER)) ** 2).mean() + gl.take(x, [1, 1, 0], 1).sum(), IMAGE),
                 (lambda x: gl.nn.attention(x, x, x, causal=True).std(), Q), (lambda x: (gl.split(x, [1, 3], 1)[1] ** 2).sum() + gl.split(x, 2, 1)[0].mean(), X), (lambda x: gl.cumsum(gl.where(x > 0, x, x * x), 1).mean(), X)]
        for number, (f, x) in enumerate(cases):
            with self.subTest(number):
                x64 = x.astype(np.float64)
                gradient = gl.grad(f)(gl.array(x)).numpy()
                for at in [tuple(R.integers(0, n) for n in x.shape) for _ in range(4)]:
                    step = np.zeros_like(x64)
                    step[at] = 1e-2
                    slope = (f(gl.array((x64 + step).astype(np.float32))).item() - f(gl.array((x64 - step).astype(np.float32))).item()) / 2e-2
                    self.assertLess(abs(gradient[at] - slope), 0.02 * max(1, abs(slope)) + 5e-3)

    def test_gradients_of_structures(self):
        loss = lambda p, x: ((x @ p["w"] + p["b"][0]) ** 2).sum()  # noqa: E731
        value, g = gl.value_and_grad(loss)({"w": gl.array(X[0].T), "b": [gl.zeros(4)]}, gl.array(X[1]))
        self.assertEqual((g["w"].shape, g["b"][0].shape), ((5, 4), (4,)))
        np.testing.assert_allclose(g["b"][0].numpy(), 2 * (X[1] @ X[0].T).sum(0), rtol=1e-4, atol=1e-4)
        with self.assertRaisesRegex(gl.Error, "a float of one element"):
            gl.grad(lambda x: x)(gl.array(X))


if __name__ == "__main__":
    unittest.main()
