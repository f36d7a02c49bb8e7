#!/usr/bin/env python3
"""Training steps on a simulated GPU: values that are computed again, replicas, and the check for numbers that are not finite."""
import os
import sys
import unittest

import numpy as np
import onnx
from onnx import numpy_helper, parser

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "cli"))
from cli_case import CliCase

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "..", "tools", "python"))
import gart

LAYERS = 4
MODEL = """<ir_version: 8, opset_import: ["": 20]>
deep (float[64, 16] x) => (float[64, 16] y) {
  h0 = Identity(x)
%s  y = Identity(h%d)
}""" % ("".join(f"  p{i} = MatMul(h{i}, w{i})\n  h{i + 1} = Tanh(p{i})\n" for i in range(LAYERS)), LAYERS)


class Training(CliCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        r = np.random.default_rng(1)
        model = parser.parse_model(MODEL)
        model.graph.initializer.extend(numpy_helper.from_array(r.standard_normal((16, 16)).astype(np.float32), f"w{i}") for i in range(LAYERS))
        onnx.save(model, cls.path("deep.onnx"))
        np.savez(cls.path("d.npz"), x=r.standard_normal((256, 16)).astype(np.float32), t=r.standard_normal((256, 16)).astype(np.float32))

    def compile(self, name, *more):
        return self.accepted("compile", "deep.onnx", "-o", name, "--target", "sm_80", "--train",
                             "loss=mse(y,t),optimizer=momentum(lr=0.1),check=finite,accumulate=2,replicas=on", *more)

    def train(self, name, *more):
        self.accepted("train", name, "--data", "d.npz", "--device", "cuda", "-o", "trained.gart", *more)
        model = gart.load(self.path("trained.gart"), device=None)
        return {n: model.state(n) for n in model.states}

    def test_bits(self):
        self.compile("whole.gart")
        want = self.train("whole.gart")
        said = self.compile("less.gart", "--memory-limit", "28000")
        self.assertIn("'train' computes values again", said)
        for got in (self.train("less.gart"), self.train("whole.gart", "--replicas", "2")):
            for name, value in want.items():
                np.testing.assert_array_equal(got[name], value, name)

    def test_numbers_that_are_not_finite(self):
        self.compile("check.gart")
        model = gart.load(self.path("check.gart"), device="cuda")
        before = {n: model.state(n) for n in model.states}
        x = np.zeros((64, 16), np.float32)
        for bad in (np.nan, np.inf):
            with self.assertRaisesRegex(gart.GartError, "the loss is NaN or infinite; the states keep their values"):
                model.run({"x": x, "t": x + bad}, entry="train")
        for name, value in before.items():
            np.testing.assert_array_equal(model.state(name), value, name)
        model.run({"x": x, "t": x}, entry="train")
        self.assertEqual(int(model.state("accumulated")), 1)

    def test_replicas_exchange_statistics(self):
        """Replicas on a simulated GPU exchange the statistics of their batches, as on the CPU."""
        model = parser.parse_model("""<ir_version: 8, opset_import: ["": 20]>
        net (float[64, 16] x) => (float[64, 16] y) {
          p = MatMul(x, w)
          n = BatchNormalization(p, scale, shift, mean, var)
          y = Tanh(n)
        }""")
        values = {"w": np.random.default_rng(2).standard_normal((16, 16)), "scale": np.ones(16), "shift": np.zeros(16), "mean": np.zeros(16),
                  "var": np.ones(16)}
        model.graph.initializer.extend(numpy_helper.from_array(v.astype(np.float32), n) for n, v in values.items())
        onnx.save(model, self.path("norm.onnx"))
        self.accepted("compile", "norm.onnx", "-o", "norm.gart", "--target", "sm_80,x86-64-v3", "--train",
                      "loss=mse(y,t),optimizer=momentum(lr=0.1),replicas=on,batch_statistics=exchanged")
        states = {}
        for device in ("cpu", "cuda"):
            self.accepted("train", "norm.gart", "--data", "d.npz", "--device", device, "--replicas", "2", "--epochs", "2", "-o", "trained.gart")
            trained = gart.load(self.path("trained.gart"), device=None)
            states[device] = {n: trained.state(n) for n in trained.states}
        for name, value in states["cpu"].items():
            np.testing.assert_allclose(states["cuda"][name], value, rtol=1e-4, atol=1e-5, err_msg=name)
        self.assertFalse(np.array_equal(states["cpu"]["mean"], values["mean"]))

    def test_mixed_precision(self):
        """Steps in f16 agree with those of the CPU; an overflow skips the update, and a resumed run has the bits of a whole one."""
        option = "loss=mse(y,t),optimizer=momentum(lr=0.1),precision=f16"
        self.accepted("compile", "deep.onnx", "-o", "half.gart", "--target", "sm_80,x86-64-v3", "--train", option)
        states = {}
        for device in ("cpu", "cuda"):
            train = ["train", "half.gart", "--data", "d.npz", "--device", device]
            self.accepted(*train, "--epochs", "2", "-o", "whole.gart")
            self.accepted(*train, "--checkpoint", "h" + device)
            self.accepted(*train, "--epochs", "2", "--checkpoint", "h" + device, "--resume", "-o", "resumed.gart")
            self.assertEqual(self.read("resumed.gart"), self.read("whole.gart"), device)
            model = gart.load(self.path("whole.gart"), device=None)
            states[device] = {n: model.state(n) for n in model.states}
        for name, value in states["cpu"].items():
            np.testing.assert_allclose(states["cuda"][name], value, rtol=0.01, atol=0.002, err_msg=name)
        model = gart.load(self.path("half.gart"), device="cuda")
        before = {n: model.state(n) for n in model.states}
        model.run({"x": np.full((64, 16), 1e6, np.float32), "t": np.zeros((64, 16), np.float32)}, entry="train")
        for name, value in before.items():
            if not name.startswith("loss_scale"):
                np.testing.assert_array_equal(model.state(name), value, name)
        self.assertEqual((float(model.state("loss_scale")), int(model.state("loss_scale.skipped"))), (32768, 1))


if __name__ == "__main__":
    unittest.main()
