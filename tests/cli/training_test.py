#!/usr/bin/env python3
"""compile --train: steps compared with numpy, gradients of a compiled recurrent network compared with differences of its loss, and
refusals."""
import json
import os
import re
import sys
import unittest

import numpy as np
import onnx
from onnx import helper, numpy_helper, parser

from cli_case import CliCase
from small_network import NETWORK, weights_and_samples

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

    def test_profiles(self):
        """bench measures each step of any entry point, and each run begins with the states of the file."""
        r = np.random.default_rng(1)
        done = self.compile("linear", LINEAR, {"w": r.standard_normal((3, 1)).astype(np.float32), "b": np.float32([0.5])},
                            "loss=mse(y,target),optimizer=adamw(lr=0.1)")
        self.assertEqual(done.returncode, 0, done.stderr)
        for entry in ("train", "evaluate"):
            done = self.tool("bench", "linear.gart", "--entry", entry, "--dim", "batch=5", "--seconds", "0.01", "--profile", "--json")
            self.assertEqual(done.returncode, 0, done.stderr)
            sources = {step["source"] for step in json.loads(done.stdout)["profile"]["steps"]}
            self.assertEqual(any("optimizer" in s for s in sources), entry == "train", sources)
        done = self.tool("bench", "linear.gart", "--entry", "train", "--callers", "2", "--dim", "batch=5")
        self.assertEqual(done.returncode, 1)
        self.assertIn("--callers measures the first entry point, of a model without states", done.stderr)

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

    def modes(self, artifact, entry):
        shown = json.loads(self.accepted("inspect", artifact, "--json"))
        return next(e for e in shown["entry_points"] if e["name"] == entry)["plans"][0]["modes"]

    def test_modes_follow_rules(self):
        """Asynchronous tasks use threads for replicas; batch statistics need all threads in one run; synchronous tasks share no step."""
        r = np.random.default_rng(6)
        layers = [f"  p{i} = MatMul(h{i}, w{i})\n  {'h%d' % (i + 1) if i < 3 else 'y'} = Tanh(p{i})\n" for i in range(4)]
        text = HEADER + "net (float[256, 256] x) => (float[256, 256] y) {\n  h0 = Identity(x)\n" + "".join(layers) + "}"
        weights = {f"w{i}": r.standard_normal((256, 256)).astype(np.float32) for i in range(4)}
        of = {}
        for word in ("", ",sync", ",async"):
            self.compile("modes", text, weights, "loss=mse(y,t),optimizer=sgd" + word)
            of[word] = self.modes("modes.gart", "train")
            for m in self.modes("modes.gart", "infer"):
                self.assertNotIn("rule:", m["reason"])
        for costs, sync, alone in zip(of[""], of[",sync"], of[",async"]):
            threads = costs["threads"]
            self.assertEqual((costs["intra"], costs["replicas"]), (threads, 1))
            self.assertNotIn("rule:", costs["reason"])
            self.assertEqual(sync["intra"], 1)
            self.assertEqual(sync["replicas"], threads // sync["inter"])
            self.assertIn("rule: the task is synchronous without statistics of a batch", sync["reason"])
            self.assertEqual((alone["intra"], alone["inter"], alone["replicas"]), (1, 1, threads))
            self.assertIn("rule: the task is asynchronous", alone["reason"])
        self.assertGreater(of[",sync"][0]["inter"], 1, "a gradient by weights and one by data can run at the same time")
        norm = HEADER + """net (float[4, 8] x) => (float[4, 8] y) {
          p = MatMul(x, w)
          y = BatchNormalization(p, scale, shift, mean, var)
        }"""
        weights = {"w": r.standard_normal((8, 8)), "scale": np.ones(8), "shift": np.zeros(8), "mean": np.zeros(8), "var": np.ones(8)}
        self.compile("norm", norm, {n: v.astype(np.float32) for n, v in weights.items()}, "loss=mse(y,t),optimizer=sgd")
        for m in self.modes("norm.gart", "train"):
            self.assertEqual(m["replicas"], 1, "the costs alone would give a light step one thread")
            self.assertEqual(max(m["intra"], m["inter"]), m["threads"])
            self.assertIn("rule: the step is synchronous, because it computes statistics of its batch", m["reason"])
        self.assertIn("rule: the step is synchronous", self.accepted("inspect", "norm.gart"))

    def small_network(self, *options, more=()):
        """A network with a known answer, with a step that `options` describe, and 100 samples; the last batch is smaller."""
        weights, samples = weights_and_samples()
        done = self.compile("small", NETWORK, weights, ",".join(["loss=cross_entropy(y,t)", *options]), *more)
        self.assertEqual(done.returncode, 0, done.stderr)
        np.savez(self.path("small.npz"), **samples)
        return ["train", "small.gart", "--data", "small.npz", "--batch", "8", "--seed", "5"]

    def test_replicas(self):
        """k replicas write the same file as k accumulated steps, bit for bit: with 1 and 2 threads, after resume, and across epochs."""
        for k, optimizer in ((2, "adamw(lr=input)"), (4, "momentum(lr=input),clip=0.5"), (3, "sgd(lr=input)")):
            fixed = ("--dim", "batch=8,16") if k == 2 else ()  # the entry point `update` has no such extent
            train = self.small_network(f"optimizer={optimizer}", f"accumulate={k}", "replicas=on", more=fixed) + ["--input", "lr=0.05"]
            self.accepted(*train, "--epochs", "4", "--metrics", "a.jsonl", "-o", "a.gart")
            whole = self.read("a.gart")
            for threads in "12":
                self.accepted(*train, "--epochs", "4", "--replicas", str(k), "--threads", threads, "--metrics", "b.jsonl", "-o", "b.gart")
                self.assertEqual(self.read("b.gart"), whole, f"{k} replicas, {threads} threads")
            losses = [[json.loads(line)["loss"] for line in self.read(name).splitlines()] for name in ("a.jsonl", "b.jsonl")]
            self.assertEqual(*losses)
            self.accepted(*train, "--epochs", "1", "--replicas", str(k), "--checkpoint", f"c{k}")
            self.accepted(*train, "--epochs", "4", "--resume", "--checkpoint", f"c{k}", "-o", "c.gart")
            self.assertEqual(self.read("c.gart"), whole, f"{k} replicas, resumed")
            self.refused(*train, "--epochs", "4", "--resume", "--checkpoint", f"c{k}", "--replicas", "8",
                         says=f"comes from a run with --replicas {k}; this one has 8")
        self.refused("train", "a.gart", "--data", "small.npz", "--input", "lr=1", "--replicas", "1", "-o", "d.gart",
                     says="the file's states hold the sum of 1 gradients, expected fewer than there are replicas")
        train = self.small_network("optimizer=sgd")
        self.refused(*train, "--replicas", "2", "-o", "d.gart", says="the file has no entry point 'gradients'; compile the model with")

    def test_replicas_exchange_statistics(self):
        """Steps have the same bits on 1 and 2 threads and after a resume; a batch of its own per replica gives other steps."""
        text = HEADER + """net (float[batch, 8] x) => (float[batch, 4] y) {
          p = MatMul(x, w)
          n = BatchNormalization(p, scale, shift, mean, var)
          h = Tanh(n)
          y = MatMul(h, v)
        }"""
        r = np.random.default_rng(7)
        weights = {"w": r.standard_normal((8, 6)), "v": r.standard_normal((6, 4)), "scale": np.ones(6), "shift": np.zeros(6), "mean": np.zeros(6),
                   "var": np.ones(6)}
        weights = {n: v.astype(np.float32) for n, v in weights.items()}
        train = "loss=mse(y,t),optimizer=adam(lr=0.01),replicas=on"
        done = self.compile("shared", text, weights, train)
        self.assertIn("exchange them (batch_statistics=exchanged), freeze them, or leave out replicas", done.stderr)
        self.compile("shared", text, weights, train + ",batch_statistics=exchanged")
        for m in self.modes("shared.gart", "gradients.1"):
            self.assertIn("rule: replicas exchange the statistics of their batches", m["reason"])
        np.savez(self.path("shared.npz"), x=r.standard_normal((96, 8)).astype(np.float32), t=r.standard_normal((96, 4)).astype(np.float32))
        command = ["train", "shared.gart", "--data", "shared.npz", "--batch", "8", "--replicas", "3"]
        self.accepted(*command, "--epochs", "4", "--threads", "1", "-o", "one.gart")
        self.accepted(*command, "--epochs", "4", "--threads", "2", "-o", "two.gart")
        self.accepted(*command, "--epochs", "2", "--checkpoint", "x")
        self.accepted(*command, "--epochs", "4", "--checkpoint", "x", "--resume", "-o", "resumed.gart")
        for name in ("two.gart", "resumed.gart"):
            self.assertEqual(self.read(name), self.read("one.gart"), name)
        model = self.load("one")
        self.assertEqual(int(model.state("step")), 16)
        self.assertFalse(np.array_equal(model.state("mean"), weights["mean"]))
        self.refused(*command, "--staleness", "1", "-o", "d.gart", says="the replicas of this file exchange statistics of their batches, so they must run together")

    def test_asynchronous_replicas(self):
        """Each replica updates on its own, within the bound; 0 means one after the other, with the bits of plain steps."""
        train = self.small_network("optimizer=adamw(lr=0.005)", "replicas=on", "async", "dropout=off")
        self.accepted(*train, "--epochs", "30", "--metrics", "p.jsonl", "-o", "p.gart")
        for bound in (0, 1, 5):
            said = self.accepted(*train, "--epochs", "30", "--replicas", "3", "--staleness", str(bound), "--metrics", "s.jsonl", "-o", "s.gart")
            found = re.search(r"asynchronous replicas: (\d+) updates with a staleness of at most (\d+), ([\d.]+) on average", said)
            self.assertIsNotNone(found, said)
            self.assertEqual(int(found[1]), 30 * 13)
            self.assertLessEqual(int(found[2]), bound)
            self.assertEqual(int(self.load("s").state("step")), 30 * 13)
            losses = {name: [json.loads(line)["loss"] for line in self.read(name).splitlines()] for name in ("p.jsonl", "s.jsonl")}
            if bound == 0:
                self.assertEqual(losses["s.jsonl"], losses["p.jsonl"])
                for name in self.load("p").states:
                    np.testing.assert_array_equal(self.load("s").state(name), self.load("p").state(name), name)
            self.assertLess(np.mean(losses["s.jsonl"][-13:]), 0.5 * np.mean(losses["s.jsonl"][:13]), bound)

    def test_values_are_computed_again(self):
        """Under a memory limit, the steps of training give the same bits in a smaller arena, and the report says what that costs."""
        r = np.random.default_rng(9)
        layers = 8
        lines = "".join(f"  p{i} = MatMul(h{i}, w{i})\n  h{i + 1} = Tanh(p{i})\n" for i in range(layers))
        text = HEADER + f"deep (float[batch, 48] x) => (float[batch, 48] y) {{\n  h0 = Identity(x)\n{lines}  y = Identity(h{layers})\n}}"
        weights = {f"w{i}": (r.standard_normal((48, 48)) / 5).astype(np.float32) for i in range(layers)}
        options = ["loss=mse(y,t),optimizer=momentum(lr=0.05)", "--dim", "batch=512"]
        self.compile("whole", text, weights, *options)
        arena = lambda artifact: max(plan["arena_bytes"] for e in json.loads(self.accepted("inspect", artifact, "--json"))["entry_points"]  # noqa: E731
                                     if e["name"] == "train" for plan in e["plans"])
        whole = arena("whole.gart")
        x, t = r.standard_normal((1024, 48)).astype(np.float32), r.standard_normal((1024, 48)).astype(np.float32)
        np.savez(self.path("deep.npz"), x=x, t=t)
        train = ["--data", "deep.npz", "--batch", "512", "--epochs", "3"]
        self.accepted("train", "whole.gart", *train, "-o", "a.gart")
        want = self.load("a")
        for share in (0.8, 0.6):
            limit = int(whole * share)
            done = self.compile("less", text, weights, *options, "--memory-limit", str(limit))
            self.assertEqual(done.returncode, 0, done.stderr)
            found = re.search(r"'train' computes values again to stay within the memory limit: it repeats (\d+) of (\d+) steps, the arena shrinks "
                              r"from (\d+) to (\d+) bytes, and a run takes ([\d.]+)% longer", done.stdout + done.stderr)
            self.assertIsNotNone(found, done.stdout + done.stderr)
            repeated, steps, before, after = (int(found[i]) for i in range(1, 5))
            self.assertLess(repeated, steps)
            self.assertLessEqual(after, limit)
            self.assertLess(float(found[5]), 50)
            self.assertEqual(arena("less.gart"), after)
            self.accepted("train", "less.gart", *train, "-o", "b.gart")
            got = self.load("b")
            for name in want.states:
                np.testing.assert_array_equal(got.state(name), want.state(name), f"{name} at {share}")
        done = self.compile("less", text, weights, *options, "--memory-limit", "1000")
        self.assertEqual(done.returncode, 1)
        self.assertIn("1000", done.stderr)

    def test_check_finite(self):
        """A step whose loss or gradient is not finite ends the training with a message, and changes no state."""
        train = self.small_network("optimizer=adamw(lr=0.01)", "check=finite", "replicas=on")
        data = dict(np.load(self.path("small.npz")))
        data["x"][42, 3] = np.nan
        np.savez(self.path("bad.npz"), **data)
        train[train.index("small.npz")] = "bad.npz"
        for more in ([], ["--replicas", "2"]):
            done = self.tool(*train, "--no-shuffle", "--checkpoint", "f", "--checkpoint-steps", "1", "-o", "f.gart", *more)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn("step 6 (epoch 1): step 'check=finite' failed: the loss is NaN or infinite; the states keep their values", done.stderr)
            self.assertFalse(os.path.exists(self.path("f.gart")))
            with open(self.path("f/checkpoint.json")) as f:
                self.assertEqual(json.load(f)["steps"], 5 if not more else 4)
        model = self.load("small")
        names = [n for n in model.states]
        good, bad = ({"x": data["x"][i:i + 8], "t": data["t"][i:i + 8]} for i in (0, 40))
        model.run(good, entry="train")
        before = [model.state(n) for n in names]
        with self.assertRaisesRegex(gart.GartError, "the loss is NaN or infinite"):
            model.run(bad, entry="train")
        for name, value in zip(names, before):
            np.testing.assert_array_equal(model.state(name), value, name)
        model.run(good, entry="train")
        self.assertEqual(int(model.state("step")), 2)
        huge = {**good, "x": np.full((8, 24), 1e30, np.float32)}  # the loss is finite, and the gradients' squares are not
        with self.assertRaisesRegex(gart.GartError, "(the norm of the gradient of '.'|the loss) is NaN or infinite"):
            model.run(huge, entry="train")

    def test_mixed_precision(self):
        """Metrics show the scale and the skipped updates; a resumed run and replicas have the bits of a whole run."""
        train = self.small_network("optimizer=adamw(lr=0.01)", "precision=f16", "accumulate=2", "replicas=on")
        data = dict(np.load(self.path("small.npz")))
        data["x"][42] *= 1e6  # too large for f16
        np.savez(self.path("small.npz"), **data)
        said = self.accepted(*train, "--epochs", "6", "--metrics", "a.jsonl", "-o", "a.gart")
        whole, lines = self.read("a.gart"), [json.loads(line) for line in self.read("a.jsonl").splitlines()]
        self.assertEqual([line["skipped"] for line in lines], sorted(line["skipped"] for line in lines))
        skipped = lines[-1]["skipped"]
        self.assertGreaterEqual(skipped, 6, "the large sample is in one group of two steps in each epoch")
        self.assertLess(skipped, 10)
        self.assertEqual(lines[-1]["loss_scale"], 65536 / 2 ** skipped)
        self.assertIn(f"loss scale {65536 // 2 ** skipped}; {skipped} updates skipped\n", said)
        model = self.load("a")
        self.assertEqual(int(model.state("step")), 6 * 13 // 2 - skipped)
        self.assertTrue(all(np.isfinite(model.state(n)).all() for n in model.states))
        self.assertEqual(model.state("w").dtype, np.float32)
        usual = [line["loss"] for line in lines if line["loss"] is not None]
        self.assertLess(np.mean(usual[-10:]), 0.8 * np.mean(usual[:10]))
        self.accepted(*train, "--epochs", "3", "--checkpoint", "h")
        self.accepted(*train, "--epochs", "6", "--checkpoint", "h", "--resume", "-o", "b.gart")
        self.assertEqual(self.read("b.gart"), whole)
        for threads in "12":
            self.accepted(*train, "--epochs", "6", "--replicas", "2", "--threads", threads, "-o", "c.gart")
            self.assertEqual(self.read("c.gart"), whole, f"{threads} threads")
        train = self.small_network("optimizer=adamw(lr=0.01)", "precision=bf16")
        said = self.accepted(*train, "--epochs", "6", "--metrics", "d.jsonl", "-o", "d.gart")
        self.assertNotIn("loss scale", said)
        losses = [json.loads(line)["loss"] for line in self.read("d.jsonl").splitlines()]
        self.assertNotIn("loss_scale", json.loads(self.read("d.jsonl").splitlines()[0]))
        self.assertNotIn("loss_scale", self.load("d").states)
        self.assertLess(np.mean(losses[-10:]), 0.8 * np.mean(losses[:10]))

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
