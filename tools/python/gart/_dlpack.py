"""Exchange of arrays by DLPack, without copies, in both directions: capsules of version 1 (with flags) and the older ones without version.

Numpy's own functions know neither bfloat16 nor memory of GPUs."""
import ctypes

import numpy as np

from ._errors import GartError

CPU, CUDA, CUDA_HOST = 1, 2, 3  # DLDeviceType
READ_ONLY, IS_COPIED = 1, 2  # flags
_VERSION = (1, 0)  # the newest that this module makes; any 1.x can be read

# DLDataType: code and bits. Types of less than a byte are absent, because DLPack packs them.
_INT, _UINT, _FLOAT, _BFLOAT, _BOOL = 0, 1, 2, 4, 6
_TYPES = {np.dtype(name): (_FLOAT, bits) for name, bits in (("f2", 16), ("f4", 32), ("f8", 64))}
_TYPES.update({np.dtype(f"{letter}{bits // 8}"): (code, bits) for letter, code in (("i", _INT), ("u", _UINT)) for bits in (8, 16, 32, 64)})
_TYPES[np.dtype(np.bool_)] = (_BOOL, 8)
try:
    import ml_dtypes
    _TYPES[np.dtype(ml_dtypes.bfloat16)] = (_BFLOAT, 16)
    _TYPES.update({np.dtype(getattr(ml_dtypes, name)): (code, 8) for name, code in
                   (("float8_e4m3fn", 10), ("float8_e4m3fnuz", 11), ("float8_e5m2", 12), ("float8_e5m2fnuz", 13)) if hasattr(ml_dtypes, name)})
except ImportError:
    pass
_DTYPES = {given: dtype for dtype, given in _TYPES.items()}


class _Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


_Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class _Unversioned(ctypes.Structure):
    """DLManagedTensor"""
    name, used = b"dltensor", b"used_dltensor"
    _fields_ = [("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", _Deleter)]


class _Versioned(ctypes.Structure):
    """DLManagedTensorVersioned"""
    name, used = b"dltensor_versioned", b"used_dltensor_versioned"
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p), ("deleter", _Deleter),
                ("flags", ctypes.c_uint64), ("tensor", _Tensor)]


def _capsule_function(name, result, *arguments):
    # Passes the capsule as an address, because a destructor must not take a new reference to it.
    return ctypes.PYFUNCTYPE(result, *arguments)(("PyCapsule_" + name, ctypes.pythonapi))


_Destructor = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
_new = _capsule_function("New", ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, _Destructor)
_is_valid = _capsule_function("IsValid", ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)
_pointer = _capsule_function("GetPointer", ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)
_rename = _capsule_function("SetName", ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)

_exported = {}  # address of a managed tensor: the structures and the owner of its memory, until the deleter is called


@_Deleter
def _forget(address, exported=_exported):  # bound as a default, because module globals may be gone when Python shuts down
    exported.pop(address, None)


@_Destructor
def _free_unused(capsule):
    for kind in (_Unversioned, _Versioned):
        if _is_valid(capsule, kind.name):
            _forget(_pointer(capsule, kind.name))


def capsule_of(owner, data, shape, dtype, device, *, flags=0, max_version=None):
    """A capsule with the dense tensor at `data`, which lives as long as `owner`. `device`: (DLDeviceType, number)."""
    if np.dtype(dtype) not in _TYPES:
        raise BufferError(f"DLPack has no type for the elements of {np.dtype(dtype)} as they are stored here")
    kind = _Versioned if max_version is not None and max_version[0] >= _VERSION[0] else _Unversioned
    if flags & READ_ONLY and kind is _Unversioned:
        raise BufferError("the array is read-only, which DLPack can express only since version 1.0 (max_version)")
    rank = len(shape)
    shape_array = (ctypes.c_int64 * max(rank, 1))(*shape)
    strides = (ctypes.c_int64 * max(rank, 1))(*(int(np.prod(shape[i + 1:], dtype=np.int64)) for i in range(rank)))
    code, bits = _TYPES[np.dtype(dtype)]
    managed = kind(deleter=_forget, tensor=_Tensor(data or None, device[0], device[1], rank, code, bits, 1, shape_array, strides, 0))
    if kind is _Versioned:
        managed.major, managed.minor, managed.flags = *_VERSION, flags
    address = ctypes.addressof(managed)
    _exported[address] = (managed, shape_array, strides, owner)
    return _new(address, kind.name, _free_unused)


class _Borrowed:
    """A tensor of another library. The destructor of this object releases the tensor."""
    _address = None

    def __init__(self, capsule, kind):
        address = id(capsule)
        self._address, self._kind = _pointer(address, kind.name), kind
        if _rename(address, kind.used) != 0:
            raise GartError("the capsule of DLPack cannot be marked as used")
        self.managed = kind.from_address(self._address)

    def __del__(self):
        if self._address is not None and self.managed.deleter:
            self.managed.deleter(self._address)


class _HostMemory:
    """Describes memory for numpy, whose array keeps this object and so the owner."""

    def __init__(self, owner, interface):
        self._owner, self.__array_interface__ = owner, interface


def host_array(owner, data, shape, dtype, strides=None, read_only=False):
    """An array of numpy that shows memory of the host. `shape`: without a 0."""
    interface = {"version": 3, "shape": shape, "typestr": f"|V{dtype.itemsize}", "strides": strides, "data": (data, read_only)}
    return np.asarray(_HostMemory(owner, interface)).view(dtype)


def _ask(array, stream):
    arguments = {} if stream is None else {"stream": stream}
    try:
        return array.__dlpack__(max_version=_VERSION, **arguments)
    except TypeError:  # made before version 1.0 of the protocol
        return array.__dlpack__(**arguments)


def read(array, what="the array"):
    """(array of numpy, None), or (owner, description) of a dense tensor in a GPU's memory. The description has the fields of
    `__cuda_array_interface__`, "dtype" and "device"."""
    kind, number = (int(part) for part in array.__dlpack_device__())
    if kind not in (CPU, CUDA, CUDA_HOST):
        raise GartError(f"{what} is on a device of DLPack's kind {kind}; gart reads memory of the host (1, 3) and of CUDA (2)")
    default_stream = 1
    capsule = _ask(array, default_stream if kind == CUDA else None)
    form = next((form for form in (_Versioned, _Unversioned) if _is_valid(id(capsule), form.name)), None)
    if form is None:
        raise GartError(f"{what}: __dlpack__() returned {type(capsule).__name__}, not a capsule of DLPack that can still be read")
    borrowed = _Borrowed(capsule, form)
    managed = borrowed.managed
    if form is _Versioned and managed.major != _VERSION[0]:
        raise GartError(f"{what} has version {managed.major}.{managed.minor} of DLPack, expected 1.x")
    tensor = managed.tensor
    dtype = _DTYPES.get((tensor.code, tensor.bits))
    if dtype is None or tensor.lanes != 1:
        raise GartError(f"{what} has elements of DLPack's type {tensor.code} with {tensor.bits} bits and {tensor.lanes} lanes, which gart does not know")
    shape = tuple(tensor.shape[i] for i in range(tensor.ndim))
    strides = tuple(tensor.strides[i] * dtype.itemsize for i in range(tensor.ndim)) if tensor.strides else None
    data = ((tensor.data or 0) + tensor.byte_offset) if 0 not in shape else 0
    read_only = form is _Unversioned or bool(managed.flags & READ_ONLY)
    if kind == CUDA:
        return borrowed, {"version": 3, "shape": shape, "strides": strides, "data": (data, read_only), "stream": default_stream, "dtype": dtype,
                          "device": f"cuda:{number}"}
    if 0 in shape:
        return np.empty(shape, dtype), None
    return host_array(borrowed, data, shape, dtype, strides, read_only), None
