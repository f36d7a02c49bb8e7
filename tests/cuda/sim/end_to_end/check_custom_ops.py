#!/usr/bin/env python3
"""A custom operator in the middle of a model on a GPU: the operator runs on the CPU, so values are copied from the GPU and back.

  run_sim.sh --sm 80 check_custom_ops.py
"""
import os
import sys
import tempfile

import check_models  # sets the paths
import numpy as np
import onnx

import gart.fleet
from check_cuts import tool

MODEL = """<ir_version: 8, opset_import: ["": 17, "acme": 1]>
model (float[n, 64] x, float[64, 64] w) => (float[n, 64] y) {
  a = MatMul(x, w)
  b = acme.Twice<share = 0.5>(a)
  c = MatMul(b, w)
  y = Tanh(c)
}"""


def twice(inputs, outputs, attributes):
    np.multiply(inputs[0], attributes["share"] * 4, out=outputs[0])


def main():
    with tempfile.TemporaryDirectory(prefix="gcc-graph-") as folder:
        source, artifact = (os.path.join(folder, "custom" + end) for end in (".onnx", ".gart"))
        onnx.save(onnx.parser.parse_model(MODEL), source)
        tool("compile", source, "-o", artifact, "--target", "sm_80,x86-64-v3", "--custom-op", "acme::Twice(T[n, c]) -> T[n, c]")
        model = gart.fleet.load(artifact, custom_ops={"acme::Twice": twice})
        devices = list(model.placement().values())
        random, worst = np.random.default_rng(1), 0.0
        for n in (1, 5, 40):
            x, w = random.standard_normal((n, 64), np.float32), random.standard_normal((64, 64), np.float32) / 8
            expected = {"y": np.tanh(2 * (x @ w) @ w)}
            worst = max(worst, check_models.relative_error(model.run({"x": x, "w": w}), expected))
    good = worst <= check_models.TOLERANCE["fp32"] and sorted(devices) == ["cpu", "cuda:0", "cuda:0"]
    print(f"custom operator beside a GPU: error {worst:.1e}, groups on {', '.join(devices)}: {'ok' if good else 'WRONG'}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
