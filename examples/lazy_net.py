#!/usr/bin/env python3
"""A network that grows while it trains: whenever the loss stops falling, it gets another layer (tools/python on PYTHONPATH)."""
import numpy as np

import gart.lazy as gl


def forward(layers, x):
    for w, b in layers[:-1]:
        x = x + gl.tanh(x @ w + b)
    w, b = layers[-1]
    return x @ w + b


def loss(layers, x, y):
    return gl.nn.cross_entropy(forward(layers, x), y)


def new_layer(rng, rows, columns, scale):
    return (gl.array(rng.standard_normal((rows, columns)).astype(np.float32) * scale), gl.zeros(columns))


def main():
    rng = np.random.default_rng(1)
    angle = rng.uniform(0, 3 * np.pi, 256)
    turn = rng.integers(0, 2, 256)
    points = np.stack([angle * np.cos(angle + np.pi * turn), angle * np.sin(angle + np.pi * turn)], 1) / 5  # two spirals
    x, y = gl.array(np.pad(points, ((0, 0), (0, 6))).astype(np.float32)), gl.array(turn)
    layers = [new_layer(rng, 8, 8, 0.5), new_layer(rng, 8, 2, 0.5)]
    step, last = gl.value_and_grad(loss), float("inf")
    for turn in range(1200):
        value, slopes = step(layers, x, y)
        layers = [tuple(p - 0.3 * s for p, s in zip(layer, slope)) for layer, slope in zip(layers, slopes)]
        gl.evaluate(value, layers)
        if turn % 200 == 199:
            print(f"turn {turn + 1}: loss {float(value):.3f}, {len(layers)} layers")
            if float(value) > 0.9 * last and len(layers) < 6:
                layers.insert(-1, new_layer(rng, 8, 8, 0.1))  # the next step records a different graph
            last = float(value)
    right = (forward(layers, x).argmax(1) == y).sum()
    print(f"{int(right)} of 256 points are right; {gl.stats()['compiles']} graphs were compiled")


if __name__ == "__main__":
    main()
