#!/usr/bin/env python3
"""Removes the weights from a model. Another machine can generate them again, so they need not be copied there.

    strip_weights.py MODEL.onnx OUT.onnx

Writes OUT.onnx, whose large float initializers are in the external file NAME.weights, and OUT.recipe, from which
make_weights makes that file. The new values are evenly spread and have the same variance, so that activations keep
their size.
"""
import os
import sys

import numpy as np
import onnx
from onnx import numpy_helper

LEAST_BYTES = 4096


def main():
    source, target = sys.argv[1:]
    model = onnx.load(source)
    data_file = os.path.basename(target).removesuffix(".onnx") + ".weights"
    recipe, offset = [], 0
    for number, tensor in enumerate(model.graph.initializer):
        array = numpy_helper.to_array(tensor)
        # Small tensors, constants with one value (such as a running variance of ones) and tensors without negative numbers stay, because their values matter.
        if array.dtype != np.float32 or array.nbytes < LEAST_BYTES or np.ptp(array) == 0 or array.min() >= 0:
            continue
        tensor.ClearField("raw_data")
        tensor.ClearField("float_data")
        del tensor.external_data[:]
        tensor.data_location = onnx.TensorProto.EXTERNAL
        for key, value in (("location", data_file), ("offset", offset), ("length", array.nbytes)):
            tensor.external_data.add(key=key, value=str(value))
        recipe.append(f"{array.nbytes} {float(array.std()) * 3 ** 0.5:.9g} {number + 1}")
        offset += array.nbytes
    with open(target, "wb") as f:
        f.write(model.SerializeToString())
    with open(target.removesuffix(".onnx") + ".recipe", "w") as f:
        f.write("\n".join(recipe) + "\n")


if __name__ == "__main__":
    main()
