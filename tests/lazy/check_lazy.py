#!/usr/bin/env python3
"""gart.lazy as a program sees it: the operators that run, compilations, errors with their line, threads, fork, saved files."""
import gc
import os
import subprocess
import sys
import tempfile
import threading
import unittest

import numpy as np

from lazy_case import ROOT, compiled, gl

import gart


def counted(action, what):
    before = gl.stats()[what]
    action()
    return gl.stats()[what] - before


class Deferred(unittest.TestCase):
    def setUp(self):
        gl.wait()

    def test_a_print_in_the_middle_runs_what_it_needs(self):
        x = gl.array(np.linspace(-1, 1, 8, dtype=np.float32))
        halves = []

        def record():
            y = x
            for i in range(1000):
                y = gl.tanh(y * 0.9)
                if i == 249:
                    middle = y
            halves.extend([middle, y])
        self.assertEqual(counted(record, "nodes_run"), 0)
        self.assertEqual(counted(lambda: str(halves[0]), "nodes_run"), 500)
        self.assertEqual(counted(lambda: str(halves[0]), "nodes_run"), 0)
        self.assertEqual(counted(lambda: str(halves[1]), "nodes_run"), 1500)

    def test_every_way_to_want_a_value(self):
        x = gl.array([4.0])
        for want in (repr, str, float, int, bool, lambda y: y.numpy(), lambda y: y.item(), np.asarray, lambda y: y.tolist(), "{:.1f}".format,
                     np.from_dlpack, memoryview, gl.evaluate):
            y = gl.sqrt(x) + 1
            self.assertFalse(y.is_ready)
            want(y)
            self.assertTrue(y.is_ready)
        self.assertEqual(np.asarray(gl.array([[1, 2]]) * 2).tolist(), [[2, 4]])
        self.assertEqual(np.from_dlpack(gl.array([[1, 2]]) * 2).tolist(), [[2, 4]])
        self.assertEqual(list(range(5))[gl.array(3)], 3)
        self.assertEqual((np.float32(2) * x).tolist(), [8])
        self.assertIsInstance(np.ones(1, np.float32) + x, gl.Array)
        with self.assertRaisesRegex(gl.Error, "any"):
            bool(gl.array([1, 2]))

    def test_loops_compile_once_and_shapes_twice(self):
        def loop():
            w = gl.ones((4, 4))
            for i in range(8):
                w = w - 0.1 * i * gl.tanh(w @ w)
                w.numpy()
                gl.wait()
        self.assertEqual(counted(loop, "compiles"), 1)

        def shapes():
            for n in range(3, 11):
                x = gl.array(np.ones((n, 4), np.float32))
                np.testing.assert_allclose((gl.exp(x).sum(1) + n).numpy(), np.full(n, 4 * np.e + n), rtol=1e-5)
                gl.wait()
        self.assertLessEqual(counted(shapes, "compiles"), 2)
        self.assertIn("open now", gl.explain()[-1])

    def test_errors_name_the_line(self):
        x = gl.ones((2, 3))
        with self.assertRaisesRegex(gl.Error, r"MatMul of f32\[2,3\], f32\[2,3\].*check_lazy.py, line \d+"):
            x @ x
        with self.assertRaisesRegex(gl.Error, r"check_lazy.py, line \d+"):
            gl.concatenate([x, gl.ones((3, 4))], 1)
        late = gl.take(x, gl.array([7]), 0)  # the faulty line
        line = sys._getframe().f_lineno - 1
        for _ in range(2):
            with self.assertRaisesRegex(gl.Error, rf"Gather.*check_lazy.py, line {line}\)"):
                late.numpy()
            gl.wait()

    def test_exceptions_leave_no_half_state(self):
        x = gl.ones(3)

        def f(v):
            gl.tanh(v)
            raise KeyError("mine")
        with self.assertRaises(KeyError):
            gl.grad(f)(x)
        y = gl.tanh(x)
        y.numpy()
        self.assertIsNone(y._made_by(), "no tape is left running")

    def test_memory_goes_with_the_last_handle(self):
        before = gl.stats()["bytes_live"]
        x = gl.array(np.zeros(1000, np.float32))
        y = gl.exp(x + 1)
        y.numpy()
        self.assertEqual(gl.stats()["bytes_live"] - before, 8000)
        view = np.asarray(y)
        del x, y
        self.assertEqual(gl.stats()["bytes_live"] - before, 4000)
        self.assertAlmostEqual(float(view[0]), np.e, 5)
        del view
        self.assertEqual(gl.stats()["bytes_live"], before)

    def test_no_value_waits_for_the_garbage_collector(self):
        x = gl.array(np.ones((4, 4), np.float32))
        layer = gl.function(lambda x: gl.tanh(x @ x))
        step = gl.value_and_grad(lambda x: layer(x).sum())

        def use():
            value, slope = step(x)
            y = {"y": [layer(x), x[1:] * 2, gl.einsum("ij,jk->ik", x, slope)]}
            gl.evaluate(value, slope, y)
            return float(value) + float(gl.random.normal(gl.random.key(1), (3,)).sum()) + gl.concatenate([x, slope]).numpy().sum()
        use()
        gc.collect()
        gc.disable()
        try:
            before = gl.stats()["bytes_live"], gl.stats()["nodes_live"]
            for _ in range(3):
                use()
            self.assertEqual((gl.stats()["bytes_live"], gl.stats()["nodes_live"]), before)
        finally:
            gc.enable()

    def test_cuts_do_not_change_bits(self):
        x = gl.array(np.random.default_rng(1).standard_normal((33, 17)).astype(np.float32))

        def values(cuts):
            y = x
            out = []
            for i in range(6):
                y = gl.exp(gl.tanh(y * 0.7 + 0.1) - gl.sigmoid(y)) / (y * y + 1)
                if i in cuts:
                    y.numpy()
                out.append(y)
            return out[-1].numpy()
        with gl.deterministic():
            whole = values(())
            for cuts in ((0,), (2, 3), (0, 1, 2, 3, 4)):
                np.testing.assert_array_equal(values(cuts), whole)

    def test_saved_files_give_the_same_bits(self):
        rng = np.random.default_rng(2)
        x, w = (rng.standard_normal(s).astype(np.float32) for s in ((5, 8), (8, 3)))
        weights = gl.array(w)
        f = lambda x: gl.nn.softmax(gl.tanh(x @ weights) * 2)  # noqa: E731
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "f.gart")
            gl.save(f, {"x": x}, path, open_batch=True)
            model = gart.load(path, threads=1)
            np.testing.assert_array_equal(model.run({"x": x})["out0"], compiled(f, gl.array(x)))
            self.assertEqual(model.run({"x": x[:2]})["out0"].shape, (2, 3))
            gl.to_onnx(f, {"x": x}, os.path.join(folder, "f.onnx"))
            import onnx.reference
            other = onnx.reference.ReferenceEvaluator(os.path.join(folder, "f.onnx")).run(None, {"x": x})[0]
            np.testing.assert_allclose(other, f(gl.array(x)).numpy(), rtol=1e-5, atol=1e-6)

    def test_threads(self):
        wrong = []
        shared = gl.array(np.arange(64, dtype=np.float32))

        def work(seed):
            for i in range(50):
                y = (shared * seed + i).sum()
                if y.item() != 2016 * seed + 64 * i:
                    wrong.append((seed, i))
        threads = [threading.Thread(target=work, args=(s,)) for s in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(wrong, [])

    def test_a_child_of_fork_is_warned_and_works(self):
        program = """
import os, sys
import numpy as np
import gart.lazy as gl
x = gl.ones(4)
(gl.tanh(x) + 1).numpy()
child = os.fork()
y = (gl.exp(x) * 2 + gl.tanh(x)).numpy()
gl.wait(30)
assert abs(y[0] - (2 * np.e + np.tanh(1))) < 1e-5
if child:
    _, status = os.waitpid(child, 0)
    sys.exit(os.waitstatus_to_exitcode(status))
"""
        environment = {**os.environ, "PYTHONPATH": os.path.join(ROOT, "tools", "python")}
        done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("forked", done.stderr)

    def test_programs_on_disk(self):
        program = """
import sys
import gart.lazy as gl
gl.settings(cache_folder=sys.argv[1], deterministic=True)
print((gl.tanh(gl.ones(4) * 2) + 1).numpy()[0], gl.stats()["compiles"], gl.stats()["disk_hits"])
"""
        environment = {**os.environ, "PYTHONPATH": os.path.join(ROOT, "tools", "python")}
        with tempfile.TemporaryDirectory() as folder:
            def run():
                return subprocess.run([sys.executable, "-c", program, folder], env=environment, capture_output=True, text=True, check=True).stdout.split()
            value, *counts = run()
            self.assertEqual(counts, ["1", "0"])
            self.assertEqual(run(), [value, "0", "1"])
            for where, _, files in os.walk(folder):
                for name in files:
                    with open(os.path.join(where, name), "r+b") as file:
                        file.seek(700)
                        file.write(b"damage")
            self.assertEqual(run(), [value, "1", "0"], "a damaged entry is compiled again")


if __name__ == "__main__":
    unittest.main()
