#!/usr/bin/env python3
"""What does not fit at run time is an error that says so: windows larger than their input, indices beyond their tensor."""
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
    """A zero array to run on, all of whose extents the model leaves open but the channels."""
    return np.zeros(shape, np.float32)


def rows():
    """(name, operator, attributes, inputs, names of run-time inputs, words that the error must hold; none: no error)"""
    window = ("'window'", "spatial axis 1")
    x = open_input(1, 2, 9, 2)
    yield "conv", "Conv", {}, [x, weights(3, 2, 3, 5)], (0,), (*window, "a window of 5", "at least 5")
    yield "conv that fits", "Conv", {}, [open_input(1, 2, 9, 5), weights(3, 2, 3, 5)], (0,), ()
    yield "pool", "MaxPool", dict(kernel_shape=[1, 5]), [x], (0,), (*window, "a window of 5", "at least 5")
    yield "average", "AveragePool", dict(kernel_shape=[1, 7], strides=[1, 3]), [x], (0,), (*window, "a window of 7", "at least 5")
    yield "transposed", "ConvTranspose", dict(pads=[0, 3, 0, 3]), [x, weights(2, 3, 3, 3)], (0,), ("'window'", "spatial axis 1")
    yield "arg", "ArgMax", dict(axis=1), [np.zeros((2, 0), np.float32)], (0,), ("'window'", "dimension 1")
    data, out = np.arange(12, dtype=np.float32).reshape(3, 4), ("out of range",)
    for i in FAR + (3, -4):
        scores, labels = np.zeros((2, 3), np.float32), ints(1, i)
        if i != -4:
            yield f"loss {i}", "NegativeLogLikelihoodLoss", {}, [scores, labels], (0, 1), out
        yield f"ignored {i}", "NegativeLogLikelihoodLoss", dict(ignore_index=i), [scores, labels], (0, 1), ()
        if i not in (3, -2**63):
            lengths = ints(2, i, 1, 1)
            yield f"reversed {i}", "ReverseSequence", {}, [data, lengths], (0, 1), out


def check(folder, name, op, attributes, inputs, at_run, words):
    names = [f"x{i}" for i in range(len(inputs))]
    node = helper.make_node(op, names, ["y"], name="window", **attributes)
    declared, constants, feeds = [], [], {}
    for i, (n, v) in enumerate(zip(names, inputs)):
        if i not in at_run:
            constants.append(numpy_helper.from_array(v, n))
            continue
        fixed = {1} if v.ndim == 4 else set(range(v.ndim)) if v.dtype == np.int64 else set()
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
        results = [check(folder, *row) for row in rows()]
    print(f"{len(results)} rows, {sum(results)} failed")
    return 1 if sum(results) else 0


if __name__ == "__main__":
    sys.exit(main())
