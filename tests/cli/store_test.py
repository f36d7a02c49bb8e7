#!/usr/bin/env python3
"""gcc-graph store, and the commands and APIs that load models from one."""
import json
import os
import subprocess
import sys
import unittest

import numpy as np

from cli_case import HEADER, CliCase

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools", "python"))
import gart

LOAD_FROM_STORE = sys.argv.pop(1)
DOUBLE = HEADER + """double (float[batch, 4] x) => (float[batch, 4] y) {
  y = Add(x, x)
}"""
SQUARE = DOUBLE.replace("Add(x, x)", "Mul(x, x)")
FLEET = {"devices": [{"name": "left", "kind": "cpu", "cores": [0]}, {"name": "right", "kind": "cpu", "cores": [0], "denies": ["Mul"]}]}


class StoreCommand(CliCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for name, text in (("double", DOUBLE), ("square", SQUARE)):
            cls.save(f"{name}.onnx", text)
            done = cls.tool("compile", f"{name}.onnx", "-o", f"{name}.gart")
            assert done.returncode == 0, done.stderr
            done = cls.tool("store", "add", "--store", "models", "--model", "power", f"{name}.gart")
            assert done.returncode == 0, done.stderr

    def shown(self, model):
        return json.loads(self.accepted("store", "show", "--store", "models", "--model", model, "--json"))

    def test_versions(self):
        listed = json.loads(self.accepted("store", "list", "--store", "models", "--json"))["versions"]
        self.assertEqual([(v["id"], v["version"]) for v in listed if v["id"] == "power"], [("power", 1), ("power", 2)])
        self.assertEqual(self.shown("power")["version"], 2)
        self.assertEqual(self.shown("power@1")["operations"], [{"entry": "double", "kind": "inference"}])
        self.assertEqual(self.read(self.shown("power@1")["path"]), self.read("double.gart"))
        self.assertIn("power@2", self.accepted("store", "list", "--store", "models"))
        self.assertIn("versions are as they were added", self.accepted("store", "verify", "--store", "models"))

    def test_commands_run_models_of_the_store(self):
        np.savez(self.path("x.npz"), x=np.full((1, 4), 3, np.float32))
        for model, value in (("power@1", 6), ("power", 9)):
            np.savez(self.path("y.npz"), y=np.full((1, 4), value, np.float32))
            self.accepted("run", "--store", "models", "--model", model, "--inputs", "x.npz", "--expect", "y.npz")
        self.accepted("bench", "--store", "models", "--model", "power", "--iterations", "2", "--dim", "batch=2")
        self.refused("train", "--store", "models", "--model", "power", "--data", "x.npz", "-o", "t.gart", says="no such entry point")
        self.refused("run", says="artifact is required; or give --store and --model")
        self.refused("run", "--store", "models", says="--store requires --model")
        self.refused("run", "--store", "models", "--model", "power@7", says="has no model 'power' version 7")
        self.refused("run", "--store", "models", "--model", "../power", says="is not the id of a model")
        self.refused("run", "--store", self.folder, "--model", "power", says="is not a store of models")

    def test_apis(self):
        x = np.full((2, 4), 3, np.float32)
        for model, value in (("power@1", 6), ("power", 9)):
            np.testing.assert_array_equal(gart.load(store=self.path("models"), model=model)(x), np.full((2, 4), value, np.float32))
            done = subprocess.run([LOAD_FROM_STORE, self.path("models"), model], capture_output=True, text=True)
            version = self.shown(model)
            self.assertEqual((done.returncode, done.stdout.split()), (0, [str(version["version"]), version["digest"], "1"]), done.stderr)
        for model in ("power@9", "other", "../power", "power@0"):
            with self.assertRaisesRegex(gart.GartError, "model"):
                gart.load(store=self.path("models"), model=model)
            done = subprocess.run([LOAD_FROM_STORE, self.path("models"), model], capture_output=True, text=True)
            self.assertEqual(done.returncode, 1)
        with self.assertRaises(TypeError):
            gart.load(store=self.path("models"))
        with self.assertRaisesRegex(gart.GartError, "is not a store"):
            gart.load(store=self.folder, model="power")

    def make_key(self, name):
        for command in (["genpkey", "-algorithm", "ed25519", "-out", name + ".pem"], ["pkey", "-in", name + ".pem", "-pubout", "-out", name + ".pub"]):
            subprocess.run(["openssl", *command], cwd=self.folder, capture_output=True, check=True)
        return name + ".pem"

    def test_a_trusted_key_needs_the_signature_of_the_store(self):
        keys = []
        for key in ("ours", "other"):
            self.make_key(key)
            keys.append(self.read(key + ".pub").decode())
        self.accepted("sign", "double.gart", "--key", "ours.pem")
        self.accepted("store", "add", "--store", "trusting", "double.gart", "--model", "signed", "--signature", "double.gart.sig")
        self.accepted("store", "add", "--store", "trusting", "double.gart", "--model", "unsigned")
        for model, key, code, says in (("signed", keys[0], 0, ""), ("signed", keys[1], 1, "signature by a trusted key"), ("unsigned", keys[0], 1, "'unsigned@1' has no signature"),
                                       ("signed", "no key", 1, "public key of Ed25519")):
            done = subprocess.run([LOAD_FROM_STORE, self.path("trusting"), model, key], capture_output=True, text=True)
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertIn(says, done.stderr)
            x, load = np.ones((2, 4), np.float32), lambda: gart.load(store=self.path("trusting"), model=model, trusted_keys=key)
            if code == 0:
                np.testing.assert_array_equal(load()(x), 2 * x)
            else:
                self.assertRaisesRegex(gart.GartError, says, load)
        model = gart.load(store=self.path("trusting"), model="unsigned", trusted_keys=keys[0], signature=self.read("double.gart.sig"))
        np.testing.assert_array_equal(model(x), 2 * x)

    def test_a_signature_that_is_not_kept_is_told(self):
        self.accepted("sign", "square.gart", "--key", self.make_key("ours"))
        for more, says in (((), "remark: the store does not keep square.gart.sig; --signature keeps it\n"), (("--signature", "square.gart.sig"), "")):
            done = self.tool("store", "add", "--store", "telling", "square.gart", "--model", "m", *more)
            self.assertEqual((done.returncode, done.stderr), (0, says))
        os.remove(self.path("square.gart.sig"))

    def test_replacing_and_removing(self):
        add = ("store", "add", "--store", "models", "double.gart", "--model")
        self.accepted(*add, "gone@5")
        self.refused(*add, "gone@5", says="--replace replaces it")
        self.refused(*add, "gone", "--replace", says="--replace needs the version")
        self.accepted("store", "add", "--store", "models", "square.gart", "--model", "gone@5", "--replace")
        self.assertEqual(self.read(self.shown("gone@5")["path"]), self.read("square.gart"))
        self.assertEqual(self.accepted(*add, "gone"), "gone@6\n")
        self.assertEqual(self.accepted("store", "remove", "--store", "models", "--model", "gone"), "removed 2 versions\n")
        self.refused("store", "remove", "--store", "models", "--model", "gone", says="has no model 'gone'")
        self.assertEqual(self.accepted(*add, "gone"), "gone@7\n")
        self.accepted("store", "remove", "--store", "models", "--model", "gone@7")

    def test_what_is_changed_behind_the_store(self):
        self.accepted("store", "add", "--store", "other", "--model", "m", "double.gart")
        path = json.loads(self.accepted("store", "show", "--store", "other", "--model", "m", "--json"))["path"]
        os.remove(self.path(path))
        self.write(path, self.read("square.gart"))  # a valid artifact, but another one
        self.refused("run", "--store", "other", "--model", "m", "--random", "1", says="was changed")
        done = self.tool("store", "verify", "--store", "other")
        self.assertEqual((done.returncode, len(done.stderr.splitlines())), (1, 1), done.stderr)
        self.write("other/objects/" + "0" * 32, b"left by a process that died")
        self.assertIn("--clean removes it", self.tool("store", "verify", "--store", "other").stderr)
        self.tool("store", "verify", "--store", "other", "--clean")
        self.assertEqual(len(os.listdir(self.path("other/objects"))), 1)

    def test_groups_and_devices(self):
        self.save("two.onnx", HEADER + """two (float[batch, 4] x) => (float[batch, 4] y) {
  a = Mul(x, x)
  y = Exp(a)
}""")
        self.write("fleet.json", json.dumps(FLEET).encode())
        self.accepted("compile", "two.onnx", "-o", "two.gart", "--fleet", "fleet.json", "--label", "Exp=tail")
        self.accepted("store", "add", "--store", "models", "--model", "two", "two.gart")
        groups = self.shown("two")["groups"]
        self.assertGreaterEqual(len(groups), 2)
        self.assertIn({"left"}, [set(g["support"]) for g in groups])
        self.assertLessEqual({g["device"] for g in groups}, {"left", "right"})
        self.accepted("run", "--store", "models", "--model", "two", "--fetch", "y", "--random", "1")

    def test_rows_join_only_where_they_can(self):
        add = ("store", "add", "--store", "models", "--model", "rows", "--join-rows", "8")
        self.accepted(*add, "double.gart")
        self.assertEqual(self.shown("rows")["join_rows"], 8)
        self.save("fixed.onnx", DOUBLE.replace("batch", "2"))
        self.accepted("compile", "fixed.onnx", "-o", "fixed.gart")
        self.refused(*add, "fixed.gart", says="rows cannot be joined")


if __name__ == "__main__":
    unittest.main()
