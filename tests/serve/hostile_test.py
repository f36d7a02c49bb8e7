#!/usr/bin/env python3
"""gcc-graph serve: a corpus of requests that proxies and servers have read in different ways, slow clients, and data that grows when it is unpacked."""
import gzip
import json
import socket
import threading
import time
import unittest
import zlib

from serve_case import ServeCase, tensor

import numpy as np

HOST = b"Host: x\r\n"
POST = b"POST /v2/repository/index HTTP/1.1\r\n" + HOST
HIDDEN = b"GET /v2/models/hidden HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"  # a second request, if the first one ends early
# The bytes after the request line, and the body. Each must be refused as a whole: one reply 400, and no second one.
AMBIGUOUS = {
    "two lengths": (b"Content-Length: 0\r\nContent-Length: %d\r\n\r\n", HIDDEN),
    "two equal lengths": (b"Content-Length: %d\r\nContent-Length: %d\r\n\r\n", HIDDEN),
    "a list of lengths": (b"Content-Length: 0, %d\r\n\r\n", HIDDEN),
    "a length with a sign": (b"Content-Length: +%d\r\n\r\n", HIDDEN),
    "a negative length": (b"Content-Length: -1\r\n\r\n", HIDDEN),
    "a hexadecimal length": (b"Content-Length: 0x0\r\n\r\n", HIDDEN),
    "a length with a space": (b"Content-Length: 0 %d\r\n\r\n", HIDDEN),
    "an empty length": (b"Content-Length: \r\n\r\n", HIDDEN),
    "a length of 65 bits": (b"Content-Length: 18446744073709551616\r\n\r\n", HIDDEN),
    "length and chunks": (b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", HIDDEN),
    "chunks and length": (b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n", HIDDEN),
    "two encodings": (b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n", HIDDEN),
    "an unknown encoding": (b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", HIDDEN),
    "chunks that are not last": (b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n", HIDDEN),
    "compressed chunks": (b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", HIDDEN),
    "a space before the colon": (b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n", HIDDEN),
    "a space before the name": (b" Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", HIDDEN),
    "a folded line": (b"Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n", HIDDEN),
    "a folded length": (b"X: y\r\n\tContent-Length: 5\r\n\r\n", HIDDEN),
    "a control character": (b"Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n", HIDDEN),
    "a NUL in a value": (b"X: a\x00b\r\n\r\n", HIDDEN),
    "a NUL in a name": (b"X\x00: b\r\n\r\n", HIDDEN),
    "a CR in a value": (b"X: a\rTransfer-Encoding: chunked\r\n\r\n", HIDDEN),
    "lines that end with LF": (b"X: a\nTransfer-Encoding: chunked\n\n", HIDDEN),
    "no name": (b": value\r\n\r\n", HIDDEN),
    "no colon": (b"Transfer-Encoding chunked\r\n\r\n", HIDDEN),
    "two hosts": (b"Host: y\r\n\r\n", HIDDEN),
    "a chunk of 65 bits": (b"Transfer-Encoding: chunked\r\n\r\n10000000000000000\r\n", HIDDEN),
    "a chunk with a sign": (b"Transfer-Encoding: chunked\r\n\r\n-1\r\n", HIDDEN),
    "a chunk with 0x": (b"Transfer-Encoding: chunked\r\n\r\n0x5\r\nhello\r\n0\r\n\r\n", HIDDEN),
    "a chunk without an end": (b"Transfer-Encoding: chunked\r\n\r\n2\r\nabXX0\r\n\r\n", HIDDEN),
    "a chunk that ends with LF": (b"Transfer-Encoding: chunked\r\n\r\n2\nab\n0\n\n", HIDDEN),
}
LINES = (b"GET  / HTTP/1.1", b"GET /\tx HTTP/1.1", b"GET / HTTP/1.1 x", b"GET / HTTP/2.0", b"GET / http/1.1", b"GET / HTTP/1.11", b"G\x00T / HTTP/1.1", b"GET /\x00 HTTP/1.1",
         b"GET\r / HTTP/1.1", b"GET / ", b"GET", b" GET / HTTP/1.1", b"PRI * HTTP/2.0")


class Hostile(ServeCase):
    OPTIONS = ["--idle-seconds", "2", "--body-mib", "1", "--header-kib", "4", "--connections", "64"]

    def replies(self, data, ends=False):
        """The statuses of all replies on a connection."""
        got = b""
        with socket.create_connection(("127.0.0.1", self.server.port), timeout=20) as one:
            one.sendall(data)
            if ends:
                one.shutdown(socket.SHUT_WR)
            try:
                while piece := one.recv(65536):
                    got += piece
            except ConnectionError:
                pass
        return [int(part[:3]) for part in got.split(b"HTTP/1.1 ")[1:]], got

    def test_ambiguous_requests(self):
        for name, (head, body) in AMBIGUOUS.items():
            with self.subTest(name):
                count = head.count(b"%d")
                statuses, got = self.replies(POST + (head % ((len(body),) * count) if count else head) + body)
                self.assertEqual(statuses, [400], got)
                self.assertNotIn(b"hidden", got)

    def test_request_lines(self):
        for line in LINES:
            with self.subTest(line):
                statuses, got = self.replies(line + b"\r\n" + HOST + b"\r\n" + HIDDEN)
                self.assertEqual(statuses, [400], got)

    def test_plain_requests_pass(self):
        """The corpus would prove nothing if the server refused everything."""
        for head, body in ((b"Content-Length: 2\r\n\r\n", b"{}"), (b"Transfer-Encoding: chunked\r\n\r\n", b"2\r\n{}\r\n0\r\n\r\n"), (b"transfer-encoding:CHUNKED\r\n\r\n", b"2;x=y\r\n{}\r\n0\r\nT: v\r\n\r\n")):
            statuses, got = self.replies(POST + head + body + HIDDEN)
            self.assertEqual(statuses, [200, 404], got)

    def test_paths(self):
        """No path reaches a file: ids of models are the only names."""
        for path in ("/v2/models/../../etc/passwd", "/v2/models/%2e%2e%2f%2e%2e%2fetc%2fpasswd", "/v2/models/..", "/v2/models/%00", "/v2/models/a%00b", "/v2/models/rows@1/versions/1",
                     "/v2/models/rows/versions/-1", "/v2/models/rows/versions/99999999999999999999", "/v2/models/'; DROP TABLE versions; --".replace(" ", "%20"), "/v1/models/%2fetc",
                     "/v2/models/" + "a" * 1000, "http://other/v2/models/..%2f", "//v2//models//nobody"):
            statuses, got = self.replies(f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
            self.assertIn(statuses[0], (400, 404), (path, got))
            self.assertNotIn(b"root:", got)
        self.assertEqual(self.server.ask("GET", "/v2/models/rows")[0], 200)

    def test_data_that_grows(self):
        """Unpacked data counts against the limit of a body, in layers and in chunks. JSON has limits of its own."""
        def status_of(body, headers):
            return self.server.ask("POST", "/v2/models/rows/infer", body, headers)[0]
        many = b"[" + b"0," * (600 << 10) + b"0]"
        for encoding, pack in (("gzip", gzip.compress), ("deflate", zlib.compress)):
            self.assertEqual(status_of(pack(bytes(64 << 20)), {"Content-Encoding": encoding}), 413)
            self.assertEqual(status_of(pack(pack(bytes(64 << 20))), {"Content-Encoding": encoding}), 400, "one layer is unpacked")
            self.assertIn(status_of(pack(bytes(64 << 20)), {"Content-Encoding": encoding + ", " + encoding}), (400, 415))
            self.assertEqual(status_of(pack(many), {"Content-Encoding": encoding}), 413)
        for body in (b"[" * (1 << 19), b'{"a":' * (1 << 17), b'{"inputs":[{"name":"x","datatype":"FP32","shape":[4611686018427387904,4],"data":[]}]}'):
            self.assertEqual(status_of(body, {}), 400)

    def test_slow_clients(self):
        """Headers and bodies that come byte by byte are cut off, and others are served meanwhile."""
        body = json.dumps({"inputs": [tensor("x", np.zeros((1, 4), np.float32))[0]]})
        ends = []

        def trickle(first, data):
            begin = time.monotonic()
            with socket.create_connection(("127.0.0.1", self.server.port), timeout=20) as one:
                one.sendall(first)
                try:
                    for byte in data:
                        one.sendall(bytes([byte]))
                        time.sleep(0.2)
                except ConnectionError:
                    pass
            ends.append(time.monotonic() - begin)
        length, chunks = POST + b"Content-Length: 1000000\r\n\r\n", POST + b"Transfer-Encoding: chunked\r\n\r\n"
        slow = [(b"GET /v2/health/live HTTP/1.1\r\nX: ", b"y" * 200), (length, b" " * 200), (chunks, b"1\r\n \r\n" * 40), (length + b" " * 40000, b" " * 200)]
        threads = [threading.Thread(target=trickle, args=data) for data in slow for _ in range(4)]
        for thread in threads:
            thread.start()
        for _ in range(20):
            self.assertEqual(self.server.ask("POST", "/v2/models/rows/infer", body)[0], 200)
        for thread in threads:
            thread.join()
        self.assertLess(max(ends), 15, "200 bytes take 40 s")

    def test_a_client_that_reads_nothing(self):
        """Replies of 1 MB wait for a client that does not read. Its connection ends, and the memory is free again."""
        head = json.dumps({"inputs": [{**tensor("x", np.zeros((16384, 4), np.float32), True)[0]}]}).encode()
        data = head + bytes(16384 * 16)
        request = (b"POST /v2/models/rows/infer HTTP/1.1\r\n" + HOST + b"Inference-Header-Content-Length: %d\r\nContent-Length: %d\r\n\r\n" % (len(head), len(data))) + data
        held = [socket.create_connection(("127.0.0.1", self.server.port), timeout=20) for _ in range(8)]
        for one in held:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            one.setblocking(False)
            try:
                one.send(request * 8)
            except BlockingIOError:
                pass
        end = time.monotonic() + 30
        while self.connections() > 1:
            self.assertLess(time.monotonic(), end, "connections stay")
            time.sleep(0.1)
        for one in held:
            one.close()
        self.assertEqual(self.server.ask("GET", "/v2/health/live")[0], 200)

    def connections(self):
        return int(self.server.ask("GET", "/metrics")[2].decode().split("\ngart_connections ")[1].split("\n")[0])


if __name__ == "__main__":
    unittest.main()
