"""`run` and `bench` on a fleet: the effects of --fleet, --devices, --fetch and --monitor, and their refusals."""
import json
import os
import re
import subprocess
import time
import unittest

import numpy as np
import onnx
from cli_case import HEADER, TOOL, CliCase

CHAIN = HEADER + """model (float[batch, 8] x, float[batch, 8] y) => (float[batch, 8] z) {
  s = Constant<value_ints = [8, 8]>()
  w = ConstantOfShape<value = float[1] {0.5}>(s)
  a = MatMul(x, w)
  b = Add(a, y)
  c = Softmax<axis = 1>(b)
  d = MatMul(c, w)
  e = Relu(d)
  z = MatMul(e, w)
}"""


OPEN = HEADER + """model (float[n, 8] x) => (float[n, 8] z) {
  a = Exp(x)
  z = Softmax<axis = 1>(a)
}"""


class FleetTest(CliCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cores = sorted(os.sched_getaffinity(0))
        cls.fleet = {"devices": [{"name": "acc:0", "kind": "cpu", "cores": [cores[0]], "denies": ["Softmax"]},
                                 {"name": "cpu", "kind": "cpu", "cores": [cores[-1]]}]}
        with open(cls.path("fleet.json"), "w") as f:
            json.dump(cls.fleet, f)
        cls.save("chain.onnx", CHAIN)
        done = cls.tool("compile", "chain.onnx", "--fleet", "fleet.json", "--cut", "support", "--keep", "b", "-o", "chain.gart")
        assert done.returncode == 0, done.stderr
        random = np.random.default_rng(0)
        np.savez(cls.path("in.npz"), **{n: random.standard_normal((3, 8)).astype(np.float32) for n in "xy"})

    def test_code_is_made_for_each_device(self):
        devices = [{"name": "near", "kind": "cpu", "target": "x86-64-v3"}, {"name": "far", "kind": "cpu", "target": "aarch64", "host": "board"}]
        with open(self.path("far.json"), "w") as f:
            json.dump({"devices": devices}, f)
        self.accepted("compile", "chain.onnx", "--fleet", "far.json", "-o", "far.gart")
        self.assertIn("target aarch64", self.accepted("inspect", "far.gart"))
        self.refused("compile", "chain.onnx", "--fleet", "far.json", "--target", "x86-64-v3", "-o", "none.gart",
                     says=["device 'far' of the fleet runs code for aarch64", "the targets are x86-64-v3"])

    def test_what_is_said_of_fleets(self):
        """Messages about patterns and devices that match nothing, a whole model that does not fit, and parts that do not run. Names of nodes are unique."""
        fleet = {"devices": [{"name": "small", "kind": "cpu", "memory_bytes": 1}, {"name": "large", "kind": "cpu", "denies": ["Sofplus"]}]}
        with open(self.path("said.json"), "w") as f:
            json.dump(fleet, f)
        said = self.accepted("compile", "chain.onnx", "--fleet", "said.json", "-o", "said.gart")
        self.assertIn("device 'large': denies 'Sofplus' has no effect: there is no such operator or element type; the nearest: 'Softplus'", said)
        self.assertIn("whole on large", said)
        self.assertNotIn("whole on small", said)
        for group in json.loads(self.accepted("inspect", "said.gart", "--json"))["groups"]:
            self.assertEqual(len(set(group["nodes"])), len(group["nodes"]))
        told = self.tool("run", "said.gart", "--inputs", "in.npz").stderr
        self.assertIn("remark: the whole model runs on cpu; its parts were placed on large, where --devices large runs them", told)
        self.assertEqual(self.tool("run", "said.gart", "--inputs", "in.npz", "--devices", "large").stderr, "")
        model = onnx.load(self.path("chain.onnx"))
        prop = model.graph.node[0].metadata_props.add()
        prop.key, prop.value = "gart.device", "larch"
        onnx.save(model, self.path("named.onnx"))
        said = self.accepted("compile", "named.onnx", "--fleet", "said.json", "-o", "named.gart")
        self.assertIn("has no effect: there is no such device or kind of devices; the nearest: 'large'", said)

    def test_what_has_no_effect_is_said(self):
        """Messages about a label of a node that passes remove, and about a model's training_info."""
        model = onnx.load(self.path("chain.onnx"))
        node = next(n for n in model.graph.node if n.op_type == "MatMul")
        node.input[0] = "same"
        model.graph.node.insert(0, onnx.helper.make_node("Identity", ["x"], ["same"], "gone"))
        model.training_info.add()
        onnx.save(model, self.path("idle.onnx"))
        said = self.accepted("compile", "idle.onnx", "--fleet", "fleet.json", "--label", "gone=mine", "-o", "idle.gart")
        self.assertIn("--label 'gone=mine' has no effect: passes removed all work of 'gone'", said)
        self.assertIn("the model's training_info (1 entry) is left out", said)

    def test_devices_chosen_at_run_have_room(self):
        """A device without room for the values of this request is not chosen, however fast it is."""
        rows = 4096
        fleet = {"devices": [{"name": "small", "kind": "cpu", "memory_bytes": 100000}, {"name": "large", "kind": "cpu"}]}
        with open(self.path("room.json"), "w") as f:
            json.dump(fleet, f)
        self.save("open.onnx", OPEN)
        self.accepted("compile", "open.onnx", "--fleet", "room.json", "-o", "open.gart")
        np.savez(self.path("open.npz"), x=np.ones((rows, 8), np.float32))
        for _ in range(3):
            self.accepted("run", "open.gart", "--inputs", "open.npz", "--dynamic", "--monitor", "open.json")
            with open(self.path("open.json")) as f:
                self.assertEqual({g["device"] for g in json.load(f)["groups"]}, {"large"})
        self.refused("run", "open.gart", "--inputs", "open.npz", "--dynamic", "--devices", "small", says=["fits on no device with these inputs", "'small' has 100000 bytes"])

    def outputs(self, *arguments):
        self.accepted("run", "chain.gart", "--inputs", "in.npz", "--outputs", "out.npz", *arguments)
        with np.load(self.path("out.npz")) as file:
            found = dict(file)
        os.remove(self.path("out.npz"))
        return found

    def test_any_way_of_running_gives_the_same_bits(self):
        whole = self.outputs("--threads", "1")
        for options in (["--fleet", "fleet.json"], ["--devices", "cpu"], ["--devices", "acc:0=cpu,cpu=cpu"], ["--requests", "1"], ["--dynamic"]):
            parts = self.outputs(*options)
            self.assertEqual(list(parts), ["z"])
            np.testing.assert_array_equal(parts["z"], whole["z"], err_msg=str(options))

    def test_values_by_name(self):
        with np.load(self.path("in.npz")) as given:
            b = given["x"] @ np.full((8, 8), 0.5, np.float32) + given["y"]
        found = self.outputs("--fetch", "b")
        self.assertEqual(list(found), ["b"])
        np.testing.assert_allclose(found["b"], b, rtol=1e-5, atol=1e-5)
        self.assertEqual(sorted(self.outputs("--fetch", "z,b")), ["b", "z"])
        self.refused("run", "chain.gart", "--inputs", "in.npz", "--fetch", "bb",
                     says=["no value 'bb'", "the nearest are 'b'", "compile with --keep bb"])

    def test_names_are_listed(self):
        model = onnx.load(self.path("chain.onnx"))
        for node in model.graph.node:  # names may hold commas
            for names in (node.input, node.output):
                names[:] = [{"a": "a,b", "c": "a,b,c"}.get(name, name) for name in names]
        onnx.save(model, self.path("commas.onnx"))
        for keep, kept in ((["b,d"], "bd"), (["b", "e,d"], "bed"), (["a,b"], ["a,b"]), (["b,a,b,c,e"], ["b", "a,b,c", "e"]),
                           (["a,b,b", "d"], ["a,b", "b", "d"])):
            options = [o for names in keep for o in ("--keep", names)]
            self.accepted("compile", "commas.onnx", "--fleet", "fleet.json", *options, "-o", "commas.gart")
            self.assertEqual(sorted(json.loads(self.accepted("inspect", "commas.gart", "--json"))["kept"]), sorted(kept))
            self.accepted("run", "commas.gart", "--inputs", "in.npz", "--outputs", "out.npz", *[o.replace("keep", "fetch") for o in options])
            with np.load(self.path("out.npz")) as file:
                self.assertEqual(sorted(file), sorted(kept))
        os.remove(self.path("out.npz"))
        self.refused("compile", "commas.onnx", "--keep", "b,bb", "-o", "none.gart",
                     says=["--keep 'bb': the model has no such value; the nearest: 'b', "])

    def test_only_what_is_wanted_runs(self):
        whole = len(json.loads(self.accepted("inspect", "chain.gart", "--json"))["groups"])
        self.accepted("run", "chain.gart", "--inputs", "in.npz", "--fetch", "b", "--trace", "trace.json")
        with open(self.path("trace.json")) as f:
            spans = [e["args"]["nodes"] for e in json.load(f)["traceEvents"] if e["ph"] == "X"]
        os.remove(self.path("trace.json"))
        self.assertLess(len(spans), whole)
        self.assertEqual(sum(spans, []), ["a", "b"])

    def test_the_model_says_where_nodes_go(self):
        model = onnx.load(self.path("chain.onnx"))
        for node in model.graph.node:
            metadata = {"a": ("gart.group", "head"), "b": ("gart.group", "head"), "e": ("gart.device", "cpu")}
            if node.output[0] in metadata:
                said = node.metadata_props.add()
                said.key, said.value = metadata[node.output[0]]
        onnx.save(model, self.path("metadata.onnx"))
        self.accepted("compile", "metadata.onnx", "--fleet", "fleet.json", "-o", "metadata.gart")
        groups = json.loads(self.accepted("inspect", "metadata.gart", "--json"))["groups"]
        self.assertEqual([g["nodes"] for g in groups if g["name"] == "head"], [["a", "b"]])
        self.assertEqual([g["support"] for g in groups if "e" in g["nodes"]], [["cpu"]])

    def test_cuts_that_cannot_be(self):
        self.refused("compile", "chain.onnx", "--fleet", "fleet.json", "--label", "a=one", "--label", "c=one", "--label", "b=two", "-o", "none.gart",
                     says="--label makes a cycle of groups: 'two' -> 'one' -> 'two'")
        with open(self.path("deny.json"), "w") as f:
            json.dump({"devices": [{**d, "denies": ["Softmax"]} for d in self.fleet["devices"]]}, f)
        self.refused("compile", "chain.onnx", "--fleet", "deny.json", "-o", "none.gart",
                     says=["node 'c' (Softmax): no device of the fleet runs it: 'acc:0' denies Softmax; 'cpu' denies Softmax"])

    def test_devices_for_training_are_not_used(self):
        devices = self.fleet["devices"] + [{"name": "trainer", "kind": "cpu", "gflops": 1e6, "uses": ["train"]}]
        with open(self.path("uses.json"), "w") as f:
            json.dump({"devices": devices}, f)
        self.accepted("compile", "chain.onnx", "--fleet", "uses.json", "-o", "uses.gart")
        self.accepted("place", "uses.gart", "--fleet", "uses.json", "-o", "uses.gart")
        for group in json.loads(self.accepted("inspect", "uses.gart", "--json"))["groups"]:
            self.assertNotIn("trainer", group["support"])
        self.refused("compile", "chain.onnx", "--fleet", "uses.json", "--assign", "MatMul=trainer", "-o", "none.gart",
                     says="--assign 'MatMul=trainer': node 'a' (MatMul) does not run there")

    def test_a_fleet_that_lacks_devices(self):
        with open(self.path("less.json"), "w") as f:
            json.dump({"devices": [{**self.fleet["devices"][0], "name": "elsewhere"}, self.fleet["devices"][1]]}, f)
        self.accepted("compile", "chain.onnx", "--fleet", "fleet.json", "--assign", "MatMul=acc:0", "-o", "both.gart")
        for command in (("run", "both.gart", "--inputs", "in.npz"), ("bench", "both.gart", "--random", "1", "--seconds", "0.01")):
            self.refused(*command, "--fleet", "less.json",
                         says=["is placed on device 'acc:0', which less.json lacks; it has 'elsewhere', 'cpu'",
                               "gcc-graph place both.gart --fleet less.json", "--devices acc:0=cpu"])
            self.accepted(*command, "--fleet", "less.json", "--devices", "acc:0=cpu")
        self.accepted("place", "both.gart", "--fleet", "less.json", "-o", "less.gart")
        self.accepted("run", "less.gart", "--inputs", "in.npz", "--fleet", "less.json")

    def test_times_are_written_each_second(self):
        bench = subprocess.Popen([TOOL, "bench", "chain.gart", "--inputs", "in.npz", "--seconds", "60", "--monitor", "long.json"],
                                 cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            runs, deadline = [], time.monotonic() + 20
            while len(set(runs)) < 2 and time.monotonic() < deadline:
                time.sleep(0.2)
                if os.path.exists(self.path("long.json")):
                    with open(self.path("long.json")) as f:  # whole whenever it is read
                        runs.append(json.load(f)["groups"][0]["runs"])
            self.assertGreater(len(set(runs)), 1, "it was not written anew while the runs went on")
            self.assertEqual(runs, sorted(runs))
        finally:
            bench.kill()
            bench.wait()
            for name in os.listdir(self.folder):
                if name.startswith("long.json"):
                    os.remove(self.path(name))

    def test_what_was_measured(self):
        self.accepted("bench", "chain.gart", "--inputs", "in.npz", "--seconds", "0.1", "--monitor", "times.json")
        with open(self.path("times.json")) as f:
            times = json.load(f)
        os.remove(self.path("times.json"))
        self.assertEqual(len(times["artifact"]), 32)
        self.assertGreater(times["run_us"], 0)
        groups = json.loads(self.accepted("inspect", "chain.gart", "--json"))["groups"]
        self.assertEqual([(g["group"], g["device"]) for g in times["groups"]], [(g["name"], g["device"]) for g in groups])
        for group in times["groups"]:
            self.assertGreater(group["operation_us"], 0)
            self.assertGreaterEqual(group["idle_us"], 0)
            self.assertGreaterEqual(group["runs"], 10)
        report = json.loads(self.accepted("bench", "chain.gart", "--random", "1", "--seconds", "0.1", "--devices", "cpu",
                                          "--json"))
        self.assertEqual(list(report["devices"]), ["cpu"])
        self.assertGreater(report["pipelined"]["runs_per_s"], 0)

    def test_what_the_cut_costs_is_told(self):
        told = self.accepted("compile", "chain.onnx", "--fleet", "fleet.json", "-o", "told.gart")
        groups = json.loads(self.accepted("inspect", "told.gart", "--json"))["groups"]
        rows = re.findall(r"^    (.+) on (\S+) \(of (.+?)\): (\d+) nodes?, (\d+) bytes in, (\d+) out, (\d+) fusions? lost$", told, re.M)
        self.assertEqual([(r[0], r[1], r[2].split(", ")) for r in rows], [(g["name"], g["device"], g["support"]) for g in groups])
        self.assertEqual([(int(r[4]), int(r[5])) for r in rows], [(g["bytes_in"], g["bytes_out"]) for g in groups])
        self.assertRegex(told, r"  the cut costs \d+ fusions?, .*\d+ launch(es)? on x86-64-v3 \(\d+ for \d+\)")
        self.assertRegex(told, r"a run is predicted to take [\d.]+ us, whole on cpu [\d.]+ us")
        cut = json.loads(self.accepted("compile", "chain.onnx", "--fleet", "fleet.json", "-o", "told.gart", "--json"))["cut"]
        self.assertEqual([(g["name"], str(g["nodes"]), str(g["bytes_in"]), str(g["fusions_lost"])) for g in cut["groups"]],
                         [(r[0], r[3], r[4], r[6]) for r in rows])
        self.assertGreater(cut["whole_us"], 0)
        self.assertNotIn("the cut costs", self.accepted("compile", "chain.onnx", "-o", "told.gart"))

    def test_when_parts_ran(self):
        groups = json.loads(self.accepted("inspect", "chain.gart", "--json"))["groups"]
        for command in (["run"], ["bench", "--seconds", "0.05"]):
            self.accepted(*command, "chain.gart", "--inputs", "in.npz", "--fleet", "fleet.json", "--trace", "trace.json")
            with open(self.path("trace.json")) as f:
                events = json.load(f)["traceEvents"]
            os.remove(self.path("trace.json"))
            rows = {e["tid"]: e["args"]["name"].split(" ")[0] for e in events if e["ph"] == "M"}
            spans = [e for e in events if e["ph"] == "X"]
            self.assertEqual([(e["name"], rows[e["tid"]]) for e in spans], [(g["name"], g["device"]) for g in groups])
            for e in spans:
                self.assertGreater(e["dur"], 0)
                self.assertEqual(e["args"]["nodes"], next(g["nodes"] for g in groups if g["name"] == e["name"]))
            for before, after in zip(spans, spans[1:]):  # it is a chain
                self.assertGreaterEqual(after["ts"], before["ts"] + before["dur"] - 1e-3)

    def test_predicted_beside_measured(self):
        self.accepted("bench", "chain.gart", "--inputs", "in.npz", "--seconds", "0.05", "--monitor", "times.json")
        report = json.loads(self.accepted("inspect", "chain.gart", "--json", "--profile", "times.json"))
        with open(self.path("times.json")) as f:
            times = json.load(f)
        self.assertEqual(report["measured_us"], times["run_us"])
        begins = []
        for group in report["groups"]:
            (row,) = group["measured"]
            self.assertEqual(row["device"], group["device"])
            self.assertGreater(row["operation_us"], 0)
            begins.append(row["begin_us"])
        self.assertEqual(begins, sorted(begins))
        self.assertIn("measured from", self.accepted("inspect", "chain.gart", "--profile", "times.json"))
        self.accepted("compile", "chain.onnx", "--fleet", "fleet.json", "--dim", "batch=3", "-o", "other.gart")
        self.refused("inspect", "other.gart", "--profile", "times.json", says=["measured with another artifact"])
        os.remove(self.path("times.json"))

    def test_refusals(self):
        run = ("run", "chain.gart", "--inputs", "in.npz")
        self.refused(*run, "--devices", "gpu", says="the file has no device 'gpu', only 'acc:0', 'cpu'")
        self.refused(*run, "--devices", "acc:0", says=["runs on none of the requested devices, only on 'cpu'"])
        self.accepted("compile", "chain.onnx", "--fleet", "fleet.json", "--assign", "MatMul=acc:0", "-o", "both.gart")
        self.refused("run", "both.gart", "--inputs", "in.npz", "--devices", "acc:0=cpu:1023",
                     says=["device 'acc:0'", "core 1023", "this process may use"])
        self.refused(*run, "--devices", "cpu", "--device", "cpu", says="--devices")
        self.refused(*run, "--fleet", "absent.json", says="absent.json")
        self.refused("run", "model.gart", "--random", "1", "--fetch", "z", says="not compiled for a fleet")
        self.refused("bench", "chain.gart", "--random", "1", "--devices", "cpu", "--profile", says="--monitor")
        with open(self.path("bad.json"), "w") as f:
            f.write('{"devices": [{"name": "a", "kind": "cpu", "cores": [-1]}]}')
        self.refused(*run, "--fleet", "bad.json", says=["bad.json: devices[0].cores[0]", "-1"])


if __name__ == "__main__":
    unittest.main()
