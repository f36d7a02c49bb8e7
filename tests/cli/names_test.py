#!/usr/bin/env python3
"""Hostile names of models on the terminal, options in any order, and messages about open extents."""
import contextlib
import os
import re
import subprocess
import unittest

import onnx
from onnx import helper, parser

from cli_case import HEADER, TOOL, CliCase

ESCAPE = "\x1b[31m\u009b31m\x7f"


class Names(CliCase):
    def strange(self, op):
        x = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["n", 2])
        y = helper.make_tensor_value_info(f"y{ESCAPE}", onnx.TensorProto.FLOAT, ["n", 2])
        graph = helper.make_graph([helper.make_node(op, ["x"], [y.name], name=f"node{ESCAPE}", domain="")], "g", [x], [y])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 16)], ir_version=8), self.path("strange.onnx"))

    def printable(self, text):
        for character in ("\x1b", "\u009b", "\x7f"):
            self.assertNotIn(character, text)
        return text

    def test_control_characters_are_escaped(self):
        self.strange("Frobnicate")
        done = self.tool("compile", "strange.onnx", "-o", "strange.gart")
        self.assertEqual(done.returncode, 2)
        self.assertIn("'node\\u001b[31m\\u009b31m\\u007f'", self.printable(done.stderr))
        self.strange("Sin")
        self.accepted("compile", "strange.onnx", "-o", "strange.gart", "--target", "x86-64-v3")
        for options in ((), ("--steps",), ("--json",)):
            self.assertIn("y\\u001b[31m", self.printable(self.accepted("inspect", "strange.gart", *options)))

    def test_a_symbol_may_be_called_anything(self):
        """Names are not parsed as expressions, so a name of half a million brackets does not slow down compilation."""
        x = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["(" * 500_000, 2])
        y = helper.make_empty_tensor_value_info("y")
        graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", [x], [y])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 16)], ir_version=8), self.path("brackets.onnx"))
        self.accepted("compile", "brackets.onnx", "-o", "brackets.gart", "--target", "x86-64-v3")
        self.assertIn("f32[1,2]", self.accepted("run", "brackets.gart", "--random", "1"))

    def test_progress_leaves_nothing_on_a_terminal(self):
        ours, theirs = os.openpty()
        done = subprocess.run([TOOL, "compile", "model.onnx", "-o", "progress.gart", "--target", "x86-64-v3"], cwd=self.folder, stdout=theirs,
                              stderr=theirs)
        os.close(theirs)
        text = ""
        with contextlib.suppress(OSError):  # Linux reports the closed terminal as an error
            while chunk := os.read(ours, 1 << 16).decode():
                text += chunk
        os.close(ours)
        self.assertEqual(done.returncode, 0)
        shown = re.findall(r"([^\r\n]*?) \.\.\.\r\x1b\[K", text)
        self.assertIn("import", " ".join(shown))
        self.assertNotIn("", [s.strip() for s in shown])
        self.assertIn("\x1b[Kwrote progress.gart", text)

    def test_options_may_stand_before_the_model(self):
        for options in (("--target", "x86-64-v3"), ("--target=x86-64-v3",), ("--libraries", "none"), ("--disable-pass", "fold-factors"),
                        ("--target", "x86-64-v3", "--target", "x86-64-v4")):
            self.assertIn("wrote", self.accepted("compile", *options, "model.onnx", "-o", "order.gart"))

    def test_extents_taken_to_be_equal_are_told(self):
        onnx.save(parser.parse_model(HEADER + """two (bool k, float[a, 8] x, float[b, 8] y) => (float[c, 8] z) {
            z = If(k) <then_branch = t () => (float[c, 8] u) { u = Add(x, y) }, else_branch = e () => (float[c, 8] v) { v = Mul(x, y) }> }"""),
                  self.path("two.onnx"))
        out = self.accepted("compile", "two.onnx", "-o", "two.gart", "--target", "x86-64-v3")
        self.assertIn("the extents a and b are assumed to be equal", out)
        self.assertNotIn("assumed to be equal", self.accepted("compile", "model.onnx", "-o", "one.gart", "--target", "x86-64-v3"))


if __name__ == "__main__":
    unittest.main()
