"""Compares models that --train compiles with PyTorch: gradients, and the losses of 20 steps of optimizers."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

import numpy as np

try:
    import torch
    import torch.nn.functional as F
except ImportError:
    print("SKIP: torch is not installed")
    sys.exit(77)
import onnx
import onnx.numpy_helper
import onnx.parser

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools", "python"))
import gart

HEADER = '<ir_version: 8, opset_import: ["": 20]>\n'
MLP = HEADER + """mlp (float[batch, 8] x) => (float[batch, 5] logits) {
  a = Gemm<transB = 1>(x, w1, b1)
  h = Relu(a)
  logits = Gemm<transB = 1>(h, w2, b2)
}"""
LENET = HEADER + """lenet (float[batch, 1, 12, 12] x) => (float[batch, 5] logits) {
  flat = Constant<value_ints = [0, -1]>()
  c1 = Conv<pads = [1, 1, 1, 1]>(x, k1, d1)
  r1 = Relu(c1)
  p1 = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(r1)
  c2 = Conv(p1, k2, d2)
  r2 = Tanh(c2)
  p2 = AveragePool<kernel_shape = [2, 2], strides = [2, 2]>(r2)
  f = Reshape(p2, flat)
  logits = Gemm<transB = 1>(f, w, b)
}"""
RESNET = HEADER + """resnet (float[batch, 3, 8, 8] x) => (float[batch, 5] logits) {
  c0 = Conv<pads = [1, 1, 1, 1], strides = [2, 2]>(x, k0)
  n0 = BatchNormalization<momentum = 0.9>(c0, s0, o0, m0, v0)
  r0 = Relu(n0)
  c1 = Conv<pads = [1, 1, 1, 1]>(r0, k1)
  n1 = BatchNormalization<momentum = 0.9>(c1, s1, o1, m1, v1)
  r1 = Relu(n1)
  c2 = Conv<pads = [1, 1, 1, 1]>(r1, k2)
  n2 = BatchNormalization<momentum = 0.9>(c2, s2, o2, m2, v2)
  sum = Add(n2, r0)
  r2 = Relu(sum)
  pooled = GlobalAveragePool(r2)
  rows = Flatten(pooled)
  logits = Gemm<transB = 1>(rows, w, b)
}"""
TRANSFORMER = HEADER + """block (int64[batch, tokens] ids) => (float[batch, tokens, 11] logits) {
  heads = Constant<value_ints = [0, 0, 4, 4]>()
  merged = Constant<value_ints = [0, 0, 16]>()
  scale = Constant<value_float = 0.5>()
  half = Constant<value_float = 0.5>()
  one = Constant<value_float = 1.0>()
  root = Constant<value_float = 1.4142135381698608>()
  x = Gather(table, ids)
  n1 = LayerNormalization(x, g1, h1)
  q1 = MatMul(n1, wq)
  k1 = MatMul(n1, wk)
  v1 = MatMul(n1, wv)
  q2 = Reshape(q1, heads)
  k2 = Reshape(k1, heads)
  v2 = Reshape(v1, heads)
  q = Transpose<perm = [0, 2, 1, 3]>(q2)
  kt = Transpose<perm = [0, 2, 3, 1]>(k2)
  v = Transpose<perm = [0, 2, 1, 3]>(v2)
  s1 = MatMul(q, kt)
  s = Mul(s1, scale)
  p = Softmax<axis = -1>(s)
  y1 = MatMul(p, v)
  y2 = Transpose<perm = [0, 2, 1, 3]>(y1)
  y3 = Reshape(y2, merged)
  y4 = MatMul(y3, wo)
  a = Add(x, y4)
  n2 = LayerNormalization(a, g2, h2)
  u1 = MatMul(n2, wu)
  u = Add(u1, bu)
  e1 = Div(u, root)
  e2 = Erf(e1)
  e3 = Add(e2, one)
  e4 = Mul(u, e3)
  e = Mul(e4, half)
  d = MatMul(e, wd)
  z = Add(a, d)
  last = LayerNormalization(z, g3, h3)
  logits = MatMul(last, head)
}"""


def mlp(p, x):
    return F.linear(torch.relu(F.linear(x, p["w1"], p["b1"])), p["w2"], p["b2"])


def lenet(p, x):
    x = F.max_pool2d(torch.relu(F.conv2d(x, p["k1"], p["d1"], padding=1)), 2)
    return F.linear(F.avg_pool2d(torch.tanh(F.conv2d(x, p["k2"], p["d2"])), 2).flatten(1), p["w"], p["b"])


def resnet(p, x, running=None):
    """`running` gets the mean and the variance of the batch."""
    def norm(i, y):
        if running is not None:
            running.update({f"m{i}": y.mean((0, 2, 3)), f"v{i}": y.var((0, 2, 3), unbiased=False)})
        return F.batch_norm(y, None, None, p[f"s{i}"], p[f"o{i}"], training=True)
    r0 = torch.relu(norm(0, F.conv2d(x, p["k0"], stride=2, padding=1)))
    y = norm(2, F.conv2d(torch.relu(norm(1, F.conv2d(r0, p["k1"], padding=1))), p["k2"], padding=1))
    return F.linear(torch.relu(y + r0).mean((2, 3)), p["w"], p["b"])


def transformer(p, ids):
    def norm(i, y):
        return F.layer_norm(y, (16,), p[f"g{i}"], p[f"h{i}"])

    def heads(y):
        return y.reshape(y.shape[0], y.shape[1], 4, 4).transpose(1, 2)
    x = p["table"][ids]
    n = norm(1, x)
    y = F.scaled_dot_product_attention(heads(n @ p["wq"]), heads(n @ p["wk"]), heads(n @ p["wv"]))
    a = x + y.transpose(1, 2).reshape(x.shape) @ p["wo"]
    return norm(3, a + F.gelu(norm(2, a) @ p["wu"] + p["bu"]) @ p["wd"]) @ p["head"]


def weights(shapes, seed):
    r = np.random.default_rng(seed)
    return {name: (r.standard_normal(s) / np.sqrt(max(1, np.prod(s[1:]))) if len(s) > 1 else 1 + 0.1 * r.standard_normal(s)
                   if name[0] in "sgv" else 0.1 * r.standard_normal(s)).astype(np.float32) for name, s in shapes.items()}


MODELS = {
    "mlp": (MLP, mlp, {"w1": (16, 8), "b1": (16,), "w2": (5, 16), "b2": (5,)}, lambda r: r.standard_normal((6, 8)).astype(np.float32)),
    "lenet": (LENET, lenet, {"k1": (4, 1, 3, 3), "d1": (4,), "k2": (6, 4, 3, 3), "d2": (6,), "w": (5, 24), "b": (5,)},
              lambda r: r.standard_normal((6, 1, 12, 12)).astype(np.float32)),
    "resnet": (RESNET, resnet, {"k0": (6, 3, 3, 3), "k1": (6, 6, 3, 3), "k2": (6, 6, 3, 3), "w": (5, 6), "b": (5,),
                                **{f"{n}{i}": (6,) for n in "sov" for i in range(3)}, **{f"m{i}": (6,) for i in range(3)}},
               lambda r: r.standard_normal((6, 3, 8, 8)).astype(np.float32)),
    "transformer": (TRANSFORMER, transformer,
                    {"table": (11, 16), "wq": (16, 16), "wk": (16, 16), "wv": (16, 16), "wo": (16, 16), "wu": (16, 32), "bu": (32,),
                     "wd": (32, 16), "head": (16, 11), **{f"{n}{i}": (16,) for n in "gh" for i in (1, 2, 3)}},
                    lambda r: r.integers(0, 11, (3, 7))),
}


def file_of(text, values, path):
    model = onnx.parser.parse_model(text)
    model.graph.initializer.extend(onnx.numpy_helper.from_array(v, n) for n, v in values.items())
    onnx.save(model, path)


class Trained:
    """The training entry of a model, whose states this object keeps."""

    def __init__(self, folder, text, values, train, dims=()):
        path, out = os.path.join(folder, "m.onnx"), os.path.join(folder, "m.gart")
        file_of(text, values, path)
        done = subprocess.run([os.environ["GCC_GRAPH"], "compile", path, "-o", out, "--train", train + ",states=caller", *dims],
                              capture_output=True, text=True)
        if done.returncode != 0:
            raise AssertionError(done.stderr)
        self.report = done.stdout
        model = gart.load(out, device="cpu")
        self.run, self.values = model.new_invocation("train").run, dict(values)
        self.inputs = model._program.interface("train")[0]
        self.evaluate = model.new_invocation("evaluate").run

    def step(self, **inputs):
        for name in self.inputs:
            if name not in inputs and name not in self.values:
                like = self.values.get(name.rsplit(".", 1)[0])
                self.values[name] = np.zeros((), np.int64) if like is None else np.zeros_like(like)
        fed = {name: inputs[name] if name in inputs else self.values[name] for name in self.inputs}
        results = self.run(fed)
        self.values.update({name.removesuffix(".new"): np.array(v) for name, v in results.items() if name != "loss"})
        return float(results["loss"])


OPTIMIZERS = {
    "adamw(lr=0.01,weight_decay=0.1)": lambda p: torch.optim.AdamW(p, lr=0.01, weight_decay=0.1),
    "adam(lr=0.01,weight_decay=0.1)": lambda p: torch.optim.Adam(p, lr=0.01, weight_decay=0.1),
    "momentum(lr=0.05,momentum=0.9)": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9),
    "momentum(lr=0.05,momentum=0.8,nesterov=1,weight_decay=0.01)":
        lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.8, nesterov=True, weight_decay=0.01),
    "sgd(lr=0.1)": lambda p: torch.optim.SGD(p, lr=0.1),
    "adagrad(lr=0.05,lr_decay=0.1)": lambda p: torch.optim.Adagrad(p, lr=0.05, lr_decay=0.1),
}


class Training(unittest.TestCase):
    def train(self, name, optimizer, steps, clip=0, dims=()):
        text, forward, shapes, draw = MODELS[name]
        values = weights(shapes, 1)
        axis = ",axis=-1" if name == "transformer" else ""
        spec = f"loss=cross_entropy(logits,labels{axis}),optimizer={optimizer}" + (f",clip={clip}" if clip else "")
        r = np.random.default_rng(2)
        with tempfile.TemporaryDirectory() as folder:
            ours = Trained(folder, text, values, spec, dims)
            used = {n for n in shapes if name != "resnet" or n[0] not in "mv"}
            params = {n: torch.tensor(v, requires_grad=n in used) for n, v in values.items()}
            torch_step = OPTIMIZERS[optimizer]([params[n] for n in sorted(used)])
            for step in range(steps):
                x = draw(r)
                labels = r.integers(0, 11 if name == "transformer" else 5, x.shape[:2] if name == "transformer" else x.shape[:1])
                got = ours.step(**{next(iter(ours.inputs)): x, "labels": labels})
                logits = forward(params, torch.tensor(x))
                loss = F.cross_entropy(logits.reshape(-1, logits.shape[-1]), torch.tensor(labels).reshape(-1))
                torch_step.zero_grad()
                loss.backward()
                if clip:
                    torch.nn.utils.clip_grad_norm_([params[n] for n in used], clip)
                if step == 0 and "momentum" in optimizer and "weight_decay" not in optimizer:
                    self.gradients(ours, params, used, name)
                torch_step.step()
                self.assertLess(abs(got - loss.item()), 1e-4, f"{name}, {optimizer}, step {step}")
            for n in used:
                error = np.abs(ours.values[n] - params[n].detach().numpy()).max()
                self.assertLess(error, 2e-3, f"{name}, {optimizer}: parameter {n} after {steps} steps")
            return ours

    def gradients(self, ours, params, used, name):
        """Compares gradients: after the first step, the momentum is the gradient."""
        for n in used:
            want = params[n].grad.numpy()
            got = ours.values[n + ".momentum"]
            self.assertLess(np.abs(got - want).max(), 1e-5 * max(1, np.abs(want).max()), f"{name}: gradient by {n}")

    def test_optimizers(self):
        for optimizer in OPTIMIZERS:
            with self.subTest(optimizer):
                self.train("mlp", optimizer, 20)

    def test_models(self):
        for name in ("lenet", "transformer", "resnet"):
            for optimizer in ("adamw(lr=0.01,weight_decay=0.1)", "momentum(lr=0.05,momentum=0.9)"):
                with self.subTest(name, optimizer=optimizer):
                    self.train(name, optimizer, 20)

    def test_known_extents(self):
        self.train("lenet", "momentum(lr=0.05,momentum=0.9)", 5, dims=("--dim", "batch=6"))

    def test_clipping(self):
        self.train("mlp", "sgd(lr=0.1)", 10, clip=0.1)

    def test_running_statistics(self):
        text, _, shapes, draw = MODELS["resnet"]
        values = weights(shapes, 1)
        with tempfile.TemporaryDirectory() as folder:
            ours = Trained(folder, text, values, "loss=cross_entropy(logits,labels),optimizer=sgd(lr=0.0)")
            self.assertIn("6 running statistics", ours.report)
            x = draw(np.random.default_rng(3))
            ours.step(x=x, labels=np.zeros(6, np.int64))
            y = F.conv2d(torch.tensor(x), torch.tensor(values["k0"]), stride=2, padding=1).numpy()
            np.testing.assert_allclose(ours.values["m0"], 0.9 * values["m0"] + 0.1 * y.mean((0, 2, 3)), rtol=1e-4, atol=1e-6)
            np.testing.assert_allclose(ours.values["v0"], 0.9 * values["v0"] + 0.1 * y.var((0, 2, 3)), rtol=1e-4, atol=1e-6)

    def test_exchanged_statistics(self):
        """k replicas that exchange statistics of their batches train as torch does with the k-fold batch, running statistics included."""
        text, _, shapes, draw = MODELS["resnet"]
        values, batch, steps = weights(shapes, 1), 6, 5
        r = np.random.default_rng(4)
        for k in (2, 3):
            x = np.concatenate([draw(r) for _ in range(k * steps)])
            labels = r.integers(0, 5, k * steps * batch)
            params = {n: torch.tensor(v, requires_grad=n[0] not in "mv") for n, v in values.items()}
            optimizer = torch.optim.SGD([p for n, p in params.items() if n[0] not in "mv"], lr=0.05, momentum=0.9)
            losses = []
            for part in range(steps):
                rows = slice(part * k * batch, (part + 1) * k * batch)
                running = {}
                loss = F.cross_entropy(resnet(params, torch.tensor(x[rows]), running), torch.tensor(labels[rows]))
                for name, value in running.items():
                    params[name] = 0.9 * params[name] + 0.1 * value.detach()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
            with tempfile.TemporaryDirectory() as folder:
                path = [os.path.join(folder, name) for name in ("m.onnx", "m.gart", "d.npz", "o.gart", "m.jsonl")]
                file_of(text, values, path[0])
                np.savez(path[2], x=x, labels=labels)
                train = "loss=cross_entropy(logits,labels),optimizer=momentum(lr=0.05,momentum=0.9),replicas=on,batch_statistics=exchanged"
                for command in (["compile", path[0], "-o", path[1], "--train", train],
                                ["train", path[1], "--data", path[2], "--batch", str(batch), "--replicas", str(k), "--no-shuffle",
                                 "--metrics", path[4], "-o", path[3], "--threads", "2"]):
                    done = subprocess.run([os.environ["GCC_GRAPH"], *command], capture_output=True, text=True)
                    self.assertEqual(done.returncode, 0, done.stderr)
                model = gart.load(path[3], device="cpu")
                with open(path[4], encoding="utf-8") as f:
                    got = [json.loads(line)["loss"] for line in f]
            for step, loss in enumerate(losses):
                self.assertAlmostEqual(np.mean(got[step * k:(step + 1) * k]), loss, 4, f"{k} replicas, step {step}")
            for name, value in params.items():
                error = np.abs(model.state(name) - value.detach().numpy()).max()
                self.assertLess(error, 1e-4 * max(1, np.abs(value.detach().numpy()).max()), f"{k} replicas: {name}")


if __name__ == "__main__":
    unittest.main()
