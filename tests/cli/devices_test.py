"""gcc-graph devices lists the devices of this machine that this process may use. --device accepts each listed name."""
import json
import os
import subprocess
import unittest

from cli_case import TOOL, CliCase


def devices(*arguments, cores=None, topology=None):
    """`topology`: a machine description in hwloc's notation, which replaces this machine's."""
    environment = {**os.environ, **({"HWLOC_SYNTHETIC": topology, "HWLOC_THISSYSTEM": "1"} if topology else {})}
    done = subprocess.run([TOOL, "devices", *arguments], capture_output=True, text=True, timeout=120, env=environment,
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

    @unittest.skipUnless({0, 1} <= os.sched_getaffinity(0), "cores 0 and 1 are needed")
    def test_pools_are_what_shares_a_cache_or_a_socket(self):
        for topology, pools, phrases in (("pack:2 l3:1(size=16777216) core:1 pu:1", [[0], [1]], ["socket 0, L3 cache of 16 MiB, 1 core", "socket 1, "]),
                                      ("pack:1 l3:2(size=8388608) core:1 pu:1", [[0], [1]], ["socket 0, L3 cache of 8 MiB, 1 core"]),
                                      ("pack:1 l3:1 core:2 pu:1", [[0, 1]], ["L3 cache of ", ", 2 cores"]),
                                      ("pack:2 core:1 pu:1", [[0], [1]], ["socket 0, 1 core", "socket 1, 1 core"]),
                                      ("pack:1 l3:1 core:1 pu:2", [[0, 1]], ["2 cores, hyperthreads of one core: 0+1"])):
            found = json.loads(devices("--json", cores={0, 1}, topology=topology))["devices"]
            self.assertEqual([d["cores"] for d in found if d["kind"] == "cpu"], pools, topology)
            text = devices(cores={0, 1}, topology=topology)
            for words in phrases:
                self.assertIn(words, text, topology)

    def test_what_code_they_run(self):
        for pool in json.loads(devices("--json"))["devices"]:
            self.assertTrue(pool.get("target"), pool)
            self.assertIn(f"{pool['name']}  {pool['target']}, ", devices())

    def test_names_are_what_device_takes(self):
        for line in json.loads(devices("--json"))["devices"]:
            if line["kind"] == "cpu":
                self.accepted("run", "model.gart", "--random", "1", "--device", line["name"])

    def test_a_probe_measures(self):
        begin = sum(os.times()[2:4])  # processor time of the processes that have ended
        pools = [d for d in json.loads(devices("--json", "--probe"))["devices"] if d["kind"] == "cpu"]
        cores = sum(len(pool["cores"]) for pool in pools)
        self.assertLess((sum(os.times()[2:4]) - begin) / cores, 2, "seconds of each core")
        for pool in pools:
            self.assertTrue(0.1 < pool["gbytes_per_s"] < 10000, pool)
            self.assertTrue(pool.get("gflops", 1) > 0.1, pool)
        self.assertIn("GB/s", devices("--probe"))


if __name__ == "__main__":
    unittest.main()
