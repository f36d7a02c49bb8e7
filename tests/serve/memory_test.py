#!/usr/bin/env python3
"""gcc-graph serve --memory: models that were not used for the longest time make room, models in use stay, and requests for which there is no room
get a sentence."""
import json
import os
import random
import signal
import threading
import time
import unittest

import numpy as np
import onnx
from onnx import numpy_helper, parser

from serve_case import Server, binary_outputs, binary_request, tensor  # finds cli_case
from cli_case import HEADER, CliCase

ROWS = 2000  # a model has 1 MB of weights


def adding(number, rows=ROWS):
    """y = x + the sum of the weights, which is `number`."""
    weights = np.random.default_rng(number).standard_normal((rows, 128)).astype(np.float32)
    weights[-1, -1] = 0
    weights[-1, -1] = number - weights.sum(dtype=np.float64)
    model = parser.parse_model(HEADER + """adding (float[4] x, float[128, 1] ones) => (float[4] y) {
  parts = MatMul(weights, ones)
  sum = ReduceSum<keepdims = 0>(parts)
  y = Add(x, sum)
}""")
    model.graph.initializer.append(numpy_helper.from_array(weights, "weights"))
    return model


class Memory(CliCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for number in range(1, 6):
            cls.add(f"add{number}", adding(number))
        cls.add("large", adding(9, 8 * ROWS))
        cls.bytes = max(os.path.getsize(cls.path(f"add{number}.gart")) for number in range(1, 6))
        cls.budget = int(2.5 * cls.bytes)

    @classmethod
    def add(cls, name, model, *options):
        onnx.save(model, cls.path(name + ".onnx"))
        for command in (["compile", name + ".onnx", "-o", name + ".gart", *options], ["store", "add", "--store", "models", "--model", name, name + ".gart"]):
            done = cls.tool(*command)
            assert done.returncode == 0, done.stderr

    def started(self, *options):
        server = Server(self.folder, "--memory", str(self.budget), *options)
        self.addCleanup(server.end)
        return server

    def ask(self, server, number, connection=None):
        x = np.arange(4, dtype=np.float32)
        body, headers = binary_request({"x": x, "ones": np.ones((128, 1), np.float32)})
        status, head, content = server.ask("POST", f"/v2/models/add{number}/infer", body, headers, connection)
        self.assertEqual(status, 200, content)
        np.testing.assert_allclose(binary_outputs(head, content)["y"], x + number, atol=0.01)

    @staticmethod
    def mapped(server):
        """The artifacts that the process maps, by the system's account. The process is stopped meanwhile, because the account takes
        several reads, between which models come and go."""
        folder = f"/proc/{server.process.pid}"

        def runs(task):
            try:
                with open(f"{folder}/task/{task}/stat", encoding="utf-8") as file:
                    return file.read().rpartition(")")[2].split()[0] not in "TXZ"
            except FileNotFoundError:  # the thread has ended
                return False
        server.process.send_signal(signal.SIGSTOP)
        try:
            while any(map(runs, os.listdir(folder + "/task"))):
                time.sleep(0.0005)
            with open(folder + "/maps", encoding="utf-8") as file:
                return {line.split()[-1] for line in file if "/objects/" in line}
        finally:
            server.process.send_signal(signal.SIGCONT)

    def states(self, server):
        return {m["name"]: (m["state"], m["reason"]) for m in server.json("POST", "/v2/repository/index", {})[1]}

    def memory(self, server):
        text = server.ask("GET", "/metrics")[2].decode()
        return float(text.split("\ngart_memory_bytes ")[1].split("\n")[0])

    def test_eight_clients_five_models_room_for_two(self):
        server = self.started()
        faults, done = [], threading.Event()

        def work(seed):
            choose, connection = random.Random(seed), server.connect()
            try:
                for _ in range(40):
                    self.ask(server, choose.randint(1, 5), connection)
            except Exception as error:  # pylint: disable=broad-except
                faults.append(error)
            connection.close()
        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
        most, used = 0, 0

        def watch():
            nonlocal most, used
            while not done.is_set():
                most, used = max(most, len(self.mapped(server))), max(used, self.memory(server))
                time.sleep(0.005)
        watcher = threading.Thread(target=watch)
        for thread in [*threads, watcher]:
            thread.start()
        for thread in threads:
            thread.join()
        done.set()
        watcher.join()
        self.assertEqual(faults, [])
        self.assertEqual(most, 2)
        self.assertLessEqual(used, self.budget)
        self.assertGreater(used, self.bytes)

    def test_the_least_recently_used_one_goes(self):
        server = self.started()
        for number in (1, 2, 1, 3):
            self.ask(server, number)
        states = self.states(server)
        self.assertEqual({name for name, (state, _) in states.items() if state == "READY"}, {"add1", "add3"})
        self.assertEqual((states["add2"][1], states["add4"][1]), ("unloaded to make room for other models", "not loaded"))
        self.ask(server, 2)
        self.assertEqual(self.states(server)["add1"][1], "unloaded to make room for other models")

    def test_too_large(self):
        server = self.started()
        begin = time.monotonic()
        body = {"inputs": [tensor("x", np.zeros(4, np.float32))[0], tensor("ones", np.ones((128, 1), np.float32))[0]]}
        status, reply = server.json("POST", "/v2/models/large/infer", body)
        self.assertEqual(status, 503)
        self.assertRegex(reply["error"], r"^\d+ bytes of the model 'large@1' do not fit into --memory: the budget has \d+$")
        self.assertLess(time.monotonic() - begin, 4, "it does not wait for what never comes")
        self.refused("serve", "--store", "models", "--port", "0", "--memory", str(self.budget), "--load", "large", says="do not fit into --memory")
        self.refused("serve", "--store", "models", "--memory", "much", says="--memory")

    def test_models_in_use_stay(self):
        """Two sequences hold their models. A third model gets a sentence, and room when a sequence ends."""
        model = parser.parse_model(HEADER + """running (float[4] x, float[4] total) => (float[4] y, float[4] total_next) {
  total_next = Add(total, x)
  column = Unsqueeze(total_next, axes)
  product = MatMul(weights, column)
  last = ReduceMax<keepdims = 0>(product)
  y = Add(total_next, last)
}""")
        for name in ("held1", "held2"):
            weights = -np.abs(np.random.default_rng(len(name)).standard_normal((ROWS * 32, 4)).astype(np.float32)) - 1
            weights[0] = 0
            del model.graph.initializer[:]
            model.graph.initializer.extend([numpy_helper.from_array(weights, "weights"), numpy_helper.from_array(np.array([1]), "axes")])
            self.add(name, model, "--state", "total=total_next")
        server = self.started("--sequence-seconds", "300")

        def step(name, **flags):
            body = {"inputs": [tensor("x", np.ones(4, np.float32))[0]], "parameters": {"sequence_id": 1, **flags}}
            status, reply = server.json("POST", f"/v2/models/{name}/infer", body)
            self.assertEqual(status, 200, reply)
            return next(o for o in reply["outputs"] if o["name"] == "y")["data"][0]
        for name in ("held1", "held2"):
            self.assertEqual(step(name, sequence_start=True), 1)
        body = {"inputs": [tensor("x", np.zeros(4, np.float32))[0], tensor("ones", np.ones((128, 1), np.float32))[0]]}
        status, headers, content = server.ask("POST", "/v2/models/add1/infer", json.dumps(body))
        self.assertEqual((status, headers["Retry-After"]), (503, "1"))
        self.assertRegex(json.loads(content)["error"], r"of the model 'add1@1' do not fit into --memory: the models in use hold \d+ of \d+; try again later$")
        self.assertEqual([step("held1"), step("held2"), step("held1", sequence_end=True)], [2, 2, 3])
        self.ask(server, 1)
        self.assertEqual(step("held2"), 3)
        self.assertEqual(self.states(server)["held1"][0], "UNAVAILABLE")

    def test_what_a_model_has_learned_stays(self):
        """The least recently used model makes room, unless a training run has changed its states."""
        model = parser.parse_model('<ir_version: 8, opset_import: ["": 20]>\n' + """learns (float[batch, 131072] x) => (float[batch, 1] y) {
  y = MatMul(x, w)
}""")
        model.graph.initializer.append(numpy_helper.from_array(np.zeros((131072, 1), np.float32), "w"))
        self.add("learns", model, "--train", "loss=mse(y,target),optimizer=sgd(lr=0.25)")
        server = self.started()
        x = np.zeros((1, 131072), np.float32)
        x[0, 0] = 1

        def run(arrays, **more):
            body, headers = binary_request(arrays, **more)
            status, head, content = server.ask("POST", "/v2/models/learns/infer", body, headers)
            self.assertEqual(status, 200, content)
            return binary_outputs(head, content)
        self.assertEqual(run({"x": x})["y"], 0)
        for number in range(1, 6):
            self.ask(server, number)
        self.assertEqual(self.states(server)["learns"], ("UNAVAILABLE", "unloaded to make room for other models"))
        body, headers = binary_request({"x": x, "target": np.ones((1, 1), np.float32)})
        head = json.loads(body[:int(headers["Inference-Header-Content-Length"])])
        head["parameters"]["entry"] = "train"
        text = json.dumps(head).encode()
        status, _, content = server.ask("POST", "/v2/models/learns/infer", text + body[int(headers["Inference-Header-Content-Length"]):], {"Inference-Header-Content-Length": str(len(text))})
        self.assertEqual(status, 200, content)
        for number in range(1, 6):
            self.ask(server, number)
        self.assertEqual(self.states(server)["learns"][0], "READY")
        self.assertEqual(run({"x": x})["y"], 0.5)


if __name__ == "__main__":
    unittest.main()
