"""gart for Python: a thin binding of libgart's C ABI with ctypes and numpy.

    import gart
    model = gart.load("model.gart")            # device="cpu", "cuda", "cuda:0"; otherwise the best there is
    outputs = model.run({"input": array})      # {name: array}
    logits = model(array)                      # the inputs in their order
    model = gart.load(gart.compile("m.onnx"))  # needs gcc-graph (the package, or $GCC_GRAPH)

On a GPU, inputs and outputs may also be in its memory: arrays with `__cuda_array_interface__` or `__dlpack__` (PyTorch, CuPy, Numba, JAX)
are used where they are, and outputs given to a device stay in the invocation's memory there.

    model.set_inputs({"input": on_gpu})
    model.set_output("logits", model.device)   # or an array that it is written to
    model.run_async(stream)                    # CUstream or cudaStream_t as an integer, or an object with __cuda_stream__
    logits = torch.from_dlpack(model.output("logits"))
    logits = torch.from_dlpack(model.output("logits", copy=False))   # of the host, too: valid until the next run
    other = model.new_invocation()             # may run at the same time as the first

A model with states (gcc-graph compile --state) runs in sessions, which keep their values from one run to the next:

    session = model.session()
    outputs = session.run({"input_ids": token})   # states are not given
    session.save("conversation.safetensors")
    ids = session.generate(prompt, max_tokens=20)   # a language model

States that the model itself keeps (trained weights) are one for all callers, and need no session:

    loss = model.run({"x": x, "labels": labels}, entry="train")["loss"]
    scores = model.run({"x": x}, entry="infer")
    model.save_states("weights.safetensors")

libgart.so.0 is looked for in $GART_LIBRARY, in this package, in this repository's build, in the prefix that this package is
installed to, then by the system's loader.
"""
import ctypes
import json
import os
import threading

import numpy as np

from . import _dlpack, _store
from ._compiler import compile
from ._errors import CompileError, GartError

__all__ = ["CompileError", "DeviceArray", "GartError", "HostArray", "Invocation", "Model", "compile", "from_dlpack", "load"]

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
_STRING = 23
_MAX_RANK = 16


class _Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("dtype", ctypes.c_int), ("rank", ctypes.c_size_t),
                ("dims", ctypes.c_int64 * _MAX_RANK), ("device", ctypes.c_char_p)]


_TRUST_FIELDS = [("trusted_keys", ctypes.POINTER(ctypes.c_char_p)), ("trusted_key_count", ctypes.c_size_t), ("signature", ctypes.c_char_p),
                 ("signature_size", ctypes.c_size_t)]


def _set_trust(options, trusted_keys, signature):
    """Sets the fields of _TRUST_FIELDS."""
    if trusted_keys is None:
        if signature is not None:
            raise ValueError("a signature needs trusted_keys")
        return
    keys = [key.encode() if isinstance(key, str) else bytes(key) for key in ([trusted_keys] if isinstance(trusted_keys, (str, bytes)) else trusted_keys)]
    if not keys:
        raise ValueError("trusted_keys is empty: no artifact could be loaded")
    if signature is not None and len(signature) != 64:
        raise ValueError(f"the signature has {len(signature)} bytes, expected 64")
    options.trusted_keys, options.trusted_key_count = (ctypes.c_char_p * len(keys))(*keys), len(keys)
    if signature is not None:
        options.signature, options.signature_size = bytes(signature), len(signature)


class _LoadOptions(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("skip_verify", ctypes.c_int), ("threads", ctypes.c_int), ("device", ctypes.c_char_p),
                ("target", ctypes.c_char_p), ("blocking", ctypes.c_int), ("custom_ops", ctypes.c_void_p),
                ("custom_op_count", ctypes.c_size_t), ("intra", ctypes.c_int), ("inter", ctypes.c_int), ("replicas", ctypes.c_int),
                ("entry_points", ctypes.c_void_p), ("entry_point_count", ctypes.c_size_t), ("no_spin", ctypes.c_int),
                ("runs", ctypes.c_int), ("refuse_runs", ctypes.c_int), *_TRUST_FIELDS]


class _OpTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("dims", ctypes.POINTER(ctypes.c_int64)), ("rank", ctypes.c_int32), ("dtype", ctypes.c_int32)]

    def array(self, writable):
        """The tensor's own memory as an array, valid only during the call."""
        if not self.data:
            return None
        dtype, shape = np.dtype(_DTYPES[self.dtype]), tuple(self.dims[i] for i in range(self.rank))
        size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        array = np.frombuffer((ctypes.c_char * size).from_address(self.data), dtype).reshape(shape)
        array.flags.writeable = writable
        return array


class _OpCall(ctypes.Structure):
    _fields_ = [("inputs", ctypes.POINTER(_OpTensor)), ("outputs", ctypes.POINTER(_OpTensor)), ("attributes", ctypes.c_char_p),
                ("workspace", ctypes.c_void_p), ("workspace_bytes", ctypes.c_int64), ("input_count", ctypes.c_int32),
                ("output_count", ctypes.c_int32)]


_OpFunction = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.POINTER(_OpCall))


class _CustomOp(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("function", _OpFunction), ("user", ctypes.c_void_p)]


_raised = threading.local()  # .error: the exception of a custom operator's function in a run on this thread


def _op_function(function):
    def call(_, given):
        try:
            given = given.contents
            function([given.inputs[i].array(False) for i in range(given.input_count)],
                     [given.outputs[i].array(True) for i in range(given.output_count)], json.loads(given.attributes))
            return 0
        except BaseException as error:  # an exception must not pass through C
            _raised.error = error
            return 1
    return _OpFunction(call)


def _library_path():
    here, name = os.path.dirname(os.path.abspath(__file__)), "libgart.so.0"
    up = os.path.join(here, "..", "..", "..")
    known = [os.path.join(folder, name) for folder in (os.path.join(here, "lib"), os.path.join(up, "build", "release", "lib"), up)]
    return os.environ.get("GART_LIBRARY") or next((path for path in known if os.path.exists(path)), name)


def _library():
    lib = ctypes.CDLL(_library_path())
    for name, result in (("gart_last_error", ctypes.c_char_p), ("gart_input_name", ctypes.c_char_p),
                         ("gart_output_name", ctypes.c_char_p), ("gart_target", ctypes.c_char_p),
                         ("gart_device", ctypes.c_char_p), ("gart_version", ctypes.c_char_p), ("gart_output_label", ctypes.c_char_p), ("gart_metadata", ctypes.c_char_p),
                         ("gart_info_name", ctypes.c_char_p), ("gart_state_info", ctypes.c_void_p), ("gart_program_state_info", ctypes.c_void_p), ("gart_entry_point", ctypes.c_char_p),
                         ("gart_entry_input", ctypes.c_void_p), ("gart_entry_output", ctypes.c_void_p),
                         ("gart_input_count", ctypes.c_size_t), ("gart_output_count", ctypes.c_size_t)):
        getattr(lib, name).restype = result
    return lib


_lib = None


def _use_library():
    global _lib
    _lib = _lib or _library()


def __getattr__(name):
    """`__version__`: libgart's."""
    if name != "__version__":
        raise AttributeError(f"module 'gart' has no attribute '{name}'")
    _use_library()
    return _lib.gart_version().decode()


def _check(status):
    if status != 0:
        cause, _raised.error = getattr(_raised, "error", None), None
        raise GartError(_lib.gart_last_error().decode()) from cause


_DEFAULT_STREAM = 1  # the number that the interface uses for the default stream


def _stream_of(array, interface):
    """The stream on which an array is still being written; None: the array is complete. Version 2 of the interface, which PyTorch provides,
    does not name the stream. Then this returns the framework's current stream, if known, otherwise the default stream."""
    if interface.get("version", 0) >= 3:
        return interface.get("stream")
    if type(array).__module__.partition(".")[0] == "torch":
        import torch
        return torch.cuda.current_stream(array.device).cuda_stream or _DEFAULT_STREAM
    return _DEFAULT_STREAM


def _synchronize(stream, device):
    """Waits for a stream of `device` ("cuda:1"), in any CUDA context of the thread."""
    cuda = ctypes.CDLL("libcuda.so.1")
    ordinal = ctypes.c_int(int(device.partition(":")[2] or 0))

    def call(name, *arguments):
        status = getattr(cuda, name)(*arguments)
        if status != 0:
            raise GartError(f"stream {stream} of {device}, on which an input is written, cannot be waited for: {name} gives CUDA error {status}")

    before, context = ctypes.c_void_p(), ctypes.c_void_p()
    call("cuCtxGetCurrent", ctypes.byref(before))
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), ordinal)
    try:
        call("cuCtxSetCurrent", context)
        call("cuStreamSynchronize", ctypes.c_void_p(stream))
    finally:
        cuda.cuCtxSetCurrent(before)
        cuda.cuDevicePrimaryCtxRelease_v2(ordinal)


def from_dlpack(array, what="the array"):
    """An array of another library (PyTorch, JAX, TVM), for set_inputs(), set_output() and run(), without a copy: an array of numpy, or a
    DeviceArray if it is in a GPU's memory. Both keep the other library's memory. Unlike numpy.from_dlpack, this function knows bfloat16,
    the 8-bit floats and GPUs. `what`: names the array in errors."""
    owner, interface = _dlpack.read(array, what)
    return owner if interface is None else DeviceArray(owner, interface)


def _from_dlpack(what, array):
    """Converts an array that supports only DLPack, without a copy. Returns any other object unchanged."""
    if not hasattr(array, "__dlpack__") or hasattr(array, "__array__"):
        return array
    return from_dlpack(array, what)


class _Memory:
    """An array that a caller passes in. `device`: the device that holds its bytes. `stream`: the stream that still writes them, or None."""

    def __init__(self, what, array, home, code):
        """`home`: the program's device. `code`: the element type to assume for raw bytes ("<V2")."""
        self.device, self.stream = "cpu", None
        if code == _STRING:
            self._read_strings(what, array)
            return
        if not hasattr(array, "__cuda_array_interface__"):
            array = _from_dlpack(what, array)
        if hasattr(array, "__cuda_array_interface__"):
            self.array, self.in_place = array, True
            self._read_interface(what, array.__cuda_array_interface__, home)
        else:
            if np.ma.is_masked(array):
                raise GartError(f"{what} has masked elements, which have no value")
            self.array = np.ascontiguousarray(array) if np.ndim(array) else np.asarray(array)
            self.in_place = self.array is array
            self.data, self.shape, self.dtype = self.array.ctypes.data, self.array.shape, self.array.dtype
            self.writable = self.array.flags.writeable
        named = np.dtype(_DTYPES[code]) if code in _DTYPES else self.dtype
        if self.dtype.kind == "V" and self.dtype not in _CODES and self.dtype.itemsize == named.itemsize:
            self.dtype = named
        if self.dtype not in _CODES:
            raise GartError(f"{what}: dtype {self.dtype} is not supported")
        if len(self.shape) > _MAX_RANK:
            raise GartError(f"{what} has rank {len(self.shape)}, the limit is {_MAX_RANK}")
        self.bytes = int(np.prod(self.shape, dtype=np.int64)) * self.dtype.itemsize

    def _read_interface(self, what, interface, home):
        self.shape, self.dtype = tuple(interface["shape"]), np.dtype(interface["typestr"])
        self.data, read_only = interface["data"]
        self.writable, self.stream = not read_only, _stream_of(self.array, interface)
        dense = [self.dtype.itemsize * int(np.prod(self.shape[i + 1:], dtype=np.int64)) for i in range(len(self.shape))]
        moved = [n > 1 and s != d for n, s, d in zip(self.shape, interface.get("strides") or dense, dense)]
        if interface.get("mask") is not None or (any(moved) and 0 not in self.shape):
            raise GartError(f"{what} must be a dense row-major array")
        self.device = home if home != "cpu" else "cuda"
        if isinstance(self.array, DeviceArray):
            self.device, self.dtype = self.array.device, self.array.dtype
        elif hasattr(self.array, "__dlpack_device__"):  # the interface does not say which GPU
            self.device = f"cuda:{int(self.array.__dlpack_device__()[1])}"

    def _read_strings(self, what, array):
        """Reads an array of str, of bytes, or of objects that are str or bytes. Its texts become C strings, which live as long as this
        object."""
        given = np.asarray(array)
        if given.dtype.kind not in "USOT":
            raise GartError(f"{what} must be string, but is {given.dtype}")
        texts = [t.encode() if isinstance(t, str) else t for t in given.ravel().tolist()]
        for i, text in enumerate(texts):
            if not isinstance(text, bytes):
                raise GartError(f"{what}: element {i} is {text!r}, not a string")
            if b"\0" in text:
                raise GartError(f"{what}: element {i} has a NUL character")
        if given.ndim > _MAX_RANK:
            raise GartError(f"{what} has rank {given.ndim}, the limit is {_MAX_RANK}")
        self.array = (ctypes.c_char_p * len(texts))(*texts)
        self.data, self.shape, self.dtype = ctypes.addressof(self.array), given.shape, given.dtype
        self.writable, self.bytes = False, ctypes.sizeof(self.array)

    def code(self):
        return _STRING if isinstance(self.array, ctypes.Array) else _CODES[self.dtype]

    def tensor(self):
        """A view of the array for the library."""
        return _Tensor(self.data, self.code(), len(self.shape), (ctypes.c_int64 * _MAX_RANK)(*self.shape), self.device.encode())


def _copy(tensor):
    """A copy of a tensor in host memory, as an array."""
    array = np.empty(tuple(tensor.dims[:tensor.rank]), np.dtype(_DTYPES[tensor.dtype]))
    if array.nbytes:
        ctypes.memmove(array.ctypes.data, tensor.data, array.nbytes)
    return array


class DeviceArray:
    """An array in a GPU's memory, for readers of `__cuda_array_interface__` and `__dlpack__`. An output is valid until the next run or
    set_output() of its invocation. The interface describes types that it does not know, such as bfloat16, as raw bytes ("<V2")."""

    def __init__(self, owner, described):
        """`owner`: the object that the memory belongs to. `described`: the fields of `__cuda_array_interface__`, "dtype" and "device"."""
        described = dict(described)
        self.dtype, self.device = described.pop("dtype"), described.pop("device")
        self.shape, self._owner = described["shape"], owner
        self.__cuda_array_interface__ = {**described, "typestr": self.dtype.str}

    @classmethod
    def _of_output(cls, invocation, tensor, stream):
        return cls(invocation, {"version": 3, "shape": tuple(tensor.dims[:tensor.rank]), "strides": None, "data": (tensor.data or 0, False),
                                "stream": stream, "dtype": np.dtype(_DTYPES[tensor.dtype]), "device": tensor.device.decode()})

    def __array__(self, *_, **__):
        raise GartError(f"the array is in the memory of {self.device}; set_output(name, None) brings an output to the host")

    def __dlpack_device__(self):
        """(2, the GPU's number), as DLPack names CUDA devices."""
        return _dlpack.CUDA, int(self.device.partition(":")[2] or 0)

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        """A capsule with this memory. Waits for the stream that writes it, unless the consumer works on that stream (None: the default
        stream; -1: the consumer does not want to wait)."""
        if copy or dl_device not in (None, self.__dlpack_device__()):
            raise BufferError(f"the array is in the memory of {self.device}, and is not copied")
        if stream == 0:
            raise ValueError("stream 0 is ambiguous: 1 is the default stream, 2 the default stream of the thread")
        data, read_only = self.__cuda_array_interface__["data"]
        made_on, strides = self.__cuda_array_interface__["stream"], self.__cuda_array_interface__["strides"]
        if strides is not None:
            raise BufferError("the array has strides: take its capsule from the library that made it")
        if made_on is not None and stream != -1 and made_on != (stream or _DEFAULT_STREAM):
            _synchronize(made_on, self.device)
        return _dlpack.capsule_of(self, data, self.shape, self.dtype, self.__dlpack_device__(), max_version=max_version,
                                  flags=_dlpack.READ_ONLY if read_only else 0)


class HostArray:
    """An output in the invocation's memory on the host, without a copy: valid until the next run or set_output(). For readers of
    `__dlpack__`, and for numpy.asarray(). Both keep the invocation."""

    def __init__(self, owner, tensor):
        self.shape, self.dtype, self.device = tuple(tensor.dims[:tensor.rank]), np.dtype(_DTYPES[tensor.dtype]), "cpu"
        self._owner, self._data = owner, tensor.data or 0

    def __array__(self, dtype=None, copy=None):
        """The memory as an array of numpy."""
        if 0 in self.shape:
            array = np.empty(self.shape, self.dtype)
        else:
            array = _dlpack.host_array(self, self._data, self.shape, self.dtype)
        if dtype is not None and np.dtype(dtype) != self.dtype:
            if copy is False:
                raise ValueError(f"an array of {np.dtype(dtype)} needs a copy")
            return array.astype(dtype)
        return array.copy() if copy else array

    def __dlpack_device__(self):
        """(1, 0), the host."""
        return _dlpack.CPU, 0

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        """A capsule with this memory, or with a copy of it if `copy` is true."""
        if stream is not None:
            raise BufferError("an array of the host has no stream")
        if dl_device not in (None, self.__dlpack_device__()):
            raise BufferError("the array is in the host's memory, and is not copied to a device")
        owner = self.__array__(copy=True) if copy else self
        return _dlpack.capsule_of(owner, owner.ctypes.data if copy else self._data, self.shape, self.dtype, self.__dlpack_device__(),
                                  max_version=max_version, flags=_dlpack.IS_COPIED if copy else 0)


class _Program:
    def __init__(self, path, options, custom_ops):
        self.handle = ctypes.c_void_p()
        self.custom_ops = [_CustomOp(name.encode(), _op_function(function), None) for name, function in custom_ops.items()]
        functions = (_CustomOp * len(custom_ops))(*self.custom_ops)
        options.custom_ops, options.custom_op_count = ctypes.addressof(functions), len(functions)
        if isinstance(path, (bytes, bytearray, memoryview)):
            self.artifact = bytes(path)  # kept, because the library may use the bytes in place
            _check(_lib.gart_load_memory(self.artifact, ctypes.c_size_t(len(self.artifact)), ctypes.byref(options), ctypes.byref(self.handle)))
        else:
            _check(_lib.gart_load(os.fsencode(path), ctypes.byref(options), ctypes.byref(self.handle)))
        self.target, self.device = _lib.gart_target(self.handle).decode(), _lib.gart_device(self.handle).decode()
        self.entries = self._texts(_lib.gart_entry_point, self.handle)
        self.inputs, self.outputs = self.interface(None)
        self.labels = {name: labels for i, name in enumerate(self.outputs) if (labels := self._labels(i))}
        self.states = self._described(_lib.gart_state_info)
        self.own_states = self._described(_lib.gart_program_state_info)
        texts = self._texts(_lib.gart_metadata, self.handle)
        self.metadata = dict(zip(texts[::2], texts[1::2]))

    def _labels(self, index):
        return self._texts(_lib.gart_output_label, self.handle, ctypes.c_size_t(index))

    @staticmethod
    def _texts(function, *arguments):
        """The texts that the function returns for 0, 1, ... up to its first NULL."""
        texts = []
        while (text := function(*arguments, ctypes.c_size_t(len(texts)))) is not None:
            texts.append(text.decode())
        return texts

    def interface(self, entry):
        """({name: dtype's code} of the entry point's inputs, the same of its outputs), in order. None: the first."""
        if entry is not None and entry not in self.entries:
            raise GartError(f"the model has no entry point '{entry}', only {', '.join(map(repr, self.entries))}")
        name = entry and entry.encode()
        return self._described(_lib.gart_entry_input, name), self._described(_lib.gart_entry_output, name)

    def _described(self, tensor, *arguments):
        """{name: dtype's code} of the tensors that the function returns for 0, 1, ... up to its first NULL."""
        tensors = {}
        while (info := tensor(self.handle, *arguments, ctypes.c_size_t(len(tensors)))) is not None:
            tensors[_lib.gart_info_name(ctypes.c_void_p(info)).decode()] = _lib.gart_info_dtype(ctypes.c_void_p(info))
        return tensors

    def __del__(self):
        if _lib is not None:
            _lib.gart_program_free(self.handle)


class Invocation:
    """One caller's memory for running a model; not for several threads at once. Bound arrays of the host must stay unchanged until run_bound()
    or run_async() has returned. Bound arrays of a GPU must stay unchanged until the run is over."""
    _invocation = None

    def __init__(self, program, session=None, entry=None):
        """`session`: the handle of the session; the runs use its states. `entry`: the entry point; None: the first."""
        self._program, self._invocation = program, ctypes.c_void_p()
        self._input_codes, self._output_codes = program.interface(entry)
        self.inputs, self.outputs = list(self._input_codes), list(self._output_codes)
        self.target, self.device, self.metadata = program.target, program.device, program.metadata
        self.labels = program.labels if entry is None else {}
        self._bound_inputs, self._bound_outputs = {}, {}
        self._in_flight, self._stream = False, None
        name = entry and entry.encode()
        if session is not None:
            _check(_lib.gart_session_invocation_new(session, name, ctypes.byref(self._invocation)))
        elif not program.states or entry is not None:
            _check(_lib.gart_invocation_new(program.handle, name, ctypes.byref(self._invocation)))

    def __del__(self):
        if _lib is not None:
            _lib.gart_invocation_free(self._invocation)

    def new_invocation(self, entry=None):
        """Another invocation of the same model, for another thread or for concurrent runs. `entry`: the entry point;
        None: the first."""
        return Invocation(self._program, entry=entry)

    def set_inputs(self, feeds):
        """Binds arrays by name: the host's, or a GPU's with `__cuda_array_interface__`. Each run waits for the stream that an array names
        when it is bound; the stream must live as long as the binding."""
        for name, array in feeds.items():
            memory = _Memory(f"input '{name}'", array, self.device, self._input_codes.get(name))
            _check(_lib.gart_set_input_by_name(self._invocation, name.encode(), ctypes.byref(memory.tensor())))
            self._bound_inputs[name] = memory

    def set_output(self, which, place):
        """Sets where runs write an output (a name or an index). `place` is an array, or None for the invocation's own memory on the host (the
        default), or a device ("cuda:0") for its own memory there."""
        index = self._index(which)
        if place is None or isinstance(place, str):
            place_name = "cpu" if place is None else place
            data, size, code, kept = None, 0, 0, None
        else:
            what = f"output '{self.outputs[index]}'"
            kept = _Memory(what, place, self.device, self._output_codes[self.outputs[index]])
            if not kept.in_place or not kept.writable:
                raise GartError(f"{what} needs a writable, dense row-major array")
            place_name, data, size, code = kept.device, kept.data, kept.bytes, kept.code()
        _check(_lib.gart_set_output_on(self._invocation, ctypes.c_size_t(index), ctypes.c_void_p(data), ctypes.c_size_t(size), code,
                                       place_name.encode()))
        self._bound_outputs[index] = kept

    def run_bound(self):
        """Runs on the arrays of set_inputs()."""
        self._await_inputs(None)
        _check(_lib.gart_run(self._invocation))
        self._in_flight, self._stream = False, None

    def run_async(self, stream=0):
        """Enqueues a run on a CUDA stream and returns. Outputs on a GPU are ready for later work on the stream."""
        if hasattr(stream, "__cuda_stream__"):
            stream = stream.__cuda_stream__()[1]
        named = int(stream) or _DEFAULT_STREAM
        self._await_inputs(named)
        _check(_lib.gart_run_async(self._invocation, ctypes.c_void_p(stream)))
        self._in_flight, self._stream = True, named

    def wait(self):
        """Waits for the last run_async(). Raises its error, if it failed."""
        self._in_flight, self._stream = False, None
        _check(_lib.gart_wait(self._invocation))

    def cancel(self):
        """Stops the current run, or else the next one, from any thread. That run raises GartError ("the run was cancelled") before its next
        step."""
        _lib.gart_cancel(self._invocation)

    def output(self, which, copy=True):
        """An output (a name or an index) of the last run. It is a copy as a numpy array, once the run is over. If `copy` is false, it is a
        HostArray, which shows the invocation's memory. If set_output() put the output on a GPU, it is a DeviceArray."""
        index, tensor = ctypes.c_size_t(self._index(which)), _Tensor()
        _check(_lib.gart_get_output(self._invocation, index, ctypes.byref(tensor)))
        if tensor.device != b"cpu":
            return DeviceArray._of_output(self, tensor, self._stream)
        if self._in_flight:
            self.wait()
            _check(_lib.gart_get_output(self._invocation, index, ctypes.byref(tensor)))
        return _copy(tensor) if copy else HostArray(self, tensor)

    def run(self, feeds):
        """Runs on exactly these inputs, {name: array}. Inputs of earlier calls are not used. Returns {name: array}; class labels that are
        strings are returned as strings, and probabilities that the model names by class (ZipMap) as {class: column}. output() gives the
        numbers, `labels` the names."""
        missing = [name for name in self.inputs if name not in feeds]
        if missing:
            raise GartError(f"input {', '.join(map(repr, missing))} is missing: the model takes {', '.join(map(repr, self.inputs))}")
        self.set_inputs(feeds)
        self.run_bound()
        return {name: self._named(name, self.output(i)) for i, name in enumerate(self.outputs)}

    def __call__(self, *arrays, **named):
        """run() with the inputs in their order, or by name. Returns the output, or a tuple if the model has several."""
        if len(arrays) > len(self.inputs):
            raise GartError(f"{len(arrays)} inputs are given: the model takes {len(self.inputs)}, {', '.join(map(repr, self.inputs))}")
        twice = [name for name in self.inputs[:len(arrays)] if name in named]
        if twice:
            raise GartError(f"input '{twice[0]}' is given twice, by its place and by its name")
        outputs = tuple(self.run({**dict(zip(self.inputs, arrays)), **named}).values())
        return outputs[0] if len(outputs) == 1 else outputs

    def _named(self, name, array):
        if name not in self.labels or isinstance(array, DeviceArray):
            return array
        labels = self.labels[name]
        if array.dtype == np.int64:
            return np.array(labels)[array]
        return {label: array[..., i] for i, label in enumerate(labels)}

    def _index(self, which):
        if isinstance(which, str):
            if which not in self.outputs:
                raise GartError(f"the model has no output '{which}', only {', '.join(map(repr, self.outputs))}")
            return self.outputs.index(which)
        if not 0 <= which < len(self.outputs):
            raise GartError(f"there is no output {which}: the model has {len(self.outputs)}")
        return which

    def _await_inputs(self, stream):
        """Waits for the streams, other than this one, that still write inputs, as `__cuda_array_interface__` demands."""
        made_on = {m.stream for m in self._bound_inputs.values()} - {None, stream}
        for other in made_on:
            _synchronize(other, self.device)


def _state(get, handle, name):
    """A copy of the state as a numpy array. `get`: the library's function for the state's owner; `handle`: that owner."""
    tensor = _Tensor()
    _check(get(handle, name.encode(), None, ctypes.c_size_t(0), ctypes.byref(tensor)))
    array = np.empty(tuple(tensor.dims[:tensor.rank]), _DTYPES[tensor.dtype])
    _check(get(handle, name.encode(), ctypes.c_void_p(array.ctypes.data), ctypes.c_size_t(array.nbytes), ctypes.byref(tensor)))
    return array


def _set_state(assign, handle, name, array, device, codes):
    memory = _Memory(f"state '{name}'", array, device, codes.get(name))
    _check(assign(handle, name.encode(), ctypes.byref(memory.tensor())))


class Session(Invocation):
    """The states of one caller (a conversation's caches), and runs that read and replace them. Not for several threads at once.
    A run that fails or is cancelled leaves all states as they were. A state without a value begins with zeros, or without
    rows if it grows."""
    _handle = None

    def __init__(self, program, handle=None):
        self._handle = handle or ctypes.c_void_p()
        if handle is None:
            _check(_lib.gart_session_new(program.handle, ctypes.byref(self._handle)))
        super().__init__(program, self._handle)
        self.states, self._others, self._generators = list(program.states), {}, {}

    def __del__(self):
        super().__del__()
        if _lib is not None:
            _lib.gart_session_free(self._handle)

    def run(self, feeds, entry=None):
        """Runs like Invocation.run; states are not given. `entry`: the entry point; None: the first."""
        if entry is None:
            return super().run(feeds)
        if entry not in self._others:
            self._others[entry] = Invocation(self._program, self._handle, entry)
        return self._others[entry].run(feeds)

    def new_invocation(self, entry=None):
        """An invocation that uses this session's states. Runs of one session must not overlap."""
        return Invocation(self._program, self._handle, entry)

    def generate(self, ids, *, max_tokens=128, temperature=0.0, top_k=0, top_p=1.0, min_p=0.0, repetition_penalty=1.0, presence_penalty=0.0,
                 seed=0, stop_ids=(), chunk=0, lookup=0, on_token=None, entry=None, prefill=None):
        """Appends `ids` to the session and returns a list of up to `max_tokens` further ids. The session has read all of them but the last.
        `on_token(id)` is called for each; the generation ends if it returns False. `entry`, `prefill`: entry points.
        The options are those of gart/generate.hpp."""
        if (entry, prefill) not in self._generators:
            from ._generate import Generator
            self._generators[entry, prefill] = Generator(self._program, self._handle, entry, prefill)
        return self._generators[entry, prefill].generate(
            ids, on_token, stop_ids, max_tokens=max_tokens, temperature=temperature, top_k=top_k, top_p=top_p, min_p=min_p,
            repetition_penalty=repetition_penalty, presence_penalty=presence_penalty, seed=seed, chunk=chunk, lookup=lookup)

    def cancel(self):
        """Stops the current generation, or else the current run, or else the next run, from any thread."""
        generating = [generator for generator in list(self._generators.values()) if generator.is_generating]
        for generator in generating:
            generator.cancel()
        if not generating:
            super().cancel()

    def state(self, name):
        """A copy of the state as a numpy array. Raises GartError if it has no value yet."""
        return _state(_lib.gart_session_get_state, self._handle, name)

    def set_state(self, name, array):
        """Copies an array of the host into a state."""
        _set_state(_lib.gart_session_set_state, self._handle, name, array, self.device, self._program.states)

    def reset(self):
        """Removes all values, so that the session is like a new one."""
        _check(_lib.gart_session_reset(self._handle))

    def fork(self):
        """A new session with copies of all values."""
        handle = ctypes.c_void_p()
        _check(_lib.gart_session_fork(self._handle, ctypes.byref(handle)))
        return Session(self._program, handle)

    def save(self, path):
        """Writes the states that have a value to a safetensors file, which replaces `path` only when it is complete."""
        _check(_lib.gart_session_save(self._handle, os.fsencode(path)))

    def load(self, path):
        """Replaces all states by those of a safetensors file. A failure changes nothing."""
        _check(_lib.gart_session_load(self._handle, os.fsencode(path)))


class Model(Invocation):
    """A loaded model and an invocation of it. Any number of threads may call run() at once: if the model's own invocation is busy, a call uses
    another one. All other methods use the model's own invocation, so only one thread at a time may call them."""

    def __init__(self, path, device=None, target=None, threads=0, verify=True, blocking=False, custom_ops=None, parallel=None, spin=True, runs=0,
                 refuse_runs=False, trusted_keys=None, signature=None):
        _use_library()
        device, target = device and device.encode(), target and target.encode()
        parallel = parallel or {}
        if not parallel.keys() <= {"intra", "inter", "replicas"}:
            raise ValueError(f"parallel takes 'intra', 'inter' and 'replicas', not {sorted(parallel)}")
        self._own, self._spare = threading.Lock(), {}
        options = _LoadOptions(ctypes.sizeof(_LoadOptions), int(not verify), threads, device, target, int(blocking), no_spin=int(not spin),
                               runs=runs, refuse_runs=int(refuse_runs), **parallel)
        _set_trust(options, trusted_keys, signature)
        super().__init__(_Program(path, options, custom_ops or {}))
        self.states = list(self._program.own_states)

    def run(self, feeds, entry=None):
        """Runs like Invocation.run, from any number of threads at once. A concurrent caller gets an invocation of its
        own. `entry`: the entry point; None: the first."""
        if entry is None and self._program.states:
            raise GartError("the model has states: run it in a session (model.session())")
        if entry is None and self._own.acquire(blocking=False):
            try:
                return super().run(feeds)
            finally:
                self._own.release()
        spare = self._spare.setdefault(entry, [])
        try:
            other = spare.pop()  # atomic, like append
        except IndexError:
            other = self.new_invocation(entry)
        try:
            return other.run(feeds)
        finally:
            spare.append(other)

    def state(self, name):
        """A copy, as a numpy array, of a state that the model keeps for all callers; `states` has their names."""
        return _state(_lib.gart_program_get_state, self._program.handle, name)

    def set_state(self, name, array):
        """Copies an array of the host into a state of the model. Waits for a run that is in progress."""
        _set_state(_lib.gart_program_set_state, self._program.handle, name, array, self.device, self._program.own_states)

    def save_states(self, path):
        """Writes the model's states, as they are between two runs, to a safetensors file, which replaces `path` only when it is
        complete."""
        _check(_lib.gart_program_save_states(self._program.handle, os.fsencode(path)))

    def load_states(self, path):
        """Replaces the model's states by those of a safetensors file. A state that the file lacks gets its first value. A failure changes
        nothing."""
        _check(_lib.gart_program_load_states(self._program.handle, os.fsencode(path)))

    def session(self):
        """A new session: the states of one caller, without values."""
        return Session(self._program)


def load(path=None, device=None, target=None, threads=0, verify=True, blocking=False, custom_ops=None, parallel=None, spin=True, *,
         runs=0, refuse_runs=False, store=None, model=None, trusted_keys=None, signature=None):
    """Loads a model from a file (`path`, a text or os.PathLike) or from an artifact's bytes: on `device` ("cpu", "cuda", "cuda:0"; None:
    the first GPU that the model has code for, otherwise the CPU), with the model's code for `target` ("sm_90a"; None: the best).

    `store`, `model`: instead of a path, a folder that gcc-graph store add made, and "ID" (the latest version) or "ID@VERSION".

    `parallel`: the threading mode on a CPU, in place of the file's choice: {"intra": 2, "inter": 1, "replicas": 1}, see gart.hpp.

    `spin`: if False, waiting CPU threads sleep at once; otherwise they keep their cores busy for up to 2 ms.

    `runs`: most runs at a time (0: any number); a further run waits, or raises GartError if `refuse_runs` is true.

    `trusted_keys`: the text of a PEM file with a public key of Ed25519, or several. An artifact that none of them has signed (gcc-graph
    sign) is refused. The signature covers all bytes, which are first copied to this process's memory. It is `signature` (64 bytes), or
    else in the file `path`.sig, or with `store` the one that store add --signature kept. Needs OpenSSL's libcrypto.so.3 or .1.1.

    `custom_ops`: {name: function} for the operators that `gcc-graph compile --custom-op` declared ("acme::Blend"). Each
    is called as function(inputs, outputs, attributes). The inputs are arrays to read, the outputs arrays to write
    completely, the attributes a dict. The arrays are the model's own memory and valid only during the call; None stands
    for an omitted input or an unused output. An exception in the function ends the run and becomes the cause of the
    GartError."""
    if (path is None) == (store is None) or (store is None) != (model is None):
        raise TypeError("gart.load takes a path or an artifact's bytes, or store and model")
    if store is not None:
        path, kept, name = _store.find(store, model)
        if trusted_keys is not None and signature is None:
            if not kept:
                raise GartError(f"the model '{name}' has no signature in the store")
            signature = kept
    return Model(path, device, target, threads, verify, blocking, custom_ops, parallel, spin, runs, refuse_runs, trusted_keys, signature)
