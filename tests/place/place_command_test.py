#!/usr/bin/env python3
"""gcc-graph place: moves parts to where a profile shows them to be faster; code, weights and manifest stay the same byte for
byte."""
import json
import os
import resource
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

TOOL = os.environ["GCC_GRAPH"]
ASSEMBLY = 4
FLEET = {"devices": [{"name": "pool:0", "kind": "cpu"}, {"name": "pool:1", "kind": "cpu", "denies": ["Softplus"]}]}


def chain(path, width, layers):
    """A chain of products, a Softplus that only one pool supports, and more products."""
    rng = np.random.default_rng(0)
    weights, nodes, at = [], [], "x"
    for i in range(layers):
        weights.append(numpy_helper.from_array(rng.standard_normal((width, width)).astype(np.float32) / width, f"w{i}"))
        nodes.append(helper.make_node("MatMul", [at, f"w{i}"], [f"m{i}"], name=f"product{i}"))
        at = f"m{i}"
        if i == layers // 2:
            nodes.append(helper.make_node("Softplus", [at], ["s"], name="softplus"))
            at = "s"
    nodes.append(helper.make_node("Relu", [at], ["y"], name="last"))
    types = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [8, width]) for n in "xy"]
    graph = helper.make_graph(nodes, "chain", types[:1], types[1:], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def sections(path):
    """[(kind, bytes)] of a .gart file."""
    with open(path, "rb") as f:
        data = f.read()
    count = struct.unpack_from("<I", data, 32)[0]
    out = []
    for i in range(count):
        kind, _, offset, size, _ = struct.unpack_from("<IIQQQ", data, 64 + 48 * i)
        out.append((kind, data[offset:offset + size]))
    return out


class PlaceCommand(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory(prefix="gcc-graph-place-")
        cls.folder = cls.scratch.name
        cls.write("fleet.json", FLEET)
        chain(cls.path("model.onnx"), 32, 4)
        cls.accepted("compile", "model.onnx", "--fleet", "fleet.json", "--cut", "support", "-o", "model.gart")
        cls.groups = json.loads(cls.accepted("inspect", "model.gart", "--json"))["groups"]

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    @classmethod
    def path(cls, name):
        return os.path.join(cls.folder, name)

    @classmethod
    def write(cls, name, content):
        with open(cls.path(name), "w", encoding="utf-8") as f:
            json.dump(content, f)

    @classmethod
    def tool(cls, *arguments):
        return subprocess.run([TOOL, *arguments], cwd=cls.folder, capture_output=True, text=True, timeout=120)

    @classmethod
    def accepted(cls, *arguments):
        done = cls.tool(*arguments)
        assert done.returncode == 0, f"{arguments}: {done.stderr}"
        return done.stdout

    def refused(self, *arguments, says):
        before = sorted(os.listdir(self.folder))
        done = self.tool(*arguments)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        for word in says:
            self.assertIn(word, done.stderr)
        self.assertEqual(sorted(os.listdir(self.folder)), before)

    def placed(self, artifact):
        return {g["name"]: g["device"] for g in json.loads(self.accepted("inspect", artifact, "--json"))["groups"]}

    def identity(self):
        """The artifact's identity, as stated in a refusal."""
        self.write("none.json", {"format": "gcc-graph profile 1", "artifact": "?", "groups": []})
        said = self.tool("place", "model.gart", "--profile", "none.json", "-o", "out.gart").stderr
        self.assertIn("another artifact (?, this one is ", said)
        return said.split("this one is ")[1].split(")")[0]

    def profile(self, name, times, **more):
        """`times`: per pool."""
        rows = [{"group": g["name"], "device": d, "operation_us": us, "idle_us": 0, "runs": 10}
                for g in self.groups for d, us in times.items() if d in g["support"]]
        self.write(name, {"format": "gcc-graph profile 1", "artifact": self.identity(), "groups": rows, **more})

    def test_parts_go_where_they_were_measured_to_be_faster(self):
        self.assertEqual(len(self.groups), 3)
        self.assertEqual([len(g["support"]) for g in self.groups], [2, 1, 2])
        for slow, fast in (("pool:0", "pool:1"), ("pool:1", "pool:0")):
            self.profile("profile.json", {slow: 900, fast: 100})
            self.accepted("place", "model.gart", "--profile", "profile.json", "-o", "out.gart")
            first, middle, last = self.placed("out.gart").values()
            self.assertEqual((first, middle, last), (fast, "pool:0", fast))
            old, new = sections(self.path("model.gart")), sections(self.path("out.gart"))
            self.assertEqual([kind for kind, _ in old], [kind for kind, _ in new])
            for (kind, before), (_, after) in zip(old, new):
                if kind != ASSEMBLY:
                    self.assertEqual(before, after, f"section of kind {kind}")
            self.accepted("run", "out.gart", "--random", "1")  # which proves every digest

    def test_inputs_from_another_device_take_longer(self):
        """The first group would take less time on pool:1. The second group, on pool:0, would then read its input from another device and take longer."""
        first, middle, last = (g["name"] for g in self.groups)
        row = lambda group, device, us, crossed=False: {"group": group, "device": device, "operation_us": us, "crossed": crossed}
        for longer, where in ((50, "pool:1"), (900, "pool:0")):
            rows = [row(first, "pool:0", 1000), row(first, "pool:1", 600), row(middle, "pool:0", 1000), row(middle, "pool:0", 1000 + longer, True),
                    row(last, "pool:0", 1000), row(last, "pool:1", 9000)]
            self.write("crossed.json", {"format": "gcc-graph profile 1", "artifact": self.identity(), "groups": rows})
            self.accepted("place", "model.gart", "--profile", "crossed.json", "-o", "out.gart")
            self.assertEqual(self.placed("out.gart"), {first: where, middle: "pool:0", last: "pool:0"})

    def test_little_gains_move_nothing(self):
        now = list(self.placed("model.gart").values())
        other = "pool:1" if now[0] == "pool:0" else "pool:0"
        self.profile("profile.json", {now[0]: 100, other: 99})
        self.assertIn("left as it was", self.accepted("place", "model.gart", "--profile", "profile.json", "-o", "out.gart"))
        self.assertEqual(list(self.placed("out.gart").values()), now)
        self.profile("profile.json", {now[0]: 100, other: 50}, run_noise_us=90)
        self.assertIn("left as it was", self.accepted("place", "model.gart", "--profile", "profile.json", "-o", "out.gart"))
        self.profile("profile.json", {now[0]: 100, other: 50})
        self.assertIn("placed again", self.accepted("place", "model.gart", "--profile", "profile.json", "-o", "out.gart", "--threshold", "1%"))

    def test_a_busy_device_does_not_hold_its_groups(self):
        """A busy device's own noise is not a reason to keep its groups there. A device that was never measured is worth
        an attempt."""
        one = {"devices": [{"name": "pool:0", "kind": "cpu"}, {"name": "pool:1", "kind": "cpu"}]}
        self.write("two.json", one)
        chain(self.path("small.onnx"), 32, 1)
        self.accepted("compile", "small.onnx", "--fleet", "two.json", "--cut", "support", "-o", "small.gart")
        groups = json.loads(self.accepted("inspect", "small.gart", "--json"))["groups"]
        self.assertEqual(len(groups), 1)
        on, other = groups[0]["device"], "pool:1" if groups[0]["device"] == "pool:0" else "pool:0"
        none = {"format": "gcc-graph profile 1", "artifact": "?", "groups": []}
        self.write("none.json", none)
        identity = self.tool("place", "small.gart", "--profile", "none.json").stderr.split("this one is ")[1].split(")")[0]
        row = lambda device, us, noise=0: {"group": groups[0]["name"], "device": device, "operation_us": us, "noise_us": noise, "runs": 10}
        for rows, more in (([row(on, 6000, 2700), row(other, 600)], {"run_us": 6000, "run_noise_us": 2700}), ([row(on, 600_000)], {"run_us": 600_000})):
            self.write("busy.json", {**none, "artifact": identity, "groups": rows, **more})
            self.accepted("place", "small.gart", "--profile", "busy.json", "-o", "out.gart")
            self.assertEqual(set(self.placed("out.gart").values()), {other})

    def test_numbers_that_no_measurement_gives(self):
        before = open(self.path("model.gart"), "rb").read()
        for times in ({"pool:0": 1e308}, {"pool:0": 1e16}):
            self.profile("profile.json", times)
            self.refused("place", "model.gart", "--profile", "profile.json", says=["'operation_us'", "a time is from 0 to 1e+15"])
        group = self.groups[0]["name"]
        row = lambda us, crossed: {"group": group, "device": "pool:0", "operation_us": us, "crossed": crossed}
        self.write("profile.json", {"format": "gcc-graph profile 1", "artifact": self.identity(), "groups": [row(5e-324, False), row(1e14, True)]})
        self.accepted("place", "model.gart", "--profile", "profile.json", "-o", "out.gart")
        self.accepted("check", "out.gart")
        with open(self.path("model.gart"), "rb") as f:
            self.assertEqual(f.read(), before)

    def test_replace_writes_what_it_found(self):
        self.accepted("bench", "model.gart", "--random", "1", "--replace", "--seconds", "0.05", "-o", "out.gart", "--json")
        self.accepted("check", "out.gart")
        least = json.loads(self.accepted("bench", "model.gart", "--random", "1", "--replace", "--seconds", "0.05", "-o", "out.gart", "--json"))["least"]
        self.assertEqual(self.placed("out.gart"), least["groups"])
        self.refused("bench", "model.gart", "--random", "1", "-o", "new.gart", says=["-o new.gart", "--replace"])

    def test_another_fleet(self):
        small = {"devices": [{"name": "tiny", "kind": "cpu", "memory_bytes": 100}]}
        self.write("small.json", small)
        self.refused("place", "model.gart", "--fleet", "small.json", "-o", "new.gart", says=["'tiny'", "100 free bytes", "fits on no device"])
        self.write("gpu.json", {"devices": [{"name": "gpu", "kind": "cuda"}]})
        self.refused("place", "model.gart", "--fleet", "gpu.json", "-o", "new.gart", says=["'pool:0'", "'gpu'"])
        self.write("one.json", {"devices": [{"name": "alone", "kind": "cpu"}]})
        self.accepted("place", "model.gart", "--fleet", "one.json", "-o", "out.gart")
        self.assertEqual(set(self.placed("out.gart").values()), {"alone"})

    def test_what_is_refused(self):
        self.profile("profile.json", {"pool:0": 100})
        with open(self.path("profile.json"), encoding="utf-8") as f:
            good = json.load(f)
        for change, says in (({"artifact": "0"}, ["another artifact (0"]), ({"format": "x"}, ["the format is 'x'"]),
                             ({"groups": 3}, ["no list 'groups'"]), ({"groups": [{"group": "g0"}]}, ["groups[0]", "no string 'device'"]),
                             ({"groups": [{"group": "zz", "device": "pool:0", "operation_us": 1}]}, ["group 'zz'"]),
                             ({"groups": [{"group": "g0", "device": "pool:0", "operation_us": -1}]}, ["groups[0]", "-1"]),
                             ({"groups": [{"group": "g0", "device": "pool:0", "operation_us": 1, "crossed": 1}]}, ["groups[0]", "'crossed'"])):
            self.write("bad.json", {**good, **change})
            self.refused("place", "model.gart", "--profile", "bad.json", "-o", "new.gart", says=says)
        self.accepted("compile", "model.onnx", "-o", "plain.gart")
        self.refused("place", "plain.gart", says=["no fleet plan", "--fleet"])
        self.refused("place", "model.gart", "--threshold", "two", says=["'two'"])
        self.refused("place", "model.gart", "-o", "nowhere/out.gart", says=["cannot write"])

    def test_takes_the_same_time_whatever_the_weights(self):
        chain(self.path("large.onnx"), 2048, 4)
        self.accepted("compile", "large.onnx", "--fleet", "fleet.json", "-o", "large.gart")
        weights = max(len(data) for _, data in sections(self.path("large.gart")))
        self.assertGreater(weights, 60 << 20)
        shutil.copy(self.path("large.gart"), self.path("moved.gart"))

        def least_time(*arguments):
            times = []
            for _ in range(5):
                begin = resource.getrusage(resource.RUSAGE_CHILDREN)
                self.accepted(*arguments)
                end = resource.getrusage(resource.RUSAGE_CHILDREN)
                times.append(end.ru_utime + end.ru_stime - begin.ru_utime - begin.ru_stime)
            return min(times)
        least = least_time("place", "moved.gart", "--fleet", "fleet.json") - least_time("--version")
        print(f"placing {weights >> 20} MiB anew in place: {1e3 * least:.0f} ms of processor time")
        if not os.environ.get("GCC_GRAPH_SANITIZE"):
            self.assertLess(least, 0.05)
        self.accepted("run", "moved.gart", "--random", "1")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"])
