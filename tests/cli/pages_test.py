#!/usr/bin/env python3
"""inspect --html and --dot: the page holds all it needs, runs in a browser, and no name breaks it."""
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


if __name__ == "__main__":
    unittest.main()
