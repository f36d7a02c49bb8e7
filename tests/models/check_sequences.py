#!/usr/bin/env python3
"""Compiles models with sequences, growing loops and branches of different extents and compares them with onnxruntime.

  check_sequences.py [NAME...]        NAME: of small_sequences.py (default: all)

Each model runs for every target that this machine supports, with one and two threads. It runs at all its sizes in turn and again at the first one, so that
sizes grow and shrink from run to run. All outputs must have a relative error <= 1e-3.
"""
import os
import sys
import tempfile

import numpy as np
import onnx
import onnx.parser

import model_check
from model_check import Reference, check_each, compile_model, relative_error
import small_sequences

TARGETS = "x86-64-v3,x86-64-v4"


def feeds_of(model, size, seed):
    rng = np.random.default_rng(seed)
    feeds = {}
    for value in model.graph.input:
        t = value.type.tensor_type
        dtype = onnx.helper.tensor_dtype_to_np_dtype(t.elem_type)
        if value.name in size:
            feeds[value.name] = np.array(size[value.name], dtype)
            continue
        shape = [size[d.dim_param] if d.dim_param else d.dim_value for d in t.shape.dim]
        feeds[value.name] = rng.uniform(-1, 1, shape).astype(dtype)
        if value.name == "bounds":
            feeds[value.name] = np.sort(rng.integers(0, size["s"], shape))
        if value.name == "boxes":
            feeds[value.name][..., 2:] = feeds[value.name][..., :2] + np.abs(feeds[value.name][..., 2:]) + 0.5
    return feeds


def as_tensors(outputs):
    """Packs sequences of unknown length into the form in which our models return them: all numbers, and the shapes."""
    tensors = {}
    for name, value in outputs.items():
        if isinstance(value, list):
            tensors[name + ".numbers"] = np.concatenate([v.reshape(-1) for v in value])
            tensors[name + ".shapes"] = np.array([v.shape for v in value], np.int64)
        else:
            tensors[name] = value
    return tensors


def check(name, folder):
    """The largest error over targets, threads and sizes."""
    import gart
    text, sizes = small_sequences.MODELS[name]
    model, path = onnx.parser.parse_model(text), os.path.join(folder, name + ".onnx")
    for node in model.graph.node:  # the parser drops a last input that is omitted
        if node.op_type == "Loop" and len(node.input) == 1:
            node.input.append("")
    onnx.save(model, path)
    reference = Reference(path)
    cases = [feeds_of(model, size, seed) for seed, size in enumerate(sizes + sizes[:1])]
    artifact = compile_model(path, path + ".gart", "--target", TARGETS)
    worst = 0.0
    for target in model_check.targets_here(artifact):
        for threads in (1, 2):
            ours = gart.load(artifact, threads=threads, target=target)
            for feeds in cases:
                worst = max(worst, relative_error(ours.run({k: v for k, v in feeds.items() if k in ours.inputs}),
                                                  as_tensors(reference.run(feeds))))
            for size, words in small_sequences.FAILING.get(name, ()):
                require_failure(ours, feeds_of(model, size, 0), words)
    return worst


def require_failure(model, feeds, words):
    import gart
    try:
        model.run(feeds)
    except gart.GartError as e:
        if words in str(e):
            return
        raise
    raise AssertionError(f"a run that must fail did not: {words}")


def main():
    with tempfile.TemporaryDirectory(prefix="gcc-graph-sequences-") as folder:
        return check_each(sys.argv[1:] or list(small_sequences.MODELS), lambda name: check(name, folder))


if __name__ == "__main__":
    sys.exit(main())
