#!/usr/bin/env python3
"""Weak scaling of training: two replicas on two threads compared with one replica on one thread.

  replicas.py [--rounds 5] [--epochs 4] [--priority N] [CASE...]      (ninja bench_replicas)

Each case is a model with batches of 64 samples. `gcc-graph train` measures both forms in turns, from its --metrics: the
median time of a group of steps counts, and the median of the rounds. The ratio is that of samples per second. Two
replicas compute two batches and update the parameters once, with the mean of their gradients. Exit code 1 if a ratio is
below 1.7. Needs two free cores; --priority runs the processes with `chrt -f N`.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import numpy_helper, parser

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
BATCH, BATCHES, WARM_UP, LEAST = 64, 40, 10, 1.7
HEADER = '<ir_version: 8, opset_import: ["": 20]>\n'
MODELS = {
    "mlp 784-512-512-10": (HEADER + """mlp (float[batch, 784] x) => (float[batch, 10] y) {
  a0 = MatMul(x, w0) h0 = Add(a0, b0) r0 = Relu(h0)
  a1 = MatMul(r0, w1) h1 = Add(a1, b1) r1 = Relu(h1)
  a2 = MatMul(r1, w2) y = Add(a2, b2)
}""", (784,), {"w0": (784, 512), "b0": (512,), "w1": (512, 512), "b1": (512,), "w2": (512, 10), "b2": (10,)}),
    "lenet-5": (HEADER + """lenet (float[batch, 1, 28, 28] x) => (float[batch, 10] y) {
  flat = Constant<value_ints = [0, -1]>()
  c1 = Conv<pads = [2, 2, 2, 2]>(x, k1, d1) r1 = Relu(c1) p1 = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(r1)
  c2 = Conv(p1, k2, d2) r2 = Relu(c2) p2 = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(r2)
  f = Reshape(p2, flat)
  a0 = MatMul(f, w0) h0 = Add(a0, b0) r3 = Relu(h0)
  a1 = MatMul(r3, w1) h1 = Add(a1, b1) r4 = Relu(h1)
  a2 = MatMul(r4, w2) y = Add(a2, b2)
}""", (1, 28, 28), {"k1": (6, 1, 5, 5), "d1": (6,), "k2": (16, 6, 5, 5), "d2": (16,), "w0": (400, 120), "b0": (120,),
                    "w1": (120, 84), "b1": (84,), "w2": (84, 10), "b2": (10,)}),
}


def tool():
    return os.environ.get("GCC_GRAPH", os.path.join(ROOT, "build", "release", "bin", "gcc-graph"))


def prepare(case, folder, optimizer):
    text, sample, shapes = MODELS[case]
    r = np.random.default_rng(0)
    model = parser.parse_model(text)
    for name, shape in shapes.items():
        values = r.standard_normal(shape) / np.sqrt(np.prod(shape[1:]) if len(shape) > 2 else shape[0])
        model.graph.initializer.append(numpy_helper.from_array((values if len(shape) > 1 else 0 * values).astype(np.float32), name))
    paths = [os.path.join(folder, name) for name in ("m.onnx", "m.gart", "d.npz")]
    onnx.save(model, paths[0])
    np.savez(paths[2], x=r.standard_normal((BATCH * BATCHES, *sample)).astype(np.float32), t=r.integers(0, 10, BATCH * BATCHES))
    train = f"loss=cross_entropy(y,t),optimizer={optimizer},replicas=on"
    subprocess.run([tool(), "compile", paths[0], "-o", paths[1], "--dim", f"batch={BATCH}", "--train", train, "-q"], check=True)
    return paths[1], paths[2]


def microseconds(files, folder, a, replicas):
    """The median time per batch."""
    metrics = os.path.join(folder, "m.jsonl")
    first = ["chrt", "-f", str(a.priority)] if a.priority else []
    threads = ["--threads", str(replicas), *(["--replicas", str(replicas)] if replicas > 1 else [])]
    subprocess.run([*first, tool(), "train", files[0], "--data", files[1], "--batch", str(BATCH), "--epochs", str(a.epochs), "--quiet",
                    "--metrics", metrics, "-o", os.path.join(folder, "o.gart"), *threads], check=True)
    with open(metrics, encoding="utf-8") as f:
        times = [BATCH / json.loads(line)["samples_per_s"] * 1e6 for line in f]
    groups = [sum(times[i:i + replicas]) / replicas for i in range(WARM_UP * replicas, len(times), replicas)]
    return statistics.median(groups)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--epochs", type=int, default=4)
    p.add_argument("--optimizer", default="sgd(lr=0.01)")
    p.add_argument("--priority", type=int, default=0)
    p.add_argument("cases", nargs="*")
    a = p.parse_args()
    print("| model | one replica, us per batch | two replicas, us per batch | samples/s of two over one (each round) |\n|---|---|---|---|")
    is_below = False
    for case in MODELS:
        if a.cases and not any(c in case for c in a.cases):
            continue
        with tempfile.TemporaryDirectory() as folder:
            files = prepare(case, folder, a.optimizer)
            rounds = [(microseconds(files, folder, a, 1), microseconds(files, folder, a, 2)) for _ in range(a.rounds)]
        ratios = sorted(one / two for one, two in rounds)
        one, two = (statistics.median(r[i] for r in rounds) for i in range(2))
        is_below = is_below or statistics.median(ratios) < LEAST
        print(f"| {case} b{BATCH}, {a.optimizer} | {one:.0f} | {two:.0f} | {statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f}) |",
              flush=True)
    return 1 if is_below else 0


if __name__ == "__main__":
    sys.exit(main())
