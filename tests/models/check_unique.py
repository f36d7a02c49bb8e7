#!/usr/bin/env python3
"""Compares Unique with NumPy and onnxruntime: all options, types, and data-dependent results that other nodes read."""
import os
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import helper

import model_check

random = np.random.default_rng(5)
NAMES = ("y", "indices", "inverse", "counts")


def rows():
    """(name, x, attributes)"""
    nan = np.array([3, np.nan, -0.0, 0, np.inf, np.nan, 3, -np.inf], np.float32)
    for attributes in ({}, {"sorted": 0}):
        for dtype in (np.float32, np.float64, np.int8, np.uint8, np.int32, np.int64, np.uint64):
            yield np.dtype(dtype).name, random.integers(0, 9, 40).astype(dtype), attributes
        yield "large u64", np.array([2**63, 1, 2**64 - 1, 1, 2**63], np.uint64), attributes
        yield "all different", random.permutation(300).astype(np.float32), attributes
        yield "many", random.integers(0, 50, 3000), attributes
        yield "one", np.array([7], np.int64), attributes
        yield "none", np.zeros(0, np.float32), attributes
        yield "flat", random.integers(0, 4, (3, 2, 4)).astype(np.float32), attributes
        yield "not a number", nan, attributes
        for axis in (0, 1, -1):
            yield f"axis {axis}", random.integers(0, 2, (7, 3, 4)).astype(np.float32), dict(axis=axis, **attributes)
            yield f"bool, axis {axis}", random.integers(0, 2, (5, 9)) > 0, dict(axis=min(axis, 1), **attributes)
        yield "many slices", random.integers(0, 3, (200, 4)).astype(np.int64), dict(axis=0, **attributes)
        yield "a column", random.integers(0, 5, (30, 1)).astype(np.float32), dict(axis=0, **attributes)


def expected(x, attributes):
    """The results by ONNX's definition. As in NumPy, all NaNs count as one value."""
    axis = attributes.get("axis")
    slices = x.reshape(-1, 1) if axis is None else np.moveaxis(x, axis, 0).reshape(x.shape[axis], -1)
    if slices.dtype.kind == "f":  # NaN, one value, where infinity was, that where the largest number was
        slices = np.where(np.isnan(slices), np.inf, np.where(slices == np.inf, np.finfo(slices.dtype).max, slices + 0))
    _, first, inverse, counts = np.unique(slices, return_index=True, return_inverse=True, return_counts=True, axis=0)
    inverse = inverse.reshape(-1)
    if not attributes.get("sorted", 1):
        order = np.argsort(first)
        first, counts = first[order], counts[order]
        back = np.empty_like(order)
        back[order] = np.arange(len(order))
        inverse = back[inverse] if len(order) else inverse
    y = x.reshape(-1)[first] if axis is None else np.take(x, first, axis=axis)
    return {"y": y, "indices": first, "inverse": inverse, "counts": counts}


def model(x, attributes, outputs):
    nodes = [helper.make_node("Unique", ["x"], [n if n in outputs else "" for n in NAMES], name="unique", **attributes)]
    wanted = list(outputs)
    if "counts" in outputs:  # the late extent goes on
        nodes += [helper.make_node("ReduceSum", ["counts"], ["all"], keepdims=0), helper.make_node("Size", ["counts"], ["number"])]
        wanted += ["all", "number"]
    shape = [f"n{d}" for d in range(x.ndim)]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", helper.np_dtype_to_tensor_dtype(x.dtype), shape)],
                              [onnx.ValueInfoProto(name=n) for n in wanted])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)


def check(folder, name, x, attributes, outputs):
    path = os.path.join(folder, "unique.onnx")
    made = model(x, attributes, outputs)
    onnx.save(made, path)
    artifact = model_check.compile_model(path, os.path.join(folder, "unique.gart"), "--target", "x86-64-v3,x86-64-v4")
    import gart
    want = {n: v for n, v in expected(x, attributes).items() if n in outputs}
    if name != "not a number" and x.size and x.dtype in (np.float32, np.float64, np.int8, np.int64):  # by others' hand, too
        reference = onnxruntime.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])
        for n, v in zip(want, reference.run(list(want), {"x": x})):
            np.testing.assert_array_equal(want[n], v)
    if "counts" in outputs:
        want |= {"all": np.int64(want["inverse"].size), "number": np.int64(want["counts"].size)}
    failures = 0
    for target in model_check.targets_here(artifact):
        got = gart.load(artifact, target=target).run({"x": x})
        for n, v in want.items():
            if got[n].shape != np.shape(v) or not np.array_equal(got[n], v, equal_nan=got[n].dtype.kind == "f"):
                print(f"{name} {attributes} ({target}), {n}: {got[n]}, expected {v}")
                failures += 1
    return failures


def main():
    failures = count = 0
    with tempfile.TemporaryDirectory(prefix="gcc-graph-unique-") as folder:
        for name, x, attributes in rows():
            for outputs in (NAMES, ("y",)):
                if outputs == ("y",) and x.dtype != np.float32:
                    continue
                failures += check(folder, name, x, attributes, outputs)
                count += 1
    print(f"{count} models, {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
