#!/usr/bin/env python3
"""A table of embeddings that also computes the logits, on a simulated sm_80. The file stores it once, whatever layouts the GPU's kernels use.

  run_sim.sh --sm 80 check_weights.py
"""
import json
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from check_models import Simulation, TOLERANCE, relative_error

import numpy as np
import onnx
from onnx import TensorProto

import gart
import make_model
from tool_case import ToolCase

WORDS, WIDTH, ROWS = 144, 80, 6  # full panels for CPUs
TABLE = 4 * WORDS * WIDTH
LITTLE = 1024  # bytes for scale, shift and alignment


def model():
    m = make_model.Maker("tied")
    ids = m.input("ids", TensorProto.INT64, ["rows"])
    table = m.weight(WORDS, WIDTH, fan_in=WIDTH)
    x = m.op("Add", m.op("Mul", m.op("Gather", table, ids), m.vector(WIDTH, mean=1.0)), m.vector(WIDTH))
    m.output(m.op("MatMul", x, m.op("Transpose", table, perm=[1, 0])), "logits", TensorProto.FLOAT, ["rows", WORDS])
    return m.model(17)


class Tied(ToolCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.simulation = Simulation()
        cls.feeds = {"ids": np.arange(ROWS, dtype=np.int64) * 19 % WORDS}
        onnx.save(model(), cls.path("tied.onnx"))
        cls.on_cpu = gart.load(cls.compiled("x86-64-v3"), threads=1).run(cls.feeds)

    @classmethod
    def compiled(cls, targets, *options):
        done = cls.tool("compile", cls.path("tied.onnx"), "-o", cls.path("tied.gart"), "--target", targets, *options)
        assert done.returncode == 0, done.stderr
        return cls.path("tied.gart")

    def inspected(self, artifact):
        return json.loads(self.tool("inspect", artifact, "--json").stdout)

    def check(self, size, *options, targets="sm_80", precision="fp32"):
        artifact = self.compiled(targets, "--precision", precision, "--dim", f"rows={ROWS}", *options)
        report = self.inspected(artifact)
        self.assertLessEqual(size, report["weight_bytes"])
        self.assertLess(report["weight_bytes"], size + LITTLE)
        on_gpu = gart.load(artifact, target="sm_80")
        for _ in range(2):
            self.assertLess(relative_error(on_gpu.run(self.feeds), self.on_cpu), TOLERANCE[precision])
        del on_gpu
        self.assertEqual(self.simulation.reports(), [])
        self.assertEqual(self.simulation.alive(), "")
        return report["stored_twice"]["bytes"]

    def test_a_gpu_alone_has_it_once(self):
        self.assertEqual(self.check(TABLE), 0)
        self.assertIn("bytes, stored once\n", self.tool("inspect", self.path("tied.gart")).stdout)

    def test_so_it_has_when_rounded(self):
        for precision in ("fp16", "bf16"):
            self.assertEqual(self.check(TABLE // 2, precision=precision), 0)

    def test_forms_for_libraries_are_made_from_it(self):
        self.assertEqual(self.check(TABLE, "--libraries", "auto"), 0)
        self.assertEqual(self.check(TABLE // 2, "--libraries", "auto", precision="fp16"), 0)

    def test_inspect_shows_what_is_made_at_load(self):
        artifact = self.compiled("sm_80,sm_90a,x86-64-v3")
        plans = json.loads(self.tool("inspect", artifact, "--json", "--kernels", "--steps").stdout)["load_time_packing"]["plans"]
        self.assertEqual([(p["target"], p["shapes"]) for p in plans], [("sm_80", "load-time packing"), ("sm_90a", "load-time packing")])
        for plan in plans:
            self.assertLessEqual(TABLE, plan["packed_bytes"])
            self.assertEqual((len(plan["kernel_list"]), sum(map(len, plan["sequences"]))), (plan["kernels"], plan["steps"]))
            self.assertGreater(plan["kernels"], 0)
        text = self.tool("inspect", artifact).stdout
        self.assertRegex(text, r"\nload-time packing, on the GPU\n  plan sm_80 \[load-time packing\]: .*, makes [1-9]\d+ bytes of weights, ")
        self.assertNotIn("load-time packing", self.tool("inspect", self.compiled("x86-64-v3")).stdout)

    def test_a_cpu_beside_it_has_its_own_two(self):
        """A CPU's kernels read weights directly from the mapped file, so the file holds both the table and the packed
        table."""
        for precision, table in ("fp32", TABLE), ("fp16", TABLE // 2):
            twice = self.check(2 * table, targets="sm_80,x86-64-v3", precision=precision)
            self.assertLessEqual(table, twice)
            self.assertLess(twice, table + LITTLE)

    def test_every_shape_set_has_the_same(self):
        artifact = self.compiled("sm_80", "--precision", "fp16", "--dim", "rows=2,6")
        self.assertLess(self.inspected(artifact)["weight_bytes"], TABLE // 2 + LITTLE)


if __name__ == "__main__":
    unittest.main()
