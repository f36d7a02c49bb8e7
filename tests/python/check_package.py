#!/usr/bin/env python3
"""tools/python/gart as a package: gart.compile, gart.load from bytes, model(...), the types in its stubs, and the oldest supported
Python."""
import ast
import glob
import inspect
import os
import sys
import tempfile
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
PACKAGE = os.path.join(ROOT, "tools", "python", "gart")
sys.path.insert(0, os.path.dirname(PACKAGE))

import numpy as np
from onnx import parser

import gart
import gart.fleet
import gart.queue

OLDEST = (3, 10)
MODEL = parser.parse_model("""<ir_version: 8, opset_import: ["": 17]>
model (float[n, 4] x, float[4] y) => (float[n, 4] sum, float[n, 4] product) {
  sum = Add(x, y)
  product = Mul(x, y)
}""")
X, Y = np.arange(8, dtype=np.float32).reshape(2, 4), np.full(4, 3, np.float32)


class Compile(unittest.TestCase):
    def test_takes_a_proto_bytes_or_a_path(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "m.onnx")
            with open(path, "wb") as file:
                file.write(MODEL.SerializeToString())
            artifacts = [gart.compile(model, target="x86-64-v3") for model in (MODEL, MODEL.SerializeToString(), path)]
            written = os.path.join(folder, "m.gart")
            self.assertEqual(gart.compile(path, written, target=["x86-64-v3"]), written)
            with open(written, "rb") as file:
                artifacts.append(file.read())
            for artifact in artifacts:
                self.assertEqual(gart.load(artifact).target, "x86-64-v3")

    def test_options_arrive(self):
        artifact = gart.compile(MODEL, dims={"n": [1, 2]}, outputs=["sum"], target="x86-64-v3", threads=1)
        self.assertEqual(gart.load(artifact).outputs, ["sum"])
        with self.assertRaisesRegex(gart.CompileError, "no_such_value"):
            gart.compile(MODEL, outputs="no_such_value")

    def test_errors_are_the_compilers(self):
        with self.assertRaisesRegex(gart.CompileError, "^cannot read /no/such.onnx"):
            gart.compile("/no/such.onnx")
        with self.assertRaisesRegex(TypeError, "not int"):
            gart.compile(3)

    def test_a_missing_compiler_is_named(self):
        before, path = os.environ.pop("GCC_GRAPH"), os.environ.pop("PATH")
        exists, os.path.exists = os.path.exists, lambda _: False
        try:
            with self.assertRaisesRegex(gart.CompileError, "install the package gcc-graph"):
                gart.compile(MODEL)
        finally:
            os.environ.update(GCC_GRAPH=before, PATH=path)
            os.path.exists = exists


class Call(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = gart.load(bytearray(gart.compile(MODEL, target="x86-64-v3")))
        cls.single = gart.load(gart.compile(MODEL, target="x86-64-v3", outputs="sum"))

    def test_takes_inputs_in_order_or_by_name(self):
        for both in (self.model(X, Y), self.model(X, y=Y), self.model(y=Y, x=X)):
            np.testing.assert_array_equal(both[0], X + Y)
            np.testing.assert_array_equal(both[1], X * Y)
        np.testing.assert_array_equal(self.single(X, Y), X + Y)

    def test_wrong_inputs_are_named(self):
        for arrays, named, text in (((X,), {}, "'y' is missing"), ((X, Y, Y), {}, "3 inputs are given: the model takes 2"),
                                    ((X, Y), {"y": Y}, "'y' is given twice"), ((X, Y), {"z": Y}, "z")):
            with self.assertRaisesRegex(gart.GartError, text):
                self.model(*arrays, **named)

    def test_broken_bytes_are_refused(self):
        with self.assertRaises(gart.GartError):
            gart.load(b"no artifact")


def parameters(node):
    """{name: has a default} for a function in a stub."""
    plain = [*node.args.posonlyargs, *node.args.args]
    given = [False] * (len(plain) - len(node.args.defaults)) + [True] * len(node.args.defaults)
    found = dict(zip((a.arg for a in plain), given))
    found |= {a.arg: d is not None for a, d in zip(node.args.kwonlyargs, node.args.kw_defaults)}
    return found | {a.arg: False for a in (node.args.vararg, node.args.kwarg) if a}


class Stubs(unittest.TestCase):
    def compare(self, stub, real, where):
        for node in stub:
            if isinstance(node, ast.FunctionDef) and not node.decorator_list:
                there = inspect.signature(getattr(real, node.name)).parameters
                self.assertEqual(parameters(node), {n: p.default is not p.empty for n, p in there.items()}, f"{where}.{node.name}")
            elif isinstance(node, ast.FunctionDef) and ast.unparse(node.decorator_list[0]) == "overload":
                there = inspect.signature(getattr(real, node.name)).parameters
                self.assertEqual(list(parameters(node)), list(there), f"{where}.{node.name}")
            elif isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                self.compare(node.body, getattr(real, node.name), f"{where}.{node.name}")
                public = {n for n, v in vars(getattr(real, node.name)).items() if inspect.isfunction(v) and not n.startswith("_")}
                self.assertEqual(public - {f.name for f in node.body if isinstance(f, ast.FunctionDef)}, set(), f"{where}.{node.name}")

    def test_stubs_and_modules_agree(self):
        for name, module in (("__init__", gart), ("fleet", gart.fleet), ("queue", gart.queue), ("_compiler", sys.modules["gart._compiler"])):
            with open(os.path.join(PACKAGE, name + ".pyi")) as file:
                body = ast.parse(file.read(), feature_version=OLDEST).body
            self.compare(body, module, name)
            stubbed = {n.name for n in body if isinstance(n, (ast.FunctionDef, ast.ClassDef))}
            own = {n for n, v in vars(module).items() if getattr(v, "__module__", None) == module.__name__ and not n.startswith("_")
                   and (inspect.isfunction(v) or inspect.isclass(v))}
            self.assertEqual(own - stubbed, set(), f"{name}.pyi lacks these")

    def test_the_oldest_python_reads_each_module(self):
        files = glob.glob(os.path.join(PACKAGE, "**", "*.py*"), recursive=True)
        for path in [f for f in files if f.endswith((".py", ".pyi"))]:
            with open(path) as file:
                ast.parse(file.read(), path, feature_version=OLDEST)


if __name__ == "__main__":
    unittest.main()
