#!/usr/bin/env python3
"""Makes ONNX models of well-known architectures with seeded weights, for the demo, the tests and the benchmarks.

  make_model.py NAME OUT.onnx      NAME: one of those that --list prints
  make_model.py --list

The weights are noise with the spread that keeps activations near unit variance; the same name gives the same bytes on
every machine. Needs numpy and onnx.
"""
import argparse
import os
import sys
import zlib

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


class Maker:
    """Collects nodes and initialisers of one graph; methods return value names."""

    def __init__(self, name):
        self.name = name
        self.nodes, self.initializers, self.inputs, self.outputs = [], [], [], []
        self.random = np.random.Generator(np.random.Philox(key=zlib.crc32(name.encode())))
        self.count = 0

    def fresh(self, hint):
        self.count += 1
        return f"{hint}_{self.count}"

    def op(self, op_type, *inputs, outputs=1, **attributes):
        names = [self.fresh(op_type.lower()) for _ in range(outputs)]
        self.nodes.append(helper.make_node(op_type, list(inputs), names, name=names[0], **attributes))
        return names[0] if outputs == 1 else names

    def constant(self, array, hint="c"):
        name = self.fresh(hint)
        self.initializers.append(numpy_helper.from_array(np.asarray(array, order="C"), name))
        return name

    def weight(self, *shape, fan_in=None, gain=1.0):
        fan_in = fan_in or int(np.prod(shape[1:]))
        values = self.random.standard_normal(shape, dtype=np.float32) * np.float32(gain / np.sqrt(fan_in))
        return self.constant(values, "w")

    def vector(self, n, mean=0.0, std=0.1):
        return self.constant((mean + std * self.random.standard_normal(n)).astype(np.float32), "v")

    def input(self, name, dtype, shape):
        self.inputs.append(helper.make_tensor_value_info(name, dtype, shape))
        return name

    def output(self, value, name, dtype, shape):
        self.nodes.append(helper.make_node("Identity", [value], [name], name=name))
        self.outputs.append(helper.make_tensor_value_info(name, dtype, shape))

    def model(self, opset):
        graph = helper.make_graph(self.nodes, self.name, self.inputs, self.outputs, self.initializers)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], producer_name="gcc-graph")
        model.ir_version = 8
        return model

    # ---- layers

    def conv(self, x, cin, cout, kernel, stride=1, pad=None, groups=1, gain=1.4):
        pad = kernel // 2 if pad is None else pad
        w = self.weight(cout, cin // groups, kernel, kernel, gain=gain)
        return self.op("Conv", x, w, self.vector(cout), kernel_shape=[kernel] * 2, strides=[stride] * 2,
                       pads=[pad] * 4, group=groups)

    def batch_norm(self, x, channels):
        return self.op("BatchNormalization", x, self.vector(channels, 1, 0.1), self.vector(channels),
                       self.vector(channels), self.constant(
                           (1 + 0.2 * self.random.random(channels)).astype(np.float32)))

    def linear(self, x, fan_in, fan_out, gain=1.0):
        y = self.op("MatMul", x, self.weight(fan_in, fan_out, fan_in=fan_in, gain=gain))
        return self.op("Add", y, self.vector(fan_out))

    def layer_norm(self, x, width):
        """The form that exporters wrote before opset 17."""
        two, eps = self.constant(np.float32(2)), self.constant(np.float32(1e-5))
        d = self.op("Sub", x, self.op("ReduceMean", x, axes=[-1], keepdims=1))
        variance = self.op("ReduceMean", self.op("Pow", d, two), axes=[-1], keepdims=1)
        y = self.op("Div", d, self.op("Sqrt", self.op("Add", variance, eps)))
        return self.op("Add", self.op("Mul", y, self.vector(width, 1, 0.1)), self.vector(width))

    def gelu(self, x):
        e = self.op("Erf", self.op("Div", x, self.constant(np.float32(np.sqrt(2)))))
        return self.op("Mul", self.op("Mul", x, self.op("Add", e, self.constant(np.float32(1)))),
                       self.constant(np.float32(0.5)))


def mlp():
    m = Maker("mlp")
    x = m.input("x", TensorProto.FLOAT, ["batch", 64])
    for fan_in, fan_out in ((64, 256), (256, 256)):
        x = m.op("Relu", m.op("Gemm", x, m.weight(fan_out, fan_in, gain=1.4), m.vector(fan_out), transB=1))
    m.output(m.op("Gemm", x, m.weight(10, 256), m.vector(10), transB=1), "y", TensorProto.FLOAT, ["batch", 10])
    return m.model(13)


def resnet(name, blocks, image=224, width=64, classes=1000):
    m = Maker(name)
    x = m.input("input", TensorProto.FLOAT, ["batch", 3, image, image])
    x = m.op("Relu", m.conv(x, 3, width, 7, 2))
    x = m.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    cin = width
    for stage, count in enumerate(blocks):
        mid, cout = width << stage, 4 * width << stage
        for block in range(count):
            stride = 2 if stage and not block else 1
            y = m.op("Relu", m.conv(x, cin, mid, 1))
            y = m.op("Relu", m.conv(y, mid, mid, 3, stride))
            y = m.conv(y, mid, cout, 1, gain=0.5)
            shortcut = x if block else m.conv(x, cin, cout, 1, stride)
            x = m.op("Relu", m.op("Add", y, shortcut))
            cin = cout
    x = m.op("Flatten", m.op("GlobalAveragePool", x))
    y = m.op("Gemm", x, m.weight(classes, cin), m.vector(classes), transB=1)
    m.output(y, "output", TensorProto.FLOAT, ["batch", classes])
    return m.model(13)


MOBILENET_V2 = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))


def mobilenet_v2(name="mobilenet_v2", stages=MOBILENET_V2, image=224, last=1280, classes=1000):
    """`stages`: (expansion, output channels, blocks, stride of the first block)."""
    m = Maker(name)
    low, high = m.constant(np.float32(0)), m.constant(np.float32(6))
    relu6 = lambda v: m.op("Clip", v, low, high)
    x = m.input("input", TensorProto.FLOAT, ["batch", 3, image, image])
    x = relu6(m.conv(x, 3, 32, 3, 2))
    cin = 32
    for expand, cout, count, first in stages:
        for block in range(count):
            stride, mid = first if not block else 1, cin * expand
            y = relu6(m.conv(x, cin, mid, 1)) if expand > 1 else x
            y = relu6(m.conv(y, mid, mid, 3, stride, groups=mid))
            y = m.conv(y, mid, cout, 1, gain=1.0)
            x = m.op("Add", x, y) if stride == 1 and cin == cout else y
            cin = cout
    x = relu6(m.conv(x, cin, last, 1))
    x = m.op("Flatten", m.op("GlobalAveragePool", x))
    y = m.op("Gemm", x, m.weight(classes, last), m.vector(classes), transB=1)
    m.output(y, "output", TensorProto.FLOAT, ["batch", classes])
    return m.model(13)


def encoder(m, x, width, heads, layers, mask=None, post_norm=True):
    """Transformer encoder layers on [batch, sequence, width], in the form that exporters write."""
    d = width // heads
    split = m.constant(np.array([0, 0, heads, d], np.int64))
    merge = m.constant(np.array([0, 0, width], np.int64))
    scale = m.constant(np.float32(np.sqrt(d)))
    for _ in range(layers):
        h = x if post_norm else m.layer_norm(x, width)
        q, k, v = (m.op("Reshape", m.linear(h, width, width), split) for _ in range(3))
        q, v = (m.op("Transpose", t, perm=[0, 2, 1, 3]) for t in (q, v))
        k = m.op("Transpose", k, perm=[0, 2, 3, 1])
        scores = m.op("Div", m.op("MatMul", q, k), scale)
        if mask:
            scores = m.op("Add", scores, mask)
        y = m.op("MatMul", m.op("Softmax", scores, axis=-1), v)
        y = m.op("Reshape", m.op("Transpose", y, perm=[0, 2, 1, 3]), merge)
        x = m.op("Add", m.linear(y, width, width, 0.5), x)
        h = x = m.layer_norm(x, width) if post_norm else x
        h = h if post_norm else m.layer_norm(x, width)
        y = m.linear(m.gelu(m.linear(h, width, 4 * width)), 4 * width, width, 0.5)
        x = m.op("Add", y, x)
        x = m.layer_norm(x, width) if post_norm else x
    return x


def bert(name, width, heads, layers, vocabulary=30522):
    m = Maker(name)
    ids = m.input("input_ids", TensorProto.INT64, ["batch", "sequence"])
    attention = m.input("attention_mask", TensorProto.INT64, ["batch", "sequence"])
    words = m.op("Gather", m.weight(vocabulary, width, fan_in=4), ids)
    length = m.op("Gather", m.op("Shape", ids), m.constant(np.array([1], np.int64)), axis=0)
    zero = m.constant(np.array([0], np.int64))
    positions = m.op("Slice", m.weight(512, width, fan_in=16), zero, length, zero)
    x = m.layer_norm(m.op("Add", words, positions), width)
    mask = m.op("Unsqueeze", m.op("Cast", attention, to=TensorProto.FLOAT), m.constant(np.array([1, 2], np.int64)))
    mask = m.op("Mul", m.op("Sub", m.constant(np.float32(1)), mask), m.constant(np.float32(-10000)))
    x = encoder(m, x, width, heads, layers, mask)
    m.output(x, "last_hidden_state", TensorProto.FLOAT, ["batch", "sequence", width])
    return m.model(13)


def vit():
    m = Maker("vit_b_16")
    width = 768
    image = m.input("input", TensorProto.FLOAT, ["batch", 3, 224, 224])
    x = m.conv(image, 3, width, 16, 16, 0, gain=1.0)
    x = m.op("Transpose", m.op("Reshape", x, m.constant(np.array([0, width, 196], np.int64))), perm=[0, 2, 1])
    batch = m.op("Shape", image, start=0, end=1)
    shape = m.op("Concat", batch, m.constant(np.array([1, width], np.int64)), axis=0)
    token = m.op("Expand", m.weight(1, 1, width, fan_in=16), shape)
    x = m.op("Add", m.op("Concat", token, x, axis=1), m.weight(1, 197, width, fan_in=16))
    x = m.layer_norm(encoder(m, x, width, 12, 12, post_norm=False), width)
    first = m.op("Gather", x, m.constant(np.array(0, np.int64)), axis=1)
    m.output(m.linear(first, width, 1000), "output", TensorProto.FLOAT, ["batch", 1000])
    return m.model(15)


def gpt2_step(name="gpt2_step", width=768, heads=12, layers=12, vocabulary=50257):
    """One decoding step: reads a new token and past keys and values, and returns present keys and values."""
    m = Maker(name)
    d = width // heads
    ids = m.input("input_ids", TensorProto.INT64, ["batch", 1])
    position = m.input("position_ids", TensorProto.INT64, ["batch", 1])
    words = m.weight(vocabulary, width, fan_in=50)
    x = m.op("Add", m.op("Gather", words, ids), m.op("Gather", m.weight(1024, width, fan_in=100), position))
    heads_shape = m.constant(np.array([0, 0, heads, d], np.int64))
    merge = m.constant(np.array([0, 0, width], np.int64))
    for layer in range(layers):
        h = m.layer_norm(x, width)
        parts = m.op("Split", m.linear(h, width, 3 * width), m.constant(np.array([width] * 3, np.int64)), outputs=3, axis=2)
        q, k, v = (m.op("Transpose", m.op("Reshape", p, heads_shape), perm=[0, 2, 1, 3]) for p in parts)
        for kind, new in (("key", k), ("value", v)):
            past = m.input(f"past.{layer}.{kind}", TensorProto.FLOAT, ["batch", heads, "past", d])
            present = m.op("Concat", past, new, axis=2)
            m.output(present, f"present.{layer}.{kind}", TensorProto.FLOAT, ["batch", heads, "past+1", d])
            if kind == "key":
                k = present
            else:
                v = present
        scores = m.op("Div", m.op("MatMul", q, m.op("Transpose", k, perm=[0, 1, 3, 2])), m.constant(np.float32(np.sqrt(d))))
        y = m.op("MatMul", m.op("Softmax", scores, axis=-1), v)
        y = m.op("Reshape", m.op("Transpose", y, perm=[0, 2, 1, 3]), merge)
        x = m.op("Add", m.linear(y, width, width, 0.5), x)
        x = m.op("Add", m.linear(m.gelu(m.linear(m.layer_norm(x, width), width, 4 * width)), 4 * width, width, 0.5), x)
    logits = m.op("MatMul", m.layer_norm(x, width), m.weight(width, vocabulary, fan_in=width))
    m.output(logits, "logits", TensorProto.FLOAT, ["batch", 1, vocabulary])
    return m.model(13)


GOOGLENET = ("pool", (64, 96, 128, 16, 32, 32), (128, 128, 192, 32, 96, 64), "pool", (192, 96, 208, 16, 48, 64),
             (160, 112, 224, 24, 64, 64), (128, 128, 256, 24, 64, 64), (112, 144, 288, 32, 64, 64),
             (256, 160, 320, 32, 128, 128), "pool", (256, 160, 320, 32, 128, 128), (384, 192, 384, 48, 128, 128))


def googlenet():
    """Inception v1 without its training heads, batch norms folded."""
    m = Maker("googlenet")
    relu = lambda *layer: m.op("Relu", m.conv(*layer))
    x = m.input("input", TensorProto.FLOAT, ["batch", 3, 224, 224])
    x = m.op("MaxPool", relu(x, 3, 64, 7, 2), kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1)
    x, channels = relu(relu(x, 64, 64, 1), 64, 192, 3), 192
    for stage in GOOGLENET:
        if stage == "pool":
            x = m.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1)
            continue
        one, three_in, three, five_in, five, pooled = stage
        pool = m.op("MaxPool", x, kernel_shape=[3, 3], strides=[1, 1], pads=[1] * 4)
        x = m.op("Concat", relu(x, channels, one, 1), relu(relu(x, channels, three_in, 1), three_in, three, 3),
                 relu(relu(x, channels, five_in, 1), five_in, five, 3), relu(pool, channels, pooled, 1), axis=1)
        channels = one + three + five + pooled
    x = m.op("Flatten", m.op("GlobalAveragePool", x))
    m.output(m.op("Gemm", x, m.weight(1000, channels), m.vector(1000), transB=1), "output", TensorProto.FLOAT, ["batch", 1000])
    return m.model(13)


def chain_500():
    """500 pointwise nodes in sequence; every fifth adds the input again."""
    m = Maker("chain_500")
    x = y = m.input("x", TensorProto.FLOAT, ["batch", 1024])
    for i in range(100):
        y = m.op("Mul", y, m.constant(np.float32(1 + 0.001 * i)))
        y = m.op("Add", y, m.constant(np.float32(0.01 * (i % 7))))
        y = m.op("Tanh", y)
        y = m.op("Mul", y, m.constant(np.float32(0.5)))
        y = m.op("Add", y, x)
    m.output(y, "y", TensorProto.FLOAT, ["batch", 1024])
    return m.model(13)


def branch_loop():
    """Ten rounds of a layer; a round's result is negated where its mean is positive."""
    m = Maker("branch_loop")
    width, count, going = 256, np.array(10, np.int64), np.array(True)
    x = m.input("x", TensorProto.FLOAT, ["batch", width])
    weight, bias = m.weight(width, width), m.vector(width)
    value = lambda name, kind=TensorProto.FLOAT, shape=None: helper.make_tensor_value_info(name, kind, shape)
    branches = [helper.make_graph([helper.make_node(op, ["turned"], [op])], op, [], [value(op)]) for op in ("Neg", "Identity")]
    body = helper.make_graph(
        [helper.make_node("MatMul", ["state", weight], ["product"]), helper.make_node("Add", ["product", bias], ["sum"]),
         helper.make_node("Tanh", ["sum"], ["turned"]), helper.make_node("ReduceMean", ["turned"], ["mean"], keepdims=0),
         helper.make_node("Greater", ["mean", m.constant(np.float32(0))], ["positive"]),
         helper.make_node("If", ["positive"], ["next"], then_branch=branches[0], else_branch=branches[1]),
         helper.make_node("Identity", ["going_in"], ["going_out"])],
        "round", [value("number", TensorProto.INT64, []), value("going_in", TensorProto.BOOL, []), value("state")],
        [value("going_out", TensorProto.BOOL, []), value("next")])
    y = m.op("Loop", m.constant(count), m.constant(going), x, body=body)
    m.output(y, "y", TensorProto.FLOAT, ["batch", width])
    return m.model(13)


MODELS = {
    "mlp": mlp,
    "resnet18ish": lambda: resnet("resnet18ish", (1, 1, 1, 1)),
    "resnet50": lambda: resnet("resnet50", (3, 4, 6, 3)),
    "mobilenet_v2": mobilenet_v2,
    "bert_base": lambda: bert("bert_base", 768, 12, 12),
    "bert_large": lambda: bert("bert_large", 1024, 16, 24),
    "minilm_l6": lambda: bert("minilm_l6", 384, 12, 6),
    "vit_b_16": vit,
    "gpt2_step": gpt2_step,
    "googlenet": googlenet,
    "chain_500": chain_500,
    "branch_loop": branch_loop,
}


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("--list", action="store_true")
    p.add_argument("name", nargs="?", choices=sorted(MODELS))
    p.add_argument("out", nargs="?")
    a = p.parse_args()
    if a.list:
        print("\n".join(MODELS))
        return 0
    if not a.name or not a.out:
        p.print_usage()
        return 2
    if os.path.exists(a.out):
        print(f"kept {a.out}")
        return 0
    os.makedirs(os.path.dirname(os.path.abspath(a.out)), exist_ok=True)
    temporary = f"{a.out}.{os.getpid()}.tmp"
    onnx.save(MODELS[a.name](), temporary)
    os.replace(temporary, a.out)
    print(f"wrote {a.out} ({os.path.getsize(a.out) / 1e6:.1f} MB)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
