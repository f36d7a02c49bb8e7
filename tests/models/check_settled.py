"""Extents that a model leaves open although its weights fix them, of inputs and of values with run-bound extents.
Kernels must be those for static extents, values must equal onnxruntime's, and other extents must cause an error."""
import os
import sys
import tempfile

import numpy as np
import onnx
from onnx import numpy_helper, parser

from model_check import Reference, compile_model, plans, relative_error, targets_here

import gart

HEADER = '<ir_version: 10, opset_import: ["": 20]>\n'
RANDOM = np.random.default_rng(1)


def floats(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


def ints(*values):
    return np.array(values, np.int64)


WEIGHTS = {"w": floats(16, 32, 3, 3), "v": floats(24, 32, 5), "t": floats(32, 8, 4, 4), "k": floats(32, 16), "zero": ints(0), "one": ints(1)}
# name -> (text, inputs that run, inputs that are refused, words of the error)
MODELS = {
    "image": ("(float[b,c,h,u] x) => (float[d,e,f,g] y) { y = Conv<pads = [1,1,1,1]>(x, w) }",
              {"x": floats(2, 32, 9, 7)}, {"x": floats(2, 31, 9, 7)}, "axis 1 is 31, but must be 32"),
    "signal": ("(float[b,c,n] x) => (float[d,e,f] y) { y = Conv(x, v) }", {"x": floats(2, 32, 9)}, {"x": floats(2, 33, 9)}, "must be 32"),
    "transposed": ("(float[b,c,h,u] x) => (float[d,e,f,g] y) { y = ConvTranspose<strides = [2,2]>(x, t) }",
                   {"x": floats(1, 32, 5, 6)}, {"x": floats(1, 3, 5, 6)}, "must be 32"),
    "multiple": ("(float[n,c,4] x, int64[2] s) => (float[n,16] y) { r = Reshape(x, s) y = MatMul(r, k) }",
                 {"x": floats(3, 8, 4), "s": ints(3, 32)}, {"x": floats(3, 8, 4), "s": ints(2, 48)}, "48 must equal 32"),
    "resized": ('(float[b,c,h,u] x, float[4] s) => (float[d,e,f,g] y) { r = Resize<mode = "nearest">(x, "", s) y = Conv(r, w) }',
                {"x": floats(1, 16, 9, 7), "s": np.array([1, 2, 2, 1], np.float32)},
                {"x": floats(1, 16, 9, 7), "s": np.array([1, 1, 2, 1], np.float32)}, "Conv 'y': the channels of input and weights: 16 must equal 32"),
    "reshaped": ("(float[n] x, int64[4] s) => (float[d,e,f,g] y) { r = Reshape(x, s) q = Relu(r) y = Conv(q, w) }",
                 {"x": floats(32 * 9 * 7), "s": ints(1, 32, 9, 7)}, {"x": floats(32 * 9 * 7), "s": ints(2, 16, 9, 7)}, "16 must equal 32"),
    "padded": ("(float[b,30,h,u] x, int64[8] p) => (float[d,e,f,g] y) { r = Pad(x, p) y = Conv(r, w) }",
               {"x": floats(1, 30, 9, 7), "p": ints(0, 1, 0, 2, 0, 1, 1, 0)}, {"x": floats(1, 30, 9, 7), "p": ints(0, 1, 0, 2, 0, 0, 1, 0)},
               "31 must equal 32"),
    "in a branch": ("""(bool c, float[n] x, int64[4] s) => (float[d,e,f,g] y) {
        y = If(c) <then_branch = a () => (float[d,e,f,g] p) { r = Reshape(x, s) p = Conv(r, w) },
                   else_branch = o () => (float[d,e,f,g] q) { q = Reshape(x, s) }> }""",
                    {"c": np.array(True), "x": floats(32 * 9 * 7), "s": ints(1, 32, 9, 7)},
                    {"c": np.array(True), "x": floats(32 * 9 * 7), "s": ints(2, 16, 9, 7)}, "16 must equal 32"),
}


def check(name, folder):
    """The failures of one model, as sentences."""
    text, inputs, refused, words = MODELS[name]
    model = parser.parse_model(HEADER + "m " + text)
    model.graph.initializer.extend(numpy_helper.from_array(value, key) for key, value in WEIGHTS.items() if f" {key})" in text)
    path, artifact = (os.path.join(folder, "model" + end) for end in (".onnx", ".gart"))
    onnx.save(model, path)
    compile_model(path, artifact, "--target", "x86-64-v3,x86-64-v4")
    failures, expected = [], Reference(path).run(inputs)
    for plan in plans(artifact, "--kernels"):
        notes = [k["note"] for k in plan["kernel_list"]]
        if not any(not n.startswith("points") for n in notes):
            failures.append(f"{name} {plan['target']}: no kernel of a contraction, but {notes}")
    for target in targets_here(artifact):
        ours = gart.load(artifact, threads=1, target=target)
        error = relative_error(ours.run(inputs), expected)
        if not error <= 1e-5:
            failures.append(f"{name} {target}: error {error}")
        try:
            ours.run(refused)
            failures.append(f"{name} {target}: other extents are not refused")
        except gart.GartError as e:
            failures += [] if words in str(e) else [f"{name} {target}: '{words}' is not in '{e}'"]
    return failures


def check_dim(folder):
    """--dim accepts the number that the weights require, and refuses others."""
    path, artifact = (os.path.join(folder, "model" + end) for end in (".onnx", ".gart"))
    model = parser.parse_model(HEADER + "m " + MODELS["image"][0])
    model.graph.initializer.append(numpy_helper.from_array(WEIGHTS["w"], "w"))
    onnx.save(model, path)
    compile_model(path, artifact, "--dim", "c=32", "--dim", "b=1", "--target", "x86-64-v3")
    shapes = [p["shapes"] for p in plans(artifact)]
    failures = [] if shapes == ["b=1", "symbolic"] else [f"--dim c=32: the plans are {shapes}"]
    try:
        compile_model(path, artifact, "--dim", "c=32,16")
        failures.append("--dim c=16 is not refused")
    except RuntimeError as e:
        failures += [] if "--dim c=16: the model fixes this extent at 32" in str(e) else [str(e)]
    return failures


def main():
    with tempfile.TemporaryDirectory(prefix="gcc-graph-settled-") as folder:
        failures = [f for name in sys.argv[1:] or MODELS for f in check(name, folder)]
        failures += check_dim(folder)
    print("\n".join(failures) or f"{len(sys.argv[1:] or MODELS)} models agree with onnxruntime")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
