#!/usr/bin/env python3
"""sign and verify: OpenSSL's program accepts our signatures, we accept its, and every changed bit is found."""
import os
import subprocess
import unittest

from cli_case import CliCase


class Sign(CliCase):
    def openssl(self, *arguments):
        return subprocess.run(["openssl", *arguments], cwd=self.folder, capture_output=True, text=True)

    def make_key(self, name):
        for options in (["genpkey", "-algorithm", "ed25519", "-out", f"{name}.pem"], ["pkey", "-in", f"{name}.pem", "-pubout", "-out", f"{name}.pub"]):
            done = self.openssl(*options)
            self.assertEqual(done.returncode, 0, done.stderr)

    def setUp(self):
        self.make_key("ours")
        self.make_key("other")

    def unsigned(self, *arguments):
        done = self.tool("verify", *arguments)
        self.assertEqual((done.returncode, done.stderr), (3, ""))
        self.assertIn("not signed by", done.stdout)

    def test_openssl_agrees(self):
        self.accepted("sign", "model.gart", "--key", "ours.pem")
        self.assertEqual(os.path.getsize(self.path("model.gart.sig")), 64)
        verified = self.openssl("pkeyutl", "-verify", "-rawin", "-pubin", "-inkey", "ours.pub", "-in", "model.gart", "-sigfile", "model.gart.sig")
        self.assertIn("Success", verified.stdout)
        self.assertIn("signed by ours.pub", self.accepted("verify", "model.gart", "--key", "ours.pub"))
        self.openssl("pkeyutl", "-sign", "-rawin", "-inkey", "other.pem", "-in", "model.gart", "-out", "theirs.sig")
        self.accepted("verify", "model.gart", "--key", "other.pub", "--signature", "theirs.sig")
        self.unsigned("model.gart", "--key", "ours.pub", "--signature", "theirs.sig")

    def test_changes_are_found(self):
        self.accepted("sign", "model.gart", "--key", "ours.pem", "--signature", "s.sig")
        whole, signature = self.read("model.gart"), self.read("s.sig")
        for at in (0, 50, len(whole) // 2, len(whole) - 1):
            self.write("changed.gart", whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1:])
            self.unsigned("changed.gart", "--key", "ours.pub", "--signature", "s.sig")
        for damaged in (b"", signature[:-1], signature + b"\0", bytes([signature[0] ^ 1]) + signature[1:]):
            self.write("damaged.sig", damaged)
            if damaged:
                self.unsigned("model.gart", "--key", "ours.pub", "--signature", "damaged.sig")

    def test_run_and_bench_load_only_signed_files(self):
        self.accepted("sign", "model.gart", "--key", "ours.pem")
        inputs = ("--random", "1")
        self.accepted("run", "model.gart", *inputs, "--trusted-key", "ours.pub")
        self.accepted("run", "model.gart", *inputs, "--trusted-key", "other.pub", "--trusted-key", "ours.pub")
        self.accepted("bench", "model.gart", "--seconds", "0.01", "--trusted-key", "ours.pub")
        for command in ("run", "bench"):
            self.refused(command, "model.gart", *inputs, "--trusted-key", "other.pub", says="signature by a trusted key")
        self.write("moved.gart", self.read("model.gart"))
        self.refused("run", "moved.gart", *inputs, "--trusted-key", "ours.pub", says="moved.gart.sig")
        self.accepted("run", "moved.gart", *inputs, "--trusted-key", "ours.pub", "--signature", "model.gart.sig")
        self.write("moved.gart", self.read("model.gart") + b"\0")
        self.refused("run", "moved.gart", *inputs, "--trusted-key", "ours.pub", "--signature", "model.gart.sig", says="trusted key")
        self.refused("run", "model.gart", *inputs, "--trusted-key", "ours.pem", says="public key of Ed25519")
        self.refused("run", "model.gart", *inputs, "--trusted-key", "none.pub", says="none.pub")
        self.write("empty.sig", b"")
        self.refused("run", "model.gart", *inputs, "--trusted-key", "ours.pub", "--signature", "empty.sig", says="0 bytes, expected 64")
        self.refused("run", "model.gart", *inputs, "--signature", "model.gart.sig", says="--trusted-key")

    def test_faults_are_sentences(self):
        self.refused("sign", "model.gart", "--key", "none.pem", says="none.pem")
        self.refused("sign", "model.gart", "--key", "ours.pub", says="private key of Ed25519")
        self.refused("sign", "model.onnx", "--key", "ours.pem", says="model.onnx")
        self.refused("verify", "model.gart", "--key", "ours.pem", "--signature", "model.gart", says="public key of Ed25519")
        self.openssl("genpkey", "-algorithm", "ed448", "-out", "wrong.pem")
        self.refused("sign", "model.gart", "--key", "wrong.pem", says="private key of Ed25519")


if __name__ == "__main__":
    unittest.main()
