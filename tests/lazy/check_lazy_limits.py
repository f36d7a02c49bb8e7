#!/usr/bin/env python3
"""gart.lazy at its limits: many processes with one cache, and too little memory."""
import os
import subprocess
import sys
import tempfile
import unittest

import numpy as np

from lazy_case import ROOT, gl

WORKER = """
import sys
import numpy as np
import gart.lazy as gl
gl.settings(cache_folder=sys.argv[1], deterministic=True, max_cache_bytes=int(sys.argv[2]))
seed = int(sys.argv[3])
for turn in range(6):
    k = (turn + seed) % 4
    x = gl.array(np.arange(4, dtype=np.float32) + k)
    y = x
    for _ in range(k + 1):
        y = y * x + seed
    expected = x.numpy()
    for _ in range(k + 1):
        expected = expected * x.numpy() + np.float32(seed)
    assert (y.numpy() == expected).all(), (seed, turn)
    gl.clear()
s = gl.stats()
print(s["compiles"], s["disk_hits"])
"""


class Limits(unittest.TestCase):
    def test_eight_processes_share_a_cache(self):
        environment = {**os.environ, "PYTHONPATH": os.path.join(ROOT, "tools", "python")}
        for most in (1 << 30, 20000):  # bytes: room for all values, then for hardly any
            with tempfile.TemporaryDirectory() as folder:
                workers = [subprocess.Popen([sys.executable, "-c", WORKER, folder, str(most), str(seed)], env=environment, text=True,
                                            stdout=subprocess.PIPE, stderr=subprocess.PIPE) for seed in range(8)]
                counts = []
                for worker in workers:
                    out, errors = worker.communicate(timeout=240)
                    self.assertEqual(worker.returncode, 0, errors)
                    counts.append([int(n) for n in out.split()])
                self.assertEqual([sum(c) for c in counts], [6] * 8, "each program is compiled, or comes from the disk")
                left = [f for _, _, files in os.walk(folder) for f in files]
                self.assertEqual([f for f in left if not f.endswith(".gart")], [], "nothing half-written is left")
                if most > 1 << 20:
                    self.assertLessEqual(len(left), 4, "four graphs, one entry each")

    def test_out_of_memory_names_what_holds_it(self):
        held = gl.array(np.zeros((1024, 600), np.float32)) + 1
        gl.evaluate(held)
        with self.assertRaisesRegex(gl.Error, r"out of memory: 70368744177664 bytes for f32\[2097152,8388608\] of Expand.*bytes of values are held, "
                                              r"the largest: f32\[1024,600\]"):
            gl.broadcast_to(held[0, 0], (1 << 21, 1 << 23)).numpy()
        self.assertEqual(held[0, 0].item(), 1)


if __name__ == "__main__":
    unittest.main()
