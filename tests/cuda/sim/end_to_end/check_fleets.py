#!/usr/bin/env python3
"""Several simulated GPUs and a CPU pool run parts of one model. Values go directly from GPU to GPU, in every order that
the driver may choose. A value that no host part reads is never copied to the host.

  GART_SIM_DEVICES=2 run_sim.sh --sm 80 check_fleets.py
"""
import json
import re
import unittest

import check_models  # noqa: F401; sets the paths
import numpy as np
import onnx
from onnx import parser
from tool_case import ToolCase

MODEL = """<ir_version: 8, opset_import: ["" : 17]> m (float[rows, 8] x) => (float[rows, 8] y) {
  s = Constant<value_ints = [8, 8]>()
  w = ConstantOfShape<value = float[1] {0.25}>(s)
  [a] a = MatMul(x, w)
  [b] b = Tanh(a)
  [c] c = MatMul(b, w)
  [d] d = Add(c, a)
  [e] e = Softmax<axis = 1>(d)
  [f] f = Mul(e, b)
  [y] y = Relu(f)
}"""
FLEET = {"devices": [{"name": "cuda:0", "kind": "cuda", "ordinal": 0, "target": "sm_80"},
                     {"name": "cuda:1", "kind": "cuda", "ordinal": 1, "target": "sm_80"},
                     {"name": "cpu", "kind": "cpu", "target": "x86-64-v3"}]}
ORDERS = ["first_in", "last_in", *(f"random:{seed}" for seed in range(4)), "delay:1", "mixed"]


class Fleets(ToolCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        onnx.save(parser.parse_model(MODEL), cls.path("m.onnx"))
        with open(cls.path("fleet.json"), "w") as f:
            json.dump(FLEET, f)
        cls.feeds = {"x": np.random.default_rng(0).standard_normal((5, 8)).astype(np.float32)}
        np.savez(cls.path("in.npz"), **cls.feeds)

    def place(self, **devices):
        """Compiles with each node on the given device; returns the groups' devices."""
        assignments = [o for node, device in devices.items() for o in ("--assign", f"{node}={device}")]
        done = self.tool("compile", self.path("m.onnx"), "-o", self.path("m.gart"), "--fleet", self.path("fleet.json"), *assignments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return [g["device"] for g in json.loads(self.tool("inspect", self.path("m.gart"), "--json").stdout)["groups"]]

    def run_model(self, *options, **environment):
        """Runs the model. Returns the tool's output, and the driver's counts."""
        done = self.tool("run", self.path("m.gart"), "--inputs", self.path("in.npz"), "--outputs", self.path("out.npz"), *options,
                         GART_SIM_STATS="1", GART_SIM_LEAKS="1", **environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        counts = {name: int(n) for name, n in re.findall(r"^gart-sim: (\w+) (\d+)$", done.stderr, re.M)}
        self.assertEqual([l for l in done.stderr.splitlines() if not re.match(r"gart-sim: \w+ \d+$", l)], [])
        with np.load(self.path("out.npz")) as found:
            return found["y"], counts

    def expect_whole(self, y):
        whole, _ = self.run_model("--target", "x86-64-v3")
        np.testing.assert_allclose(y, whole, rtol=1e-5, atol=1e-6)

    def test_gpus_copy_from_each_other(self):
        devices = self.place(a="cuda:0", b="cuda:0", c="cuda:1", d="cuda:1", e="cuda:1", f="cuda:0", y="cuda:0")
        self.assertEqual(devices, ["cuda:0", "cuda:1", "cuda:0"])
        for order in ORDERS:
            y, counts = self.run_model(GART_SIM_ORDER=order)
            self.expect_whole(y)
            self.assertEqual(counts.get("direct_peer_copies"), 3, "a and b there, e back")
            self.assertNotIn("staged_peer_copies", counts)
        _, counts = self.run_model(GART_SIM_PEERS="0")
        self.assertEqual(counts.get("staged_peer_copies"), 3, "the driver finds a way where there is none between the two")

    def test_what_the_host_reads_comes_there(self):
        devices = self.place(a="cuda:0", b="cuda:0", c="cuda:1", d="cuda:1", e="cpu", f="cuda:0", y="cuda:0")
        self.assertEqual(devices, ["cuda:0", "cuda:1", "cpu", "cuda:0"])
        for order in ORDERS:
            y, counts = self.run_model(GART_SIM_ORDER=order)
            self.expect_whole(y)
            self.assertEqual(counts.get("direct_peer_copies"), 2, "a and b; d and e go by way of the host")

    def test_what_fails_is_told(self):
        self.place(a="cuda:0", b="cuda:0", c="cuda:1", d="cuda:1", e="cuda:1", f="cuda:0", y="cuda:0")
        done = self.tool("run", self.path("m.gart"), "--inputs", self.path("in.npz"), GART_SIM_FAIL="cuMemcpyPeerAsync:1:700")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"device 'cuda:1', group '[^']+': the device is lost: cuMemcpyPeerAsync failed on cuda:1")

    def test_a_gpu_of_any_name_is_its_ordinal(self):
        fleet = {"devices": [{**FLEET["devices"][0], "name": name, "ordinal": ordinal} for name, ordinal in (("one", 1), ("two", 0))]}
        with open(self.path("named.json"), "w") as f:
            json.dump(fleet, f)
        assignments = ("--assign", "*=one", "--assign", "y=two")
        done = self.tool("compile", self.path("m.onnx"), "-o", self.path("named.gart"), "--fleet", self.path("named.json"), *assignments)
        self.assertEqual(done.returncode, 0, done.stderr)
        done = self.tool("bench", self.path("named.gart"), "--random", "1", "--seconds", "0.01", "--fleet", self.path("named.json"), "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout)["devices"], {"one": "cuda:1, sm_80", "two": "cuda:0, sm_80"})

    def test_many_requests(self):
        self.place(a="cuda:0", b="cuda:0", c="cuda:1", d="cuda:1", e="cuda:1", f="cuda:0", y="cuda:0")
        done = self.tool("bench", self.path("m.gart"), "--random", "1", "--seconds", "0.05", "--json", GART_SIM_ORDER="mixed")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreater(json.loads(done.stdout)["pipelined"]["runs_per_s"], 0)


if __name__ == "__main__":
    unittest.main()
