#!/usr/bin/env python3
"""gcc-graph serve under load: many connections, malformed requests among valid ones, joined rows, sequences, full queues, deadlines."""
import http.client
import json
import random
import socket
import threading
import time
import unittest

import numpy as np

from serve_case import Server, ServeCase, binary_outputs, binary_request, tensor

CONNECTIONS, REQUESTS = 64, 10_000
HOST = b"Host: x\r\n"
POST = b"POST /v2/models/rows/infer HTTP/1.1\r\n" + HOST
# Bytes that are not a valid request, and whether the server then closes the connection.
MALFORMED = [
    (b"GARBAGE\r\n\r\n", True), (b"GET / HTTP/1.1\r\n\r\n", True), (POST + b"Content-Length: -1\r\n\r\n", True),
    (POST + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\nabc", True), (POST + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n", True),
    (POST + b"Content-Length: 1\r\n\r\n{", False), (POST + b"Content-Length: 13\r\n\r\n" + b'{"inputs": 3}', False),
    (POST + b"Content-Length: 2\r\nInference-Header-Content-Length: 9\r\n\r\n{}", False), (b"GET /v2/models/%zz HTTP/1.1\r\n" + HOST + b"\r\n", False),
    (b"DELETE /v2/models/rows HTTP/1.1\r\n" + HOST + b"\r\n", False)]


class Raw:
    """A connection that sends requests as bytes, and connects again if the server has closed it."""

    def __init__(self, port):
        self.port, self.socket = port, None

    def ask(self, data):
        """(status, headers, body); the connection may have ended afterwards."""
        if self.socket is None:
            self.socket = socket.create_connection(("127.0.0.1", self.port), timeout=60)
        self.socket.sendall(data)
        reply = http.client.HTTPResponse(self.socket)
        reply.begin()
        body = reply.read()
        if reply.will_close:
            self.close()
        return reply.status, reply.headers, body

    def close(self):
        if self.socket is not None:
            self.socket.close()
        self.socket = None


def request_bytes(model, arrays, **more):
    body, headers = binary_request(arrays, **more)
    lines = "".join(f"{k}: {v}\r\n" for k, v in headers.items())
    return f"POST /v2/models/{model}/infer HTTP/1.1\r\nHost: x\r\n{lines}Content-Length: {len(body)}\r\n\r\n".encode() + body


def in_threads(count, work):
    """Runs work(0), work(1), ... and raises the first failure."""
    failures = []

    def guarded(i):
        try:
            work(i)
        except BaseException as error:
            failures.append(error)
    threads = [threading.Thread(target=guarded, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


class Many(ServeCase):
    def setUp(self):
        self.server.json("GET", "/v2/models/rows/ready")

    def test_no_request_is_lost_or_crossed(self):
        """Each reply belongs to its request: the sums are those of the request's own rows. A tenth of the requests is malformed."""
        def work(number):
            source, connection = random.Random(number), Raw(self.server.port)
            for i in range(REQUESTS // CONNECTIONS + 1):
                if source.random() < 0.1:
                    data, ends = source.choice(MALFORMED)
                    status, _, body = connection.ask(data)
                    self.assertTrue(400 <= status < 500, (data, status, body))
                    self.assertIn(b"error", body)
                    self.assertEqual(connection.socket is None, ends, data)
                    continue
                rows, name = source.randrange(1, 5), f"{number}.{i}"
                x = np.full((rows, 4), number * 1000 + i, np.float32) + np.arange(rows, dtype=np.float32)[:, None]
                status, headers, body = connection.ask(request_bytes("rows", {"x": x}, id=name))
                self.assertEqual(status, 200, body)
                self.assertEqual(json.loads(body[:int(headers["Inference-Header-Content-Length"])])["id"], name)
                np.testing.assert_array_equal(binary_outputs(headers, body)["sum"], x.sum(axis=1))
            connection.close()
        in_threads(CONNECTIONS, work)
        self.assertEqual(self.server.ask("GET", "/v2/health/live")[0], 200)

    def test_joined_rows_have_the_bits_of_single_requests(self):
        x = np.random.default_rng(1).standard_normal((200, 4)).astype(np.float32)
        single = [self.infer("rows", {"x": x[i:i + 1]}) for i in range(len(x))]
        server = Server(self.folder, "--lanes", "1", "--load", "rows,slow")
        self.addCleanup(server.end)

        def work(i):
            if i >= len(x):  # these requests keep the lane busy
                return self.infer("slow", {"x": np.zeros((1024, 1024), np.float32)}, server)
            if i % 20 == 7:
                body, headers = binary_request({"x": x[i:i + 1]}, outputs=[{"name": "none"}])
                self.assertEqual(server.ask("POST", "/v2/models/rows/infer", body, headers)[0], 400)
                return None
            got = self.infer("rows", {"x": x[i:i + 1]}, server)
            for name in ("y", "sum"):
                np.testing.assert_array_equal(got[name], single[i][name])
            return None
        for rounds in range(1, 50):  # until, in a round, requests find the lane busy and are joined
            in_threads(len(x) + 8, work)
            stats = server.json("GET", "/v2/models/rows/stats")[1]["model_stats"][0]
            self.assertEqual(stats["inference_stats"]["success"]["count"], 190 * rounds)
            if stats["execution_count"] < 190 * rounds:
                return
        self.fail("no rows were joined")

    def test_sequences_keep_their_states(self):
        def work(number):
            total, connection = np.zeros(4, np.float32), Raw(self.server.port)
            key = number + 1 if number % 2 else f"sequence {number}"
            for i in range(20):
                x = np.full(4, number * 100 + i, np.float32)
                parameters = {"sequence_id": key, "sequence_start": i == 0, "sequence_end": i == 19, "binary_data_output": True}
                status, headers, body = connection.ask(request_bytes("running", {"x": x}, parameters=parameters))
                total += x
                self.assertEqual(status, 200, body)
                np.testing.assert_array_equal(binary_outputs(headers, body)["y"], total)
            connection.close()
        in_threads(48, work)
        self.assertEqual(self.server.ask("GET", "/metrics")[2].decode().split("\ngart_sequences ")[1].split("\n")[0], "0")

    def sequence(self, key, server=None, **flags):
        body = {"inputs": [tensor("x", np.ones(4, np.float32))[0]], "parameters": {"sequence_id": key, **flags}}
        status, reply = (server or self.server).json("POST", "/v2/models/running/infer", body)
        return status, reply["outputs"][0]["data"][0] if status == 200 else reply["error"]

    def test_the_rules_of_sequences(self):
        start, end = {"sequence_start": True}, {"sequence_end": True}
        self.assertEqual(self.sequence(5)[0], 400)
        self.assertIn("needs a sequence_id", self.sequence(0, **start)[1])
        self.assertEqual([self.sequence(5, **start), self.sequence(5), self.sequence(5, **start), self.sequence("5", **start), self.sequence(5)],
                         [(200, 1), (200, 2), (200, 1), (200, 1), (200, 2)])
        self.assertEqual(self.sequence(5, **end), (200, 3))
        self.assertEqual(self.sequence(5)[0], 400)
        self.assertEqual(self.sequence("5", **end), (200, 2))
        self.assertEqual(self.sequence("5", **start, **end), (200, 1))
        self.assertEqual(self.sequence("5")[0], 400)

    def test_sequences_end_when_nobody_uses_them(self):
        server = Server(self.folder, "--sequences", "3", "--sequence-seconds", "1")
        try:
            for key in range(1, 4):
                self.assertEqual(self.sequence(key, server, sequence_start=True), (200, 1))
            self.assertEqual(self.sequence(4, server, sequence_start=True)[0], 429)
            time.sleep(1.5)
            self.assertEqual(self.sequence(1, server)[0], 400)
            self.assertEqual(self.sequence(4, server, sequence_start=True), (200, 1))
        finally:
            server.end()

    def test_full_queues_and_deadlines(self):
        server = Server(self.folder, "--lanes", "1", "--queue", "4", "--load", "slow,rows")
        body, headers = binary_request({"x": np.zeros((1024, 1024), np.float32)})
        statuses, lock = [], threading.Lock()

        def work(_):
            status, head, _ = server.ask("POST", "/v2/models/slow/infer", body, headers)
            with lock:
                statuses.append((status, head["Retry-After"]))
        try:
            in_threads(16, work)
            self.assertEqual({s for s in statuses}, {(200, None), (429, "1")})
            self.assertGreaterEqual(statuses.count((200, None)), 5)
            late = {"inputs": [tensor("x", np.zeros((1, 4), np.float32))[0]], "parameters": {"timeout": 1}}
            for _ in range(100):  # until a request finds the lane busy
                threads = [threading.Thread(target=work, args=(i,)) for i in range(3)]
                for thread in threads:
                    thread.start()
                status, reply = server.json("POST", "/v2/models/rows/infer", late)
                for thread in threads:
                    thread.join()
                if status != 200:
                    break
            self.assertEqual((status, reply), (504, {"error": "the request's timeout passed before its run began"}))
        finally:
            self.assertEqual(server.end(), 0)

    def test_connections_are_limited(self):
        server = Server(self.folder, "--connections", "4", "--idle-seconds", "1")
        try:
            held = [socket.create_connection(("127.0.0.1", server.port), timeout=20) for _ in range(4)]
            time.sleep(0.2)
            with self.assertRaises((http.client.HTTPException, ConnectionError)):
                server.ask("GET", "/v2/health/live")
            for one in held:
                self.assertEqual(one.recv(1), b"", "a connection without a request ends")
                one.close()
            self.assertEqual(server.ask("GET", "/v2/health/live")[0], 200)
        finally:
            server.end()


if __name__ == "__main__":
    unittest.main()
