"""The cut that `compile` chooses: groups on one device are joined, and the predicted time decides between cuts."""
import json
import os
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from cli_case import CliCase

CORES = sorted(os.sched_getaffinity(0))


def pool(name, **fields):
    return {"name": name, "kind": "cpu", "cores": [CORES[0]], **fields}


def model_of(nodes, outputs, side, inputs=("x",)):
    """Square f32 values; `w` is a constant."""
    types = lambda names: [helper.make_tensor_value_info(n, TensorProto.FLOAT, [side, side]) for n in names]
    weight = (np.random.default_rng(0).standard_normal((side, side)) / side).astype(np.float32)
    graph = helper.make_graph(nodes, "model", types(inputs), types(outputs), [numpy_helper.from_array(weight, "w")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def node(op, name, *inputs):
    return helper.make_node(op, inputs, [name], name=name)


def chain(length, operators=("Relu", "Tanh"), side=16):
    """Operators in turn."""
    names = ["x"] + [f"n{i}" for i in range(length)]
    more = {"MatMul": ["w"]}
    nodes = [node(operators[i % len(operators)], names[i + 1], names[i], *more.get(operators[i % len(operators)], [])) for i in range(length)]
    return model_of(nodes, [names[-1]], side)


class FleetCutTest(CliCase):
    def compile(self, model, *options, devices=None):
        """The report of inspect for the model on this fleet, or for the targets alone."""
        onnx.save(model, self.path("m.onnx"))
        if devices is not None:
            self.write("fleet.json", json.dumps({"devices": devices}).encode())
            options = ("--fleet", "fleet.json", *options)
        said = json.loads(self.accepted("compile", "m.onnx", "-o", "m.gart", "--json", *options))
        return json.loads(self.accepted("inspect", "m.gart", "--json")), said["cut"]

    def test_groups_of_one_device_are_joined(self):
        """Only p1 denies Tanh. So a chain of Tanh and Relu has 200 groups, and all of them run on p0."""
        devices = [pool("p0"), pool("p1", denies=["Tanh"])]
        asked, _ = self.compile(chain(200), "--cut", "support", devices=devices)
        self.assertEqual(len(asked["groups"]), 200, "groups that are asked for")
        report, cut = self.compile(chain(200), devices=devices)
        self.assertEqual([g["support"] for g in report["groups"]], [["p0"]])
        self.assertLess(report["predicted_us"], asked["predicted_us"])
        self.assertAlmostEqual(report["predicted_us"], cut["whole_us"], delta=0.01 * cut["whole_us"])

    def test_an_assignment_to_a_device_that_runs_the_rest(self):
        report, _ = self.compile(chain(5, ("MatMul", "Relu")), "--assign", "MatMul=p1", devices=[pool("p0"), pool("p1")])
        self.assertEqual([g["device"] for g in report["groups"]], ["p1"])

    def test_labels_stay(self):
        report, _ = self.compile(chain(4), "--label", "n0=first", devices=[pool("p0"), pool("p1", denies=["Tanh"])])
        self.assertEqual([g["name"] for g in report["groups"]][0], "first")

    def test_large_pieces_stay_for_pipelines(self):
        report, _ = self.compile(chain(8, ("MatMul",), 256), devices=[pool("p0"), pool("p1")])
        self.assertGreater(len(report["groups"]), 2)

    def test_a_group_gives_its_values_early(self):
        """The branch on p1 reads q1. In one group with m1 and m, q1 would be ready only after both products."""
        nodes = [node("MatMul", "m1", "x", "w"), node("MatMul", "m", "m1", "w"), node("Relu", "q1", "x"), node("Tanh", "q", "q1"),
                 *[node("Tanh", f"r{i}", f"r{i - 1}" if i else "q") for i in range(40)], node("MatMul", "z", "m", "r39")]
        devices = [pool("p0", denies=["Tanh"], cores=[CORES[0]]), pool("p1", denies=["MatMul"], cores=[CORES[-1]])]
        model = model_of(nodes, ["z"], 512)
        one, _ = self.compile(model, "--cut", "support", devices=devices)
        report, _ = self.compile(model, devices=devices)
        self.assertLess(report["predicted_us"], 0.98 * one["predicted_us"])

    def test_a_group_starts_before_its_last_input(self):
        """A long chain of products needs p1's value only at its end."""
        nodes = [node("Tanh", "q", "x")] + [node("Tanh", f"q{i}", f"q{i - 1}" if i else "q") for i in range(20)]
        nodes += [node("MatMul", f"m{i}", f"m{i - 1}" if i else "x", "w") for i in range(3)] + [node("MatMul", "z", "m2", "q19")]
        devices = [pool("p0", denies=["Tanh"], cores=[CORES[0]]), pool("p1", denies=["MatMul"], cores=[CORES[-1]])]
        model = model_of(nodes, ["z"], 512)
        one, _ = self.compile(model, "--cut", "support", devices=devices)
        report, _ = self.compile(model, devices=devices)
        self.assertLess(report["predicted_us"], 0.98 * one["predicted_us"])
        begins = {n: t["begin_us"] for g in report["groups"] for n in g["nodes"] for t in g["timeline"]}
        self.assertEqual(begins["m0"], 0)
        self.assertGreater(begins["z"], 0)


if __name__ == "__main__":
    unittest.main()
