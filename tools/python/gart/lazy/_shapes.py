"""Creates arrays, and rearranges the elements of others."""
import builtins
import math

import numpy as np

from ._core import (LATER, Array, Error, IndexFault, array, axes_of, axis_of, cast, core, dtype_of, extents_of, float32, form, operator, operator_index, record,
                    together)

# ---- created from shapes and numbers


def full(shape, value, dtype=None):
    """An array of `shape` with `value` everywhere."""
    shape = extents_of(shape)
    if isinstance(value, Array):
        return broadcast_to(array(value, dtype), shape)
    # The array has memory of its own, like the results of a loop's iteration, so that the first iteration has the same graph as later ones.
    return array(np.full(shape, value, dtype or array(value).dtype), dtype)


def zeros(shape, dtype=float32):
    """An array of `shape` with zeros."""
    return full(shape, 0, dtype)


def ones(shape, dtype=float32):
    """An array of `shape` with ones."""
    return full(shape, 1, dtype)


empty = zeros


def zeros_like(x, dtype=None):
    """Zeros of the shape and type of `x`."""
    return full_like(x, 0, dtype)


def ones_like(x, dtype=None):
    """Ones of the shape and type of `x`."""
    return full_like(x, 1, dtype)


empty_like = zeros_like


def full_like(x, value, dtype=None):
    """`value` everywhere, in the shape and type of `x`."""
    x = array(x)
    return full(x.shape, value, dtype or dtype_of(x))


def arange(start, stop=None, step=1, dtype=None):
    """Evenly spaced numbers from `start` to `stop`, without `stop`."""
    if stop is None:
        start, stop = 0, start
    if not builtins.all(isinstance(v, (int, np.integer)) for v in (start, stop, step)):
        return array(np.arange(start, stop, step, dtype or float32))
    if not step:
        raise Error("the step of a range must not be 0")
    numbers = core.record(operator("Range", "sss", None, 1), (), ([int(start)], [int(stop)], [int(step)]))
    return numbers if dtype is None else cast(numbers, dtype)


def linspace(start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0):
    """`num` evenly spaced numbers from `start` to `stop`."""
    if isinstance(start, Array) or isinstance(stop, Array):
        start, stop = together(start, stop, floats=True)
        t = array(np.linspace(0, 1, num, endpoint), dtype_of(start))
        start, stop = broadcast_arrays(start, stop)
        result = start + reshape(t, (num,) + (1,) * start.ndim) * (stop - start)
        result = result if not axis else moveaxis(result, 0, axis)
        result = result if dtype is None else cast(result, dtype)
        return (result, (stop - start) / builtins.max(1, num - bool(endpoint))) if retstep else result
    result = np.linspace(start, stop, num, endpoint, retstep, np.float64, axis)
    return (array(result[0], dtype or float32), float(result[1])) if retstep else array(result, dtype or float32)


def logspace(start, stop, num=50, endpoint=True, base=10.0, dtype=float32):
    """`num` numbers whose logarithms are evenly spaced."""
    return array(np.logspace(start, stop, num, endpoint, base), dtype)


def geomspace(start, stop, num=50, endpoint=True, dtype=float32):
    """`num` numbers in geometric progression from `start` to `stop`."""
    return array(np.geomspace(start, stop, num, endpoint), dtype)


def eye(n, m=None, k=0, dtype=float32):
    """An n x m matrix with ones on the k-th diagonal."""
    return cast(expand_dims(arange(k, n + k), 1) == expand_dims(arange(n if m is None else m), 0), dtype)


def identity(n, dtype=float32):
    """The n x n identity matrix."""
    return eye(n, dtype=dtype)


def tri(n, m=None, k=0, dtype=float32):
    """An n x m matrix with ones on and below the k-th diagonal."""
    return cast(expand_dims(arange(k, n + k), 1) >= expand_dims(arange(n if m is None else m), 0), dtype)


def meshgrid(*arrays, indexing="xy", sparse=False):
    """Coordinate matrices of coordinate vectors."""
    arrays = [ravel(a) for a in arrays]
    places = list(range(len(arrays)))
    if indexing == "xy" and len(arrays) > 1:
        places[:2] = [1, 0]
    grids = [reshape(a, tuple(-1 if p == q else 1 for q in range(len(arrays)))) for a, p in zip(arrays, places)]
    return grids if sparse else broadcast_arrays(*grids)


def indices(dimensions, dtype=None):
    """The indices of a grid: one array per dimension, stacked."""
    return stack(meshgrid(*[arange(n, dtype=dtype) for n in dimensions], indexing="ij"))


class _Grid:
    """gl.mgrid[0:3, 0:4], gl.ogrid[0:3, 0:4]."""

    def __init__(self, numpy_fault):
        self._theirs = numpy_fault

    def __getitem__(self, slices):
        result = self._theirs[slices]
        return tuple(array(g) for g in result) if isinstance(result, (tuple, list)) else array(result)


mgrid, ogrid = _Grid(np.mgrid), _Grid(np.ogrid)


def fromfunction(function, shape, dtype=float32):
    """The function applied to the index arrays of `shape`."""
    return function(*[indices(shape, dtype)[axis] for axis in range(len(shape))])


def frombuffer(buffer, dtype=float32, count=-1, offset=0):
    """An array of the elements in a buffer, which are copied."""
    return array(np.frombuffer(buffer, dtype, count, offset))


def fromiter(values, dtype, count=-1):
    """An array of the values of an iterable."""
    return array(np.fromiter(values, dtype, count))


def vander(x, n=None, increasing=False):
    """The Vandermonde matrix of a vector."""
    x = array(x)
    powers = np.arange(x.shape[0] if n is None else n)
    return expand_dims(x, 1) ** array(powers if increasing else powers[::-1], dtype_of(x))


def copy(x):
    """Returns the same array, because arrays are immutable."""
    return array(x)


ascontiguousarray = copy


# ---- shapes

@form
def reshape(x, *shape, order="C"):
    """The same elements in another shape; -1 stands for the remaining extent."""
    x = array(x)
    if order not in ("C", "A", "F"):
        raise Error(f"there is no order {order!r} of elements; known: C, F, A")
    shape = list(extents_of(shape[0])) if len(shape) == 1 else [operator_index(n) for n in shape]
    if -1 in shape:
        known = -math.prod(shape)
        if known <= 0 or x.size % known:
            raise Error(f"{x.shape} has {x.size} elements, not a multiple of those of {tuple(shape)}")
        shape[shape.index(-1)] = x.size // known
    if math.prod(shape) != x.size or builtins.any(n < 0 for n in shape):
        raise Error(f"{x.shape} has {x.size} elements, which do not fit {tuple(shape)}")
    if order == "F":
        return transpose(reshape(transpose(x), shape[::-1]))
    return record("Reshape", (x,), {"allowzero": 1} if 0 in shape else None, 1, "xi", [shape]) if tuple(shape) != x.shape else x


@form
def transpose(x, *axes):
    """`x` with its axes in the given order, reversed by default."""
    x = array(x)
    axes = list(axes[0]) if len(axes) == 1 and isinstance(axes[0], (list, tuple)) else [a for a in axes if a is not None]
    order = [axis_of(a, x.ndim) for a in axes] or list(range(x.ndim))[::-1]
    if sorted(order) != list(range(x.ndim)):
        raise Error(f"axes {tuple(axes)} are not a permutation of {x.ndim} dimensions")
    return record("Transpose", (x,), {"perm": order}) if order != list(range(x.ndim)) else x


permute_dims = transpose


def matrix_transpose(x):
    """`x` with its last two axes exchanged."""
    return swapaxes(array(x), -1, -2)


@form
def swapaxes(x, a, b):
    """`x` with two axes exchanged."""
    x = array(x)
    order = list(range(x.ndim))
    a, b = axis_of(a, x.ndim), axis_of(b, x.ndim)
    order[a], order[b] = order[b], order[a]
    return transpose(x, order)


def moveaxis(x, source, destination):
    """`x` with axes moved from `source` to `destination`."""
    x = array(x)
    source, destination = axes_of(source, x.ndim), axes_of(destination, x.ndim)
    if len(source) != len(destination):
        raise Error(f"{len(source)} axes cannot be moved to {len(destination)} places")
    axes = [a for a in range(x.ndim) if a not in source]
    for d, s in sorted(zip(destination, source)):
        axes.insert(d, s)
    return transpose(x, axes)


def rollaxis(x, axis, start=0):
    """`x` with `axis` moved before `start`."""
    x = array(x)
    axis, start = axis_of(axis, x.ndim), start + x.ndim if start < 0 else start
    return moveaxis(x, axis, start - (start > axis))


def expand_dims(x, axis):
    """`x` with axes of extent 1 inserted at `axis`."""
    x = array(x)
    axes = list(axis) if isinstance(axis, (list, tuple)) else [axis]
    return record("Unsqueeze", (x,), None, 1, "xi", [axes_of(axes, x.ndim + len(axes))]) if axes else x


def squeeze(x, axis=None):
    """`x` without its axes of extent 1, or without those named."""
    x = array(x)
    axes = [i for i, n in enumerate(x.shape) if n == 1] if axis is None else axes_of(axis, x.ndim)
    for a in axes:
        if x.shape[a] != 1:
            raise Error(f"axis {a} of {x.shape} has an extent of {x.shape[a]}, not 1")
    return record("Squeeze", (x,), None, 1, "xi", [axes]) if axes else x


def ravel(x, order="C"):
    """All elements as a vector."""
    return reshape(array(x), (-1,), order=order) if array(x).size else reshape(x, (0,))


def atleast_1d(*arrays):
    """The arrays with at least one dimension."""
    return _each(arrays, lambda x: x if x.ndim else reshape(x, (1,)))


def atleast_2d(*arrays):
    """The arrays with at least two dimensions."""
    return _each(arrays, lambda x: x if x.ndim > 1 else reshape(x, (1, x.size)))


def atleast_3d(*arrays):
    """The arrays with at least three dimensions."""
    return _each(arrays, lambda x: x if x.ndim > 2 else expand_dims(x, 2) if x.ndim == 2 else reshape(x, (1, x.size, 1)))


def _each(arrays, change):
    result = [change(array(x)) for x in arrays]
    return result[0] if len(result) == 1 else tuple(result)


def shape(x):
    """The extents of `x`."""
    return array(x).shape


def ndim(x):
    """The number of dimensions of `x`."""
    return array(x).ndim


def size(x, axis=None):
    """The number of elements of `x`, or its extent along `axis`."""
    return array(x).size if axis is None else array(x).shape[axis]


# ---- copies side by side

def broadcast_to(x, shape):
    """`x` repeated to `shape`."""
    x, shape = array(x), extents_of(shape)
    if shape == x.shape:
        return x
    try:
        fits = np.broadcast_shapes(x.shape, shape) == shape
    except ValueError:
        fits = False
    if not fits:
        raise Error(f"{x.shape} cannot be broadcast to {shape}")
    return record("Expand", (x,), None, 1, "xi", [list(shape)])


def broadcast_arrays(*arrays):
    """The arrays, broadcast to their common shape."""
    arrays = [array(a) for a in arrays]
    shape = np.broadcast_shapes(*(a.shape for a in arrays))
    return [broadcast_to(a, shape) for a in arrays]


broadcast_shapes = np.broadcast_shapes


def tile(x, repeats):
    """`x` repeated `repeats` times along each axis."""
    x, repeats = array(x), list(extents_of(repeats))
    repeats = [1] * (x.ndim - len(repeats)) + repeats
    if len(repeats) > x.ndim:
        x = reshape(x, (1,) * (len(repeats) - x.ndim) + x.shape)
    return record("Tile", (x,), None, 1, "xi", [repeats])


def repeat(x, repeats, axis=None):
    """Each element repeated `repeats` times along `axis`."""
    x = array(x)
    if axis is None:
        x, axis = ravel(x), 0
    axis = axis_of(axis, x.ndim)
    if not isinstance(repeats, (int, np.integer)):
        counts = np.broadcast_to(np.asarray(repeats), (x.shape[axis],))
        return _picked(x, np.repeat(np.arange(x.shape[axis]), counts), axis)
    shape = x.shape[:axis + 1] + (int(repeats),) + x.shape[axis + 1:]
    return reshape(broadcast_to(expand_dims(x, axis + 1), shape), x.shape[:axis] + (x.shape[axis] * int(repeats),) + x.shape[axis + 1:])


# ---- joined and split

def concatenate(arrays, axis=0, dtype=None):
    """The arrays joined along `axis`."""
    arrays = together(*arrays)
    if dtype is not None:
        arrays = [cast(a, dtype) for a in arrays]
    if axis is None:
        arrays, axis = [ravel(a) for a in arrays], 0
    if not arrays[0].ndim:
        raise Error("0-dimensional arrays cannot be joined; stack adds a dimension")
    return record("Concat", arrays, {"axis": axis_of(axis, arrays[0].ndim)})


concat = concatenate


def stack(arrays, axis=0):
    """The arrays joined along a new axis."""
    arrays = together(*arrays)
    axis = axis_of(axis, arrays[0].ndim + 1)
    if builtins.any(a.shape != arrays[0].shape for a in arrays):
        raise Error(f"arrays of {', '.join(sorted({str(a.shape) for a in arrays}))} cannot be stacked")
    return concatenate([expand_dims(a, axis) for a in arrays], axis)


LATER["stack"] = stack


def unstack(x, axis=0):
    """The slices of `x` along `axis`, as a tuple."""
    x = moveaxis(x, axis, 0)
    return tuple(x[i] for i in range(x.shape[0]))


def hstack(arrays):
    """The arrays joined along the second axis, or vectors along the first."""
    arrays = [atleast_1d(a) for a in arrays]
    return concatenate(arrays, 0 if arrays[0].ndim == 1 else 1)


def vstack(arrays):
    """The arrays joined as rows."""
    return concatenate([atleast_2d(a) for a in arrays], 0)


row_stack = vstack


def dstack(arrays):
    """The arrays joined along the third axis."""
    return concatenate([atleast_3d(a) for a in arrays], 2)


def column_stack(arrays):
    """Vectors and matrices joined as columns."""
    return concatenate([a if a.ndim > 1 else reshape(a, (a.size, 1)) for a in map(array, arrays)], 1)


def block(arrays):
    """An array assembled from nested lists of blocks."""
    def joined(part, axis):
        return array(part) if not isinstance(part, list) else concatenate([_padded(joined(p, axis + 1), -axis) for p in part], axis)

    def depth(part):
        return 1 + builtins.max(map(depth, part)) if isinstance(part, list) else 0

    def _padded(x, rank):
        return x if x.ndim >= rank else reshape(x, (1,) * (rank - x.ndim) + x.shape)
    deep = depth(arrays)
    return joined(arrays, -deep) if deep else array(arrays)


def append(x, values, axis=None):
    """`values` after `x` along `axis`, or both flattened."""
    return concatenate([x, values], axis)


def insert(x, at, values, axis=None):
    """`x` with `values` inserted at one position."""
    x = array(x)
    if axis is None:
        x, axis = ravel(x), 0
    axis, at = axis_of(axis, x.ndim), operator_index(at)
    extent = x.shape[axis]
    if not -extent <= at <= extent:
        raise IndexFault(f"index {at} is out of range for axis {axis} of {x.shape}")
    at += extent if at < 0 else 0
    values = array(values, dtype_of(x))
    if values.ndim < x.ndim:
        values = reshape(values, (1,) * (x.ndim - values.ndim) + values.shape) if axis or values.ndim == 0 or x.ndim > 1 else values
    wide = values.shape[axis]
    values = broadcast_to(values, x.shape[:axis] + (wide,) + x.shape[axis + 1:])
    before = (slice(None),) * axis
    return concatenate([x[before + (slice(0, at),)], values, x[before + (slice(at, None),)]], axis)


def delete(x, at, axis=None):
    """`x` without the elements at `at` along `axis`."""
    x = array(x)
    if axis is None:
        x, axis = ravel(x), 0
    axis = axis_of(axis, x.ndim)
    return _picked(x, np.delete(np.arange(x.shape[axis]), at), axis)


def split(x, parts, axis=0):
    """`x` cut along `axis` into equal parts, or at the given indices."""
    x = array(x)
    if isinstance(parts, (int, np.integer)) and x.shape[axis_of(axis, x.ndim)] % parts:
        raise Error(f"an extent of {x.shape[axis]} cannot be divided into {parts} equal parts")
    return array_split(x, parts, axis)


def array_split(x, parts, axis=0):
    """`x` cut along `axis` into parts of nearly equal extent, or at the given indices."""
    x = array(x)
    axis, extent = axis_of(axis, x.ndim), x.shape[axis_of(axis, x.ndim)]
    if isinstance(parts, (int, np.integer)):
        sizes = [extent // parts + (k < extent % parts) for k in range(parts)]
    else:
        limits = [0, *(builtins.min(builtins.max(p + extent if p < 0 else p, 0), extent) for p in parts), extent]
        if limits != sorted(limits):
            before = (slice(None),) * axis
            return [x[before + (slice(a, b),)] for a, b in zip([0, *parts], [*parts, None])]
        sizes = [b - a for a, b in zip(limits, limits[1:])]
    if len(sizes) == 1:
        return [x]
    return list(record("Split", (x,), {"axis": axis}, len(sizes), "xi", [sizes]))


def hsplit(x, parts):
    """`split` along the second axis, or along the first axis of a vector."""
    return split(x, parts, 1 if array(x).ndim > 1 else 0)


def vsplit(x, parts):
    """`split` along the first axis."""
    return split(x, parts, 0)


def dsplit(x, parts):
    """`split` along the third axis."""
    return split(x, parts, 2)


# ---- turned and shifted

def flip(x, axis=None):
    """`x` reversed along `axis` (all axes by default)."""
    x = array(x)
    return x[tuple(slice(None, None, -1) if a in axes_of(axis, x.ndim) else slice(None) for a in range(x.ndim))]


def flipud(x):
    """`x` reversed along the first axis."""
    return flip(x, 0)


def fliplr(x):
    """`x` reversed along the second axis."""
    return flip(x, 1)


def rot90(x, k=1, axes=(0, 1)):
    """`x` rotated by `k` quarter turns in the plane of two axes."""
    x, (a, b) = array(x), axes
    k %= 4
    if k == 2:
        return flip(x, (a, b))
    return x if k == 0 else swapaxes(flip(x, b), a, b) if k == 1 else flip(swapaxes(x, a, b), b)


def roll(x, shift, axis=None):
    """`x` shifted cyclically along `axis`."""
    x = array(x)
    if axis is None:
        return reshape(roll(ravel(x), shift, 0), x.shape)
    if isinstance(axis, (list, tuple)):
        for s, a in zip(np.broadcast_to(shift, (len(axis),)).tolist(), axis):
            x = roll(x, s, a)
        return x
    axis = axis_of(axis, x.ndim)
    shift = shift % x.shape[axis] if x.shape[axis] else 0
    if not shift:
        return x
    before = (slice(None),) * axis
    return concatenate([x[before + (slice(-shift, None),)], x[before + (slice(None, -shift),)]], axis)


def pad(x, widths, mode="constant", constant_values=0):
    """`x` with padding on all sides. `mode`: constant, edge, reflect, symmetric or wrap."""
    x = array(x)
    widths = np.broadcast_to(np.asarray(widths), (x.ndim, 2)).tolist()
    if mode == "constant" and not isinstance(constant_values, (list, tuple)):
        return record("Pad", (x, array(constant_values, dtype_of(x))), {"mode": "constant"}, 1, "xix", [[w[0] for w in widths] + [w[1] for w in widths]])
    if mode == "constant":
        for axis, ((a, b), (low, high)) in enumerate(zip(widths, np.broadcast_to(np.asarray(constant_values), (x.ndim, 2)).tolist())):
            sides = [full(x.shape[:axis] + (n,) + x.shape[axis + 1:], v, dtype_of(x)) for n, v in ((a, low), (b, high))]
            x = concatenate([p for p in (sides[0], x, sides[1]) if p.shape[axis]], axis)
        return x
    if mode not in ("edge", "reflect", "symmetric", "wrap"):
        raise Error(f"there is no padding '{mode}'; known: constant, edge, reflect, symmetric, wrap")
    for axis, w in enumerate(widths):
        if w != [0, 0]:
            x = _picked(x, np.pad(np.arange(x.shape[axis]), w, mode), axis)
    return x


def tril(x, k=0):
    """`x` with zeros above the k-th diagonal."""
    return record("Trilu", (array(x),), {"upper": 0}, 1, "xs", [[k]])


def triu(x, k=0):
    """`x` with zeros below the k-th diagonal."""
    return record("Trilu", (array(x),), {"upper": 1}, 1, "xs", [[k]])


def _picked(x, places, axis):
    """The elements at these positions along `axis`, given as a NumPy array."""
    return record("Gather", (x, array(places.astype(np.int64))), {"axis": axis})


def diagonal(x, offset=0, axis1=0, axis2=1):
    """The diagonal of two axes, as the last axis."""
    x = moveaxis(array(x), (axis1, axis2), (-2, -1))
    rows, columns = x.shape[-2:]
    return _picked(reshape(x, x.shape[:-2] + (rows * columns,)), np.arange(rows * columns).reshape(rows, columns).diagonal(offset), x.ndim - 2)


def diag(x, k=0):
    """The diagonal of a matrix, or a matrix with this diagonal."""
    x = array(x)
    if x.ndim == 2:
        return diagonal(x, k)
    if x.ndim != 1:
        raise Error(f"diag takes one or two dimensions, not {x.shape}")
    n = x.shape[0] + abs(k)
    row = pad(x, [(0, abs(k))] if k >= 0 else [(abs(k), 0)])
    return _where(eye(n, n, k, np.bool_), expand_dims(row, 1), array(0, dtype_of(x)))


def diagflat(x, k=0):
    """A matrix with the flattened elements on its diagonal."""
    return diag(ravel(x), k)


def _where(condition, a, b):
    return record("Where", (condition, a, b))


def trace(x, offset=0, axis1=0, axis2=1):
    """The sum of the diagonal of two axes."""
    return diagonal(x, offset, axis1, axis2).sum(-1)


def tril_indices(n, k=0, m=None):
    """The indices of the lower triangle of an n x m matrix."""
    return tuple(array(i) for i in np.tril_indices(n, k, m))


def triu_indices(n, k=0, m=None):
    """The indices of the upper triangle of an n x m matrix."""
    return tuple(array(i) for i in np.triu_indices(n, k, m))


def diag_indices(n, ndim=2):
    """The indices of the main diagonal."""
    return (arange(n),) * ndim


def ix_(*arrays):
    """Index arrays that select the cross product of vectors of indices."""
    return tuple(reshape(a, (1,) * k + (-1,) + (1,) * (len(arrays) - k - 1)) for k, a in enumerate(map(array, arrays)))
