#!/usr/bin/env python3
"""gart.lazy in interactive use: a REPL, a debugger, and a network that changes between two values. Also the output of
stats and explain, and files that run without the compiler."""
import os
import subprocess
import sys
import tempfile
import threading
import unittest

import numpy as np

from lazy_case import ROOT, gl

ENVIRONMENT = {**os.environ, "PYTHONPATH": os.path.join(ROOT, "tools", "python")}


def session(lines, *options):
    """Python's output for these typed lines."""
    done = subprocess.run([sys.executable, "-u", *options], input="\n".join(lines) + "\n", env=ENVIRONMENT, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=120)
    return done.stdout


class Sessions(unittest.TestCase):
    def setUp(self):
        gl.wait()

    def test_a_repl(self):
        said = session(["import gart.lazy as gl", "x = gl.array([1.0, 4.0])", "y = gl.sqrt(x) + 1", "y", "x @ gl.ones(3)", "gl.stats()['nodes_run']", "y * 2",
                        "del y", "gl.stats()['nodes_run']"], "-i")
        for answer in ("array([2., 3.], dtype=float32)", "MatMul of f32[2], f32[3]", "array([4., 6.], dtype=float32)"):
            self.assertIn(answer, said)
        self.assertRegex(said, r"(?s)2\n.*array\(\[4\..*3\n", "what y needed ran once")

    def test_a_debugger(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "program.py")
            with open(path, "w", encoding="utf-8") as file:
                file.write("import gart.lazy as gl\nx = gl.ones(3)\nfor i in range(3):\n    x = x * 2 + i\n    if i == 1:\n        breakpoint()\nprint('end', x.tolist())\n")
            said = session(["p x.is_ready", "p x", "x = x - 5", "c"], path)
        self.assertIn("False", said)
        self.assertIn("array([5., 5., 5.], dtype=float32)", said)
        self.assertIn("end [2.0, 2.0, 2.0]", said, "what was changed at the breakpoint goes on")

    def test_the_network_changes_between_two_values(self):
        layers = [gl.array(np.eye(4, dtype=np.float32) * k) for k in (2, 3)]

        def forward(x):
            for w in layers:
                x = x @ w
            return x
        x = gl.ones((1, 4))
        self.assertEqual(forward(x)[0, 0].item(), 6)
        layers.append(gl.array(np.eye(4, dtype=np.float32) * 10))
        self.assertEqual(forward(x)[0, 0].item(), 60)
        del layers[0]
        self.assertEqual(forward(x)[0, 0].item(), 30)

    def test_what_stats_count(self):
        before = gl.stats()
        self.assertGreaterEqual(before.keys(), {"nodes_recorded", "nodes_run", "compiles", "cache_hits", "bytes_live"})
        x = gl.array(np.zeros(256, np.float32))
        y = gl.exp(x) + x * 3
        after = gl.stats()
        self.assertEqual({k: after[k] - before[k] for k in ("nodes_recorded", "nodes_run", "bytes_live")}, {"nodes_recorded": 3, "nodes_run": 0, "bytes_live": 1024})
        y.numpy()
        gl.wait()
        self.assertEqual(gl.stats()["nodes_run"] - before["nodes_run"], 3)
        self.assertEqual(gl.stats()["compiles"] - before["compiles"], 1)
        (gl.exp(x) + x * 3).numpy()
        self.assertEqual(gl.stats()["cache_hits"] - after["cache_hits"], 1)

    def test_each_compilation_has_its_cause(self):
        gl.clear()
        lines, compiles = len(gl.explain()), gl.stats()["compiles"]
        for columns, rows in ((3, 4), (5, 4), (7, 4), (7, 9), (7, 11), (3, 4)):
            (gl.ones((rows, columns)) * 2 - gl.tanh(gl.ones((rows, columns)))).numpy()
            gl.wait()
        said = gl.explain()[lines:]
        self.assertEqual(len(said), gl.stats()["compiles"] - compiles)
        self.assertEqual(len(said), 3, "rows and columns each open once")
        self.assertRegex(said[0], r"compiled in [\d.]+ ms: a new graph of 3 nodes, for Sub f32\[4,3\]")
        self.assertRegex(said[1], r"again, but an extent or limit was 3 and is 5: the differing extents are open now")
        self.assertRegex(said[2], r"again, but an extent or limit was 4 and is 9: the differing extents are open now")
        self.assertFalse([line for line in said if "\n" in line])

    def test_saved_files_run_without_the_compiler(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "f.gart")
            gl.save(lambda x: gl.tanh(x) * 2, {"x": gl.ones(3)}, path)
            program = ("import sys, numpy as np, gart\n"
                       "y = gart.load(sys.argv[1]).run({'x': np.ones(3, np.float32)})['out0']\n"
                       "assert abs(y[0] - 2 * np.tanh(1)) < 1e-6\n"
                       "mapped = open('/proc/self/maps').read()\n"
                       "assert 'libgart' in mapped and 'gcc_graph' not in mapped and 'LLVM' not in mapped, mapped\n")
            subprocess.run([sys.executable, "-c", program, path], env=ENVIRONMENT, check=True, timeout=60)

    def test_threads_differentiate_and_call_functions_at_once(self):
        double = gl.function(lambda x: x * 2)
        wrong = []

        def work(k):
            for _ in range(25):
                slope = gl.grad(lambda x: (double(x) * x * k).sum())(gl.ones(5) * k)
                if slope.tolist() != [4.0 * k * k] * 5:
                    wrong.append(k)
        threads = [threading.Thread(target=work, args=(k,)) for k in range(1, 5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_an_interrupt_leaves_values_pending(self):
        program = ("import signal, gart.lazy as gl\n"
                   "gl.settings(cache_folder='', deterministic=True)\n"
                   "x = gl.ones((64, 64))\n"
                   "y = x\n"
                   "for _ in range(60):\n    y = gl.tanh(y @ x * 0.01) + y.sum(0)\n"
                   "signal.setitimer(signal.ITIMER_REAL, 0.02)\n"
                   "signal.signal(signal.SIGALRM, signal.default_int_handler)\n"
                   "try:\n    y.numpy()\n    raise SystemExit('not interrupted')\n"
                   "except KeyboardInterrupt:\n    pass\n"
                   "assert y.shape == (64, 64) and y.numpy().shape == (64, 64) and (x + 1).tolist()[0][0] == 2\n")
        subprocess.run([sys.executable, "-c", program], env=ENVIRONMENT, check=True, timeout=120)


if __name__ == "__main__":
    unittest.main()
