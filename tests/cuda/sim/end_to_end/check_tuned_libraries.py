#!/usr/bin/env python3
"""Tunes the calls of the simulated cuBLASLt and cuDNN, and compiles with the measurements.

  run_sim.sh --libraries --sm 80 check_tuned_libraries.py
"""
import json
import os
import re
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from check_models import TOLERANCE, Simulation, relative_error

import numpy as np
import onnx
from onnx import TensorProto

import gart
import make_model
from tool_case import ToolCase

CALLS = {"cublasLt matmul", "cudnn convolution", "cudnn attention"}


def model():
    m = make_model.Maker("calls")
    x = m.input("x", TensorProto.FLOAT, ["rows", 64])
    m.output(m.op("Relu", m.op("MatMul", x, m.weight(64, 48))), "y", TensorProto.FLOAT, ["rows", 48])
    image = m.input("image", TensorProto.FLOAT, [1, 8, 6, 6])
    first = m.op("Relu", m.op("Conv", image, m.weight(8, 8, 3, 3), pads=[1, 1, 1, 1]))
    second = m.op("Relu", m.op("Conv", first, m.weight(8, 8, 3, 3), m.vector(8), pads=[1, 1, 1, 1]))
    m.output(m.op("Conv", second, m.weight(8, 8, 1, 1)), "z", TensorProto.FLOAT, [1, 8, 6, 6])
    rows = m.input("tokens", TensorProto.FLOAT, [1, 20, 32])
    q, k, v = (m.op("Transpose", m.op("Reshape", m.op("MatMul", rows, m.weight(32, 32)), m.constant([1, 20, 2, 16])), perm=[0, 2, 1, 3])
               for _ in range(3))
    scores = m.op("MatMul", q, m.op("Transpose", k, perm=[0, 1, 3, 2]))
    attended = m.op("MatMul", m.op("Softmax", scores, axis=-1), v)
    joined = m.op("Reshape", m.op("Transpose", attended, perm=[0, 2, 1, 3]), m.constant([1, 20, 32]))
    m.output(m.op("MatMul", joined, m.weight(32, 32)), "attended", TensorProto.FLOAT, [1, 20, 32])
    return m.model(17)


class TunedLibraries(ToolCase):
    OPTIONS = ["--precision", "fp16", "--dim", "rows=20", "--libraries", "cublasLt,cudnn"]

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.simulation = Simulation()
        cls.model = cls.path("model.onnx")
        onnx.save(model(), cls.model)
        cls.tuned = cls.tune("tuning.json")
        assert cls.tuned.returncode == 0, cls.tuned.stderr
        with open(cls.path("tuning.json"), encoding="utf-8") as f:
            cls.tuning = json.load(f)
        cls.calls = [e for e in cls.tuning["measured"] if e["kernel"] in CALLS]

    @classmethod
    def tune(cls, name, options=None, **environment):
        return cls.tool("tune", cls.model, "-o", cls.path(name), "--seconds", "0.001", "--launches", "2",
                        *(options or cls.OPTIONS), **environment)

    def compile(self, name, choose):
        """Compiles with the choice that `choose` makes for each call's entry."""
        entries = [dict(e, choice=choose(e)) if e["kernel"] in CALLS else e for e in self.tuning["measured"]]
        with open(self.path(name + ".json"), "w", encoding="utf-8") as f:
            json.dump(dict(self.tuning, measured=entries), f)
        done = self.tool("compile", self.model, "-o", self.path(name), "--target", "sm_80,x86-64-v3", "--tuning", self.path(name + ".json"),
                         *self.OPTIONS)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def run_on_gpu(self, name):
        """Compares the results with the CPU's. The simulation's counts cover this run and the load before it."""
        random = np.random.Generator(np.random.PCG64(3))
        shapes = {"x": (20, 64), "image": (1, 8, 6, 6), "tokens": (1, 20, 32)}
        feeds = {key: random.standard_normal(shape).astype(np.float32) for key, shape in shapes.items()}
        want = gart.load(self.path(name), threads=1, target="x86-64-v3").run(feeds)
        self.simulation.forget_counts()
        program = gart.load(self.path(name), target="sm_80")
        self.assertLess(relative_error(program.run(feeds), want), TOLERANCE["fp16"])
        del program
        self.assertEqual(self.simulation.reports(), [])
        self.assertEqual(self.simulation.alive(), "")

    def test_every_kind_of_call_is_measured(self):
        self.assertEqual({e["kernel"] for e in self.calls}, CALLS)
        for entry in self.calls:
            self.assertGreater(len(entry["microseconds"]), 1, entry)
            self.assertTrue(all(re.fullmatch("[0-9]+:( [0-9a-f]+)+", c) for c in entry["microseconds"]), entry)
            self.assertTrue(all(time > 0 for time in entry["microseconds"].values()))
            self.assertIn(entry["choice"], entry["microseconds"])
        again = self.tune("tuning.json").stdout
        self.assertIn(f": 0 shapes measured for sm_80, {len(self.tuning['measured'])} known before", again)

    def test_the_file_decides(self):
        printed = self.compile("other.gart", lambda e: sorted(set(e["microseconds"]) - {e["expected"]})[0])
        self.assertIn(f"{len(self.tuning['measured'])} choices taken", printed)
        report = json.loads(self.tool("inspect", self.path("other.gart"), "--json", "--kernels").stdout)
        calls = [c for e in report["entry_points"] for p in e["plans"] for c in p.get("call_list", [])]
        self.assertEqual({(c["library"], c["measured_for"]) for c in calls},
                         {("cublasLt", "sm_80 and version 13.1.0"), ("cudnn", "sm_80 and version 9.19.0")})
        self.assertIn("tuned for sm_80 and version 9.19.0", self.tool("inspect", self.path("other.gart"), "--kernels").stdout)
        self.run_on_gpu("other.gart")
        self.assertGreater(self.simulation.count("cublasLtMatmulAlgoCheck"), 0)
        self.assertEqual(self.simulation.count("cublasLtMatmulAlgoGetHeuristic"), 0)
        self.assertEqual(self.simulation.count("variant 0 of cublasLtMatmul"), 0)

    def test_what_no_library_said_is_left_out(self):
        printed = self.compile("stale.gart", lambda e: "64x64 by hand")
        self.assertIn(f"{len(self.calls)} ignored because this compiler does not have them", printed)
        self.run_on_gpu("stale.gart")
        self.assertEqual(self.simulation.count("cublasLtMatmulAlgoCheck"), 0)

    def test_the_same_file_gives_the_same_bytes(self):
        artifacts = []
        for name in ("one.gart", "two.gart"):
            self.compile(name, lambda e: e["choice"])
            with open(self.path(name), "rb") as f:
                artifacts.append(f.read())
        self.assertEqual(*artifacts)

    def test_a_library_that_is_too_old_is_named(self):
        done = self.tune("old.json", GART_SIM_CUBLASLT="110803")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("calls of cublasLt were not measured: the installed version is 11.8.3", done.stdout)


if __name__ == "__main__":
    unittest.main()
