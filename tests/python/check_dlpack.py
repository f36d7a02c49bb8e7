#!/usr/bin/env python3
"""DLPack in both directions: no copies, memory that lives as long as its readers, flags, versions and streams. numpy is the other
library; PyTorch too, where it is installed."""
import ctypes
import gc
import os
import sys
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
sys.path.insert(0, os.path.join(ROOT, "tools", "python"))

import ml_dtypes
import numpy as np
from onnx import parser

import gart
from gart import _dlpack

MODEL = """<ir_version: 9, opset_import: ["": 17]>
model (TYPE[n, 4] x) => (TYPE[n, 4] y) {
  y = Neg(x)
}"""
X = np.arange(12, dtype=np.float32).reshape(3, 4)
_name = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", ctypes.pythonapi))
_address = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_GetPointer", ctypes.pythonapi))


class OldProducer:
    """An array of a library that knows no versions of DLPack."""

    def __init__(self, array):
        self.array = array

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __dlpack__(self, *, stream=None):
        return self.array.__dlpack__()


class NewProducer(OldProducer):
    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        return self.array.__dlpack__(max_version=max_version)


def loaded(kind="float"):
    return gart.load(gart.compile(parser.parse_model(MODEL.replace("TYPE", kind))), device="cpu")


def on_gpu(data=4096, shape=(2, 3), dtype=np.float32, stream=None, read_only=False, strides=None):
    return gart.DeviceArray(None, {"version": 3, "shape": shape, "strides": strides, "data": (data, read_only), "stream": stream,
                                   "dtype": np.dtype(dtype), "device": "cuda:1"})


class Outputs(unittest.TestCase):
    def setUp(self):
        gc.collect()
        self.before = len(_dlpack._exported)
        self.model = loaded()
        self.model.set_inputs({"x": X})
        self.model.run_bound()

    def tearDown(self):
        self.model = None
        gc.collect()
        self.assertEqual(len(_dlpack._exported), self.before, "each tensor was given back")

    def test_numpy_reads_the_invocations_memory(self):
        shown = self.model.output("y", copy=False)
        array, other = np.from_dlpack(shown), np.asarray(shown)
        self.assertEqual((shown.shape, shown.dtype, shown.device), ((3, 4), np.float32, "cpu"))
        self.assertEqual(array.ctypes.data, other.ctypes.data)
        np.testing.assert_array_equal(array, -X)
        self.model.set_inputs({"x": X + 1})
        self.model.run_bound()
        np.testing.assert_array_equal(array, -X - 1)
        np.testing.assert_array_equal(self.model.output("y"), -X - 1)

    def test_a_view_keeps_the_invocation(self):
        invocation = self.model.new_invocation()
        invocation.set_inputs({"x": X})
        invocation.run_bound()
        views = [np.from_dlpack(invocation.output(0, copy=False)), np.asarray(invocation.output(0, copy=False))]
        del invocation
        gc.collect()
        for other in [self.model.new_invocation() for _ in range(4)]:  # would reuse freed memory
            other.set_inputs({"x": X + 7})
            other.run_bound()
        for view in views:
            np.testing.assert_array_equal(view, -X)

    def test_versions(self):
        shown = self.model.output("y", copy=False)
        for asked, name in ((None, b"dltensor"), ((0, 8), b"dltensor"), ((1, 0), b"dltensor_versioned"), ((1, 9), b"dltensor_versioned"),
                            ((2, 0), b"dltensor_versioned")):
            capsule = shown.__dlpack__(max_version=asked)
            self.assertEqual(_name(capsule), name, asked)
        capsule = None
        self.assertEqual(len(_dlpack._exported), self.before, "unused capsules are freed")
        capsule = shown.__dlpack__(max_version=(1, 3))
        self.assertEqual(list((ctypes.c_uint32 * 2).from_address(_address(capsule, b"dltensor_versioned"))), [1, 0])

    def test_a_copy_is_marked(self):
        shown = self.model.output("y", copy=False)
        flags = {}
        for copy in (None, False, True):
            capsule = shown.__dlpack__(max_version=(1, 0), copy=copy)
            flags[copy] = ctypes.c_uint64.from_address(_address(capsule, b"dltensor_versioned") + 24).value
        self.assertEqual(flags, {None: 0, False: 0, True: 2})
        copied = np.from_dlpack(shown, copy=True)
        self.assertNotEqual(copied.ctypes.data, np.asarray(shown).ctypes.data)
        np.testing.assert_array_equal(copied, -X)
        self.assertTrue(np.asarray(shown).flags.writeable)

    def test_requests_that_cannot_be_met(self):
        shown = self.model.output("y", copy=False)
        for wrong in ({"stream": 1}, {"dl_device": (2, 0)}):
            with self.assertRaises(BufferError):
                shown.__dlpack__(**wrong)

    def test_no_elements(self):
        self.model.set_inputs({"x": np.empty((0, 4), np.float32)})
        self.model.run_bound()
        shown = self.model.output("y", copy=False)
        self.assertEqual(np.asarray(shown).shape, (0, 4))
        self.assertEqual(np.from_dlpack(shown).shape, (0, 4))

    def test_torch(self):
        try:
            import torch
        except ImportError:
            self.skipTest("PyTorch is not installed")
        tensor = torch.from_dlpack(self.model.output("y", copy=False))
        self.assertEqual(tensor.data_ptr(), np.asarray(self.model.output("y", copy=False)).ctypes.data)
        np.testing.assert_array_equal(tensor.numpy(), -X)
        del tensor


class OtherTypes(unittest.TestCase):
    def test_bfloat16_goes_out_and_in(self):
        model = loaded("bfloat16")
        given = X.astype(ml_dtypes.bfloat16)
        model.set_inputs({"x": given})
        model.run_bound()
        shown = model.output("y", copy=False)
        self.assertEqual(np.asarray(shown).dtype, ml_dtypes.bfloat16)
        taken = gart.from_dlpack(shown)
        self.assertEqual(taken.ctypes.data, np.asarray(shown).ctypes.data)
        np.testing.assert_array_equal(taken.astype(np.float32), -X)
        np.testing.assert_array_equal(model(NewProducer(shown)).astype(np.float32), X)

    def test_each_type_comes_back(self):
        for dtype in _dlpack._TYPES:
            array = np.zeros((2, 3), dtype)
            if dtype.isbuiltin == 1:  # numpy's own DLPack
                self.assertEqual(gart.from_dlpack(NewProducer(array)).dtype, dtype)
            shown = gart.HostArray(array, gart._Tensor(array.ctypes.data, gart._CODES[dtype], 2, (ctypes.c_int64 * 16)(2, 3)))
            back = gart.from_dlpack(shown)
            self.assertEqual((back.dtype, back.ctypes.data), (dtype, array.ctypes.data))

    def test_packed_types_are_refused(self):
        array = np.zeros(4, ml_dtypes.int4)
        shown = gart.HostArray(array, gart._Tensor(array.ctypes.data, gart._CODES[array.dtype], 1, (ctypes.c_int64 * 16)(4)))
        with self.assertRaisesRegex(BufferError, "int4"):
            shown.__dlpack__()


class Inputs(unittest.TestCase):
    def test_a_producer_alone_is_an_input(self):
        model = loaded()
        for producer in (NewProducer(X), OldProducer(X.copy()), NewProducer(np.asfortranarray(X)), NewProducer(X[:, ::-1])):
            np.testing.assert_array_equal(model(producer), -np.asarray(producer.array))

    def test_the_memory_is_the_producers(self):
        array = X.copy()
        taken = gart.from_dlpack(NewProducer(array))
        self.assertEqual(taken.ctypes.data, array.ctypes.data)
        strided = gart.from_dlpack(NewProducer(array[::2, 1:3]))
        np.testing.assert_array_equal(strided, array[::2, 1:3])
        references = sys.getrefcount(array)
        del strided
        gc.collect()
        self.assertLess(sys.getrefcount(array), references, "the producer's memory was given back")
        del array
        gc.collect()
        np.testing.assert_array_equal(taken, X)

    def test_read_only_memory_is_no_output(self):
        model, fixed, free = loaded(), X.copy(), X.copy()
        fixed.flags.writeable = False
        model.set_inputs({"x": X})
        for place in (gart.from_dlpack(NewProducer(fixed)), gart.from_dlpack(OldProducer(free))):
            self.assertFalse(place.flags.writeable)
            with self.assertRaisesRegex(gart.GartError, "needs a writable"):
                model.set_output("y", place)
        model.set_output("y", gart.from_dlpack(NewProducer(free)))
        model.run_bound()
        np.testing.assert_array_equal(free, -X)
        model.set_output("y", NewProducer(free))
        model.set_inputs({"x": X + 2})
        model.run_bound()
        np.testing.assert_array_equal(free, -X - 2)

    def test_faults_are_sentences(self):
        used = X.__dlpack__()
        kept = np.from_dlpack(type("Once", (), {"__dlpack__": lambda self, **_: used, "__dlpack_device__": lambda self: (1, 0)})())
        again = type("Again", (), {"__dlpack__": lambda self, **_: used, "__dlpack_device__": lambda self: (1, 0)})()
        with self.assertRaisesRegex(gart.GartError, "input 'x': .* not a capsule of DLPack that can still be read"):
            loaded().set_inputs({"x": again})
        del kept
        with self.assertRaisesRegex(gart.GartError, "type 5 with 64 bits"):
            gart.from_dlpack(NewProducer(np.zeros(2, np.complex64)))
        rocm = type("Rocm", (), {"__dlpack__": None, "__dlpack_device__": lambda self: (10, 0)})()
        with self.assertRaisesRegex(gart.GartError, "kind 10"):
            gart.from_dlpack(rocm)


class Gpus(unittest.TestCase):
    """The description of a GPU's memory; nothing reads the memory."""

    def test_the_capsule_describes_the_memory(self):
        for dtype, kind in ((np.float32, (2, 32, 1)), (ml_dtypes.bfloat16, (4, 16, 1)), (np.int8, (0, 8, 1))):
            array = on_gpu(dtype=dtype)
            self.assertEqual(array.__dlpack_device__(), (2, 1))
            capsule = array.__dlpack__(stream=-1)
            at = _address(capsule, b"dltensor")
            self.assertEqual(ctypes.c_void_p.from_address(at).value, 4096)
            self.assertEqual(list((ctypes.c_int32 * 3).from_address(at + 8)), [2, 1, 2])  # CUDA, number, rank
            self.assertEqual((ctypes.c_uint8.from_address(at + 20).value, ctypes.c_uint8.from_address(at + 21).value,
                              ctypes.c_uint16.from_address(at + 22).value), kind)
            shape, strides = (ctypes.POINTER(ctypes.c_int64).from_address(at + offset) for offset in (24, 32))
            self.assertEqual(([shape[0], shape[1]], [strides[0], strides[1]]), ([2, 3], [3, 1]))

    def test_a_tensor_that_only_dlpack_shows_is_an_input(self):
        given = on_gpu(dtype=ml_dtypes.bfloat16)
        seen = []

        class Producer:
            def __dlpack_device__(self):
                return given.__dlpack_device__()

            def __dlpack__(self, *, stream=None, max_version=None):
                seen.append((stream, max_version))
                return given.__dlpack__(stream=stream, max_version=max_version)

        memory = gart._Memory("input 'x'", Producer(), "cuda:1", 4)
        self.assertEqual((memory.device, memory.data, memory.shape, memory.dtype, memory.stream), ("cuda:1", 4096, (2, 3), ml_dtypes.bfloat16, 1))
        self.assertEqual(seen, [(1, (1, 0))])  # complete on the default stream, which the run waits for
        with self.assertRaisesRegex(gart.GartError, "is on device 'cuda:1'"):
            loaded().set_inputs({"x": on_gpu(shape=(3, 4))})

    def test_streams(self):
        waited, real = [], gart._synchronize
        gart._synchronize = lambda stream, device: waited.append((stream, device))
        try:
            for made_on, wanted, expected in ((None, None, []), (7, 7, []), (7, -1, []), (1, None, []), (1, 1, []), (7, None, [(7, "cuda:1")]),
                                              (7, 9, [(7, "cuda:1")]), (1, 9, [(1, "cuda:1")])):
                waited.clear()
                on_gpu(stream=made_on).__dlpack__(stream=wanted)
                self.assertEqual(waited, expected, (made_on, wanted))
            with self.assertRaisesRegex(ValueError, "stream 0"):
                on_gpu().__dlpack__(stream=0)
        finally:
            gart._synchronize = real

    def test_requests_that_cannot_be_met(self):
        for wrong in ({"copy": True}, {"dl_device": (1, 0)}):
            with self.assertRaises(BufferError):
                on_gpu().__dlpack__(**wrong)
        with self.assertRaisesRegex(BufferError, "read-only"):
            on_gpu(read_only=True).__dlpack__()
        capsule = on_gpu(read_only=True).__dlpack__(max_version=(1, 0))
        self.assertEqual(ctypes.c_uint64.from_address(_address(capsule, b"dltensor_versioned") + 24).value, 1)
        with self.assertRaisesRegex(BufferError, "strides"):
            on_gpu(strides=(4, 8)).__dlpack__()


if __name__ == "__main__":
    unittest.main()
