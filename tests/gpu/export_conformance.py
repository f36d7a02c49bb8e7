#!/usr/bin/env python3
"""Writes the ONNX backend suite as files that need no Python: export_conformance.py FOLDER

FOLDER/CASE/model.onnx, and per data set i in_i.npz, out_i.npz; FOLDER/cases.txt has a line "CASE SETS RTOL ATOL" per case.
Cases with inputs or outputs other than tensors are left out: no target takes them.
"""
import os
import shutil
import sys

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tools", "python"))
import conformance_cases as suite  # noqa: E402

import onnx  # noqa: E402


def is_plain(array):
    return isinstance(array, np.ndarray) and array.dtype.kind in "fiub" and array.dtype.isbuiltin == 1


def main():
    folder = sys.argv[1]
    lines = []
    for case in suite.all_cases():
        if case.kind == "light":
            continue
        names = [o.name for o in onnx.load(case.model, load_external_data=False).graph.output]
        sets = list(case.data_sets())
        arrays = [a for feeds, outputs in sets for a in [*feeds.values(), *outputs]]
        if not all(is_plain(a) for a in arrays):
            continue
        home = os.path.join(folder, f"{case.kind}-{case.name}")
        os.makedirs(home, exist_ok=True)
        shutil.copy(case.model, os.path.join(home, "model.onnx"))
        for i, (feeds, outputs) in enumerate(sets):
            np.savez(os.path.join(home, f"in_{i}.npz"), **feeds)
            np.savez(os.path.join(home, f"out_{i}.npz"), **dict(zip(names, outputs)))
        lines.append(f"{case.kind}-{case.name} {len(sets)} {case.rtol:g} {case.atol:g}")
    with open(os.path.join(folder, "cases.txt"), "w") as f:
        f.write("\n".join(lines) + "\n")
    print(f"{len(lines)} cases")


if __name__ == "__main__":
    main()
