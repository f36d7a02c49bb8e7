#!/usr/bin/env python3
"""tools/python/gart on the CPU: one model for many threads, missing inputs, a child of fork()."""
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
sys.path[:0] = [os.path.join(ROOT, "tools", "python"), os.path.join(ROOT, "tests", "models")]

import numpy as np
import onnx
from onnx import parser

import gart
from model_check import tool

MODEL = """<ir_version: 8, opset_import: ["": 17]>
model (float[n, 64] x, float[64, 64] w, float[1, 64] state) => (float[n, 64] y) {
  a = MatMul(x, w)
  b = Add(a, state)
  y = Tanh(b)
}"""


class Binding(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="gcc-graph-")
        cls.artifact = os.path.join(cls.folder.name, "model.gart")
        onnx.save(parser.parse_model(MODEL), os.path.join(cls.folder.name, "model.onnx"))
        subprocess.run([tool(), "compile", os.path.join(cls.folder.name, "model.onnx"), "-o", cls.artifact], check=True, capture_output=True)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def compiled(self, text):
        path = os.path.join(self.folder.name, "other")
        onnx.save(parser.parse_model(text), path + ".onnx")
        subprocess.run([tool(), "compile", path + ".onnx", "-o", path + ".gart"], check=True, capture_output=True)
        return gart.load(path + ".gart", threads=2)

    def feeds(self, seed, rows=300):
        random = np.random.Generator(np.random.PCG64(seed))
        shapes = {"x": (rows, 64), "w": (64, 64), "state": (1, 64)}
        return {k: (0.1 * random.standard_normal(s)).astype(np.float32) for k, s in shapes.items()}

    def expect(self, feeds, got):
        np.testing.assert_allclose(got["y"], np.tanh(feeds["x"] @ feeds["w"] + feeds["state"]), rtol=1e-4, atol=1e-5)

    def test_the_version_is_the_tools(self):
        self.assertEqual(f"gcc-graph {gart.__version__}", subprocess.check_output([tool(), "--version"], text=True).strip())

    def test_outputs_must_not_overlap(self):
        model = self.compiled("""<ir_version: 8, opset_import: ["": 17]>
            two (float[n] x) => (float[n] twice, int64[k] places) {
              twice = Add(x, x)
              found = NonZero(x)
              flat = Constant <value = int64[1] {-1}> ()
              places = Reshape(found, flat)
            }""")
        model.set_inputs({"x": np.ones(6, np.float32)})
        memory = np.zeros(100, np.uint8)
        for begin, shared in ((8, 16), (24, 0), (0, 24), (32, 0)):
            model.set_output("twice", memory[:24].view(np.float32))
            model.set_output("places", memory[begin:begin + 48].view(np.int64))
            if not shared:
                model.run_bound()
                self.assertEqual(model.output("twice").tolist(), [2.0] * 6)
                self.assertEqual(model.output("places").tolist(), list(range(6)))
                continue
            with self.assertRaisesRegex(gart.GartError, f"outputs 'twice' and 'places' overlap: {shared} bytes belong to both"):
                model.run_bound()
        model.set_inputs({"x": np.array([0, 0, 0, 0, 0, 7], np.float32)})  # what is written counts, not what there is room for
        model.set_output("places", memory[16:64].view(np.int64))
        model.set_output("twice", memory[24:48].view(np.float32))
        model.run_bound()
        self.assertEqual((model.output("places").tolist(), model.output("twice").tolist()), ([5], [0, 0, 0, 0, 0, 14]))

    def test_a_run_may_be_cancelled(self):
        model = self.compiled("""<ir_version: 8, opset_import: ["": 17]>
            turns (float[64] x, int64 count) => (float[64] y) {
              yes = Constant <value = bool {1}> ()
              y = Loop (count, yes, x) <body = turn (int64 i, bool go, float[64] s) => (bool again, float[64] t) {
                again = Identity (go)
                half = Cos (s)
                t = Sin (half)
              }>
            }""")
        feeds = {"x": np.ones(64, np.float32), "count": np.array(10 ** 8)}
        timer = threading.Timer(0.05, model.cancel)
        timer.start()
        with self.assertRaisesRegex(gart.GartError, "the run was cancelled"):
            model.run(feeds)
        self.assertEqual(model.run({**feeds, "count": np.array(2)})["y"].shape, (64,))

    def test_one_model_serves_many_threads(self):
        model, wrong = gart.load(self.artifact, threads=2), []

        def serve(seed):
            for turn in range(30):
                feeds = self.feeds(100 * seed + turn, rows=100 + seed)
                try:
                    self.expect(feeds, model.run(feeds))
                except AssertionError as e:
                    wrong.append(str(e))

        threads = [threading.Thread(target=serve, args=(i,)) for i in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(wrong, [])

    def test_threads_may_sleep_at_once(self):
        def waiting(spin):
            """Seconds of processor time that the other threads take over 20 runs with 3 ms between them."""
            model, feeds = gart.load(self.artifact, threads=2, spin=spin), self.feeds(3)
            model.run(feeds)
            before = time.process_time() - time.thread_time()
            for _ in range(20):
                time.sleep(0.003)
                model.run(feeds)
            return time.process_time() - time.thread_time() - before

        self.assertLess(waiting(False), 0.010)
        # Beside other work, threads hardly spin: a pair of measurements in a quiet moment decides.
        if len(os.sched_getaffinity(0)) > 1:
            deadline = time.monotonic() + 30
            while waiting(False) >= waiting(True) / 2:
                self.assertLess(time.monotonic(), deadline, "threads that may spin take no more time than threads that may not")

    def test_arrays_that_speak_dlpack_alone(self):
        class Speaker:
            def __init__(self, array, kind=1):
                self.array, self.kind = array, kind

            def __dlpack__(self, **options):
                return self.array.__dlpack__(**options)

            def __dlpack_device__(self):
                return (self.kind, 0)

        model, feeds = gart.load(self.artifact, threads=1), self.feeds(3)
        self.expect(feeds, model.run({name: Speaker(array) for name, array in feeds.items()}))
        with self.assertRaisesRegex(gart.GartError, "kind 10; gart reads memory of the host"):
            model.run({**feeds, "x": Speaker(feeds["x"], kind=10)})

    def test_a_missing_input_is_no_earlier_one(self):
        model, feeds = gart.load(self.artifact, threads=1), self.feeds(1)
        self.expect(feeds, model.run(feeds))
        with self.assertRaisesRegex(gart.GartError, "input 'state' is missing: the model takes 'x', 'w', 'state'"):
            model.run({k: feeds[k] for k in ("x", "w")})
        with self.assertRaisesRegex(gart.GartError, "input 'x', 'w', 'state' is missing"):
            model.run({})

    def test_a_child_of_fork_works_alone(self):
        model, feeds = gart.load(self.artifact, threads=2), self.feeds(2)
        self.expect(feeds, model.run(feeds))
        child = os.fork()
        if child == 0:
            signal.alarm(20)  # a hanging child is killed
            status = 1
            try:
                self.expect(feeds, model.run(feeds))
                del model  # the destructor must not join threads of the parent
                status = 0
            finally:
                os._exit(status)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.expect(feeds, model.run(feeds))


if __name__ == "__main__":
    unittest.main()
