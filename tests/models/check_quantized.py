#!/usr/bin/env python3
"""Models quantised by onnxruntime's own tools: contractions compute in bytes, and the results agree with onnxruntime.

  check_quantized.py [MODEL...]      of tests/models/small_models.py
"""
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx

from model_check import SKIP, compile_model, tool
import small_models

MODELS = ("mlp", "mini_resnet", "mini_mobilenet", "mini_bert")
# 7-bit weights: with 8 bits, onnxruntime's own products saturate on CPUs without VNNI.
STATIC = {
    "QDQ": dict(format="QDQ"),
    "QDQ per channel": dict(format="QDQ", per_channel=True),
    "QDQ of signed activations": dict(format="QDQ", signed=True),
    "QOperator": dict(format="QOperator"),
    "QOperator per channel": dict(format="QOperator", per_channel=True),
}
# Relative to the largest element. A value near the middle of two quanta may round either way, which affects all later
# values. In mini_bert in QDQ form, whose attention onnxruntime also computes in bytes, the effect is up to 4.3e-2; in
# convolutional models it is small.
TOLERANCE = 1e-2
TOLERANCE_OF_ATTENTION = 6e-2


def calibrate(model, size):
    """Seeded inputs in the form that onnxruntime's calibration reads."""
    from onnxruntime.quantization import CalibrationDataReader

    class Reader(CalibrationDataReader):
        def __init__(self):
            self.left = [small_models.make_feeds(model, size, seed) for seed in range(3)]

        def get_next(self):
            return self.left.pop() if self.left else None

    return Reader()


def quantize(source, model, size, out, format=None, per_channel=False, signed=False):
    """`format` None: dynamic quantisation, which needs only the weights."""
    from onnxruntime import quantization as q
    if format is None:
        return q.quantize_dynamic(source, out, weight_type=q.QuantType.QInt8, reduce_range=True)
    q.quantize_static(source, out, calibrate(model, size), quant_format=getattr(q.QuantFormat, format), per_channel=per_channel,
                      reduce_range=True, activation_type=q.QuantType.QInt8 if signed else q.QuantType.QUInt8,
                      weight_type=q.QuantType.QInt8)


def reference(model, feeds):
    """onnxruntime with its default settings."""
    import onnxruntime as ort
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return dict(zip([o.name for o in session.get_outputs()], session.run(None, feeds)))


def kernel_notes(artifact):
    done = subprocess.run([tool(), "inspect", artifact, "--json", "--kernels"], capture_output=True, text=True, check=True)
    plan = json.loads(done.stdout)["entry_points"][0]["plans"][0]
    return [(k["name"], k["note"]) for k in plan["kernel_list"]]


def error_of(ours, theirs):
    return max(float(np.abs(ours[n].astype(np.float64) - theirs[n]).max() / max(1e-9, np.abs(theirs[n]).max())) for n in theirs)


def check(name, variant, options, folder):
    import gart
    make, sizes = small_models.MODELS[name]
    model = make()
    source, path = os.path.join(folder, "source.onnx"), os.path.join(folder, "model.onnx")
    onnx.save(model, source)
    quantize(source, model, sizes[0], path, **options)
    artifact = compile_model(path, os.path.join(folder, "model.gart"))
    notes = kernel_notes(artifact)
    contractions = [(k, n) for k, n in notes if any(c in k for c in ("conv", "packedmatmul"))]
    floats = [k for k, n in contractions if "bytes" not in n and "quads" not in n and "plain" not in n]  # plain: the first layer
    worst = 0.0
    for size in sizes:
        feeds = small_models.make_feeds(model, size)
        worst = max(worst, error_of(gart.load(artifact).run(feeds), reference(path, feeds)))
    tolerance = TOLERANCE_OF_ATTENTION if name == "mini_bert" and variant.startswith("QDQ") else TOLERANCE
    good = worst <= tolerance and len(contractions) > 0 and not floats
    print(f"{'ok  ' if good else 'FAIL'} {name} {variant}: {len(contractions) - len(floats)} contractions in bytes, error {worst:.1e}"
          + (f", in floats: {floats}" if floats else ""), flush=True)
    return good


def main():
    try:
        import onnxruntime.quantization  # noqa: F401
    except ImportError as error:
        print(f"SKIP: {error}")
        return SKIP
    good = True
    for name in sys.argv[1:] or MODELS:
        for variant, options in {**STATIC, "dynamic": {}}.items():
            with tempfile.TemporaryDirectory() as folder:
                good &= check(name, variant, options, folder)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
