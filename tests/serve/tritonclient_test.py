#!/usr/bin/env python3
"""Requests to gcc-graph serve by tritonclient, NVIDIA's client for Triton. SKIP without the package."""
import importlib.util
import sys

if importlib.util.find_spec("tritonclient") is None:
    print("SKIP: tritonclient is not installed (pip install 'tritonclient[http]')")
    sys.exit(77)

import asyncio
import unittest

import numpy as np
import tritonclient.http
import tritonclient.http.aio
from tritonclient.utils import InferenceServerException

from serve_case import ServeCase

X = np.arange(8, dtype=np.float32).reshape(2, 4) / 8


class Triton(ServeCase):
    def setUp(self):
        self.client = tritonclient.http.InferenceServerClient(f"127.0.0.1:{self.server.port}", concurrency=4)
        self.addCleanup(self.client.close)

    @staticmethod
    def input_of(name, array, binary=True, http=tritonclient.http):
        tensor = http.InferInput(name, list(array.shape), tritonclient.utils.np_to_triton_dtype(array.dtype))
        tensor.set_data_from_numpy(array, binary_data=binary)
        return tensor

    def check(self, result):
        np.testing.assert_array_equal(result.as_numpy("sum"), X.sum(axis=1))
        np.testing.assert_allclose(result.as_numpy("y"), np.tanh(1.5 * X), rtol=1e-6)

    def test_health_and_metadata(self):
        self.assertTrue(self.client.is_server_live())
        self.assertTrue(self.client.is_server_ready())
        self.assertTrue(self.client.is_model_ready("rows"))
        self.assertTrue(self.client.is_model_ready("rows", "1"))
        self.assertFalse(self.client.is_model_ready("nobody"))
        self.assertIn("binary_tensor_data", self.client.get_server_metadata()["extensions"])
        metadata = self.client.get_model_metadata("rows")
        self.assertEqual(metadata["inputs"], [{"name": "x", "datatype": "FP32", "shape": [-1, 4]}])
        self.assertEqual([o["name"] for o in metadata["outputs"]], ["y", "sum"])
        self.assertEqual(self.client.get_model_config("rows")["input"][0]["data_type"], "TYPE_FP32")

    def test_repository(self):
        self.assertEqual({m["name"] for m in self.client.get_model_repository_index()}, {"rows", "running", "types", "slow", "gather"})
        self.client.load_model("gather")
        self.assertTrue(self.client.is_model_ready("gather"))
        self.client.unload_model("gather")
        self.assertFalse(self.client.is_model_ready("gather"))
        self.client.load_model("gather")
        self.assertTrue(self.client.is_model_ready("gather"))
        with self.assertRaisesRegex(InferenceServerException, "nobody"):
            self.client.load_model("nobody")

    def test_infer(self):
        for binary in (True, False):
            inputs = [self.input_of("x", X, binary)]
            self.check(self.client.infer("rows", inputs))
            for answered in (True, False):
                outputs = [tritonclient.http.InferRequestedOutput(n, binary_data=answered) for n in ("sum", "y")]
                self.check(self.client.infer("rows", inputs, outputs=outputs, request_id="7", model_version="1"))
        self.assertEqual(self.client.infer("rows", [self.input_of("x", X)], request_id="7").get_response()["id"], "7")
        one = self.client.infer("rows", [self.input_of("x", X)], outputs=[tritonclient.http.InferRequestedOutput("sum")])
        self.assertIsNone(one.as_numpy("y"))
        self.check(self.client.infer("rows", [self.input_of("x", X)], priority=1, timeout=10_000_000))
        self.assertEqual(self.client.infer("rows", [self.input_of("x", X[:0])]).as_numpy("y").shape, (0, 4))

    def test_compression(self):
        wide = np.tile(X, (500, 1))
        for sent in (None, "gzip", "deflate"):
            for asked in (None, "gzip", "deflate"):
                result = self.client.infer("rows", [self.input_of("x", wide)], request_compression_algorithm=sent, response_compression_algorithm=asked)
                np.testing.assert_array_equal(result.as_numpy("sum"), wide.sum(axis=1))

    def test_async_and_many(self):
        for request in [self.client.async_infer("rows", [self.input_of("x", X)]) for _ in range(20)]:
            self.check(request.get_result())

        async def ask():
            async with tritonclient.http.aio.InferenceServerClient(f"127.0.0.1:{self.server.port}") as client:
                assert await client.is_server_ready()
                inputs = [self.input_of("x", X, http=tritonclient.http.aio)]
                return await asyncio.gather(*[client.infer("rows", inputs) for _ in range(20)])
        for result in asyncio.run(ask()):
            self.check(result)

    def test_static_requests(self):
        body, length = tritonclient.http.InferenceServerClient.generate_request_body([self.input_of("x", X)])
        status, headers, content = self.server.ask("POST", "/v2/models/rows/infer", body, {"Inference-Header-Content-Length": str(length)})
        self.assertEqual(status, 200, content)
        length = headers["Inference-Header-Content-Length"]
        self.check(tritonclient.http.InferenceServerClient.parse_response_body(content, header_length=length and int(length)))

    def test_sequences(self):
        for key in (9, "nine"):
            total = np.zeros(4, np.float32)
            for i in range(5):
                x = np.full(4, i + 1, np.float32)
                total += x
                got = self.client.infer("running", [self.input_of("x", x)], sequence_id=key, sequence_start=i == 0, sequence_end=i == 4)
                np.testing.assert_array_equal(got.as_numpy("y"), total)
        with self.assertRaisesRegex(InferenceServerException, "sequence_start"):
            self.client.infer("running", [self.input_of("x", x)], sequence_id=9)

    def test_statistics(self):
        before = self.client.get_inference_statistics("rows")["model_stats"][:1]
        count = before[0]["inference_stats"]["success"]["count"] if before else 0
        self.client.infer("rows", [self.input_of("x", X)])
        self.assertEqual(self.client.get_inference_statistics("rows")["model_stats"][0]["inference_stats"]["success"]["count"], count + 1)
        self.assertIn("rows", [m["name"] for m in self.client.get_inference_statistics()["model_stats"]])

    def test_errors_are_the_servers_sentences(self):
        for call, says in ((lambda: self.client.infer("nobody", []), "nobody"), (lambda: self.client.infer("rows", []), "input 'x' is missing"),
                           (lambda: self.client.infer("rows", [self.input_of("x", X.astype(np.float64))]), "is FP32"),
                           (lambda: self.client.infer("rows", [self.input_of("x", X)], outputs=[tritonclient.http.InferRequestedOutput("z")]), "no output 'z'"),
                           (lambda: self.client.infer("rows", [self.input_of("x", X)], outputs=[tritonclient.http.InferRequestedOutput("y", class_count=2)]), "does not classify"),
                           (lambda: self.client.get_system_shared_memory_status(), "has nothing at"),
                           (lambda: self.client.get_model_metadata("nobody"), "nobody")):
            with self.assertRaisesRegex(InferenceServerException, says):
                call()


if __name__ == "__main__":
    unittest.main()
