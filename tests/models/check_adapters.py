"""Compares LoRA adapters on a small Llama, whose base has 4-bit weights, with PyTorch: gradients, and the losses of 10 AdamW steps."""
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
from onnx import helper, numpy_helper

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools", "python"))
import gart

HIDDEN, HEADS, SHARED, SIZE, INNER, LAYERS, WORDS, TOKENS, BLOCK = 64, 4, 2, 16, 96, 2, 53, 12, 32
RANK, ALPHA = 4, 8
TARGETS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "down_proj")


def rotation():
    angles = np.arange(TOKENS)[:, None] / 10000 ** (np.arange(0, SIZE, 2) / SIZE)
    return np.cos(np.concatenate([angles, angles], 1)), np.sin(np.concatenate([angles, angles], 1))


class Llama:
    """Writes the ONNX model, and keeps the weights that its packed integers stand for."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.nodes, self.constants, self.weights = [], [], {}
        cos, sin = rotation()
        self.constant("cos", cos.astype(np.float32))
        self.constant("sin", sin.astype(np.float32))
        self.constant("mask", np.triu(np.full((TOKENS, TOKENS), -1e9, np.float32), 1))
        self.constant("scale", np.float32(SIZE ** -0.5))
        self.constant("heads", np.int64([0, 0, -1, SIZE]))
        self.constant("joined", np.int64([0, 0, HIDDEN]))
        self.constant("halves", np.int64([SIZE // 2, SIZE // 2]))
        self.weights["table"] = self.constant("table", self.random.standard_normal((WORDS, HIDDEN)).astype(np.float32))
        x = self.node("Gather", "table", "ids")
        for i in range(LAYERS):
            x = self.layer(f"/layers.{i}", x)
        self.node("Identity", self.product("/lm_head", self.norm("/norm", x), HIDDEN, WORDS), out="logits")

    def constant(self, name, value):
        self.constants.append(numpy_helper.from_array(np.asarray(value), name))
        return value

    def node(self, op, *inputs, out=None, count=1, name=None, **attributes):
        base = out or f"t{len(self.nodes)}"
        outputs = [base] if count == 1 else [f"{base}_{i}" for i in range(count)]
        self.nodes.append(helper.make_node(op, list(inputs), outputs, name=name or f"{op}_{base}", **attributes))
        return base if count == 1 else outputs

    def norm(self, name, x):
        self.weights[name] = self.constant(name, self.random.uniform(0.5, 1.5, HIDDEN).astype(np.float32))
        return self.node("RMSNormalization", x, name, axis=-1, epsilon=1e-5)

    def product(self, name, x, k, n):
        packed = self.random.integers(0, 256, (n, k // BLOCK, BLOCK // 2), np.uint8)
        scales = (self.random.uniform(0.5, 1.5, (n, k // BLOCK)) / (4.6 * np.sqrt(k))).astype(np.float32)
        self.constant(name + ".q", packed)
        self.constant(name + ".s", scales)
        numbers = np.stack([packed & 15, packed >> 4], -1).reshape(n, k // BLOCK, BLOCK).astype(np.float32) - 8
        self.weights[name] = (numbers * scales[:, :, None]).reshape(n, k)
        return self.node("MatMulNBits", x, name + ".q", name + ".s", name=name + "/MatMul_Q4", domain="com.microsoft", K=k, N=n, bits=4,
                         block_size=BLOCK)

    def heads(self, x):
        return self.node("Transpose", self.node("Reshape", x, "heads"), perm=[0, 2, 1, 3])

    def rotated(self, x):
        first, second = self.node("Split", x, "halves", count=2, axis=-1)
        turned = self.node("Concat", self.node("Neg", second), first, axis=-1)
        return self.node("Add", self.node("Mul", x, "cos"), self.node("Mul", turned, "sin"))

    def repeated(self, x):
        """Each shared head serves HEADS / SHARED query heads."""
        one, two = self.node("Split", x, count=2, axis=1, num_outputs=2)
        return self.node("Concat", *[h for head in (one, two) for h in [head] * (HEADS // SHARED)], axis=1)

    def layer(self, name, x):
        n = self.norm(name + "/norm1", x)
        q = self.rotated(self.heads(self.product(name + "/q_proj", n, HIDDEN, HIDDEN)))
        k = self.repeated(self.rotated(self.heads(self.product(name + "/k_proj", n, HIDDEN, SHARED * SIZE))))
        v = self.repeated(self.heads(self.product(name + "/v_proj", n, HIDDEN, SHARED * SIZE)))
        scores = self.node("Mul", self.node("MatMul", q, self.node("Transpose", k, perm=[0, 1, 3, 2])), "scale")
        weights = self.node("Softmax", self.node("Add", scores, "mask"), axis=-1)
        y = self.node("Reshape", self.node("Transpose", self.node("MatMul", weights, v), perm=[0, 2, 1, 3]), "joined")
        x = self.node("Add", x, self.product(name + "/o_proj", y, HIDDEN, HIDDEN))
        n = self.norm(name + "/norm2", x)
        gate, up = (self.product(f"{name}/{part}_proj", n, HIDDEN, INNER) for part in ("gate", "up"))
        inner = self.node("Mul", self.node("Mul", gate, self.node("Sigmoid", gate)), up)
        return self.node("Add", x, self.product(name + "/down_proj", inner, INNER, HIDDEN))

    def save(self, path):
        graph = helper.make_graph(self.nodes, "llama", [helper.make_tensor_value_info("ids", 7, ["batch", TOKENS])],
                                  [helper.make_tensor_value_info("logits", 1, ["batch", TOKENS, WORDS])], self.constants)
        opsets = [helper.make_opsetid("", 23), helper.make_opsetid("com.microsoft", 1)]
        onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10), path)


def logits(weights, adapters, ids):
    """The same model in PyTorch."""
    w = {n: torch.tensor(v, dtype=torch.float64) for n, v in weights.items()}
    cos, sin = (torch.tensor(v) for v in rotation())

    def product(name, x):
        y = x @ w[name].T
        if name.endswith(TARGETS):
            y = y + x @ adapters[name + ".lora_A"] @ adapters[name + ".lora_B"] * (ALPHA / RANK)
        return y

    def norm(name, x):
        return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-5) * w[name]

    def heads(x):
        return x.reshape(*x.shape[:2], -1, SIZE).transpose(1, 2)

    def rotated(x):
        return x * cos + torch.cat([-x[..., SIZE // 2:], x[..., :SIZE // 2]], -1) * sin
    x = w["table"][ids]
    for i in range(LAYERS):
        name = f"/layers.{i}"
        n = norm(name + "/norm1", x)
        q, k = (rotated(heads(product(f"{name}/{part}_proj", n))) for part in "qk")
        k, v = (y.repeat_interleave(HEADS // SHARED, 1) for y in (k, heads(product(name + "/v_proj", n))))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(x.shape)
        x = x + product(name + "/o_proj", y)
        n = norm(name + "/norm2", x)
        x = x + product(name + "/down_proj", F.silu(product(name + "/gate_proj", n)) * product(name + "/up_proj", n))
    return product("/lm_head", norm("/norm", x))


class Adapters(unittest.TestCase):
    def compile(self, folder, options, *more):
        done = subprocess.run([os.environ["GCC_GRAPH"], "compile", os.path.join(folder, "llama.onnx"), "-o", os.path.join(folder, "llama.gart"),
                               "--train", f"lora(rank={RANK},alpha={ALPHA},target='{','.join('*' + t for t in TARGETS)}'),"
                               f"loss=cross_entropy(logits,labels,axis=-1),{options}", *more], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return gart.load(os.path.join(folder, "llama.gart"), device="cpu")

    def test_gradients_and_steps(self):
        r = np.random.default_rng(4)
        llama = Llama(3)
        with tempfile.TemporaryDirectory() as folder:
            llama.save(os.path.join(folder, "llama.onnx"))
            model = self.compile(folder, "optimizer=adamw(lr=0.01,weight_decay=0.1),replicas=on")
            names = [n for n in model.states if n.endswith((".lora_A", ".lora_B"))]
            self.assertEqual(len(names), 2 * len(TARGETS) * LAYERS)
            adapters = {}
            for name in names:  # B begins as zeros, which would make the gradients of A zeros
                value = model.state(name) if name.endswith("A") else (0.1 * r.standard_normal(model.state(name).shape)).astype(np.float32)
                model.set_state(name, value)
                adapters[name] = torch.tensor(value, dtype=torch.float64, requires_grad=True)
            optimizer = torch.optim.AdamW(list(adapters.values()), lr=0.01, weight_decay=0.1)
            for step in range(10):
                ids, labels = r.integers(0, WORDS, (2, 3, TOKENS))
                optimizer.zero_grad()
                loss = F.cross_entropy(logits(llama.weights, adapters, torch.tensor(ids)).reshape(-1, WORDS), torch.tensor(labels).reshape(-1))
                loss.backward()
                got = model.run({"ids": ids, "labels": labels}, entry="gradients")
                largest = 0
                for name, adapter in adapters.items():
                    want = adapter.grad.numpy()
                    error = np.abs(got["gradient." + name] - want).max() / np.abs(want).max()
                    self.assertLess(error, 1e-4, f"{name} at step {step}")
                    largest = max(largest, error)
                if step == 0:
                    print(f"gradients of {len(names)} adapters: largest error {largest:.1e} of the largest element")
                out = model.run({"ids": ids, "labels": labels}, entry="train")
                self.assertEqual(out["loss"], got["loss"])
                self.assertLess(abs(float(out["loss"]) - loss.item()), 1e-4, f"step {step}")
                optimizer.step()
            for name, adapter in adapters.items():
                np.testing.assert_allclose(model.state(name), adapter.detach().numpy(), atol=2e-3, err_msg=name)


if __name__ == "__main__":
    unittest.main()
