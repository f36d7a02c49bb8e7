#!/usr/bin/env python3
"""Small programs as users write them for NumPy, JAX or PyTorch. Each runs with NumPy, and with gart.lazy by the interpreter and by
compiled code. Also compares types and values of whole families of functions at the ends of their range."""
import copy
import pickle
import unittest

import numpy as np

from lazy_case import gl

R = np.random.default_rng(0)
A, B, SQUARE = (R.standard_normal(s).astype(np.float32) for s in ((6, 4), (5, 4), (4, 4)))
COUNTS = np.arange(60).reshape(3, 4, 5)
TYPES = [np.bool_, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64, np.float16, np.float32, np.float64]
PROGRAMS = []


def program(function):
    PROGRAMS.append(function)
    return function


@program
def newton_s_root(xp, array):
    x, turns = array(np.float32(2.0)), 0
    while abs(x * x - 3) > 1e-5:
        x, turns = x - (x * x - 3) / (2 * x), turns + 1
    return [x, turns]


@program
def collatz(xp, array):
    n, steps = array(27), 0
    while n != 1:
        n, steps = n // 2 if n % 2 == 0 else 3 * n + 1, steps + 1
    return steps


@program
def nearest_neighbours(xp, array):
    a, b = array(A), array(B)
    far = xp.sqrt(((a[:, None] - b[None]) ** 2).sum(-1))
    return [far, far.argmin(1), xp.sort(far, axis=1)[:, :2], xp.argsort(far, axis=1), np.argmin(np.asarray(far), 1)]


@program
def in_place_arithmetic(xp, array):
    a = array(A.copy())
    a += 1
    a *= 2
    a -= A
    a /= 3
    a **= 2
    return a


@program
def masks(xp, array):
    a = array(A)
    return [a[a > 0], xp.where(a > 0, a, 0), (a > 0).sum(), a[a[:, 0] > 0], a[(a > 0).any(1)], xp.where(a > 1)[0], a[~(a > 0)].mean(), xp.argwhere(a > 1),
            (a > 0) & (a < 1), (a > 0) * 1.0, (a > 0) ^ (a < 1), True in (a > 0), xp.count_nonzero(a > 0), (a > 0).astype(int).sum()]


@program
def indexing(xp, array):
    a, i = array(COUNTS), array(np.array([[0, 1], [2, 0]]))
    return [a[i], a[i, [0, 1]], a[..., [0, -1]], a[1, :, [2, 3]], a[-1, ::-2, 1:], a[np.array([0, 2]), 1:3, np.array([1, 4])], a.take([0, 5, -1]), a[i, :, 0],
            a[[True, False, True]], a[0][[[0], [1]], [[1, 2]]], a[np.int64(1)], a[array(1)], a[:, None, ..., None].shape, a[1:array(3)] if xp is gl else a[1:3]]


@program
def einsums(xp, array):
    a, b = array(A), array(B)
    return [xp.einsum("ij,kj->ik", a, b), xp.einsum("ij->j", a), xp.einsum("ij,ij->", a, a), xp.einsum("ij,kj", a, b), xp.einsum("ii->i", a[:4]),
            xp.einsum(a, [0, 1], b, [2, 1], [0, 2]), xp.einsum(a, [0, 1], b, [2, 1]), xp.einsum(array(COUNTS), [Ellipsis, 0], [0, Ellipsis])]


@program
def softmax_and_layer_norm(xp, array):
    a = array(A)
    e = xp.exp(a - xp.max(a, axis=1, keepdims=True))
    return [e / e.sum(axis=1, keepdims=True), (a - a.mean(-1, keepdims=True)) / (a.std(axis=-1, keepdims=True) + 1e-5)]


@program
def a_recurrent_network(xp, array):
    w, u, x = array(A[:4] * 0.5), array(B[:4] * 0.5), array(np.stack([A[:2], A[2:4], A[4:]]))
    h, seen = xp.zeros((2, 4), dtype=np.float32), []
    for t in range(len(x)):
        h = xp.tanh(x[t] @ w + h @ u)
        seen.append(h)
    return xp.stack(seen)


@program
def an_lstm(xp, array):
    w, u, c = array(np.tile(SQUARE, 4) * 0.3), array(np.tile(SQUARE.T, 4) * 0.3), xp.zeros((6, 4), dtype=np.float32)
    h = c
    for x in (A, A * 2):
        i, f, g, o = xp.split(array(x) @ w + h @ u, 4, axis=-1)
        c = c / (1 + xp.exp(-f)) + xp.tanh(g) / (1 + xp.exp(-i))
        h = xp.tanh(c) / (1 + xp.exp(-o))
    return [h, c]


@program
def rows_as_python_has_them(xp, array):
    a = array(A)
    return [sum(r.sum() for r in a), [float(v) for v in a[0]], max(a[0]), sorted(a[0].tolist()), list(zip(a[0], a[1]))[0][0], sum(a), list(reversed(a))[0]]


@program
def order(xp, array):
    a = array(np.array([3, 1, 2, 3, 0], np.int32))
    b = array(np.array([1, 1, 0, 0, 1]))
    return [xp.sort(a), xp.argsort(a), xp.sort(a)[::-1], a[xp.argsort(a)], xp.argsort(-a, kind="stable"), xp.unique(a), xp.searchsorted(xp.sort(a), [1, 3]),
            xp.unique(a, return_counts=True)[1], xp.lexsort((a, b)), xp.lexsort((b, a)), xp.bincount(a), xp.flip(a), xp.median(a), xp.percentile(a, [25, 75])]


@program
def texts(xp, array):
    a = array(np.array([[1.5, -2], [3, 4]], np.float32))
    return [str(a), f"{a[0, 0]:.3f}", f"{a}", "%.2f" % a[0, 1], str(a.shape), f"{a.sum():>8.1f}", f"{array(3):d}", str(array(True)), repr(a.dtype)]


@program
def numbers(xp, array):
    a = array(A)
    return [float(a[0, 0]), int(array(7)), bool(array(1)), a.sum().item(), [10, 20, 30][array(1)], np.float32(2) * a, a * np.float64(2), A @ a.T,
            1 if a.any() else 0, divmod(array(7), 3), abs(array(-3)), pow(array(2), 3), -a, +a, array(5) & 3, array(5) | 2, array(5) ^ 1, array(1) << 3,
            ~array(5), 3 // array(2), 7 % array(4), 2 ** array(3), not a.all(), np.arange(4, dtype=np.float32) + a]


@program
def integers(xp, array):
    a, b = array(np.array([7, -7, 7, -7], np.int32)), array(np.array([2, 2, -2, -2], np.int32))
    u = array(np.array([250, 10, 0, 1], np.uint8))
    return [a // b, a % b, a / b, a ** 2, u + 10, u * 2, u - 20, -u, a >> 1, xp.bitwise_and(a, 6), a.sum(), a.mean(), u.sum(), u.mean(), xp.abs(a), xp.sign(a),
            xp.prod(a), xp.cumsum(u), a.var(), xp.floor(a), xp.ceil(u), xp.trunc(a), abs(u), xp.negative(u), xp.floor_divide(a, 2), xp.float_power(a, 2)]


@program
def shapes(xp, array):
    a = array(np.arange(24))
    b = a.reshape(2, 3, 4)
    return [b.T.shape, b.transpose(1, 0, 2), b.reshape(-1), b.ravel(), b.flatten()[:3], b.swapaxes(0, 2), xp.moveaxis(b, 0, -1), xp.expand_dims(b, (0, 2)).shape,
            xp.concatenate([b, b], axis=-1), xp.vstack([a, a]), xp.array_split(a, 5)[0], xp.repeat(a[:2], 2), xp.pad(b[0], ((1, 0), (0, 1))), xp.rot90(b[0]),
            b.reshape(4, 6, order="F"), xp.ravel(b, order="F"), a[None, :, None].shape, xp.broadcast_to(a[:4], (2, 4)), b.nbytes, len(b), xp.triu(b[0])]


@program
def made_of_nothing(xp, array):
    return [xp.zeros(3, np.float32), xp.full((2,), 7), xp.arange(1, 2, 0.25, dtype=np.float32), xp.linspace(0, 1, 5, dtype=np.float32), xp.arange(3, dtype="int8"),
            xp.full((2, 2), True), xp.fromfunction(lambda i, j: i + 2 * j, (2, 3)), xp.frombuffer(b"\0\0\x80?", dtype=np.float32), xp.fromiter(range(3), np.int64),
            xp.array(range(3)), xp.mgrid[0:2, 0:3], xp.ogrid[0:2, 0:3][1], xp.ones(()).shape, xp.empty((2, 0), np.float32).shape]


@program
def numpy_s_functions_on_arrays(xp, array):
    a = array(A)
    return [np.sum(a), np.mean(a, axis=0), np.max(a), np.min(a, axis=1), np.prod(a[:2]), np.std(a), np.any(a), np.concatenate([a, a]), np.argmax(a), np.sort(a),
            np.linalg.norm(a), np.allclose(a, A), np.vstack([a, A]).shape, np.shape(a), np.array([a, a]).shape, np.dot(A.T, a), np.round(a, 1), np.cumsum(a)]


@program
def values_that_are_no_numbers(xp, array):
    a = array(np.array([1, np.nan, 3, np.inf], np.float32))
    return [xp.isnan(a), xp.nansum(a[:3]), xp.nanmax(a), xp.nan_to_num(a), xp.isfinite(a).sum(), xp.max(a), xp.fmax(a, 2), xp.maximum(a, 2), a == a, xp.argmax(a)]


@program
def life(xp, array):
    g = array((np.random.default_rng(3).random((12, 12)) < 0.4).astype(np.int32))
    for _ in range(5):
        n = sum(xp.roll(xp.roll(g, i, 0), j, 1) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0))
        g = ((n == 3) | ((g == 1) & (n == 2))).astype(np.int32)
    return g


@program
def the_largest_eigenvalue(xp, array):
    a, v = array(SQUARE.T @ SQUARE), xp.ones(4, np.float32)
    for _ in range(100):
        w = a @ v
        w = w / xp.linalg.norm(w)
        if xp.allclose(w, v, atol=1e-6):
            break
        v = w
    return v @ a @ v


@program
def copies(xp, array):
    a = array(A)
    return [pickle.loads(pickle.dumps(a)), copy.deepcopy(a), a.copy(), a.tolist(), a.tobytes() == A.tobytes(), a.astype("float64").dtype, a.dtype == "float32",
            np.array(a, dtype=np.float64), a.dtype.kind, a.itemsize]


def leaves(value, out):
    if isinstance(value, (list, tuple)):
        for v in value:
            leaves(v, out)
    else:
        out.append(value.numpy() if isinstance(value, gl.Array) else value)
    return out


def narrowed(dtype, given):
    """The type of our result: float32 where NumPy converts other types to float64."""
    return np.dtype(np.float32) if dtype == np.float64 and np.float64 not in given else dtype


def tried(f):
    try:
        with np.errstate(all="ignore"):
            value = f()
        return np.asarray(value.numpy() if isinstance(value, gl.Array) else value)
    except (gl.Error, TypeError, ValueError):
        return None


class Programs(unittest.TestCase):
    def same(self, ours, theirs):
        ours, theirs = leaves(ours, []), leaves(theirs, [])
        self.assertEqual(len(ours), len(theirs))
        for k, (x, y) in enumerate(zip(ours, theirs)):
            with self.subTest(k):
                if isinstance(y, (str, np.dtype)):
                    self.assertEqual(x, y)
                    continue
                x, y = np.asarray(x), np.asarray(y)
                self.assertEqual((x.shape, narrowed(y.dtype, [x.dtype.type])), (y.shape, x.dtype))
                np.testing.assert_allclose(x.astype(np.float64), y.astype(np.float64), rtol=2e-4, atol=2e-4)

    def test_each(self):
        for f in PROGRAMS:
            expected = f(np, np.asarray)
            with self.subTest(f.__name__):
                self.same(f(gl, gl.array), expected)
            with self.subTest(f"{f.__name__}, compiled"), gl.deterministic():
                self.same(f(gl, gl.array), expected)


class Families(unittest.TestCase):
    OF_TWO = ("add subtract multiply divide floor_divide remainder maximum minimum power less equal arctan2 hypot logaddexp bitwise_and fmod copysign float_power "
              "heaviside logical_and").split()
    OF_ONE = ("abs sqrt exp floor ceil rint trunc square invert logical_not sin isnan sum mean prod max argmax cumsum std sort any median log1p cbrt negative "
              "deg2rad nan_to_num ptp count_nonzero").split()
    # For booleans, NumPy returns int8 or refuses them. In gart.lazy a square is a number, and rounding changes nothing.
    OTHERWISE = {("power", np.bool_), ("square", np.bool_), ("floor", np.bool_), ("ceil", np.bool_)}
    EDGES = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 3.4e38, 1, -1, 0.5, 2.5, -2.5, 88.8, -104, 0.7, 7.1], np.float32)

    def check(self, name, ours, theirs, given):
        self.assertEqual(ours is None, theirs is None, f"{name} of {given}: refused by one of the two")
        if theirs is None:
            return
        self.assertEqual(ours.dtype, narrowed(theirs.dtype, given), f"{name} of {given}")
        np.testing.assert_allclose(ours.astype(np.float64), theirs.astype(np.float64), rtol=2e-3, err_msg=f"{name} of {given}")

    def test_types_of_functions_of_one(self):
        for name in self.OF_ONE:
            for t in TYPES:
                x = np.array([3, 1, 2, 0]).astype(t)
                if (name, t) not in self.OTHERWISE:
                    self.check(name, tried(lambda: getattr(gl, name)(gl.array(x))), tried(lambda: getattr(np, name)(x)), [t])

    def test_types_of_functions_of_two(self):
        for name in self.OF_TWO:
            for s in TYPES:
                for t in TYPES:
                    x, y = np.array([3, 1, 2]).astype(s), np.array([2, 1, 1]).astype(t)
                    if not (s == t and (name, t) in self.OTHERWISE):
                        self.check(name, tried(lambda: getattr(gl, name)(gl.array(x), gl.array(y))), tried(lambda: getattr(np, name)(x, y)), [s, t])

    def test_ends_of_the_range(self):
        x, y = np.meshgrid(self.EDGES, self.EDGES)
        for compiled in (False, True):
            before = gl.settings(deterministic=compiled)
            for name in "remainder fmod floor_divide divide hypot copysign maximum minimum fmax fmin power arctan2 less equal logaddexp multiply".split():
                with self.subTest(name, compiled=compiled), np.errstate(all="ignore"):
                    ours, theirs = getattr(gl, name)(gl.array(x), gl.array(y)).numpy(), getattr(np, name)(x, y)
                    np.testing.assert_allclose(ours.astype(np.float64), theirs.astype(np.float64), rtol=1e-5)
            gl.settings(deterministic=before["deterministic"])

    def test_remainders_are_of_the_divisor_s_sign_and_smaller(self):
        numbers = np.random.default_rng(1)
        x, y = (numbers.standard_normal(20000).astype(np.float32) * 10 for _ in range(2))
        np.testing.assert_array_equal((gl.array(x) % gl.array(y)).numpy(), x % y)
        np.testing.assert_array_equal((gl.array(x) // gl.array(y)).numpy(), x // y)

    def test_narrow_types_come_back(self):
        ml_dtypes = __import__("ml_dtypes")
        for name, values in (("bfloat16", [1, -2.5, 3e38]), ("int4", [-8, -1, 0, 7]), ("uint4", [0, 15]), ("float8_e4m3fn", [1, -0.5, 448]), ("float8_e5m2", [1, -57344])):
            x = np.array(values).astype(getattr(ml_dtypes, name))
            with self.subTest(name):
                self.assertEqual(gl.array(x).numpy().tolist(), x.tolist())
                np.testing.assert_array_equal(gl.array(x).astype(np.float32).numpy(), x.astype(np.float32))
                self.assertEqual(gl.array(x.astype(np.float32)).astype(x.dtype).numpy().tolist(), x.tolist())


class Places(unittest.TestCase):
    """x.at[index]."""

    def test_as_numpy_assigns(self):
        indices = [0, -1, (1, 2), slice(1, 3), (slice(None), 0), (slice(None, None, 2), slice(1, 4)), ([0, 2],), ([0, 1], [1, 2]), (Ellipsis, -1), A > 0,
                   np.array([1, 3]), ([0, 0, 1],)]
        at = {"add": np.add.at, "multiply": np.multiply.at, "max": np.maximum.at, "min": np.minimum.at, "subtract": np.subtract.at,
              "set": lambda a, i, v: a.__setitem__(i, v), "divide": lambda a, i, v: a.__setitem__(i, a[i] / v), "power": lambda a, i, v: a.__setitem__(i, a[i] ** v)}
        for name, theirs in at.items():
            for index in indices:
                expected = A.copy()
                theirs(expected, index, 2)
                with self.subTest(f"{name} {index}"[:60]):
                    np.testing.assert_allclose(getattr(gl.array(A).at[index], name)(2).numpy(), expected, rtol=1e-6)
        expected = A.copy()
        expected[:2, :3], expected[A > 1] = np.arange(3), 7
        x = gl.array(A).at[:2, :3].set(np.arange(3)).at[A > 1].set(7)
        np.testing.assert_array_equal(x.numpy(), expected)
        np.testing.assert_array_equal(gl.array(A).at[1].apply(gl.exp)[1].numpy(), gl.exp(gl.array(A[1])).numpy())
        self.assertEqual(gl.array(A).at[0].get().tolist(), A[0].tolist())

    def test_gradients_go_through(self):
        slope = gl.grad(lambda x: (x.at[1].add(x[0]) ** 2).sum())(gl.array(A)).numpy()
        expected = 2 * A
        expected[1] = 2 * (A[1] + A[0])
        expected[0] += expected[1]
        np.testing.assert_allclose(slope, expected, rtol=1e-4)

    def test_what_is_refused(self):
        x = gl.array(A)
        with self.assertRaisesRegex(TypeError, r"x = x.at\[index\].set"):
            x[0] = 1
        with self.assertRaisesRegex(TypeError, "no out="):
            x.sum(out=x)
        with self.assertRaisesRegex(TypeError, "keepdims is True or False"):
            x.sum(0, np.float64)
        with self.assertRaisesRegex(gl.Error, "booleans are not numbers"):
            -(x > 0)
        with self.assertRaises(gl.Error):
            x.at[0].set(np.ones(3))


if __name__ == "__main__":
    unittest.main()
