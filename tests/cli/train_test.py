#!/usr/bin/env python3
"""Training: models with training_info compile to entry points that share states, and `gcc-graph train` runs them. The
reference is numpy code written from ONNX's specification."""
import json
import os
import signal
import struct
import subprocess
import sys
import time
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper, parser

from cli_case import HEADER, TOOL, CliCase

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools", "python"))
import gart

# y = x w + b, and the gradients of loss = mean((y - t)^2) with respect to w and b.
MODEL = """<ir_version: 8, opset_import: ["": 16, "ai.onnx.preview.training": 1]>
regression (float[n, 3] x) => (float[n, 1] y) {
  xw = MatMul(x, w)
  y = Add(xw, b)
}"""
GRADIENTS = """<ir_version: 8, opset_import: ["": 16, "ai.onnx.preview.training": 1]>
step (float[n, 1] t) => (float[] loss) {
  d = Sub(y, t)
  dd = Mul(d, d)
  loss = ReduceMean<keepdims = 0>(dd)
  shape = Shape<start = 0, end = 1>(x)
  n = Cast<to = 1>(shape)
  two = Constant<value_float = 2.0>()
  scale = Div(two, n)
  g = Mul(d, scale)
  xt = Transpose(x)
  dw = MatMul(xt, g)
  row = Constant<value_ints = [0]>()
  db = ReduceSum<keepdims = 0>(g, row)
  %s
}"""
DESCENT = """wr = Mul(dw, rate)
  w_new = Sub(w, wr)
  br = Mul(db, rate)
  b_new = Sub(b, br)"""
ADAM = """w_new, b_new, vw_new, vb_new, hw_new, hb_new = ai.onnx.preview.training.Adam<norm_coefficient = 0.01, epsilon = 0.001>(
    rate, count, w, b, dw, db, vw, vb, hw, hb)
  one = Constant<value_int = 1>()
  count_new = Add(count, one)"""
W, B = np.array([[0.5], [-0.25], [1]], np.float32), np.array([0.125], np.float32)


def tensor(name, value):
    return numpy_helper.from_array(np.asarray(value), name)


def trained_model(update, states, constants, inputs=()):
    """The model with a training step. `states`: {name: first value} of the algorithm's own states."""
    model = parser.parse_model(MODEL)
    model.graph.initializer.extend([tensor("w", W), tensor("b", B)])
    step = parser.parse_model(GRADIENTS % update).graph
    step.initializer.extend([tensor(n, v) for n, v in {**states, **constants}.items()])
    step.input.extend([helper.make_tensor_value_info(n, TensorProto.FLOAT, []) for n in inputs])
    names = ["w", "b", *states]
    for name, value in zip(names, [W, B, *states.values()]):
        step.output.append(helper.make_tensor_value_info(name + "_new", helper.np_dtype_to_tensor_dtype(np.asarray(value).dtype), np.shape(value)))
    info = model.training_info.add()
    info.algorithm.CopyFrom(step)
    for name in names:
        entry = info.update_binding.add()
        entry.key, entry.value = name, name + "_new"
    return model


def samples(count, seed=0):
    random = np.random.default_rng(seed)
    x = random.standard_normal((count, 3)).astype(np.float32)
    return x, (x @ np.array([[1], [2], [-1]], np.float32) + 0.5).astype(np.float32)


def gradients(x, t, w, b):
    d = x.astype(np.float64) @ w + b - t
    return np.mean(d * d), x.T @ d * 2 / len(x), np.sum(d, 0) * 2 / len(x)


class Train(CliCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        onnx.save(trained_model(DESCENT, {}, {"rate": np.float32(0.05)}), cls.path("descent.onnx"))
        zeros = {k: np.zeros_like(v) for k, v in (("vw", W), ("vb", B), ("hw", W), ("hb", B))}
        onnx.save(trained_model(ADAM, {**zeros, "count": np.int64(0)}, {"rate": np.float32(0.05)}), cls.path("adam.onnx"))
        onnx.save(trained_model(DESCENT, {}, {}, ["rate"]), cls.path("rate.onnx"))
        for name in ("descent", "adam", "rate"):
            done = cls.tool("compile", name + ".onnx", "-o", name + ".gart")
            assert done.returncode == 0, done.stderr
        x, t = samples(100)
        np.savez(cls.path("d.npz"), x=x, t=t)

    def states(self, artifact):
        model = gart.load(self.path(artifact), device=None)
        return {name: model.state(name) for name in model.states}

    def test_entries_share_their_states(self):
        model = gart.load(self.path("descent.gart"))
        self.assertEqual((model.inputs, model.outputs, model.states), (["x"], ["y"], ["w", "b"]))
        np.testing.assert_array_equal(model.state("w"), W)
        w, b = W.astype(np.float64), B.astype(np.float64)
        for i in range(20):
            x, t = samples(5 + i % 3, i)
            loss, dw, db = gradients(x, t, w, b)
            got = model.run({"x": x, "t": t}, entry="train")
            np.testing.assert_allclose(got["loss"], loss, rtol=1e-5)
            w, b = w - 0.05 * dw, b - 0.05 * db
            np.testing.assert_allclose(model.run({"x": x})["y"], x @ w + b, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(model.state("w"), w, rtol=1e-5)
        with self.assertRaisesRegex(gart.GartError, "the model has no state 'rate', only 'w', 'b'"):
            model.state("rate")

    def test_adam(self):
        """For T > 0 the step is R sqrt(1 - beta^T) / (1 - alpha^T), with epsilon added to the uncorrected root. For T = 0 it is R."""
        model = gart.load(self.path("adam.gart"))
        value = {"w": W.astype(np.float64), "b": B.astype(np.float64)}
        v, h = {k: 0 * x for k, x in value.items()}, {k: 0 * x for k, x in value.items()}
        for step in range(10):
            x, t = samples(8, step)
            loss, *slopes = gradients(x, t, value["w"], value["b"])
            np.testing.assert_allclose(model.run({"x": x, "t": t}, entry="train")["loss"], loss, rtol=1e-4)
            rate = 0.05 * np.sqrt(1 - 0.999 ** step) / (1 - 0.9 ** step) if step > 0 else 0.05
            for k, g in zip(("w", "b"), slopes):
                g = 0.01 * value[k] + g
                v[k], h[k] = 0.9 * v[k] + 0.1 * g, 0.999 * h[k] + 0.001 * g * g
                value[k] = value[k] - rate * v[k] / (np.sqrt(h[k]) + 0.001)
        self.assertEqual(model.state("count"), 10)
        for k in ("w", "b"):
            np.testing.assert_allclose(model.state(k), value[k], rtol=1e-4)
            np.testing.assert_allclose(model.state("h" + k), h[k], rtol=1e-4)

    def test_momentum_and_adagrad(self):
        """Momentum: V = alpha V + beta G (beta is 1 at T = 0), Nesterov steps by G + alpha V. Adagrad: R / (1 + T decay)."""
        update = """w_new, v_new = ai.onnx.preview.training.Momentum<alpha = 0.9, beta = 0.5, mode = "nesterov", norm_coefficient = 0.01>(
            rate, count, w, dw, v)
          b_new, h_new = ai.onnx.preview.training.Adagrad<decay_factor = 0.1, epsilon = 0.001, norm_coefficient = 0.0>(
            rate, count, b, db, h)
          one = Constant<value_int = 1>()
          count_new = Add(count, one)"""
        states = {"v": np.zeros_like(W), "h": np.full_like(B, 0.5), "count": np.int64(0)}
        onnx.save(trained_model(update, states, {"rate": np.float32(0.05)}), self.path("both.onnx"))
        self.accepted("compile", "both.onnx", "-o", "both.gart")
        model = gart.load(self.path("both.gart"))
        w, b, v, h = W.astype(np.float64), B.astype(np.float64), np.zeros((3, 1)), np.full(1, 0.5)
        for step in range(10):
            x, t = samples(8, step)
            _, dw, db = gradients(x, t, w, b)
            model.run({"x": x, "t": t}, entry="train")
            g = 0.01 * w + dw
            v = 0.9 * v + (0.5 if step > 0 else 1) * g
            w = w - 0.05 * (g + 0.9 * v)
            h = h + db * db
            b = b - 0.05 / (1 + 0.1 * step) * db / (np.sqrt(h) + 0.001)
            np.testing.assert_allclose(model.state("w"), w, rtol=1e-4)
            np.testing.assert_allclose(model.state("b"), b, rtol=1e-4)

    def test_batch_statistics(self):
        """BatchNormalization in training: a running statistic becomes momentum * old + (1 - momentum) * that of the batch, with the population variance."""
        kinds = '<ir_version: 8, opset_import: ["": 16]>\n'
        model = parser.parse_model(kinds + """norm (float[n, 3] x) => (float[n, 3] y) {
          y = BatchNormalization<momentum = 0.75>(x, scale, shift, mean, var)
        }""")
        values = {"scale": [1, 2, 3], "shift": [0, 1, 0], "mean": [0, 0, 0], "var": [1, 1, 1]}
        model.graph.initializer.extend([tensor(n, np.float32(v)) for n, v in values.items()])
        info = model.training_info.add()
        info.algorithm.CopyFrom(parser.parse_model(kinds + """step () => (float[] loss, float[3] mean_new, float[3] var_new) {
          z, mean_new, var_new = BatchNormalization<momentum = 0.75, training_mode = 1>(x, scale, shift, mean, var)
          zz = Mul(z, z)
          loss = ReduceMean<keepdims = 0>(zz)
        }""").graph)
        for name in ("mean", "var"):
            binding = info.update_binding.add()
            binding.key, binding.value = name, name + "_new"
        onnx.save(model, self.path("norm.onnx"))
        self.accepted("compile", "norm.onnx", "-o", "norm.gart")
        loaded = gart.load(self.path("norm.gart"))
        mean, var = np.zeros(3), np.ones(3)
        for step in range(4):
            x = samples(6, step)[0] + step
            z = (x - x.mean(0)) / np.sqrt(x.var(0) + 1e-5) * values["scale"] + values["shift"]
            np.testing.assert_allclose(loaded.run({"x": x}, entry="train")["loss"], np.mean(z * z), rtol=1e-4)
            mean, var = 0.75 * mean + 0.25 * x.mean(0), 0.75 * var + 0.25 * x.var(0)
            y = (x - mean) / np.sqrt(var + 1e-5) * values["scale"] + values["shift"]
            np.testing.assert_allclose(loaded.run({"x": x})["y"], y, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(loaded.state("var"), var, rtol=1e-5)

    def test_initialization(self):
        model = trained_model(DESCENT, {}, {"rate": np.float32(0.05)})
        start = parser.parse_model(HEADER + """start () => (float[3, 1] w0) {
          shape = Constant<value_ints = [3, 1]>()
          w0 = ConstantOfShape<value = float[1] {2.0}>(shape)
        }""").graph
        model.training_info[0].initialization.CopyFrom(start)
        binding = model.training_info[0].initialization_binding.add()
        binding.key, binding.value = "w", "w0"
        onnx.save(model, self.path("start.onnx"))
        self.accepted("compile", "start.onnx", "-o", "start.gart")
        loaded = gart.load(self.path("start.gart"))
        np.testing.assert_array_equal(loaded.state("w"), W)
        self.assertEqual(loaded.run({}, entry="initialize"), {})
        np.testing.assert_array_equal(loaded.state("w"), np.full((3, 1), 2, np.float32))
        np.testing.assert_array_equal(loaded.state("b"), B)

    def test_what_the_importer_refuses(self):
        def refused(change, says):
            model = trained_model(DESCENT, {}, {"rate": np.float32(0.05)})
            change(model)
            onnx.save(model, self.path("bad.onnx"))
            self.refused("compile", "bad.onnx", "-o", "x.gart", says=says)
            os.remove(self.path("bad.onnx"))
        binding = lambda model: model.training_info[0].update_binding[0]  # noqa: E731
        refused(lambda m: setattr(binding(m), "key", "v"), "training_info: update_binding 'v' is not an initializer")
        refused(lambda m: setattr(binding(m), "value", "wnew"), "update_binding of 'w': there is no output 'wnew'; the nearest: 'w_new'")
        refused(lambda m: setattr(m.training_info[0].update_binding[1], "key", "w"), "update_binding 'w' is bound twice")
        refused(lambda m: m.training_info.add(), "the model has 2 training_info entries; one is supported")
        refused(lambda m: setattr(binding(m), "value", "loss"), "state 'w' is f32[3,1], but its new value 'loss' is f32[]")

    def test_left_out(self):
        said = self.accepted("compile", "descent.onnx", "--no-training", "-o", "plain.gart")
        self.assertIn("the model's training_info (1 entry) is left out", said)
        self.assertEqual(gart.load(self.path("plain.gart")).states, [])

    def test_state_files(self):
        self.accepted("state", "export", "descent.gart", "-o", "s.safetensors")
        data = self.read("s.safetensors")
        length = struct.unpack("<Q", data[:8])[0]
        self.assertEqual(list(json.loads(data[8:8 + length])), ["w", "b"])
        model = gart.load(self.path("descent.gart"))
        model.set_state("w", 2 * W)
        model.set_state("b", W[0])  # equal bytes exist elsewhere in the file
        model.save_states(self.path("n.safetensors"))
        self.accepted("state", "import", "descent.gart", "n.safetensors", "-o", "n.gart")
        np.testing.assert_array_equal(self.states("n.gart")["w"], 2 * W)
        np.testing.assert_array_equal(self.states("n.gart")["b"], W[0])
        np.testing.assert_array_equal(self.states("descent.gart")["w"], W)
        x, _ = samples(4)
        np.testing.assert_allclose(gart.load(self.path("n.gart")).run({"x": x})["y"], x @ (2 * W) + W[0], rtol=1e-5)
        self.accepted("state", "import", "n.gart", "s.safetensors", "-o", "n.gart")
        self.assertEqual(len(self.read("n.gart")), len(self.read("descent.gart")))
        self.refused("state", "import", "adam.gart", "d.npz", "-o", "x.gart", says="cannot load 'd.npz': ")
        self.refused("state", "export", "model.gart", "-o", "x.safetensors", says="model.gart: the model keeps no states of its own")
        np.savez(self.path("one.npz"), x=x, t=np.zeros((4, 1), np.float32))
        self.accepted("run", "descent.gart", "--entry", "train", "--inputs", "one.npz", "--state-out", "r.safetensors")
        self.accepted("state", "import", "descent.gart", "r.safetensors", "-o", "r.gart")
        loss, dw, db = gradients(x, np.zeros((4, 1)), W, B)
        np.testing.assert_allclose(self.states("r.gart")["w"], W - 0.05 * dw, rtol=1e-5)
        self.refused("run", "model.gart", "--random", "1", "--state-out", "x.st", says="--state-out x.st: the model keeps no states of its own")
        shown = self.accepted("inspect", "descent.gart")
        self.assertIn("  state w f32[3,1] of the program, only read, begins with values in the weights\n", shown)
        self.assertIn("  state w f32[3,1] of the program, begins with values in the weights\n", shown)

    def test_training(self):
        self.accepted("train", "descent.gart", "--data", "d.npz", "--epochs", "30", "--batch", "16", "--metrics", "m.jsonl", "-o", "t.gart")
        lines = [json.loads(line) for line in self.read("m.jsonl").splitlines()]
        self.assertEqual([line["step"] for line in lines], list(range(1, 30 * 7 + 1)))
        self.assertEqual(lines[-1]["epoch"], 30)
        self.assertLess(lines[-1]["loss"], 1e-3)
        self.assertGreater(lines[0]["loss"], 1)
        self.assertGreater(lines[0]["samples_per_s"], 0)
        trained = self.states("t.gart")
        np.testing.assert_allclose(trained["w"].ravel(), [1, 2, -1], atol=0.02)
        np.testing.assert_array_equal(self.states("descent.gart")["w"], W)
        x, t = samples(100)
        w, b = W.astype(np.float64), B.astype(np.float64)
        for at in range(0, 100, 16):
            _, dw, db = gradients(x[at:at + 16], t[at:at + 16], w, b)
            w, b = w - 0.05 * dw, b - 0.05 * db
        self.accepted("train", "descent.gart", "--data", "d.npz", "--batch", "16", "--no-shuffle", "-o", "t.gart")
        np.testing.assert_allclose(self.states("t.gart")["w"], w, rtol=1e-5)
        self.accepted("train", "rate.gart", "--data", "d.npz", "--input", "rate=0.05", "--batch", "16", "--no-shuffle", "-o", "u.gart")
        np.testing.assert_array_equal(self.states("u.gart")["w"], self.states("t.gart")["w"])

    def run_whole(self, *more):
        self.accepted("train", "adam.gart", "--data", "d.npz", "--epochs", "6", "--batch", "16", "--seed", "3", "-o", "whole.gart",
                      "--metrics", "whole.jsonl", *more)
        return self.read("whole.gart")

    def test_a_killed_run_goes_on(self):
        """After kill -9 at any step, the resumed run writes the same file as a run without a stop, bit for bit."""
        whole = self.run_whole()
        arguments = ["train", "adam.gart", "--data", "d.npz", "--batch", "16", "--seed", "3", "--checkpoint", "c"]
        for delay in (0.05, 0.2):
            slow = subprocess.Popen([TOOL, *arguments, "--epochs", "100000", "--checkpoint-steps", "1"], cwd=self.folder,
                                    stdout=subprocess.DEVNULL)
            while not os.path.exists(self.path("c/checkpoint.json")):
                time.sleep(0.01)
            time.sleep(delay)
            slow.kill()
            slow.wait()
            with open(self.path("c/checkpoint.json")) as f:
                steps = json.load(f)["steps"]
            self.assertGreater(steps, 0)
            if steps < 42:
                self.accepted(*arguments, "--epochs", "6", "--resume", "-o", "resumed.gart")
                self.assertEqual(self.read("resumed.gart"), whole)
            for name in os.listdir(self.path("c")):
                os.remove(self.path("c/" + name))

    def test_resume(self):
        whole = self.run_whole()
        arguments = ["train", "adam.gart", "--data", "d.npz", "--checkpoint", "r", "--metrics", "r.jsonl"]
        self.accepted(*arguments, "--epochs", "2", "--batch", "16", "--seed", "3")
        self.accepted(*arguments, "--epochs", "6", "--resume", "-o", "resumed.gart")
        self.assertEqual(self.read("resumed.gart"), whole)
        losses = [[json.loads(line)["loss"] for line in self.read(name).splitlines()] for name in ("r.jsonl", "whole.jsonl")]
        self.assertEqual(*losses)
        self.refused(*arguments, "--resume", "--batch", "8", says="comes from a run with --batch 16; this one has 8")
        self.refused(*arguments, "--resume", "--seed", "4", says="comes from a run with --seed 3; this one has 4")
        self.refused("train", "descent.gart", "--data", "d.npz", "--checkpoint", "r", "--resume",
                     says="is a checkpoint of another model")
        self.refused("train", "adam.gart", "--data", "d.npz", "--checkpoint", "none", "--resume", says="there is no checkpoint none/checkpoint.json")

    def test_interrupt(self):
        slow = subprocess.Popen([TOOL, "train", "descent.gart", "--data", "d.npz", "--epochs", "1000000", "--metrics", "i.jsonl",
                                 "--checkpoint", "i", "-o", "i.gart"], cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        while not os.path.exists(self.path("i.jsonl")) or len(self.read("i.jsonl")) == 0:
            time.sleep(0.01)
        slow.send_signal(signal.SIGINT)
        said = slow.communicate(timeout=60)[1].decode()
        self.assertEqual(slow.returncode, 130)
        with open(self.path("i/checkpoint.json")) as f:
            steps = json.load(f)["steps"]
        self.assertIn(f"interrupted after step {steps}", said)
        self.assertEqual(json.loads(self.read("i.jsonl").splitlines()[-1])["step"], steps)
        self.assertFalse(np.array_equal(self.states("i.gart")["w"], W))

    def test_check_finite(self):
        """--check-finite: a step of a training_info fails with the name of the first tensor that is not finite, and changes no state."""
        self.refused("compile", "model.onnx", "--check-finite", "-o", "x.gart", says="--check-finite: there is no training step")
        self.accepted("compile", "adam.onnx", "--check-finite", "-o", "check.gart")
        x, t = samples(40)
        np.savez(self.path("good.npz"), x=x, t=t)
        plan = ("--data", "good.npz", "--batch", "8", "--no-shuffle")
        self.accepted("train", "adam.gart", *plan, "-o", "plain.gart")
        self.accepted("train", "check.gart", *plan, "-o", "checked.gart")
        want, got = self.states("plain.gart"), self.states("checked.gart")
        for name in want:
            np.testing.assert_array_equal(got[name], want[name], name)
        t[20] = np.nan
        np.savez(self.path("good.npz"), x=x, t=t)
        done = self.tool("train", "check.gart", *plan, "--checkpoint", "f", "--checkpoint-steps", "1", "-o", "f.gart")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("step 3 (epoch 1): step 'check=finite' failed: output 'loss' is NaN or infinite; the states keep their values", done.stderr)
        self.assertFalse(os.path.exists(self.path("f.gart")))
        with open(self.path("f/checkpoint.json")) as f:
            self.assertEqual(json.load(f)["steps"], 2)
        model = gart.load(self.path("check.gart"))
        before = {name: model.state(name) for name in model.states}
        for bad, says in ((np.nan, "output 'loss'"), (np.inf, "output 'loss'")):
            with self.assertRaisesRegex(gart.GartError, f"{says} is NaN or infinite; the states keep their values"):
                model.run({"x": x[:4], "t": t[:4] + np.float32(bad)}, entry="train")
        huge = np.float32([[1e20, 0, 0]])  # the errors' squares are finite, and so is the loss; x * error is not
        model.set_state("w", 0 * W)
        with self.assertRaisesRegex(gart.GartError, "gradient 'dw' is NaN or infinite; the states keep their values"):
            model.run({"x": huge, "t": np.float32([[1e19]])}, entry="train")
        model.set_state("w", W)
        for name, value in before.items():
            np.testing.assert_array_equal(model.state(name), value, name)

    def test_check_finite_names_new_values(self):
        """A step without a known optimizer, and without an output: the new value is named."""
        onnx.save(trained_model(DESCENT, {}, {}, ["rate"]), self.path("bare.onnx"))
        model = onnx.load(self.path("bare.onnx"))
        outputs = model.training_info[0].algorithm.output
        outputs.remove(next(o for o in outputs if o.name == "loss"))
        onnx.save(model, self.path("bare.onnx"))
        self.accepted("compile", "bare.onnx", "--check-finite", "-o", "bare.gart")
        loaded = gart.load(self.path("bare.gart"))
        x, t = samples(4)
        for rate, says in ((np.inf, "the new value of 'w'"), (np.nan, "the new value of 'w'")):
            with self.assertRaisesRegex(gart.GartError, f"{says} is NaN or infinite; the states keep their values"):
                loaded.run({"x": x, "t": t, "rate": np.float32(rate)}, entry="train")
            np.testing.assert_array_equal(loaded.state("w"), W)
        _, dw, db = gradients(x, t, W, B)
        loaded.run({"x": x, "t": t, "rate": np.float32(0.5)}, entry="train")
        np.testing.assert_allclose(loaded.state("w"), W - 0.5 * dw, rtol=1e-5)
        np.testing.assert_allclose(loaded.state("b"), B - 0.5 * db, rtol=1e-5)

    def test_what_train_refuses(self):
        x, t = samples(10)
        def data(**arrays):
            np.savez(self.path("bad.npz"), **arrays)
            return ["train", "descent.gart", "--data", "bad.npz", "-o", "x.gart"]
        self.refused(*data(x=x, t=t[:5]), says=("--data: array 'x' has 10 samples", "5"))
        self.refused(*data(x=x), says="input 't' is missing; give its samples in --data, or --input t=NUMBER")
        self.refused(*data(x=x, t=t, z=t), says="--data: the entry point has no input 'z', only 'x', 't'")
        self.refused(*data(x=x[:, :2], t=t), says="--data: array 'x' is f32[10,2], but the input is x f32[n,3]")
        self.refused(*data(x=x.astype(np.float64), t=t), says="array 'x' is f64[10,3]")
        self.refused("train", "descent.gart", "--data", "d.npz", says="give -o or --checkpoint, or nothing is kept")
        self.refused("train", "model.gart", "--data", "d.npz", "-o", "x.gart", says="--entry train: the file has no such entry point, only 'model'")


if __name__ == "__main__":
    unittest.main()
