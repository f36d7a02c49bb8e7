#!/usr/bin/env python3
"""Checks the behaviour and output of gcc-graph on a machine with a (simulated) GPU.

  run_sim.sh --sm 80 check_tool.py
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", ".."))
sys.path[:0] = [os.path.join(ROOT, "tests", "models"), os.path.join(ROOT, "tools", "models")]

import onnx
from onnx import parser

import model_check
import small_models

HEADER = '<ir_version: 8, opset_import: ["": 17]>\n'
MODEL = HEADER + """model (float[4, 8] x) => (float[4, 8] y) {
  a = Exp(x)
  b = Softmax<axis = 1>(a)
  y = Softmax<axis = 0>(b)
}"""
COUNTING = HEADER + """model (float[8] x) => (int64[1, n] y) { y = NonZero(x) }"""


class Tool(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory(prefix="gcc-graph-sim-")
        self.addCleanup(self.scratch.cleanup)

    def path(self, name):
        return os.path.join(self.scratch.name, name)

    def tool(self, *arguments, **environment):
        done = subprocess.run([model_check.tool(), *arguments], cwd=self.scratch.name, capture_output=True, text=True,
                              env=dict(os.environ, **environment))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def compile(self, text, *options, **environment):
        onnx.save(parser.parse_model(text), self.path("m.onnx"))
        return self.tool("compile", "m.onnx", "-o", "m.gart", *options, **environment)

    def targets(self):
        return [t["name"] for t in json.loads(self.tool("inspect", "m.gart", "--json"))["targets"]]

    def test_the_gpus_here_are_the_default(self):
        for sm, target in ((75, "sm_75"), (80, "sm_80"), (90, "sm_90a"), (88, "ptx")):
            self.compile(MODEL, GART_SIM_SM=str(sm), GART_SIM_DEVICES="2")
            self.assertEqual(self.targets(), ["x86-64-v3", "x86-64-v4", target])
            self.assertIn("on cuda:0", self.tool("check", "m.gart", GART_SIM_SM=str(sm)))

    def test_the_default_is_for_the_driver_here(self):
        self.compile(MODEL, GART_SIM_DRIVER="12040", GART_SIM_NVRTC="12.6")
        self.assertIn("for drivers of CUDA 12.3 and newer", self.tool("inspect", "m.gart"))
        self.assertIn("on cuda:0", self.tool("check", "m.gart", GART_SIM_DRIVER="12040"))

    def test_gpus_without_code_are_named(self):
        self.assertIn("no code for the sm_70 in this machine", self.compile(MODEL, GART_SIM_SM="70"))
        self.assertEqual(self.targets(), ["x86-64-v3", "x86-64-v4"])
        out = self.compile(MODEL, GCC_GRAPH_NVRTC="/nonexistent")
        self.assertIn("no code for the sm_80 in this machine: GCC_GRAPH_NVRTC names /nonexistent", out)
        out = self.compile(MODEL, "--target", "x86-64-v3", GCC_GRAPH_NVRTC="/nonexistent")
        self.assertNotIn("sm_80", out)

    def test_where_the_graph_is_split_is_said(self):
        out = self.compile(COUNTING, "--target", "sm_80,x86-64-v3")
        self.assertRegex(out, r"an extent of a result of 'y' depends on data \('.*'\): the graph is split there")

    def test_expected_times_say_what_they_assume(self):
        product = HEADER + "model (float[rows, 64] x, float[64, 64] w) => (float[rows, 64] z) { z = MatMul(x, w) }"
        self.compile(product, "--target", "sm_80", "--dim", "rows=128")
        entry, = json.loads(self.tool("inspect", "m.gart", "--kernels", "--json"))["entry_points"]
        notes = {plan["shapes"]: plan["kernel_list"][0]["note"] for plan in entry["plans"]}
        self.assertRegex(notes["rows=128"], r", expected [\d.]+ us$")
        self.assertRegex(notes["symbolic"], r", expected [\d.]+ us with open extents of 64$")

    def fails(self, failure):
        done = subprocess.run([model_check.tool(), "run", self.path("m.gart"), "--device", "cuda", "--random", "1"], capture_output=True,
                              text=True, env=dict(os.environ, GART_SIM_FAIL=failure))
        self.assertEqual(done.returncode, 1, done.stderr)
        return done.stderr

    def test_failures_while_loading_name_the_file(self):
        onnx.save(small_models.MODELS["mlp"][0](), self.path("mlp.onnx"))
        self.tool("compile", "mlp.onnx", "-o", "m.gart", "--target", "sm_80,x86-64-v3", "--precision", "fp16")
        loading = f"cannot load '{self.path('m.gart')}': "
        self.assertRegex(self.fails("cuModuleLoadDataEx:1:300"), re.escape(loading) + r"cuModuleLoadDataEx failed on cuda:0 in kernel '\w+': ")
        self.assertIn(loading + "no memory for ", self.fails("cuMemAlloc_v2:1:2"))
        self.assertRegex(self.fails("kernels:1:700"), re.escape(loading) + r"the device is lost: .* in one of the \d steps of 'weights'")

    def test_check_says_when_the_best_device_fails(self):
        self.compile(MODEL, "--target", "sm_80,x86-64-v3")
        failures = ",".join(f"cuModuleLoadDataEx:{k}:300" for k in range(1, 40))
        out = self.tool("check", "m.gart", GART_SIM_FAIL=failures)
        self.assertIn("\nx86-64-v3: runs here, on cpu\n", out)
        self.assertRegex(out, r"\ngart::load fails unless a target or device is named: .*cuModuleLoadDataEx failed")

    def test_bench_prints_a_line_per_value(self):
        self.compile(MODEL, "--target", "sm_80")
        lines = self.tool("bench", "m.gart", "--device", "cuda", "--seconds", "0.001").splitlines()
        self.assertTrue([l for l in lines if l.startswith("in_device_memory.enqueue_p50_us: ")], lines)
        self.assertFalse([l for l in lines if "{" in l], lines)

    def test_a_probe_measures_links(self):
        fleet = json.loads(self.tool("devices", "--probe", "--json", GART_SIM_DEVICES="2"))
        gpus = [d["name"] for d in fleet["devices"] if d["kind"] == "cuda"]
        pools = [d["name"] for d in fleet["devices"] if d["kind"] == "cpu"]
        self.assertEqual(gpus, ["cuda:0", "cuda:1"])
        links = {(link["from"], link["to"]): link for link in fleet["links"]}
        both = [(a, b) for gpu in gpus for pool in pools for a, b in ((gpu, pool), (pool, gpu))]
        self.assertEqual(set(links), {*both, ("cuda:0", "cuda:1"), ("cuda:1", "cuda:0")})
        for link in links.values():
            self.assertGreater(link["gbytes_per_s"], 0)
            self.assertGreaterEqual(link["us"], 0)
        for device in fleet["devices"]:
            self.assertGreater(device["gflops"], 0)
            self.assertGreater(device["gbytes_per_s"], 0)
        onnx.save(parser.parse_model(MODEL), self.path("m.onnx"))
        with open(self.path("fleet.json"), "w") as f:
            json.dump(fleet, f)
        self.tool("compile", "m.onnx", "-o", "m.gart", "--fleet", "fleet.json", GART_SIM_DEVICES="2")

    def test_an_assigned_node_is_a_cut(self):
        self.compile(MODEL, "--target", "sm_80,x86-64-v3", "--assign", "b=cpu")
        groups = json.loads(self.tool("inspect", "m.gart", "--json"))["groups"]
        self.assertEqual([(g["device"], g["nodes"]) for g in groups], [("cuda:0", ["a"]), ("cpu", ["b"]), ("cuda:0", ["y"])])
        times = json.loads(self.tool("bench", "m.gart", "--seconds", "0.01", "--json"))["groups"]
        self.assertEqual(sorted(name.split(" on ")[1].removesuffix(", crossed") for name in times), ["cpu", "cuda:0", "cuda:0"], "more than one device: a fleet")
        runs = [self.tool("run", "m.gart", "--random", "1", *o) for o in ((), ("--device", "cuda"), ("--device", "cpu"))]
        self.assertEqual(len(set(r.split("[")[0] + r.split("]")[0] for r in runs)), 1, runs)
        self.compile(MODEL, "--target", "sm_80,x86-64-v3", "--assign", "Softmax=cpu", "--assign", "Exp=cpu")
        self.assertEqual(list(json.loads(self.tool("bench", "m.gart", "--seconds", "0.01", "--json"))["device"]), list("cuda:0"),
                         "one device may run all of it: the whole model")

    def test_blocking_runs_name_the_step(self):
        self.compile(MODEL, "--target", "sm_80")
        arguments = (model_check.tool(), "run", self.path("m.gart"), "--device", "cuda", "--random", "1")
        for options, words in (((), "in one of the 3 steps 'a' to 'y'"), (("--blocking",), "in step 'b'")):
            done = subprocess.run([*arguments, *options], capture_output=True, text=True,
                                  env=dict(os.environ, GART_SIM_FAIL="kernels:2:700"))
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn(words, done.stderr)
        self.assertIn("f32[4,8]", self.tool("run", "m.gart", "--device", "cuda", "--random", "1", "--blocking"))


if __name__ == "__main__":
    unittest.main()
