#!/usr/bin/env python3
"""gart.fleet: a model on two pools of this machine, its values, placement, pipeline and times."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
sys.path[:0] = [os.path.join(ROOT, "tools", "python"), os.path.join(ROOT, "tests", "models")]

import numpy as np
import onnx
from onnx import parser

import gart.fleet
from model_check import tool

MODEL = """<ir_version: 8, opset_import: ["": 17]>
model (float[n, 64] x, float[64, 64] w) => (float[n, 64] y) {
  a = MatMul(x, w)
  b = Softmax<axis = 1>(a)
  c = MatMul(b, w)
  y = Tanh(c)
}"""

CUSTOM = """<ir_version: 8, opset_import: ["": 17, "acme": 1]>
model (float[n, 64] x) => (float[n, 64] y) {
  a = Exp(x)
  b = acme.Twice<share = 0.5>(a)
  y = Neg(b)
}"""


class FleetBinding(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="gcc-graph-")
        at = lambda name: os.path.join(cls.folder.name, name)
        cores = sorted(os.sched_getaffinity(0))
        fleet = {"devices": [{"name": "acc:0", "kind": "cpu", "cores": [cores[0]], "denies": ["Softmax"]},
                             {"name": "pool", "kind": "cpu", "cores": [cores[-1]]}]}
        with open(at("fleet.json"), "w") as f:
            json.dump(fleet, f)
        onnx.save(parser.parse_model(MODEL), at("model.onnx"))
        cls.artifact = at("model.gart")
        subprocess.run([tool(), "compile", at("model.onnx"), "-o", cls.artifact, "--fleet", at("fleet.json"), "--keep", "b"], check=True,
                       capture_output=True)
        random = np.random.default_rng(1)
        cls.feeds = {"x": random.standard_normal((5, 64)).astype(np.float32), "w": random.standard_normal((64, 64)).astype(np.float32)}
        cls.whole = gart.load(cls.artifact, device="cpu").run(cls.feeds)["y"]

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_the_bits_of_the_whole_model_wherever_groups_are(self):
        model = gart.fleet.load(self.artifact)
        self.assertEqual((model.inputs, model.outputs), (["x", "w"], ["y"]))
        np.testing.assert_array_equal(model.run(self.feeds)["y"], self.whole)
        everywhere = {group: "pool" for group in model.placement()}
        moved = gart.fleet.load(self.artifact, placement=everywhere)
        self.assertEqual(moved.placement(), everywhere)
        np.testing.assert_array_equal(moved.run(self.feeds)["y"], self.whole)
        self.assertEqual(gart.fleet.load(self.artifact, only=["pool"]).placement(), everywhere)
        on_cpu = gart.fleet.load(self.artifact, devices={"acc:0": "cpu"}, threads=1)
        np.testing.assert_array_equal(on_cpu.run(self.feeds)["y"], self.whole)

    def test_an_output_without_a_copy_keeps_its_request(self):
        request = gart.fleet.load(self.artifact).submit(self.feeds)
        request.wait()
        views = [np.from_dlpack(request.output(0, copy=False)), np.asarray(request.output(0, copy=False))]
        self.assertEqual(views[0].ctypes.data, views[1].ctypes.data)
        del request
        for view in views:
            np.testing.assert_array_equal(view, self.whole)

    def test_models_share_devices(self):
        with self.assertRaisesRegex(gart.GartError, "device 'cpu:0' is given 0 bytes; at least 1 is needed"):
            gart.fleet.Manager({"cpu:0": 0})
        manager = gart.fleet.Manager()
        self.assertEqual(manager.devices(), [])
        models = [gart.fleet.load(self.artifact, dynamic=dynamic, manager=manager) for dynamic in (False, True)]
        for model in models:
            np.testing.assert_array_equal(model.run(self.feeds)["y"], self.whole)
        loads = {load["device"]: load for load in manager.devices()}
        self.assertTrue(loads)
        for device, load in loads.items():
            self.assertRegex(device, r"^cpu:\d+$")
            self.assertIn(load["programs"], (2, 4))  # 4 on a machine with one core, which serves as both devices
            self.assertEqual((load["groups"], load["work_us"], load["value_bytes"], load["memory"]), (0, 0, 0, 0))
        model = gart.fleet.load(self.artifact, manager=gart.fleet.Manager({device: 1 << 30 for device in loads}))
        np.testing.assert_array_equal(model.run(self.feeds)["y"], self.whole)

    def test_operators_of_the_application(self):
        source, artifact = (os.path.join(self.folder.name, "custom" + end) for end in (".onnx", ".gart"))
        onnx.save(parser.parse_model(CUSTOM), source)
        subprocess.run([tool(), "compile", source, "-o", artifact, "--fleet", os.path.join(self.folder.name, "fleet.json"), "--custom-op",
                        "acme::Twice(T[n, c]) -> T[n, c]", "--label", "b=application"], check=True, capture_output=True)
        with self.assertRaisesRegex(gart.GartError, "needs a function for its operator 'acme::Twice'"):
            gart.fleet.load(artifact)

        def twice(inputs, outputs, attributes):
            np.multiply(inputs[0], attributes["share"] * 4, out=outputs[0])
        model = gart.fleet.load(artifact, custom_ops={"acme::Twice": twice})
        self.assertIn("application", model.placement())
        np.testing.assert_allclose(model.run({"x": self.feeds["x"]})["y"], -2 * np.exp(self.feeds["x"]), rtol=1e-5)

        def broken(inputs, outputs, attributes):
            raise ValueError("no such mode")
        with self.assertRaisesRegex(gart.GartError, "its function returned 1"):
            gart.fleet.load(artifact, custom_ops={"acme::Twice": broken}).run({"x": self.feeds["x"]})

    def test_values_by_name(self):
        model = gart.fleet.load(self.artifact)
        self.assertIn("b", model.values)
        b = model.run(self.feeds, fetch=["b"])
        self.assertEqual(list(b), ["b"])
        np.testing.assert_allclose(b["b"].sum(axis=1), np.ones(5), rtol=1e-5)
        with self.assertRaisesRegex(gart.GartError, "no value 'bb'"):
            model.run(self.feeds, fetch=["bb"])

    def test_requests_under_way_at_once(self):
        model = gart.fleet.load(self.artifact, requests=3)
        feeds = [{**self.feeds, "x": self.feeds["x"] * i} for i in range(6)]
        started = [model.submit(f) for f in feeds]
        for request, f in zip(started, feeds):
            np.testing.assert_array_equal(request.result()["y"], gart.fleet.load(self.artifact).run(f)["y"])
            self.assertTrue(request.ready())

    def test_times(self):
        model = gart.fleet.load(self.artifact)
        request = model.new_request()
        request.set_inputs(self.feeds)
        for _ in range(5):
            request.run_bound()
        times = model.times()
        self.assertGreater(times["run_us"], 0)
        self.assertEqual({t["group"]: t["device"] for t in times["groups"]}, model.placement())
        for t in times["groups"]:
            self.assertEqual(t["runs"], 4)
            self.assertGreater(t["operation_us"], 0)
            self.assertGreaterEqual(t["begin_us"], 0)
        model.forget_times()
        self.assertEqual(model.times()["groups"], [])
        silent = gart.fleet.load(self.artifact, monitor=False)
        for _ in range(3):
            silent.run(self.feeds)
        self.assertEqual(silent.times(), {"run_us": 0, "groups": []})

    def test_requests_choose_their_devices(self):
        model = gart.fleet.load(self.artifact, dynamic=True)
        requests = [model.submit(self.feeds) for _ in range(4)]
        for request in requests:
            self.assertEqual(request.result()["y"].tobytes(), self.whole.tobytes())
        absent = gart.fleet.load(self.artifact, dynamic=True, devices={"acc:0": "cuda:7"})  # all groups support the other
        self.assertEqual(set(absent.placement().values()), {"pool"})
        self.assertEqual(absent.run(self.feeds)["y"].tobytes(), self.whole.tobytes())

    def test_refusals(self):
        with self.assertRaisesRegex(gart.GartError, "absent.gart"):
            gart.fleet.load(os.path.join(self.folder.name, "absent.gart"))
        with self.assertRaisesRegex(gart.GartError, "no group 'g'"):
            gart.fleet.load(self.artifact, placement={"g": "pool"})
        with self.assertRaisesRegex(gart.GartError, "'w' is not set"):
            gart.fleet.load(self.artifact).run({"x": self.feeds["x"]})


if __name__ == "__main__":
    unittest.main()
