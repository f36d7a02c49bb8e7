#!/usr/bin/env python3
"""Parallel modes: as inspect shows them, as --parallel overrides them, and the throughput of concurrent callers."""
import json
import unittest

from cli_case import HEADER, CliCase

BRANCHES = 6


def branch(i):
    return f"""w{i} = ConstantOfShape<value = float[1] {{0.0{i + 1}}}>(s)
            a{i} = MatMul(x, w{i})
            b{i} = Tanh(a{i})
            c{i} = MatMul(b{i}, w{i})
            d{i} = Softmax<axis = 1>(c{i})
            e{i} = MatMul(d{i}, w{i})
            """


class Parallel(CliCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.save("wide.onnx", HEADER + "wide (float[4, 96] x) => (float[4, 96] y) { s = Constant<value_ints = [96, 96]>()\n"
                 + "".join(map(branch, range(BRANCHES))) + f"y = Sum({', '.join(f'e{i}' for i in range(BRANCHES))}) }}")
        cls.tool("compile", "wide.onnx", "-o", "wide.gart", "--target", "x86-64-v3")

    def test_inspect_shows_modes_and_why(self):
        text = self.accepted("inspect", "wide.gart")
        self.assertIn("from 2 threads on: intra 1, inter 2, replicas 1; independent light steps: threads take streams of them", text)
        modes = json.loads(self.accepted("inspect", "wide.gart", "--json"))["entry_points"][0]["plans"][0]["modes"]
        self.assertEqual([m["threads"] for m in modes], [2, 4, 8, 16])
        for m in modes:
            self.assertLessEqual(m["predicted_us"], m["predicted_us_intra"])
            self.assertLess(m["predicted_us"], m["predicted_us_alone"])
        self.assertIn("replicas 2; steps are light or wait for each other", self.accepted("inspect", "model.gart"))

    def test_modes_by_hand_give_the_same(self):
        self.accepted("run", "wide.gart", "--random", "1", "--threads", "1", "--outputs", "one.npz")
        for text in ("intra=2", "inter=2", "intra=1,inter=3", "intra=2,inter=2,replicas=2", "replicas=4"):
            self.accepted("run", "wide.gart", "--random", "1", "--threads", "4", "--parallel", text, "--expect", "one.npz",
                          "--rtol", "0", "--atol", "0")

    def test_threads_may_sleep_at_once(self):
        self.accepted("run", "wide.gart", "--random", "1", "--threads", "1", "--outputs", "one.npz")
        self.accepted("run", "wide.gart", "--random", "1", "--threads", "4", "--no-spin", "--expect", "one.npz", "--rtol", "0", "--atol", "0")

    def test_throughput_of_callers(self):
        out = json.loads(self.accepted("bench", "wide.gart", "--seconds", "0.05", "--parallel", "replicas=2", "--threads", "2", "--json"))
        self.assertEqual(out["threads"], 1)
        self.assertEqual(out["throughput"]["callers"], 2)
        self.assertGreater(out["throughput"]["runs_per_second"], 0)
        self.assertRegex(out["throughput"]["cores"], "core|processors")

    def test_what_makes_no_sense(self):
        for text in ("intra", "intra=", "intra=0", "intra=-1", "intra=2x", "outer=2", "intra=2,,inter=1", "intra=99999999999"):
            self.refused("run", "wide.gart", "--random", "1", "--parallel", text, says=f"--parallel '{text}'")
        self.refused("run", "wide.gart", "--random", "1", "--parallel", "inter=2000", says="inter is 2000; 0 to 1024 are possible")


if __name__ == "__main__":
    unittest.main()
