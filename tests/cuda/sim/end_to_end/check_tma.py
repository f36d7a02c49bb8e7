#!/usr/bin/env python3
"""Whole models whose products TMA feeds, on a simulated sm_90a.

  run_sim.sh --sm 90 check_tma.py

The simulation can run only small products, for which the cost model chooses other tiles. So a tuning file chooses the
tiles; the tuning runs every candidate once. Then the model's launches have tensor maps, in straight-line code and in a
loop that the device or the host (blocking) controls. Results must equal the CPU's, and a warm run must encode no map.
"""
import json
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from check_models import Simulation, TOLERANCE, relative_error

import numpy as np
import onnx
from onnx import TensorProto, helper

import gart
import make_model
from tool_case import ToolCase

F32, I64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
ROWS = 20


def model():
    m = make_model.Maker("fed")
    x = m.input("x", F32, ["rows", 72])
    hidden = m.op("Relu", m.linear(x, 72, 136))
    hidden = m.op("Relu", m.linear(hidden, 136, 152))
    start = m.linear(hidden, 152, 72)
    wide, back = m.weight(72, 136, fan_in=72), m.weight(136, 72, fan_in=136)
    def value(name, dtype, shape):
        return helper.make_tensor_value_info(name, dtype, shape)
    body = helper.make_graph(
        [helper.make_node("Identity", ["c"], ["c_out"], name="again"),
         helper.make_node("MatMul", ["v", wide], ["wide"], name="widen"),
         helper.make_node("Relu", ["wide"], ["relu"], name="relu"),
         helper.make_node("MatMul", ["relu", back], ["narrow"], name="narrow"),
         helper.make_node("Tanh", ["narrow"], ["v_out"], name="tanh")],
        "step", [value("i", I64, []), value("c", BOOL, []), value("v", F32, ["rows", 72])],
        [value("c_out", BOOL, []), value("v_out", F32, ["rows", 72])])
    turns = m.op("Loop", m.constant(np.int64(3)), m.constant(np.array(True)), start, body=body)
    m.output(start, "y", F32, ["rows", 72])
    m.output(turns, "z", F32, ["rows", 72])
    return m.model(17)


class Fed(ToolCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.simulation = Simulation()
        cls.model, cls.tuning = cls.path("model.onnx"), cls.path("tuning.json")
        onnx.save(model(), cls.model)
        options = ["--precision", "fp16", "--dim", f"rows={ROWS}"]
        done = cls.tool("tune", cls.model, "-o", cls.tuning, "--target", "sm_90a", "--seconds", "0.001", "--launches", "1", *options)
        assert done.returncode == 0, done.stderr
        with open(cls.tuning, encoding="utf-8") as f:
            cls.measured = json.load(f)
        for entry in cls.measured["measured"]:
            entry["choice"] = next((c for c in sorted(entry["microseconds"]) if "TMA" in c), entry["choice"])
        with open(cls.tuning, "w", encoding="utf-8") as f:
            json.dump(cls.measured, f)
        cls.artifact = cls.path("model.gart")
        done = cls.tool("compile", cls.model, "-o", cls.artifact, "--target", "sm_90a,x86-64-v3", "--tuning", cls.tuning, *options)
        assert done.returncode == 0, done.stderr

    def test_candidates_of_both_kinds_were_measured(self):
        fed = [e for e in self.measured["measured"] if "TMA" in e["choice"]]
        self.assertGreaterEqual(len(fed), 3, self.measured)
        for entry in fed:
            self.assertTrue(any("TMA" not in c for c in entry["microseconds"]))

    def test_inspect_tells(self):
        self.assertRegex(self.tool("inspect", self.artifact, "--kernels").stdout, "wgmma, TMA, .*tuned")

    def test_results_are_the_cpus_and_warm_runs_encode_nothing(self):
        on_cpu = gart.load(self.artifact, threads=1, target="x86-64-v3")
        on_gpu = gart.load(self.artifact, target="sm_90a")
        random = np.random.Generator(np.random.PCG64(3))
        for _ in range(2):
            feeds = {"x": random.standard_normal((ROWS, 72)).astype(np.float32)}
            self.simulation.forget_counts()
            got = on_gpu.run(feeds)
            self.assertLess(relative_error(got, on_cpu.run(feeds)), TOLERANCE["fp16"])
        self.assertEqual(self.simulation.count("cuTensorMapEncodeTiled"), 0)
        self.assertEqual(self.simulation.count("graph_launches"), 1)
        self.assertEqual(self.simulation.count("allocations"), 0)
        del on_gpu
        self.assertEqual(self.simulation.reports(), [])
        self.assertEqual(self.simulation.alive(), "")

    def test_the_host_may_decide(self):
        for options in ([], ["--blocking"]):
            done = self.tool("run", self.artifact, "--device", "cuda", "--target", "sm_90a", "--random", "1", *options)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertNotIn("gart-sim:", done.stderr)


if __name__ == "__main__":
    unittest.main()
