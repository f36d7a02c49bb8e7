#!/usr/bin/env python3
"""Saves random functions, which contain matrices, filters and numbers, with gl.save. The files must give the same bits
as compiled code in this process: check_lazy_files.py [FUNCTIONS [FIRST]], by default 24; every third function has
convolutions."""
import os
import random
import sys
import tempfile

import numpy as np

from lazy_case import gl

import gart


def steps_of(chosen, numbers, width):
    """Yields functions that follow each other; the first one takes [rows, width]."""
    def array(*shape):
        return gl.array((numbers.standard_normal(shape) * (shape[0] ** -0.5 if len(shape) > 1 else 1)).astype(np.float32))
    for _ in range(chosen.randrange(2, 7)):
        wide, n = chosen.choice([8, 64, 100, 160]), float(numbers.standard_normal())
        w, v, b, c, d = array(width, wide), array(wide, width), array(wide), array(width), array(width)
        new, step = chosen.choice([
            (wide, lambda x, w=w, b=b: x @ w + b), (wide, lambda x, w=w, b=b: gl.tanh(x @ w) * b), (wide, lambda x, w=w: gl.relu(x @ w)),
            (wide, lambda x, w=w, n=n: (x @ w) * n), (wide, lambda x, v=v: gl.nn.gelu(x @ v.T)), (wide, lambda x, w=w, b=b: x @ (w * gl.exp(b)) - b),
            (width, lambda x, c=c, d=d: gl.nn.layer_norm(x, c, d)), (width, gl.nn.softmax), (width, lambda x, n=n: x * n), (width, lambda x, n=n: x / n),
            (width, lambda x, n=n: (x + n) * 0.3), (width, lambda x, c=c: x * c), (width, lambda x, c=c, d=d: (x - d) / (c * c + 1)),
            (width, lambda x: x - x.mean(1, keepdims=True)), (width, lambda x, n=n: x ** 2 * n + x), (width, lambda x, c=c: x * gl.softplus(c).sum() + c.max())])
        width = new
        yield step


def convolutions_of(chosen, numbers, channels):
    """Yields functions on [batch, channels, rows, columns]: all kinds of filters, strides and groups, and operators around convolutions."""
    def array(*shape):
        return gl.array((numbers.standard_normal(shape) * (np.prod(shape[1:]) ** -0.5 if len(shape) > 1 else 1)).astype(np.float32))
    for _ in range(chosen.randrange(1, 4)):
        wide, rows, columns = chosen.choice([8, 16, 24, 64]), *chosen.choice([(1, 1), (3, 3), (3, 3), (5, 5), (1, 3)])
        w, deep, b = array(wide, channels, rows, columns), array(channels, 1, 3, 3), array(wide)
        halves = array(wide, channels // 2, rows, columns)
        c, d = array(channels, 1, 1), array(channels)
        new, step = chosen.choice([
            (wide, lambda x, w=w, b=b: gl.nn.conv(x, w, b, padding="same")), (wide, lambda x, w=w, b=b: gl.relu(gl.nn.conv(x, w, b, padding="same"))),
            (wide, lambda x, w=w: gl.nn.conv(x, w, strides=2, padding=2)), (channels, lambda x, w=deep, d=d: gl.nn.conv(x, w, d, padding=1, groups=channels_of(x))),
            (wide, lambda x, w=halves: gl.nn.conv(x, w, padding="same", groups=2)), (wide, lambda x, w=w: gl.nn.conv(x, w, padding=2, dilations=2)),
            (channels, lambda x: gl.nn.max_pool(x, 3, 1, 1)), (channels, lambda x, c=c: x * c + gl.tanh(c)), (channels, lambda x, d=d: gl.nn.group_norm(x, d, d, 2))])
        channels = new
        yield step


def channels_of(x):
    return x.shape[1]


def function_of(seed):
    """The input of function `seed`, its steps, and a random boolean."""
    chosen, numbers = random.Random(seed), np.random.default_rng(seed)
    if seed % 3 == 2:
        shape = chosen.choice([(1, 4, 9, 11), (2, 16, 14, 14), (1, 24, 28, 20), (3, 64, 8, 8), (1, 64, 30, 30)])
        steps = list(convolutions_of(chosen, numbers, shape[1]))
    else:
        shape = chosen.choice([(1, 40), (2, 600), (3, 64), (4, 1100), (7, 700), (10, 96), (24, 80), (50, 9), (64, 128)])
        steps = list(steps_of(chosen, numbers, shape[1]))
    return numbers.standard_normal(shape).astype(np.float32), steps, chosen.random() < 0.5


def main():
    count, first = (int(a) for a in (sys.argv[1:] + ["24", "0"][len(sys.argv) - 1:])[:2])
    different = 0
    with tempfile.TemporaryDirectory() as folder, gl.deterministic():
        for seed in range(first, first + count):
            numbers, steps, open_batch = function_of(seed)
            x = gl.array(numbers)

            def f(x):
                for step in steps:
                    x = step(x)
                return x
            here = f(x).numpy()
            path = os.path.join(folder, "f.gart")
            gl.save(f, {"x": x}, path, open_batch=open_batch)
            there = gart.load(path, threads=1).run({"x": x.numpy()})["out0"]
            if there.tobytes() != here.tobytes():
                different += 1
                print(f"function {seed} of {x.shape}: {np.mean(here != there):.0%} of {here.shape} differ, by {np.max(np.abs(here - there)):.1e}", flush=True)
            if seed % 25 == 24:
                gl.clear()
    interpreted = [line for line in gl.explain() if "not compiled" in line]
    print(f"{different} of {count} functions differ between file and value", *interpreted, sep="\n")
    return different != 0 or len(interpreted) > 0


if __name__ == "__main__":
    sys.exit(main())
