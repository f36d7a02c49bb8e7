"""Shared by the server's tests: a store of small models, and a server of gcc-graph on a free port."""
import http.client
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from cli_case import HEADER, TOOL, CliCase

MODELS = {
    # The rows of this model do not depend on each other, so requests can be joined.
    "rows": (HEADER + """rows (float[batch, 4] x) => (float[batch, 4] y, float[batch] sum) {
  w = Constant<value_float = 1.5>()
  a = Mul(x, w)
  y = Tanh(a)
  axis = Constant<value_ints = [1]>()
  sum = ReduceSum<keepdims = 0>(x, axis)
}""", [], ["--join-rows", "16"]),
    # The state is the sum of all inputs so far.
    "running": (HEADER + """running (float[4] x, float[4] total) => (float[4] y, float[4] total_next) {
  total_next = Add(total, x)
  y = Identity(total_next)
}""", ["--state", "total=total_next"], []),
    # Each type that requests can have in JSON, and f16, which must be binary.
    "types": (HEADER + """types (bool[n] b, int8[n] i8, uint8[n] u8, int32[n] i32, int64[n] i64, double[n] f64, float16[n] f16)
    => (bool[n] nb, int8[n] ni8, uint8[n] nu8, int32[n] ni32, int64[n] ni64, double[n] nf64, float16[n] nf16) {
  nb = Not(b)
  ni8 = Add(i8, i8)
  nu8 = Add(u8, u8)
  ni32 = Add(i32, i32)
  ni64 = Add(i64, i64)
  nf64 = Add(f64, f64)
  nf16 = Add(f16, f16)
}""", [], []),
    # A run of this model takes so long that other requests must wait.
    "slow": (HEADER + """slow (float[1024, 1024] x) => (float[1024] y) {
  a = MatMul(x, x)
  b = MatMul(a, x)
  c = MatMul(b, x)
  axis = Constant<value_ints = [1]>()
  y = ReduceSum<keepdims = 0>(c, axis)
}""", [], []),
    "gather": (HEADER + """gather (float[8] table, int64[n] at) => (float[n] y) {
  y = Gather(table, at)
}""", [], []),
}


def curl(case, *arguments):
    """Runs curl in the folder of the test, which is skipped without curl."""
    if shutil.which("curl") is None:
        case.skipTest("curl is not installed")
    return subprocess.run(["curl", *arguments], cwd=case.folder, capture_output=True)


class Server:
    """A process of gcc-graph serve."""

    def __init__(self, folder, *options, store="models", port=0):
        self.process = subprocess.Popen([TOOL, "serve", "--store", store, "--port", str(port), *options], cwd=folder, stderr=subprocess.PIPE, text=True)
        self.log, self.port = [], None
        for line in self.process.stderr:
            self.log.append(json.loads(line))
            if self.log[-1]["event"] == "ready":
                self.port = self.log[-1]["port"]
                break
        if self.port is None:
            raise AssertionError(f"the server ended with {self.process.wait()}: {self.log}")
        self.reader = threading.Thread(target=lambda: self.log.extend(json.loads(line) for line in self.process.stderr), daemon=True)
        self.reader.start()

    def connect(self, timeout=60):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)

    def ask(self, method, path, body=None, headers=None, connection=None):
        """(status, headers, body) of one request."""
        one = connection or self.connect()
        one.request(method, path, body, headers or {})
        reply = one.getresponse()
        content = reply.read()
        if connection is None:
            one.close()
        return reply.status, reply.headers, content

    def json(self, method, path, body=None, **more):
        status, _, content = self.ask(method, path, None if body is None else json.dumps(body), **more)
        return status, json.loads(content)

    def logged(self, wanted, timeout=60):
        """The first line of the log that `wanted` accepts. The server writes it after the answer, so this waits for it."""
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            for line in list(self.log):
                if wanted(line):
                    return line
            time.sleep(0.01)
        raise AssertionError(f"the log has no such line: {self.log}")

    def end(self, how=signal.SIGTERM, timeout=60):
        if self.process.poll() is None:
            self.process.send_signal(how)
        code = self.process.wait(timeout)
        self.reader.join(timeout)
        self.process.stderr.close()
        return code


def tensor(name, array, binary=False):
    """The description of an input in JSON, and its bytes, which are empty if not `binary`."""
    names = {"float32": "FP32", "float64": "FP64", "float16": "FP16", "bool": "BOOL"}
    datatype = names.get(str(array.dtype), str(array.dtype).upper())
    described = {"name": name, "datatype": datatype, "shape": list(array.shape)}
    if binary:
        return {**described, "parameters": {"binary_data_size": array.nbytes}}, array.tobytes()
    return {**described, "data": array.tolist()}, b""


def binary_request(arrays, **more):
    """(body, headers) of a request whose inputs and outputs are binary."""
    inputs = [tensor(name, array, True) for name, array in arrays.items()]
    head = json.dumps({"inputs": [i for i, _ in inputs], "parameters": {"binary_data_output": True}, **more}).encode()
    return head + b"".join(b for _, b in inputs), {"Inference-Header-Content-Length": str(len(head))}


def binary_outputs(headers, body):
    length = int(headers["Inference-Header-Content-Length"])
    outputs, at = {}, length
    types = {"FP32": np.float32, "FP64": np.float64, "FP16": np.float16, "BOOL": np.bool_}
    for output in json.loads(body[:length])["outputs"]:
        size = output["parameters"]["binary_data_size"]
        dtype = types.get(output["datatype"]) or np.dtype(output["datatype"].lower())
        outputs[output["name"]] = np.frombuffer(body[at:at + size], dtype).reshape(output["shape"])
        at += size
    assert at == len(body)
    return outputs


class ServeCase(CliCase):
    OPTIONS = []

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for name, (text, compile_options, store_options) in MODELS.items():
            cls.save(f"{name}.onnx", text)
            for command in (["compile", f"{name}.onnx", "-o", f"{name}.gart", *compile_options],
                            ["store", "add", "--store", "models", "--model", name, f"{name}.gart", *store_options]):
                done = cls.tool(*command)
                assert done.returncode == 0, done.stderr
        cls.server = Server(cls.folder, *cls.OPTIONS)

    @classmethod
    def tearDownClass(cls):
        cls.server.end()
        super().tearDownClass()

    def infer(self, model, arrays, server=None, connection=None, **more):
        """Outputs by name, after a request with binary tensors."""
        body, headers = binary_request(arrays, **more)
        status, head, content = (server or self.server).ask("POST", f"/v2/models/{model}/infer", body, headers, connection)
        self.assertEqual(status, 200, content)
        return binary_outputs(head, content)
