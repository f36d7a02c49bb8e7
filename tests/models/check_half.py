#!/usr/bin/env python3
"""Models exported in f16 and bf16: their contractions use the same kernels as the f32 model, and the results agree with the f32 model's.

  check_half.py [MODEL...]      of tests/models/small_models.py
"""
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from model_check import Reference, compile_model, tool
import small_models

TOLERANCE = {TensorProto.FLOAT16: 5e-3, TensorProto.BFLOAT16: 5e-2}
CONTRACTIONS = ("matmul", "conv", "gemm")


def halved(model, half):
    """The model with all f32 converted to 16 bits, and a model in f32 with the same rounded weights."""
    import ml_dtypes
    narrow = {TensorProto.FLOAT16: np.float16, TensorProto.BFLOAT16: ml_dtypes.bfloat16}[half]
    small, rounded = onnx.ModelProto(), onnx.ModelProto()
    small.CopyFrom(model)
    rounded.CopyFrom(model)

    def convert(tensor, wide):
        if tensor.data_type == TensorProto.FLOAT:
            values = numpy_helper.to_array(tensor).astype(narrow)
            tensor.CopyFrom(numpy_helper.from_array(values.astype(np.float32) if wide else values, tensor.name))

    for copy, wide in ((small, False), (rounded, True)):
        for t in copy.graph.initializer:
            convert(t, wide)
        for node in copy.graph.node:
            for a in node.attribute:
                if a.HasField("t"):
                    convert(a.t, wide)
                if not wide and node.op_type == "Cast" and a.name == "to" and a.i == TensorProto.FLOAT:
                    a.i = half
    for value in [*small.graph.input, *small.graph.output, *small.graph.value_info]:
        if value.type.tensor_type.elem_type == TensorProto.FLOAT:
            value.type.tensor_type.elem_type = half
    return small, rounded, narrow


def kernels(artifact):
    """Names of the contractions' kernels, and the number of those that read 16-bit weights."""
    done = subprocess.run([tool(), "inspect", artifact, "--json", "--kernels"], capture_output=True, text=True, check=True)
    plan = json.loads(done.stdout)["entry_points"][0]["plans"][0]
    found = [k for k in plan["kernel_list"] if any(c in k["name"] for c in CONTRACTIONS) and not k["note"].startswith("points")]
    return sorted(k["name"] for k in found), sum(k["note"].endswith((" of f16", " of bf16")) or "weights of " in k["note"] for k in found)


def check(name, half, folder):
    import gart
    make, sizes = small_models.MODELS[name]
    model = make()
    small, rounded, narrow = halved(model, half)
    paths = {k: os.path.join(folder, f"{name}.{k}.onnx") for k in ("small", "rounded")}
    onnx.save(small, paths["small"])
    onnx.save(rounded, paths["rounded"])
    targets = ("--target", "x86-64-v3,x86-64-v4")  # by default a model in bf16 gets code for more
    artifacts = {k: compile_model(p, p.replace(".onnx", ".gart"), *targets) for k, p in paths.items()}
    (ours, widen), (theirs, _) = kernels(artifacts["small"]), kernels(artifacts["rounded"])
    assert ours and len(ours) == len(theirs) and widen, (ours, theirs, widen)
    sizes_in_file = {k: os.path.getsize(a) for k, a in artifacts.items()}
    assert sizes_in_file["small"] < sizes_in_file["rounded"], sizes_in_file
    reference, loaded = Reference(paths["rounded"]), gart.load(artifacts["small"], threads=1)
    worst = 0.0
    for size in sizes:
        feeds = small_models.make_feeds(model, size, 3)
        narrowed = {k: v.astype(narrow) if v.dtype == np.float32 else v for k, v in feeds.items()}
        expected = reference.run({k: v.astype(np.float32) if v.dtype == narrow else v for k, v in narrowed.items()})
        for out, value in loaded.run(narrowed).items():
            want = expected[out]
            assert value.shape == want.shape and (value.dtype == narrow or want.dtype != np.float32), (out, value.dtype, want.dtype)
            if want.dtype == np.float32:
                scale = max(float(np.abs(want).max()), 1e-30)
                worst = max(worst, float(np.abs(value.astype(np.float32) - want).max()) / scale)
    return worst


def main():
    names = sys.argv[1:] or ["mlp", "mini_resnet", "mini_bert"]
    failures = 0
    with tempfile.TemporaryDirectory(prefix="gcc-graph-") as folder:
        for name in names:
            for half, limit in TOLERANCE.items():
                worst = check(name, half, folder)
                failures += not worst <= limit
                print(f"{name:16} {TensorProto.DataType.Name(half):9} {worst:.1e}{'' if worst <= limit else '  FAIL'}")
    print(f"{2 * len(names) - failures} passed, {failures} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
