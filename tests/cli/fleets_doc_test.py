#!/usr/bin/env python3
"""Runs the commands, options and Python of docs/fleets.md as written, and checks that its ninja targets exist."""
import json
import os
import re
import shlex
import sys
import unittest

import numpy as np

from cli_case import HEADER, CliCase

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.insert(0, os.path.join(ROOT, "tools", "python"))
CORES = sorted(os.sched_getaffinity(0))

# A model that matches the document's examples: nodes by operator and by name, values by name.
MODEL = HEADER + """model (float[4, 8] x) => (float[4, 8] y) {
  s = Constant<value_ints = [8, 8]>()
  w = ConstantOfShape<value = float[1] {0.5}>(s)
  encoder_in = MatMul(x, w)
  V = Relu(encoder_in)
  hidden = MatMul(V, w)
  W = Softmax(hidden)
  y = MatMul(W, w)
}"""


class FleetsDocTest(CliCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.save("model.onnx", MODEL)
        with open(os.path.join(ROOT, "docs", "fleets.md")) as f:
            cls.text = f.read()
        cls.fleet = json.loads(re.search(r"```json\n(.*?)```", cls.text, re.S)[1])
        for i, device in enumerate(cls.fleet["devices"]):  # cores that this process has
            device["cores"] = [CORES[i % len(CORES)]]

    def run_line(self, line):
        words = shlex.split(line, comments=True)
        self.assertEqual(words.pop(0), "gcc-graph")
        to = words.index(">") if ">" in words else len(words)
        output = self.accepted(*words[:to], *(["--seconds", "0.1"] if words[0] == "bench" else []))
        for path in words[to + 1:]:
            self.write(path, output.encode())

    def write_fleet(self):
        self.write("fleet.json", json.dumps(self.fleet).encode())

    def test_commands(self):
        commands = re.findall(r"^    (gcc-graph .*)$", self.text, re.M)
        self.assertGreater(len(commands), 10)
        for line in commands:
            self.run_line(line)
            if "> fleet.json" in line:
                self.write_fleet()  # the document's next fleet.json

    def test_options(self):
        self.write_fleet()
        options = re.findall(r"^\| `(--[^`]*)` \|", self.text, re.M)
        self.assertGreater(len(options), 5)
        for option in options:
            self.accepted("compile", "model.onnx", "-o", "option.gart", "--fleet", "fleet.json", *shlex.split(option.replace("...", "support")))

    def test_python(self):
        self.write_fleet()
        self.accepted("compile", "model.onnx", "-o", "model.gart", "--fleet", "fleet.json", "--keep", "hidden")
        code = re.search(r"```python\n(.*?)```", self.text, re.S)[1].replace('"cpu:1"', f'"cpu:{CORES[-1]}"')
        x = np.ones((4, 8), np.float32)
        names, before = {"x": x, "batches": [x, x, x]}, os.getcwd()
        os.chdir(self.folder)
        try:
            exec(code, names)
        finally:
            os.chdir(before)
        self.assertEqual(list(names["hidden"]), ["hidden"])
        for result in names["results"]:
            np.testing.assert_array_equal(result["y"], names["outputs"]["y"])

    def test_targets_of_ninja(self):
        if os.environ.get("GCC_GRAPH_SANITIZE"):
            self.skipTest("measurements have no targets in a build with a sanitizer")
        path = os.path.join(os.path.dirname(os.environ["GART_LIBRARY"]), "..", "build.ninja")
        if not os.path.exists(path):
            self.skipTest("there is no build.ninja")
        with open(path) as f:
            built = f.read()
        targets = re.findall(r"`(check_\w+)`", self.text)
        self.assertGreater(len(targets), 5)
        for target in targets:
            self.assertRegex(built, rf"(?m)^build .*\b{target}\b.*:", target)


if __name__ == "__main__":
    unittest.main()
