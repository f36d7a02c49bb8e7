#!/usr/bin/env python3
"""Random graphs give the same bits wherever the program reads values: check_lazy_cuts.py [GRAPHS [FIRST]], by default
24. The graphs have transposed, reversed, joined and cut operands, sums over long chains and over any axes, softmax,
norms and products, because these change memory layouts and fusion."""
import random
import sys

import numpy as np

from lazy_case import gl


def layers(values, chosen):
    """Functions of the newest value, which has two or three dimensions. Each function records a few nodes, and the
    program may read any of them."""
    y, old = values[-1], chosen.choice(values)
    axis, order = chosen.randrange(y.ndim), list(range(y.ndim))
    chosen.shuffle(order)
    axes = tuple(sorted(chosen.sample(range(y.ndim), chosen.randrange(1, y.ndim + 1))))
    keep = (lambda v: values.append(v) or v)
    rest = tuple(slice(None, None, -1) if chosen.random() < 0.5 else slice(0, max(1, n - 1)) for n in y.shape)
    return [
        lambda: gl.tanh(y), lambda: y.transpose(*order), lambda: y.transpose(*order) * 0.5, lambda: y[rest] + 1,
        lambda: y - keep(y.mean(axis, keepdims=True)), lambda: y - keep(y.sum(axes, keepdims=True)) * 0.01,
        lambda: y - keep(gl.exp(gl.sin(gl.tanh(y) * y) * y * 0.1)).mean(axis, keepdims=True),
        lambda: gl.concatenate([y, y[:1]], 0), lambda: keep(y - y.mean(axes, keepdims=True)) / gl.sqrt(keep(y.var(axes, keepdims=True)) + 1e-5),
        lambda: y / (1 + keep(gl.abs(y).sum())), lambda: gl.nn.softmax(y, axis), lambda: keep(gl.exp(y - y.max(axis, keepdims=True))),
        lambda: y / keep(gl.exp(gl.tanh(y)).sum(axis, keepdims=True)), lambda: gl.nn.layer_norm(y, gl.ones(y.shape[-1])),
        lambda: y * gl.sigmoid(old) if old.shape == y.shape else y * 2, lambda: y + old if old.shape == y.shape else -y,
        lambda: gl.tanh(keep(gl.matmul(y, gl.swapaxes(y, -1, -2))) * 0.1), lambda: y.reshape(-1, y.shape[-1]) if y.ndim == 3 else y + y.sum(0)]


def program(seed, cuts):
    """The last value of a chain of layers. The program reads each value with probability `cuts`."""
    chosen, asked, numbers = random.Random(seed), random.Random(seed + 1000003 * int(cuts * 100)), np.random.default_rng(seed)
    shape = chosen.choice([(24, 40), (3, 7), (50, 9), (5, 12, 33), (4, 3, 2), (2, 100, 6), (1, 70)])
    values = [gl.array(numbers.standard_normal(shape).astype(np.float32))]
    for _ in range(chosen.randrange(3, 9)):
        values.append(chosen.choice(layers(values, chosen))())
        for value in values[-2:]:
            if asked.random() < cuts:
                gl.evaluate(value)
    return values[-1].numpy()


def main():
    count, first = (int(a) for a in (sys.argv[1:] + ["24", "0"][len(sys.argv) - 1:])[:2])
    different = 0
    with gl.deterministic():
        for seed in range(first, first + count):
            whole = program(seed, 0)
            for cuts in (0.3, 1):
                value = program(seed, cuts)
                if value.tobytes() != whole.tobytes():
                    different += 1
                    print(f"graph {seed}, asked for {cuts:.0%}: {np.mean(value != whole):.0%} of {value.shape} differ, by {np.max(np.abs(value - whole)):.1e}", flush=True)
                    break
            if seed % 25 == 24:
                gl.clear()
    print(f"{different} of {count} graphs differ between cuts")
    return different != 0


if __name__ == "__main__":
    sys.exit(main())
