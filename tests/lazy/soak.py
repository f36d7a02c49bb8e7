#!/usr/bin/env python3
"""soak.py SECONDS: a long session with training, changing shapes and numbers, new graphs, errors and threads must not use more and
more memory."""
import gc
import random
import sys
import threading
import time

import numpy as np

from lazy_case import gl


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


def training(rng):
    w = [gl.array(rng.standard_normal(s).astype(np.float32) * 0.3) for s in ((8, 16), (16, 3))]
    x, labels = gl.array(rng.standard_normal((32, 8)).astype(np.float32)), gl.array(rng.integers(0, 3, 32))
    step = gl.value_and_grad(lambda w: gl.nn.cross_entropy(gl.tanh(x @ w[0]) @ w[1], labels))
    for _ in range(10):
        loss, g = step(w)
        w = [a - 0.3 * b for a, b in zip(w, g)]
        gl.evaluate(loss, w)
    assert float(loss) < 2


def shapes(rng):
    for n in rng.integers(2, 40, 10):
        x = np.ones((n, 3), np.float32)
        np.testing.assert_allclose((gl.exp(gl.array(x)) * 2)[: n - 1].sum(0).numpy(), np.full(3, 2 * np.e * (n - 1)), rtol=1e-5)


def new_graphs(rng):
    x = gl.array(rng.standard_normal(16).astype(np.float32))
    for _ in range(3):
        y = x
        for op in rng.integers(0, 4, 6):
            y = [gl.tanh, gl.abs, lambda v: v + 1, lambda v: v * x][op](y)
        y.numpy()


def errors(_):
    for wrong in (lambda: gl.ones((2, 3)) @ gl.ones((2, 3)), lambda: gl.take(gl.ones(3), gl.array([9])).numpy()):
        try:
            wrong()
        except gl.Error:
            continue
        raise AssertionError("that should have failed")


def threads(_):
    x = gl.ones(100)
    all_ = [threading.Thread(target=lambda k=k: (x * k).sum().item()) for k in range(4)]
    for t in all_:
        t.start()
    for t in all_:
        t.join()


def main(seconds):
    gl.settings(max_programs=64)
    rng, chosen = np.random.default_rng(0), random.Random(0)
    begin, rounds, settled = time.time(), 0, None
    base = gl.stats()["bytes_live"]
    while time.time() - begin < seconds:
        chosen.choice([training, shapes, new_graphs, errors, threads])(rng)
        rounds += 1
        if settled is None and time.time() - begin > 0.4 * seconds:
            gl.wait()
            gc.collect()
            settled = resident()
    gl.wait()
    gc.collect()
    grown = (resident() - settled) / 2 ** 20
    print(f"{rounds} rounds, {gl.stats()['compiles']} compilations; memory grew {grown:.1f} MiB since the first two fifths; {gl.stats()}")
    assert gl.stats()["bytes_live"] == base, "values that nobody holds are there"
    assert grown < 24, "memory is not flat"


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 10)
