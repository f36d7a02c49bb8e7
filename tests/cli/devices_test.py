"""gcc-graph devices: what is here, only what this process may use, in a form that says the same to --device."""
import json
import os
import subprocess
import unittest

from cli_case import TOOL, CliCase


def devices(*arguments, cores=None):
    done = subprocess.run([TOOL, "devices", *arguments], capture_output=True, text=True, timeout=120,
                          preexec_fn=None if cores is None else lambda: os.sched_setaffinity(0, cores))
    assert done.returncode == 0, done.stderr
    return done.stdout


class DevicesTest(CliCase):
    def test_pools_are_the_cores_that_this_process_may_use(self):
        fleet = json.loads(devices("--json"))
        pools = [d for d in fleet["devices"] if d["kind"] == "cpu"]
        cores = [core for pool in pools for core in pool["cores"]]
        self.assertEqual(sorted(cores), sorted(os.sched_getaffinity(0)))
        self.assertTrue(all(d["memory_bytes"] > 0 for d in fleet["devices"]))

    def test_affinity_limits_them(self):
        one = max(os.sched_getaffinity(0))
        pools = [d for d in json.loads(devices("--json", cores={one}))["devices"] if d["kind"] == "cpu"]
        self.assertEqual([(d["name"], d["cores"]) for d in pools], [(f"cpu:{one}", [one])])

    def test_names_are_what_device_takes(self):
        for line in json.loads(devices("--json"))["devices"]:
            if line["kind"] == "cpu":
                self.accepted("run", "model.gart", "--random", "1", "--device", line["name"])

    def test_a_probe_measures(self):
        pools = [d for d in json.loads(devices("--json", "--probe"))["devices"] if d["kind"] == "cpu"]
        for pool in pools:
            self.assertTrue(0.1 < pool["gbytes_per_s"] < 10000, pool)
            self.assertTrue(pool.get("gflops", 1) > 0.1, pool)
        self.assertIn("GB/s", devices("--probe"))


if __name__ == "__main__":
    unittest.main()
