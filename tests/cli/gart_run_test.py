#!/usr/bin/env python3
"""gart-run: it is small, needs only libgart, and gives the same results as gcc-graph."""
import os
import re
import shutil
import subprocess
import sys
import unittest

import numpy as np

from cli_case import INSIDE, CliCase

RUNNER = sys.argv.pop(1)
MOST_BYTES = 1_000_000


class GartRun(CliCase):
    def runner(self, *arguments):
        return subprocess.run([RUNNER, *arguments], cwd=self.folder, capture_output=True, text=True, timeout=120)

    def ran(self, *arguments):
        done = self.runner(*arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def not_run(self, *arguments, says, code=1):
        before = self.files()
        done = self.runner(*arguments)
        self.assertEqual((done.returncode, done.stdout), (code, ""), done.stderr)
        self.assertTrue(done.stderr.startswith("gart-run: ") and len(done.stderr.splitlines()) == 1, done.stderr)
        self.assertIsNone(INSIDE.search(done.stderr), done.stderr)
        self.assertIn(says, done.stderr)
        self.assertEqual(self.files(), before)

    def setUp(self):
        self.x = np.random.default_rng(1).standard_normal((3, 8)).astype(np.float32)
        np.save(self.path("x.npy"), self.x)
        np.save(self.path("y.npy"), -self.x)

    def tearDown(self):
        for name in self.files():
            if os.path.isdir(self.path(name)):
                shutil.rmtree(self.path(name))

    def test_it_is_small_and_needs_only_the_runtime(self):
        if os.environ.get("GCC_GRAPH_SANITIZE"):
            self.skipTest("a sanitizer makes it larger")
        stripped = self.path("stripped")
        subprocess.run(["strip", "-o", stripped, RUNNER], check=True)
        self.assertLess(os.path.getsize(stripped), MOST_BYTES)
        os.remove(stripped)
        needs = subprocess.run(["objdump", "-p", RUNNER], capture_output=True, text=True, check=True).stdout
        libraries = set(re.findall(r"NEEDED\s+(\S+)", needs))
        self.assertLessEqual(libraries, {"libgart.so.0", "libstdc++.so.6", "libgcc_s.so.1", "libc.so.6", "libm.so.6"})

    def test_it_computes_what_gcc_graph_computes(self):
        np.savez(self.path("in.npz"), x=self.x, y=-self.x)
        self.accepted("run", "model.gart", "--inputs", "in.npz", "--outputs", "out.npz")
        want = np.load(self.path("out.npz"))["z"]
        text = self.ran("run", "model.gart", "--input", "x=x.npy", "--input", "y=y.npy", "--outputs", "results")
        self.assertIn("z f32[3, 8] [" if "f32[3, 8]" in text else "z f32", text)
        np.testing.assert_array_equal(np.load(self.path("results/z.npy")), want)
        both = ("run", "model.gart", "--input", "x=x.npy", "--input", "y=y.npy", "--expect", "results")
        self.assertIn("z: ok", self.ran(*both))
        np.save(self.path("results/z.npy"), want + 1)
        done = self.runner(*both)
        self.assertEqual(done.returncode, 3)
        self.assertIn("z: FAIL", done.stdout)

    def test_random_numbers_and_times(self):
        self.ran("run", "model.gart", "--random", "1", "--dim", "batch=5", "--outputs", "first")
        self.ran("run", "model.gart", "--random", "1", "--dim", "batch=5", "--outputs", "second")
        first, second = (np.load(self.path(f"{f}/z.npy")) for f in ("first", "second"))
        self.assertEqual(first.shape, (5, 8))
        np.testing.assert_array_equal(first, second)
        text = self.ran("bench", "model.gart", "--dim", "batch=4", "--seconds", "0.01")
        self.assertGreater(float(re.search(r"p50_ms: (\S+)", text).group(1)), 0)

    def test_inspect_and_check(self):
        text = self.ran("inspect", "model.gart", "--device", "cpu")
        self.assertIn("in  x f32[batch, 8]", text)
        self.assertIn("out z f32[batch, 8]", text)
        self.assertIn("sound", self.ran("check", "model.gart"))
        damaged = bytearray(self.read("model.gart"))
        damaged[-100] ^= 1
        self.write("damaged.gart", damaged)
        self.not_run("check", "damaged.gart", says="damaged.gart")

    def test_golden_vectors(self):
        """The file holds the outputs that the compiling machine computed; a device compares its own outputs with
        them."""
        self.accepted("compile", "model.onnx", "-o", "golden.gart", "--golden=2", "--target", "x86-64-v3")
        for run in (self.ran, self.accepted):
            text = run("check", "golden.gart", "--run")
            self.assertIn("golden vectors of seed 2", text)
            self.assertEqual(text.count("z: ok, relative error 0"), 2, text)
        self.assertIn("golden vectors: 2", self.accepted("inspect", "golden.gart"))
        self.not_run("check", "model.gart", "--run", says="no golden vectors")
        self.refused("check", "model.gart", "--run", says="no golden vectors")
        self.refused("check", "model.onnx", "--run", says="'model.onnx' is a model")
        self.accepted("compile", "model.onnx", "-o", "far.gart", "--golden", "--target", "aarch64")
        self.assertIn("golden vectors: 1", self.accepted("inspect", "far.gart"))
        for name in ("golden.gart", "far.gart"):
            os.remove(self.path(name))

    def make_keys(self):
        for name in ("ours", "other"):
            for options in (["genpkey", "-algorithm", "ed25519", "-out", f"{name}.pem"], ["pkey", "-in", f"{name}.pem", "-pubout", "-out", f"{name}.pub"]):
                subprocess.run(["openssl", *options], cwd=self.folder, check=True, capture_output=True)
        subprocess.run(["openssl", "pkeyutl", "-sign", "-rawin", "-inkey", "ours.pem", "-in", "model.gart", "-out", "model.gart.sig"],
                       cwd=self.folder, check=True, capture_output=True)

    def test_trusted_keys(self):
        self.make_keys()
        for command in (("run", "--random", "1"), ("bench", "--seconds", "0.01"), ("check",), ("inspect",)):
            self.ran(command[0], "model.gart", *command[1:], "--trusted-key", "ours.pub")
            self.not_run(command[0], "model.gart", *command[1:], "--trusted-key", "other.pub", says="signature by a trusted key")
        self.ran("check", "model.gart", "--trusted-key", "other.pub", "--trusted-key", "ours.pub")

    def test_a_device_without_libcrypto_says_so(self):
        with open(RUNNER, "rb") as file:
            if re.search(rb"__[at]san_init", file.read()):
                self.skipTest("a sanitizer must be the first library")
        self.make_keys()
        self.write("hide.c", b"""#define _GNU_SOURCE
            #include <dlfcn.h>
            #include <string.h>
            void* dlopen(const char* path, int flags) {
              void* (*real)(const char*, int) = (void* (*)(const char*, int))dlsym(RTLD_NEXT, "dlopen");
              return real(path != 0 && strncmp(path, "libcrypto", 9) == 0 ? "libcrypto-is-hidden.so" : path, flags);
            }""")
        subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-o", "hide.so", "hide.c", "-ldl"], cwd=self.folder, check=True)
        done = subprocess.run([RUNNER, "check", "model.gart", "--trusted-key", "ours.pub"], cwd=self.folder, capture_output=True, text=True,
                              env={**os.environ, "LD_PRELOAD": self.path("hide.so")})
        self.assertEqual((done.returncode, done.stdout), (1, ""), done.stderr)
        self.assertIn("trusted keys need libcrypto.so.3 or libcrypto.so.1.1 of OpenSSL, which cannot be loaded", done.stderr)

    def test_faults_are_sentences(self):
        self.not_run("run", "model.gart", says="input 'x' is not given")
        self.not_run("run", "model.gart", "--input", "q=x.npy", says="no input 'q'")
        self.not_run("run", "model.gart", "--input", "x=none.npy", says="none.npy")
        self.not_run("run", "model.gart", "--input", "x=model.gart", says="model.gart")
        self.not_run("run", "model.gart", "--random", "1", "--dim", "batch=-1", says="'-1'")
        self.not_run("run", "model.gart", "--random", "1", "--dim", "rows=1", says="'rows'")
        self.not_run("run", "none.gart", "--random", "1", says="none.gart")
        self.not_run("run", "model.gart", "--random", "1", "--expect", "nowhere", says="nowhere")
        self.not_run("frobnicate", says="--help")


if __name__ == "__main__":
    unittest.main()
