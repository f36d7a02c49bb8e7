#!/usr/bin/env python3
"""gart.queue: runs for which the caller does not wait, on a CPU and on a fleet."""
import asyncio
import concurrent.futures
import json
import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
sys.path[:0] = [os.path.join(ROOT, "tools", "python"), os.path.join(ROOT, "tests", "models")]

import numpy as np
import onnx
from onnx import parser

import gart.fleet
import gart.queue
from model_check import tool

TURNS = """<ir_version: 8, opset_import: ["": 17]>
turns (float[64] x, int64 count) => (float[64] y) {
  yes = Constant <value = bool {1}> ()
  y = Loop (count, yes, x) <body = turn (int64 i, bool go, float[64] s) => (bool again, float[64] t) {
    again = Identity (go)
    half = Cos (s)
    t = Sin (half)
  }>
}"""

CHAIN = """<ir_version: 8, opset_import: ["": 17]>
model (float[n, 8] x) => (float[n, 8] y) {
  a = Exp(x)
  y = Softmax<axis = 1>(a)
}"""

SUM = """<ir_version: 8, opset_import: ["": 17]>
model (float[2] x, float[2] past) => (float[2] present) { present = Add(x, past) }"""


class Queues(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="gcc-graph-")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def compiled(self, text, *options):
        source, artifact = (os.path.join(self.folder.name, name) for name in ("m.onnx", "m.gart"))
        onnx.save(parser.parse_model(text), source)
        subprocess.run([tool(), "compile", source, "-o", artifact, *options], check=True, capture_output=True)
        with open(artifact, "rb") as file:
            return file.read(), artifact

    @staticmethod
    def turns(count):
        return {"x": np.ones(64, np.float32), "count": np.array(count)}

    def test_results_errors_and_limits(self):
        model = gart.load(self.compiled(TURNS)[0])
        queue = gart.queue.Queue(model, runs=1, waiting=2)
        expected = [model.run(self.turns(n))["y"] for n in range(2)]
        for n in (0, 1, 1, 0):
            np.testing.assert_array_equal(queue.submit(self.turns(n)).result(60)["y"], expected[n])
        long = queue.submit(self.turns(10 ** 12))
        late = queue.submit(self.turns(1), timeout=0.02)
        with self.assertRaisesRegex(gart.GartError, "the run was not over at its deadline"):
            late.result(60)
        waiting = [queue.submit(self.turns(1)) for _ in range(2)]
        with self.assertRaisesRegex(gart.GartError, "the queue is full: 3 runs wait or are in progress"):
            queue.submit(self.turns(1))
        self.assertTrue(waiting[0].cancel())
        with self.assertRaises(concurrent.futures.CancelledError):
            waiting[0].result(60)
        self.assertTrue(long.cancel())
        with self.assertRaises(concurrent.futures.CancelledError):
            long.result(60)
        np.testing.assert_array_equal(waiting[1].result(60)["y"], expected[1])
        self.assertFalse(waiting[1].cancel())
        with self.assertRaisesRegex(gart.GartError, "'z'"):
            queue.submit({**self.turns(1), "z": np.zeros(1, np.float32)}).result(60)

    def test_the_last_reference_may_go_in_a_callback(self):
        model = gart.load(self.compiled(TURNS)[0])
        queues = [gart.queue.Queue(model, runs=1)]
        over = concurrent.futures.Future()
        queues[0].submit(self.turns(3)).add_done_callback(lambda run: (queues.clear(), over.set_result(run.result())))
        self.assertEqual(over.result(60)["y"].shape, (64,))

    def test_asyncio_waits_for_runs_on_a_fleet(self):
        cores = sorted(os.sched_getaffinity(0))
        fleet = {"devices": [{"name": "acc:0", "kind": "cpu", "cores": [cores[0]], "denies": ["Softmax"]},
                             {"name": "pool", "kind": "cpu", "cores": [cores[-1]]}]}
        description = os.path.join(self.folder.name, "fleet.json")
        with open(description, "w") as file:
            json.dump(fleet, file)
        artifact = self.compiled(CHAIN, "--fleet", description)[1]
        whole, queue = gart.load(artifact, device="cpu"), gart.queue.Queue(gart.fleet.load(artifact), runs=2)
        feeds = [{"x": np.full((n, 8), n, np.float32)} for n in range(1, 20)]

        async def all_runs():
            return await asyncio.gather(*(asyncio.wrap_future(queue.submit(feed)) for feed in feeds))
        for feed, outputs in zip(feeds, asyncio.run(all_runs())):
            np.testing.assert_array_equal(outputs["y"], whole.run(feed)["y"])

    def test_a_session_runs_in_a_queue(self):
        model = gart.load(self.compiled(SUM, "--state", "past=present")[0])
        queue, session = gart.queue.Queue(model, runs=2), model.session()
        for _ in range(3):
            queue.submit({"x": np.array([1, 2], np.float32)}, session=session).result(60)
        np.testing.assert_array_equal(session.state("past"), [3, 6])


if __name__ == "__main__":
    unittest.main()
