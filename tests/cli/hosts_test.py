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

from job_case import ENVIRONMENT, LIBRARY, JobCase, processes_of, skip_without_mpi

skip_without_mpi()
CORES = sorted(os.sched_getaffinity(0))
SIDE = 64
PLACES = ["t0=d0", "m1=d1", "m2=d2", "m3=d2", "m4=d3", "m5=d1", "where=d3", "picked=d2"]

PYTHON = """
import numpy as np
import gart.fleet

hosts = gart.fleet.Hosts()
if hosts.rank != 0:
    hosts.serve()
else:
    model = gart.fleet.load("m.gart", hosts=hosts, threads=1)
    with np.load("x.npz") as inputs, np.load("alone.npz") as wanted:
        outputs = model.run(dict(inputs))
        for name in outputs:
            np.testing.assert_array_equal(outputs[name], wanted[name])
    print(hosts.size, "ranks, equal")
    del model
hosts.close()
"""


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


class Hosts(JobCase):
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

    def busy_job(self, name):
        path = self.path(f"{name}.gart")
        shutil.copy(self.path("m.gart"), path)
        return self.start_job(4, path, "bench", path, "--inputs", "x.npz", "--seconds", "60", seconds=2), path

    def test_a_rank_that_dies_or_stops_ends_the_job(self):
        for kind, rank in ((signal.SIGKILL, 3), (signal.SIGSTOP, 3), (signal.SIGSTOP, 0)):
            with self.subTest(kind.name, rank=rank):
                job, path = self.busy_job(f"{kind.name}{rank}")
                output = self.end_after(job, path, rank, kind, 6)  # at most 2 s on an idle machine
                # Either the launcher's signal or the rank's silence is noticed first. On a busy machine, the launcher ends
                # rank 0 before rank 0 speaks, and says why itself.
                self.assertRegex(output, f"rank {rank} (of the job is|was) lost|another process of the job failed|"
                                         f"mpirun noticed that process rank {rank} ")

    def test_a_job_that_is_stopped_as_a_whole_goes_on(self):
        path = self.path("paused.gart")
        shutil.copy(self.path("m.gart"), path)
        job = self.start_job(4, path, "bench", path, "--inputs", "x.npz", "--seconds", "8", seconds=1)
        ranks = processes_of(path).values()
        for kind, seconds in ((signal.SIGSTOP, 3), (signal.SIGCONT, 0)):
            for pid in ranks:
                os.kill(pid, kind)
            time.sleep(seconds)
        output = job.communicate(timeout=60)[0]
        self.assertEqual(job.returncode, 0, output)

    def test_python(self):
        """Rank 0 of a job of Python processes loads the model; the others serve."""
        self.write("job.py", PYTHON.encode())
        package = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools", "python")
        done = subprocess.run(["mpirun", "--oversubscribe", "-n", "4", sys.executable, "job.py"], cwd=self.folder, capture_output=True, text=True,
                              timeout=120, env={**ENVIRONMENT, "PYTHONPATH": package, "LD_LIBRARY_PATH": os.path.dirname(LIBRARY)})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("4 ranks, equal", done.stdout)

    def test_devices_of_all_ranks(self):
        fleet = json.loads(self.accepted_job(3, "devices", "--json"))
        own = json.loads(self.accepted("devices", "--json"))["devices"]
        machine = os.uname().nodename
        hosts = [device.get("host", "") for device in fleet["devices"]]
        self.assertEqual(sorted(set(hosts)), ["", f"{machine}.1", f"{machine}.2"])
        for rank in range(3):
            prefix = f"{machine}.{rank}/" if rank else ""
            self.assertEqual([d["name"] for d in fleet["devices"] if d.get("host", "") == prefix[:-1]], [prefix + d["name"] for d in own])
        text = self.accepted_job(3, "devices")
        for rank in range(3):
            self.assertIn(f"; rank {rank} on {machine}: ", text)

    def test_place_measures_all_ranks(self):
        fleet = json.loads(self.accepted_job(3, "devices", "--probe", "--json"))
        hosts = {d["name"]: d.get("host", "") for d in fleet["devices"]}
        between = [link for link in fleet["links"] if hosts[link["from"]] != hosts[link["to"]]]
        count = len(hosts) // 3
        self.assertEqual(len(between), 6 * count * count)
        for link in between:
            self.assertGreater(link["gbytes_per_s"], 0.01)
            self.assertGreater(link["us"], 0.1)
        self.accepted("compile", "m.onnx", "-o", "free.gart", "--fleet", "fleet.json", "--cut", "support,chains")
        said = self.accepted_job(3, "place", "free.gart", "-o", "placed.gart")
        self.assertIn("us by the model", said)
        placed = json.loads(self.accepted("inspect", "placed.gart", "--json"))
        self.assertIn(f"{os.uname().nodename}.2/", json.dumps(placed))
        done = self.accepted_job(3, "run", "placed.gart", "--inputs", "x.npz", "--expect", "alone.npz", "--rtol", "0")
        self.assertEqual(done.count("ok, relative error 0, absolute 0"), 2, done)


if __name__ == "__main__":
    unittest.main()
