#!/usr/bin/env python3
"""Writes the ONNX backend suite as files that need no Python: export_conformance.py FOLDER

Writes FOLDER/CASE/model.onnx, and in_i.npz and out_i.npz for each data set i. FOLDER/cases.txt has a line "CASE SETS RTOL ATOL" per case.
Cases with inputs or outputs other than tensors are left out, because no target supports them.
"""
import os
import shutil
import sys
import zipfile

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tools", "python"))
import conformance_cases as suite  # noqa: E402

import onnx  # noqa: E402


def write_npz(path, arrays):
    """Like np.savez, but a type of ml_dtypes is stored under its name, which gcc-graph reads."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, array in arrays.items():
            array = np.asarray(array, order="C")
            descr = array.dtype.str if array.dtype.isbuiltin == 1 else array.dtype.name
            header = {"descr": descr, "fortran_order": False, "shape": array.shape}
            with archive.open(zipfile.ZipInfo(name + ".npy"), "w", force_zip64=True) as file:
                np.lib.format.write_array_header_1_0(file, header)
                file.write(array.tobytes())


def is_tensor(array):
    return isinstance(array, np.ndarray) and array.dtype.kind in "fiubV"


def main():
    folder = sys.argv[1]
    lines = []
    for case in suite.all_cases():
        graph = onnx.load(case.model, load_external_data=False).graph
        if not all(v.type.HasField("tensor_type") for v in [*graph.input, *graph.output]):
            continue
        names = [o.name for o in graph.output]
        sets = list(case.data_sets())
        if not all(is_tensor(a) for feeds, outputs in sets for a in [*feeds.values(), *outputs]):
            continue
        home = os.path.join(folder, f"{case.kind}-{case.name}")
        os.makedirs(home, exist_ok=True)
        shutil.copy(case.model, os.path.join(home, "model.onnx"))
        for i, (feeds, outputs) in enumerate(sets):
            write_npz(os.path.join(home, f"in_{i}.npz"), feeds)
            write_npz(os.path.join(home, f"out_{i}.npz"), dict(zip(names, outputs)))
        lines.append(f"{case.kind}-{case.name} {len(sets)} {case.rtol:g} {case.atol:g}")
    with open(os.path.join(folder, "cases.txt"), "w", encoding="utf-8") as f:
        f.write("\n".join(lines) + "\n")
    print(f"{len(lines)} cases")


if __name__ == "__main__":
    main()
