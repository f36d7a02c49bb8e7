"""Arrays, types, and how an operator is recorded."""
import atexit
import functools
import importlib.machinery
import importlib.util
import os
import sys
from operator import index as operator_index

import numpy as np

from .. import _CODES, _DTYPES, GartError


class Error(GartError, ValueError):
    """An operator cannot be recorded, or a value cannot be computed. The message ends with the line of the program that recorded it."""


class IndexFault(Error, IndexError):
    """There is no such index."""


def _load():
    here = os.path.dirname(os.path.abspath(__file__))
    root = os.path.join(here, *[os.pardir] * 4)
    module_path = os.environ.get("GCC_GRAPH_LAZY_MODULE")
    package = importlib.util.find_spec("gcc_graph")
    folders = [os.path.join(root, "build", "release", "lib"), here]
    folders += [os.path.join(folder, "lib") for folder in (package.submodule_search_locations or ())] if package else []
    for path in [module_path] if module_path else [os.path.join(folder, "_gart_lazy.abi3.so") for folder in folders]:
        if os.path.exists(path):
            loader = importlib.machinery.ExtensionFileLoader("_gart_lazy", path)
            module = importlib.util.module_from_spec(importlib.util.spec_from_loader("_gart_lazy", loader))
            loader.exec_module(module)
            return module
    raise ImportError("gart.lazy needs _gart_lazy.abi3.so: install the package gcc-graph, build the target gart_lazy (with python3-dev installed), "
                      "or name the file in $GCC_GRAPH_LAZY_MODULE")


core = _load()
atexit.register(core.stop)  # stop before the compiler's static objects are destroyed
Array = core.Array

float32, float64, float16 = np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.float16)
int8, int16, int32, int64 = (np.dtype(t) for t in (np.int8, np.int16, np.int32, np.int64))
uint8, uint16, uint32, uint64 = (np.dtype(t) for t in (np.uint8, np.uint16, np.uint32, np.uint64))
bool_ = np.dtype(np.bool_)
bfloat16 = np.dtype(_DTYPES[4]) if 4 in _DTYPES else None
DTYPES = {code: np.dtype(t) for code, t in _DTYPES.items()}
_NARROW_INTEGERS = {np.dtype(_DTYPES[code]) for code in range(19, 23) if code in _DTYPES}
_FLOATS = {float32, float64, float16} | ({bfloat16} if bfloat16 is not None else set())


def is_float(dtype):
    """Whether `dtype` is a float type, including bfloat16 and the 8-bit floats."""
    return dtype in _FLOATS


def code_of(dtype):
    """The number by which the recorder knows this element type. Raises Error for other types."""
    dtype = np.dtype(dtype)
    if dtype not in _CODES:
        raise Error(f"there are no arrays of {dtype}")
    return _CODES[dtype]


def array(value, dtype=None):
    """An array of the value's elements, copied. Python's floats are float32, its integers int64."""
    if isinstance(value, Array):
        return value if dtype is None else cast(value, dtype)
    if hasattr(value, "__dlpack__") and not isinstance(value, np.ndarray):
        value = np.from_dlpack(value)
    if isinstance(value, (list, tuple)) and any(isinstance(v, Array) for v in value):
        return LATER["stack"]([array(v, dtype) for v in value])
    is_typed = isinstance(value, (np.ndarray, np.generic)) or (hasattr(value, "__array__") and hasattr(value, "dtype"))
    data = np.asarray(value)
    if dtype is None:
        dtype = float32 if data.dtype == float64 and not is_typed else data.dtype
    data = np.asarray(data, np.dtype(dtype), order="C")
    code = code_of(data.dtype)
    if data.dtype in _NARROW_INTEGERS:  # one byte per element, with its value
        data = data.astype(np.int8)
    return core.from_bytes(code, data.shape, data.reshape(-1).view(np.uint8) if data.size else b"")


def asarray(value, dtype=None):
    """The same as array()."""
    return array(value, dtype)


_operators = {}


def operator(name, operands, attributes=None, outputs=1):
    """The recorder's object for an ONNX operator with these attributes, cached for the next call."""
    key = (name, operands, outputs, repr(attributes) if attributes else None)
    found = _operators.get(key)
    if found is None:
        found = core.operator(name, operands, attributes, outputs)
        if len(_operators) < 65536:
            _operators[key] = found
    return found


def record(name, arrays, attributes=None, outputs=1, operands=None, ints=()):
    """Records an operator and returns its result, or a tuple of its results."""
    return core.record(operator(name, operands or "x" * len(arrays), attributes, outputs), arrays, ints)


def cast(x, dtype):
    """`x` with elements of type `dtype`."""
    dtype = np.dtype(dtype)
    if DTYPES[x._code] == dtype:
        return x
    return record("Cast", (x,), {"to": _ONNX_TYPES[dtype]})


_ONNX_TYPES = {float32: 1, uint8: 2, int8: 3, uint16: 4, int16: 5, int32: 6, int64: 7, bool_: 9, float16: 10, float64: 11,
               uint32: 12, uint64: 13}
# Adds bfloat16, 8-bit and 4-bit floats, 4-bit and 2-bit integers. The keys are codes of gart, the values ONNX's.
_ONNX_TYPES.update({DTYPES[code]: onnx for code, onnx in {4: 16, 14: 17, 15: 18, 16: 19, 17: 20, 18: 23, 19: 22, 20: 21, 21: 26, 22: 25}.items() if code in DTYPES})


def result_type(*operands):
    """NumPy's result type for these arrays, types and Python numbers, but float64 only if an operand is float64."""
    kinds = [DTYPES[o._code] if isinstance(o, Array) else o for o in operands]
    typed = [k for k in kinds if isinstance(k, np.dtype)]
    if not typed:
        common = np.result_type(*kinds)
        return float32 if common == float64 else common
    if bfloat16 is not None and bfloat16 in typed:
        others = [t for t in typed if t != bfloat16 and is_float(t)]
        return bfloat16 if not others else (float64 if float64 in others else float32)
    common = np.result_type(*kinds)
    return float32 if common == float64 and float64 not in typed else common


def floats_of(dtype):
    """The type of a function's results for arguments of this type: NumPy's type, but float32 instead of float64."""
    return dtype if is_float(dtype) else float16 if dtype.itemsize == 1 else float32


def operand(value):
    """An operand for result_type: arrays and NumPy's scalars have a type, Python's numbers have none."""
    if isinstance(value, (bool, int, float)) and not isinstance(value, np.generic):
        return value
    return value if isinstance(value, Array) else array(value)


def together(*values, floats=False):
    """The operands as arrays of one type."""
    values = [operand(v) for v in values]
    dtype = result_type(*values)
    if floats and not is_float(dtype):
        dtype = float32
    return [cast(v, dtype) if isinstance(v, Array) else array(v, dtype) for v in values]


evaluate = core.evaluate


def stats():
    """Counters of this process: nodes_recorded, nodes_run, compiles, cache_hits (runs of compiled code), interpreted (runs without), disk_hits,
    pending_compiles, programs, bytes_live, peak_bytes, nodes_live, evaluations."""
    return core.stats()


class _Lines(list):
    def __repr__(self):
        return "\n".join(self)


def explain():
    """A line for each compilation: what it was for, why it was made, and how long it took."""
    return _Lines(core.explain())


def wait(seconds=60):
    """Waits until nothing is being compiled. Returns False if that takes longer than `seconds`."""
    return core.wait(int(seconds * 1000))


def clear():
    """Drops the programs in memory, and the memory that is kept for new values; programs on disk stay."""
    core.clear()


def settings(**changes):
    """Changes the settings that are given, and returns all previous ones: deterministic, cache_folder ("" for none),
    max_programs, max_cache_bytes, threads (0: chosen by the amount of work)."""
    names = ("deterministic", "cache_folder", "max_programs", "max_cache_bytes", "threads")
    before = dict(zip(names, core.settings()))
    before["deterministic"] = bool(before["deterministic"])
    unknown = set(changes) - set(names)
    if unknown:
        raise TypeError(f"there is no setting {', '.join(sorted(unknown))}; known: {', '.join(names)}")
    if changes:
        new = {**before, **changes}
        core.settings(*(new[n] for n in names))
    return before


class deterministic:
    """With deterministic(True), only compiled code computes values, so they do not depend on when a compilation ended. As a
    context manager, it applies to the `with` block."""

    def __init__(self, on=True):
        self._before = settings(deterministic=bool(on))["deterministic"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        settings(deterministic=self._before)


# Functions for which the extension records the usual arguments itself. The functions here handle all other arguments.
FORMS = {}
LATER = {}  # functions of later modules that this module and _elementwise call, by name; the later modules add them


def form(function):
    """Registers `function` for the arguments that the recorder's function of the same name does not handle. Returns the recorder's
    function."""
    FORMS[function.__name__] = function
    return getattr(core, function.__name__)


def without_out(function):
    """Makes `function` accept out=None, which NumPy's functions pass to methods."""
    @functools.wraps(function)
    def call(*arguments, out=None, **named):
        if out is not None:
            raise TypeError(f"{function.__name__}: arrays of gart.lazy do not change, so there is no out=")
        return function(*arguments, **named)
    return call


def is_operand(x):
    """Whether `x` may be an operand: an array of any library, a number, or a list of these."""
    return isinstance(x, (Array, np.ndarray, np.generic, bool, int, float, list, tuple)) or hasattr(x, "__array__") or hasattr(x, "__dlpack__")


def dtype_of(x):
    """The element type of an array."""
    return DTYPES[x._code]


def axis_of(axis, rank):
    """The axis counted from the front."""
    index = operator_index(axis)
    if not -rank <= index < rank:
        raise Error(f"axis {index} is out of range for {rank} dimensions")
    return index % rank


def axes_of(axis, rank):
    """A list of axes, from one axis, several axes, or None (all axes)."""
    if axis is None:
        return list(range(rank))
    axes = [axis_of(a, rank) for a in (axis if isinstance(axis, (list, tuple)) else (axis,))]
    if len(set(axes)) < len(axes):
        raise Error(f"an axis occurs twice in {axis}")
    return axes


def extents_of(shape):
    """A shape as a tuple; `shape` may be the only extent."""
    return tuple(operator_index(n) for n in shape) if isinstance(shape, (list, tuple, np.ndarray)) else (operator_index(shape),)


def _warn_of_fork():
    sys.stderr.write("gart.lazy: this process was forked from one that had computed values; it holds copies of them, and compiles for itself\n")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: core.stats()["evaluations"] and _warn_of_fork())
