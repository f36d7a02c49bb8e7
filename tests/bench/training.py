#!/usr/bin/env python3
"""Compares training steps with those of other frameworks: gradients, optimizer and all.

  training.py [--threads 1,2] [--rounds 5] [--seconds 0.5] [--priority N] [--peers torch,compile,jax] [MODEL...]
                                                                                          (ninja bench_training)
  training.py --curves F.svg [--steps 200] [MODEL...]

Each framework has a process of its own, and they run in turns. A step computes the loss of a batch, the gradients and
the new parameters; labels and inputs are arrays of the caller. The median of the rounds counts. `torch` is eager
PyTorch, `compile` is torch.compile, and `jax` is jax.jit of the whole step, which may reuse the parameters' memory.
torch.onnx exports the models; `gcc-graph compile --train` gets the file with its batch open. The losses of the
first three steps must agree within 1e-3. A framework that is not installed is left out. Exit code 1 if ours is slower
than the best of the others in a row.

--curves draws the losses of ours and of PyTorch from the same start, over and over the same eight batches.
"""
import argparse
import importlib.util
import io
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
SGD, ADAMW = ("momentum", 0.01), ("adamw", 0.001)
LOSSES = 3   # steps whose losses are compared
CYCLE = 8    # batches of --curves
LAYERS = ((64, 64, 1), (64, 64, 1), (64, 128, 2), (128, 128, 1), (128, 256, 2), (256, 256, 1), (256, 512, 2), (512, 512, 1))  # of ResNet-18


# ---------------------------------------------------------------- models, written once for torch and jax

class Torch:
    """The functions that models use, in torch."""

    def __init__(self):
        import torch
        import torch.nn.functional as F
        self.relu, self.gelu, self.take = torch.relu, F.gelu, F.embedding
        self.softmax = lambda x: torch.softmax(x, -1)
        self.norm = lambda x, g, b: F.layer_norm(x, g.shape, g, b)
        self.pool = lambda x, size=2, padding=0: F.max_pool2d(x, size, 2, padding)
        self.causal = lambda scores, n: scores.masked_fill(torch.ones(n, n, dtype=torch.bool, device=scores.device).triu(1), -1e9)
        self.F, self.training = F, True

    def conv(self, x, w, b=None, stride=1, padding=0):
        return self.F.conv2d(x, w, b, stride, padding)

    def batch_norm(self, x, p, name):
        return self.F.batch_norm(x, p[name + ".mean"], p[name + ".var"], p[name + ".g"], p[name + ".b"], self.training)


class Jax:
    """The same in jax."""

    def __init__(self):
        import jax
        import jax.numpy as jnp
        self.relu, self.gelu, self.take = jax.nn.relu, lambda x: jax.nn.gelu(x, approximate=False), lambda i, table: table[i]
        self.softmax = lambda x: jax.nn.softmax(x, -1)
        self.jax, self.jnp = jax, jnp
        self.pool = lambda x, size=2, padding=0: jax.lax.reduce_window(
            x, -np.inf, jax.lax.max, (1, 1, size, size), (1, 1, 2, 2), ((0, 0), (0, 0), (padding, padding), (padding, padding)))
        self.causal = lambda scores, n: jnp.where(np.triu(np.ones((n, n), bool), 1), -1e9, scores)

    def norm(self, x, g, b):
        d = x - x.mean(-1, keepdims=True)
        return d * self.jax.lax.rsqrt((d * d).mean(-1, keepdims=True) + 1e-5) * g + b

    def conv(self, x, w, b=None, stride=1, padding=0):
        y = self.jax.lax.conv_general_dilated(x, w, (stride, stride), ((padding, padding),) * 2)
        return y if b is None else y + b[:, None, None]

    def batch_norm(self, x, p, name):
        d = x - x.mean((0, 2, 3), keepdims=True)
        return d * self.jax.lax.rsqrt((d * d).mean((0, 2, 3), keepdims=True) + 1e-5) * p[name + ".g"][:, None, None] + p[name + ".b"][:, None, None]


def mlp(f, p, x):
    for i in (1, 2):
        x = f.relu(x @ p[f"w{i}"] + p[f"b{i}"])
    return x @ p["w3"] + p["b3"]


def lenet(f, p, x):
    x = f.pool(f.relu(f.conv(x, p["k1"], p["d1"], padding=2)))
    x = f.pool(f.relu(f.conv(x, p["k2"], p["d2"])))
    return mlp(f, p, x.reshape(-1, 400))


def resnet18(f, p, x):
    x = f.relu(f.batch_norm(f.conv(x, p["stem"], stride=2, padding=3), p, "n0"))
    x = f.pool(x, 3, 1)
    for i, (a, b, stride) in enumerate(LAYERS):
        y = f.relu(f.batch_norm(f.conv(x, p[f"a{i}"], stride=stride, padding=1), p, f"na{i}"))
        y = f.batch_norm(f.conv(y, p[f"b{i}"], padding=1), p, f"nb{i}")
        if a != b:
            x = f.batch_norm(f.conv(x, p[f"c{i}"], stride=stride), p, f"nc{i}")
        x = f.relu(x + y)
    return x.mean((2, 3)) @ p["w"] + p["bias"]


def block(f, p, i, x, heads, tokens, causal):
    """A layer of a transformer, normalised first."""
    width = x.shape[-1]

    def split(y):
        return y.reshape(-1, tokens, heads, width // heads).swapaxes(1, 2)
    n = f.norm(x, p[f"g1{i}"], p[f"h1{i}"])
    q, k, v = (split(n @ p[f"{c}{i}"] + p[f"{c}b{i}"]) for c in "qkv")
    scores = q @ k.swapaxes(2, 3) * (1 / math.sqrt(width // heads))
    y = f.softmax(f.causal(scores, tokens) if causal else scores) @ v
    x = x + y.swapaxes(1, 2).reshape(-1, tokens, width) @ p[f"o{i}"] + p[f"ob{i}"]
    n = f.norm(x, p[f"g2{i}"], p[f"h2{i}"])
    return x + f.gelu(n @ p[f"u{i}"] + p[f"ub{i}"]) @ p[f"d{i}"] + p[f"db{i}"]


def transformer(layers, heads, tokens, causal):
    def forward(f, p, ids):
        x = f.take(ids, p["table"]) + p["places"]
        for i in range(layers):
            x = block(f, p, i, x, heads, tokens, causal)
        x = f.norm(x, p["g"], p["h"])
        return (x if causal else x[:, 0]) @ p["head"]
    return forward


def transformer_shapes(layers, width, tokens, words, classes):
    shapes = {"table": (words, width), "places": (tokens, width), "g": (width,), "h": (width,), "head": (width, classes)}
    for i in range(layers):
        shapes.update({f"{c}{i}": (width, width) for c in "qkvo"} | {f"{c}b{i}": (width,) for c in "qkvod"} | {f"ub{i}": (4 * width,)})
        shapes.update({f"u{i}": (width, 4 * width), f"d{i}": (4 * width, width)} | {f"{n}{i}": (width,) for n in ("g1", "h1", "g2", "h2")})
    return shapes


def resnet_shapes():
    shapes = {"stem": (64, 3, 7, 7), "w": (512, 10), "bias": (10,)}
    norms = {"n0": 64}
    for i, (a, b, _) in enumerate(LAYERS):
        shapes.update({f"a{i}": (b, a, 3, 3), f"b{i}": (b, b, 3, 3)} | ({f"c{i}": (b, a, 1, 1)} if a != b else {}))
        norms.update({f"na{i}": b, f"nb{i}": b} | ({f"nc{i}": b} if a != b else {}))
    return shapes | {f"{n}.{part}": (width,) for n, width in norms.items() for part in ("g", "b", "mean", "var")}


def fully(*widths):
    pairs = list(zip(widths, widths[1:]))
    return {f"w{i + 1}": p for i, p in enumerate(pairs)} | {f"b{i + 1}": (p[1],) for i, p in enumerate(pairs)}


# name: (forward, shapes of parameters, shape of the input, words of a vocabulary or 0, shape of the labels, classes, optimizer)
MODELS = {
    "mlp": (mlp, fully(784, 512, 512, 10), (64, 784), 0, (64,), 10, SGD),
    "lenet-5": (lenet, {"k1": (6, 1, 5, 5), "d1": (6,), "k2": (16, 6, 5, 5), "d2": (16,)} | fully(400, 120, 84, 10),
                (64, 1, 28, 28), 0, (64,), 10, SGD),
    "resnet-18": (resnet18, resnet_shapes(), (8, 3, 64, 64), 0, (8,), 10, SGD),
    "bert-tiny": (transformer(2, 2, 64, False), transformer_shapes(2, 128, 64, 30522, 2), (16, 64), 30522, (16,), 2, ADAMW),
    "gpt-mini": (transformer(4, 8, 128, True), transformer_shapes(4, 256, 128, 512, 512), (8, 128), 512, (8, 128), 512, ADAMW),
}


def parameters(name):
    r = np.random.default_rng(0)

    def draw(n, shape):
        if len(shape) == 1:  # no two are equal, because the exporter would join them
            return 0.01 * r.standard_normal(shape) + (1 if n[0] == "g" or n.endswith((".g", ".var")) else 0)
        return r.standard_normal(shape) * math.sqrt(1 / (np.prod(shape[1:]) if len(shape) > 2 else shape[0])) * (0.02 if n == "table" else 1)
    return {n: draw(n, s).astype(np.float32) for n, s in MODELS[name][1].items()}


def batches(name, count=LOSSES):
    _, _, shape, words, labels, classes, _ = MODELS[name]
    r = np.random.default_rng(1)
    for _ in range(count):
        x = r.integers(0, words, shape) if words else r.standard_normal(shape).astype(np.float32)
        yield x, r.integers(0, classes, labels)


def is_trained(name):
    return not name.endswith((".mean", ".var"))


# ---------------------------------------------------------------- frameworks: a function of a batch that returns the loss

def torch_step(name, threads, is_compiled):
    import torch
    torch.set_num_threads(threads)
    f, forward, (kind, rate) = Torch(), MODELS[name][0], MODELS[name][-1]
    p = {n: torch.tensor(v, requires_grad=is_trained(n)) for n, v in parameters(name).items()}
    trained = [v for n, v in p.items() if is_trained(n)]
    optimizer = torch.optim.SGD(trained, lr=rate, momentum=0.9) if kind == "momentum" else torch.optim.AdamW(trained, lr=rate, weight_decay=0.01)

    def loss_of(x, labels):
        y = forward(f, p, x)
        return torch.nn.functional.cross_entropy(y.reshape(-1, y.shape[-1]), labels.reshape(-1))
    compiled = torch.compile(loss_of) if is_compiled else loss_of

    def step(x, labels):
        optimizer.zero_grad()
        loss = compiled(torch.from_numpy(x), torch.from_numpy(labels))
        loss.backward()
        optimizer.step()
        return loss.item()
    return step


def jax_step(name, threads):
    if threads == 1:
        os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"
    import jax
    import jax.numpy as jnp
    f, forward, (kind, rate) = Jax(), MODELS[name][0], MODELS[name][-1]
    p = {n: jnp.asarray(v) for n, v in parameters(name).items() if is_trained(n)}
    zeros = {n: jnp.zeros_like(v) for n, v in p.items()}
    state = [p, zeros, {n: jnp.zeros_like(v) for n, v in p.items()} if kind == "adamw" else {}, jnp.zeros((), jnp.int32)]

    def loss_of(p, x, labels):
        y = forward(f, p, x)
        y = y.reshape(-1, y.shape[-1])
        return -jnp.take_along_axis(jax.nn.log_softmax(y), labels.reshape(-1, 1), 1).mean()

    def update(p, m, v, t, x, labels):
        loss, g = jax.value_and_grad(loss_of)(p, x, labels)
        if kind == "momentum":
            m = {n: 0.9 * m[n] + g[n] for n in p}
            return {n: p[n] - rate * m[n] for n in p}, m, v, t, loss
        t = t + 1
        m = {n: 0.9 * m[n] + 0.1 * g[n] for n in p}
        v = {n: 0.999 * v[n] + 0.001 * g[n] * g[n] for n in p}
        a, b = 1 - 0.9 ** t, 1 - 0.999 ** t
        p = {n: p[n] * (1 - rate * 0.01) - rate / a * m[n] / (jnp.sqrt(v[n] / b) + 1e-8) for n in p}
        return p, m, v, t, loss
    compiled = jax.jit(update, donate_argnums=(0, 1, 2, 3))

    def step(x, labels):
        *state[:], loss = compiled(*state, x, labels)
        return float(loss)
    return step


def export(name, path):
    import onnx
    import torch
    f, forward = Torch(), MODELS[name][0]
    f.training = False
    p = torch.nn.ParameterDict({n.replace(".", "_"): torch.nn.Parameter(torch.tensor(v), requires_grad=False) for n, v in parameters(name).items()})

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.p = p

        def forward(self, x):
            return forward(f, {n: self.p[n.replace(".", "_")] for n in MODELS[name][1]}, x)
    file = io.BytesIO()
    x = torch.from_numpy(next(batches(name))[0])
    torch.onnx.export(Model().eval(), (x,), file, input_names=["x"], output_names=["y"], dynamic_axes={"x": {0: "batch"}}, dynamo=False,
                      opset_version=17, do_constant_folding=False, training=torch.onnx.TrainingMode.PRESERVE)
    onnx.save(onnx.load_from_string(file.getvalue()), path)


def our_step(name, threads):
    sys.path.insert(0, os.path.join(ROOT, "tools", "python"))
    import gart
    with tempfile.TemporaryDirectory() as folder:
        path, out = os.path.join(folder, "m.onnx"), os.path.join(folder, "m.gart")
        export(name, path)
        kind, rate = MODELS[name][-1]
        optimizer = f"momentum(lr={rate},momentum=0.9)" if kind == "momentum" else f"adamw(lr={rate},weight_decay=0.01)"
        axis = ",axis=-1" if len(MODELS[name][4]) > 1 else ""
        tool = os.environ.get("GCC_GRAPH", os.path.join(ROOT, "build", "release", "bin", "gcc-graph"))
        subprocess.run([tool, "compile", path, "-o", out, "--train", f"loss=cross_entropy(y,t{axis}),optimizer={optimizer}", "-q"], check=True)
        run = gart.load(out, device="cpu", threads=threads).new_invocation("train").run

    def step(x, labels):
        return float(run({"x": x, "t": labels})["loss"])
    return step


PEERS = {"ours": our_step, "torch": lambda name, threads: torch_step(name, threads, False),
         "compile": lambda name, threads: torch_step(name, threads, True), "jax": jax_step}


def work(peer, name, threads, steps):
    """Speaks with the process that compares: first the losses, then for each number of seconds the time of a step. With a number of
    `steps`, the losses are all that it wants."""
    step = PEERS[peer](name, threads)
    if steps:
        data = list(batches(name, CYCLE))
        return print(*(step(*data[i % CYCLE]) for i in range(steps)), flush=True)
    data = list(batches(name))
    print(*(step(x, t) for x, t in data), flush=True)
    for _ in range(5):
        step(*data[0])
    for line in sys.stdin:
        end, times = time.perf_counter() + float(line), []
        while time.perf_counter() < end or len(times) < 3:
            start = time.perf_counter()
            step(*data[len(times) % len(data)])
            times.append(time.perf_counter() - start)
        print(statistics.median(times), flush=True)


# ---------------------------------------------------------------- comparison

class Worker:
    def __init__(self, peer, name, threads, priority, steps=0):
        first = ["chrt", "-f", str(priority)] if priority else []
        self.process = subprocess.Popen([*first, "taskset", "-c", ",".join(map(str, range(threads))), sys.executable, os.path.abspath(__file__),
                                         "--work", peer, name, str(threads), "--steps", str(steps)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        self.losses = [float(v) for v in line.split()]
        if not self.losses:
            self.process.wait()

    def measure(self, seconds):
        self.process.stdin.write(f"{seconds}\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def compare(name, threads, a):
    """Prints one row. Returns the ratio of the best other's time to ours, or nothing if there is no other."""
    workers = {peer: Worker(peer, name, threads, a.priority) for peer in ("ours", *a.peers.split(","))}
    for peer in [p for p, w in workers.items() if not w.losses]:
        if peer == "ours":
            raise SystemExit(f"{name}: ours failed")
        del workers[peer]
    for peer, w in workers.items():
        if np.abs(np.subtract(w.losses, workers["ours"].losses)).max() > 1e-3:
            raise SystemExit(f"{name}: {peer} has the losses {w.losses}, ours {workers['ours'].losses}")
    rounds = [{peer: w.measure(a.seconds) for peer, w in workers.items()} for _ in range(a.rounds)]
    for w in workers.values():
        w.close()
    times = {peer: statistics.median(r[peer] for r in rounds) for peer in workers}
    others = {peer: t for peer, t in times.items() if peer != "ours"}
    ratio = min(others.values()) / times["ours"] if others else None
    print(f"| {name} | {threads} | {times['ours'] * 1e3:.2f} | " + " | ".join(f"{times[p] * 1e3:.2f}" if p in times else "-" for p in a.peers.split(",")) +
          (f" | {ratio:.2f} |" if ratio else " | - |"), flush=True)
    return ratio


def draw(curves, path):
    """Draws {model: {peer: losses}}: a frame per model, and a line per peer."""
    width, height, gap = 300, 160, 50
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{gap + (width + gap) * len(curves)}" height="{height + 2 * gap}" font-family="sans-serif" font-size="11">',
           '<rect width="100%" height="100%" fill="white"/>']
    for i, (name, lines) in enumerate(curves.items()):
        left, most = gap + i * (width + gap), max(max(v) for v in lines.values())
        apart = np.abs(np.subtract(*lines.values()))
        out.append(f'<text x="{left}" y="{gap - 26}" font-weight="bold">{name}</text>')
        out.append(f'<text x="{left}" y="{gap - 10}">most {apart.max():.1e} apart, mean {apart.mean():.1e}</text>')
        out.append(f'<rect x="{left}" y="{gap}" width="{width}" height="{height}" fill="none" stroke="#bbb"/>')
        out += [f'<text x="{left - 4}" y="{gap + 8}" text-anchor="end">{most:.2g}</text>', f'<text x="{left - 4}" y="{gap + height}" text-anchor="end">0</text>']
        for (peer, v), (colour, stroke) in zip(lines.items(), (("#d95f02", 4), ("#1b3a6b", 1.2))):
            points = " ".join(f"{left + k * width / (len(v) - 1):.1f},{gap + height - height * y / most:.1f}" for k, y in enumerate(v))
            out.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="{stroke}"/>')
            out.append(f'<text x="{left + width - 4}" y="{gap + 14 + 14 * (peer == "ours")}" text-anchor="end" fill="{colour}">{peer}</text>')
        out.append(f'<text x="{left + width / 2}" y="{gap + height + 16}" text-anchor="middle">{len(v)} steps</text>')
    with open(path, "w", encoding="utf-8") as f:
        f.write("\n".join(out) + "\n</svg>\n")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--threads", default="1,2")
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--seconds", type=float, default=0.5)
    p.add_argument("--priority", type=int, default=0)
    p.add_argument("--peers", default="torch,compile,jax")
    p.add_argument("--curves")
    p.add_argument("--steps", type=int, default=200)
    p.add_argument("--work", nargs=3, help=argparse.SUPPRESS)
    p.add_argument("models", nargs="*", metavar="MODEL")
    a = p.parse_args()
    if a.work:
        return work(a.work[0], a.work[1], int(a.work[2]), a.steps)
    names = [name for name in MODELS if not a.models or name in a.models]
    if importlib.util.find_spec("torch") is None:
        print("SKIP: torch, which exports the models, is not installed")
        return 77
    if a.curves:
        return draw({name: {peer: Worker(peer, name, 1, a.priority, a.steps).losses for peer in ("torch", "ours")} for name in names}, a.curves)
    print("| model | threads | ours, ms | " + " | ".join(f"{peer}, ms" for peer in a.peers.split(",")) + " | best other / ours |")
    print("|---" * (4 + len(a.peers.split(","))) + "|")
    ratios = [compare(name, int(threads), a) for name in names for threads in a.threads.split(",")]
    ratios = [r for r in ratios if r]
    if ratios:
        print(f"geometric mean {statistics.geometric_mean(ratios):.2f}, least {min(ratios):.2f}")
    return 1 if ratios and min(ratios) < 1 else 0


if __name__ == "__main__":
    sys.exit(main())
