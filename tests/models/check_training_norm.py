"""Compares BatchNormalization in training mode with onnxruntime: on weights (timm's StdConv2d standardises weights in
this way), on activations with open extents, and with running statistics as outputs."""
import sys

import numpy as np

import operator_check
from operator_check import Case

random = np.random.default_rng(1)


def f(*shape):
    return random.standard_normal(shape).astype(np.float32)


def case(what, x, **more):
    channels = x[1].shape[1]
    known = {"s": f(channels), "b": f(channels), "m": f(channels), "v": np.abs(f(channels))}
    return Case(what, "BatchNormalization", [x, *known], constants=known, domain="", training_mode=1, **more)


CASES = [
    case("of activations", ("x", f(3, 6, 5, 4), ["n", 6, "h", "w"]), outputs=3),
    case("one image", ("x", f(1, 4, 7), [1, 4, "l"]), outputs=3, momentum=0.25, epsilon=0.1),
    case("a matrix", ("x", f(9, 5), ["n", 5]), outputs=3),
    Case("of weights", "BatchNormalization", ["x", "s", "s", "s", "s"], constants={"x": f(1, 8, 27), "s": f(8)}, domain="",
         outputs=3, training_mode=1, momentum=0.0),
]

if __name__ == "__main__":
    sys.exit(operator_check.run(CASES, sys.argv[1:]))
