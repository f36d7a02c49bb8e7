#!/usr/bin/env python3
"""Tunes a small model on the simulated GPU and compiles it with the measurements.

  run_sim.sh --sm 80 check_tuning.py

The simulation's clock counts operations, so no candidate is really faster. The test checks that every candidate runs,
that the file is right, and that compile follows the file, whatever its choices are.
"""
import json
import os
import sys
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", ".."))
sys.path[:0] = [os.path.join(ROOT, "tests", "models"), os.path.join(ROOT, "tools", "models")]

import onnx
from onnx import TensorProto

import make_model
from tool_case import ToolCase

MOST_CANDIDATES = 16
KERNELS = ("matmul", "matmul_vector", "conv", "attention")


def model():
    m = make_model.Maker("products")
    x = m.input("x", TensorProto.FLOAT, [20, 64])
    image = m.input("image", TensorProto.FLOAT, ["batch", 4, 6, 6])
    m.output(m.op("Relu", m.op("MatMul", x, m.weight(64, 48))), "y", TensorProto.FLOAT, [20, 48])
    v = m.input("v", TensorProto.FLOAT, [1, 256])
    m.output(m.op("MatMul", v, m.weight(256, 40)), "w", TensorProto.FLOAT, [1, 40])
    q, k = (m.input(name, TensorProto.FLOAT, [1, 2, 20, 16]) for name in ("q", "k"))
    p = m.op("Softmax", m.op("MatMul", q, m.op("Transpose", k, perm=[0, 1, 3, 2])), axis=-1)
    m.output(m.op("MatMul", p, k), "attended", TensorProto.FLOAT, [1, 2, 20, 16])
    m.output(m.op("Conv", image, m.weight(8, 4, 3, 3), pads=[1, 1, 1, 1]), "z", TensorProto.FLOAT, ["batch", 8, 6, 6])
    return m.model(17)


class Tuning(ToolCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.model = cls.path("model.onnx")
        onnx.save(model(), cls.model)
        cls.tune("--dim", "batch=1")
        with open(cls.path("tuning.json"), encoding="utf-8") as f:
            cls.tuning = json.load(f)

    @classmethod
    def tune(cls, *options, **environment):
        return cls.tool("tune", cls.model, "-o", cls.path("tuning.json"), "--seconds", "0.001", "--launches", "2", *options,
                        **environment)

    def compile(self, tuning, name):
        """(output of compile, the kernels as inspect lists them)"""
        with open(self.path(name + ".json"), "w", encoding="utf-8") as f:
            json.dump(tuning, f)
        done = self.tool("compile", self.model, "-o", self.path(name), "--target", "sm_80", "--dim", "batch=1", "--tuning",
                         self.path(name + ".json"))
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout, self.tool("inspect", self.path(name), "--kernels").stdout

    def with_choice(self, choose):
        entries = [dict(entry, choice=choose(entry)) for entry in self.tuning["measured"]]
        return dict(self.tuning, measured=entries)

    def test_every_candidate_is_measured(self):
        self.assertEqual({(e["target"], e["precision"], e["kernel"]) for e in self.tuning["measured"]},
                         {("sm_80", "fp32", kernel) for kernel in KERNELS})
        for entry in self.tuning["measured"]:
            self.assertGreater(len(entry["microseconds"]), 4)
            self.assertLessEqual(len(entry["microseconds"]), MOST_CANDIDATES)
            self.assertIn(entry["choice"], entry["microseconds"])
            self.assertTrue(all(time > 0 for time in entry["microseconds"].values()))
            self.assertIn("sm_80", entry["device"])

    def test_what_is_known_is_not_measured_again(self):
        self.assertIn(": 0 shapes measured for sm_80, 4 known before", self.tune("--dim", "batch=1").stdout)
        self.assertIn("1 kernels have open extents", self.tune().stdout)

    def test_compile_takes_the_choice_that_the_file_names(self):
        tuning = self.with_choice(lambda entry: sorted(set(entry["microseconds"]) - {entry["expected"]})[0])
        printed, kernels = self.compile(tuning, "other.gart")
        self.assertIn("4 choices taken", printed)
        for entry in tuning["measured"]:
            self.assertRegex(kernels, f"{entry['choice']}, .*tuned")

    def test_the_same_file_gives_the_same_bytes(self):
        artifacts = []
        for name in ("one.gart", "two.gart"):
            self.compile(self.tuning, name)
            with open(self.path(name), "rb") as f:
                artifacts.append(f.read())
        self.assertEqual(*artifacts)

    def test_a_choice_of_another_compiler_is_left_out(self):
        printed, kernels = self.compile(self.with_choice(lambda entry: "7x7x7 by hand"), "stale.gart")
        self.assertIn("0 choices taken, 4 ignored because this compiler does not have them", printed)
        self.assertNotIn("tuned", kernels)

    def test_a_damaged_file_is_refused(self):
        damaged = self.with_choice(lambda entry: 3)
        with open(self.path("damaged.json"), "w", encoding="utf-8") as f:
            json.dump(damaged, f)
        done = self.tool("compile", self.model, "-o", self.path("d.gart"), "--target", "sm_80", "--tuning", self.path("damaged.json"))
        self.assertEqual(done.returncode, 1)
        self.assertIn("entry 1: there is no string 'choice'", done.stderr)

    def test_there_must_be_a_gpu_that_runs_the_code(self):
        done = self.tune(GART_SIM_DEVICES="0")
        self.assertEqual(done.returncode, 1)
        self.assertIn("tuning measures on a GPU, and there is none here", done.stderr)
        done = self.tune("--again", "--target", "sm_90a", "--dim", "batch=1")
        self.assertEqual(done.returncode, 1)
        self.assertIn("the GPU is an sm_80", done.stderr)


if __name__ == "__main__":
    unittest.main()
