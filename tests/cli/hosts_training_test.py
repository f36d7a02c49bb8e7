"""Training in a job of MPI processes: the bits of one process, and faults of ranks."""
import json
import os
import shutil
import signal
import sys
import unittest

import numpy as np
import onnx
from onnx import numpy_helper, parser

from cli_case import TOOL
from job_case import JobCase, skip_without_mpi
from small_network import NETWORK, weights_and_samples

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools", "python"))
import gart

skip_without_mpi()


class HostsTraining(JobCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        model = parser.parse_model(NETWORK)
        weights, samples = weights_and_samples()
        model.graph.initializer.extend(numpy_helper.from_array(v, n) for n, v in weights.items())
        onnx.save(model, cls.path("net.onnx"))
        np.savez(cls.path("d.npz"), **samples)
        done = cls.tool("compile", "net.onnx", "-o", "net.gart", "--target", "x86-64-v3", "--train",
                        "loss=cross_entropy(y,t),optimizer=adamw(lr=input),check=finite,replicas=on")
        assert done.returncode == 0, done.stderr

    def train(self, *more, artifact="net.gart", epochs=3):
        return ["train", artifact, "--data", "d.npz", "--batch", "8", "--seed", "5", "--input", "lr=0.01", "--threads", "1", "--epochs", str(epochs), *more]

    def test_ranks_give_the_bits_of_one_process(self):
        """4 ranks with 4 and 6 replicas, 3 with 4; a step takes one batch per replica, and the last group is smaller. Resumed jobs, too."""
        for replicas in (4, 6):
            self.accepted(*self.train("--replicas", str(replicas), "--metrics", "a.jsonl", "-o", "a.gart"))
            losses = [json.loads(line)["loss"] for line in self.read("a.jsonl").splitlines()]
            for ranks in (4, 3):
                # Small limits make all messages wait for their receive.
                for limit in ("4096", "1000000") if ranks == 4 else ("65536",):
                    self.accepted_job(ranks, *self.train("--replicas", str(replicas), "--metrics", "b.jsonl", "-o", "b.gart"),
                                      more=("--mca", "btl_vader_eager_limit", limit))
                    self.assertEqual(self.read("b.gart"), self.read("a.gart"), f"{replicas} replicas on {ranks} ranks")
                    self.assertEqual([json.loads(line)["loss"] for line in self.read("b.jsonl").splitlines()], losses)
            self.accepted_job(2, *self.train("--replicas", str(replicas), "--checkpoint", f"c{replicas}", epochs=1))
            self.accepted_job(3, *self.train("--resume", "--checkpoint", f"c{replicas}", "-o", "c.gart"))
            self.assertEqual(self.read("c.gart"), self.read("a.gart"), f"{replicas} replicas, resumed")

    def test_a_job_has_a_replica_per_rank(self):
        self.accepted(*self.train("--replicas", "2", "-o", "a.gart"))
        self.accepted_job(2, *self.train("-o", "b.gart"))
        self.assertEqual(self.read("b.gart"), self.read("a.gart"))

    def test_ranks_get_the_artifact(self):
        """Rank 1 runs in a folder without the artifact and the samples."""
        os.makedirs(self.path("other"), exist_ok=True)
        self.accepted(*self.train("--replicas", "2", "-o", "a.gart"))
        self.accepted_job(1, *self.train("-o", "b.gart"), ":", "-n", "1", "-wdir", self.path("other"), TOOL, *self.train("-o", "b.gart"))
        self.assertEqual(self.read("b.gart"), self.read("a.gart"))
        self.assertEqual(os.listdir(self.path("other")), [])

    def test_refusals(self):
        done = self.tool("compile", "net.onnx", "-o", "plain.gart", "--train", "loss=cross_entropy(y,t),optimizer=adamw(lr=input)")
        self.assertEqual(done.returncode, 0, done.stderr)
        for arguments, words in ((self.train("--replicas", "2", "-o", "n.gart"), "--replicas 2: the job has 3 processes, and each of them needs a replica"),
                                 (self.train("--staleness", "1", "-o", "n.gart"), "--staleness: asynchronous replicas run in one process, but the job has 3"),
                                 (self.train("-o", "n.gart", artifact="plain.gart"), "the file has no entry point 'gradients'"),
                                 (self.train("-o", "n.gart", artifact="missing.gart"), "missing.gart")):
            done = self.run_job(3, *arguments)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn(words, done.stderr)
            self.assertFalse(os.path.exists(self.path("n.gart")))

    def test_a_step_that_fails_on_a_rank(self):
        """The states keep the values of the last whole group."""
        with np.load(self.path("d.npz")) as data:
            arrays = dict(data)
        arrays["x"][30] = np.nan  # batch 3, which rank 1 computes
        np.savez(self.path("bad.npz"), **arrays)
        words = self.train("--no-shuffle", "--checkpoint", "bad", "-o", "n.gart")
        words[words.index("d.npz")] = "bad.npz"
        done = self.run_job(2, *words, "--replicas", "4")
        self.assertEqual(done.returncode, 1)
        self.assertIn("step 4 (epoch 1): ", done.stderr)
        self.assertIn("NaN or infinite", done.stderr)

    def test_a_rank_that_dies_or_stops(self):
        """The job ends in words. The checkpoint is that of the last whole step, and a new job goes on from it to the same bits."""
        for kind, rank in ((signal.SIGKILL, 2), (signal.SIGSTOP, 2)):
            with self.subTest(kind.name):
                name = f"{kind.name}.gart"
                path, folder = self.path(name), f"c-{kind.name}"
                shutil.copy(self.path("net.gart"), path)
                long = self.train("--checkpoint", folder, artifact=path, epochs=1_000_000)
                job = self.start_job(3, path, *long, seconds=2)
                output = self.end_after(job, path, rank, kind, 6)  # at most 2 s on an idle machine
                self.assertRegex(output, r"rank 2 of the job is lost: .*; everything up to step \d+ is saved")
                place = json.loads(self.read(f"{folder}/checkpoint.json"))
                self.assertGreater(place["steps"], 0)
                self.assertEqual(place["steps"] % 3, 0)
                self.assertIn(f"everything up to step {place['steps']} is saved", output)
                epochs = place["epoch"] + 2
                self.accepted_job(2, *self.train("--resume", "--checkpoint", folder, "-o", "r.gart", artifact=path, epochs=epochs))
                self.accepted(*self.train("--replicas", "3", "-o", "w.gart", artifact=path, epochs=epochs))
                resumed, whole = gart.load(self.path("r.gart"), device="cpu"), gart.load(self.path("w.gart"), device="cpu")
                for state in whole.states:
                    np.testing.assert_array_equal(resumed.state(state), whole.state(state), state)


if __name__ == "__main__":
    unittest.main()
