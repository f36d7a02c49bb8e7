#!/usr/bin/env python3
"""Formats that other tools read: each field of a fleet has its documented effect, `inspect --json` and profiles have their
documented fields, and the file holds code and weights once."""
import json
import os
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from cli_case import CliCase

CORES = sorted(os.sched_getaffinity(0))
WIDTH, LAYERS = 64, 4


def model_of(nodes, outputs, weights=()):
    types = lambda names: [helper.make_tensor_value_info(n, TensorProto.FLOAT, [32, WIDTH]) for n in names]
    graph = helper.make_graph(nodes, "model", types(["x"]), types(outputs), list(weights))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def weight(name, seed=0):
    return numpy_helper.from_array((np.random.default_rng(seed).standard_normal((WIDTH, WIDTH)) / WIDTH).astype(np.float32), name)


def layers(count=LAYERS):
    """A repeated sequence of product, Softplus and a cast to f16 and back; all products share one weight."""
    nodes, at = [], "x"
    for i in range(count):
        for op, name, more in (("MatMul", "m", ["w"]), ("Softplus", "s", []), ("Cast", "h", []), ("Cast", "f", [])):
            types = {"h": {"to": TensorProto.FLOAT16}, "f": {"to": TensorProto.FLOAT}}.get(name, {})
            nodes.append(helper.make_node(op, [at, *more], [f"{name}{i}"], name=f"{name}{i}", **types))
            at = f"{name}{i}"
    nodes.append(helper.make_node("MatMul", [at, "w"], ["y"], name="y"))
    return model_of(nodes, ["y"], [weight("w")])


def branches(depth=24):
    """Two chains of products with the same input."""
    nodes, weights = [], []
    for branch in "ab":
        at = "x"
        for i in range(depth):
            weights.append(weight(f"w{branch}{i}", i + ord(branch)))
            nodes.append(helper.make_node("MatMul", [at, weights[-1].name], [f"{branch}{i}"], name=f"{branch}{i}"))
            at = f"{branch}{i}"
        nodes.append(helper.make_node("Tanh", [at], [f"{branch}"], name=f"{branch}"))
    nodes.append(helper.make_node("Add", ["a", "b"], ["y"], name="y"))
    return model_of(nodes, ["y"], weights)


def pool(name, **fields):
    return {"name": name, "kind": "cpu", **fields}


class FleetFormsTest(CliCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        onnx.save(layers(), cls.path("layers.onnx"))
        onnx.save(branches(), cls.path("branches.onnx"))

    def compile(self, model, devices, *options, links=()):
        """The groups of the model on this fleet, as inspect lists them."""
        self.write("fleet.json", json.dumps({"devices": devices, "links": list(links)}).encode())
        self.accepted("compile", model, "--fleet", "fleet.json", "-o", "m.gart", *options)
        return json.loads(self.accepted("inspect", "m.gart", "--json"))["groups"]

    def lacking(self, groups, device):
        """The nodes that a device does not support."""
        return {node for g in groups if device not in g["support"] for node in g["nodes"]}

    def test_denied_and_supported_operators_and_types(self):
        named = lambda *letters: {f"{letter}{i}" for letter in letters for i in range(LAYERS)}
        casts, softplus = named("h", "f"), named("s")
        for field, lacking in (({"denies": ["Softplus"]}, softplus), ({"denies": ["Soft*"]}, softplus), ({"denies": ["f16"]}, casts),
                               ({"denies": ["Softplus", "f16"]}, softplus | casts), ({"supports": ["MatMul"]}, softplus | casts),
                               ({"supports": ["MatMul", "Cast", "f32"]}, softplus | casts), ({"supports": ["f32"]}, casts),
                               ({"supports": ["MatMul", "Softplus"], "denies": ["Softplus"]}, softplus | casts), ({}, set())):
            groups = self.compile("layers.onnx", [pool("acc", **field), pool("cpu")], "--cut", "support")
            self.assertEqual(self.lacking(groups, "acc"), lacking, field)
            self.assertEqual(self.lacking(groups, "cpu"), set(), field)

    def test_uses(self):
        groups = self.compile("layers.onnx", [pool("a", uses=["train"]), pool("b", uses=["infer"]), pool("c", uses=["infer", "train"])])
        self.assertEqual({tuple(g["support"]) for g in groups}, {("b", "c")})

    def test_host_and_cores(self):
        self.compile("layers.onnx", [pool("far", host="board")])
        self.refused("run", "m.gart", "--random", "1", "--fleet", "fleet.json", says=["far"])
        self.accepted("run", "m.gart", "--random", "1", "--devices", "far=cpu")
        self.compile("layers.onnx", [pool("near", cores=[CORES[-1]])])
        report = json.loads(self.accepted("bench", "m.gart", "--random", "1", "--seconds", "0.01", "--fleet", "fleet.json", "--json"))
        self.assertEqual(report["devices"]["near"].split(",")[0], f"cpu:{CORES[-1]}")

    def test_rates_and_memory_decide_where_groups_go(self):
        on = lambda groups: {g["device"] for g in groups}
        for fast in "ab":
            devices = [pool(n, gflops=1000 if n == fast else 10, gbytes_per_s=1000 if n == fast else 10) for n in "ab"]
            self.assertEqual(on(self.compile("layers.onnx", devices)), {fast})
            small = [dict(d, memory_bytes=1000) if d["name"] == fast else d for d in devices]
            self.assertEqual(on(self.compile("layers.onnx", small)), {"ab".strip(fast)})
        self.write("fleet.json", json.dumps({"devices": [dict(d, memory_bytes=1000) for d in devices]}).encode())
        self.refused("compile", "layers.onnx", "--fleet", "fleet.json", "-o", "none.gart", says=["'a'", "'b'", "1000 free bytes", "fits on no device"])

    def test_links_decide_where_groups_go(self):
        devices = [pool(n, gflops=1, gbytes_per_s=100) for n in "ab"]
        link = lambda rate, us: [{"from": a, "to": b, "gbytes_per_s": rate, "us": us} for a, b in ("ab", "ba")]
        used = lambda links: len({g["device"] for g in self.compile("branches.onnx", devices, links=links)})
        self.assertEqual(used(link(1000, 0)), 2, "branches beside each other")
        self.assertEqual(used(link(1e-6, 0)), 1, "no bytes get across")
        self.assertEqual(used(link(1000, 1e6)), 1, "a transfer takes a second")

    def test_groups_as_inspect_tells_them(self):
        groups = self.compile("layers.onnx", [pool("acc", denies=["Softplus"]), pool("cpu")])
        nodes = [n.name for n in onnx.load(self.path("layers.onnx")).graph.node]
        report = json.loads(self.accepted("inspect", "m.gart", "--json"))
        self.assertEqual(sorted(node for g in groups for node in g["nodes"]), sorted(nodes))
        self.assertEqual(len({g["name"] for g in groups}), len(groups))
        for g in groups:
            self.assertLessEqual({"name", "device", "support", "nodes", "parts", "bytes_in", "bytes_out"}, set(g))
            self.assertIn(g["device"], g["support"])
            self.assertGreater(len(g["parts"]), 0)
            crossing = lambda end: [c for c in report["crossings"] if c[end] == g["name"]]
            self.assertEqual(g["bytes_in"], sum(c["bytes"] for c in crossing("to")))
            self.assertEqual(g["bytes_out"], sum({c["value"]: c["bytes"] for c in crossing("from")}.values()))
            self.assertEqual(len(g["timeline"]), len(g["parts"]))
            for t in g["timeline"]:
                self.assertGreater(t["end_us"], t["begin_us"])
        self.assertEqual(max(t["end_us"] for g in groups for t in g["timeline"]), report["predicted_us"])
        self.assertIn("bytes_in", self.accepted("inspect", "m.gart", "--json"))
        text = self.accepted("inspect", "m.gart")
        for g in groups:
            self.assertIn(f"group {g['name']} on {g['device']} (of {', '.join(g['support'])})", text)
        for c in report["crossings"]:
            self.assertIn(f"{c['bytes']} bytes: {c['from']} -> {c['to']}", text)

    def test_profiles(self):
        groups = self.compile("layers.onnx", [pool("acc", denies=["Softplus"]), pool("cpu")])
        where = {(g["name"], g["device"]) for g in groups}
        for command in (("bench", "--seconds", "0.05"), ("run",)):
            self.accepted(command[0], "m.gart", "--random", "1", *command[1:], "--monitor", "times.json")
            profile = json.loads(self.read("times.json"))
            self.assertEqual(set(profile), {"format", "artifact", "run_us", "run_noise_us", "groups"})
            self.assertEqual({(g["group"], g["device"]) for g in profile["groups"]}, where)
            for g in profile["groups"]:
                self.assertLessEqual({"group", "device", "operation_us", "idle_us", "runs"}, set(g))
                self.assertGreater(g["runs"], 0)
            self.accepted("place", "m.gart", "--profile", "times.json", "-o", "placed.gart")
        self.compile("layers.onnx", [pool("acc", denies=["Softplus"]), pool("cpu")], "--keep", "m0")
        for command in ("run", "bench"):
            self.refused(command, "m.gart", "--random", "1", "--fetch", "m0", "--monitor", "part.json", says=["--monitor part.json", "no run used all groups"])

    def test_without_a_fleet_it_is_this_machine(self):
        here = [d["name"] for d in json.loads(self.accepted("devices", "--json"))["devices"]]
        for option in (("--cut", "support"), ("--label", "m0=first"), ("--keep", "m0")):
            self.accepted("compile", "layers.onnx", *option, "-o", "here.gart")
            self.assertEqual([d["name"] for d in json.loads(self.accepted("inspect", "here.gart", "--json"))["devices"]], here)
            self.accepted("run", "here.gart", "--random", "1", "--devices", ",".join(here))

    def test_weights_and_code_are_there_once(self):
        sizes = {}
        for count in (LAYERS, 3 * LAYERS):
            onnx.save(layers(count), self.path("deep.onnx"))
            groups = self.compile("deep.onnx", [pool("acc", denies=["Softplus"]), pool("cpu")], "--cut", "support", "--target", "x86-64-v3")
            self.assertEqual(len(groups), 2 * count + 1)
            report = json.loads(self.accepted("inspect", "m.gart", "--json"))
            self.assertEqual(report["stored_twice"]["bytes"], 0)
            sizes[count] = (len({part for g in groups for part in g["parts"]}), report["weight_bytes"],
                            report["targets"][0]["code_bytes"])
        self.assertEqual(sizes[LAYERS], sizes[3 * LAYERS], "parts, weights and code of equal layers")


if __name__ == "__main__":
    unittest.main()
