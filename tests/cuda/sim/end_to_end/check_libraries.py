#!/usr/bin/env python3
"""Checks `gcc-graph compile --libraries`, and the output of `inspect` and `run`, on simulated machines with and without
libraries.

  run_sim.sh --sm 80 check_libraries.py
"""
import json
import os
import sys
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", ".."))
sys.path[:0] = [os.path.join(ROOT, "tests", "cli")]

import numpy as np

from cli_case import HEADER, CliCase

FOLDERS = os.environ["LD_LIBRARY_PATH"].split(":")


def enter_machine(libraries):
    """From here on, the tool runs on a machine with cuBLASLt and cuDNN, or on a machine without them."""
    folder = os.path.join(FOLDERS[0], "libraries" if libraries else "no_libraries")
    os.environ["LD_LIBRARY_PATH"] = ":".join([FOLDERS[0], folder])


class Libraries(CliCase):
    def setUp(self):
        enter_machine(True)
        os.environ.pop("GART_SIM_CUBLASLT", None)
        np.savez(self.path("in.npz"), **self.inputs())

    def compile(self, name, libraries, target="sm_80", model="model.onnx", *options):
        libraries = ("--libraries", libraries) if libraries else ()
        return self.accepted("compile", model, "-o", name, "--target", target, *libraries, *options)

    def inspect(self, name):
        return json.loads(self.accepted("inspect", name, "--json", "--kernels"))

    def run_on_gpu(self, name):
        return self.tool("run", name, "--device", "cuda", "--inputs", "in.npz")

    def test_nothing_is_bound_unless_asked(self):
        for libraries in (None, "none"):
            self.assertNotIn(" by cublasLt", self.compile("own.gart", libraries))
            report = self.inspect("own.gart")
            self.assertNotIn("libraries", report)
            self.assertNotIn("calls", report["entry_points"][0]["plans"][0])

    def test_a_list_binds_and_keeps_no_kernel(self):
        self.assertIn("1 by cublasLt", self.compile("bound.gart", "cublasLt,cudnn"))
        report = self.inspect("bound.gart")
        self.assertEqual(report["libraries"], [{"name": "cublasLt", "from": "12.0.0", "below": "14.0.0", "all_calls_from": "12.0.0"}])
        plan = report["entry_points"][0]["plans"][0]
        self.assertEqual(plan["calls"], {"cublasLt": 1})
        call = plan["call_list"][0]
        self.assertEqual((call["operation"], call["what"], call["own_kernel_too"]), ("matmul", "[1,batch,8] x [1,8,8] + addend", False))
        self.assertFalse([k for k in plan["kernel_list"] if k["name"].startswith("matmul")])
        text = self.accepted("inspect", "bound.gart", "--kernels")
        self.assertIn("library cublasLt: versions from 12.0.0 on, below 14.0.0", text)
        self.assertIn("call of cublasLt  matmul  [1,batch,8] x [1,8,8] + addend  fp32, no kernel of its own", text)

    def test_a_library_without_work_is_said(self):
        remark = "GPUs [any shape]: cudnn does nothing here: it computes convolutions and attention, and this model has none"
        self.assertIn(remark, self.compile("idle.gart", "cudnn"))
        out = self.compile("bound.gart", "cublasLt,cudnn")
        self.assertIn(remark, out)
        self.assertNotIn("cublasLt does nothing", out)
        for target in ("sm_80", "x86-64-v3"):
            self.assertNotRegex(self.compile("auto.gart", "auto", target), "does nothing|no effect")
        self.assertIn("--libraries has no effect: no GPU is among the targets", self.compile("idle.gart", "cudnn", "x86-64-v3"))
        self.save("fused.onnx", HEADER + """model (float[1, 8, 9, 9] x, float[8, 8, 3, 3] w) => (float[1, 8, 7, 7] z) {
          c = Conv(x, w)
          z = Elu(c)
        }""")
        self.assertIn("cudnn does nothing here: it supports the types, extents, strides and fused operators of none of the 1 steps of its kind (convolutions and attention)", self.compile("idle.gart", "cudnn", model="fused.onnx"))

    def test_a_target_that_costs_others_a_library_is_named(self):
        self.save("deep.onnx", HEADER + """model (float[1, 8, 9, 9] x) => (float[1, 8, 9, 9] z)
        <float[8, 8, 1, 1] w = {%s}, float[8] b = {1, 2, 3, 4, 5, 6, 7, 8}> {
          y = Conv(x, w, b)
          first = Conv(y, w, b)
          second = Conv(first, w, b)
          z = Conv(second, w, b)
        }""" % ",".join(str(i % 7) for i in range(64)))
        options = ("--precision", "bf16")
        out = self.compile("left.gart", "cublasLt,cudnn", "sm_75,sm_80", "deep.onnx", *options)
        self.assertIn("GPUs [any shape]: 'first' and 1 more could use cudnn on sm_80 and newer, but the targets include sm_75: kernels do it on all GPUs (--libraries auto stores both)", out)
        self.assertNotIn("cudnn does nothing", out)
        for libraries, target, bound, said in (("cudnn", "sm_80", 1, False), ("auto", "sm_75,sm_80", 1, False), ("cudnn", "sm_75", 0, True)):
            out = self.compile("bound.gart", libraries, target, "deep.onnx", *options)
            self.assertEqual((out.count(" by cudnn,") + out.count(" by cudnn\n"), "could use" in out), (bound, said), out)

    def test_compile_and_inspect_count_alike(self):
        counts = []
        for libraries in ("none", "cublasLt", "auto"):
            out = self.compile("counted.gart", libraries)
            plan, = self.inspect("counted.gart")["entry_points"][0]["plans"]
            self.assertEqual(self.plans_told(out), [("sm_80", "symbolic", plan["steps"], plan["kernels"])])
            counts.append((plan["steps"], plan["kernels"]))
        (steps, kernels), bound, auto = counts
        self.assertEqual(bound, (steps, kernels - 1))      # a call instead of a kernel
        self.assertEqual(auto, (steps + 1, kernels))       # a call beside a kernel

    def test_auto_keeps_a_kernel_beside_the_call(self):
        self.compile("auto.gart", "auto")
        plan = self.inspect("auto.gart")["entry_points"][0]["plans"][0]
        self.assertTrue(plan["call_list"][0]["own_kernel_too"])
        self.assertTrue([k for k in plan["kernel_list"] if k["name"].startswith("matmul")])

    def test_jetsons_get_libraries_by_name_alone(self):
        self.compile("edge.gart", "auto", "sm_87")
        self.assertNotIn("libraries", self.inspect("edge.gart"))
        self.compile("both.gart", "auto", "sm_80,sm_87")
        plans = self.inspect("both.gart")["entry_points"][0]["plans"]
        self.assertEqual([p["target"] for p in plans if "calls" in p], ["sm_80"])
        self.compile("edge.gart", "cublasLt", "sm_87")
        self.assertIn("libraries", self.inspect("edge.gart"))

    def test_a_machine_without_the_library(self):
        self.compile("bound.gart", "cublasLt")
        self.compile("auto.gart", "auto")
        self.compile("own.gart", "none")
        self.accepted("run", "own.gart", "--device", "cuda", "--inputs", "in.npz", "--outputs", "want.npz")
        for libraries in (True, False):
            enter_machine(libraries)
            self.accepted("run", "auto.gart", "--device", "cuda", "--inputs", "in.npz", "--expect", "want.npz")
        done = self.run_on_gpu("bound.gart")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("the model needs cublasLt from 12.0.0 on and below 14.0.0 for step '", done.stderr)
        self.assertIn("libcublasLt.so.13: file too short", done.stderr)
        enter_machine(True)
        self.accepted("run", "bound.gart", "--device", "cuda", "--inputs", "in.npz", "--expect", "want.npz")

    def test_a_library_of_another_version(self):
        self.compile("bound.gart", "cublasLt")
        os.environ["GART_SIM_CUBLASLT"] = "110803"
        done = self.run_on_gpu("bound.gart")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("but: the installed version is 11.8.3", done.stderr)

    def test_refused_names(self):
        for libraries, words in (("cufft", "there is no library 'cufft' to bind; known: cublasLt, cudnn"),
                                 ("auto,cudnn", "--libraries: 'auto' stands alone"),
                                 ("cudnn,cudnn", "--libraries: 'cudnn' is given twice")):
            done = self.tool("compile", "model.onnx", "-o", "no.gart", "--target", "sm_80", "--libraries", libraries)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(words, done.stderr)


if __name__ == "__main__":
    unittest.main()
