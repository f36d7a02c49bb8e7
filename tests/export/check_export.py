#!/usr/bin/env python3
"""Imports models, exports them again and compares. The exported file must pass onnx.checker, onnxruntime must compute the same results from both files, and
importing the exported file must give the same graph.

  check_export.py --models | --old | --cases N | --zoo [NAME...]

--models: the small models of tests/models (some also with their weights in a file beside them), --old: nodes of old opsets, --cases N: N cases of ONNX's backend suite, spread over its operators, --zoo: models of the zoo, if it exists. NAME: only these.
"""
import argparse
import collections
import importlib
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import parser

HERE = os.path.dirname(os.path.abspath(__file__))
for folder in ("../models", "../../tools", "../../tools/python", "../../tools/models"):
    sys.path.insert(0, os.path.join(HERE, folder))
import model_check  # noqa: E402
from model_check import SKIP, Reference, relative_error  # noqa: E402

REEXPORT = os.environ.get("GCC_GRAPH_REEXPORT") or os.path.join(HERE, "..", "..", "build", "release", "bin", "reexport_model")
TOLERANCE = 1e-6

# Nodes of old opsets that new opsets express differently: the exported graph differs, but computes the same results.
OLD_FORMS = ("BatchNormalization", "bicubic", "graph t(%y", "flatten = 1", "broadcast = 1", "scale_per_group", "Scatter(", "Split(", "CastLike(", 'nearest_mode = "simple"', 'graph ""')
OLD = {
    "softmax": (11, "(float[n,4,5] x) => (float[n,4,5] y) { y = Softmax<axis = 1>(x) }"),
    "log_softmax_by_default": (9, "(float[2,4,5] x) => (float[2,4,5] y) { y = LogSoftmax(x) }"),
    "scales_per_group": (18, "(float[n,6,5] x, float[2] s, float[2] b) => (float[n,6,5] y)"
                             " { y = GroupNormalization<num_groups = 2>(x, s, b) }"),
    "resize_up": (10, "(float[n,2,4,5] x) => (float[n,2,8,15] y) <float[4] s = {1, 1, 2, 3}> { y = Resize(x, s) }"),
    "resize_down": (10, "(float[n,2,6,9] x) => (float[n,2,4,3] y) <float[4] s = {1, 1, 0.667, 0.334}> { y = Resize(x, s) }"),
    "upsample": (9, "(float[n,2,4,5] x) => (float[n,2,8,15] y) <float[4] s = {1, 1, 2, 3}> { y = Upsample(x, s) }"),
    "batch_statistics": (15, "(float[n,2,4] x, float[2] s, float[2] b, float[2] m, float[2] v) => (float[n,2,4] y, float[2] mm, float[2] vv)"
                             " { y, mm, vv = BatchNormalization<training_mode = 1>(x, s, b, m, v) }"),
    "sampling": (16, "(float[n,2,4,5] x, float[n,3,3,2] g) => (float[n,2,3,3] y) { y = GridSample<mode = \"bicubic\">(x, g) }"),
    "branch_that_hands_on": (16, "(float[n,4] x) => (float[n,4] y, float[n,4] z) { s = ReduceSum<keepdims = 0>(x) zero = Constant<value_float = 0.0>()"
                                 " w = Constant<value_floats = [1.0, 2.0, 3.0, 4.0]>() p = Greater(s, zero)"
                                 " y = If(p) <then_branch = t () => (float[n,4] a) { a = Mul(x, w) }, else_branch = e () => (float[n,4] b) { b = Add(x, w) }>"
                                 " z = If(p) <then_branch = t () => (float[n,4] y) { }, else_branch = e () => (float[n,4] b) { b = Add(x, w) }> }"),
}
BESIDE = ("mini_resnet", "mini_bert", "branches")  # models that are written with their weights in a file beside them, too


class Row:
    """The outcome of one model."""

    def __init__(self, status, words=""):
        self.status, self.words = status, words


def reexport(model, exported, *options):
    return subprocess.run([REEXPORT, model, exported, *options], capture_output=True, text=True)


def first_line(error):
    return str(error).strip().splitlines()[0][:200]


def checked(path):
    """The error of onnx.checker for the file; None if there is none."""
    try:
        onnx.checker.check_model(path, full_check=True)
    except Exception as e:  # also raised at the limits of the checker and of protobuf
        return first_line(e)
    return None


def judge(model, folder, feeds, *options):
    """Compares the model with its export. `feeds`: a list of inputs by name."""
    if any(np.asarray(value).dtype.kind in "OSU" for feed, _ in feeds for value in feed.values()):
        return Row("not exported", "inputs of strings become numbers")
    exported = os.path.join(folder, "exported.onnx")
    done = reexport(model, exported, *options)
    if done.returncode == 2:
        return Row("not imported")
    if done.returncode == 3:
        return Row("not exported", done.stderr.strip())
    if done.returncode != 0:
        return Row("failed", f"status {done.returncode}: {done.stderr.strip()}")
    wrong = checked(exported)
    if wrong and not checked(model):
        return Row("failed", "onnx.checker: " + wrong)
    first = done.stdout.splitlines()[0]
    if not first.startswith("the same graph") and not any(form in first for form in OLD_FORMS):
        return Row("failed", "another graph: " + done.stdout.strip())
    return compare(model, exported, feeds)


def compare(model, exported, feeds):
    """Compares onnxruntime's results of both files. If onnxruntime cannot run the original, the exported file is
    compared with the stored expected results."""
    tolerance = TOLERANCE
    why = None
    try:
        before = Reference(model)
        expected = [before.run(feed) for feed, _ in feeds]
    except Exception as e:
        why = first_line(e)
        expected, tolerance = [known for _, known in feeds], model_check.TOLERANCE
        if None in expected:
            return Row("not run", "the original: " + why)
    try:
        after = Reference(exported)
        got = [after.run(feed) for feed, _ in feeds]
    except Exception as e:
        return Row("not run", "either: " + why) if why else Row("failed", "onnxruntime: " + first_line(e))
    error = max((relative_error(spread(a), spread(dict(zip(a, b)) if isinstance(b, list) else b))
                 for a, b in zip(got, expected)), default=0)
    return Row("passed" if error <= tolerance else "failed", f"error {error:.1e}" if error else "")


def spread(outputs):
    """The outputs by name, with one output per element of a sequence."""
    return {f"{name}.{i}": a for name, value in outputs.items() for i, a in enumerate(value if isinstance(value, list) else [value])}


def small_models(names, folder):
    import small_models as small
    for name, (make, sizes) in small.MODELS.items():
        if names and name not in names:
            continue
        model, path = make(), os.path.join(folder, name + ".onnx")
        onnx.save(model, path)
        feeds = [(small.make_feeds(model, sizes[0], 0), None)]
        yield name, path, feeds, ()
        if name in BESIDE:
            yield name + " beside", path, feeds, ("20000",)


def conformance(names, count):
    import conformance
    import conformance_cases as suite
    cases = [c for c in suite.all_cases() if c.kind != "light"]
    for case in [c for c in cases if c.name in names] if names else conformance.sample(cases, count):
        if case.lengths() or suite.RAISED_ATOL.get(case.name, 0) >= 1:  # left out: inputs that are sequences, and random numbers
            continue
        try:
            feeds = list(case.data_sets())
        except Exception:
            feeds = []
        yield case.name, case.model, feeds, ()


def zoo(names, folder):
    """Models of the zoo, made in `folder`; None where there is no zoo."""
    models = os.environ.get("GCC_GRAPH_MODELS") or os.path.join(model_check.ROOT, "..", "shared", "models")
    if not os.path.isdir(os.path.join(models, "zoo")):
        return None
    sys.path.insert(0, os.path.join(models, "zoo"))
    maker = importlib.import_module("zoo")
    home = os.path.dirname(maker.__file__)
    entries = maker.load_zoo(home)

    def rows():
        for name in names or entries:
            path = os.path.join(folder, name + ".onnx")
            maker.materialise(home, name, folder)
            yield name, path, [(maker.make_inputs(entries[name], 0), None)], ()
            os.remove(path)
    return rows()


def old_forms(folder):
    """Nodes of old opsets that new opsets express differently, and graphs with operators of the compiler's own."""
    for name, (opset, text) in OLD.items():
        path = os.path.join(folder, name + ".onnx")
        model = parser.parse_model(f'<ir_version: 8, opset_import: ["": {opset}]> {name} {text}')
        onnx.save(model, path)
        random = np.random.default_rng(7)
        feeds = {i.name: random.standard_normal([d.dim_value or 3 for d in i.type.tensor_type.shape.dim]).astype(np.float32)
                 for i in model.graph.input}
        yield name, path, [(feeds, None)], ()


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    what = p.add_mutually_exclusive_group(required=True)
    for name in ("--models", "--old", "--zoo"):
        what.add_argument(name, action="store_true")
    what.add_argument("--cases", type=int, metavar="N")
    p.add_argument("names", nargs="*")
    a = p.parse_args()
    counts = collections.Counter()
    with tempfile.TemporaryDirectory(prefix="gcc-graph-export-") as folder:
        rows = (small_models(a.names, folder) if a.models else old_forms(folder) if a.old else zoo(a.names, folder) if a.zoo else
                conformance(a.names, a.cases))
        if rows is None:
            print("SKIP: there is no model zoo")
            return SKIP
        for name, model, feeds, options in rows:
            row = judge(model, folder, feeds, *options)
            counts[row.status] += 1
            if row.status != "passed" or row.words or not a.cases:
                print(f"{name:40} {row.status} {row.words}", flush=True)
    print(", ".join(f"{count} {status}" for status, count in sorted(counts.items())))
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
