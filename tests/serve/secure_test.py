#!/usr/bin/env python3
"""gcc-graph serve: HTTPS with the clients of others, and models that a trusted key has signed."""
import http.client
import json
import os
import shutil
import socket
import ssl
import struct
import subprocess
import time
import unittest

import numpy as np

from serve_case import MODELS, Server, binary_request, curl, tensor
from text_case import ANSWER, PROMPT, TextCase

ROWS = {"inputs": [tensor("x", np.zeros((1, 4), np.float32))[0]]}


class Tls(TextCase):
    OPTIONS = ["--cert", "cert.pem", "--key", "key.pem", "--idle-seconds", "2"]

    @classmethod
    def add(cls, name, model):
        """The server starts after the last model was added, and reads a certificate then."""
        if not os.path.exists(cls.path("cert.pem")):
            for file in ("", "other-"):
                cls.openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", file + "key.pem", "-out", file + "cert.pem", "-days", "2", "-subj", "/CN=localhost",
                            "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost")
        super().add(name, model)

    @classmethod
    def openssl(cls, *arguments):
        subprocess.run(["openssl", *arguments], cwd=cls.folder, capture_output=True, check=True)

    def setUp(self):
        self.context = ssl.create_default_context(cafile=self.path("cert.pem"))

    def connect(self, timeout=60):
        return http.client.HTTPSConnection("127.0.0.1", self.server.port, timeout=timeout, context=self.context)

    def ask(self, path, body, connection):
        connection.request("POST", path, json.dumps(body))
        reply = connection.getresponse()
        return reply.status, reply.read()

    def metric(self, name, server=None):
        connection = self.connect()
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
        connection.close()
        return float(text.split(f"\n{name} ")[1].split("\n")[0])

    def test_python(self):
        self.assertTrue(self.server.log[-1]["tls"])
        one = self.connect()
        greedy = {"model": "recite", "prompt": PROMPT, "max_tokens": 60, "temperature": 0}
        for _ in range(3):  # on one connection
            status, content = self.ask("/v2/models/rows/infer", ROWS, one)
            self.assertEqual((status, json.loads(content)["model_name"]), (200, "rows"))
            self.assertEqual(json.loads(self.ask("/v1/completions", greedy, one)[1])["choices"][0]["text"], ANSWER)
            status, content = self.ask("/v1/completions", {**greedy, "stream": True}, one)
            self.assertEqual((status, content.count(b"[DONE]")), (200, 1))
        large = {"inputs": [tensor("x", np.ones((20000, 4), np.float32))[0]]}
        self.assertEqual(len(json.loads(self.ask("/v2/models/rows/infer", large, one)[1])["outputs"][0]["data"]), 80000)
        one.close()

    def test_curl(self):
        url = f"https://127.0.0.1:{self.server.port}/v2/models/rows/infer"
        done = curl(self, "-sS", "--cacert", "cert.pem", "-d", json.dumps(ROWS), url, url)
        self.assertEqual((done.returncode, done.stdout.count(b'"model_name":"rows"')), (0, 2), done.stderr)
        done = curl(self, "-sS", "--cacert", "other-cert.pem", url)
        self.assertEqual(done.returncode, 60, "another certificate is refused by the client")

    def test_only_current_versions(self):
        for version, works in ((ssl.TLSVersion.TLSv1_1, False), (ssl.TLSVersion.TLSv1_2, True), (ssl.TLSVersion.TLSv1_3, True)):
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            context.set_ciphers("ALL:@SECLEVEL=0")
            context.minimum_version = context.maximum_version = version
            with socket.create_connection(("127.0.0.1", self.server.port), timeout=20) as plain:
                if works:
                    with context.wrap_socket(plain) as one:
                        one.sendall(b"GET /v2/health/live HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
                        self.assertTrue(one.recv(100).startswith(b"HTTP/1.1 200"))
                else:
                    with self.assertRaises((ssl.SSLError, ConnectionError)):
                        context.wrap_socket(plain)

    def test_plain_and_silent_clients(self):
        """Neither gets an answer, and both connections end; others are served meanwhile."""
        held = [socket.create_connection(("127.0.0.1", self.server.port), timeout=20) for _ in range(20)]
        held[0].sendall(b"GET /v2/health/live HTTP/1.1\r\nHost: x\r\n\r\n")
        held[1].sendall(b"\x16\x03\x01")
        one = self.connect()
        self.assertEqual(self.ask("/v2/models/rows/infer", ROWS, one)[0], 200)
        one.close()
        begin = time.monotonic()
        for one in held:
            try:
                while piece := one.recv(1000):
                    self.assertNotIn(b"HTTP/1.1", piece)
            except ConnectionError:
                pass
            one.close()
        self.assertLess(time.monotonic() - begin, 15)

    def test_leaving_ends_the_text(self):
        body = json.dumps({"model": "endless", "prompt": PROMPT, "temperature": 0, "max_tokens": 10**6, "stream": True}).encode()
        for resets in (True, False):
            one = self.context.wrap_socket(socket.create_connection(("127.0.0.1", self.server.port), timeout=20), server_hostname="127.0.0.1")
            one.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
            self.assertTrue(one.recv(100))
            self.assertEqual(self.metric("gart_generations"), 1)
            if resets:
                one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            one.close()
            end = time.monotonic() + 20
            while self.metric("gart_generations") and time.monotonic() < end:
                time.sleep(0.01)
            self.assertEqual(self.metric("gart_generations"), 0)

    def test_refusals(self):
        for options, says in ((["--cert", "none.pem", "--key", "key.pem"], "--cert none.pem"), (["--cert", "cert.pem", "--key", "other-key.pem"], "--key other-key.pem"),
                              (["--cert", "rows.gart", "--key", "key.pem"], "--cert rows.gart"), (["--cert", "cert.pem", "--key", "cert.pem"], "--key cert.pem")):
            self.refused("serve", "--store", "models", "--port", "0", *options, says=says)
        self.assertNotEqual(self.tool("serve", "--store", "models", "--port", "0", "--cert", "cert.pem").returncode, 0)


class Trusted(TextCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for key in ("ours", "other"):
            for arguments in (["genpkey", "-algorithm", "ed25519", "-out", key + ".pem"], ["pkey", "-in", key + ".pem", "-pubout", "-out", key + ".pub"]):
                subprocess.run(["openssl", *arguments], cwd=cls.folder, capture_output=True, check=True)
        cls.save("gather.onnx", MODELS["gather"][0])
        for command in (["compile", "gather.onnx", "-o", "gather.gart"], ["sign", "rows.gart", "--key", "ours.pem"], ["sign", "gather.gart", "--key", "other.pem"]):
            assert cls.tool(*command).returncode == 0
        for name, options in (("signed", ["rows.gart", "--signature", "rows.gart.sig"]), ("unsigned", ["rows.gart"]), ("others", ["gather.gart", "--signature", "gather.gart.sig"]),
                              ("swapped", ["gather.gart", "--signature", "rows.gart.sig"])):
            done = cls.tool("store", "add", "--store", "mixed", "--model", name, *options)
            assert done.returncode == 0, done.stderr

    def status_of(self, server, name):
        status, reply = server.json("GET", f"/v2/models/{name}")
        return status, reply.get("error", "")

    def test_only_signed_models_run(self):
        server = Server(self.folder, "--trusted-key", "ours.pub", store="mixed")
        self.addCleanup(server.end)
        body, headers = binary_request({"x": np.ones((1, 4), np.float32)})
        self.assertEqual(server.ask("POST", "/v2/models/signed/infer", body, headers)[0], 200)
        self.assertEqual(server.json("POST", "/v2/repository/models/signed/load", {})[0], 200)
        for name, says in (("unsigned", "has no signature"), ("others", "is not signed by a key of --trusted-key"), ("swapped", "is not signed by a key of --trusted-key")):
            for _ in range(2):
                status, error = self.status_of(server, name)
                self.assertEqual(status, 403)
                self.assertIn(f"the model '{name}@1' {says}", error)
            status, reply = server.json("POST", f"/v2/repository/models/{name}/load", {})
            self.assertEqual(status, 403)
            self.assertIn(f"the model '{name}@1' {says}", reply["error"])
        index = {row["name"]: row["state"] for row in server.json("POST", "/v2/repository/index", {})[1]}
        self.assertEqual(index, {"signed": "READY", "unsigned": "UNAVAILABLE", "others": "UNAVAILABLE", "swapped": "UNAVAILABLE"})
        done = self.tool("serve", "--store", "mixed", "--port", "0", "--trusted-key", "ours.pub", "--load", "signed,unsigned")
        self.assertEqual(done.returncode, 1)
        self.assertIn("the model 'unsigned@1' has no signature", done.stderr)
        both = Server(self.folder, "--trusted-key", "other.pub", "--trusted-key", "ours.pub", store="mixed")
        self.addCleanup(both.end)
        self.assertEqual([self.status_of(both, name)[0] for name in ("signed", "others", "swapped", "unsigned")], [200, 200, 403, 403])

    def test_a_changed_file_is_refused(self):
        """Every changed byte is found, also if the database is changed to fit."""
        shutil.copytree(self.path("mixed"), self.path("changed"))
        digest = json.loads(self.accepted("store", "show", "--store", "changed", "--model", "signed", "--json"))["digest"]
        path, whole = self.path("changed/objects/" + digest), self.read("changed/objects/" + digest)
        for at in (0, len(whole) // 2, len(whole) - 1):
            os.remove(path)
            self.write("changed/objects/" + digest, whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1:])
            server = Server(self.folder, "--trusted-key", "ours.pub", store="changed")
            self.assertEqual(self.status_of(server, "signed")[0], 403)
            server.end()

    def test_the_file_may_change_later(self):
        """The server runs the bytes that it has checked, not those that the file has afterwards."""
        shutil.copytree(self.path("mixed"), self.path("later"))
        server = Server(self.folder, "--trusted-key", "ours.pub", "--load", "signed", store="later")
        self.addCleanup(server.end)
        for name in os.listdir(self.path("later/objects")):
            with open(self.path("later/objects/" + name), "r+b") as file:
                file.truncate(0)
        body, headers = binary_request({"x": np.ones((1, 4), np.float32)})
        self.assertEqual(server.ask("POST", "/v2/models/signed/infer", body, headers)[0], 200)

    def test_refusals(self):
        self.refused("serve", "--store", "mixed", "--port", "0", "--trusted-key", "ours.pem", says="ours.pem is not a PEM file with a public key of Ed25519")
        self.refused("serve", "--store", "mixed", "--port", "0", "--trusted-key", "none", says="cannot read none")
        self.refused("serve", "--store", "mixed", "--port", "0", "--trusted-key", "ours.pub", "--load", "unsigned", says="has no signature")
        self.refused("store", "add", "--store", "mixed", "--model", "x", "rows.gart", "--signature", "rows.gart", says="a signature has 64")
        self.assertIn("signature", json.loads(self.accepted("store", "show", "--store", "mixed", "--model", "signed", "--json")))


if __name__ == "__main__":
    unittest.main()
