"""Models over several hosts: jobs of MPI processes on this machine, with mpirun."""
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from cli_case import TOOL, CliCase

LIBRARY = os.path.join(os.path.dirname(os.path.dirname(TOOL)), "lib", "libgart_mpi.so.0")
if not shutil.which("mpirun") or not os.path.exists(LIBRARY):
    print("SKIP: Open MPI is not installed (tools/test.sh installs it), or it was not there when libgart_mpi was built")
    sys.exit(77)

CORES = sorted(os.sched_getaffinity(0))
SIDE = 64
# Allows root to start jobs. Makes waiting ranks yield their core, because ranks may share a core.
ENVIRONMENT = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_mpi_yield_when_idle": "1",
               "OMPI_MCA_btl_vader_single_copy_mechanism": "none", "OMPI_MCA_hwloc_base_binding_policy": "none"}
started = subprocess.run(["mpirun", "--oversubscribe", "-n", "2", "true"], env=ENVIRONMENT, capture_output=True, text=True)
if started.returncode != 0:
    print(f"SKIP: mpirun cannot start processes here: {(started.stderr + started.stdout).strip()[:500]}")
    sys.exit(77)

PLACES = ["t0=d0", "m1=d1", "m2=d2", "m3=d2", "m4=d3", "m5=d1", "where=d3", "picked=d2"]


def model():
    """Products and a branch whose size is known only at run time."""
    rng = np.random.default_rng(0)
    weights = [numpy_helper.from_array((rng.standard_normal((SIDE, SIDE)) / 8).astype(np.float32), f"w{i}") for i in range(6)]
    nodes, last = [], "x"
    for i in range(6):
        nodes.append(helper.make_node("MatMul", [last, f"w{i}"], [f"m{i}"], name=f"m{i}"))
        nodes.append(helper.make_node("Tanh", [f"m{i}"], [f"t{i}"], name=f"t{i}"))
        last = f"t{i}"
    nodes += [helper.make_node("Relu", ["t2"], ["positive"], name="positive"), helper.make_node("NonZero", ["positive"], ["where"], name="where"),
              helper.make_node("Transpose", ["where"], ["indices"], name="indices"),
              helper.make_node("GatherND", ["t5", "indices"], ["picked"], name="picked"), helper.make_node("Add", ["t1", "t5"], ["y"], name="y")]
    info = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "hosts", [info("x", TensorProto.FLOAT, ["n", SIDE])],
                              [info("y", TensorProto.FLOAT, ["n", SIDE]), info("picked", TensorProto.FLOAT, ["k"])], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def processes_of(path):
    """The ids of the running processes whose command line names `path`, without mpirun."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                words = file.read().split(b"\0")
        except OSError:
            continue
        if path.encode() in words and os.path.basename(words[0]) == b"gcc-graph":
            found.append(int(pid))
    return sorted(found)


class Hosts(CliCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        onnx.save(model(), cls.path("m.onnx"))
        devices = [{"name": f"d{i}", "kind": "cpu", "cores": [CORES[i % len(CORES)]], "host": f"node{i}"} for i in range(4)]
        cls.write("fleet.json", json.dumps({"devices": devices}).encode())
        done = cls.tool("compile", "m.onnx", "-o", "m.gart", "--fleet", "fleet.json", *(word for place in PLACES for word in ("--assign", place)))
        assert done.returncode == 0, done.stderr
        np.savez(cls.path("x.npz"), x=np.random.default_rng(1).standard_normal((32, SIDE)).astype(np.float32))
        alone = [f"d{i}=cpu:{CORES[i % len(CORES)]}" for i in range(4)]
        done = cls.tool("run", "m.gart", "--inputs", "x.npz", "--outputs", "alone.npz", "--devices", ",".join(alone))
        assert done.returncode == 0, done.stderr

    def job(self, ranks, *arguments, more=()):
        return ["mpirun", "--oversubscribe", *more, "-n", str(ranks), TOOL, *arguments]

    def run_job(self, ranks, *arguments, more=()):
        return subprocess.run(self.job(ranks, *arguments, more=more), cwd=self.folder, env=ENVIRONMENT, capture_output=True, text=True, timeout=120)

    def test_results_are_those_of_one_process(self):
        """Long messages wait for their receive where the eager limit is small."""
        for ranks, limit in ((4, "4096"), (4, "1000000"), (5, "65536")):
            with self.subTest(ranks=ranks, limit=limit):
                done = self.run_job(ranks, "run", "m.gart", "--fleet", "fleet.json", "--inputs", "x.npz", "--expect", "alone.npz", "--rtol", "0",
                                    more=("--mca", "btl_vader_eager_limit", limit))
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(done.stdout.count("ok, relative error 0, absolute 0"), 2, done.stdout)

    def test_bench_says_where_each_device_is(self):
        done = self.run_job(4, "bench", "m.gart", "--inputs", "x.npz", "--seconds", "0.2", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        devices = json.loads(done.stdout)["devices"]
        self.assertIn("rank 3 cpu", str(devices))

    def test_refusals(self):
        for ranks, name, words in ((3, "m.gart", "the file's devices are on 4 hosts ('node0', 'node1', 'node2', 'node3'), but the job has 3 processes"),
                                   (2, "model.gart", "the model was not compiled for a fleet")):
            done = self.run_job(ranks, "run", name, "--random", "1")
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn(words, done.stderr)

    def test_a_fleet_that_differs(self):
        devices = [{"name": f"d{i}", "kind": "cpu", "host": f"other{i}"} for i in range(4)]
        self.write("other.json", json.dumps({"devices": devices}).encode())
        done = self.run_job(4, "run", "m.gart", "--random", "1", "--fleet", "other.json")
        self.assertEqual(done.returncode, 1)
        self.assertIn("device 'd0' is on host 'other0', but the artifact places it on host 'node0'", done.stderr)

    def test_a_rank_that_dies_or_stops_ends_the_job(self):
        for kind in (signal.SIGKILL, signal.SIGSTOP):
            with self.subTest(kind.name):
                path = self.path(f"{kind.name}.gart")
                shutil.copy(self.path("m.gart"), path)
                job = subprocess.Popen(self.job(4, "bench", path, "--inputs", "x.npz", "--seconds", "60"), cwd=self.folder, env=ENVIRONMENT,
                                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
                until = time.monotonic() + 60
                while len(processes_of(path)) < 4 and time.monotonic() < until:
                    time.sleep(0.1)
                time.sleep(2)  # until the model is loaded and runs
                os.kill(processes_of(path)[-1], kind)
                began = time.monotonic()
                output = job.communicate(timeout=30)[0]
                self.assertLess(time.monotonic() - began, 8)  # takes 1 s on an idle machine; if the process is stopped, mpirun kills it 1 s later
                self.assertNotEqual(job.returncode, 0)
                # Either the launcher's signal or the rank's silence is noticed first.
                self.assertRegex(output, "rank 3 (of the job is|was) lost|another process of the job failed")
                self.assertEqual(processes_of(path), [])


if __name__ == "__main__":
    unittest.main()
