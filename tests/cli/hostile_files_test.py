#!/usr/bin/env python3
"""Malicious files, and valid but unusual ones: each ends with one sentence, within reasonable time and memory."""
import json
import os
import resource
import struct
import time
import unittest
import zipfile

import numpy as np
import onnx
from onnx import TensorProto, helper, parser

from cli_case import HEADER, CliCase

FLOAT = TensorProto.FLOAT
FLEET = {"devices": [{"name": "cpu:0", "kind": "cpu"}, {"name": "cpu:1", "kind": "cpu", "denies": ["Softplus"]}]}
CHAIN = HEADER + """model (float[4] x) => (float[4] y) {
  a = Exp(x)
  b = Softplus(a)
  y = Tanh(b)
}"""


def nested_loops(depth):
    """Nested loops, each with one scan output."""
    info = helper.make_tensor_value_info

    def body(level):
        inner = [helper.make_node("Add", ["x", "x"], [f"s{level}"])] if level == depth else \
            [helper.make_node("Loop", ["n", "yes"], [f"s{level}"], body=body(level + 1))]
        return helper.make_graph([helper.make_node("Identity", [f"c{level}"], [f"o{level}"]), *inner], f"b{level}",
                                 [info(f"i{level}", TensorProto.INT64, []), info(f"c{level}", TensorProto.BOOL, [])],
                                 [info(f"o{level}", TensorProto.BOOL, []), info(f"s{level}", FLOAT, None)])

    graph = helper.make_graph([helper.make_node("Loop", ["n", "yes"], ["y"], body=body(1))], "g",
                              [info("x", FLOAT, [3]), info("n", TensorProto.INT64, [])], [info("y", FLOAT, None)],
                              [helper.make_tensor("yes", TensorProto.BOOL, [], [True])])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


class HostileFilesTest(CliCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.save("chain.onnx", CHAIN)
        cls.write("fleet.json", json.dumps(FLEET).encode())
        done = cls.tool("compile", "chain.onnx", "-o", "chain.gart", "--fleet", "fleet.json", "--target", "x86-64-v3")
        assert done.returncode == 0, done.stderr

    def test_texts_of_json_have_a_limit_of_depth(self):
        deep = b"[" * 200_000 + b"]" * 200_000
        self.write("deep.json", b'{"devices":' + deep + b"}")
        self.write("name.json", b'{"devices":[{"name":' + deep + b',"kind":"cpu"}]}')
        for arguments in (("place", "chain.gart", "--fleet", "deep.json", "-o", "o.gart"), ("place", "chain.gart", "--profile", "deep.json", "-o", "o.gart"),
                          ("inspect", "chain.gart", "--profile", "name.json"), ("run", "chain.gart", "--random", "1", "--fleet", "name.json"),
                          ("compile", "chain.onnx", "-o", "o.gart", "--fleet", "name.json"),
                          ("compile", "chain.onnx", "-o", "o.gart", "--tuning", "deep.json")):
            self.refused(*arguments, says="lists and objects are nested more than 64 deep")

    def test_rates_have_limits(self):
        for field, value, link in (("gflops", 1e308, None), ("gflops", 5e-324, None), ("gbytes_per_s", 1e-308, None), (None, 0, {"us": 1e308}),
                                   (None, 0, {"gbytes_per_s": 1e300})):
            devices = [dict(d) for d in FLEET["devices"]]
            if field:
                devices[0][field] = value
            links = [{"from": "cpu:0", "to": "cpu:1", **link}] if link else []
            self.write("rate.json", json.dumps({"devices": devices, "links": links}).encode())
            before = self.read("chain.gart")
            for arguments in (("place", "chain.gart"), ("compile", "chain.onnx", "-o", "o.gart", "--target", "x86-64-v3")):
                self.refused(*arguments, "--fleet", "rate.json", says=["rate.json: ", "from "])
            self.assertEqual(self.read("chain.gart"), before)

    def test_an_archive_that_lies_of_its_sizes(self):
        np.savez(self.path("x.npz"), x=np.ones((2, 8), np.float32), y=np.ones((2, 8), np.float32))
        data = bytearray(self.read("x.npz"))
        at = data.rindex(b"PK\x01\x02")
        struct.pack_into("<I", data, at + 24, 0xfffffff0)  # the size that the last member is said to have
        self.write("lie.npz", bytes(data))
        self.refused("run", "model.gart", "--inputs", "lie.npz", says="array 'y.npy'")

    def test_what_no_input_takes_is_not_unpacked(self):
        header = lambda count: np.lib.format.magic(1, 0) + struct.pack("<H", 118) + (
            b"{'descr': '<f4', 'fortran_order': False, 'shape': (%d,), }" % count).ljust(117) + b"\n"
        for name, says in (("z", "the model has no input 'z'"), ("x", "input 'x' must be f32[4] of 16 bytes; the array has 1073741824")):
            with zipfile.ZipFile(self.path("bomb.npz"), "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive, archive.open(name + ".npy", "w") as member:
                member.write(header(1 << 28))
                for _ in range(64):
                    member.write(bytes(1 << 24))
            before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
            self.refused("run", "chain.gart", "--inputs", "bomb.npz", says=says)
            if not os.environ.get("GCC_GRAPH_SANITIZE"):
                self.assertLess(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, max(before, 600_000), "kB: it was unpacked")

    def test_many_names_take_linear_time(self):
        begin = time.monotonic()
        self.refused("run", "chain.gart", "--random", "1", "--fetch", "1," * 60_000 + "1", says="'1'")
        self.refused("compile", "chain.onnx", "-o", "o.gart", "--fleet", "fleet.json", "--keep", "1," * 60_000 + "1", says="'1'")
        self.assertLess(time.monotonic() - begin, 20)

    def test_texts_that_no_runtime_takes(self):
        nul = lambda model: model.graph.node[1].__setattr__("name", "a\0b")
        long = lambda model: model.graph.node[1].__setattr__("name", "n" * (3 << 20))

        def value(model):
            model.graph.node[0].output[0] = model.graph.node[1].input[0] = "a\0b"
        for change in (nul, long, value):
            model = parser.parse_model(CHAIN)
            change(model)
            onnx.save(model, self.path("text.onnx"))
            for more in ((), ("--fleet", "fleet.json")):
                self.accepted("compile", "text.onnx", "-o", "text.gart", "--target", "x86-64-v3", *more)
                self.accepted("check", "text.gart")
                self.accepted("run", "text.gart", "--random", "1")
        model = parser.parse_model(CHAIN)
        model.graph.input[0].name = model.graph.node[0].input[0] = "x\0"
        onnx.save(model, self.path("text.onnx"))
        self.refused("compile", "text.onnx", "-o", "o.gart", says=["input 0", "contains a NUL byte"])

    def test_a_label_may_be_any_name(self):
        """Labels that are default names of groups, and labels that are not UTF-8."""
        names = self.tool("inspect", "chain.gart", "--json")
        first = json.loads(names.stdout)["groups"][0]["name"]
        for label in (first, "g1: b", os.fsdecode(b"g\xc3")):
            self.accepted("compile", "chain.onnx", "-o", "label.gart", "--fleet", "fleet.json", "--target", "x86-64-v3", "--label", "y=" + label)
            groups = [g["name"] for g in json.loads(self.accepted("inspect", "label.gart", "--json"))["groups"]]
            self.assertEqual(len(set(groups)), len(groups))
            self.accepted("run", "label.gart", "--random", "1", "--fleet", "fleet.json")

    def test_loops_in_loops_compile_in_time_that_grows_slowly(self):
        times = []
        for depth in (7, 14):
            onnx.save(nested_loops(depth), self.path("nested.onnx"))
            before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
            self.accepted("compile", "nested.onnx", "-o", "nested.gart", "--target", "x86-64-v3")
            times.append(resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before)
        print(f"7 loops {times[0]:.2f} s, 14 loops {times[1]:.2f} s of processor time")
        self.assertLess(times[1], 8 * times[0])
        np.savez(self.path("three.npz"), x=np.ones(3, np.float32), n=np.int64(1))
        self.accepted("run", "nested.gart", "--inputs", "three.npz")


if __name__ == "__main__":
    unittest.main(verbosity=2)
