"""NumPy's functions, and the methods of arrays."""
import builtins
import operator as _op

import numpy as np

from ._core import (DTYPES, Array, Error, array, bool_, cast, core, float32, float64, int32, int64, is_float, record, result_type, together,
                    operand)

_UNARY = ("exp", "log", "tanh", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh",
          "erf", "sigmoid", "reciprocal", "softplus", "abs", "negative", "sign", "relu", "floor", "ceil", "rint")
for _name in _UNARY:
    globals()[_name] = getattr(core, _name)
pi, e, inf, nan, newaxis = np.pi, np.e, np.inf, np.nan, None


def dtype_of(x):
    return DTYPES[x._code]


# ---- elementwise

_ARITHMETIC = {"add": "Add", "subtract": "Sub", "multiply": "Mul", "matmul": "MatMul", "power": "Pow", "maximum": "Max", "minimum": "Min"}
_COMPARISONS = {"less": "Less", "less_equal": "LessOrEqual", "greater": "Greater", "greater_equal": "GreaterOrEqual", "equal": "Equal"}
_LOGIC = {"bitwise_and": ("And", "BitwiseAnd"), "bitwise_or": ("Or", "BitwiseOr"), "bitwise_xor": ("Xor", "BitwiseXor")}
_OF_BOOLS = {"add": "Or", "multiply": "And", "maximum": "Or", "minimum": "And"}


def _is_operand(x):
    return isinstance(x, (Array, np.ndarray, np.generic, bool, int, float, list, tuple)) or hasattr(x, "__array__") or hasattr(x, "__dlpack__")


def _power(a, b):
    if isinstance(b, (int, float)) and not isinstance(b, bool) and isinstance(a, Array):
        if b == 2:
            return a * a
        if b == 0.5 and is_float(dtype_of(a)):
            return core.sqrt(a)
        if b == 1:
            return a + 0
        if b == 3:
            return a * a * a
    return record("Pow", together(a, b))


def _divide(name, a, b):
    if name == "divide":
        return record("Div", together(a, b, floats=True))
    x, y = together(a, b)
    if dtype_of(x) == bool_:
        x, y = cast(x, np.int8), cast(y, np.int8)
    if is_float(dtype_of(x)):
        quotient = core.floor(x / y)
        return quotient if name == "floor_divide" else x - quotient * y
    remainder = record("Mod", (x, y))  # of the divisor's sign, as Python's
    return remainder if name == "remainder" else record("Div", (x - remainder, y))


def _binary(name, a, b):
    """What the recorder leaves to Python: operands of different types, and rarer operators."""
    if not (_is_operand(a) and _is_operand(b)):
        return NotImplemented
    if name == "power":
        return _power(a, b)
    if name in ("divide", "floor_divide", "remainder"):
        return _divide(name, a, b)
    if name == "not_equal":
        return record("Not", (_binary("equal", a, b),))
    x, y = together(a, b)
    is_bool = dtype_of(x) == bool_
    if name in _LOGIC:
        return record(_LOGIC[name][0 if is_bool else 1], (x, y))
    if is_bool and name in _OF_BOOLS:
        return record(_OF_BOOLS[name], (x, y))
    if is_bool and name == "subtract":
        raise Error("booleans have no difference; use ^")
    if is_bool and name in ("less", "less_equal", "greater", "greater_equal"):
        x, y = cast(x, int32), cast(y, int32)
    return record(_ARITHMETIC.get(name) or _COMPARISONS[name], (x, y))


def _function(name):
    def call(a, b):
        if not (_is_operand(a) and _is_operand(b)):
            raise Error(f"{name}: an array or a number was expected")
        return _binary(name, a, b)
    call.__name__ = call.__qualname__ = name
    return call


for _name in (*_ARITHMETIC, *_COMPARISONS, *_LOGIC, "divide", "floor_divide", "remainder", "not_equal"):
    globals()[_name] = _function(_name)
true_divide, mod, absolute, asin = divide, remainder, core.abs, core.arcsin  # noqa: F821
_matmul = matmul  # noqa: F821


def log1p(x):
    return core.log(array(x) + 1)


def expm1(x):
    return core.exp(x) - 1


def log2(x):
    return core.log(x) * (1 / float(np.log(2.0)))


def log10(x):
    return core.log(x) * (1 / float(np.log(10.0)))


def square(x):
    x = array(x)
    return x * x


def rsqrt(x):
    return 1 / core.sqrt(x)


def logical_not(x):
    return record("Not", (cast(array(x), bool_),))


def logical_and(a, b):
    return record("And", (cast(array(a), bool_), cast(array(b), bool_)))


def logical_or(a, b):
    return record("Or", (cast(array(a), bool_), cast(array(b), bool_)))


def logical_xor(a, b):
    return record("Xor", (cast(array(a), bool_), cast(array(b), bool_)))


def isnan(x):
    return record("IsNaN", (array(x),))


def isinf(x):
    return record("IsInf", (array(x),))


def isfinite(x):
    x = array(x)
    return logical_not(logical_or(isnan(x), isinf(x)))


def where(condition, a, b):
    x, y = together(a, b)
    return record("Where", (cast(array(condition), bool_), x, y))


def clip(x, low=None, high=None):
    x = array(x)
    if low is not None:
        x = maximum(x, low)  # noqa: F821
    return x if high is None else minimum(x, high)  # noqa: F821


def astype(x, dtype):
    return cast(x, dtype)


# ---- made of nothing

def full(shape, value, dtype=None):
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    if isinstance(value, Array):
        return broadcast_to(array(value, dtype), shape)
    # Memory of its own, like what a loop makes of it, so that the loop's first turn is the same graph as its others.
    return array(np.full(shape, value, dtype or array(value).dtype), dtype)


def zeros(shape, dtype=float32):
    return full(shape, 0, dtype)


def ones(shape, dtype=float32):
    return full(shape, 1, dtype)


def zeros_like(x, dtype=None):
    return zeros(x.shape, dtype or dtype_of(x))


def ones_like(x, dtype=None):
    return ones(x.shape, dtype or dtype_of(x))


def full_like(x, value, dtype=None):
    return full(x.shape, value, dtype or dtype_of(x))


def arange(start, stop=None, step=1, dtype=None):
    if stop is None:
        start, stop = 0, start
    if not builtins.all(isinstance(v, int) for v in (start, stop, step)):
        return array(np.arange(start, stop, step, dtype or float32))
    numbers = core.record(_operator("Range", "sss"), (), ([start], [stop], [step]))
    return numbers if dtype is None else cast(numbers, dtype)


def linspace(start, stop, num=50, dtype=float32):
    return array(np.linspace(start, stop, num), dtype)


def eye(n, m=None, dtype=float32):
    m = m or n
    return cast(expand_dims(arange(n), 1) == expand_dims(arange(m), 0), dtype)


def _operator(*what):
    from ._core import operator
    return operator(*what)


# ---- shapes

def reshape(x, *shape):
    x = array(x)
    shape = list(shape[0]) if len(shape) == 1 and not isinstance(shape[0], int) else list(shape)
    if -1 in shape:
        rest = -int(np.prod(shape, dtype=np.int64))
        if rest <= 0 or x.size % rest:
            raise Error(f"{x.shape} has {x.size} elements, which {tuple(shape)} does not divide")
        shape[shape.index(-1)] = x.size // rest
    return record("Reshape", (x,), None, 1, "xi", [shape]) if tuple(shape) != x.shape else x


def transpose(x, *axes):
    x = array(x)
    axes = list(axes[0]) if len(axes) == 1 and not isinstance(axes[0], int) else list(axes)
    axes = [_axis(a, x.ndim) for a in axes] or list(range(x.ndim))[::-1]
    return record("Transpose", (x,), {"perm": axes}) if axes != list(range(x.ndim)) else x


def swapaxes(x, a, b):
    axes = list(range(x.ndim))
    axes[a], axes[b] = axes[b], axes[a]
    return transpose(x, axes)


def moveaxis(x, source, destination):
    axes = [a for a in range(x.ndim) if a != _axis(source, x.ndim)]
    axes.insert(_axis(destination, x.ndim), _axis(source, x.ndim))
    return transpose(x, axes)


def _axis(axis, rank):
    index = _op.index(axis)
    if not -rank <= index < rank:
        raise Error(f"axis {index} is out of range for {rank} dimensions")
    return index % rank


def _axes(axis, rank):
    if axis is None:
        return list(range(rank))
    return [_axis(a, rank) for a in (axis if isinstance(axis, (list, tuple)) else (axis,))]


def expand_dims(x, axis):
    x = array(x)
    axes = list(axis) if isinstance(axis, (list, tuple)) else [axis]
    return record("Unsqueeze", (x,), None, 1, "xi", [[_axis(a, x.ndim + len(axes)) for a in axes]])


def squeeze(x, axis=None):
    axes = [i for i, n in enumerate(x.shape) if n == 1] if axis is None else _axes(axis, x.ndim)
    return record("Squeeze", (x,), None, 1, "xi", [axes]) if axes else x


def ravel(x):
    return reshape(x, (array(x).size,))


def broadcast_to(x, shape):
    x = array(x)
    return x if tuple(shape) == x.shape else record("Expand", (x,), None, 1, "xi", [list(shape)])


def concatenate(arrays, axis=0):
    arrays = together(*arrays)
    return record("Concat", arrays, {"axis": _axis(axis, arrays[0].ndim)})


def stack(arrays, axis=0):
    arrays = [array(a) for a in arrays]
    return concatenate([expand_dims(a, _axis(axis, a.ndim + 1)) for a in arrays], _axis(axis, arrays[0].ndim + 1))


def split(x, parts, axis=0):
    axis, extent = _axis(axis, x.ndim), x.shape[axis]
    if isinstance(parts, int):
        if extent % parts:
            raise Error(f"an extent of {extent} is not divided by {parts}")
        sizes = [extent // parts] * parts
    else:
        limits = [0, *parts, extent]
        sizes = [b - a for a, b in zip(limits, limits[1:])]
    if len(sizes) == 1:
        return [x]
    return list(record("Split", (x,), {"axis": axis}, len(sizes), "xi", [sizes]))


def tile(x, repeats):
    x = array(x)
    repeats = [repeats] if isinstance(repeats, int) else list(repeats)
    repeats = [1] * (x.ndim - len(repeats)) + repeats
    if len(repeats) > x.ndim:
        x = reshape(x, (1,) * (len(repeats) - x.ndim) + x.shape)
    return record("Tile", (x,), None, 1, "xi", [repeats])


def pad(x, widths, value=0):
    x = array(x)
    widths = [(widths, widths)] * x.ndim if isinstance(widths, int) else [tuple(w) if isinstance(w, (list, tuple)) else (w, w) for w in widths]
    return record("Pad", (x, array(value, dtype_of(x))), {"mode": "constant"}, 1, "xix", [[w[0] for w in widths] + [w[1] for w in widths]])


def flip(x, axis=None):
    return x[tuple(slice(None, None, -1) if a in _axes(axis, x.ndim) else slice(None) for a in range(x.ndim))]


def roll(x, shift, axis):
    axis = _axis(axis, x.ndim)
    shift %= x.shape[axis]
    if not shift:
        return x
    before = (slice(None),) * axis
    return concatenate([x[before + (slice(-shift, None),)], x[before + (slice(None, -shift),)]], axis)


def tril(x, k=0):
    return record("Trilu", (x,), {"upper": 0}, 1, "xs", [[k]])


def triu(x, k=0):
    return record("Trilu", (x,), {"upper": 1}, 1, "xs", [[k]])


# ---- indices

def _getitem(x, index):
    index = index if isinstance(index, tuple) else (index,)
    if builtins.any(isinstance(i, (list, np.ndarray)) for i in index):
        index = tuple(array(i) if isinstance(i, (list, np.ndarray)) else i for i in index)
    index = tuple(k for i in index for k in (_mask(i) if isinstance(i, Array) and dtype_of(i) == bool_ else (i,)))
    used = builtins.sum(i is not None and i is not Ellipsis for i in index)
    if used > x.ndim:
        raise Error(f"{used} indices for {x.ndim} dimensions")
    if builtins.sum(i is Ellipsis for i in index) > 1:
        raise Error("an index has more than one Ellipsis")
    at = next((k for k, i in enumerate(index) if i is Ellipsis), len(index))
    index = index[:at] + (slice(None),) * (x.ndim - used) + index[at + 1:]
    x = _sliced(x, [i for i in index if i is not None])
    has_arrays = builtins.any(isinstance(i, Array) and i.ndim > 0 for i in index)
    out, axis, arrays = x, 0, []
    for i in index:
        if i is None:
            out = expand_dims(out, axis)
        elif isinstance(i, Array) and i.ndim > 0:
            arrays.append((axis, i))
        elif not isinstance(i, slice):
            if not has_arrays:
                out = _taken(out, i, axis)
                continue
            arrays.append((axis, _index(i, out, axis)))  # beside arrays, numbers are arrays, too
        axis += 1
    return _gathered(out, arrays) if arrays else out


def _mask(mask):
    """Where it is true, as indices: how many those are must be known, so the mask is computed now."""
    return tuple(array(i) for i in np.nonzero(mask.numpy()))


def _sliced(x, index):
    starts, ends, axes, steps = [], [], [], []
    for axis, i in enumerate(index):
        if not isinstance(i, slice) or i == slice(None):
            continue
        start, stop, step = i.indices(x.shape[axis])
        if (start, stop, step) == (0, x.shape[axis], 1):
            continue
        starts.append(start)
        ends.append(stop if stop >= 0 else -x.shape[axis] - 1)
        axes.append(axis)
        steps.append(step)
    return record("Slice", (x,), None, 1, "xiiii", [starts, ends, axes, steps]) if axes else x


def _taken(x, i, axis):
    """One element along the axis. The index is a number like any other: another one compiles nothing."""
    return record("Gather", (x, _index(i, x, axis)), {"axis": axis})


def _index(i, x, axis):
    if isinstance(i, Array):
        return i
    index = _op.index(i)
    if not -x.shape[axis] <= index < x.shape[axis]:
        raise IndexError(f"index {index} is out of range for axis {axis} of {x.shape}")
    return array(index)


def _gathered(x, arrays):
    if len(arrays) == 1:
        return take(x, arrays[0][1], arrays[0][0])
    axes = [a for a, _ in arrays]
    indices = broadcast_arrays(*(cast(i, int64) for _, i in arrays))
    rest = [a for a in range(x.ndim) if a not in axes]
    out = record("GatherND", (transpose(x, axes + rest), stack(indices, -1)))
    if axes != list(range(axes[0], axes[0] + len(axes))) or axes[0] == 0:
        return out
    rank = indices[0].ndim  # NumPy leaves neighbouring ones where they are
    order = list(range(rank, rank + axes[0])) + list(range(rank)) + list(range(rank + axes[0], out.ndim))
    return transpose(out, order)


def take(x, indices, axis=None):
    x, indices = array(x), array(indices)
    if axis is None:
        x, axis = ravel(x), 0
    return record("Gather", (x, indices), {"axis": _axis(axis, x.ndim)})


def take_along_axis(x, indices, axis):
    return record("GatherElements", (array(x), array(indices)), {"axis": _axis(axis, x.ndim)})


def broadcast_arrays(*arrays):
    shape = np.broadcast_shapes(*(a.shape for a in arrays))
    return [broadcast_to(a, shape) for a in arrays]


# ---- reductions

def _reduce(op, x, axis, keepdims, dtype=None):
    x = array(x)
    x = x if dtype is None else cast(x, dtype)
    axes = _axes(axis, x.ndim)
    if not axes:
        return x
    return record(op, (x,), {"keepdims": int(keepdims)}, 1, "xi", [axes])


def _sum_type(x):
    """NumPy adds narrow integers up in wide ones."""
    dtype = dtype_of(array(x))
    if dtype.kind == "b" or (dtype.kind == "i" and dtype.itemsize < 8):
        return int64
    return np.dtype(np.uint64) if dtype.kind == "u" and dtype.itemsize < 8 else None


def _mean_type(x):
    return None if is_float(dtype_of(array(x))) else float32


def sum(x, axis=None, keepdims=False):
    return _reduce("ReduceSum", x, axis, keepdims, _sum_type(x))


def prod(x, axis=None, keepdims=False):
    return _reduce("ReduceProd", x, axis, keepdims, _sum_type(x))


def mean(x, axis=None, keepdims=False):
    return _reduce("ReduceMean", x, axis, keepdims, _mean_type(x))


def max(x, axis=None, keepdims=False):
    return _reduce("ReduceMax", x, axis, keepdims)


def min(x, axis=None, keepdims=False):
    return _reduce("ReduceMin", x, axis, keepdims)


def all(x, axis=None, keepdims=False):
    return cast(_reduce("ReduceMin", cast(cast(array(x), bool_), int32), axis, keepdims), bool_)


def any(x, axis=None, keepdims=False):
    return cast(_reduce("ReduceMax", cast(cast(array(x), bool_), int32), axis, keepdims), bool_)


def var(x, axis=None, keepdims=False, ddof=0):
    x = array(x)
    x = x if is_float(dtype_of(x)) else cast(x, float32)
    centred = x - mean(x, axis, True)
    count = int(np.prod([x.shape[a] for a in _axes(axis, x.ndim)], dtype=np.int64))
    squares = centred * centred
    return mean(squares, axis, keepdims) if ddof == 0 else sum(squares, axis, keepdims) / float(count - ddof)


def std(x, axis=None, keepdims=False, ddof=0):
    return core.sqrt(var(x, axis, keepdims, ddof))


def logsumexp(x, axis=None, keepdims=False):
    return _reduce("ReduceLogSumExp", x, axis, keepdims, _mean_type(x))


def _arg(op, x, axis, keepdims):
    x = array(x)
    if axis is None:
        x, axis = ravel(x), 0
    return record(op, (x,), {"axis": _axis(axis, x.ndim), "keepdims": int(keepdims)})


def argmax(x, axis=None, keepdims=False):
    return _arg("ArgMax", x, axis, keepdims)


def argmin(x, axis=None, keepdims=False):
    return _arg("ArgMin", x, axis, keepdims)


def cumsum(x, axis=None):
    x = array(x)
    if axis is None:
        x, axis = ravel(x), 0
    dtype = _sum_type(x)
    return record("CumSum", (x if dtype is None else cast(x, dtype),), None, 1, "xs", [[_axis(axis, x.ndim)]])


def topk(x, k, axis=-1, largest=True):
    """(values, indices)"""
    return record("TopK", (x,), {"axis": _axis(axis, x.ndim), "largest": int(largest), "sorted": 1}, 2, "xi", [[k]])


def sort(x, axis=-1):
    x = array(x)
    return topk(x, x.shape[axis], axis, largest=False)[0]


def argsort(x, axis=-1):
    x = array(x)
    return topk(x, x.shape[axis], axis, largest=False)[1]


# ---- products

def dot(a, b):
    a, b = together(a, b)
    if a.ndim == 0 or b.ndim == 0:
        return a * b
    return _matmul(a, b)


def einsum(equation, *operands):
    return record("Einsum", together(*operands), {"equation": equation})


def outer(a, b):
    return expand_dims(ravel(a), 1) * expand_dims(ravel(b), 0)


def tensordot(a, b, axes=2):
    a, b = together(a, b)
    if not isinstance(axes, int):
        raise Error("tensordot takes the number of axes; einsum says which")
    kept_a, kept_b = a.shape[:a.ndim - axes], b.shape[axes:]
    depth = int(np.prod(b.shape[:axes], dtype=np.int64))
    return reshape(reshape(a, (-1, depth)) @ reshape(b, (depth, -1)), kept_a + kept_b)


# ---- values

def _numpy(x):
    """A copy of the elements, for NumPy."""
    return np.frombuffer(x, dtype_of(x)).reshape(x.shape).copy() if x.size else np.empty(x.shape, dtype_of(x))


def _view(x):
    view = np.frombuffer(x, dtype_of(x)).reshape(x.shape)
    return view


def _item(x):
    if x.size != 1:
        raise Error(f"an array of {x.shape} is not one value")
    return _numpy(x).reshape(()).item()


def _as_bool(x):
    if x.size != 1:
        raise Error(f"the truth of an array of {x.shape} is not one value: use any() or all()")
    return bool(_item(x))


def _length(x):
    if x.ndim == 0:
        raise TypeError("an array of no dimensions has no length")
    return x.shape[0]


def _array_protocol(x, dtype=None, copy=None):
    value = _numpy(x)
    return value if dtype is None else value.astype(dtype, copy=False)


def _dlpack(x, **options):
    readable = _numpy(x) if options.get("max_version", (0, 0)) is None or tuple(options.get("max_version") or (0, 0)) < (1, 0) else _view(x)
    try:
        return readable.__dlpack__(**options)
    except (BufferError, TypeError):
        return _numpy(x).__dlpack__()


def _text(x):
    return str(_numpy(x))


def _repr(x):
    return f"array({np.array2string(_numpy(x), separator=', ', prefix='array(')}, dtype={dtype_of(x)})"


def _no_assignment(x, *_):
    raise TypeError("arrays of gart.lazy do not change; gl.where and gl.concatenate make new ones")


def _iterate(x):
    return (x[i] for i in range(_length(x)))


def _invert(x):
    return record("Not" if dtype_of(x) == bool_ else "BitwiseNot", (x,))


def _convert(value, floats):
    x = array(value)
    if floats and not is_float(dtype_of(x)):
        return cast(x, float32)
    return cast(x, np.int8) if dtype_of(x) == bool_ else x


for _name, _value in {"numpy": _numpy, "item": _item, "__bool__": _as_bool, "__len__": _length, "__iter__": _iterate,
                      "__float__": lambda x: float(_item(x)), "__int__": lambda x: int(_item(x)), "__index__": lambda x: _op.index(_item(x)),
                      "__complex__": lambda x: complex(_item(x)), "__array__": _array_protocol, "__array_ufunc__": None,
                      "__dlpack__": _dlpack, "__dlpack_device__": lambda x: (1, 0), "__getitem__": _getitem, "__setitem__": _no_assignment,
                      "__str__": _text, "__repr__": _repr, "__format__": lambda x, spec: format(_item(x), spec) if spec else _text(x),
                      "__invert__": _invert, "__hash__": None, "__pos__": lambda x: x, "tolist": lambda x: _numpy(x).tolist(),
                      "dtype": property(dtype_of), "T": property(transpose), "nbytes": property(lambda x: x.size * dtype_of(x).itemsize),
                      "itemsize": property(lambda x: dtype_of(x).itemsize), "flatten": ravel, "__deepcopy__": lambda x, _: x, "__copy__": lambda x: x,
                      "__reduce__": lambda x: (array, (_numpy(x),))}.items():
    setattr(Array, _name, _value)
for _name in ("reshape", "transpose", "swapaxes", "astype", "sum", "prod", "mean", "max", "min", "all", "any", "var", "std", "argmax", "argmin",
              "cumsum", "squeeze", "ravel", "dot", "take", "clip", "round"):
    setattr(Array, _name, globals()[_name] if _name != "round" else (lambda x: core.rint(x)))

from ._core import Error as _Error  # noqa: E402
import os as _os  # noqa: E402

core.connect(_Error, _binary, _convert, _os.path.dirname(_os.path.abspath(__file__)))

__all__ = [n for n in globals() if not n.startswith("_") and n not in ("core", "np", "builtins", "record", "operand", "together", "result_type",
           "cast", "array", "is_float", "DTYPES", "Array", "Error", "bool_", "float32", "float64", "int32", "int64")] + ["result_type"]
