#!/usr/bin/env python3
"""The formats that the tool prints and reads: versions, empty output, JSON, and arrays as NumPy stores them."""
import json
import unittest
import zipfile

import numpy as np

from cli_case import HEADER, CliCase

NEWEST = '<ir_version: 13, opset_import: ["": 25]>\n'


def write_npz(path, arrays):
    """Like np.savez, for pairs of a type name and elements. NumPy need not know the type."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, (descr, elements) in arrays.items():
            with archive.open(name + ".npy", "w") as file:
                np.lib.format.write_array_header_1_0(file, {"descr": descr, "fortran_order": False, "shape": elements.shape})
                file.write(elements.tobytes())


class OutputForms(CliCase):
    def test_version(self):
        for flag in ("--version", "-V"):
            self.assertRegex(self.accepted(flag), r"^gcc-graph \d+\.\d+\.\d+\n$")

    def test_quiet(self):
        for flag in ("-q", "--quiet"):
            self.assertEqual(self.accepted("compile", "model.onnx", "-o", "quiet.gart", flag), "")
        self.assertEqual(self.read("quiet.gart"), self.read("model.gart"))
        self.refused("compile", "none.onnx", "-o", "none.gart", "-q", says="none.onnx")

    def test_compile_json(self):
        report = json.loads(self.accepted("compile", "model.onnx", "-o", "told.gart", "--target", "x86-64-v3", "--json"))
        self.assertEqual((report["output"], report["bytes"]), ("told.gart", len(self.read("told.gart"))))
        self.assertEqual([p["target"] for p in report["plans"]], ["x86-64-v3"])
        self.assertGreater(report["plans"][0]["steps"], 0)

    def test_check_json(self):
        found = json.loads(self.accepted("check", "model.gart", "--json"))
        rows = {t["name"]: t for t in found["targets"]}
        self.assertTrue(rows["x86-64-v3"]["runs"])
        self.assertIn(found["default"]["target"], rows)
        self.assertTrue(all("reason" in t for t in found["targets"] if not t["runs"]))

    def test_run_json(self):
        report = json.loads(self.accepted("run", "model.gart", "--random", "1", "--dim", "batch=2", "--json"))
        self.assertEqual([(o["name"], o["dtype"], o["shape"]) for o in report["outputs"]], [("z", "f32", [2, 8])])
        self.assertLessEqual(report["outputs"][0]["min"], report["outputs"][0]["mean"])

    def test_arrays_as_numpy_stores_them(self):
        x = np.random.default_rng(0).normal(size=(3, 8)).astype(np.float32)
        y = np.zeros((3, 8), np.float32)
        expected = np.exp(x) / np.exp(x).sum(0)
        np.savez(self.path("expected.npz"), z=expected)
        for name, layout in (("columns", np.asfortranarray(x)), ("turned", np.ascontiguousarray(x.T).T), ("swapped", x.astype(">f4"))):
            np.savez(self.path(name + ".npz"), x=y, y=layout)
            np.save(self.path(name + ".npy"), layout)
            np.save(self.path("x.npy"), y)
            self.accepted("run", "model.gart", "--inputs", name + ".npz", "--expect", "expected.npz")
            self.accepted("run", "model.gart", "--input", "x=x.npy", "--input", f"y={name}.npy", "--expect", "expected.npz")

    def test_unused_bits_of_small_integers_are_ignored(self):
        """ml_dtypes may store -8 in four bits as the byte 0x08; we store 0xf8."""
        for name, low, high in (("int4", -8, 7), ("uint4", 0, 15), ("int2", -2, 1), ("uint2", 0, 3)):
            values = np.arange(low, high + 1, dtype=np.int8)
            bits = int(name[-1])
            self.save("few.onnx", NEWEST + f"g ({name}[{len(values)}] x) => (float[{len(values)}] y, {name}[{len(values)}] z) {{ y = Cast<to = 1>(x) z = Identity(x) }}")
            self.accepted("compile", "few.onnx", "-o", "few.gart", "--target", "x86-64-v3")
            for above in (0, 255 << bits & 255):
                stored = (values.view(np.uint8) & (1 << bits) - 1 | above).astype(np.uint8)
                write_npz(self.path("x.npz"), {"x": (name, stored)})
                write_npz(self.path("z.npz"), {"y": ("<f4", values.astype(np.float32)), "z": (name, stored)})
                self.accepted("run", "few.gart", "--inputs", "x.npz", "--expect", "z.npz")

    def test_an_index_outside_names_its_limits(self):
        self.save("gather.onnx", HEADER + "g (float[5, 4] x, int64[k] i) => (float[k, 4] y) { y = Gather(x, i) }")
        self.accepted("compile", "gather.onnx", "-o", "gather.gart", "--target", "x86-64-v3")
        np.save(self.path("i.npy"), np.array([1, -5, 7]))
        self.refused("run", "gather.gart", "--random", "1", "--input", "i=i.npy", says="index 7, element 2 of the indices, is out of range: it must be in [-5, 5)")


if __name__ == "__main__":
    unittest.main()
