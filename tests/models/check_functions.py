"""Functions that are composed of other functions, in ranges where cancellation could lose digits. On every target that
this machine runs, results must be within 4 units in the last place of the exact value, over the whole range of f32 and
f64. Results whose exponentials are subnormal may be 0."""
import os
import sys
import tempfile

import numpy as np
import onnx
from onnx import helper

import model_check

TARGETS = "x86-64-v3,x86-64-v4"
MOST = 4.0  # units in the last place
L = np.longdouble


def softplus(x):
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def mish(x):
    e = np.exp(np.minimum(x, 100))
    w = e * (e + 2)
    return x * (w / (w + 2))


def elu(x, alpha=1.0, gamma=1.0):
    return gamma * np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))


SELU = dict(alpha=L(np.float32(1.67326319217681884765625)), gamma=L(np.float32(1.05070102214813232421875)))
FUNCTIONS = {
    "Softplus": softplus,
    "Mish": mish,
    "Elu": elu,
    "Selu": lambda x: elu(x, **SELU),
    "Celu": elu,
    "Sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "Tanh": np.tanh,
    "Softsign": lambda x: x / (1 + np.abs(x)),
    "Swish": lambda x: x / (1 + np.exp(-x)),
}


def arguments(dtype, rng):
    """Numbers of both signs with random digits at every exponent from -60 to 7, and whole numbers around 0."""
    exponents = np.repeat(np.arange(-60, 8), 200)
    sizes = np.exp2(exponents) * rng.uniform(1, 2, exponents.shape)
    return np.concatenate([sizes, -sizes, np.arange(-700, 100)]).astype(dtype)


def errors(got, exact, x):
    """The error in units in the last place; 0 if both the exponentials and the results may be 0."""
    info = np.finfo(got.dtype)
    unit = np.maximum(np.spacing(np.abs(exact.astype(got.dtype))).astype(L), L(info.tiny))
    error = np.abs(got.astype(L) - exact) / unit
    # Without AVX-512, exponentials below 2^-125 are 0, and so are products with them.
    lost = x.astype(L) < np.log(L(4) * L(info.tiny))
    return np.where(lost & (np.abs(got.astype(L)) <= np.abs(exact)), 0, error)


def check(name, dtype, folder):
    x = arguments(dtype, np.random.default_rng(1))
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    graph = helper.make_graph([helper.make_node(name, ["x"], ["y"])], name, [helper.make_tensor_value_info("x", kind, ["n"])],
                              [helper.make_tensor_value_info("y", kind, ["n"])])
    path, artifact = os.path.join(folder, "f.onnx"), os.path.join(folder, "f.gart")
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 24)], ir_version=10), path)
    model_check.compile_model(path, artifact, "--target", TARGETS, "--threads", "1")
    import gart
    failed = False
    with np.errstate(over="ignore", under="ignore"):
        exact = FUNCTIONS[name](x.astype(L))
        for target in model_check.targets_here(artifact):
            error = errors(gart.load(artifact, threads=1, target=target).run({"x": x})["y"], exact, x)
            worst = int(np.argmax(error))
            bad = not error[worst] <= MOST
            print(f"{name:10} {np.dtype(dtype).name:8} {target:12} {float(error[worst]):8.2f} ulp at {x[worst]}{'  FAIL' if bad else ''}", flush=True)
            failed |= bad
    return failed


def main():
    failed = False
    with tempfile.TemporaryDirectory(prefix="gcc-graph-functions-") as folder:
        for name in sys.argv[1:] or FUNCTIONS:
            for dtype in (np.float32, np.float64):
                failed |= check(name, dtype, folder)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
