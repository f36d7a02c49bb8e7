#!/usr/bin/env python3
"""gcc-graph serve: clients of sequences die, time out and come back, and no state reaches another sequence. `--sequences 100000` is the long form."""
import argparse
import json
import random
import socket
import sys
import threading
import time
import unittest

import numpy as np

from serve_case import Server, ServeCase, binary_outputs, tensor

CLIENTS, IDS = 16, 8  # each client uses its few ids again and again, so that a state which is left over would be found
COUNT = 3000


class Died(Exception):
    """The client has closed its connection without the reply."""


class OneClient:
    """Runs sequences one after the other. Each state must be the sum of the sequence's own inputs."""

    def __init__(self, port, number):
        self.port, self.random, self.number = port, random.Random(number), number
        self.socket, self.counts = None, {"ended": 0, "died": 0, "expired": 0, "refused": 0, "full": 0}

    def request(self, key, x, **parameters):
        """The bytes of a request. Ids are numbers for some clients, and texts for others."""
        sequence = self.number * IDS + key + 1
        described, data = tensor("x", np.full(4, x, np.float32), True)
        head = json.dumps({"inputs": [described], "outputs": [{"name": "y", "parameters": {"binary_data": True}}],
                           "parameters": {"sequence_id": sequence if self.number % 2 else f"{sequence}", **parameters}}).encode()
        return (b"POST /v2/models/running/infer HTTP/1.1\r\nHost: x\r\nInference-Header-Content-Length: %d\r\nContent-Length: %d\r\n\r\n" %
                (len(head), len(head) + len(data))) + head + data

    def send(self, data):
        if self.socket is None:
            self.socket = socket.create_connection(("127.0.0.1", self.port), timeout=60)
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.sendall(data)

    def reply(self):
        got = b""
        while b"\r\n\r\n" not in got:
            piece = self.socket.recv(65536)
            if not piece:
                raise AssertionError("the server closed the connection")
            got += piece
        head, body = got.split(b"\r\n\r\n", 1)
        headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n")[1:])
        while len(body) < int(headers["Content-Length"]):
            body += self.socket.recv(65536)
        return int(head.split(b" ")[1]), headers, body

    def die(self, data):
        """Closes the connection: between requests, within a request, or before the reply."""
        how = self.random.randrange(3)
        if how:
            self.send(data if how == 1 else data[:self.random.randrange(1, len(data))])
        if self.socket is not None:
            self.socket.close()
        self.socket = None
        raise Died()

    def ask(self, key, x, may_die, **parameters):
        data = self.request(key, x, **parameters)
        if may_die:
            self.die(data)
        self.send(data)
        return self.reply()

    def sequence(self):
        """One sequence. Returns its end, a name in `counts`."""
        key, steps, total = self.random.randrange(IDS), self.random.randint(1, 5), 0
        last = self.random.randrange(steps) if self.random.random() < 0.2 else None  # the client dies at this step
        for step in range(steps):
            x = self.random.randint(1, 1000)
            parameters = {"sequence_start": True} if step == 0 else {}
            if step == steps - 1:
                parameters["sequence_end"] = True
            if self.random.random() < 0.05:
                parameters["timeout"] = 1
            status, headers, body = self.ask(key, x, step == last, **parameters)
            if status == 429 and step == 0:
                time.sleep(0.02)
                return "full"
            if status == 504:  # the timeout ends the sequence, so that a later request cannot see its state
                status, _, body = self.ask(key, 1, False)
                assert status == 400, (status, body)
                return "expired"
            assert status == 200, (status, body)
            total += x
            got = binary_outputs(headers, body)["y"]
            assert (got == total).all(), f"sequence {key} of client {self.number} has {got}, its inputs sum to {total}"
        if self.random.random() < 0.1:
            status, _, body = self.ask(key, 1, False)
            assert status == 400 and b"sequence_start" in body, (status, body)
            return "refused"
        return "ended"

    def run(self, count):
        while count > 0:
            try:
                end = self.sequence()
            except Died:
                end = "died"
            self.counts[end] += 1
            count -= end != "full"
        if self.socket is not None:
            self.socket.close()


class Sequences(ServeCase):
    def resident(self, server):
        with open(f"/proc/{server.process.pid}/status", encoding="utf-8") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmRSS")) / 1024

    def metric(self, server, name):
        return int(server.ask("GET", "/metrics")[2].decode().split(f"\n{name} ")[1].split("\n")[0])

    def run_clients(self, server, count, seed):
        clients, faults = [OneClient(server.port, seed + i) for i in range(CLIENTS)], []

        def work(client):
            try:
                client.run(count // CLIENTS)
            except BaseException as error:
                faults.append(f"{type(error).__name__}: {error}")
        threads = [threading.Thread(target=work, args=(client,)) for client in clients]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(faults, [])
        return {end: sum(client.counts[end] for client in clients) for end in clients[0].counts}

    def test_no_state_reaches_another_sequence(self):
        server = Server(self.folder, "--sequences", "40", "--sequence-seconds", "1", "--load", "running")
        self.addCleanup(server.end)
        begin, totals, resident = time.monotonic(), {}, []
        for part in range(10):
            for end, number in self.run_clients(server, COUNT // 10, part * CLIENTS).items():
                totals[end] = totals.get(end, 0) + number
            resident.append(self.resident(server))
        deadline = time.monotonic() + 30
        while self.metric(server, "gart_sequences") or self.metric(server, "gart_queue_length"):
            self.assertLess(time.monotonic(), deadline, "sequences of dead clients do not end")
            time.sleep(0.05)
        print(f"{COUNT} sequences of {CLIENTS} clients in {time.monotonic() - begin:.0f} s: {totals}; resident MB {resident}", file=sys.stderr)
        done = sum(totals.values()) - totals["full"]
        self.assertGreater(totals["died"], done / 8)
        self.assertGreater(min(totals["expired"], totals["refused"]), 0)
        self.assertLess(resident[-1] - resident[1], 4, f"memory grows: {resident} MB")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--sequences", type=int, default=COUNT)
    given, rest = parser.parse_known_args()
    COUNT = given.sequences
    unittest.main(argv=[sys.argv[0], *rest])
