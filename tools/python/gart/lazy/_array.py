"""Arrays, without their operators: values, protocols, methods."""
import operator as _op
import os

import numpy as np

from . import _elementwise, _indices, _places, _products, _reductions, _shapes
from ._core import FORMS, Array, Error, array, cast, core, dtype_of, floats_of


def _view(x):
    """The elements as an object that NumPy can read; a copy if the buffer protocol has no code for their type."""
    dtype = dtype_of(x)
    if not x.size:
        return np.empty(x.shape, dtype)
    return np.frombuffer(x if dtype.isbuiltin == 1 else b"".join([x]), dtype).reshape(x.shape)


def _numpy(x):
    """A copy of the elements, for NumPy."""
    return _view(x).copy()


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
        raise TypeError("a 0-dimensional array has no length")
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
    raise TypeError("arrays of gart.lazy do not change: x = x.at[index].set(values) makes another one")


def _iterate(x):
    return (x[i] for i in range(_length(x)))


def _convert(value, floats):
    x = array(value)
    return cast(x, floats_of(dtype_of(x))) if floats else x


def _contains(x, value):
    return bool(_reductions.any(x == value))


_METHODS = {"numpy": _numpy, "item": _item, "tolist": lambda x: _numpy(x).tolist(), "tobytes": lambda x: _numpy(x).tobytes(), "copy": lambda x: x,
            "__bool__": _as_bool, "__len__": _length, "__iter__": _iterate, "__reversed__": lambda x: (x[i] for i in reversed(range(_length(x)))), "__contains__": _contains, "__float__": lambda x: float(_item(x)),
            "__int__": lambda x: int(_item(x)), "__index__": lambda x: _op.index(_item(x)), "__complex__": lambda x: complex(_item(x)),
            "__array__": _array_protocol, "__array_ufunc__": None, "__dlpack__": _dlpack, "__dlpack_device__": lambda x: (1, 0),
            "__setitem__": _no_assignment, "__str__": _text, "__repr__": _repr, "__hash__": None, "__pos__": lambda x: x,
            "__format__": lambda x, spec: format(_item(x), spec) if spec else _text(x), "__invert__": _elementwise.invert,
            "__lshift__": _elementwise.left_shift, "__rshift__": _elementwise.right_shift, "__divmod__": _elementwise.divmod,
            "__rlshift__": lambda x, y: _elementwise.left_shift(y, x), "__rrshift__": lambda x, y: _elementwise.right_shift(y, x),
            "__rdivmod__": lambda x, y: _elementwise.divmod(y, x), "__round__": lambda x, n=0: _elementwise.round(x, n or 0),
            "__deepcopy__": lambda x, _: x, "__copy__": lambda x: x, "__reduce__": lambda x: (array, (_numpy(x),)),
            "dtype": property(dtype_of), "at": property(_places.At), "mT": property(_shapes.matrix_transpose), "nbytes": property(lambda x: x.size * dtype_of(x).itemsize),
            "itemsize": property(lambda x: dtype_of(x).itemsize), "flatten": _shapes.ravel, "dot": _products.dot}
for _name in ("ravel", "squeeze", "repeat", "diagonal", "trace"):
    _METHODS[_name] = getattr(_shapes, _name)
for _name in ("prod", "all", "any", "var", "std", "cumsum", "cumprod", "argsort", "argpartition"):
    _METHODS[_name] = getattr(_reductions, _name)
for _name in ("take", "searchsorted", "nonzero"):
    _METHODS[_name] = getattr(_indices, _name)
for _name in ("astype", "clip", "round"):
    _METHODS[_name] = getattr(_elementwise, _name)
for _name, _value in _METHODS.items():
    setattr(Array, _name, _value)

core.connect(Error, _elementwise.binary, _convert, FORMS, os.path.dirname(os.path.abspath(__file__)))
