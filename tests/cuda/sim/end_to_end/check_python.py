#!/usr/bin/env python3
"""tools/python/gart on a simulated GPU: devices by name, arrays in the GPU's memory, runs on streams.

  GART_SIM_DEVICES=2 run_sim.sh --sm 80 check_python.py
"""
import ctypes
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from check_models import Simulation

import ml_dtypes
import numpy as np
import onnx
from onnx import parser

import gart
from tool_case import ToolCase

HEADER = '<ir_version: 8, opset_import: ["": 17]>\n'
MODEL = HEADER + """model (float[n, 8] x, int64[n] k) => (float[n, 8] y, int64[n] m) {
  a = Exp(x)
  y = Softmax<axis = 1>(a)
  m = Add(k, k)
}"""


class Driver:
    """The driver API calls that a framework would make. Its context is current."""

    def __init__(self):
        self._library = ctypes.CDLL("libcuda.so.1")
        context = ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
        self.call("cuCtxSetCurrent", context)

    def call(self, name, *arguments):
        status = getattr(self._library, name)(*arguments)
        assert status == 0, f"{name}: {status}"

    def allocate(self, size):
        address = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(size))
        return address.value

    def copy(self, name, to, source, size):
        self.call(name, to, source, ctypes.c_size_t(size), None)
        self.call("cuStreamSynchronize", None)

    def stream(self):
        handle = ctypes.c_void_p()
        self.call("cuStreamCreate", ctypes.byref(handle), 0)
        return handle.value


class OnGpu:
    """An array in the GPU's memory, as a framework would make it."""

    def __init__(self, driver, array, **differing):
        self._driver, self.address = driver, driver.allocate(array.nbytes)
        driver.copy("cuMemcpyHtoDAsync_v2", ctypes.c_uint64(self.address), ctypes.c_void_p(array.ctypes.data), array.nbytes)
        self.__cuda_array_interface__ = dict({"version": 3, "shape": array.shape, "typestr": array.dtype.str, "strides": None,
                                              "data": (self.address, False), "stream": None}, **differing)

    def __del__(self):
        self._driver.call("cuMemFree_v2", ctypes.c_uint64(self.address))

    def read(self):
        return read(self._driver, self)


def read(driver, array):
    """The contents of an array with `__cuda_array_interface__`."""
    interface = array.__cuda_array_interface__
    out = np.empty(interface["shape"], interface["typestr"])
    driver.copy("cuMemcpyDtoHAsync_v2", ctypes.c_void_p(out.ctypes.data), ctypes.c_uint64(interface["data"][0]), out.nbytes)
    return out


class Python(ToolCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.driver, cls.simulation = Driver(), Simulation()
        cls.artifact = cls.path("model.gart")
        onnx.save(parser.parse_model(MODEL), cls.path("model.onnx"))
        done = cls.tool("compile", cls.path("model.onnx"), "-o", cls.artifact, "--target", "sm_80,x86-64-v3")
        assert done.returncode == 0, done.stderr
        random = np.random.Generator(np.random.PCG64(5))
        cls.feeds = {"x": random.standard_normal((6, 8)).astype(np.float32), "k": np.arange(6)}
        cls.want = gart.load(cls.artifact, device="cpu").run(cls.feeds)

    def setUp(self):
        self.model = gart.load(self.artifact, device="cuda:0", threads=1)
        self.on_gpu = {name: OnGpu(self.driver, array) for name, array in self.feeds.items()}

    def tearDown(self):
        del self.model, self.on_gpu
        self.assertEqual(self.simulation.reports(), [])

    def expect(self, name, got):
        np.testing.assert_allclose(got, self.want[name], rtol=1e-5)
        self.assertEqual((got.dtype, got.shape), (self.want[name].dtype, self.want[name].shape))

    def test_devices_are_chosen_by_name(self):
        for asked, device, target in ((None, "cuda:0", "sm_80"), ("cuda", "cuda:0", "sm_80"), ("cuda:1", "cuda:1", "sm_80"),
                                      ("cpu", "cpu", "x86-64-v3")):
            model = gart.load(self.artifact, asked)
            self.assertEqual((model.device, model.target), (device, target))
            self.expect("y", model.run(self.feeds)["y"])
        for asked, words in (("cuda:2", "there is no device 'cuda:2'"), ("tpu", "no device 'tpu'")):
            with self.assertRaisesRegex(gart.GartError, words):
                gart.load(self.artifact, device=asked)

    def test_inputs_and_outputs_stay_on_the_gpu(self):
        given = OnGpu(self.driver, np.zeros(6, np.int64))
        self.model.set_inputs(self.on_gpu)
        self.model.set_output("y", "cuda:0")
        self.model.set_output("m", given)
        self.model.run_bound()
        self.simulation.forget_counts()
        self.model.run_bound()
        self.assertEqual(self.simulation.count("memcpys"), 0)
        y, m = self.model.output("y"), self.model.output(1)
        self.assertIsInstance(y, gart.DeviceArray)
        self.assertEqual((y.device, y.shape, y.dtype), ("cuda:0", (6, 8), np.dtype(np.float32)))
        self.assertEqual(m.__cuda_array_interface__["data"][0], given.address)
        self.expect("y", read(self.driver, y))
        self.expect("m", given.read())
        with self.assertRaisesRegex(gart.GartError, "in the memory of cuda:0"):
            np.asarray(y)
        self.model.set_output("y", None)
        self.model.run_bound()
        self.expect("y", self.model.output("y"))

    def test_outputs_feed_another_model(self):
        self.model.set_output("y", self.model.device)
        self.model.set_inputs(self.feeds)
        stream = self.driver.stream()
        self.model.run_async(stream)
        after, other = self.model.new_invocation(), OnGpu(self.driver, self.feeds["k"])
        after.set_inputs({"x": self.model.output("y"), "k": other})
        after.run_bound()  # runs on a stream of its own, which waits for the stream that the array interface names
        want = gart.load(self.artifact, device="cpu").run({"x": self.want["y"], "k": self.feeds["k"]})
        np.testing.assert_allclose(after.output("y"), want["y"], rtol=1e-5)
        self.model.wait()
        self.driver.call("cuStreamDestroy_v2", ctypes.c_void_p(stream))

    def test_invocations_in_flight_on_streams(self):
        invocations = [self.model, self.model.new_invocation(), self.model.new_invocation()]
        streams = [self.driver.stream(), self.driver.stream(), 0]
        for invocation, stream in zip(invocations, streams):
            invocation.set_inputs(self.on_gpu)
            invocation.set_output("y", "cuda:0")
            invocation.run_async(stream)
            self.assertEqual(invocation.output("y").__cuda_array_interface__["stream"], stream or 1)
        for invocation in invocations:
            self.expect("m", invocation.output("m"))  # on the host: waits
            invocation.wait()
            self.assertIsNone(invocation.output("y").__cuda_array_interface__["stream"])
            self.expect("y", read(self.driver, invocation.output("y")))
        for stream in streams[:2]:
            self.driver.call("cuStreamDestroy_v2", ctypes.c_void_p(stream))

    def test_what_the_default_stream_still_writes_is_waited_for(self):
        """Version 2 of the interface does not name a stream, so each run waits, not only the first one after
        set_inputs."""
        x = OnGpu(self.driver, np.zeros((6, 8), np.float32), version=2)
        del x.__cuda_array_interface__["stream"]
        self.model.set_inputs({"x": x, "k": self.on_gpu["k"]})
        for value in (1.0, -2.0):
            bits = int(np.float32(value).view(np.uint32))
            self.driver.call("cuMemsetD32Async", ctypes.c_uint64(x.address), ctypes.c_uint(bits), ctypes.c_size_t(48), None)
            self.model.run_bound()
            feeds = {"x": np.full((6, 8), value, np.float32), "k": self.feeds["k"]}
            want = gart.load(self.artifact, device="cpu").run(feeds)
            np.testing.assert_allclose(self.model.output("y"), want["y"], rtol=1e-5)

    def test_an_output_of_the_host_is_written_in_place(self):
        y = np.zeros((6, 8), np.float32)
        self.model.set_output("y", y)
        self.model.run(self.feeds)
        self.expect("y", y)
        for place in (np.zeros((8, 6), np.float32).T, [0.0] * 48, np.broadcast_to(np.float32(0), (6, 8))):
            with self.assertRaisesRegex(gart.GartError, "output 'y' needs a writable, dense row-major array"):
                self.model.set_output("y", place)
        self.model.set_output("y", np.zeros((5, 8), np.float32))
        with self.assertRaisesRegex(gart.GartError, "output 'y' needs 192 bytes, but its buffer has 160"):
            self.model.run_bound()

    def test_what_cannot_be_read_is_refused(self):
        x = self.feeds["x"]
        for differing in ({"strides": (4, 24)}, {"mask": x}):
            with self.assertRaisesRegex(gart.GartError, "input 'x' must be a dense row-major array"):
                self.model.set_inputs({"x": OnGpu(self.driver, x, **differing)})
        with self.assertRaisesRegex(gart.GartError, "must be f32, but is f64"):
            self.model.set_inputs({"x": OnGpu(self.driver, x.astype(np.float64))})
        with self.assertRaisesRegex(gart.GartError, "is on device 'cuda', but this program runs on 'cpu'"):
            gart.load(self.artifact, device="cpu").set_inputs(self.on_gpu)
        with self.assertRaisesRegex(gart.GartError, "run_async needs a program on a CUDA device"):
            on_cpu = gart.load(self.artifact, device="cpu")
            on_cpu.set_inputs(self.feeds)
            on_cpu.run_async()
        with self.assertRaisesRegex(gart.GartError, "no output 'z', only 'y', 'm'"):
            self.model.output("z")
        read_only = OnGpu(self.driver, self.feeds["k"])
        read_only.__cuda_array_interface__["data"] = (read_only.address, True)
        with self.assertRaisesRegex(gart.GartError, "output 'm' needs a writable"):
            self.model.set_output("m", read_only)

    def test_types_that_the_interface_has_no_name_for(self):
        half = np.dtype(ml_dtypes.bfloat16)
        onnx.save(parser.parse_model(HEADER + "model (bfloat16[4] x) => (bfloat16[4] y) { y = Add(x, x) }"), self.path("half.onnx"))
        done = self.tool("compile", self.path("half.onnx"), "-o", self.path("half.gart"), "--target", "sm_80,x86-64-v3")
        self.assertEqual(done.returncode, 0, done.stderr)
        model = gart.load(self.path("half.gart"), "cuda:0")
        model.set_output("y", "cuda:0")
        model.set_inputs({"x": OnGpu(self.driver, np.array([1, 2, -3, 0.5], half), typestr="<V2")})
        model.run_bound()
        doubled = model.output("y")
        self.assertEqual(doubled.dtype, half)
        again = model.new_invocation().run({"x": doubled})["y"]
        self.assertEqual(again.tolist(), [4, 8, -12, 2])

    def test_the_gpu_of_an_array_is_asked_for(self):
        array = OnGpu(self.driver, self.feeds["x"])
        array.__dlpack_device__ = lambda: (2, 1)
        with self.assertRaisesRegex(gart.GartError, "is on device 'cuda:1', but this program runs on 'cuda:0'"):
            self.model.set_inputs({"x": array})


if __name__ == "__main__":
    unittest.main()
