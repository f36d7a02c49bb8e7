#!/usr/bin/env python3
"""classify.cpp from Python: classify.py CLASSIFIER.gart (tools/python on PYTHONPATH)."""
import sys

import numpy as np

import gart

images = np.sin(np.arange(2 * 3 * 32 * 32, dtype=np.float32)).reshape(2, 3, 32, 32)
probabilities = gart.load(sys.argv[1]).run({"image": images})["probabilities"]
for image, row in enumerate(probabilities):
    print(f"image {image}: class {row.argmax()}, probability {row.max():.3f}")
