"""Graphs whose steps threads can share in different ways."""
import os
import sys

import numpy as np
from onnx import TensorProto

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools", "models"))
from make_model import Maker  # noqa: E402

F32 = TensorProto.FLOAT


def layers(m, x, count, width):
    """A chain of products that are too small for several threads; each one needs the previous result."""
    for _ in range(count):
        x = m.op("Relu", m.op("MatMul", x, m.weight(width, width, fan_in=width)))
    return x


def total(m, values):
    return m.op("Sum", *values)


def wide(rows=4, width=64, branches=16, depth=12):
    m = Maker(f"wide_{branches}_{depth}")
    x = m.input("x", F32, [rows, width])
    m.output(total(m, [layers(m, x, depth, width) for _ in range(branches)]), "y", F32, [rows, width])
    return m.model(17)


def chain(rows=4, width=64, depth=200):
    return wide(rows, width, 1, depth)


def uneven(rows=4, width=64):
    """Branches of different lengths, which are joined several times."""
    m = Maker("uneven")
    x = m.input("x", F32, [rows, width])
    for round in range(4):
        x = total(m, [layers(m, x, depth, width) for depth in (20, 11, 9, 3 + round)])
    m.output(x, "y", F32, [rows, width])
    return m.model(17)


def two_producers(rows=4, width=64, depth=40):
    """Two chains, each of which writes half of one value."""
    m = Maker("two_producers")
    x = m.input("x", F32, [rows, width])
    halves = [layers(m, x, depth, width) for _ in range(2)]
    m.output(m.op("Concat", *halves, axis=1), "y", F32, [rows, 2 * width])
    return m.model(17)


def heavy(rows=384, width=768, depth=6):
    m = Maker("heavy")
    x = m.input("x", F32, [rows, width])
    m.output(layers(m, x, depth, width), "y", F32, [rows, width])
    return m.model(17)


def heavy_beside_light(width=512):
    m = Maker("heavy_beside_light")
    x, s = m.input("x", F32, [256, width]), m.input("s", F32, [4, 64])
    a, b = layers(m, x, 4, width), layers(m, s, 60, 64)
    m.output(a, "y", F32, [256, width])
    m.output(b, "z", F32, [4, 64])
    return m.model(17)


def batch_statistics(batch=64, width=256, depth=6):
    """Normalisation as in training: each layer needs the whole batch."""
    m = Maker("batch_statistics")
    x = m.input("x", F32, [batch, width])
    axes, epsilon = m.constant(np.array([0], np.int64)), m.constant(np.float32(1e-5))
    for _ in range(depth):
        x = m.op("MatMul", x, m.weight(width, width, fan_in=width))
        centred = m.op("Sub", x, m.op("ReduceMean", x, axes=[0], keepdims=1))
        variance = m.op("ReduceMean", m.op("Mul", centred, centred), axes=[0], keepdims=1)
        x = m.op("Div", centred, m.op("Sqrt", m.op("Add", variance, epsilon)))
    del axes
    m.output(x, "y", F32, [batch, width])
    return m.model(17)


def googlenet():
    """GoogLeNet: nine inception modules of four branches each, without the classifiers that only training uses."""
    m = Maker("googlenet")

    def conv(x, cin, cout, kernel, stride=1):
        pad = kernel // 2
        return m.op("Relu", m.op("Conv", x, m.weight(cout, cin, kernel, kernel), m.vector(cout), strides=[stride] * 2,
                                 pads=[pad] * 4))

    def pool(x, stride):
        return m.op("MaxPool", x, kernel_shape=[3, 3], strides=[stride] * 2, pads=[1] * 4)

    def inception(x, cin, a, b0, b, c0, c, d):
        return m.op("Concat", conv(x, cin, a, 1), conv(conv(x, cin, b0, 1), b0, b, 3), conv(conv(x, cin, c0, 1), c0, c, 3),
                    conv(pool(x, 1), cin, d, 1), axis=1), a + b + c + d

    x = m.input("x", F32, [1, 3, 224, 224])
    x = pool(conv(x, 3, 64, 7, 2), 2)
    x = pool(conv(conv(x, 64, 64, 1), 64, 192, 3), 2)
    c = 192
    for row in ((64, 96, 128, 16, 32, 32), (128, 128, 192, 32, 96, 64), None, (192, 96, 208, 16, 48, 64),
                (160, 112, 224, 24, 64, 64), (128, 128, 256, 24, 64, 64), (112, 144, 288, 32, 64, 64),
                (256, 160, 320, 32, 128, 128), None, (256, 160, 320, 32, 128, 128), (384, 192, 384, 48, 128, 128)):
        x, c = (pool(x, 2), c) if row is None else inception(x, c, *row)
    x = m.op("Flatten", m.op("GlobalAveragePool", x))
    m.output(m.op("MatMul", x, m.weight(c, 1000, fan_in=c)), "y", F32, [1, 1000])
    return m.model(17)


def random_graph(seed, nodes=30):
    """Light and heavy products, sums, softmax, concatenations and statistics, each on randomly chosen values."""
    random, m = np.random.default_rng(seed), Maker(f"random_{seed}")
    rows, width = int(random.choice([1, 4, 24])), int(random.choice([16, 64, 96]))
    values = [m.input("x", F32, [rows, width])]
    used = set()

    def some():
        value = values[int(random.integers(max(0, len(values) - 8), len(values)))]
        used.add(value)
        return value

    for _ in range(nodes):
        kind = random.choice(["product", "product", "product", "heavy", "add", "softmax", "concat", "statistics"])
        if kind == "product":
            value = layers(m, some(), 1, width)
        elif kind == "heavy":
            hidden = m.op("MatMul", some(), m.weight(width, 1024, fan_in=width))
            value = m.op("MatMul", m.op("Tanh", hidden), m.weight(1024, width, fan_in=1024))
        elif kind == "add":
            value = m.op("Add", some(), some())
        elif kind == "softmax":
            value = m.op("Softmax", some(), axis=1)
        elif kind == "concat":
            value = m.op("MatMul", m.op("Concat", some(), some(), axis=1), m.weight(2 * width, width, fan_in=width))
        else:
            x = some()
            value = m.op("Sub", x, m.op("ReduceMean", x, axes=[0], keepdims=1))
        values.append(value)
    ends = [v for v in values if v not in used]
    m.output(total(m, ends[: len(ends) // 2 + 1]), "y", F32, [rows, width])
    for i, value in enumerate(ends[len(ends) // 2 + 1:]):
        m.output(value, f"z{i}", F32, [rows, width])
    return m.model(17)


CASES = {"wide": wide, "chain": chain, "uneven": uneven, "two_producers": two_producers, "heavy": heavy,
         "heavy_beside_light": heavy_beside_light, "batch_statistics": batch_statistics}


def feeds_of(model):
    random = np.random.default_rng(5)
    return {i.name: random.standard_normal([d.dim_value for d in i.type.tensor_type.shape.dim]).astype(np.float32)
            for i in model.graph.input}
