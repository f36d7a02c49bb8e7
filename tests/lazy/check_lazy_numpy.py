#!/usr/bin/env python3
"""Compares gart.lazy with NumPy, function by function. The interpreter computes values, types and shapes of each row; compiled code
computes a part of them."""
import unittest

import numpy as np

from lazy_case import compiled, gl

R = np.random.default_rng(7)
A, B = R.standard_normal((3, 4, 5)).astype(np.float32), R.standard_normal((3, 4, 5)).astype(np.float32)
M, V = R.standard_normal((4, 5)).astype(np.float32), R.standard_normal(6).astype(np.float32)
P = np.abs(A) + 0.1
I, J = R.integers(-9, 10, (3, 4)), R.integers(1, 7, (3, 4))
U = R.integers(0, 200, (3, 4)).astype(np.uint8)
T = A > 0
D = A.astype(np.float64)
N = np.where(R.random((3, 4, 5)) < 0.2, np.nan, A).astype(np.float32)
E = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5, -2.5], np.float32)
S, Q = np.sort(V), R.standard_normal((2, 3)).astype(np.float32)
# A row is the text of a program for NumPy and for gart.lazy; xp is the module.
ROWS = """
A + 1.5; 2 - A; A * 3; A / 2; A // 0.5; A % 0.75; -A; +A; abs(A); A ** 2; A ** 3; P ** 0.5; P ** -1.5; A ** 2.0; I ** 2; J ** J; 2 ** J; 2.0 ** A; A @ B.swapaxes(1, 2)
I + 1; I // 4; I % 4; I // -4; I % -4; I / 4; I * 0.5; I & 6; I | 6; I ^ 6; ~I; I << 2; I >> 1; U << 1; U >> 2; U + 100; I + U; U * U; divmod(I, 4)[0]; divmod(A, 0.5)[1]
7 // J; 7 % J; -7 // J; -7 % J; T & (B > 0); T | (B > 0); T ^ (B > 0); ~T; T + T; T * T; T == (B > 0); T < (B > 0); A < B; A <= 0; A > B; A >= B; A == A; A != B; I == 3
xp.add(A, B); xp.subtract(A, B); xp.multiply(A, B); xp.divide(A, B); xp.true_divide(I, 3); xp.floor_divide(I, 3); xp.remainder(I, 3); xp.mod(A, 2.0); xp.fmod(I, 4); xp.fmod(A, 0.4)
xp.power(P, 1.3); xp.maximum(A, B); xp.minimum(A, 0); xp.maximum(0.5, A); xp.fmax(N, B); xp.fmin(N, B); xp.maximum(N, B); xp.minimum(N, B); xp.float_power(P, 2); xp.positive(A)
xp.exp(A); xp.exp2(A); xp.expm1(A); xp.expm1(A * 1e-4); xp.log(P); xp.log2(P); xp.log10(P); xp.log1p(P); xp.log1p(A * 1e-4); xp.sqrt(P); xp.cbrt(A); xp.square(A); xp.reciprocal(A)
xp.sin(A); xp.cos(A); xp.tan(A); xp.arcsin(A / 9); xp.arccos(A / 9); xp.arctan(A); xp.sinh(A); xp.cosh(A); xp.tanh(A); xp.arcsinh(A); xp.arccosh(P + 1); xp.arctanh(A / 9)
xp.arctan2(A, B); xp.hypot(A, B); xp.degrees(A); xp.radians(A); xp.deg2rad(A); xp.rad2deg(A); xp.sinc(A); xp.heaviside(A, 0.5); xp.logaddexp(A, B); xp.logaddexp2(A, B); xp.copysign(A, B)
xp.signbit(A); xp.signbit(E); xp.sign(A); xp.sign(I); xp.abs(I); xp.absolute(A); xp.fabs(A); xp.negative(A); xp.floor(A); xp.ceil(A); xp.trunc(A); xp.fix(A); xp.rint(A); xp.round(A, 2); xp.around(A)
xp.round(I); A.round(1); xp.isnan(E); xp.isinf(E); xp.isfinite(E); xp.isposinf(E); xp.isneginf(E); xp.isnan(I); xp.isfinite(I); xp.nan_to_num(E); xp.nan_to_num(E, nan=1.0, posinf=2.0, neginf=3.0)
xp.isclose(A, A + 1e-7); xp.isclose(E, E, equal_nan=True); xp.isclose(E, E); xp.logical_and(A, I[:, :1, None]); xp.logical_or(T, 0); xp.logical_xor(T, B); xp.logical_not(I); xp.invert(I)
xp.bitwise_and(I, 6); xp.bitwise_or(I, J); xp.bitwise_xor(I, J); xp.left_shift(J, 2); xp.right_shift(I, 1); xp.clip(A, -0.5, 0.5); xp.clip(A, None, 0.5); A.clip(0); xp.clip(I, -2, J)
xp.where(A > 0, A, B); xp.where(A > 0, 1.0, 0.0) * A; xp.where(T, 0, A); xp.where(T, A, -1); xp.where(I > 0, I, 0); xp.where(T)[1]; xp.select([A > 1, A > 0], [A, B], -1.0)
A.sum(); A.sum(0); A.sum(-1, keepdims=True); A.sum((0, 2)); xp.sum(A, axis=(1, -1), keepdims=True); xp.sum(I); xp.sum(U, 0); xp.sum(T, 1); xp.sum(A, 1, initial=2.0); xp.sum(A, 1, where=T)
A.sum(axis=()); I.sum(dtype=np.float32); A.mean(); A.mean(0); A.mean((0, 1), keepdims=True); xp.mean(A, where=T); A.prod(1); xp.prod(J); A.max(); A.max(1); A.min((0, 1)); A.min(2, keepdims=True)
xp.amax(A, 0); xp.amin(A, 1); xp.max(A, 1, initial=0.7); xp.min(A, initial=9.0, where=T); I.max(0); T.max(1); T.min(1); U.max(); N.max(2); N.min(2); A.all(); xp.all(T, 1); xp.any(T, (0, 1)); T.any(2, keepdims=True); xp.any(T[:, :0], 1); xp.any(T[:0]); xp.all(A[:0], 0)
A.var(); A.var(1); A.std(0); A.std((0, 2), ddof=1); xp.var(A, 1, ddof=1, keepdims=True); xp.std(A, where=T); xp.ptp(A, 1); xp.ptp(I); xp.count_nonzero(I); xp.count_nonzero(T, axis=1)
xp.average(A, 1); xp.average(A, 2, weights=V[:5]); xp.average(M, weights=M * M); xp.median(A); xp.median(A, 1); xp.median(A[:, :3], 1); xp.median(A, (0, 2), keepdims=True); xp.median(N, 1)
xp.percentile(A, 30); xp.percentile(A, [10, 50.5, 99], 1); xp.quantile(A, 0.25, (0, 1)); xp.quantile(A, 0.3, 1, method="lower"); xp.quantile(A, 0.3, 1, method="higher"); xp.quantile(A, 0.3, 1, method="midpoint")
xp.nansum(N, 1); xp.nanprod(N, 1); xp.nanmean(N, 1); xp.nanmax(N, 1); xp.nanmin(N); xp.nanvar(N, 1); xp.nanstd(N); xp.nanargmax(N, 1); xp.nanargmin(N, 1); xp.nancumsum(N, 1); xp.nancumprod(N, 2)
A.argmax(); A.argmin(1); xp.argmax(A, 2); xp.argmax(A, 1, keepdims=True); xp.argmin(I, 0); T.argmax(1); xp.argmax(xp.asarray([1, 3, 3, 2]))
A.cumsum(); A.cumsum(1); xp.cumsum(I, 0); xp.cumsum(T, 2); xp.cumsum(U, 1); A.cumprod(2); xp.cumprod(J, 1); xp.cumprod(J); xp.diff(A); xp.diff(A, 2, 1); xp.diff(I, axis=0); xp.diff(T, axis=1); xp.diff(V, prepend=0.0)
xp.ediff1d(V); xp.gradient(V); xp.gradient(M, 0.5)[1]; xp.gradient(M, axis=0); xp.trapezoid(M); xp.trapezoid(M, dx=0.5, axis=0); xp.trapezoid(V, S)
xp.sort(A); xp.sort(A, 1); xp.sort(A, None); xp.sort(I, 0); xp.sort(T, 1); xp.sort(N, 1); A.argsort(1); xp.argsort(I, 0, kind="stable"); xp.argsort(A, axis=None); xp.searchsorted(S, V); xp.searchsorted(S, M, side="right")
xp.digitize(V, S); xp.digitize(V, S, right=True); xp.interp(M, S, V); xp.interp(M, S, V, left=-1.0, right=1.0); xp.isin(I, [1, 3, 5]); xp.isin(I, J, invert=True)
xp.cov(M); xp.cov(M, rowvar=False); xp.cov(V); xp.cov(V, V * V); xp.corrcoef(M); xp.add.reduce(A); xp.maximum.reduce(A, axis=1); xp.minimum.reduce(A, axis=2, keepdims=True); xp.multiply.reduce(A, axis=1); xp.logical_and.reduce(T)
xp.add.accumulate(A, axis=1); xp.maximum.accumulate(A, axis=2); xp.minimum.accumulate(A); xp.multiply.accumulate(J, axis=1); xp.multiply.outer(V, V); xp.subtract.outer(M, V)
A.reshape(4, -1); A.reshape((5, 12)); A.reshape(-1); A.reshape([3, 2, 10]); xp.reshape(A, (2, 2, 15)); A.reshape(60, 1); A.ravel(); A.flatten(); xp.ravel(M); A.T; A.mT; A.transpose(); A.transpose(1, 0, 2); A.transpose((2, 0, 1))
xp.transpose(A, (0, 2, 1)); xp.permute_dims(A, (1, 2, 0)); xp.matrix_transpose(A); A.swapaxes(0, -1); xp.swapaxes(M, 0, 1); xp.moveaxis(A, 0, -1); xp.moveaxis(A, (0, 1), (-1, 0)); xp.rollaxis(A, 2); xp.rollaxis(A, 0, 3)
xp.expand_dims(A, 1); xp.expand_dims(A, (0, -1)); A[None].squeeze(); A[:1].squeeze(0); xp.squeeze(A[:, :1], axis=1); xp.atleast_1d(np.float32(3)); xp.atleast_2d(V); xp.atleast_3d(M); xp.atleast_3d(V)
xp.broadcast_to(V, (2, 6)); xp.broadcast_arrays(M, V[:5])[1]; xp.tile(M, 2); xp.tile(M, (2, 1, 3)); xp.repeat(M, 3); xp.repeat(M, 2, 1); xp.repeat(M, [1, 0, 2, 1], axis=0); A.repeat(2, axis=-1)
xp.concatenate([A, B], 1); xp.concatenate([A, B], axis=None); xp.concatenate((M, M)); xp.concat([I, U[:, :2]], 1); xp.stack([M, M + 1]); xp.stack([M, M + 1], -1); xp.hstack([M, M]); xp.hstack([V, V]); xp.vstack([V, V]); xp.vstack([M, V[:5]])
xp.dstack([M, M]); xp.column_stack([V, V]); xp.column_stack([M, M]); xp.block([[M, M], [M, M]]); xp.append(M, V); xp.append(M, M, 0); xp.insert(V, 2, 9.0); xp.insert(M, 1, 7.0, axis=1); xp.insert(M, -1, V[:5], axis=0); xp.delete(V, 2); xp.delete(M, [0, -1], 1)
xp.split(A, 2, 1)[1]; xp.split(A, [1, 3], 2)[1]; xp.array_split(V, 4)[1]; xp.array_split(A, 2, 2)[0]; xp.hsplit(A, 2)[1]; xp.vsplit(A, 3)[2]; xp.dsplit(A, [2])[1]; xp.split(V, [2, 9])[1]; xp.unstack(M, axis=1)[2]
xp.flip(A); xp.flip(A, 1); xp.flip(A, (0, 2)); xp.flipud(M); xp.fliplr(M); xp.rot90(M); xp.rot90(M, 2); xp.rot90(M, 3); xp.rot90(A, 1, (1, 2)); xp.roll(A, 2); xp.roll(A, -1, 1); xp.roll(M, (1, 2), (0, 1)); xp.roll(A, 7, 2)
xp.pad(M, 2); xp.pad(M, ((1, 0), (2, 3))); xp.pad(M, 1, constant_values=4.0); xp.pad(M, 1, constant_values=((1.0, 2.0), (3.0, 4.0))); xp.pad(M, 2, mode="edge"); xp.pad(M, ((1, 2), (0, 3)), mode="reflect"); xp.pad(M, 2, "symmetric"); xp.pad(M, 3, "wrap")
xp.tril(M); xp.triu(M, 1); xp.tril(A, -1); xp.diag(V); xp.diag(V, 1); xp.diag(V, -2); xp.diag(M); xp.diag(M, 1); xp.diagonal(A); xp.diagonal(A, 1, 1, 2); xp.diagflat(V); xp.trace(M); xp.trace(A, axis1=1, axis2=2); M.diagonal(-1); M.trace()
xp.vander(V, 3); xp.vander(V, 3, increasing=True); xp.take(A, [0, 2], 1); xp.take(A, 7); xp.take(V, [7, -8], mode="wrap"); xp.take(V, [7, -8], mode="clip"); A.take([1, 1], axis=2); xp.take_along_axis(A, xp.argsort(A, 1), 1); xp.copy(A)
xp.dot(M, V[:5]); xp.dot(A, B.reshape(3, 5, 4)); M.dot(V[:5]); xp.dot(3.0, M); xp.vdot(A, B); xp.inner(M, V[:5]); xp.inner(A, B); xp.outer(V, M); xp.matmul(A, B.mT); xp.tensordot(A, B.T, 1); xp.tensordot(A, B, ([0, 2], [0, 2]))
xp.tensordot(M, M, 2); xp.tensordot(V, V, 0); xp.einsum("ij,kj->ik", M, M); xp.einsum("ij,kj", M, M); xp.einsum("ii->i", M[:, :4]); xp.einsum("ii", M[:, :4]); xp.einsum("...ij,...kj->...ik", A, B); xp.einsum("ijk->k", A); xp.einsum("i,j", V, V); xp.kron(M, Q); xp.kron(V, M)
xp.cross(Q, Q[::-1]); xp.convolve(V, S); xp.convolve(V, S[:3], "same"); xp.convolve(V, S[:3], mode="valid"); xp.convolve(J[0], J[1]); xp.correlate(V, S[:3]); xp.correlate(V, S, "full"); xp.linalg.norm(A); xp.linalg.norm(M, axis=1); xp.linalg.norm(M, 1, axis=0)
xp.linalg.norm(M, np.inf, axis=1); xp.linalg.norm(V, 3); xp.linalg.norm(V, 0); xp.linalg.norm(M, "fro"); xp.linalg.norm(M, 1); xp.linalg.norm(M, np.inf); xp.linalg.norm(A, axis=(1, 2), keepdims=True); xp.linalg.norm(V, -np.inf); xp.linalg.matrix_power(M[:, :4], 5); xp.linalg.matrix_power(M[:, :4], 0)
xp.linalg.multi_dot([M, M.T, M]); xp.linalg.det(M[:, :4]); xp.vecdot(M, M); xp.meshgrid(V, S)[0]; xp.meshgrid(V, S[:2], indexing="ij")[1]; xp.meshgrid(V, S, sparse=True)[1]; xp.tri(3, 4, 1, dtype=np.float32); xp.eye(3, 4, k=1, dtype=np.float32); xp.eye(3, k=-1, dtype=np.int32); xp.identity(3, dtype=np.float32)
xp.arange(7); xp.arange(2, 9, 3); xp.arange(9, 2, -2); xp.arange(5, dtype=np.float32); xp.linspace(0, 1, 7, dtype=np.float32); xp.linspace(2, 3, 4, endpoint=False, dtype=np.float32); xp.logspace(0, 2, 5, dtype=np.float32); xp.geomspace(1, 8, 4, dtype=np.float32); xp.indices((2, 3))
xp.zeros((2, 3), dtype=np.float32); xp.ones(4, dtype=np.int32); xp.full((2, 2), 7); xp.zeros_like(I); xp.ones_like(A); xp.full_like(I, 3); xp.full((2,), 1.5, np.float64); xp.asarray([[1, 2], [3, 4]]); xp.array([True, False]); xp.tril_indices(4)[1]; xp.triu_indices(3, 1)[0]
xp.unique(I); xp.unique(I, return_counts=True)[1]; xp.nonzero(I)[0]; xp.argwhere(T); xp.flatnonzero(I); xp.bincount(J.ravel()); xp.histogram(A, 4)[0]; xp.intersect1d(I, J); xp.union1d(I, J); xp.extract(T, A); xp.compress([True, False, True], A, axis=0); I.nonzero()[1]
A[0]; A[-1]; A[1, 2]; A[1, -2, 3]; A[..., 1]; A[1, ..., 2]; A[None]; A[:, None, 1]; A[..., None]; A[::2]; A[::-1]; A[:, ::-2]; A[2:0:-1, 1:3]; A[1:1]; A[5:]; A[-2:, :-1]; A[:, 1:-1, ::3]; A[np.int64(1)]; A[()]; A[1:2, None, ..., ::-1, None]
A[[0, 2]]; A[:, [1, 1, 3]]; A[[0, 1], [1, 2]]; A[0, [1, 2]]; A[:, [0, 1], [2, 3]]; A[[0, 1], :, [2, 3]]; A[0, :, [1, 2]]; A[[[0, 1], [2, 0]]]; A[xp.ix_([0, 2], [1, 3])]; A[T]; A[T[:, :, 0]]; A[0, T[0]]; A[:, T[0, :, 0]]; A[[True, False, True]]; A[[]]; A[None, [0, 1]]
A[-1, [-1, 0], None]; A[I[0] % 3]; A[(0, 1)]; V[V > 0]; M[M.argmax(0), xp.arange(5)]; len(A) * V; sum(V); V.tolist(); A.astype(np.int32); A.astype("float64"); I.astype(bool); D + A; D * 2; A + np.float64(2); A * np.float32(2); I + np.int8(1); U + 1.5; (A.astype(np.float16) + 1)
np.float32(2) * A; 3 + I; np.ones(5, np.float32) - M; xp.sum(A.astype(np.float16), 1); D.mean(); D @ D.mT; xp.exp(D); (I > 2).sum(); (A > 0) * A; xp.mean(I); xp.sqrt(J); xp.std(I); xp.percentile(I, 40); xp.sin(I); xp.arctan2(I, J)
""".replace("\n", ";")
VALUES = {"A": A, "B": B, "M": M, "V": V, "P": P, "I": I, "J": J, "U": U, "T": T, "D": D, "N": N, "E": E, "S": S, "Q": Q}
NARROWER = np.float64, np.float32  # NumPy makes float64 of arguments that are not float64


def rows():
    return [row.strip() for row in ROWS.split(";") if row.strip()]


def theirs(row):
    with np.errstate(all="ignore"):
        return eval(row, {"np": np, "xp": np, **VALUES})


def ours(row):
    return eval(row, {"np": np, "xp": gl, **{k: gl.array(v) for k, v in VALUES.items()}})


class LikeNumpy(unittest.TestCase):
    def same(self, value, expected, tolerance=2e-5):
        expected = np.asarray(expected)
        value = value.numpy() if isinstance(value, gl.Array) else np.asarray(value)
        self.assertEqual(value.shape, expected.shape)
        wanted = NARROWER[1] if expected.dtype == np.float64 and value.dtype == np.float32 else expected.dtype
        self.assertEqual(value.dtype, wanted)
        np.testing.assert_allclose(np.asarray(value, np.float64), np.asarray(expected, np.float64), rtol=tolerance if value.dtype != np.float16 else 2e-3, atol=tolerance if value.dtype != np.float16 else 4e-3)

    def test_each_row(self):
        for row in rows():
            with self.subTest(row):
                self.same(ours(row), theirs(row))

    def test_compiled_code_gives_them_too(self):
        chosen = np.random.default_rng(0).permutation(rows())[:60]
        for row in chosen:
            with self.subTest(row), gl.deterministic():
                self.same(ours(row), theirs(row))

    def test_doubles_stay_doubles(self):
        for row in ("D + 1", "D.sum(1)", "xp.exp(D)", "D * A", "xp.where(D > 0, D, 0)", "D @ D.mT", "D.mean()", "D / 3", "D[0] * np.float32(2)"):
            with self.subTest(row):
                self.assertEqual(ours(row).dtype, np.float64)
                self.same(ours(row), theirs(row))

    def test_numbers_beside_arrays_are_weak(self):
        """NEP 50, over all types: a Python number takes the array's type if possible."""
        for t in (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64, np.float16, np.float32, np.float64):
            for number in (True, 3, 1.5):
                for op in ("x + n", "n * x", "x - n" if number is not True else "x * n", "x < n", "xp.maximum(x, n)", "xp.where(x > 1, x, n)"):
                    with self.subTest(f"{np.dtype(t)}: {op}, n = {number}"):
                        x = np.array([1, 2, 3], t)
                        expected = eval(op, {"x": x, "n": number, "xp": np}).dtype
                        expected = np.float32 if expected == np.float64 and t != np.float64 else expected
                        self.assertEqual(eval(op, {"x": gl.array(x), "n": number, "xp": gl}).dtype, expected)

    def test_augmented_assignment_makes_another(self):
        x = old = gl.array(M)
        x += 1
        x *= 2
        x @= gl.array(M.T)
        x -= 1
        x /= 2
        x **= 2
        x //= 1
        np.testing.assert_allclose(x.numpy(), (((M + 1) * 2 @ M.T - 1) / 2) ** 2 // 1)
        np.testing.assert_array_equal(old.numpy(), M)
        with self.assertRaisesRegex(TypeError, "do not change"):
            x[0] = 1
        with self.assertRaises(TypeError):
            gl.add(x, x, out=x)

    def test_answers_that_are_no_arrays(self):
        a, b = gl.array(A), gl.array(B)
        self.assertIs(gl.allclose(a, a * 1.000001), True)
        self.assertIs(gl.allclose(a, b), False)
        self.assertIs(gl.array_equal(a, a), True)
        self.assertIs(gl.array_equal(a, b[:1]), False)
        self.assertIs(gl.array_equiv(a, a[:1]), False)
        self.assertIs(gl.array_equal(gl.array(E), gl.array(E), equal_nan=True), True)
        self.assertEqual((len(a), a.ndim, a.size, a.shape, a.nbytes, a.itemsize, gl.ndim(a), gl.size(a, 1), gl.shape(a)), (3, 3, 60, (3, 4, 5), 240, 4, 3, 4, (3, 4, 5)))
        self.assertEqual([float(v) for v in gl.array(V)], [float(v) for v in V])
        self.assertTrue(3 in gl.array([1, 2, 3]) and 4 not in gl.array([1, 2, 3]))
        self.assertEqual(gl.array(M).tobytes(), M.tobytes())
        self.assertEqual(round(gl.array(1.26), 1).item(), np.float32(1.3))

    def test_what_numpy_refuses_is_refused(self):
        for wrong, words in (("A.reshape(7, -1)", "60 elements"), ("A.reshape(3, 3)", "60 elements"), ("A.transpose(0, 0, 1)", "not a permutation"), ("A.sum(3)", "axis 3 is out of range"),
                             ("A.sum((0, 0))", "twice"), ("A[3]", "out of range"), ("A[0, 0, 0, 0]", "4 indices"), ("A[..., ...]", "more than one"), ("A.squeeze(0)", "not 1"),
                             ("A[T[:2]]", "a mask"), ("A[True]", "mask"), ("A[0.5]", "integer|interpreted"), ("A[::0]", "zero"), ("xp.split(V, 4)", "cannot be divided"), ("xp.stack([A, M])", "stacked"),
                             ("xp.broadcast_to(A, (3, 4))", "broadcast"), ("I ** -1", "negative powers"), ("A + V", "Add of f32"), ("A @ M", "MatMul of"), ("xp.tensordot(A, M, 1)", "differ in length"),
                             ("T - T", "difference"), ("A << 1", "shifted"), ("xp.arange(0, 5, 0)", "must not be 0"), ("bool(A)", "any"), ("xp.zeros(0).max()", "needs `initial`"), ("A.swapaxes(0, 5)", "out of range"),
                             ("xp.concatenate([A, M])", "Concat"), ("xp.pad(M, 1, 'ramp')", "no padding"), ("xp.quantile(A, 2)", "in \\[0, 1\\]"), ("xp.where(T, A)", "both choices"), ("float(A)", "not one value")):
            with self.subTest(wrong), self.assertRaisesRegex((gl.Error, IndexError, TypeError, ValueError), words):
                ours(wrong)


if __name__ == "__main__":
    unittest.main()
