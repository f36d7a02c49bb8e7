#!/usr/bin/env python3
"""inspect --html, --dot and --onnx: the page holds all it needs, runs in a browser, and no name breaks it."""
import json
import os
import re
import shutil
import subprocess
import unittest

import onnx

from cli_case import HEADER, CliCase

BRANCHES = HEADER + """wide (float[n, 64] x, bool c) => (float[n, 64] y) {
  s = Constant<value_ints = [64, 64]>()
  w = ConstantOfShape(s)
  a = MatMul(x, w)
  b = Sin(a)
  p = Softmax<axis = 0>(b)
  t = Softmax<axis = 1>(b)
  u = Add(p, t)
  y = If(c) <
    then_branch = yes () => (float[n, 64] r) { q = MatMul(u, w)  r = Softmax<axis = 0>(q) },
    else_branch = no () => (float[n, 64] r) { r = Softmax<axis = 1>(u) }
  >
}"""


def data_of(page):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S).group(1))


class Pages(CliCase):
    def page(self, *arguments):
        self.accepted("inspect", *arguments, "--html", "page.html")
        return self.read("page.html").decode()

    def dom(self):
        browser = shutil.which("chromium")
        if browser is None:
            self.skipTest("there is no chromium")
        done = subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=3000", "--dump-dom",
                               "file://" + self.path("page.html")], capture_output=True, text=True, timeout=120)
        return done.stdout

    def test_the_page_holds_the_report(self):
        self.save("wide.onnx", BRANCHES)
        self.accepted("compile", "wide.onnx", "-o", "wide.gart", "--dim", "n=8")
        page = self.page("wide.gart")
        self.assertEqual(re.findall(r'(?:src|href|url)\s*[=(]', page), [], "it needs no other file")
        report = data_of(page)
        plan = report["entry_points"][0]["plans"][0]
        buffers = plan["buffer_list"]
        self.assertEqual(len(plan["sequences"]), 3, "the whole and two branches")
        self.assertEqual({b["kind"] for b in buffers} & {"input", "output", "constant", "temporary"},
                         {"input", "output", "constant", "temporary"})
        self.assertEqual([b["name"] for b in buffers if b["kind"] == "input" and "view_of" not in b], ["x", "c"])
        for step in (s for sequence in plan["sequences"] for s in sequence):
            self.assertTrue(all(w < len(step["operands"]) for w in step.get("writes", [])), step)
        dom = self.dom()
        for text in (">packedmatmul_sin</td>", ">whole, 4 steps</option>", ">body 1, 1 steps</option>"):
            self.assertTrue(text in dom, text)

    def test_times_of_a_profile(self):
        self.accepted("compile", "model.onnx", "-o", "model.gart")
        done = self.tool("bench", "model.gart", "--dim", "batch=4", "--profile", "--json", "--seconds", "0.01")
        self.write("times.json", done.stdout.encode())
        times = data_of(self.page("model.gart", "--times", "times.json"))["times"]
        self.assertEqual({"step", "us", "share", "source"} - set(times["profile"]["steps"][0]), set())
        self.assertTrue("measured: " in self.dom())
        self.write("other.json", b'{"profile": {"steps": [{"step": -1}]}}')
        os.remove(self.path("page.html"))
        for name in ("other.json", "model.gart", "model.onnx"):
            self.refused("inspect", "model.gart", "--html", "page.html", "--times", name, says="bench --profile --json")
        self.assertFalse(os.path.exists(self.path("page.html")))
        self.refused("inspect", "model.gart", "--times", "times.json", says="--html")

    def test_no_name_ends_the_data(self):
        name = "</script><script>document.title='hit'</script>"
        self.save("named.onnx", HEADER + """named (float[4] x) => (float[4] y) { y = Sin(x) }""")
        loaded = onnx.load(self.path("named.onnx"))
        loaded.graph.name = loaded.graph.node[0].name = name
        onnx.save(loaded, self.path("named.onnx"))
        self.accepted("compile", "named.onnx", "-o", "named.gart")
        self.assertEqual(data_of(self.page("named.gart"))["entry_points"][0]["name"], name)
        self.assertFalse("<title>hit" in self.dom())
        self.accepted("inspect", "named.gart", "--dot", "named.dot")
        self.assertIn('digraph "</script>', self.read("named.dot").decode())

    def test_graphviz(self):
        self.save("wide.onnx", BRANCHES)
        self.accepted("compile", "wide.onnx", "-o", "wide.gart", "--dim", "n=8", "--target", "x86-64-v3")
        self.accepted("inspect", "wide.gart", "--dot", "wide.dot")
        text = self.read("wide.dot").decode()
        self.assertEqual(text.count("{"), text.count("}"))
        steps = set(re.findall(r"(s\d+_\d+) \[label", text))
        edges = re.findall(r"(s\d+_\d+) -> (s\d+_\d+);", text)
        self.assertTrue(edges and {e for pair in edges for e in pair} <= steps)
        for source, target in edges:
            self.assertLess(int(source.split("_")[1]), int(target.split("_")[1]), "steps read what earlier ones wrote")


class Onnx(CliCase):
    """The ONNX file shows each step once, and ONNX's checker accepts it."""

    def written(self, *arguments):
        self.accepted("inspect", *arguments, "--onnx", "shown.onnx")
        model = onnx.load(self.path("shown.onnx"))
        onnx.checker.check_model(model)
        return model

    def report(self, artifact):
        return json.loads(self.accepted("inspect", artifact, "--json", "--steps", "--kernels"))["entry_points"][0]

    def each_node(self, nodes):
        for node in nodes:
            yield node
            for attribute in node.attribute:
                if attribute.type == onnx.AttributeProto.GRAPH:
                    yield from self.each_node(attribute.g.node)

    def test_steps_are_nodes(self):
        self.save("wide.onnx", BRANCHES)
        self.accepted("compile", "wide.onnx", "-o", "wide.gart", "--target", "x86-64-v3,x86-64-v4,sm_80", "--dim", "n=8")
        model, entry = self.written("wide.gart"), self.report("wide.gart")
        self.assertEqual([i.name for i in model.graph.input], ["x", "c"])
        self.assertEqual([d.dim_param or d.dim_value for d in model.graph.output[0].type.tensor_type.shape.dim], ["n", 64])
        shown = [model.graph, *model.functions]
        self.assertEqual(len(shown), len(entry["plans"]))
        for plan, owner in zip(entry["plans"], shown):
            self.assertIn(plan["target"], owner.name)
            steps = [step for sequence in plan["sequences"] for step in sequence]
            nodes = [node for node in self.each_node(owner.node) if node.domain]
            kinds = sorted(step.get("kernel", step["kind"]) for step in steps if step["kind"] != "call")
            self.assertEqual(sorted(node.op_type for node in nodes if node.domain == "gart"), kinds)
            self.assertEqual(sorted(node.doc_string for node in nodes), sorted(step["source"] for step in steps))
        branch = next(node for node in model.graph.node if node.op_type == "branch")
        self.assertEqual({a.name for a in branch.attribute if a.type == onnx.AttributeProto.GRAPH}, {"then_branch", "else_branch"})

    def test_values_lead_from_inputs_to_outputs(self):
        model = self.written("model.gart")
        makers = {name: node for node in model.graph.node for name in node.output}
        reached, todo = set(), ["z"]
        while todo:
            name = todo.pop()
            reached.add(name)
            todo += [i for i in makers[name].input if i not in reached] if name in makers else []
        self.assertLessEqual({"z", "y"}, reached)
        self.assertEqual([d.dim_param or d.dim_value for d in model.graph.input[0].type.tensor_type.shape.dim], ["batch", 8])

    def test_loops_and_states(self):
        self.save("loop.onnx", HEADER + """looped (float[4] x, int64 n) => (float[4] y) {
          yes = Constant<value_int = 1>()
          c = Cast<to = 9>(yes)
          y = Loop(n, c, x) <body = once (int64 i, bool going, float[4] v) => (bool more, float[4] w) {
            more = Identity(going)
            s = Softmax<axis = 0>(v)
            w = Add(s, v)
          }>
        }""")
        self.accepted("compile", "loop.onnx", "-o", "loop.gart")
        model = self.written("loop.gart")
        loop = next(node for node in model.graph.node if node.op_type == "loop")
        self.assertEqual([a.name for a in loop.attribute if a.type == onnx.AttributeProto.GRAPH], ["body"])
        self.assertTrue(loop.output)
        self.save("grow.onnx", HEADER + """grows (float[n, 4] cache, float[1, 4] row) => (float[m, 4] next, float[m, 4] out) {
          next = Concat<axis = 0>(cache, row)
          out = Tanh(next)
        }""")
        self.accepted("compile", "grow.onnx", "-o", "grow.gart", "--state", "cache=next")
        self.written("grow.gart")

    def test_names_are_only_names(self):
        """Inputs and outputs whose names equal the names that the page generates for other values."""
        self.save("named.onnx", HEADER + """named (float[4, 4] weights1, float[4, 4] buffer2) => (float[4, 4] buffer3, float[4, 4] weights0) {
          buffer3 = MatMul(weights1, buffer2)
          weights0 = Softmax(buffer3)
        }""")
        self.accepted("compile", "named.onnx", "-o", "named.gart")
        self.written("named.gart")


if __name__ == "__main__":
    unittest.main()
