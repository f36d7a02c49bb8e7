#!/usr/bin/env python3
"""The output and the files of gcc-graph when it succeeds, and the verdicts of `run --expect`."""
import json
import os
import shutil
import stat
import subprocess
import unittest

import numpy as np
import onnx
from onnx import numpy_helper, parser

from cli_case import HEADER, CliCase


# An embedding table whose transpose is also the last product's weights.
TIED = HEADER + """tied (int64[rows] ids) => (float[rows, 96] z) <float[96, 8] plain_table> {
  x = Gather(plain_table, ids)
  turned = Transpose<perm = [1, 0]>(plain_table)
  z = MatMul(x, turned)
}"""


# A loop of 16 iterations with a product.
TURNS = HEADER + """turns (float[1, 64] x) => (float[1, 64] z) <float[64, 64] w> {
  n = Constant<value_int = 16>()
  go = Constant<value = bool {1}>()
  z = Loop<body = body (int64 i, bool c, float[1, 64] s) => (bool d, float[1, 64] t) {
    d = Identity(c)
    p = MatMul(s, w)
    t = Tanh(p)
  }>(n, go, x)
}"""


class Reports(CliCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        tied = parser.parse_model(TIED)
        tied.graph.initializer.append(numpy_helper.from_array(np.arange(96 * 8, dtype=np.float32).reshape(96, 8), "plain_table"))
        onnx.save(tied, cls.path("tied.onnx"))
        cls.tool("compile", "tied.onnx", "-o", "tied.gart", "--target", "x86-64-v3")

    def setUp(self):
        np.savez(self.path("in.npz"), **self.inputs())

    def test_print_code_prints_each_kernel_for_each_target(self):
        said = self.accepted("compile", "model.onnx", "-o", "printed.gart", "--target", "x86-64-v3,x86-64-v4", "--print-code")
        kernels = json.loads(self.accepted("inspect", "printed.gart", "--kernels", "--json"))["entry_points"][0]["plans"][0]["kernels"]
        for target, register in (("x86-64-v3", "%ymm"), ("x86-64-v4", "%zmm")):
            printed = said.split(f"code {target} k")[1:]
            self.assertEqual(len(printed), kernels if isinstance(kernels, int) else len(kernels))
            self.assertTrue(all("retq" in p.split("\ncode ")[0] for p in printed))
            self.assertTrue(any(register in p.split("\ncode ")[0] for p in printed))

    def test_print_source_prints_the_text_before_machine_code_is_made(self):
        said = self.accepted("compile", "model.onnx", "-o", "never.gart", "--target", "x86-64-v3,sm_80", "--print-source", "--stop-after", "plan")
        self.assertFalse(os.path.exists(self.path("never.gart")))
        for target, text in (("x86-64-v3", "define "), ("sm_80", "__global__")):
            printed = said.split(f"source {target} k")[1:]
            self.assertGreater(len(printed), 0)
            self.assertTrue(all(text in p.split("\nsource ")[0] for p in printed))

    def test_a_profile_says_where_the_time_goes(self):
        report = json.loads(self.accepted("bench", "model.gart", "--inputs", "in.npz", "--seconds", "0.05", "--threads", "1", "--profile",
                                          "--trace", "trace.json", "--json"))
        profile = report["profile"]
        steps = profile["steps"]
        self.assertGreaterEqual(len(steps), 1)
        self.assertAlmostEqual(sum(s["share"] for s in steps), 1, places=6)
        self.assertEqual([s["us"] for s in steps], sorted((s["us"] for s in steps), reverse=True))
        self.assertTrue(any("Softmax" in s["kernel"] or "softmax" in s["kernel"] for s in steps), steps)
        for s in steps:
            self.assertGreater(s["gbytes_per_s"], 0)
            self.assertGreaterEqual(s["gflops"], 0)
        with open(self.path("trace.json")) as f:
            events = json.load(f)["traceEvents"]
        self.assertEqual(sorted(e["args"]["step"] for e in events if e["ph"] == "X"), sorted(s["step"] for s in steps))
        self.assertIn("GFLOP/s", self.accepted("bench", "model.gart", "--seconds", "0.01", "--profile"))

    def test_a_profile_counts_the_turns_of_a_loop(self):
        turns = parser.parse_model(TURNS)
        turns.graph.initializer.append(numpy_helper.from_array(np.eye(64, dtype=np.float32) / 2, "w"))
        onnx.save(turns, self.path("turns.onnx"))
        self.accepted("compile", "turns.onnx", "-o", "turns.gart", "--target", "x86-64-v3")
        np.savez(self.path("turns.npz"), x=np.ones((1, 64), np.float32))
        out = self.accepted("bench", "turns.gart", "--inputs", "turns.npz", "--seconds", "0.05", "--threads", "1", "--profile", "--json")
        products = [s for s in json.loads(out)["profile"]["steps"] if "matmul" in s["kernel"]]
        self.assertEqual([s["iterations"] for s in products], [16])
        self.assertAlmostEqual(products[0]["gflops"] * products[0]["us"] * 1e3, 16 * (2 * 64 * 64), delta=16 * 64 * 64)

    def test_compile_says_what_it_wrote(self):
        out = self.accepted("compile", "model.onnx", "-o", "fixed.gart", "--dim", "batch=1,4")
        self.assertIn("wrote fixed.gart", out)
        for words in ("x86-64-v3 [batch=1]", "x86-64-v4 [batch=4]", "[symbolic]", "lower bound"):
            self.assertIn(words, out)
        self.accepted("compile", "model.onnx", "-o", "fits.gart", "--dim", "batch=4", "--memory-limit", "1M")

    def test_compile_stops_and_prints_on_request(self):
        before = self.files()
        out = self.accepted("compile", "model.onnx", "-o", "no.gart", "--print-after", "canonicalize", "--stop-after", "canonicalize")
        self.assertIn("# after canonicalize", out)
        self.assertIn("Softmax", out)
        self.assertEqual(self.files(), before)
        out = self.accepted("compile", "model.onnx", "-o", "timed.gart", "--time-passes", "--disable-pass", "canonicalize")
        self.assertIn("pass fold-constants", out)
        self.assertNotIn("pass canonicalize", out)

    def test_the_same_input_gives_the_same_bytes(self):
        for name, threads in (("one.gart", "1"), ("two.gart", "2")):
            self.accepted("compile", "model.onnx", "-o", name, "--threads", threads, "--dim", "batch=2")
        self.assertEqual(self.read("one.gart"), self.read("two.gart"))

    def test_what_is_no_file_stays_what_it_is(self):
        os.mkfifo(self.path("pipe"))
        with open(self.path("read"), "wb") as out, subprocess.Popen(["cat", self.path("pipe")], stdout=out):
            self.accepted("compile", "model.onnx", "-o", "pipe")
        self.assertEqual(self.read("read"), self.read("model.gart"))
        self.assertTrue(stat.S_ISFIFO(os.stat(self.path("pipe")).st_mode))
        os.symlink("behind.gart", self.path("link.gart"))
        for _ in ("it leads nowhere yet", "to a file"):
            self.accepted("compile", "model.onnx", "-o", "link.gart")
            self.assertTrue(os.path.islink(self.path("link.gart")))
            self.assertEqual(self.read("behind.gart"), self.read("model.gart"))

    def test_what_only_gpus_heed_is_said(self):
        out = self.accepted("compile", "model.onnx", "-o", "same.gart", "--target", "x86-64-v3", "--precision", "bf16")
        self.assertIn("--precision has no effect: no weights of contractions", out)
        out = self.accepted("compile", "model.onnx", "-o", "same.gart", "--target", "x86-64-v3", "--precision", "tf32")
        self.assertIn("--precision tf32 has no effect: no GPU is among the targets", out)
        self.assertNotIn("no effect", self.accepted("compile", "model.onnx", "-o", "same.gart", "--target", "x86-64-v3"))

    def test_options_that_would_be_faster_are_told(self):
        """A sentence for each of them, and none once the option is given."""
        def told(*options, model="wide.onnx"):
            report = json.loads(self.accepted("compile", model, "-o", "told.gart", *options, "--json"))
            return {name for name in ("--precision tf32", "--precision bf16", "--tuning", "--dim", "--target") if any(name in line for line in report["faster"])}

        for name, columns in (("wide.onnx", 1024), ("narrow.onnx", 64)):
            model = parser.parse_model(HEADER + f"wide (float[rows, 1024] x) => (float[rows, {columns}] y) {{ y = MatMul(x, w) }}")
            weights = np.random.default_rng(1).standard_normal((1024, columns)).astype(np.float32)
            model.graph.initializer.append(numpy_helper.from_array(weights, "w"))
            onnx.save(model, self.path(name))
        cpu = ("--target", "x86-64-v3,x86-64-v4")
        self.assertEqual(told(*cpu), {"--precision bf16", "--dim"})
        self.assertEqual(told(*cpu, model="narrow.onnx"), {"--dim"})
        self.assertEqual(told(*cpu, "--dim", "rows=1"), {"--precision bf16"})
        self.assertEqual(told(*cpu, "--dim", "rows=1", "--precision", "bf16"), {"--target"})
        self.assertEqual(told("--dim", "rows=1", "--precision", "bf16") & {"--target", "--precision bf16"}, set())
        self.assertEqual(told("--target", "x86-64-v3", "--dim", "rows=1"), {"--precision bf16", "--target"})
        said = self.accepted("compile", "wide.onnx", "-o", "told.gart", "--target", "x86-64-v3")
        self.assertIn("  faster: extents of inputs are open ('rows'): --dim rows=VALUE adds a plan", said)
        self.assertIn("  faster: --target leaves out 'x86-64-v4': CPUs", said)
        gpu = ("--target", "sm_80", "--dim", "rows=64")
        self.write("tuning.json", json.dumps({"format": "gcc-graph tuning 1", "measured": [
            {"target": "sm_80", "precision": "fp32", "kernel": "none", "shape": "none", "choice": "none", "expected": "none", "device": "d", "driver": "1",
             "microseconds": {"none": 1.0}}]}).encode())
        self.assertEqual(told(*gpu), {"--precision tf32", "--tuning"})
        self.assertEqual(told(*gpu, "--precision", "fp16"), {"--tuning"})
        self.assertEqual(told(*gpu, "--tuning", "tuning.json"), {"--precision tf32"})

    def test_run_writes_outputs_and_compares(self):
        self.accepted("run", "model.gart", "--inputs", "in.npz", "--outputs", "out.npz")
        z = np.load(self.path("out.npz"))["z"]
        self.assertEqual((z.shape, z.dtype), ((2, 8), np.float32))
        np.testing.assert_allclose(z, 0.5, rtol=1e-5)  # softmax over two equal rows
        self.assertIn("z: ok", self.accepted("run", "model.gart", "--inputs", "in.npz", "--expect", "out.npz"))
        np.savez(self.path("near.npz"), z=z * 1.01)
        for expected, options, code in (("near.npz", (), 3), ("near.npz", ("--rtol", "0.1"), 0), ("near.npz", ("--atol", "0.1"), 0)):
            done = self.tool("run", "model.gart", "--inputs", "in.npz", "--expect", expected, *options)
            self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        for wrong in (z[:, :5], z.astype(np.float64), np.where(z > 0, np.nan, z).astype(np.float32)):
            np.savez(self.path("wrong.npz"), z=wrong)
            done = self.tool("run", "model.gart", "--inputs", "in.npz", "--expect", "wrong.npz")
            self.assertEqual((done.returncode, "FAIL" in done.stdout, done.stderr), (3, True, ""), done.stdout)

    def test_run_takes_npy_pb_and_noise(self):
        for name, array in self.inputs().items():
            np.save(self.path(name + ".npy"), array)
            self.write(name + ".pb", numpy_helper.from_array(array, name).SerializeToString())
        self.accepted("run", "model.gart", "--inputs", "in.npz", "--outputs", "want.npz")
        self.accepted("run", "model.gart", "--input", "x=x.npy", "--input", "y=y.pb", "--expect", "want.npz", "--atol", "0", "--rtol", "0")
        np.savez_compressed(self.path("packed.npz"), **self.inputs())
        self.accepted("run", "model.gart", "--inputs", "packed.npz", "--expect", "want.npz")
        first = self.accepted("run", "model.gart", "--random", "3", "--dim", "batch=3")
        self.assertIn("f32[3,8]", first)
        self.assertEqual(first, self.accepted("run", "model.gart", "--random", "3", "--dim", "batch=3"))
        self.assertNotEqual(first, self.accepted("run", "model.gart", "--random", "4", "--dim", "batch=3"))

    def test_bench_json(self):
        self.accepted("compile", "model.onnx", "-o", "b2.gart", "--dim", "batch=2")
        report = json.loads(self.accepted("bench", "b2.gart", "--inputs", "in.npz", "--seconds", "0.05", "--threads", "1", "--json"))
        self.assertLessEqual({"min_ms", "p50_ms", "p99_ms", "load_ms", "arena_bytes", "arena_lower_bound_bytes"}, set(report))
        self.assertGreater(report["min_ms"], 0)
        self.assertLessEqual(report["min_ms"], report["p50_ms"])
        self.assertLessEqual(report["p50_ms"], report["p99_ms"])
        self.assertGreaterEqual(report["arena_bytes"], report["arena_lower_bound_bytes"])
        self.assertGreater(report["arena_lower_bound_bytes"], 0)

    def test_bench_gives_the_lower_bound_at_the_shape_of_the_run(self):
        def memory(artifact):
            report = json.loads(self.accepted("bench", artifact, "--random", "1", "--dim", "batch=512", "--seconds", "0.02", "--threads", "1", "--json"))
            return report["arena_bytes"], report["arena_lower_bound_bytes"]
        self.accepted("compile", "model.onnx", "-o", "b512.gart", "--dim", "batch=512")
        self.accepted("compile", "model.onnx", "-o", "open.gart")
        bytes_open, least_open = memory("open.gart")
        self.assertGreater(least_open, 0)
        self.assertLessEqual(least_open, bytes_open)
        self.assertEqual(least_open, memory("b512.gart")[1])

    def test_inspect(self):
        report = json.loads(self.accepted("inspect", "model.gart", "--json", "--kernels", "--steps"))
        entry, = report["entry_points"]
        self.assertEqual([(t["name"], t["dtype"], t["dims"]) for t in entry["inputs"]],
                         [("x", "f32", ["batch", "8"]), ("y", "f32", ["batch", "8"])])
        self.assertEqual([t["name"] for t in entry["outputs"]], ["z"])
        self.assertEqual([t["name"] for t in report["targets"]][:2], ["x86-64-v3", "x86-64-v4"])  # then GPUs, if there are
        for plan in entry["plans"]:
            self.assertEqual(plan["kernels"], len(plan["kernel_list"]))
            self.assertEqual(plan["steps"], sum(map(len, plan["sequences"])))
        self.assertEqual({plan["sized_per_shape"] for plan in entry["plans"]}, {True})
        text = self.accepted("inspect", "model.gart")
        for words in ("in  x f32[batch,8]", "out z f32[batch,8]", "plan x86-64-v3 [symbolic]"):
            self.assertIn(words, text)

    def test_default_targets_go_by_what_is_multiplied(self):
        self.save("halves.onnx", HEADER + "halves (bfloat16[4, 8] x) => (bfloat16[4, 8] z) { z = Neg(x) }")
        for options in (("halves.onnx",), ("model.onnx", "--precision", "bf16")):
            self.accepted("compile", *options, "-o", "halves.gart")
            targets = [t["name"] for t in json.loads(self.accepted("inspect", "halves.gart", "--json"))["targets"]]
            self.assertEqual(targets[:4], ["x86-64-v3", "x86-64-v4", "x86-64-v4-bf16", "x86-64-v4-amx"])
        for target in ("x86-64-v4-bf16", "x86-64-v4-amx"):
            self.assertNotIn(target, self.accepted("inspect", "model.gart"))

    def test_a_plan_without_temporaries_has_no_arena(self):
        self.save("one.onnx", HEADER + "one (float[4, 8] x) => (float[4, 8] z) { z = Neg(x) }")
        self.accepted("compile", "one.onnx", "-o", "one.gart", "--target", "x86-64-v3")
        self.assertIn("arena 0 bytes", self.accepted("inspect", "one.gart"))

    def test_compile_and_inspect_count_alike(self):
        told = set(self.plans_told(self.accepted("compile", "model.onnx", "-o", "counted.gart", "--dim", "batch=1,4")))
        entry, = json.loads(self.accepted("inspect", "counted.gart", "--json"))["entry_points"]
        self.assertEqual({(p["target"], p["shapes"], p["steps"], p["kernels"]) for p in entry["plans"]}, told)
        self.assertGreaterEqual(len(told), 6)

    def test_inspect_tells_what_is_stored_twice(self):
        self.accepted("compile", "model.onnx", "-o", "once.gart", "--target", "x86-64-v3,x86-64-v4")
        self.assertRegex(self.accepted("inspect", "once.gart"), r"weights [1-9]\d* bytes, stored once\n")
        self.assertEqual(json.loads(self.accepted("inspect", "once.gart", "--json"))["stored_twice"], {"bytes": 0, "most": []})
        report = json.loads(self.accepted("inspect", "tied.gart", "--json"))
        twice = report["stored_twice"]
        self.assertEqual(len(twice["most"]), 1, twice)
        self.assertEqual(twice["most"][0], {"name": "plain_table", "bytes": twice["bytes"]})
        self.assertEqual(report["weight_bytes"] - twice["bytes"], 96 * 8 * 4)  # what is left is the table
        text = self.accepted("inspect", "tied.gart")
        self.assertIn(f"{twice['bytes']} of them stored twice", text)
        self.assertIn(f"  twice {twice['bytes']} bytes of '{twice['most'][0]['name']}'\n", text)
        self.assertNotIn("stored once", text)

    def test_check(self):
        self.assertIn("gart::load would use x86-64-v", self.accepted("check", "model.gart"))
        self.accepted("compile", "model.onnx", "-o", "arm.gart", "--target", "aarch64")
        done = self.tool("check", "arm.gart")
        if "runs here" not in done.stdout:
            self.assertEqual(done.returncode, 3)
            self.assertIn("aarch64", done.stdout)
            self.assertIn("cannot run on this machine", done.stdout)

    def test_intermediate_forms_become_files(self):
        """--save-temps writes graphs that differ, plans, and code that an assembler accepts."""
        self.accepted("compile", "model.onnx", "-o", "temps.gart", "--target", "x86-64-v3", "--save-temps", "temps")
        names = sorted(os.listdir(self.path("temps")))
        endings = {os.path.splitext(name)[1] for name in names}
        self.assertEqual(endings, {".gir", ".txt", ".s"})
        graphs = [self.read(f"temps/{name}").decode() for name in names if name.endswith(".gir")]
        bodies = [graph.split("\n", 1)[1] for graph in graphs]
        self.assertTrue(all(graph.startswith("# after ") for graph in graphs))
        self.assertTrue(all(a != b for a, b in zip(bodies, bodies[1:])))
        plan = next(name for name in names if name.endswith("-plan.txt"))
        self.assertIn("plan for ", self.read(f"temps/{plan}").decode())
        code = next(name for name in names if name.endswith(".s"))
        self.assertIn("x86-64-v3", code)
        self.assertIn(".type", self.read(f"temps/{code}").decode())
        self.write("taken", b"")
        self.refused("compile", "model.onnx", "-o", "none.gart", "--save-temps", "taken", says="taken")
        shutil.rmtree(self.path("temps"))
        os.remove(self.path("temps.gart"))
        os.remove(self.path("taken"))

    def test_check_of_a_model(self):
        self.assertEqual(self.accepted("check", "model.onnx"), "model.onnx compiles\n")
        self.assertTrue(json.loads(self.accepted("check", "model.onnx", "--dim", "batch=2", "--json"))["compiles"])
        self.save("walls.onnx", HEADER + """g (float[n] x) => (float[n] z) {
            y = com.example.Unheard(x)
            z = com.example.Strange(y)
          }""")
        files = self.files()
        told = self.tool("check", "walls.onnx")
        self.assertEqual(told.returncode, 2, told.stderr)
        for word in ("walls.onnx does not compile", "Unheard", "Strange"):
            self.assertIn(word, told.stdout)
        found = json.loads(self.tool("check", "walls.onnx", "--json").stdout)
        self.assertFalse(found["compiles"])
        self.assertEqual([n["operator"] for n in found["unsupported"]], ["Unheard", "Strange"])
        self.assertEqual(self.files(), files)
        self.refused("check", "none.onnx", says="none.onnx")

    def test_bench_of_so_many_runs(self):
        told = json.loads(self.accepted("bench", "model.gart", "--iterations", "7", "--warmup", "0", "--json"))
        self.assertEqual(told["runs"], 7)

    def test_help(self):
        self.assertIn("compile", self.accepted("--help"))
        for command in ("compile", "run", "bench", "inspect", "check"):
            self.assertIn("--help", self.accepted(command, "--help"))


if __name__ == "__main__":
    unittest.main()
