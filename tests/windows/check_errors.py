#!/usr/bin/env python3
"""Sizes and indices that do not fit at run time must give clear errors: windows larger than their input, indices beyond their tensor."""
import os
import sys
import tempfile

import numpy as np
import onnx
from onnx import helper, numpy_helper

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "models"))
import model_check

FAR = (2**62, -2**62, 2**63 - 1, -2**63, 2**32, -2**32 - 1, 2**31)


def weights(*shape):
    return np.ones(shape, np.float32)


def ints(*values):
    return np.array(values, np.int64)


def open_input(*shape):
    """A zero array as input. The model leaves all of its extents open except the channels."""
    return np.zeros(shape, np.float32)


def rows():
    """(name, operator, attributes, inputs, names of run-time inputs, words that the error must contain; without words:
    no error)"""
    window = ("'window'", "spatial axis 1")
    x = open_input(1, 2, 9, 2)
    yield "conv", "Conv", {}, [x, weights(3, 2, 3, 5)], (0,), (*window, "a window of 5", "at least 5")
    yield "conv that fits", "Conv", {}, [open_input(1, 2, 9, 5), weights(3, 2, 3, 5)], (0,), ()
    yield "pool", "MaxPool", dict(kernel_shape=[1, 5]), [x], (0,), (*window, "a window of 5", "at least 5")
    yield "average", "AveragePool", dict(kernel_shape=[1, 7], strides=[1, 3]), [x], (0,), (*window, "a window of 7", "at least 5")
    yield "transposed", "ConvTranspose", dict(pads=[0, 3, 0, 3]), [x, weights(2, 3, 3, 3)], (0,), ("'window'", "spatial axis 1")
    yield "arg", "ArgMax", dict(axis=1), [np.zeros((2, 0), np.float32)], (0,), ("'window'", "dimension 1")
    data, out = np.arange(12, dtype=np.float32).reshape(3, 4), ("out of range",)
    told = lambda i, element, extent: (f"index {i}, element {element} of the indices, is out of range: it must be in [-{extent}, {extent})",)
    for i in FAR + (3, -4):
        yield f"gather {i}", "Gather", {}, [data, ints(1, i)], (0, 1), told(i, 1, 3)
        yield f"elements {i}", "GatherElements", {}, [data, np.full((3, 4), i, np.int64)], (0, 1), told(i, 0, 3)
        yield f"nd {i}", "GatherND", {}, [data, ints(i, 0).reshape(1, 2)], (0, 1), told(i, 0, 3)
        yield f"nd of tuples {i}", "GatherND", {}, [data, ints(2, 3, 1, i if i not in (3, -4) else 4).reshape(2, 2)], (0, 1), \
            told(i if i not in (3, -4) else 4, 3, 4)
        scores, labels = np.zeros((2, 3), np.float32), ints(1, i)
        if i != -4:
            yield f"loss {i}", "NegativeLogLikelihoodLoss", {}, [scores, labels], (0, 1), out
        yield f"ignored {i}", "NegativeLogLikelihoodLoss", dict(ignore_index=i), [scores, labels], (0, 1), ()
        if i not in (3, -2**63):
            lengths = ints(2, i, 1, 1)
            yield f"reversed {i}", "ReverseSequence", {}, [data, lengths], (0, 1), out
        yield f"scatter elements {i}", "ScatterElements", {}, [data, np.full((1, 4), i), np.ones((1, 4), np.float32)], (0, 1, 2), told(i, 0, 3)
        yield f"scatter nd {i}", "ScatterND", {}, [data, ints(i).reshape(1, 1), np.ones((1, 4), np.float32)], (0, 1, 2), told(i, 0, 3)
    for i in FAR + (4, -5):
        yield f"scatter nd 1, {i}", "ScatterND", {}, [data, ints(1, i).reshape(1, 2), np.ones(1, np.float32)], (0, 1, 2), told(i, 1, 4)
    yield "gather -3", "Gather", {}, [data, ints(-3, 2)], (0, 1), ()
    yield "gather of one", "Gather", {}, [data[:1], ints(1)], (1,), told(1, 0, 1)
    yield "gather of bytes", "Gather", {}, [data, np.array([1, 2, -128], np.int32)], (0, 1), told(-128, 2, 3)
    yield "gather of constants", "Gather", {}, [data, ints(0, 1, 5)], (0,), out


def extent_rows():
    data, one = np.arange(6, dtype=np.float32).reshape(2, 3), np.ones((2, 3, 1), np.float32)
    yield "expand", "Expand", {}, [one, ints(2, 1, 4)], (1,), ()
    yield "expand open", "Expand", {}, [one, ints(3, 1, 1, 1)], (0, 1), ()
    for shape in ((2, 4), (5, 2, 4), (3, 3), (0, 3), (2, -1)):
        yield f"expand to {shape}", "Expand", {}, [data, ints(*shape)], (1,), ("out of range",)
        yield f"expand open to {shape}", "Expand", {}, [data, ints(*shape)], (0, 1), ("out of range",)
    yield "expand far", "Expand", {}, [one, ints(1, 1, 2**62)], (1,), ("would be",)
    for far in (2**62, 2**63 - 1, -2**63, -1, 2**61):
        yield f"tile {far}", "Tile", {}, [data, ints(1, far)], (1,), ("would be",)
        yield f"tile open {far}", "Tile", {}, [data, ints(far, 1)], (0, 1), ("would be",)
    scalars = lambda *v: [np.array(x, np.int64) for x in v]
    yield "range", "Range", {}, scalars(0, 2**63 - 1, 2**60), (0, 1, 2), ()
    yield "range of 0", "Range", {}, scalars(0, 5, 0), (0, 1, 2), ("would be -1",)
    yield "range of -0", "Range", {}, [np.array(v, np.float32) for v in (0, 5, -0.0)], (0, 1, 2), ("would be -1",)
    yield "range far", "Range", {}, scalars(0, 2**63 - 1, 1), (0, 1, 2), ("would be",)
    for name, gates in (("LSTM", 4), ("GRU", 3), ("RNN", 1)):
        for lengths in ((3, 4), (-1, 2), (3, -2**31), (2**31 - 1, 1), (3, 0)):
            x, w, r = np.ones((3, 2, 2), np.float32), np.ones((1, gates, 2), np.float32), np.ones((1, gates, 1), np.float32)
            inputs = [x, w, r, np.zeros((1, 2 * gates), np.float32), np.array(lengths, np.int32)]
            yield f"{name} {lengths}", name, dict(hidden_size=1), inputs, (0, 4), () if lengths == (3, 0) else ("out of range",)


def check(folder, name, op, attributes, inputs, at_run, words):
    names = [f"x{i}" for i in range(len(inputs))]
    node = helper.make_node(op, names, ["y"], name="window", **attributes)
    declared, constants, feeds = [], [], {}
    for i, (n, v) in enumerate(zip(names, inputs)):
        if i not in at_run:
            constants.append(numpy_helper.from_array(v, n))
            continue
        fixed = {1} if v.ndim == 4 else set(range(v.ndim)) if v.dtype == np.int64 or v.ndim == 3 else set()
        shape = [v.shape[d] if d in fixed else f"{n}_s{d}" for d in range(v.ndim)]
        declared.append(helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(v.dtype), shape))
        feeds[n] = v
    graph = helper.make_graph([node], "g", declared, [helper.make_empty_tensor_value_info("y")], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)])
    path = os.path.join(folder, "m.onnx")
    onnx.save(model, path)
    artifact = model_check.compile_model(path, os.path.join(folder, "m.gart"), "--target", "x86-64-v3,x86-64-v4")
    import gart
    failures = 0
    for target in model_check.targets_here(artifact):
        try:
            gart.load(artifact, target=target).run(feeds)
            said = ""
        except gart.GartError as e:
            said = str(e)
        good = all(w in said for w in words) if words else not said
        if not good:
            print(f"{name} ({target}): {said or 'no error'}; expected {words or 'none'}")
        failures += not good
    return failures


def main():
    with tempfile.TemporaryDirectory(prefix="gcc-graph-windows-") as folder:
        results = [check(folder, *row) for row in (*rows(), *extent_rows())]
    print(f"{len(results)} rows, {sum(results)} failed")
    return 1 if sum(results) else 0


if __name__ == "__main__":
    sys.exit(main())
