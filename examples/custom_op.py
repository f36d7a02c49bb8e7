"""A model with a custom operator: custom_op.py CLIPPED.gart"""
import sys

import numpy as np

import gart


def median(inputs, outputs, attributes):
    outputs[0][:] = np.minimum(np.median(inputs[0], axis=1), attributes["ceiling"])


model = gart.load(sys.argv[1], custom_ops={"acme::Median": median})
samples = np.array([[1, 2, 3, 4, 5], [-1, 0.5, -2, 7, 0], [9, 8, 7, 6, 5]], np.float32)
for i, value in enumerate(model.run({"samples": samples})["y"]):
    print(f"row {i}: {value:.2f}")
