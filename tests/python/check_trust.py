#!/usr/bin/env python3
"""trusted_keys of gart.load and gart.fleet.load: only artifacts that OpenSSL's program signed with one of the keys are loaded."""
import os
import random
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
sys.path.insert(0, os.path.join(ROOT, "tools", "python"))

import numpy as np
from onnx import parser

import gart
import gart.fleet

MODEL = parser.parse_model("""<ir_version: 8, opset_import: ["": 17]>
model (float[4, 4] x) => (float[4, 4] y) {
  a = Neg(x)
  y = MatMul(a, a)
}""")
X = np.arange(16, dtype=np.float32).reshape(4, 4)
NOT_SIGNED = "does not have a signature by a trusted key"


class Trust(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory(prefix="gcc-graph-trust-")
        cls.artifact = gart.compile(MODEL)
        for key in ("ours", "other"):
            cls.openssl("genpkey", "-algorithm", "ed25519", "-out", f"{key}.pem")
            cls.openssl("pkey", "-in", f"{key}.pem", "-pubout", "-out", f"{key}.pub")
        cls.path = cls.write("m.gart", cls.artifact)
        cls.signature = cls.sign("m.gart", "ours")
        cls.ours, cls.other = (cls.read(f"{key}.pub").decode() for key in ("ours", "other"))

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    @classmethod
    def openssl(cls, *arguments):
        subprocess.run(["openssl", *arguments], cwd=cls.scratch.name, check=True, capture_output=True)

    @classmethod
    def write(cls, name, content):
        path = os.path.join(cls.scratch.name, name)
        with open(path, "wb") as file:
            file.write(content)
        return path

    @classmethod
    def read(cls, name):
        with open(os.path.join(cls.scratch.name, name), "rb") as file:
            return file.read()

    @classmethod
    def sign(cls, name, key):
        cls.openssl("pkeyutl", "-sign", "-rawin", "-inkey", f"{key}.pem", "-in", name, "-out", name + ".sig")
        return cls.read(name + ".sig")

    def refused(self, says, artifact, **options):
        with self.assertRaisesRegex(gart.GartError, says):
            gart.load(artifact, **options)

    def test_signed_artifacts_are_loaded(self):
        for keys in (self.ours, self.ours.encode(), [self.ours], [self.other, self.ours]):
            for model in (gart.load(self.path, trusted_keys=keys), gart.load(self.artifact, trusted_keys=keys, signature=self.signature)):
                np.testing.assert_allclose(model(X), X @ X)

    def test_others_are_refused(self):
        self.refused(NOT_SIGNED, self.path, trusted_keys=self.other)
        self.refused(NOT_SIGNED, self.artifact, trusted_keys=self.ours)
        self.refused(NOT_SIGNED, self.artifact, trusted_keys=self.other, signature=self.signature)
        self.refused("alone.gart.sig", self.write("alone.gart", self.artifact), trusted_keys=self.ours)
        self.write("second.gart", gart.compile(MODEL, target="x86-64-v3"))
        self.sign("second.gart", "ours")
        self.refused(NOT_SIGNED, self.path, trusted_keys=self.ours, signature=self.read("second.gart.sig"))

    def test_changes_are_found(self):
        numbers = random.Random(1)
        for at in [0, 7, 8, 63, 64, len(self.artifact) - 1] + [numbers.randrange(len(self.artifact)) for _ in range(200)]:
            changed = bytearray(self.artifact)
            changed[at] ^= 1 << numbers.randrange(8)
            self.refused(NOT_SIGNED, bytes(changed), trusted_keys=self.ours, signature=self.signature)
        for size in (0, 1, 64, len(self.artifact) // 2, len(self.artifact) - 1):
            self.refused(NOT_SIGNED, self.artifact[:size], trusted_keys=self.ours, signature=self.signature)

    def test_wrong_arguments(self):
        for says, options in (("empty", {"trusted_keys": []}), ("needs trusted_keys", {"signature": self.signature}),
                              ("63 bytes", {"trusted_keys": self.ours, "signature": self.signature[:-1]})):
            with self.assertRaisesRegex(ValueError, says):
                gart.load(self.path, **options)
        for key in ("", "key", self.read("ours.pem").decode()):
            self.refused("trusted key 1 is not the text of a PEM file", self.path, trusted_keys=key)

    def test_fleets(self):
        path = self.write("cut.gart", gart.compile(MODEL, keep="a"))
        signature = self.sign("cut.gart", "ours")
        for options in ({}, {"signature": signature}):
            model = gart.fleet.load(path, trusted_keys=self.ours, **options)
            np.testing.assert_allclose(model.run({"x": X})["y"], X @ X)
        with self.assertRaisesRegex(gart.GartError, NOT_SIGNED):
            gart.fleet.load(path, trusted_keys=self.other)
        with self.assertRaisesRegex(gart.GartError, NOT_SIGNED):
            gart.fleet.load(path, trusted_keys=self.ours, signature=self.signature)


if __name__ == "__main__":
    unittest.main()
