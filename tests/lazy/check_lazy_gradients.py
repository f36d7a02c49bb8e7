#!/usr/bin/env python3
"""Compares the gradients of gart.lazy's functions, in double precision, with central differences and with jax if it is installed.
All other functions must raise an error. Each NumPy function of gart.lazy is in one of the tables."""
import unittest

import numpy as np

from lazy_case import gl

R = np.random.default_rng(3)
X, Y, P = R.standard_normal((2, 3, 4)), R.standard_normal((2, 3, 4)), np.abs(R.standard_normal((2, 3, 4))) + 0.3
M, V, W = R.standard_normal((3, 4)), R.standard_normal(5), R.standard_normal((4, 3))
S = M[:, :3]
IMAGE, FILTER, DEEP = R.standard_normal((2, 4, 7, 6)), R.standard_normal((6, 4, 3, 2)), R.standard_normal((4, 1, 3, 3))
TURNED = R.standard_normal((4, 3, 3, 2))
Q, K = R.standard_normal((1, 2, 5, 4)), R.standard_normal((1, 1, 5, 4))
VALUES = {"X": X, "Y": Y, "P": P, "M": M, "V": V, "W": W, "S": S, "IMAGE": IMAGE, "FILTER": FILTER, "DEEP": DEEP, "TURNED": TURNED, "Q": Q, "K": K}
# Functions under NumPy's names: `xp` is gart.lazy or jax.numpy. Each array named in a row gets a gradient.
ROWS = """
X + Y; X - Y; X * Y; X / P; -X; +X; 2 - X; 3 / P; X ** 2; X ** 3; P ** 0.5; P ** -1.5; P ** X; 2.0 ** X; X % 0.7; X // 0.7 + X; M @ W; X @ W; V @ V; M @ X[0].T; X + X[0]; X * X[:, :1]; X[0, 0] @ W; W.T @ X[0, 0]
xp.add(X, 1); xp.subtract(X, Y); xp.multiply(X, Y); xp.divide(X, P); xp.true_divide(X, P); xp.power(P, Y); xp.float_power(P, 1.7); xp.matmul(M, W); xp.positive(X); xp.negative(X); xp.maximum(X, Y); xp.minimum(X, 0.1); xp.fmax(X, Y); xp.fmin(X, Y)
xp.remainder(X, P); xp.mod(X, 0.7); xp.fmod(X, 0.7); xp.divmod(X, P)[1]; xp.floor_divide(X, P) + X; xp.where(X > 0, X, Y * Y); xp.select([X > 1, X > 0], [X * X, Y], 0.0); xp.clip(X, -0.5, 0.7); xp.hypot(X, Y); xp.arctan2(X, Y); xp.logaddexp(X, Y); xp.logaddexp2(X, Y); xp.copysign(X, Y)
xp.exp(X); xp.exp2(X); xp.expm1(X); xp.log(P); xp.log2(P); xp.log10(P); xp.log1p(P); xp.sqrt(P); xp.cbrt(X); xp.square(X); xp.reciprocal(P); xp.sin(X); xp.cos(X); xp.tan(X); xp.arcsin(X / 4); xp.arccos(X / 4); xp.arctan(X); xp.sinh(X); xp.cosh(X); xp.tanh(X)
xp.arcsinh(X); xp.arccosh(P + 1); xp.arctanh(X / 4); xp.degrees(X); xp.radians(X); xp.deg2rad(X); xp.rad2deg(X); xp.sinc(X); xp.heaviside(X, 0.5) + X; xp.abs(X); xp.absolute(X); xp.fabs(X); xp.nan_to_num(X); xp.round(X) + X; xp.floor(X) * X; xp.ceil(X) * X; xp.trunc(X) * X; xp.sign(X) * X; xp.rint(X) * X
xp.sum(X, 1); X.sum((0, 2), keepdims=True); xp.sum(X, 1, where=X > 0); X.mean(); X.mean(1); xp.prod(X, 1); X.prod(); xp.prod(X * (X > 0), (0, 1)); X.max(); X.max(1); X.min((0, 2)); xp.amax(X, 1); xp.amin(X, 2); X.var(); X.var(1); X.std((0, 1), ddof=1); xp.ptp(X, 1); xp.average(X, 1); xp.average(M, weights=S[:, :1] ** 2 + M ** 2)
xp.median(M, 1); xp.median(M, 0); xp.percentile(M, 30, 1); xp.quantile(M, 0.4); xp.nansum(X, 1); xp.nanprod(X, 1); xp.nanmean(X, 1); xp.nanmax(X, 1); xp.nanmin(X, 1); xp.nanvar(X, 1); xp.nanstd(X, 1); xp.cumsum(X, 1); xp.cumsum(X); xp.cumprod(X, 1); xp.cumprod(M); xp.nancumsum(X, 1); xp.nancumprod(X, 1)
xp.diff(X, 2); xp.ediff1d(V); xp.gradient(V); xp.trapezoid(M); xp.trapezoid(V, V ** 3); xp.sort(X); xp.sort(X, 0); xp.sort(M, None); xp.cov(M); xp.corrcoef(M); xp.interp(M, xp.linspace(-3, 3, 5), V); xp.dot(M, W); xp.dot(X, W); xp.vdot(X, Y); xp.inner(M, X); xp.outer(V, M); xp.tensordot(X, Y, ([0, 2], [0, 2]))
xp.einsum("ij,jk->ik", M, W); xp.einsum("ii->i", S); xp.einsum("ii", S); xp.einsum("...ij,...kj->...ik", X, Y); xp.einsum("ijk->k", X); xp.einsum("iij,j->i", xp.stack([S, S * 2, S ** 2]), V[:3]); xp.einsum("ij,ij,jk", M, M, W); xp.einsum("...i->...", X); xp.kron(M, W); xp.cross(S, S[::-1] ** 2); xp.convolve(V, W[0]); xp.correlate(V, W[0]); xp.trace(S); xp.vecdot(M, M)
xp.linalg.norm(X); xp.linalg.norm(M, axis=1); xp.linalg.norm(M, 1, axis=0); xp.linalg.norm(V, np.inf); xp.linalg.norm(V, 3); xp.linalg.matrix_power(S, 3); xp.linalg.multi_dot([M, W, M])
X.reshape(4, 6); X.ravel(); X.flatten(); X.T; X.mT; X.transpose(1, 2, 0); X.swapaxes(0, 1); xp.moveaxis(X, 0, 2); xp.rollaxis(X, 2); xp.permute_dims(X, (2, 0, 1)); xp.matrix_transpose(X); xp.expand_dims(X, 1); X[None].squeeze(); xp.atleast_1d(X); xp.atleast_2d(V); xp.atleast_3d(M); xp.broadcast_to(V, (3, 5)); xp.broadcast_arrays(M, W.T[:, :1])[1]
xp.tile(M, (2, 3)); xp.repeat(M, 2, 1); xp.repeat(M, 3); xp.concatenate([X, Y], 1); xp.concat([X, Y * 2]); xp.stack([X, Y], 1); xp.hstack([M, S]); xp.vstack([M, W.T]); xp.dstack([X, Y]); xp.column_stack([V, V ** 2]); xp.block([[M, S], [M, S]]); xp.append(M, V); xp.insert(V, 2, 1.0); xp.delete(V, 2); xp.split(X, 2, 2)[1]
xp.array_split(X, [1, 2], 1)[1]; xp.hsplit(M, 2)[1]; xp.vsplit(X, 2)[0]; xp.dsplit(X, 2)[1]; xp.unstack(M)[1]; xp.flip(X); xp.flipud(M); xp.fliplr(M); xp.rot90(M); xp.roll(X, 2, 1); xp.roll(X, 3); xp.pad(M, 1); xp.pad(M, ((1, 0), (2, 1)), mode="reflect"); xp.pad(M, 2, mode="edge"); xp.tril(M); xp.triu(X, 1); xp.diag(V); xp.diag(S); xp.diagonal(X, 1, 1, 2); xp.diagflat(V); xp.vander(V, 3)
xp.take(X, xp.asarray([0, 1, 1]), 2); xp.take_along_axis(X, xp.argsort(Y, 1), 1); X[0]; X[:, -1]; X[..., 1:3]; X[::-1, :, ::2]; X[:, [0, 2, 2]]; X[[0, 1], [1, 1]]; X[None, 1]; X[:, [0, 1], [2, 3]]; M[xp.ix_(xp.asarray([0, 2]), xp.asarray([1, 3]))]; xp.meshgrid(V, W[0])[1]; xp.linspace(V[0], V[1], 4); X.astype(np.float32) * 2; xp.copy(X); xp.squeeze(M[:, :1]); xp.ravel(M); xp.reshape(X, (-1,))
xp.swapaxes(X, 0, 2); xp.transpose(X); xp.mean(X, 0); xp.max(X, 0); xp.min(X, 0); xp.std(X, 0); xp.var(X, 0); xp.vstack([M, M])
""".replace("\n", ";")
OURS = """
gl.erf(X); gl.sigmoid(X); gl.softplus(X); gl.relu(X); gl.rsqrt(P); gl.logsumexp(X, (0, 2)); gl.topk(X, 2, 1)[0]; gl.topk(X, 2, largest=False)[0]; gl.partition(V, 2); gl.insert(M, 1, V[:3], axis=1); gl.pad(M, 2, mode="symmetric"); gl.pad(M, 2, mode="wrap"); gl.multiply.accumulate(M); gl.maximum.reduce(X); gl.maximum.accumulate(X, axis=1); gl.add.reduce(X)
gl.nn.softmax(X); gl.nn.softmax(X, 1); gl.nn.log_softmax(X, 0); gl.nn.gelu(X); gl.nn.gelu(X, "tanh"); gl.nn.silu(X); gl.nn.leaky_relu(X); gl.nn.relu(X); gl.nn.cross_entropy(M, [1, 0, 3]); gl.nn.embedding(M, [[2, 0], [2, 1]])
gl.nn.layer_norm(X, V[:4], V[1:]); gl.nn.rms_norm(X, V[:4]); gl.nn.group_norm(IMAGE, V[:4], V[1:], 2); gl.nn.attention(Q, Q * 2, Q ** 2); gl.nn.attention(Q, K, K * 2, causal=True, scale=0.3)
gl.nn.conv(IMAGE, FILTER, V[:1] * gl.ones(6, np.float64)); gl.nn.conv(IMAGE, FILTER, strides=2, padding=1); gl.nn.conv(IMAGE, FILTER, padding="same"); gl.nn.conv(IMAGE, DEEP, groups=4); gl.nn.conv(IMAGE, FILTER[:4, :2], groups=2, dilations=2, padding=2)
gl.nn.max_pool(IMAGE, 2); gl.nn.max_pool(IMAGE, 3, strides=2, padding=1); gl.nn.avg_pool(IMAGE, 2); gl.nn.avg_pool(IMAGE, 3, strides=2, padding=1); gl.onnx.AveragePool(IMAGE, kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1)
gl.onnx.ConvTranspose(IMAGE, TURNED, V[:3]); gl.onnx.ConvTranspose(IMAGE, TURNED, strides=[2, 2], pads=[1, 0, 1, 0], output_padding=[1, 1]); gl.onnx.ConvTranspose(IMAGE, FILTER[:4, :2], group=2); gl.onnx.GlobalAveragePool(IMAGE); gl.onnx.GlobalMaxPool(IMAGE)
gl.onnx.BatchNormalization(IMAGE, V[:4], V[1:], M[0], P[0, 0]); gl.onnx.InstanceNormalization(IMAGE, V[:4], V[1:]); gl.onnx.Elu(X, alpha=0.7); gl.onnx.Selu(X); gl.onnx.Celu(X, alpha=2.0); gl.onnx.Softsign(X); gl.onnx.Mish(X); gl.onnx.Swish(X, alpha=1.5); gl.onnx.HardSigmoid(X); gl.onnx.HardSwish(X)
gl.onnx.ThresholdedRelu(X, alpha=0.3); gl.onnx.Shrink(X, lambd=0.3, bias=0.1); gl.onnx.PRelu(X, V[:4]); gl.onnx.Clip(X, V[0] * 0 - 0.4, V[0] * 0 + 0.6); gl.onnx.Mod(X, P, fmod=1); gl.onnx.Identity(X); gl.onnx.Flatten(X, axis=2); gl.onnx.Sum(X, Y, M); gl.onnx.Mean(X, M, Y); gl.onnx.CastLike(X, V)
gl.onnx.Tile(X, [1, 2, 3]); gl.onnx.Pad(M, [1, 0, 2, 1], V[0]); gl.onnx.GatherND(X, gl.array([[0, 1], [1, -1]])); gl.onnx.ScatterND(M, gl.array([[0], [2]]), W[:2, :1] * gl.ones((2, 4), np.float64)); gl.onnx.ScatterND(M, gl.array([[0], [0]]), Y[0, :2], reduction="add")
gl.onnx.ScatterElements(M, gl.array([[0, 2, 1, 0]]), Y[0, :1]); gl.onnx.ScatterElements(M, gl.array([[0, 2, 1, 0]] * 2), Y[0, :2], reduction="add"); gl.onnx.Gemm(M, W, V[:3], alpha=0.5, beta=2.0); gl.onnx.Gemm(M, M, transA=1); gl.onnx.Gemm(M, M, transB=1)
gl.onnx.DepthToSpace(IMAGE, blocksize=2); gl.onnx.DepthToSpace(IMAGE, blocksize=2, mode="CRD"); gl.onnx.SpaceToDepth(IMAGE[:, :, :6], blocksize=2); gl.onnx.ReduceL1(X, [1]); gl.onnx.ReduceL2(X, [0, 2]); gl.onnx.ReduceSumSquare(X); gl.onnx.ReduceLogSum(P, [1]); gl.onnx.ReduceMax(X, [0]); gl.onnx.Hardmax(X) * X
gl.onnx.Softplus(X); gl.onnx.CumSum(X, 1, exclusive=1); gl.onnx.CumSum(X, 1, reverse=1); gl.onnx.LogSoftmax(X); gl.onnx.LeakyRelu(X, alpha=0.2)
""".replace("\n", ";")
# Functions without a gradient or without float results, and functions whose result does not depend on arrays.
WITHOUT = set("""all allclose any arange argmax argmin argsort argpartition argwhere array_equal array_equiv around astype ascontiguousarray bincount bitwise_and bitwise_invert
bitwise_not bitwise_or bitwise_xor broadcast_shapes compress count_nonzero diag_indices digitize empty empty_like equal extract eye fix flatnonzero full full_like geomspace greater
greater_equal histogram identity indices intersect1d invert isclose isfinite isin isinf isnan isneginf isposinf left_shift less less_equal logical_and logical_not logical_or
logical_xor logspace lexsort frombuffer fromfunction fromiter nanargmax nanargmin ndim nonzero not_equal ones ones_like ravel_multi_index right_shift searchsorted setdiff1d setxor1d shape signbit size tri tril_indices
triu_indices union1d unique unravel_index zeros zeros_like""".split())
ALSO_CALLED = {"acos": "arccos", "acosh": "arccosh", "asin": "arcsin", "asinh": "arcsinh", "atan": "arctan", "atan2": "arctan2", "atanh": "arctanh", "pow": "power",
               "cumulative_prod": "cumprod", "cumulative_sum": "cumsum", "trapz": "trapezoid", "row_stack": "vstack"}
# ONNX operators without a known gradient: using them under grad raises an error that names them.
NO_GRADIENT = ["Det", "Resize", "GridSample", "LRN", "LSTM", "GRU", "RNN", "RoiAlign", "CumProd", "DFT", "LpPool", "LpNormalization", "MeanVarianceNormalization", "Col2Im"]


def rows(text):
    return [row.strip() for row in text.split(";") if row.strip()]


def names_of(row):
    return [n for n in VALUES if n in {t for t in "".join(c if c.isalnum() or c == "_" else " " for c in row).split()}]


def value(row, xp, arrays):
    return eval(row, {"np": np, "xp": xp, "gl": gl, **arrays})


def weights(shape):
    return np.random.default_rng(9).standard_normal(shape)


def ours(row):
    names = names_of(row)

    def loss(arrays):
        y = value(row, gl, arrays)
        return (y * gl.array(weights(y.shape))).sum()
    arrays = {n: gl.array(VALUES[n]) for n in names}
    made, slope = gl.value_and_grad(loss)(arrays)
    return {n: slope[n].numpy() for n in names}, lambda arguments: loss({n: gl.array(v) for n, v in arguments.items()}).item()


class Gradients(unittest.TestCase):
    def by_differences(self, row):
        slopes, loss = ours(row)
        chosen = np.random.default_rng(1)
        for name, slope in slopes.items():
            self.assertEqual((slope.shape, slope.dtype), (VALUES[name].shape, np.float64))
            narrow = "float32" in row
            for _ in range(4):
                at = tuple(chosen.integers(0, n) for n in slope.shape)
                step, size = np.zeros(slope.shape), 1e-2 if narrow else 1e-6
                step[at] = size
                arguments = {n: VALUES[n] for n in slopes}
                expected = (loss({**arguments, name: VALUES[name] + step}) - loss({**arguments, name: VALUES[name] - step})) / (2 * size)
                self.assertLess(abs(slope[at] - expected), (1e-3 if narrow else 1e-6) * max(1, abs(expected)), f"by {name} at {at}: {slope[at]}, by differences {expected}")

    def test_by_differences(self):
        for row in rows(ROWS) + rows(OURS):
            with self.subTest(row):
                self.by_differences(row)

    def test_beside_jax(self):
        try:
            import jax
        except ImportError:
            self.skipTest("jax is not installed")
        jax.config.update("jax_enable_x64", True)
        compared = 0
        for row in rows(ROWS):
            names = names_of(row)

            def loss(arrays):
                y = value(row, jax.numpy, arrays)
                return (y * weights(y.shape)).sum()
            try:
                expected = jax.grad(loss)({n: jax.numpy.asarray(VALUES[n]) for n in names})
            except (AttributeError, TypeError, NotImplementedError, ValueError):
                continue  # jax does not have this function or this form
            compared += 1
            slopes, _ = ours(row)
            with self.subTest(row):
                for n in names:
                    np.testing.assert_allclose(slopes[n], np.asarray(expected[n]), rtol=1e-5 if "float32" in row else 1e-8, atol=1e-8)
        self.assertGreater(compared, 150)

    def test_each_function_is_in_a_table(self):
        text = ROWS + OURS
        missing = [name for name in gl._functions.__all__ if callable(getattr(gl, name)) and not isinstance(getattr(gl, name), type)
                   and f".{name}(" not in text and f".{name}." not in text and name not in WITHOUT and ALSO_CALLED.get(name) not in gl._functions.__all__
                   and name not in ("can_cast", "promote_types", "result_type", "det", "norm", "matrix_power", "multi_dot", "einsum")]
        self.assertEqual(missing, [])

    def test_what_has_none_says_so(self):
        x = {"Det": S, "Resize": IMAGE, "GridSample": IMAGE, "LSTM": X, "GRU": X, "RNN": X}
        made = {"Det": lambda o, v: o(v), "Resize": lambda o, v: o(v, None, gl.onnx.constant([1, 1, 2, 2])), "GridSample": lambda o, v: o(v, gl.zeros((2, 3, 3, 2), np.float64)),
                "LRN": lambda o, v: o(v, size=3), "RoiAlign": None, "CumProd": lambda o, v: o(v, gl.array(1)), "DFT": None, "Col2Im": None,
                "LSTM": lambda o, v: o(v, gl.ones((1, 8, 4), np.float64), gl.ones((1, 8, 2), np.float64), hidden_size=2),
                "GRU": lambda o, v: o(v, gl.ones((1, 6, 4), np.float64), gl.ones((1, 6, 2), np.float64), hidden_size=2),
                "RNN": lambda o, v: o(v, gl.ones((1, 2, 4), np.float64), gl.ones((1, 2, 2), np.float64), hidden_size=2),
                "LpPool": lambda o, v: o(v, kernel_shape=[2, 2]), "LpNormalization": lambda o, v: o(v), "MeanVarianceNormalization": lambda o, v: o(v)}
        for name in NO_GRADIENT:
            self.assertNotIn(name, gl._gradients.RULES)
            if made[name] is None:
                continue
            with self.subTest(name), self.assertRaisesRegex(gl.Error, f"{name} has no gradient"):
                gl.grad(lambda v: made[name](getattr(gl.onnx, name), v).sum())(gl.array(x.get(name, IMAGE)))
        for wrong, words in ((lambda x: gl.onnx.Pad(x, [1] * 6, mode="edge"), "Pad has a gradient only"), (lambda x: gl.onnx.AveragePool(x, kernel_shape=[2], ceil_mode=1), "ceil_mode"),
                             (lambda x: gl.onnx.ScatterElements(x, gl.array([[[0]]]), x[:1, :1, :1], reduction="max"), "reduction 'max' has no gradient")):
            with self.assertRaisesRegex(gl.Error, words):
                gl.grad(lambda v, wrong=wrong: wrong(v).sum())(gl.array(X))


if __name__ == "__main__":
    unittest.main()
