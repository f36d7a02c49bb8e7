#!/usr/bin/env python3
"""sign and verify: OpenSSL's program accepts our signatures, we accept its, and every changed bit is found."""
import json
import os
import subprocess
import unittest

import numpy as np
import onnx
from onnx import numpy_helper, parser

import decoders
from cli_case import CliCase
from small_network import NETWORK, weights_and_samples


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

    def test_every_command_that_loads_a_file_checks_its_signature(self):
        """The unsigned, the wrongly signed, the damaged and the signed file, for each command."""
        def remove(*names):
            for path in map(self.path, names):
                if os.path.exists(path):
                    os.remove(path)

        weights, samples = weights_and_samples()
        network = parser.parse_model(NETWORK)
        network.graph.initializer.extend(numpy_helper.from_array(v, n) for n, v in weights.items())
        onnx.save(network, self.path("steps.onnx"))
        self.accepted("compile", "steps.onnx", "-o", "steps.gart", "--train", "loss=cross_entropy(y,t),optimizer=sgd(lr=0.1)")
        np.savez(self.path("data.npz"), **samples)
        decoders.save(decoders.as_optimum(), self.path("decoder.onnx"))
        self.accepted("compile", "decoder.onnx", "-o", "decoder.gart", "--state", "auto")
        self.accepted("state", "export", "steps.gart", "-o", "states.safetensors")
        train = ("train", "steps.gart", "--data", "data.npz", "--quiet", "-o", "trained.gart")
        for file, says, command in (
                ("model.gart", "runs", ("check", "model.gart")), ("model.gart", '"runs"', ("check", "model.gart", "--json")), ("model.gart", "entry point", ("inspect", "model.gart")),
                ("decoder.gart", "\n", ("generate", "decoder.gart", "--ids", "1,2", "--max-tokens", "2")), ("model.gart", "z:", ("compare", "model.onnx", "model.gart")), ("steps.gart", "", train), ("steps.gart", "", ("state", "export", "steps.gart", "-o", "out.safetensors")),
                ("steps.gart", "", ("state", "import", "steps.gart", "states.safetensors", "-o", "trained.gart"))):
            with self.subTest(command=command):
                whole, signature = self.read(file), file + ".sig"
                remove(signature)
                self.refused(*command, "--trusted-key", "ours.pub", says=signature)
                self.accepted("sign", file, "--key", "other.pem")
                self.refused(*command, "--trusted-key", "ours.pub", says=f"cannot load '{file}': it does not have a signature by a trusted key")
                self.accepted("sign", file, "--key", "ours.pem")
                self.refused(*command, "--trusted-key", "ours.pub", "--trusted-key", "none.pub", says="none.pub")
                self.write(file, whole[:-1] + bytes([whole[-1] ^ 1]))
                self.refused(*command, "--trusted-key", "ours.pub", says="it does not have a signature by a trusted key")
                self.write(file, whole)
                self.assertIn(says, self.accepted(*command, "--trusted-key", "other.pub", "--trusted-key", "ours.pub"))
                os.rename(self.path(signature), self.path("elsewhere"))
                self.accepted(*command, "--trusted-key", "ours.pub", "--signature", "elsewhere")
                remove("elsewhere", "trained.gart", "out.safetensors")

    def test_a_command_that_changes_a_signed_file_tells_so(self):
        """The signature stays, and is refused. A file that is written with the same bytes keeps its signature."""
        weights, _ = weights_and_samples()
        network = parser.parse_model(NETWORK)
        network.graph.initializer.extend(numpy_helper.from_array(v, n) for n, v in weights.items())
        onnx.save(network, self.path("told.onnx"))
        fleet = {"devices": [{"name": "cpu:0", "kind": "cpu"}, {"name": "cpu:1", "kind": "cpu"}]}
        self.write("fleet.json", json.dumps(fleet).encode())
        self.write("one.json", json.dumps({"devices": fleet["devices"][:1]}).encode())
        self.accepted("compile", "told.onnx", "-o", "states.gart", "--train", "loss=cross_entropy(y,t),optimizer=sgd(lr=0.1)")
        self.accepted("state", "export", "states.gart", "-o", "told.safetensors")
        compiles = ("compile", "model.onnx", "-o", "told.gart", "--target", "x86-64-v3")
        placed = (*compiles, "--fleet", "fleet.json")
        for before, change in ((compiles, (*compiles, "--dim", "batch=2")), (placed, ("place", "told.gart", "--fleet", "one.json")),
                               (placed, ("state", "import", "states.gart", "told.safetensors", "-o", "told.gart"))):
            with self.subTest(change=change):
                self.accepted(*before)
                self.accepted("sign", "told.gart", "--key", "ours.pem")
                done = self.tool(*before)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.accepted("verify", "told.gart", "--key", "ours.pub")
                done = self.tool(*change)
                self.assertEqual((done.returncode, done.stderr), (0, "remark: told.gart.sig does not sign the new told.gart; gcc-graph sign signs it again\n"))
                self.unsigned("told.gart", "--key", "ours.pub")

    def test_golden_vectors_of_signed_files(self):
        self.accepted("compile", "model.onnx", "-o", "golden.gart", "--golden", "--dim", "batch=2")
        self.accepted("sign", "golden.gart", "--key", "ours.pem")
        self.accepted("check", "golden.gart", "--run", "--trusted-key", "ours.pub")
        self.refused("check", "golden.gart", "--run", "--trusted-key", "other.pub", says="signature by a trusted key")

    def test_two_artifacts_have_two_signatures(self):
        self.write("copy.gart", self.read("model.gart"))
        both = ("compare", "model.gart", "copy.gart", "--trusted-key", "ours.pub")
        self.accepted("sign", "model.gart", "--key", "ours.pem")
        self.refused(*both, says="copy.gart.sig")
        self.refused(*both, "--signature", "model.gart.sig", says="--signature is for one artifact")
        self.accepted("sign", "copy.gart", "--key", "ours.pem")
        self.accepted(*both)
        self.refused("check", "model.onnx", "--trusted-key", "ours.pub", says="--trusted-key is for artifacts")
        self.refused("compare", "model.onnx", "--layers", "--trusted-key", "ours.pub", says="--trusted-key is for artifacts")

    def test_a_store_keeps_the_signature(self):
        self.accepted("sign", "model.gart", "--key", "ours.pem")
        self.accepted("store", "add", "--store", "models", "--model", "signed", "model.gart", "--signature", "model.gart.sig")
        self.accepted("store", "add", "--store", "models", "--model", "unsigned", "model.gart")
        for command in (("run", "--random", "1"), ("bench", "--seconds", "0.01")):
            options = (*command, "--store", "models", "--trusted-key")
            self.accepted(*options, "ours.pub", "--model", "signed")
            self.refused(*options, "other.pub", "--model", "signed", says="signature by a trusted key")
            self.refused(*options, "ours.pub", "--model", "unsigned", says="the model 'unsigned@1' has no signature")
            self.accepted(*options, "ours.pub", "--model", "unsigned", "--signature", "model.gart.sig")

    def test_faults_are_sentences(self):
        self.refused("sign", "model.gart", "--key", "none.pem", says="none.pem")
        self.refused("sign", "model.gart", "--key", "ours.pub", says="private key of Ed25519")
        self.refused("sign", "model.onnx", "--key", "ours.pem", says="model.onnx")
        self.refused("verify", "model.gart", "--key", "ours.pem", "--signature", "model.gart", says="public key of Ed25519")
        self.openssl("genpkey", "-algorithm", "ed448", "-out", "wrong.pem")
        self.refused("sign", "model.gart", "--key", "wrong.pem", says="private key of Ed25519")


if __name__ == "__main__":
    unittest.main()
