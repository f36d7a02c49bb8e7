"""Generation of tokens in a session: a binding of libgart_generate's C ABI (gart/generate.h)."""
import ctypes
import os

import numpy as np

import gart
from ._errors import GartError

_OnToken = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int64)


class _Options(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("max_tokens", ctypes.c_int64), ("temperature", ctypes.c_float), ("top_k", ctypes.c_int64),
                ("top_p", ctypes.c_float), ("min_p", ctypes.c_float), ("repetition_penalty", ctypes.c_float),
                ("presence_penalty", ctypes.c_float), ("seed", ctypes.c_uint64), ("stop_ids", ctypes.POINTER(ctypes.c_int64)),
                ("stop_id_count", ctypes.c_size_t), ("chunk", ctypes.c_int64), ("lookup", ctypes.c_int64)]


class _Generated(ctypes.Structure):
    _fields_ = [("count", ctypes.c_size_t), ("reason", ctypes.c_int), ("first_token_ms", ctypes.c_double), ("total_ms", ctypes.c_double)]


_lib = None


def _library():
    name = "libgart_generate.so.0"
    beside = os.path.join(os.path.dirname(gart._lib._name), name)
    lib = ctypes.CDLL(beside if os.path.exists(beside) else name)
    lib.gart_generate_last_error.restype, lib.gart_generated_id.restype = ctypes.c_char_p, ctypes.c_int64
    lib.gart_generator_free.restype = lib.gart_generator_cancel.restype = None
    return lib


def _numbers(ids):
    array = np.ascontiguousarray(ids)
    if array.size == 0:
        array = array.astype(np.int64)
    if array.dtype.kind not in "iu" or array.ndim > 2 or (array.ndim == 2 and array.shape[0] != 1):
        raise GartError(f"ids must be integers of one sequence, not {array.dtype} of shape {array.shape}")
    return np.ascontiguousarray(array.reshape(-1), np.int64)


class Generator:
    """Generates tokens in a session with one pair of entry points."""

    def __init__(self, program, session, decode, prefill):
        global _lib
        _lib = _lib or _library()
        self._handle, self.is_generating = ctypes.c_void_p(), False
        self._check(_lib.gart_generator_new(program.handle, session, decode and decode.encode(), prefill and prefill.encode(),
                                            ctypes.byref(self._handle)))

    def __del__(self):
        if _lib is not None:
            _lib.gart_generator_free(self._handle)

    @staticmethod
    def _check(status):
        if status != 0:
            raise GartError(_lib.gart_generate_last_error().decode())

    def cancel(self):
        """Ends the current generation, from any thread."""
        _lib.gart_generator_cancel(self._handle)

    def generate(self, ids, on_token, stop_ids, **numbers):
        """Returns the new ids. `numbers`: the other fields of gart_generate_options."""
        ids, stops, raised = _numbers(ids), _numbers(stop_ids), []

        def each(_, token):
            try:
                return int(on_token(token) is not False)
            except BaseException as error:  # an exception must not pass through C
                raised.append(error)
                return 0

        options = _Options(size=ctypes.sizeof(_Options), stop_ids=stops.ctypes.data_as(ctypes.POINTER(ctypes.c_int64)),
                           stop_id_count=len(stops), **numbers)
        result = _Generated()
        self.is_generating = True
        try:
            self._check(_lib.gart_generate(self._handle, ctypes.c_void_p(ids.ctypes.data), ctypes.c_size_t(len(ids)), ctypes.byref(options),
                                           _OnToken(each) if on_token else _OnToken(), None, ctypes.byref(result)))
        finally:
            self.is_generating = False
        if raised:
            raise raised[0]
        return [_lib.gart_generated_id(self._handle, ctypes.c_size_t(i)) for i in range(result.count)]
