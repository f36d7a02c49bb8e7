"""Shared by the command line tests: a scratch folder with a small model and its artifact, and checks of refusals."""
import os
import re
import subprocess
import tempfile
import unittest

import numpy as np
import onnx
from onnx import parser

TOOL = os.environ["GCC_GRAPH"]
HEADER = '<ir_version: 8, opset_import: ["": 16, "com.example": 3]>\n'

# z = softmax over the rows of y + (x times a matrix of zeros).
MODEL = HEADER + """model (float[batch, 8] x, float[batch, 8] y) => (float[batch, 8] z) {
  s = Constant<value_ints = [8, 8]>()
  w = ConstantOfShape(s)
  a = MatMul(x, w)
  b = Add(a, y)
  z = Softmax<axis = 0>(b)
}"""

# Words that expose the program's internals instead of telling the user what is wrong.
INSIDE = re.compile(r"std::|what\(\)|terminate|exception|stoll|stoi|vector::|basic_|Assertion|Aborted|core dumped|0x[0-9a-f]{6}")


class CliCase(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory(prefix="gcc-graph-cli-")
        cls.folder = cls.scratch.name
        cls.save("model.onnx", MODEL)
        done = cls.tool("compile", "model.onnx", "-o", "model.gart")
        assert done.returncode == 0, done.stderr

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    @classmethod
    def path(cls, name):
        return os.path.join(cls.folder, name)

    @classmethod
    def save(cls, name, text):
        onnx.save(parser.parse_model(text), cls.path(name))

    @classmethod
    def write(cls, name, content):
        with open(cls.path(name), "wb") as f:
            f.write(content)

    @classmethod
    def read(cls, name):
        with open(cls.path(name), "rb") as f:
            return f.read()

    @classmethod
    def tool(cls, *arguments):
        return subprocess.run([TOOL, *arguments], cwd=cls.folder, capture_output=True, text=True, timeout=120)

    def files(self):
        return sorted(os.listdir(self.folder))

    def refused(self, *arguments, says=(), code=1, lines=1):
        """Checks that the tool ends with `code`, prints one sentence of `lines` lines with these words, and leaves no file."""
        before = self.files()
        done = self.tool(*arguments)
        self.assertEqual(done.returncode, code, f"{arguments}: {done.stdout}{done.stderr}")
        self.assertEqual(done.stdout, "", arguments)
        self.assertTrue(done.stderr.startswith("gcc-graph: "), done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), lines, done.stderr)
        self.assertIsNone(INSIDE.search(done.stderr), done.stderr)
        for word in [says] if isinstance(says, str) else says:
            self.assertIn(word, done.stderr)
        self.assertEqual(self.files(), before, "a file was left behind")

    def accepted(self, *arguments):
        done = self.tool(*arguments)
        self.assertEqual(done.returncode, 0, f"{arguments}: {done.stderr}")
        return done.stdout

    @staticmethod
    def plans_told(compiled):
        """(target, shapes, steps, kernels) of every plan in the output of compile."""
        lines = re.findall(r"^  (\S+) \[(.+?)\]: (\d+) steps, (\d+) kernels", compiled, re.M)
        return [(target, shapes, int(steps), int(kernels)) for target, shapes, steps, kernels in lines]

    @classmethod
    def inputs(cls, **changes):
        arrays = {"x": np.ones((2, 8), np.float32), "y": np.zeros((2, 8), np.float32), **changes}
        return {k: v for k, v in arrays.items() if v is not None}
