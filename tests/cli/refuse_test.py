#!/usr/bin/env python3
"""Wrong calls of gcc-graph: each gives a non-zero exit code and one sentence with the fault, and leaves no partial file."""
import os
import unittest

import numpy as np
from onnx import numpy_helper

from cli_case import HEADER, CliCase


class CommandLine(CliCase):
    def test_commands_and_flags(self):
        self.refused(says="subcommand is required")
        self.refused("frobnicate", says="no command 'frobnicate'")
        self.refused("compile", "--frobnicate", "model.onnx", "-o", "out.gart", says="--frobnicate")
        self.refused("compile", "model.onnx", says="--output is required")
        self.refused("compile", says="model is required")
        self.refused("bench", "model.gart", "--iterations", "0", says="--iterations")
        self.refused("bench", "model.gart", "--warmup", "-1", says="--warmup")
        self.refused("check", "model.gart", "--dim", "batch=1", says="--dim is for models")
        self.refused("run", "model.gart", "--random", says="--random needs a value")
        self.refused("run", "model.gart", "--threads", "many", says="--threads")
        self.refused("run", "model.gart", "--random", "-1", says="--random")
        self.refused("bench", "model.gart", "--seconds", "0", says="--seconds")
        self.refused("run", "model.gart", "--inputs", "a.npz", "--input", "x=a.npy", says="excludes")

    def test_targets(self):
        self.refused("compile", "model.onnx", "-o", "out.gart", "--target", "z80", says=("'z80'", "x86-64-v3"))
        self.refused("compile", "model.onnx", "-o", "out.gart", "--target", "native", says="Without --target it is this machine")
        self.refused("compile", "model.onnx", "-o", "out.gart", "--target", "x86-64-v3,z80", says="'z80'")
        for name, meant in (("x86_64-v3", "x86-64-v3"), ("avx2", "x86-64-v3"), ("arm64", "aarch64"), ("SM87", "sm_87")):
            self.refused("compile", "model.onnx", "-o", "out.gart", "--target", name, says=f"did you mean '{meant}'")
        self.refused("compile", "model.onnx", "-o", "out.gart", "--target", "x86-64-v3,x86-64-v3", says="given twice")
        for target, word in (("sm_87:12.6,sm_87:13", "sm_87 is given twice"), ("sm_87:12.2", "from 12.3 on"), ("sm_87:", "''"),
                             ("sm_87:12.", "'12.'"), ("sm_87:12.6.1", "'12.6.1'"), ("x86-64-v3:12.6", "only a GPU")):
            self.refused("compile", "model.onnx", "-o", "out.gart", "--target", target, says=(target.split(",")[-1], word))
        self.refused("run", "model.gart", "--random", "1", "--target", "aarch64", says="'aarch64'")
        self.refused("run", "model.gart", "--random", "1", "--device", "abacus", says="'abacus'")
        for precision in ("fp8", "FP16", "1", ""):
            self.refused("compile", "model.onnx", "-o", "out.gart", "--precision", precision,
                         says=(f"--precision: '{precision}' is not a precision", "bf16"))

    def test_assignments(self):
        compile_ = ("compile", "model.onnx", "-o", "out.gart", "--target")
        self.refused(*compile_, "sm_80,x86-64-v3", "--assign", "Softmax", says="'Softmax' is not PATTERN=DEVICE")
        self.refused(*compile_, "sm_80,x86-64-v3", "--assign", "Softmax=tpu", says="'Softmax=tpu': the fleet has no such device or kind of devices; it has 'cuda:0', 'cpu'")
        self.refused(*compile_, "sm_80,x86-64-v3", "--assign", "Soft=cpu", says="'Soft=cpu': no node has a matching name or operator")
        self.refused(*compile_, "x86-64-v3", "--assign", "Soft*=cpu", says="there is no GPU target")
        self.refused(*compile_, "sm_80", "--assign", "Soft*=cpu", says=("there is no CPU target", "--target sm_80,x86-64-v3"))

    def test_passes(self):
        for option in ("--print-after", "--stop-after", "--disable-pass"):
            self.refused("compile", "model.onnx", "-o", "out.gart", option, "tidy", says=(option, "'tidy'", "fold-constants"))

    def test_dims(self):
        for text, word in (("batch", "NAME=VALUE"), ("batch=", "NAME=VALUE"), ("batch=two", "'two'"), ("batch=-1", "'-1'"),
                           ("batch=99999999999999999999", "not an extent"), ("rows=2", "batch"), ("batch=1,1", "twice"),
                           ("batch=4611686018427387904", "64 bits")):
            self.refused("compile", "model.onnx", "-o", "out.gart", "--dim", text, says=word)
        self.refused("compile", "model.onnx", "-o", "out.gart", "--dim", "batch=1", "--dim", "batch=2", says="given twice")
        self.refused("run", "model.gart", "--random", "1", "--dim", "rows=2", says=("'rows'", "batch"))
        self.refused("run", "model.gart", "--random", "1", "--dim", "batch=1,2", says="one value")

    @unittest.skipIf(os.environ.get("GCC_GRAPH_SANITIZE"), "a sanitizer ends the process where memory is refused")
    def test_more_than_there_is_memory(self):
        self.refused("run", "model.gart", "--random", "1", "--dim", "batch=1000000000000", says=("'x'", "memory"))

    def test_memory_limit(self):
        self.save("products.onnx", HEADER + """g (float[n, 8] x) => (float[n, 8] y) {
            s = Constant<value_ints = [8, 8]>()
            w = ConstantOfShape(s)
            a = MatMul(x, w)  b = MatMul(a, w)  c = MatMul(b, w)  y = MatMul(c, w)
          }""")
        self.refused("compile", "products.onnx", "-o", "out.gart", "--dim", "n=4", "--memory-limit", "100", lines=4,
                     says=("needs 256 bytes, the limit is 100", "largest live sets", "a (128) b (128)", "b (128) c (128)"))
        self.refused("compile", "model.onnx", "-o", "out.gart", "--memory-limit", "64Q", says="64Q")
        self.refused("compile", "model.onnx", "-o", "out.gart", "--memory-limit", "64M", says=("'batch'", "--dim"))


class Models(CliCase):
    def compile_refused(self, model, *options, **expected):
        self.refused("compile", model, "-o", "out.gart", *options, **expected)

    def test_unreadable_files(self):
        self.compile_refused("absent.onnx", says="absent.onnx")
        self.compile_refused(".", says="regular file")
        content = self.read("model.onnx")
        self.write("cut.onnx", content[:len(content) // 2])
        self.compile_refused("cut.onnx", says="cut.onnx")
        self.write("empty.onnx", b"")
        self.compile_refused("empty.onnx", says="empty")
        self.write("noise.onnx", bytes(range(256)) * 8)
        self.compile_refused("noise.onnx", says="not an ONNX model")

    def test_unwritable_output(self):
        for place in ("absent/out.gart", "."):
            self.refused("compile", "model.onnx", "-o", place, says="cannot write")
        self.refused("run", "model.gart", "--random", "1", "--outputs", "absent/out.npz", says="cannot write")
        self.refused("compile", "model.onnx", "-o", "-", says="cannot write -: name a file")
        self.refused("run", "model.gart", "--random", "1", "--outputs", "-", says="cannot write -: name a file")
        # the tool refuses the output before it reads the model
        self.refused("compile", "absent.onnx", "-o", "absent/out.gart", says="cannot write absent/out.gart: No such file")

    def test_unreadable_measurements(self):
        self.compile_refused("model.onnx", "--tuning", ".", says="cannot read .: Is a directory")
        self.compile_refused("model.onnx", "--tuning", "absent.json", says="cannot read absent.json: No such file")
        self.compile_refused("model.onnx", "--tuning", "model.onnx", says="model.onnx: line 1, column 1: this is not JSON")

    def test_an_old_artifact_survives_a_failure(self):
        self.write("old.gart", b"old")
        self.refused("compile", "model.onnx", "-o", "old.gart", "--dim", "rows=1")
        self.assertEqual(self.read("old.gart"), b"old")

    def test_every_unsupported_node_is_listed(self):
        self.save("strange.onnx", HEADER + """g (float[n] x, bool c) => (float[n] y) {
            a = Frob(x)
            b = com.example.Nicate(a)
            k = If(c) <then_branch = t () => (float[n] p) { p = Foo(x) }, else_branch = e () => (float[n] q) { q = Neg(x) }>
            y = Add(b, k)
          }""")
        self.compile_refused("strange.onnx", code=2, lines=4, says=(
            "3 nodes of the model cannot be compiled", "'a': Frob (domain ai.onnx, version 16)",
            "'b': Nicate (domain com.example, version 3)", "'p': Foo"))

    def test_contradictions(self):
        self.save("types.onnx", HEADER + "g (float[n] x, int64[n] i) => (float[n] y) { y = Add(x, i) }")
        self.compile_refused("types.onnx", code=2, lines=2, says="Add")
        self.save("shapes.onnx", HEADER + "g (float[3] x, float[4] i) => (float[n] y) { y = Add(x, i) }")
        self.compile_refused("shapes.onnx", code=2, lines=2, says=("Add", "3", "4"))
        self.save("cycle.onnx", HEADER + "g (float[n] x) => (float[n] y) { y = Add(x, z)  z = Neg(y) }")
        self.compile_refused("cycle.onnx", says="z")


class Inputs(CliCase):
    def setUp(self):
        np.savez(self.path("good.npz"), **self.inputs())
        np.save(self.path("x.npy"), self.inputs()["x"])

    def run_refused(self, *arguments, **expected):
        self.refused("run", "model.gart", *arguments, **expected)

    def npz_refused(self, says, **changes):
        np.savez(self.path("bad.npz"), **self.inputs(**changes))
        self.run_refused("--inputs", "bad.npz", says=says)

    def npy_refused(self, content, says):
        self.write("bad.npy", content)
        self.run_refused("--input", "x=bad.npy", says=says)

    def test_what_the_model_does_not_take(self):
        self.npz_refused(("'y'", "missing"), y=None)
        self.npz_refused("no input 'z'", z=np.zeros(1))
        self.npz_refused(("'x'", "f32", "f64"), x=np.ones((2, 8)))
        self.npz_refused(("'x'", "[2,5]", "8"), x=np.ones((2, 5), np.float32))
        self.npz_refused(("'x'", "rank"), x=np.ones(8, np.float32))
        self.npz_refused(("'y'", "batch", "2", "3"), y=np.ones((3, 8), np.float32))
        self.run_refused(says="missing")

    def test_damaged_arrays(self):
        good = self.read("x.npy")
        self.npy_refused(good[:-4], "its header asks for")
        self.npy_refused(good[:30], "cut off")
        self.npy_refused(good + b"1234", "its header asks for")
        self.npy_refused(b"", "not a .npy array")
        self.npy_refused(b"text", "not a .npy array")
        self.npy_refused(good.replace(b"(2, 8)", b"(2, q)"), "'q'")
        self.npy_refused(good.replace(b"(2, 8), }" + b" " * 20, b"(99999999999999999999, 8), }" + b" "), "not an extent")
        self.npy_refused(good.replace(b"'<f4'", b"'<c8'"), "'<c8'")
        self.run_refused("--input", "x=absent.npy", says="absent.npy")
        self.run_refused("--input", "x=model.onnx", "--random", "1", says=("neither", "nor a number", "f32"))
        self.run_refused("--input", "w=1", "--random", "1", says="no input 'w'")
        self.run_refused("--input", "x=1", "--input", "x=2", says="given twice")
        self.run_refused("--input", "x", says="NAME=FILE")
        self.run_refused("--input", "x=x.npy", "--input", "x=x.npy", says="given twice")

    def test_damaged_archives_and_tensors(self):
        self.write("bad.npz", b"PK\x03\x04 and nothing more")
        self.run_refused("--inputs", "bad.npz", says="bad.npz")
        self.run_refused("--inputs", "absent.npz", says="absent.npz")
        tensor = numpy_helper.from_array(self.inputs()["x"], "x").SerializeToString()
        self.write("bad.pb", tensor[:-9])
        self.run_refused("--input", "x=bad.pb", says="bad.pb")
        self.write("bad.pb", b"\xff\xff noise")
        self.run_refused("--input", "x=bad.pb", says="bad.pb")

    def test_nothing_to_compare_with(self):
        np.savez(self.path("none.npz"))
        self.run_refused("--inputs", "good.npz", "--expect", "none.npz", says="no arrays")
        np.savez(self.path("other.npz"), w=np.zeros(1))
        self.run_refused("--inputs", "good.npz", "--expect", "other.npz", says="no output 'w'")


class Artifacts(CliCase):
    def test_damaged_artifacts(self):
        content = self.read("model.gart")
        self.write("cut.gart", content[:len(content) // 2])
        self.write("long.gart", content + b"more")
        self.write("empty.gart", b"")
        changed = bytearray(content)
        changed[-1] ^= 1
        self.write("changed.gart", bytes(changed))
        for name in ("cut.gart", "long.gart", "empty.gart", "changed.gart", "model.onnx", "absent.gart", "."):
            for command in (("run", name, "--random", "1"), ("bench", name), ("inspect", name), ("check", name)):
                with self.subTest(command=command):
                    if command != ("check", "model.onnx"):
                        self.refused(*command, says=name)

    def test_parts_that_an_extent_does_not_have(self):
        """Four parts of up to two elements: five elements would leave -1 for the last one."""
        self.save("parts.onnx", HEADER.replace('"": 16', '"": 18') + """parts (float[n] x) => (float[a] p, float[b] q, float[c] r, float[d] s) {
          p, q, r, s = Split<num_outputs = 4>(x)
        }""")
        self.accepted("compile", "parts.onnx", "-o", "parts.gart")
        self.accepted("run", "parts.gart", "--random", "1", "--dim", "n=7")
        self.refused("run", "parts.gart", "--random", "1", "--dim", "n=5", says=["Split", "the last of 4 parts"])

    def test_a_branch_whose_assumption_fails(self):
        self.save("branch.onnx", HEADER + """g (float[n, m] x, bool c) => (float[p, q] y) {
            y = If(c) <then_branch = t () => (float[3, 4] a) { s = Constant<value_ints = [3, 4]>()  a = Reshape(x, s) },
                       else_branch = e () => (float[n, m] b) { r = Constant<value_ints = [3, 4]>()  d = Reshape(x, r)
                                                                f = Neg(d) b = Identity(f) }>
          }""")
        self.accepted("compile", "branch.onnx", "-o", "branch.gart")
        np.savez(self.path("fits.npz"), x=np.ones((2, 6), np.float32), c=np.array(True))
        np.savez(self.path("not.npz"), x=np.ones((2, 5), np.float32), c=np.array(True))
        self.accepted("run", "branch.gart", "--inputs", "fits.npz")
        self.refused("run", "branch.gart", "--inputs", "not.npz", says=("Reshape", "10 must equal 12"))


if __name__ == "__main__":
    unittest.main()
