#!/usr/bin/env python3
"""compile --train: steps compared with numpy, gradients of a compiled recurrent network compared with differences of its loss, and
refusals."""
import os
import sys
import unittest

import numpy as np
import onnx
from onnx import helper, numpy_helper, parser

from cli_case import CliCase

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools", "python"))
import gart

HEADER = '<ir_version: 8, opset_import: ["": 20]>\n'
LINEAR = HEADER + """linear (float[batch, 3] x) => (float[batch, 1] y) {
  two = Constant<value_float = 2.0>()
  p = MatMul(x, w)
  q = Mul(p, two)
  y = Add(q, b)
}"""
RECURRENT = HEADER + """recurrent (double[steps, batch, 2] x) => (double[batch, 1] y) {
  rows = Constant<value_ints = [0]>()
  all, last, cell = LSTM<hidden_size = 3>(x, w, r, bias)
  h = Squeeze(last, rows)
  y = MatMul(h, v)
}"""
VOLUME = HEADER + """volume (float[3, 3] x) => (float y) {
  p = MatMul(x, w)
  y = Det(p)
}"""


class TrainingOfTheTool(CliCase):
    def compile(self, name, text, weights, train, *more):
        model = parser.parse_model(text)
        model.graph.initializer.extend(numpy_helper.from_array(v, n) for n, v in weights.items())
        onnx.save(model, self.path(name + ".onnx"))
        return self.tool("compile", name + ".onnx", "-o", name + ".gart", "--target", "x86-64-v3", "--train", train, *more)

    def load(self, name):
        return gart.load(self.path(name + ".gart"), device="cpu")

    def test_steps(self):
        r = np.random.default_rng(1)
        w, b = r.standard_normal((3, 1)).astype(np.float32), np.float32([0.5])
        done = self.compile("linear", LINEAR, {"w": w, "b": b},
                            "loss=mse(y,target),optimizer=momentum(lr=input,momentum=0.5),states=caller")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("training updates 2 parameters (4 elements); 0 are frozen", done.stdout)
        model = self.load("linear")
        train, evaluate = model.new_invocation("train"), model.new_invocation("evaluate")
        x, target = r.standard_normal((5, 3)).astype(np.float32), r.standard_normal((5, 1)).astype(np.float32)
        state = {"w": w, "b": b, "w.momentum": np.zeros_like(w), "b.momentum": np.zeros_like(b)}
        for rate in np.float32([0.1, 0.2, 0.05]):
            error = 2 * x @ state["w"] + state["b"] - target
            want = {"w.momentum": 0.5 * state["w.momentum"] + x.T @ error * 4 / 5,
                    "b.momentum": 0.5 * state["b.momentum"] + error.sum(0) * 2 / 5}
            want |= {n: state[n] - rate * want[n + ".momentum"] for n in "wb"}
            loss = evaluate.run({"x": x, "target": target, "w": state["w"], "b": state["b"]})["loss"]
            out = train.run({"x": x, "target": target, "lr": rate, **state})
            self.assertAlmostEqual(float(out["loss"]), float(np.mean(error ** 2)), 5)
            self.assertEqual(out["loss"], loss)
            for name, value in want.items():
                np.testing.assert_allclose(out[name + ".new"], value, rtol=1e-5, atol=1e-6)
            state = {n.removesuffix(".new"): np.array(v) for n, v in out.items() if n != "loss"}
        np.testing.assert_allclose(model.run({"x": x, "w": state["w"], "b": state["b"]})["y"], 2 * x @ state["w"] + state["b"],
                                   rtol=1e-5, atol=1e-6)

    def test_dropout(self):
        """A model that was exported in training mode: steps draw masks from a state, so runs and resumed runs are reproducible."""
        text = HEADER + """net (float[n, 32] x) => (float[n, 32] y) {
          half = Constant<value_float = 0.5>()
          yes = Constant<value = bool {1}>()
          p = Mul(x, w)
          y, mask = Dropout(p, half, yes)
        }"""
        done = self.compile("drop", text, {"w": np.ones(32, np.float32)}, "loss=mse(y,t),optimizer=sgd(lr=0)")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("training drops elements at random in 1 Dropout node", done.stdout + done.stderr)
        x = np.ones((64, 32), np.float32)
        model = self.load("drop")
        self.assertEqual(sorted(model.states), ["random.state", "w"])
        np.testing.assert_array_equal(model.run({"x": x})["y"], x)
        losses = [float(model.run({"x": x, "t": 0 * x}, entry="train")["loss"]) for _ in range(3)]
        for loss in losses:  # the mean of elements that are 0 or 4
            self.assertAlmostEqual(loss, 2, delta=0.25)
        self.assertEqual(len(set(losses)), 3)
        np.testing.assert_array_equal(model.state("random.state"), [0, 3])
        model.set_state("random.state", np.int64([0, 0]))
        self.assertEqual(float(model.run({"x": x, "t": 0 * x}, entry="train")["loss"]), losses[0])
        self.assertEqual(float(model.run({"x": x, "t": 0 * x}, entry="evaluate")["loss"]), 1)
        self.compile("drop", text, {"w": np.ones(32, np.float32)}, "loss=mse(y,t),optimizer=adam")
        np.savez(self.path("drop.npz"), x=x, t=0.5 * x)
        train = ["train", "drop.gart", "--data", "drop.npz", "--batch", "16"]
        self.accepted(*train, "--epochs", "4", "--seed", "7", "-o", "a.gart")
        self.accepted(*train, "--epochs", "2", "--seed", "7", "--checkpoint", "d")
        self.accepted(*train, "--epochs", "4", "--seed", "7", "--checkpoint", "d", "--resume", "-o", "b.gart")
        self.assertEqual(self.read("a.gart"), self.read("b.gart"))
        np.testing.assert_array_equal(self.load("a").state("random.state"), [7, 16])
        self.accepted(*train, "--epochs", "4", "--seed", "8", "--no-shuffle", "-o", "c.gart")
        self.accepted(*train, "--epochs", "4", "--seed", "9", "--no-shuffle", "-o", "d.gart")
        self.assertFalse(np.array_equal(self.load("c").state("w"), self.load("d").state("w")))

    def test_adapters(self):
        """LoRA adapters and 4-bit weights: 10 steps equal numpy's, and only the adapters change."""
        r = np.random.default_rng(5)
        sizes, block = [64, 96, 32], 32
        nodes, constants, weights = [], [], []
        for i, (k, n) in enumerate(zip(sizes, sizes[1:])):
            packed = r.integers(0, 256, (n, k // block, block // 2), np.uint8)
            scales = r.uniform(0.01, 0.03, (n, k // block)).astype(np.float32)
            numbers = np.stack([packed & 15, packed >> 4], -1).reshape(n, k // block, block).astype(np.float32) - 8
            weights.append((numbers * scales[:, :, None]).reshape(n, k).T.astype(np.float64))
            constants += [numpy_helper.from_array(packed, f"w{i}"), numpy_helper.from_array(scales.ravel(), f"s{i}")]
            nodes.append(helper.make_node("MatMulNBits", ["xh"[i > 0], f"w{i}", f"s{i}"], ["py"[i > 0]], name=f"/layer{i}/proj/MatMul_Q4",
                                          domain="com.microsoft", K=k, N=n, bits=4, block_size=block))
        nodes.insert(1, helper.make_node("Tanh", ["p"], ["h"]))
        graph = helper.make_graph(nodes, "net", [helper.make_tensor_value_info("x", 1, ["n", 64])],
                                  [helper.make_tensor_value_info("y", 1, ["n", 32])], constants)
        opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
        onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9), self.path("lora.onnx"))
        compile_with = ["compile", "lora.onnx", "-o", "lora.gart", "--target", "x86-64-v3", "--train"]
        self.accepted(*compile_with, "lora(rank=4,alpha=8,target='*proj'),loss=mse(y,t),optimizer=sgd(lr=0.5)")
        model = self.load("lora")
        names = [f"/layer{i}/proj.lora_{ab}" for i in range(2) for ab in "AB"]
        self.assertEqual(sorted(model.states), names)
        a0, b0, a1, b1 = (model.state(n).astype(np.float64) for n in names)
        self.assertFalse(b0.any() or b1.any())
        self.assertLess(np.abs(a0).max(), 1 / 8)
        self.assertGreater(np.abs(a0).max(), 0.9 / 8)
        x, t = r.standard_normal((20, 64)).astype(np.float32), r.standard_normal((20, 32)).astype(np.float32)
        for _ in range(10):
            h = np.tanh(x @ weights[0] + 2 * x @ a0 @ b0)
            y = h @ weights[1] + 2 * h @ a1 @ b1
            loss = float(model.run({"x": x, "t": t}, entry="train")["loss"])
            self.assertAlmostEqual(loss, np.mean((y - t) ** 2), 4)
            g = 2 * (y - t) / t.size
            gh = (g @ weights[1].T + 2 * g @ b1.T @ a1.T) * (1 - h * h)
            a1, b1 = a1 - h.T @ g @ b1.T, b1 - (h @ a1).T @ g
            a0, b0 = a0 - x.T @ gh @ b0.T, b0 - (x @ a0).T @ gh
        for name, want in zip(names, (a0, b0, a1, b1)):
            np.testing.assert_allclose(model.state(name), want, atol=1e-5)
        h = np.tanh(x @ weights[0] + 2 * x @ a0 @ b0)
        np.testing.assert_allclose(model.run({"x": x})["y"], h @ weights[1] + 2 * h @ a1 @ b1, atol=1e-4)
        self.refused(*compile_with, "lora(target='*q_proj'),loss=mse(y,t),optimizer=sgd",
                     says="the target *q_proj of lora matches no product with constant weights; the nearest: '/layer0/proj/MatMul_Q4'")
        self.refused(*compile_with, "lora(rank=0,target='*'),loss=mse(y,t),optimizer=sgd", says="rank is 0, expected a number from 1 to 65536")
        self.refused(*compile_with, "lora(rank=1e12,target='*'),loss=mse(y,t),optimizer=sgd", says="rank is 1e12, expected a number from 1 to 65536")
        self.refused(*compile_with, "lora(rank=2),loss=mse(y,t),optimizer=sgd", says="lora needs target=")

    def test_states_of_the_program(self):
        r = np.random.default_rng(3)
        w, b = r.standard_normal((3, 1)).astype(np.float32), np.float32([0.5])
        done = self.compile("own", LINEAR, {"w": w, "b": b}, "loss=mse(y,target),optimizer=adamw(lr=0.01)")
        self.assertEqual(done.returncode, 0, done.stderr)
        model = self.load("own")
        self.assertEqual(sorted(model.states), ["b", "b.exp_avg", "b.exp_avg_sq", "step", "w", "w.exp_avg", "w.exp_avg_sq"])
        x, target = r.standard_normal((5, 3)).astype(np.float32), r.standard_normal((5, 1)).astype(np.float32)
        data = {"x": x, "target": target}
        np.testing.assert_array_equal(model.state("w"), w)
        y = model.run({"x": x})["y"]
        losses = [float(model.run(data, entry="train")["loss"]) for _ in range(3)]
        self.assertAlmostEqual(losses[0], float(np.mean((y - target) ** 2)), 5)
        self.assertEqual(sorted(losses, reverse=True), losses)
        self.assertEqual(int(model.state("step")), 3)
        loss = float(model.run(data, entry="evaluate")["loss"])
        self.assertLess(loss, losses[-1])
        np.testing.assert_allclose(model.run({"x": x})["y"], 2 * x @ model.state("w") + model.state("b"), rtol=1e-5, atol=1e-6)
        self.assertEqual(int(model.state("step")), 3, "infer and evaluate only read the states")

    def test_the_command_train(self):
        r = np.random.default_rng(4)
        x = r.standard_normal((64, 3)).astype(np.float32)
        target = (x @ np.float32([[1], [-2], [0.5]]) + 0.25).astype(np.float32)
        done = self.compile("verb", LINEAR, {"w": np.zeros((3, 1), np.float32), "b": np.zeros(1, np.float32)},
                            "loss=mse(y,target),optimizer=momentum(lr=0.02,momentum=0.5)")
        self.assertEqual(done.returncode, 0, done.stderr)
        np.savez(self.path("d.npz"), x=x, target=target)
        done = self.tool("train", "verb.gart", "--data", "d.npz", "--epochs", "30", "--batch", "16", "-o", "trained.gart")
        self.assertEqual(done.returncode, 0, done.stderr)
        trained = self.load("trained")
        np.testing.assert_allclose(2 * trained.state("w"), [[1], [-2], [0.5]], atol=1e-2)
        np.testing.assert_allclose(trained.run({"x": x})["y"], target, atol=3e-2)

    def test_recurrent_networks(self):
        r = np.random.default_rng(2)
        weights = {"w": r.standard_normal((1, 12, 2)) / 2, "r": r.standard_normal((1, 12, 3)) / 2,
                   "bias": r.standard_normal((1, 24)) / 2, "v": r.standard_normal((3, 1))}
        done = self.compile("recurrent", RECURRENT, weights, "loss=mse(y,t),optimizer=momentum(lr=0.1),states=caller")
        self.assertEqual(done.returncode, 0, done.stderr)
        model = self.load("recurrent")
        evaluate = model.new_invocation("evaluate")
        data = {"x": r.standard_normal((6, 4, 2)), "t": r.standard_normal((4, 1))}
        out = model.new_invocation("train").run({**data, **weights, **{n + ".momentum": np.zeros_like(v) for n, v in weights.items()}})
        for name, value in weights.items():
            for at in r.integers(0, value.size, 4):
                losses = []
                for step in (1e-6, -1e-6):
                    moved = value.copy()
                    moved.flat[at] += step
                    losses.append(float(evaluate.run({**data, **weights, name: moved})["loss"]))
                self.assertAlmostEqual(out[name + ".momentum.new"].flat[at], (losses[0] - losses[1]) / 2e-6, 5, f"{name}[{at}]")

    def test_refusals(self):
        w = {"w": np.ones((3, 1), np.float32), "b": np.ones(1, np.float32)}
        for train, words in [("loss=mse(y,t)", "optimizer= is missing"),
                             ("loss=mse(z,t),optimizer=sgd", "--train: the model has no value 'z'; the nearest: 'p', 'q', 'x'"),
                             ("loss=mse(y,t),optimizer=sgd,frozen=c", "--train: frozen=c matches no parameter; the nearest: 'b', 'w'")]:
            done = self.compile("refused", LINEAR, w, train)
            self.assertEqual(done.returncode, 1, done.stdout)
            self.assertIn(words, done.stderr)
            self.assertFalse(os.path.exists(self.path("refused.gart")))
        done = self.compile("refused", VOLUME, {"w": np.ones((3, 3), np.float32)}, "loss=mse(y,t),optimizer=sgd")
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("has no gradient, and the loss depends on 'w' through it: 'w' -> MatMul 'p' -> Det 'y' -> ", done.stderr)


if __name__ == "__main__":
    unittest.main()
