#!/usr/bin/env python3
"""gcc-graph serve: each route and each form of data, and refusals of all that is not a valid request."""
import gzip
import json
import os
import re
import socket
import sys
import unittest
import zlib

import numpy as np

from serve_case import Server, ServeCase, binary_outputs, binary_request, curl, tensor

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools", "python"))
import gart

X = np.arange(8, dtype=np.float32).reshape(2, 4) / 8
ROWS = {"inputs": [tensor("x", X)[0]]}


class Requests(ServeCase):
    OPTIONS = ["--body-mib", "1", "--header-kib", "4"]

    def refused_request(self, status, says, method, path, body=None, headers=None):
        got, _, content = self.server.ask(method, path, body, headers)
        self.assertEqual(got, status, content)
        self.assertIn(says, json.loads(content)["error"])

    def test_results_are_those_of_the_library(self):
        want = gart.load(self.path("rows.gart")).run({"x": X})
        got = self.infer("rows", {"x": X})
        for name in ("y", "sum"):
            np.testing.assert_array_equal(got[name], want[name])
        status, reply = self.server.json("POST", "/v2/models/rows/infer", {**ROWS, "id": "7"})
        self.assertEqual((status, reply["id"], reply["model_name"]), (200, "7", "rows"))
        for output in reply["outputs"]:  # the digits in JSON give the same floats
            np.testing.assert_array_equal(np.array(output["data"], np.float32).reshape(output["shape"]), want[output["name"]])

    def test_outputs_are_chosen_and_ordered_by_the_request(self):
        for names in (["sum"], ["sum", "y"], ["y", "sum"]):
            wanted = [{"name": n} for n in names]
            status, reply = self.server.json("POST", "/v2/models/rows/versions/1/infer", {**ROWS, "outputs": wanted})
            self.assertEqual((status, [o["name"] for o in reply["outputs"]]), (200, names))

    def test_all_types(self):
        arrays = {"b": np.array([True, False]), "i8": np.array([-64, 63], np.int8), "u8": np.array([0, 127], np.uint8),
                  "i32": np.array([-2**30, 2**30 - 1], np.int32), "i64": np.array([-2**62, 2**62 - 1], np.int64),
                  "f64": np.array([0.1, -1e300]), "f16": np.array([0.5, -2], np.float16)}
        got = self.infer("types", arrays)
        np.testing.assert_array_equal(got.pop("nb"), ~arrays["b"])
        for name, value in got.items():
            np.testing.assert_array_equal(value, arrays[name[1:]] * np.array(2, arrays[name[1:]].dtype))
        binary, data = tensor("f16", arrays["f16"], True)
        head = json.dumps({"inputs": [binary] + [tensor(n, a)[0] for n, a in arrays.items() if n != "f16"],
                           "outputs": [{"name": "n" + n} for n in arrays if n != "f16"]}).encode()
        status, _, content = self.server.ask("POST", "/v2/models/types/infer", head + data, {"Inference-Header-Content-Length": str(len(head))})
        self.assertEqual(status, 200, content)
        for output in json.loads(content)["outputs"]:
            np.testing.assert_array_equal(np.array(output["data"], arrays[output["name"][1:]].dtype), got.get(output["name"], ~arrays["b"]))

    def test_values_that_a_type_does_not_hold(self):
        def with_value(name, value):
            arrays = {n: np.zeros(1, t) for n, t in (("b", bool), ("i8", np.int8), ("u8", np.uint8), ("i32", np.int32), ("i64", np.int64), ("f64", float))}
            inputs = [tensor(n, a)[0] for n, a in arrays.items()] + [tensor("f16", np.zeros(1, np.float16))[0]]
            next(i for i in inputs if i["name"] == name)["data"] = [value]
            return json.dumps({"inputs": inputs})
        for name, value in (("i8", 128), ("i8", -129), ("u8", -1), ("u8", 256), ("i32", 2**31), ("i64", 2**63), ("i64", 1.5), ("b", 2), ("b", "x"), ("f64", "1"),
                            ("f64", None), ("i8", True), ("f16", 1)):
            self.refused_request(400, f"input '{name}'", "POST", "/v2/models/types/infer", with_value(name, value))
        body = {"inputs": [tensor("x", np.zeros((1, 4), np.float32))[0]]}
        body["inputs"][0]["data"][0][2] = 1e39
        self.refused_request(400, "element 2 is 1e+39", "POST", "/v2/models/rows/infer", json.dumps(body))
        body, headers = binary_request({"x": np.full((1, 4), np.inf, np.float32)}, outputs=[{"name": "sum", "parameters": {"binary_data": False}}])
        self.refused_request(400, "ask for binary_data", "POST", "/v2/models/rows/infer", body, headers)

    def test_routes(self):
        for path, status in (("/v2/health/live", 200), ("/v2/health/ready", 200), ("/v2", 200), ("/v2/models/rows", 200), ("/v2/models/rows/versions/1", 200),
                             ("/v2/models/rows/ready", 200), ("/v2/models/rows/config", 200), ("/v2/models/rows/stats", 200), ("/v2/models/stats", 200),
                             ("/v2/models/nobody", 404), ("/v2/models/rows/versions/9", 404), ("/v2/models/rows/versions/x", 400), ("/v2/models/..%2Frows", 400),
                             ("/v2/models/rows/none", 404), ("/none", 404), ("/v2/systemsharedmemory/status", 404), ("/%zz", 400)):
            got, _, content = self.server.ask("GET", path)
            self.assertIn(got, (status, 404) if status == 400 else (status,), (path, content))
            json.loads(content)
        self.refused_request(405, "takes POST", "GET", "/v2/models/rows/infer")
        self.refused_request(405, "takes GET", "DELETE", "/v2/models/rows")
        status, headers, page = self.server.ask("GET", "/")
        self.assertEqual((status, headers["Content-Type"]), (200, "text/html; charset=utf-8"))
        self.assertIn(b">running</a>", page)
        status, _, metrics = self.server.ask("GET", "/metrics")
        self.assertRegex(metrics.decode(), r"(?m)^# TYPE gart_request_seconds histogram$")
        status, headers, content = self.server.ask("HEAD", "/v2")
        self.assertEqual((status, content), (200, b""))

    def test_extents_and_indices_are_checked(self):
        for arrays, says in (({"x": np.zeros((2, 5), np.float32)}, "x"), ({"x": np.zeros(4, np.float32)}, "has 2 axes"),
                             ({"x": np.zeros((2, 4))}, "is FP32"), ({}, "'x' is missing"), ({"x": X, "z": X}, "has no input 'z'")):
            body, headers = binary_request(arrays)
            self.refused_request(400, says, "POST", "/v2/models/rows/infer", body, headers)
        body, headers = binary_request({"table": np.zeros(8, np.float32), "at": np.array([1, 99])})
        self.refused_request(400, "99", "POST", "/v2/models/gather/infer", body, headers)
        self.assertEqual(self.infer("rows", {"x": np.zeros((0, 4), np.float32)})["y"].shape, (0, 4))

    def test_malformed_bodies(self):
        good, headers = binary_request({"x": X})
        length = int(headers["Inference-Header-Content-Length"])
        for body, head, says in ((b"", {}, "not JSON"), (b"{", {}, "not JSON"), (b"[]", {}, "not an object"), (b"\xff\xfe", {}, "not JSON"),
                                 (b"[" * 1000, {}, "nested deeper"), (b'{"inputs": 3}', {}, "'inputs'"), (b'{"inputs": [3]}', {}, "is not an object"),
                                 (good + b"x", headers, "the inputs take"), (good[:-1], headers, "bytes of the body are left"),
                                 (good, {"Inference-Header-Content-Length": "99999"}, "Inference-Header-Content-Length"),
                                 (good, {"Inference-Header-Content-Length": "-1"}, "Inference-Header-Content-Length"),
                                 (good, {"Inference-Header-Content-Length": str(length - 1)}, "not JSON"), (good, {}, "not JSON"),
                                 (json.dumps({**ROWS, "parameters": {"timeout": -1}}), {}, "'timeout'"),
                                 (json.dumps({**ROWS, "outputs": [{"name": "none"}]}), {}, "no output 'none'"),
                                 (json.dumps({**ROWS, "outputs": [{"name": "y"}] * 2}), {}, "named twice"),
                                 (json.dumps({"inputs": ROWS["inputs"] * 2}), {}, "given twice"),
                                 (json.dumps({**ROWS, "parameters": {"entry": "none"}}), {}, "no entry point 'none'"),
                                 (json.dumps({"inputs": [{**ROWS["inputs"][0], "shape": [2**62, 2**62]}]}), {}, "more elements than"),
                                 (json.dumps({"inputs": [{**ROWS["inputs"][0], "shape": [1] * 17}]}), {}, "axes"),
                                 (json.dumps({"inputs": [{**ROWS["inputs"][0], "shape": [-1, 4]}]}), {}, "extent of its shape"),
                                 (json.dumps({"inputs": [{**ROWS["inputs"][0], "shape": [3, 4]}]}), {}, "its shape needs 12"),
                                 (json.dumps({"inputs": [{**ROWS["inputs"][0], "datatype": "FP99"}]}), {}, "FP99"),
                                 (json.dumps({"inputs": [{**ROWS["inputs"][0], "parameters": {"binary_data_size": 2**63}}]}), {}, "both")):
            self.refused_request(400, says, "POST", "/v2/models/rows/infer", body, head)

    def test_compression(self):
        body = json.dumps(ROWS).encode()
        for encoding, packed in (("gzip", gzip.compress(body)), ("deflate", zlib.compress(body))):
            status, _, content = self.server.ask("POST", "/v2/models/rows/infer", packed, {"Content-Encoding": encoding})
            self.assertEqual(status, 200, content)
            self.refused_request(400, "from begin to end", "POST", "/v2/models/rows/infer", packed[:-2], {"Content-Encoding": encoding})
        self.refused_request(413, "the limit", "POST", "/v2/models/rows/infer", gzip.compress(bytes(100 << 20)), {"Content-Encoding": "gzip"})
        self.refused_request(415, "'br'", "POST", "/v2/models/rows/infer", body, {"Content-Encoding": "br"})
        x = np.zeros((1000, 4), np.float32)
        body, headers = binary_request({"x": x})
        status, headers, content = self.server.ask("POST", "/v2/models/rows/infer", body, {**headers, "Accept-Encoding": "gzip"})
        self.assertEqual((status, headers["Content-Encoding"]), (200, "gzip"))
        self.assertGreater(len(gzip.decompress(content)), 16000)

    def raw(self, data):
        """Sends bytes and returns the status of the answer. None: the server closed the connection."""
        with socket.create_connection(("127.0.0.1", self.server.port), timeout=20) as one:
            one.sendall(data)
            one.shutdown(socket.SHUT_WR)
            reply = b""
            while piece := one.recv(65536):
                reply += piece
        return int(reply.split(b" ")[1]) if reply else None

    def test_http_that_is_malformed_or_ambiguous(self):
        host = b"Host: x\r\n"
        for data, statuses in ((b"GARBAGE\r\n\r\n", (400,)), (b"GET / HTTP/9.9\r\n" + host + b"\r\n", (400,)), (b"GET / HTTP/1.1\r\n\r\n", (400,)),
                               (b"GET / HTTP/1.1\r\n" + host * 2 + b"\r\n", (400,)),
                               (b"POST /v2/models/rows/infer HTTP/1.1\r\n" + host + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n12", (400,)),
                               (b"POST /v2/models/rows/infer HTTP/1.1\r\n" + host + b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n12", (400,)),
                               (b"POST /v2/models/rows/infer HTTP/1.1\r\n" + host + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", (400,)),
                               (b"POST /v2/models/rows/infer HTTP/1.1\r\n" + host + b"Content-Length: -1\r\n\r\n", (400,)),
                               (b"POST /v2/models/rows/infer HTTP/1.1\r\n" + host + b"Content-Length: 99999999999\r\n\r\n", (413,)),
                               (b"POST /v2/models/rows/infer HTTP/1.1\r\n" + host + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n", (400,)),
                               (b"GET / HTTP/1.1\r\n" + host + b"X: " + b"y" * 8000 + b"\r\n\r\n", (431,)), (b"GET / HTTP/1.1\r\nHo st: x\r\n\r\n", (400,)),
                               (b"POST / HTTP/1.1\r\n" + host + b"Content-Length: 9\r\n\r\nshort", (None, 400)), (b"\x16\x03\x01\x00", (None, 400))):
            self.assertIn(self.raw(data), statuses, data[:80])
        self.assertEqual(self.server.ask("GET", "/v2/health/live")[0], 200)

    def test_requests_in_one_piece(self):
        """Pipelined requests are answered in their order."""
        one = "".join(f"GET /v2/models/{m} HTTP/1.1\r\nHost: x\r\n{'Connection: close' if m == 'none' else 'X: y'}\r\n\r\n" for m in ("rows", "types", "none"))
        with socket.create_connection(("127.0.0.1", self.server.port), timeout=20) as connection:
            connection.sendall(one.encode())
            reply = b""
            while piece := connection.recv(65536):
                reply += piece
        self.assertEqual([part[:3] for part in reply.split(b"HTTP/1.1 ")[1:]], [b"200", b"200", b"404"])
        self.assertLess(reply.index(b'"rows"'), reply.index(b'"types"'))

    def test_repository(self):
        index = {m["name"]: m["state"] for m in self.server.json("POST", "/v2/repository/index", {})[1]}
        self.assertEqual(set(index), {"rows", "running", "types", "slow", "gather"})
        self.infer("rows", {"x": X})
        self.assertEqual(self.server.json("POST", "/v2/repository/models/rows/unload", {})[0], 200)
        self.assertEqual(self.server.json("POST", "/v2/models/rows/infer", ROWS)[0], 404)
        self.assertNotIn("rows", [m["name"] for m in self.server.json("POST", "/v2/repository/index", {"ready": True})[1]])
        self.accepted("store", "add", "--store", "models", "--model", "rows", "rows.gart")
        self.assertEqual(self.server.json("POST", "/v2/repository/models/rows/load", {})[0], 200)
        self.assertEqual(self.server.json("POST", "/v2/models/rows/infer", ROWS)[1]["model_version"], "2")
        self.assertEqual(self.server.json("POST", "/v2/models/rows/versions/1/infer", ROWS)[1]["model_version"], "1")
        self.assertEqual(self.server.json("POST", "/v2/repository/models/nobody/load", {})[0], 404)

    def test_curl(self):
        self.write("large.json", json.dumps({"inputs": [tensor("x", np.zeros((3000, 4), np.float32))[0]]}).encode())
        url = f"http://127.0.0.1:{self.server.port}/v2/models/rows/infer"
        done = curl(self, "-sS", "--compressed", "-H", "Expect: 100-continue", "-d", "@large.json", url)
        self.assertEqual(len(json.loads(done.stdout)["outputs"][0]["data"]), 12000, done.stderr)
        self.write("huge", bytes(3 << 20))
        done = curl(self, "-sS", "-w", "%{http_code}", "-o", "reply", "--data-binary", "@huge", url)
        self.assertEqual(done.stdout, b"413", done.stderr)


class Token(ServeCase):
    OPTIONS = ["--token-file", "token"]

    @classmethod
    def setUpClass(cls):
        cls_open = open
        original = Server.__init__

        def with_token(server, folder, *options, **more):
            with cls_open(os.path.join(folder, "token"), "w", encoding="ascii") as f:
                f.write("secret\n")
            original(server, folder, *options, **more)
        Server.__init__ = with_token
        try:
            super().setUpClass()
        finally:
            Server.__init__ = original

    def test_token(self):
        self.assertEqual(self.server.ask("GET", "/v2/health/ready")[0], 200)
        for path in ("/", "/metrics", "/v2", "/v2/models/rows"):
            for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "secret"}, {"Authorization": "Bearer secret2"}):
                self.assertEqual(self.server.ask("GET", path, headers=headers)[0], 401)
            self.assertEqual(self.server.ask("GET", path, headers={"Authorization": "Bearer secret"})[0], 200)


class Fleets(ServeCase):
    def test_models_on_a_fleet_share_its_devices(self):
        cores = sorted(os.sched_getaffinity(0))
        with open(self.path("fleet.json"), "w") as f:
            json.dump({"devices": [{"name": "one", "kind": "cpu", "cores": cores[:1], "denies": ["Softmax"]}, {"name": "two", "kind": "cpu", "cores": cores[-1:], "denies": ["Tanh"]}]}, f)
        self.save("parts.onnx", """<ir_version: 8, opset_import: ["": 17]>
            model (float[n, 64] x) => (float[n, 64] y) { a = Tanh(x)  b = Softmax<axis = 1>(a)  c = Tanh(b)  y = Neg(c) }""")
        self.accepted("compile", "parts.onnx", "-o", "parts.gart", "--fleet", "fleet.json", "--keep", "b")
        for name in ("parts_a", "parts_b"):
            self.accepted("store", "add", "--store", "models", "--model", name, "parts.gart")
        x = np.linspace(-1, 1, 128, dtype=np.float32).reshape(2, 64)
        e = np.exp(np.tanh(x))
        b = e / e.sum(axis=1, keepdims=True)
        for name in ("parts_a", "parts_b", "parts_a"):
            np.testing.assert_allclose(self.infer(name, {"x": x})["y"], -np.tanh(b), rtol=1e-5)
        body, headers = binary_request({"x": x}, outputs=[{"name": "b"}])
        status, headers, content = self.server.ask("POST", "/v2/models/parts_b/infer", body, headers)
        self.assertEqual(status, 200, content)
        np.testing.assert_allclose(binary_outputs(headers, content)["b"], b, rtol=1e-5)
        metrics = self.server.ask("GET", "/metrics")[2].decode()
        for name in ("busy", "groups", "work_seconds", "weight_bytes", "value_bytes"):
            self.assertRegex(metrics, rf'(?m)^gart_device_{name}{{device="cpu:{cores[0]}"}} [0-9.]+$')
        self.assertEqual(len(re.findall("(?m)^gart_device_groups{", metrics)), len({cores[0], cores[-1]}), metrics)


if __name__ == "__main__":
    unittest.main()
