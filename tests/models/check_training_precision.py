"""Compares training with precision=f16 and precision=bf16 with PyTorch's autocast and GradScaler: losses, parameters, and the scale."""
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

from check_training import LENET, MLP, file_of, lenet, mlp, weights

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools", "python"))
import gart

STEPS = 60
SHAPES = {"mlp": (MLP, mlp, {"w1": (16, 8), "b1": (16,), "w2": (5, 16), "b2": (5,)}, (32, 8)),
          "lenet": (LENET, lenet, {"k1": (4, 1, 3, 3), "d1": (4,), "k2": (6, 4, 3, 3), "d2": (6,), "w": (5, 24), "b": (5,)}, (16, 1, 12, 12))}
TYPES = {"f16": torch.float16, "bf16": torch.bfloat16}
ROUNDING = {"f16": 2.0 ** -11, "bf16": 2.0 ** -8}  # largest relative error of one rounding


def batches(shape, huge):
    """Samples with learnable labels. The batches `huge` have samples whose products, or whose gradients, overflow in f16."""
    r = np.random.default_rng(5)
    for step in range(STEPS):
        x = r.standard_normal(shape).astype(np.float32)
        labels = np.argmax(x.reshape(len(x), -1)[:, :5], 1)
        yield (x * np.float32(1e6) if step in huge else x), labels


class MixedPrecision(unittest.TestCase):
    def compiled(self, folder, name, precision):
        text, _, shapes, _ = SHAPES[name]
        path, out = os.path.join(folder, "m.onnx"), os.path.join(folder, "m.gart")
        file_of(text, weights(shapes, 1), path)
        option = f",precision={precision}" if precision else ""
        subprocess.run([os.environ["GCC_GRAPH"], "compile", path, "-q", "-o", out, "--train",
                        "loss=cross_entropy(logits,labels),optimizer=adamw(lr=0.01)" + option], check=True)
        return gart.load(out, device="cpu")

    def torch_run(self, name, precision, huge, first_scale, interval):
        _, forward, shapes, shape = SHAPES[name]
        params = {n: torch.tensor(v, requires_grad=True) for n, v in weights(shapes, 1).items()}
        optimizer = torch.optim.AdamW(params.values(), lr=0.01)
        scaler = torch.amp.GradScaler("cpu", init_scale=first_scale, growth_interval=interval, enabled=precision == "f16")
        losses, scales = [], []
        for x, labels in batches(shape, huge):
            optimizer.zero_grad()
            with torch.autocast("cpu", dtype=TYPES.get(precision), enabled=precision is not None):
                loss = F.cross_entropy(forward(params, torch.tensor(x)), torch.tensor(labels))
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            losses.append(loss.item())
            scales.append(scaler.get_scale())
        return losses, scales, params

    def run_both(self, name, precision, huge=(), first_scale=65536.0, interval=2000):
        with tempfile.TemporaryDirectory() as folder:
            model = self.compiled(folder, name, precision)
        has_scale = precision == "f16"
        self.assertEqual("loss_scale" in model.states, has_scale)
        if has_scale:
            self.assertEqual(float(model.state("loss_scale")), 65536)
            model.set_state("loss_scale", np.float32(first_scale))
        losses, scales = [], []
        for i, (x, labels) in enumerate(batches(SHAPES[name][3], huge)):
            if has_scale and interval != 2000 and int(model.state("loss_scale.steps")) == interval - 1:
                model.set_state("loss_scale.steps", np.int64(1999))  # the interval of the compiled rule is 2000
            losses.append(float(model.run({"x": x, "labels": labels}, entry="train")["loss"]))
            scales.append(float(model.state("loss_scale")) if has_scale else 1.0)
        want, want_scales, params = self.torch_run(name, precision, huge, first_scale, interval)
        self.assertEqual(scales, want_scales)
        return model, np.array(losses), np.array(want), params, scales

    def test_losses(self):
        """The losses differ from PyTorch's by less than some roundings of the type, and so do the parameters at the end."""
        for name in SHAPES:
            for precision in TYPES:
                with self.subTest(name, precision=precision):
                    model, losses, want, params, _ = self.run_both(name, precision)
                    full = np.array(self.torch_run(name, None, (), 1, 2000)[0])
                    error, own = np.abs(losses - want).max(), np.abs(want - full).max()
                    print(f"{name} {precision}: largest difference from PyTorch's losses {error:.2e}; PyTorch's from f32 {own:.2e}")
                    self.assertLess(error, 16 * ROUNDING[precision])
                    self.assertGreater(np.abs(losses - full).max(), 1e-6, "nothing was rounded")
                    for n, p in params.items():
                        self.assertLess(np.abs(model.state(n) - p.detach().numpy()).max(), 64 * ROUNDING[precision], n)

    def test_scale(self):
        """Overflows in the forward and in the backward pass: the scale is PyTorch's after each step, and as many steps are skipped."""
        for name in SHAPES:
            for huge, first, interval in (((3, 4, 20), 65536.0, 2000), ((10,), 2.0 ** 24, 2000), ((7, 30), 1024.0, 5)):
                with self.subTest(name, first=first, interval=interval):
                    model, losses, want, _, scales = self.run_both(name, "f16", huge, first, interval)
                    falls = sum(b < a for a, b in zip([first, *scales], scales))
                    self.assertGreaterEqual(falls, len(huge))
                    self.assertEqual(int(model.state("loss_scale.skipped")), falls)
                    self.assertEqual(int(model.state("step")), STEPS - falls)
                    usual = [i for i in range(STEPS) if i not in huge]
                    self.assertLess(np.abs(losses - want)[usual].max(), 16 * ROUNDING["f16"])


if __name__ == "__main__":
    unittest.main()
