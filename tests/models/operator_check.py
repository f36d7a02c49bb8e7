"""Compiles and runs one-node models and compares them with onnxruntime, for operators that onnxruntime itself defines."""
import os
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import model_check
from model_check import Reference, compile_model

TARGETS = "x86-64-v3,x86-64-v4"


class Case:
    """`inputs`: (name, array), (name, array, dims with symbols) or None where omitted; constants are weights of the model. `like`:
    a case that onnxruntime computes instead; `compared`: the outputs to compare, if not all."""

    def __init__(self, what, op, inputs, constants=(), outputs=1, domain="com.microsoft", tolerance=1e-5, opset=21, like=None,
                 compared=None, version=1, **attributes):
        self.like, self.compared, self.version = like or self, compared, version
        self.what, self.op, self.inputs, self.constants, self.outputs = what, op, inputs, dict(constants), outputs
        self.domain, self.tolerance, self.opset, self.attributes = domain, tolerance, opset, attributes

    def model(self):
        names, values = [], []
        for entry in self.inputs:
            if entry is None or isinstance(entry, str):
                names.append(entry or "")
                continue
            name, array = entry[0], entry[1]
            dims = entry[2] if len(entry) > 2 else array.shape
            names.append(name)
            values.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), dims))
        wanted = range(self.outputs) if isinstance(self.outputs, int) else self.outputs
        outputs = [f"y{i}" if i in wanted else "" for i in range(max(wanted) + 1)]
        node = helper.make_node(self.op, names, outputs, name="node", domain=self.domain, **self.attributes)
        graph = helper.make_graph(
            [node], "one", values, [onnx.ValueInfoProto(name=f"y{i}") for i in wanted],
            [numpy_helper.from_array(array, name) for name, array in self.constants.items()])
        imports = [helper.make_opsetid("", self.opset)]
        if self.domain:
            imports.append(helper.make_opsetid(self.domain, self.version))
        return helper.make_model(graph, opset_imports=imports, ir_version=10)

    def feeds(self):
        return {e[0]: e[1] for e in self.inputs if isinstance(e, tuple)}


def difference(got, want):
    """The largest |got - want| over outputs, relative to the largest |want|. For integers, the absolute difference
    minus 1, because rounding a half may cause a difference of 1. Infinite if dtypes or shapes differ."""
    worst = 0.0
    for name, expected in want.items():
        ours = got[name]
        if ours.dtype != expected.dtype or ours.shape != expected.shape:
            return float("inf"), f"{name}: {ours.dtype}{ours.shape} instead of {expected.dtype}{expected.shape}"
        if expected.dtype.kind in "iu" and expected.dtype.itemsize <= 2:
            far = np.abs(ours.astype(np.int64) - expected.astype(np.int64)).max(initial=0)
            worst = max(worst, 0.0 if far <= 1 else float("inf"))
        else:
            worst = max(worst, model_check.relative_error({name: ours}, {name: expected}))
    return worst, ""


def check(case, folder):
    """Checks one row. Returns true if it fails."""
    import gart
    name = f"{case.op:32} {case.what:44}"
    path, artifact = os.path.join(folder, "case.onnx"), os.path.join(folder, "case.gart")
    model = case.model()
    try:
        reference = Reference(case.like.model().SerializeToString()).run(case.like.feeds())
    except Exception as e:  # onnxruntime warns often
        print(f"{name} FAIL onnxruntime refuses it: {e}", flush=True)
        return True
    for value in model.graph.output:  # onnxruntime does not need the outputs' types, but ONNX does
        array = reference[value.name]
        value.CopyFrom(helper.make_tensor_value_info(value.name, helper.np_dtype_to_tensor_dtype(array.dtype), [None] * array.ndim))
    onnx.save(model, path)
    wanted = {k: v for k, v in reference.items() if case.compared is None or k in case.compared}
    try:
        compile_model(path, artifact, "--target", TARGETS, "--threads", "1")
        worst, note = 0.0, ""
        for target in model_check.targets_here(artifact):
            error, why = difference(gart.load(artifact, threads=1, target=target).run(case.feeds()), wanted)
            worst, note = (error, why) if error > worst else (worst, note)
    except RuntimeError as e:
        worst, note = float("inf"), str(e)
    failed = not worst <= case.tolerance
    print(f"{name} {worst:9.1e}{'  FAIL ' + note if failed else ''}", flush=True)
    return failed


def run(cases, names):
    chosen = [c for c in cases if not names or any(n in (c.op, c.what) for n in names)]
    with tempfile.TemporaryDirectory(prefix="gcc-graph-operators-") as folder:
        failed = sum(check(c, folder) for c in chosen)
    print(f"{len(chosen) - failed} of {len(chosen)} agree with onnxruntime")
    return 1 if failed or not chosen else 0
