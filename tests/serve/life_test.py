#!/usr/bin/env python3
"""gcc-graph serve: its start and end, and its refusal to start."""
import os
import signal
import socket
import threading
import time
import unittest

import numpy as np

from serve_case import Server, ServeCase, binary_request


class Life(ServeCase):
    def test_sigterm_answers_what_was_accepted(self):
        server = Server(self.folder, "--lanes", "1", "--load", "slow")
        body, headers = binary_request({"x": np.zeros((1024, 1024), np.float32)})
        statuses = []
        threads = [threading.Thread(target=lambda: statuses.append(server.ask("POST", "/v2/models/slow/infer", body, headers)[0])) for _ in range(8)]
        idle = socket.create_connection(("127.0.0.1", server.port), timeout=20)
        for thread in threads:
            thread.start()
        while b"gart_queue_length 0" in server.ask("GET", "/metrics")[2]:
            time.sleep(0.002)
        time.sleep(0.3)  # time for all eight requests to arrive
        self.assertEqual(server.end(), 0)
        for thread in threads:
            thread.join()
        self.assertEqual(statuses, [200] * 8)
        self.assertEqual(idle.recv(1), b"")
        idle.close()
        self.assertEqual(server.log[-1]["all_answered"], True)
        with self.assertRaises(ConnectionError):
            server.ask("GET", "/v2/health/live")

    def test_killed_and_started_again(self):
        server = Server(self.folder)
        port = server.port
        self.infer("rows", {"x": np.zeros((1, 4), np.float32)}, server)
        server.end(signal.SIGKILL)
        begin = time.monotonic()
        again = Server(self.folder, port=port)
        self.infer("rows", {"x": np.zeros((1, 4), np.float32)}, again)
        self.assertLess(time.monotonic() - begin, 5)
        self.assertEqual(again.end(), 0)

    def test_refusals(self):
        self.refused("serve", "--store", "nothing", says="is not a store of models")
        self.refused("serve", "--store", "models", "--port", str(self.server.port), says="cannot listen on 127.0.0.1")
        self.refused("serve", "--store", "models", "--address", "nowhere", says="cannot listen on nowhere")
        self.refused("serve", "--store", "models", "--port", "0", "--load", "nobody", says="has no model 'nobody'")
        self.write("empty", b"")
        self.refused("serve", "--store", "models", "--token-file", "empty", says="--token-file empty")

    def test_a_changed_artifact_is_not_served(self):
        self.accepted("store", "add", "--store", "other", "--model", "rows", "rows.gart")
        name = os.path.join("other", "objects", os.listdir(self.path("other/objects"))[0])
        data = bytearray(self.read(name))
        data[-1] ^= 1
        os.remove(self.path(name))
        self.write(name, bytes(data))
        server = Server(self.folder, store="other")
        body, headers = binary_request({"x": np.zeros((1, 4), np.float32)})
        status, _, content = server.ask("POST", "/v2/models/rows/infer", body, headers)
        self.assertEqual(status, 500)
        self.assertIn(b"was changed", content)
        server.end()

    def test_the_log_is_json(self):
        server = Server(self.folder, "--log-requests")
        server.ask("GET", "/v2/models/rows/ready?\"")
        server.end()
        line = next(entry for entry in server.log if entry["event"] == "request")
        self.assertEqual((line["method"], line["target"], line["status"]), ("GET", '/v2/models/rows/ready?"', 200))


if __name__ == "__main__":
    unittest.main()
