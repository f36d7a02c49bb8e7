#!/usr/bin/env python3
"""The detector of voice.c from Python: voice.py VOICE.gart (tools/python on PYTHONPATH)."""
import sys

import numpy as np

import gart

model = gart.load(sys.argv[1])
state = np.zeros((2, 1, 32), np.float32)
for chunk in range(4):
    samples = np.sin((np.arange(256) + 256 * chunk).astype(np.float32) * np.float32(0.05))[None]
    out = model.run({"samples": samples, "state": state})
    state = out["new_state"]
    print(f"chunk {chunk}: speech {out['speech'][0, 0]:.4f}")
