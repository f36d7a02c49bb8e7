"""Products of vectors, matrices and more."""
import builtins
import math
import string
import types

import numpy as np

from ._core import Error, array, axes_of, cast, core, dtype_of, is_float, record, together
from ._elementwise import matmul
from ._reductions import max, min, sum
from ._shapes import broadcast_to, expand_dims, eye, flip, moveaxis, ravel, reshape, stack, swapaxes, transpose


def dot(a, b):
    """Matrix products: sums over the last axis of `a` and the second to last axis of `b`."""
    a, b = together(a, b)
    if a.ndim == 0 or b.ndim == 0:
        return a * b
    return matmul(a, b) if b.ndim <= 2 else tensordot(a, b, ([-1], [-2]))


def vdot(a, b):
    """The sum of products of all elements of both arrays."""
    return matmul(ravel(a), ravel(b))


def vecdot(a, b, axis=-1):
    """Sums of products along `axis`."""
    a, b = together(a, b)
    return sum(a * b, axis=axis)


def inner(a, b):
    """Sums of products along the last axis of both arrays."""
    a, b = together(a, b)
    if a.ndim == 0 or b.ndim == 0:
        return a * b
    return tensordot(a, b, ([-1], [-1]))


def outer(a, b):
    """Every element of `a` times every element of `b`, as a matrix."""
    return expand_dims(ravel(a), 1) * expand_dims(ravel(b), 0)


def tensordot(a, b, axes=2):
    """Sums of products over axes. `axes` is a number (the last axes of `a` and the first ones of `b`), or the lists of axes of both."""
    a, b = together(a, b)
    if isinstance(axes, int):
        ours, theirs = list(range(a.ndim - axes, a.ndim)), list(range(axes))
    else:
        ours, theirs = axes_of(axes[0], a.ndim), axes_of(axes[1], b.ndim)
    if [a.shape[i] for i in ours] != [b.shape[i] for i in theirs]:
        raise Error(f"axes {ours} of {a.shape} and {theirs} of {b.shape} differ in length")
    kept_a, kept_b = [i for i in range(a.ndim) if i not in ours], [i for i in range(b.ndim) if i not in theirs]
    depth = math.prod(a.shape[i] for i in ours)
    shape_a, shape_b = [a.shape[i] for i in kept_a], [b.shape[i] for i in kept_b]
    left = reshape(transpose(a, kept_a + ours), (math.prod(shape_a), depth))
    right = reshape(transpose(b, theirs + kept_b), (depth, math.prod(shape_b)))
    return reshape(left @ right, shape_a + shape_b)


def einsum(equation, *operands):
    """Sums of products as the subscripts say, like NumPy's."""
    if not isinstance(equation, str):  # NumPy's other arguments: each operand is followed by a list of numbers
        arguments = (equation, *operands)
        letters = ["".join("..." if i is Ellipsis else string.ascii_letters[i] for i in axes) for axes in arguments[1::2]]
        result = "->" + "".join("..." if i is Ellipsis else string.ascii_letters[i] for i in arguments[-1]) if len(arguments) % 2 else ""
        equation, operands = ",".join(letters) + result, arguments[:len(arguments) - len(arguments) % 2:2]
    equation = equation.replace(" ", "")
    if "->" not in equation:
        letters = [c for c in equation if c.isalpha()]
        equation += "->" + ("..." if "." in equation else "") + "".join(sorted(c for c in set(letters) if letters.count(c) == 1))
    return record("Einsum", together(*operands), {"equation": equation})


def kron(a, b):
    """The Kronecker product."""
    a, b = together(a, b)
    rank = builtins.max(a.ndim, b.ndim)
    a, b = (reshape(v, (1,) * (rank - v.ndim) + v.shape) for v in (a, b))
    pairs = reshape(a, [n for e in a.shape for n in (e, 1)]) * reshape(b, [n for e in b.shape for n in (1, e)])
    return reshape(pairs, [m * n for m, n in zip(a.shape, b.shape)])


def cross(a, b, axis=-1):
    """The cross product of vectors of three numbers along `axis`."""
    a, b = together(a, b)
    a, b = moveaxis(a, axis, -1), moveaxis(b, axis, -1)
    if a.shape[-1] != 3 or b.shape[-1] != 3:
        raise Error(f"cross takes vectors of 3, not of {a.shape[-1]} and {b.shape[-1]}")
    (a0, a1, a2), (b0, b1, b2) = ([v[..., i] for i in range(3)] for v in (a, b))
    return moveaxis(stack([a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0], -1), -1, axis)


def convolve(a, v, mode="full"):
    """The discrete convolution of two vectors."""
    a, v = together(a, v)
    if a.ndim != 1 or v.ndim != 1:
        raise Error("convolve takes vectors; gl.nn.conv takes more dimensions")
    if mode not in ("full", "same", "valid"):
        raise Error(f"there is no mode '{mode}'; known: full, same, valid")
    if a.shape[0] < v.shape[0]:
        a, v = v, a
    a_type, n, m = dtype_of(a), a.shape[0], v.shape[0]
    if not is_float(a_type):
        a, v = cast(a, np.float64), cast(v, np.float64)
    before, after = {"full": (m - 1, m - 1), "same": (m // 2, (m - 1) // 2), "valid": (0, 0)}[mode]
    product = record("Conv", (reshape(a, (1, 1, n)), reshape(flip(v, 0), (1, 1, m))), {"pads": [before, after]})
    return cast(ravel(product), a_type)


def correlate(a, v, mode="valid"):
    """The cross-correlation of two vectors."""
    a, v = array(a), array(v)
    if a.shape[0] < v.shape[0] and mode != "full":
        return flip(convolve(flip(a, 0), v, mode), 0) if mode == "valid" else flip(convolve(a, flip(v, 0), mode), 0)[::-1]
    return convolve(a, flip(v, 0), mode)


def norm(x, ord=None, axis=None, keepdims=False):
    """Norms of vectors, and the norms of matrices that need no decomposition."""
    x, = together(x, floats=True)
    axes = axes_of(axis, x.ndim)
    if ord is None or (ord == "fro" and len(axes) == 2) or (ord == 2 and len(axes) == 1):
        return core.sqrt(sum(x * x, axis=tuple(axes), keepdims=keepdims)) if axes else core.abs(x)
    size = core.abs(x)
    if len(axes) == 1:
        axis = axes[0]
        if ord == np.inf:
            return max(size, axis=axis, keepdims=keepdims)
        if ord == -np.inf:
            return min(size, axis=axis, keepdims=keepdims)
        if ord == 0:
            return sum(cast(x != 0, dtype_of(x)), axis=axis, keepdims=keepdims)
        if ord == 1:
            return sum(size, axis=axis, keepdims=keepdims)
        return sum(size ** float(ord), axis=axis, keepdims=keepdims) ** (1.0 / ord)
    if len(axes) == 2 and ord in (1, -1, np.inf, -np.inf):
        along, over = (axes[0], axes[1]) if ord in (1, -1) else (axes[1], axes[0])
        extreme = (max if ord > 0 else min)(sum(size, axis=along, keepdims=True), axis=over, keepdims=True)
        return extreme if keepdims else extreme.squeeze(tuple(axes))
    raise Error(f"a norm of order {ord} of {len(axes)} dimensions is not supported")


def matrix_power(x, n):
    """A square matrix raised to an integer power."""
    x = array(x)
    if n < 0:
        raise Error("negative powers of matrices are not supported")
    if n == 0:
        return broadcast_to(eye(x.shape[-1], dtype=dtype_of(x)), x.shape)
    out = None
    while n:
        if n % 2:
            out = x if out is None else out @ x
        x, n = x @ x if n > 1 else x, n // 2
    return out


def multi_dot(arrays):
    """The product of several matrices, in the cheapest order."""
    out = array(arrays[0])
    for a in arrays[1:]:
        out = out @ a
    return out


def det(x):
    """The determinant of each square matrix."""
    x, = together(x, floats=True)
    return record("Det", (x,))


linalg = types.SimpleNamespace(norm=norm, matrix_power=matrix_power, multi_dot=multi_dot, det=det, matmul=matmul, outer=outer, cross=cross,
                               tensordot=tensordot, vecdot=vecdot, matrix_transpose=lambda x: swapaxes(array(x), -1, -2))
