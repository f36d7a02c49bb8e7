"""gart for Python: a thin binding of libgart's C ABI with ctypes and numpy.

    import gart
    model = gart.load("model.gart")
    outputs = model.run({"input": array})      # {name: array}

libgart.so is looked for in $GART_LIBRARY, then beside this repository's build, then by the system's loader.
"""
import ctypes
import os

import numpy as np

_DTYPES = {1: np.float32, 2: np.float64, 3: np.float16, 5: np.int8, 6: np.int16, 7: np.int32, 8: np.int64,
           9: np.uint8, 10: np.uint16, 11: np.uint32, 12: np.uint64, 13: np.bool_}
try:
    import ml_dtypes
    _DTYPES[4] = ml_dtypes.bfloat16
    for _code, _name in enumerate(("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float4_e2m1fn",
                                   "int4", "uint4", "int2", "uint2"), 14):
        if hasattr(ml_dtypes, _name):
            _DTYPES[_code] = getattr(ml_dtypes, _name)
except ImportError:  # NumPy has no bfloat16 of its own
    pass
_CODES = {np.dtype(t): code for code, t in _DTYPES.items()}
_MAX_RANK = 16


class _Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("dtype", ctypes.c_int), ("rank", ctypes.c_size_t),
                ("dims", ctypes.c_int64 * _MAX_RANK), ("device", ctypes.c_char_p)]


class _LoadOptions(ctypes.Structure):
    _fields_ = [("verify", ctypes.c_int), ("threads", ctypes.c_int), ("device", ctypes.c_char_p),
                ("target", ctypes.c_char_p), ("blocking", ctypes.c_int)]


class GartError(RuntimeError):
    pass


def _library():
    here = os.path.dirname(os.path.abspath(__file__))
    built = os.path.join(here, "..", "..", "build", "release", "lib", "libgart.so")
    path = os.environ.get("GART_LIBRARY") or (built if os.path.exists(built) else "libgart.so")
    lib = ctypes.CDLL(path)
    for name, result in (("gart_last_error", ctypes.c_char_p), ("gart_input_name", ctypes.c_char_p),
                         ("gart_output_name", ctypes.c_char_p), ("gart_target", ctypes.c_char_p),
                         ("gart_input_count", ctypes.c_size_t), ("gart_output_count", ctypes.c_size_t)):
        getattr(lib, name).restype = result
    return lib


_lib = None


def _check(status):
    if status != 0:
        raise GartError(_lib.gart_last_error().decode())


class Model:
    """A loaded model with one invocation; not for several threads at once."""

    def __init__(self, path, threads=0, target=None, verify=True, blocking=False):
        global _lib
        _lib = _lib or _library()
        options = _LoadOptions(int(verify), threads, None, target.encode() if target else None, int(blocking))
        self._program, self._invocation = ctypes.c_void_p(), ctypes.c_void_p()
        _check(_lib.gart_load(os.fsencode(path), ctypes.byref(options), ctypes.byref(self._program)))
        _check(_lib.gart_invocation_new(self._program, None, ctypes.byref(self._invocation)))
        self.inputs = [_lib.gart_input_name(self._program, ctypes.c_size_t(i)).decode()
                       for i in range(_lib.gart_input_count(self._program))]
        self.outputs = [_lib.gart_output_name(self._program, ctypes.c_size_t(i)).decode()
                        for i in range(_lib.gart_output_count(self._program))]
        self.target = _lib.gart_target(self._program).decode()
        self._held = {}

    def __del__(self):
        if _lib is not None:
            _lib.gart_invocation_free(self._invocation)
            _lib.gart_program_free(self._program)

    def set_inputs(self, feeds):
        """Binds arrays by name; they must stay unchanged until run_bound() has returned."""
        for name, array in feeds.items():
            array = np.ascontiguousarray(array) if np.ndim(array) else np.asarray(array)
            if array.dtype not in _CODES:
                raise GartError(f"input '{name}': dtype {array.dtype} is not supported")
            dims = (ctypes.c_int64 * _MAX_RANK)(*array.shape)
            tensor = _Tensor(array.ctypes.data, _CODES[array.dtype], array.ndim, dims, None)
            _check(_lib.gart_set_input_by_name(self._invocation, name.encode(), ctypes.byref(tensor)))
            self._held[name] = array

    def run_bound(self):
        """Runs on the arrays of set_inputs()."""
        _check(_lib.gart_run(self._invocation))

    def output(self, index):
        """A copy of an output of the last run."""
        tensor = _Tensor()
        _check(_lib.gart_get_output(self._invocation, ctypes.c_size_t(index), ctypes.byref(tensor)))
        shape = tuple(tensor.dims[i] for i in range(tensor.rank))
        dtype = np.dtype(_DTYPES[tensor.dtype])
        size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        data = ctypes.string_at(tensor.data, size) if size else b""
        return np.frombuffer(data, dtype).reshape(shape).copy()

    def run(self, feeds):
        self.set_inputs(feeds)
        self.run_bound()
        return {name: self.output(i) for i, name in enumerate(self.outputs)}


def load(path, threads=0, target=None, verify=True, blocking=False):
    return Model(path, threads, target, verify, blocking)
