#!/usr/bin/env python3
"""Named functions: docs/functions.md works as written, a carved function computes the same results, kernels are in the file once,
and wrong calls are refused."""
import json
import os
import re
import shlex
import sys
import unittest

import numpy as np
import onnx
from onnx import helper, numpy_helper, parser

from cli_case import CliCase

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.insert(0, os.path.join(ROOT, "tools", "python"))
import gart

HEADER = '<ir_version: 10, opset_import: ["": 21, "functions": 1]>\n'
NET = HEADER + """net (float[n,64] x, float[256] bias, bool c) => (float[n,64] y, float[n,64] z) {
  [up] a = MatMul(x, w)
  [shift] b = Add(a, bias)
  [bend] g = Tanh(b)
  [down] d = MatMul(g, v)
  [residual] y = Add(d, x)
  [choose] z = If(c) <then_branch = yes () => (float[n,64] t) { t = Mul(d, s) }, else_branch = no () => (float[n,64] e) { e = Neg(x) }>
}"""


def sub_model(inner, inputs="float[n,64] x, float[256] bias", output="float[n,64] y"):
    return HEADER + f"g ({inputs}) => ({output}) {{ {inner} }}"


class Functions(CliCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        random = np.random.default_rng(0)
        cls.weights = {"w": random.standard_normal((64, 256)) * 0.1, "v": random.standard_normal((256, 64)) * 0.1, "s": np.full(1, 3)}
        model = parser.parse_model(NET)
        model.graph.initializer.extend(numpy_helper.from_array(a.astype(np.float32), n) for n, a in cls.weights.items())
        onnx.save(model, cls.path("net.onnx"))
        onnx.save(model, cls.path("beside.onnx"), save_as_external_data=True, location="beside.data", size_threshold=1024)
        done = cls.tool("function", "add", "Block", "net.onnx", "--from", "x,bias", "--to", "y", "-o", "lib.onnx")
        assert done.returncode == 0, done.stderr

    def run_net(self, x, bias):
        """y in numpy."""
        return np.tanh(x @ self.weights["w"] + bias) @ self.weights["v"] + x

    def test_the_document(self):
        with open(os.path.join(ROOT, "docs", "functions.md"), encoding="utf-8") as f:
            text = f.read()
        folder = "document"
        os.mkdir(self.path(folder))
        ran = 0
        for kind, body in re.findall(r"^```(\w+[^\n]*)\n(.*?)^```", text, re.M | re.S):
            if kind.startswith("onnx "):
                self.save(os.path.join(folder, kind.split()[1]), body)
                continue
            self.assertEqual(kind, "console")
            for part in re.split(r"^\$ ", body, flags=re.M)[1:]:
                command, expected = part.split("\n", 1)
                words = shlex.split(command)
                self.assertEqual(words[0], "gcc-graph")
                done = self.tool_in(folder, *words[1:])
                pattern = re.escape(expected.strip()).replace(r"\.\.\.", ".*")
                self.assertTrue(re.fullmatch(pattern, (done.stdout + done.stderr).strip(), re.S), f"{command}\n{done.stdout}{done.stderr}")
                ran += 1
        self.assertGreater(ran, 8)

    def tool_in(self, folder, *arguments):
        import subprocess
        from cli_case import TOOL
        return subprocess.run([TOOL, *arguments], cwd=self.path(folder), capture_output=True, text=True, timeout=120)

    def test_the_library_is_onnx(self):
        library = onnx.load(self.path("lib.onnx"))
        onnx.checker.check_model(library, full_check=True)
        function = library.functions[0]
        self.assertEqual((function.domain, function.name, list(function.input), list(function.output)),
                         ("functions", "Block", ["x", "bias"], ["y"]))
        listed = json.loads(self.accepted("function", "list", "lib.onnx", "--json"))
        self.assertEqual(listed[0]["inputs"], [{"name": "x", "type": "f32[n,64]"}, {"name": "bias", "type": "f32[256]"}])
        self.assertEqual(listed[0]["nodes"], 5)
        # Checks a carved function with onnx's own evaluator, which runs the model that contains the function.
        model = parser.parse_model(sub_model("y = functions.Block(x, bias)"))
        model.functions.extend(library.functions)
        onnx.checker.check_model(model, full_check=True)
        x, bias = np.random.default_rng(1).standard_normal((3, 64)), np.linspace(-1, 1, 256)
        from onnx.reference import ReferenceEvaluator
        y = ReferenceEvaluator(model).run(None, {"x": x.astype(np.float32), "bias": bias.astype(np.float32)})[0]
        np.testing.assert_allclose(y, self.run_net(x, bias), rtol=1e-4, atol=1e-4)

    def test_twelve_calls_are_in_the_file_once(self):
        calls = "\n".join(f"[block{i}] h{i + 1} = functions.Block(h{i}, bias)" for i in range(12))
        self.save("deep.onnx", sub_model(calls, "float[n,64] h0, float[256] bias", "float[n,64] h12"))
        self.save("two.onnx", sub_model("h = functions.Block(x, bias) y = functions.Block(h, bias)"))
        sizes = {}
        for name in ("two", "deep"):
            out = self.accepted("compile", f"{name}.onnx", "--functions", "lib.onnx", "-o", f"{name}.gart", "--target", "x86-64-v3")
            sizes[name] = [int(n) for n in re.search(r"weights (\d+), code (\d+)", out).groups()]
            self.assertEqual(self.plans_told(out)[0][3], 2, "two kernels, however many calls")
        self.assertEqual(sizes["deep"], sizes["two"])
        plan = json.loads(self.accepted("inspect", "deep.gart", "--steps", "--json"))["entry_points"][0]["plans"][0]
        steps = plan["sequences"][0]
        self.assertEqual(len(steps), 24)
        self.assertEqual([s["source"] for s in steps[:2]], ["block0/up, block0/shift, block0/bend", "block0/down, block0/residual"])
        x, bias = np.random.default_rng(1).standard_normal((3, 64)) * 0.1, np.linspace(-1, 1, 256)
        got = gart.load(self.path("deep.gart")).run({"h0": x.astype(np.float32), "bias": bias.astype(np.float32)})["h12"]
        for _ in range(12):
            x = self.run_net(x, bias)
        np.testing.assert_allclose(got, x, rtol=1e-3, atol=1e-3)

    def test_bodies_read_what_is_around_them(self):
        self.accepted("function", "add", "Choose", "beside.onnx", "--from", "x,g,c", "--to", "z", "-o", "choose.onnx")
        self.save("uses.onnx", sub_model("z = functions.Choose(p, q, c)", "float[m,64] p, float[m,256] q, bool c", "float[m,64] z"))
        self.accepted("compile", "uses.onnx", "--functions", "choose.onnx", "-o", "uses.gart", "--target", "x86-64-v3")
        p, q = (np.random.default_rng(2).standard_normal((5, n)).astype(np.float32) for n in (64, 256))
        for c, expected in ((True, q @ self.weights["v"] * 3), (False, -p)):
            got = gart.load(self.path("uses.gart")).run({"p": p, "q": q, "c": np.array(c)})["z"]
            np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-4)

    def test_functions_of_the_model_come_along(self):
        self.save("own.onnx", """<ir_version: 10, opset_import: ["": 21, "own": 1]>
          g (float[n] x) => (float[n] y) { a = own.Outer(x) y = Neg(a) }
          <domain: "own", opset_import: ["": 21, "own": 1]> Outer (x) => (y) { t = own.Inner(x) y = Exp(t) }
          <domain: "own", opset_import: ["": 21]> Inner (x) => (y) { y = Abs(x) }""")
        self.accepted("function", "add", "Tail", "own.onnx", "--from", "x", "--to", "y", "-o", "tail.onnx")
        self.assertEqual([f["name"] for f in json.loads(self.accepted("function", "list", "tail.onnx", "--json"))],
                         ["functions::Tail", "own::Inner", "own::Outer"])
        self.refused("function", "remove", "own::Inner", "tail.onnx", says="function 'own::Inner' is called by 'own::Outer'")
        self.save("tailed.onnx", sub_model("y = functions.Tail(x)", "float[n] x", "float[n] y"))
        self.accepted("compile", "tailed.onnx", "--functions", "tail.onnx", "-o", "tailed.gart", "--target", "x86-64-v3")
        got = gart.load(self.path("tailed.gart")).run({"x": np.array([-1, 2], np.float32)})["y"]
        np.testing.assert_allclose(got, -np.exp([1, 2]), rtol=1e-5)

    def test_a_made_name_is_what_it_computes(self):
        first = self.accepted("function", "add", "net.onnx", "--from", "x,bias", "--to", "g", "-o", "made.onnx")
        model = onnx.load(self.path("net.onnx"))
        for node in model.graph.node:  # the same nodes with other names
            node.name += "_other"
            for names in (node.input, node.output):
                for i, name in enumerate(names):
                    names[i] = {"a": "a_other", "b": "b_other", "g": "g_other"}.get(name, name)
        onnx.save(model, self.path("other.onnx"))
        again = self.accepted("function", "add", "other.onnx", "--from", "x,bias", "--to", "g_other", "-o", "made.onnx")
        name = re.search(r"functions::f_[0-9a-f]{16}", first).group()
        self.assertIn(name, again)
        self.assertEqual(len(json.loads(self.accepted("function", "list", "made.onnx", "--json"))), 1)
        self.accepted("function", "remove", name, "made.onnx")
        self.assertFalse(os.path.exists(self.path("made.onnx")), "a library without functions is none")

    def test_carving_refuses(self):
        def refused(says, *arguments, name="Other", model="net.onnx"):
            self.refused("function", "add", name, model, *arguments, "-o", "lib.onnx", says=says)
        refused("the model has no value 'bais', which --from names; the nearest: 'bias'", "--from", "x,bais", "--to", "y")
        refused("the model has no value 'yy', which --to names; the nearest: 'y'", "--from", "x,bias", "--to", "yy")
        refused("value 'b' of --to cannot be reached from 'd' of --from", "--from", "d", "--to", "b")
        refused("the function needs 'bias' of the model's inputs, which is not in --from: node 'shift' (Add) reads 'bias'",
                "--from", "x", "--to", "y")
        refused("value 'c' of --from is not needed to compute 'y' of --to", "--from", "x,bias,c", "--to", "y")
        refused("value 'x' of --to is an input of the model, which no node computes", "--from", "bias", "--to", "x")
        refused("value 'b' is both in --from and in --to", "--from", "b", "--to", "b,y")
        refused("value 'x' is in --from twice", "--from", "x,x,bias", "--to", "y")
        refused("function 'functions::Block' is in lib.onnx already; choose another name", "--from", "x,bias", "--to", "d", name="Block")
        refused("'a b' is not a function name", "--from", "x,bias", "--to", "y", name="a b")
        refused("functions cannot be in the domain 'gart'", "--from", "x,bias", "--to", "y", name="gart::B")
        refused("model.gart is not an ONNX model", "--from", "x", "--to", "y", model="model.gart")
        self.refused("function", "remove", "Blok", "lib.onnx", says="there is no function 'functions::Blok' in lib.onnx; the nearest: 'functions::Block'")
        self.refused("function", "list", "model.onnx", says="model.onnx holds no functions")
        self.refused("function", "add", "B", "net.onnx", "--from", "x,bias", "--to", "y", "-o", "model.onnx", says="model.onnx holds no functions")

    def test_a_function_that_would_call_itself(self):
        self.save("calls.onnx", sub_model("h = functions.Block(x, bias) y = Neg(h)"))
        self.accepted("function", "add", "Up", "calls.onnx", "--from", "x,bias", "--to", "y", "-o", "loop.onnx")
        self.save("back.onnx", sub_model("h = functions.Up(x, bias) y = Abs(h)"))
        self.refused("function", "add", "Block", "back.onnx", "--from", "x,bias", "--to", "y", "-o", "loop.onnx",
                     says="function 'functions::Block' would call itself: functions::Block -> functions::Up -> functions::Block")

    def test_compiling_refuses(self):
        def refused(model, says, functions="lib.onnx", code=1, lines=1):
            self.save("wrong.onnx", model)
            self.refused("compile", "wrong.onnx", "--functions", functions, "-o", "wrong.gart", says=says, code=code, lines=lines)
        refused(sub_model("y = functions.Blok(x, bias)"), ("'y': Blok (domain functions", "the nearest: 'functions::Block'"), code=2, lines=2)
        refused(sub_model("y = functions.Block(x, bias, bias)"), "node 'y' has 3 inputs and 1 outputs, but function 'functions::Block' has 2 and 1")
        refused(sub_model("y = functions.Block(x)"),
                "node 'y' leaves out input 'bias' of function 'functions::Block', which its node 'shift' (Add) needs")
        refused(sub_model("y = functions.Block(x, bias)", "int64[n,64] x, float[256] bias", "int64[n,64] y"),
                "function 'functions::Block' takes 'x' as f32[n,64], and node 'y' gives it i64[n,64]", code=2, lines=2)
        refused(sub_model("y = functions.Block(x, bias)", "float[n,32] x, float[256] bias", "float[n,32] y"),
                "takes 'x' as f32[n,64], and node 'y' gives it f32[n,32]", code=2, lines=2)
        self.accepted("function", "add", "Block", "net.onnx", "--from", "x,bias", "--to", "d", "-o", "second.onnx")
        refused(sub_model("y = functions.Block(x, bias)"), "function 'functions::Block' is in lib.onnx and in second.onnx; remove one of them",
                "lib.onnx,second.onnx")
        recursive = sub_model("y = functions.A(x)", "float[n] x", "float[n] y") + """
          <domain: "functions", opset_import: ["": 21, "functions": 1]> A (x) => (y) { y = functions.B(x) }
          <domain: "functions", opset_import: ["": 21, "functions": 1]> B (x) => (y) { t = Relu(x) y = functions.A(t) }"""
        refused(recursive, "function 'functions::A' calls itself, at node 'y/y/y': functions::A -> functions::B -> functions::A")
        library = parser.parse_model(recursive)
        for field in ("node", "input", "output"):
            library.graph.ClearField(field)
        onnx.save(library, self.path("recursive.onnx"))
        refused(sub_model("y = functions.A(x)", "float[n] x", "float[n] y"),
                "calls itself, at node 'y/y/y': functions::A -> functions::B -> functions::A", "recursive.onnx")
        refused(sub_model("y = functions.Block(x, bias)"), "net.onnx holds no functions", "net.onnx")

    def test_the_device_travels(self):
        self.accepted("function", "add", "OnCpu", "net.onnx", "--from", "x,bias", "--to", "y", "-o", "placed.onnx", "--device", "cpu", "--group", "tail")
        self.assertEqual(json.loads(self.accepted("function", "list", "placed.onnx", "--json"))[0]["labels"],
                         {"gart.device": "cpu", "gart.group": "tail"})
        self.save("placed_use.onnx", sub_model("[first] h = functions.Block(x, bias) [second] y = functions.OnCpu(h, bias)"))
        command = ("compile", "placed_use.onnx", "--functions", "lib.onnx,placed.onnx", "-o", "placed.gart", "--target", "sm_80,x86-64-v3",
                   "--stop-after=plan", "--print-plan")
        parts = [text.split("\n")[0] for text in self.accepted(*command).split("plan for a ")[1:]]
        self.assertEqual(parts.count("CPU, any shape"), 2, "the whole model and its second function")
        self.assertEqual(parts.count("GPU, any shape"), 2, "the whole model and its first function")
        parts = self.accepted(*command, "--assign", "second/*=cuda").split("plan for a ")[1:]
        self.assertEqual(sum(p.startswith("CPU, any shape") for p in parts), 1, "the user's word wins")

    def test_measurements_travel(self):
        def entry(choice):
            return {"format": "gcc-graph tuning 1", "measured": [
                {"target": "sm_80", "precision": "fp32", "kernel": "matmul",
                 "shape": "20 x 256 x 64, left f32 along depth by 4, right f32 across depth by 4", "choice": choice, "expected": choice,
                 "device": "", "driver": "", "microseconds": {choice: 1.0}}]}
        for name, choice in (("function.json", "32x32x32 3xtf32, 5 stages"), ("user.json", "7x7x7 by hand")):
            self.write(name, json.dumps(entry(choice)).encode())
        added = self.accepted("function", "add", "Tuned", "net.onnx", "--from", "x,bias", "--to", "b", "-o", "tuned.onnx",
                              "--tuning", "function.json")
        self.assertIn("; with measurements\n", added)
        self.save("tuned_use.onnx", sub_model("y = functions.Tuned(x, bias)", output="float[n,256] y"))
        command = ("compile", "tuned_use.onnx", "--functions", "tuned.onnx", "-o", "tuned.gart", "--target", "sm_80", "--dim", "n=20")
        done = self.tool(*command)
        if "NVRTC" in done.stderr:
            self.skipTest("GPU code needs NVRTC")
        self.assertIn("tuning of the functions: 1 choices taken\n", done.stdout, done.stderr)
        self.assertIn("user.json: 0 choices taken, 1 ignored because this compiler does not have them", self.accepted(*command, "--tuning", "user.json"))
        self.refused("function", "add", "T2", "net.onnx", "--from", "x,bias", "--to", "b", "-o", "tuned.onnx", "--tuning", "net.onnx",
                     says="net.onnx: line 1, column 1: this is not JSON")


if __name__ == "__main__":
    unittest.main()
