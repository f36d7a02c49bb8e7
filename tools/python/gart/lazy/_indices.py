"""Elements by indices, and functions that find indices."""
import builtins
import operator as _op

import numpy as np

from ._core import FORMS, LATER, Array, Error, IndexFault, array, axis_of, bool_, cast, dtype_of, int64, record, together
from ._elementwise import where
from ._reductions import argsort as _argsort
from ._shapes import broadcast_arrays, broadcast_to, expand_dims, ravel, reshape, stack, transpose

def getitem(x, index):
    """x[index] with lists, arrays and masks. The extension handles valid basic indices; invalid ones come here."""
    parts = _without_ellipsis([_index_part(i) for i in (index if isinstance(index, tuple) else (index,))], x)
    parts = [k for axis, i in _at_axes(parts) for k in (_mask(i, x, axis) if _is_mask(i) else (i,))]
    for axis, i in _at_axes(parts):
        if not isinstance(i, (slice, Array)) and i is not None and not -x.shape[axis] <= i < x.shape[axis]:
            raise IndexFault(f"index {i} is out of range for axis {axis} of {x.shape}")
    has_arrays = builtins.any(isinstance(i, Array) and i.ndim > 0 for i in parts)
    out, axis, arrays = x[tuple(i if isinstance(i, slice) else slice(None) for i in parts if i is not None)], 0, []
    for i in parts:
        if i is None:
            out = expand_dims(out, axis)
        elif not isinstance(i, slice):
            i = i if isinstance(i, Array) else array(i)
            if not has_arrays:  # the index is an operand, so that other indices need no new compilation
                out = record("Gather", (out, i), {"axis": axis})
                continue
            arrays.append((axis, i))  # next to arrays, a number is also an array
        axis += 1
    return _gathered(out, arrays) if arrays else out


def _index_part(i):
    if i is None or i is Ellipsis or isinstance(i, (slice, Array)):
        return i
    if isinstance(i, (bool, np.bool_)):
        raise Error("True and False are not indices; an array of them is a mask")
    if isinstance(i, (list, tuple, np.ndarray)):
        return array(np.zeros(0, np.int64) if not isinstance(i, np.ndarray) and not len(i) else i)
    return _op.index(i)


def _is_mask(i):
    return isinstance(i, Array) and dtype_of(i) == bool_


def _without_ellipsis(parts, x):
    used = builtins.sum(i.ndim if _is_mask(i) else i is not None and i is not Ellipsis for i in parts)
    if used > x.ndim:
        raise IndexFault(f"{used} indices for {x.ndim} dimensions")
    places = [k for k, i in enumerate(parts) if i is Ellipsis]
    if len(places) > 1:
        raise IndexFault("an index has more than one Ellipsis")
    at = places[0] if places else len(parts)
    return parts[:at] + [slice(None)] * (x.ndim - used) + parts[at + 1:]


def _at_axes(parts):
    """Yields (axis, part) for each part of an index; the part begins at dimension `axis`."""
    axis = 0
    for i in parts:
        yield axis, i
        axis += i.ndim if _is_mask(i) else i is not None


def _mask(mask, x, axis):
    """The positions where the mask is true. Their number must be known, so the mask is computed now."""
    if x.shape[axis:axis + mask.ndim] != mask.shape:
        raise IndexFault(f"a mask of {mask.shape} for dimensions of {x.shape[axis:axis + mask.ndim]}")
    return tuple(array(i) for i in np.nonzero(mask.numpy()))


def _gathered(x, arrays):
    if len(arrays) == 1:
        return take(x, arrays[0][1], arrays[0][0])
    axes = [a for a, _ in arrays]
    indices = broadcast_arrays(*(cast(i, int64) for _, i in arrays))
    other_axes = [a for a in range(x.ndim) if a not in axes]
    out = record("GatherND", (transpose(x, axes + other_axes), stack(indices, -1)))
    if axes != list(range(axes[0], axes[0] + len(axes))) or axes[0] == 0:
        return out
    rank = indices[0].ndim  # NumPy keeps the place of index dimensions that are neighbours
    order = list(range(rank, rank + axes[0])) + list(range(rank)) + list(range(rank + axes[0], out.ndim))
    return transpose(out, order)


FORMS["__getitem__"] = getitem


def take(x, indices, axis=None, mode="raise"):
    """The elements of `x` at `indices` along `axis`; without an axis, of the flattened array."""
    x, indices = array(x), array(indices)
    if axis is None:
        x, axis = ravel(x), 0
    axis = axis_of(axis, x.ndim)
    extent = x.shape[axis]
    if mode == "wrap":
        indices = indices % extent
    elif mode == "clip":
        indices = where(indices < 0, 0, where(indices >= extent, extent - 1, indices))
    elif mode != "raise":
        raise Error(f"there is no mode '{mode}'; known: raise, wrap, clip")
    if dtype_of(indices).kind not in "iu":
        raise Error(f"indices are integers, not {dtype_of(indices)}")
    return record("Gather", (x, indices if dtype_of(indices).itemsize >= 4 and dtype_of(indices).kind == "i" else cast(indices, int64)), {"axis": axis})


def take_along_axis(x, indices, axis=-1):
    """Elements of `x` along `axis`, chosen by an array of indices of the same rank."""
    x, indices = array(x), array(indices)
    if axis is None:
        x, axis = ravel(x), 0
    axis = axis_of(axis, x.ndim)
    if indices.ndim != x.ndim:
        raise Error(f"indices of {indices.ndim} dimensions for {x.ndim}")
    broadcast_shape = np.broadcast_shapes(*(v.shape[:axis] + (1,) + v.shape[axis + 1:] for v in (x, indices)))
    fit = lambda v: broadcast_to(v, broadcast_shape[:axis] + (v.shape[axis],) + broadcast_shape[axis + 1:])  # noqa: E731
    return record("GatherElements", (fit(x), fit(cast(indices, int64))), {"axis": axis})


def lexsort(keys, axis=-1):
    """Indices that sort by the last key; if elements have equal last keys, by the key before it, and so on."""
    keys = [array(k) for k in keys]
    order = _argsort(keys[0], axis)
    for key in keys[1:]:
        order = take_along_axis(order, _argsort(take_along_axis(key, order, axis), axis), axis)
    return order


def searchsorted(a, v, side="left"):
    """The position of each of `v` in the sorted `a`."""
    a, v = together(a, v)
    if a.ndim != 1 or side not in ("left", "right"):
        raise Error("searchsorted takes one dimension, and a side: left or right")
    v = expand_dims(v, -1)
    return cast(a < v if side == "left" else a <= v, int64).sum(-1)


def digitize(x, bins, right=False):
    """The index of the bin that each element belongs to. The bins must be in ascending order."""
    return searchsorted(bins, x, "left" if right else "right")


def interp(x, xp, fp, left=None, right=None):
    """Piecewise linear interpolation through the points (`xp`, `fp`)."""
    x, xp, fp = together(x, xp, fp, floats=True)
    if xp.shape[0] < 2:
        return broadcast_to(fp, x.shape)
    at = searchsorted(xp, x, "right")
    at = where(at < 1, 1, where(at > xp.shape[0] - 1, xp.shape[0] - 1, at))
    x0, x1, y0, y1 = take(xp, at - 1), take(xp, at), take(fp, at - 1), take(fp, at)
    y = y0 + (y1 - y0) * ((x - x0) / (x1 - x0))
    y = where(x < xp[0], fp[0] if left is None else left, y)
    return where(x > xp[-1], fp[-1] if right is None else right, where(x == xp[-1], fp[-1], y))


def isin(x, values, invert=False):
    """Whether each element occurs in the second array."""
    x, values = together(x, ravel(values))
    found = (expand_dims(x, -1) == values).any(-1)
    return ~found if invert else found


# ---- functions whose result's size depends on the data: NumPy computes them now

def _now(name):
    function = getattr(np, name)

    def call(*arguments, **named):
        values = [v.numpy() if isinstance(v, Array) else v for v in arguments]
        result = function(*values, **{k: v.numpy() if isinstance(v, Array) else v for k, v in named.items()})
        return tuple(array(v) for v in result) if isinstance(result, (tuple, list)) else array(result)
    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"numpy.{name}, computed at once, because the size of the result depends on the values."
    return call


for _name in ("nonzero", "argwhere", "flatnonzero", "extract", "compress", "unique", "union1d", "intersect1d", "setdiff1d", "setxor1d", "bincount",
              "histogram", "unravel_index", "ravel_multi_index"):
    globals()[_name] = _now(_name)
LATER["nonzero"] = globals()["nonzero"]
