#!/usr/bin/env python3
"""sign --bundle and verify --bundle: bundles of OpenSSF Model Signing. The PyPI package model-signing verifies ours; we verify its, of which
model_signing/ keeps three. Hostile bundles are made here with OpenSSL's program, and refused in words."""
import base64
import copy
import hashlib
import json
import os
import shutil
import subprocess
import sys
import unittest

from cli_case import CliCase

KEPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "model_signing")
CURVES = {"p256": ("P-256", "sha256"), "p384": ("P-384", "sha384"), "p521": ("P-521", "sha512")}
# The files that the kept bundles cover.
FILES = {"a": "one\n", "a.b": "x", "a.d/c": "y", "empty": "", "sub/b": "two\n", ".github/x": "not covered"}
MEDIA = "application/vnd.dev.sigstore.bundle.v0.3+json"
PREDICATE = "https://model_signing/signature/v1.0"


def model_signing():
    """The program of the PyPI package; None without it."""
    beside = os.path.join(os.path.dirname(sys.executable), "model_signing")
    return beside if os.access(beside, os.X_OK) else shutil.which("model_signing")


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()


class Bundle(CliCase):
    def setUp(self):
        for name in CURVES:
            shutil.copy(os.path.join(KEPT, f"{name}.pub"), self.path(f"kept_{name}.pub"))
            if not os.path.exists(self.path(f"{name}.pem")):
                self.openssl("genpkey", "-algorithm", "EC", "-pkeyopt", f"ec_paramgen_curve:{CURVES[name][0]}", "-out", f"{name}.pem")
                self.openssl("pkey", "-in", f"{name}.pem", "-pubout", "-out", f"{name}.pub")
        shutil.rmtree(self.path("models"), ignore_errors=True)
        for name, text in FILES.items():
            self.put(name, text)

    def put(self, name, text):
        path = self.path(os.path.join("models", name))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def openssl(self, *arguments):
        return subprocess.run(["openssl", *arguments], cwd=self.folder, check=True, capture_output=True).stdout

    def unsigned(self, says, *arguments):
        done = self.tool("verify", *arguments)
        self.assertEqual((done.returncode, done.stderr), (3, ""), done.stdout)
        self.assertIn(says, done.stdout)

    def statement(self, **files):
        """The statement about files, with their texts. Without any: of the folder of this test."""
        texts = files or {name: text for name, text in FILES.items() if name[0] != "."}
        names = sorted(texts, key=lambda name: name.split("/"))
        every = hashlib.sha256(b"".join(hashlib.sha256(texts[n].encode()).digest() for n in names)).hexdigest()
        return {"_type": "https://in-toto.io/Statement/v1", "subject": [{"name": "models", "digest": {"sha256": every}}], "predicateType": PREDICATE,
                "predicate": {"serialization": {"method": "files", "hash_type": "sha256", "allow_symlinks": False, "ignore_paths": [".github"]},
                              "resources": [{"name": n, "algorithm": "sha256", "digest": digest(texts[n])} for n in names]}}

    def bundle(self, statement, key="p256", payload_type="application/vnd.in-toto+json"):
        """A bundle that OpenSSL's program signs. `statement`: an object, or text."""
        text = (statement if isinstance(statement, str) else json.dumps(statement)).encode()
        self.write("signed", b"DSSEv1 %d %s %d %s" % (len(payload_type), payload_type.encode(), len(text), text))
        signature = self.openssl("dgst", f"-{CURVES[key][1]}", "-sign", f"{key}.pem", "signed")
        os.remove(self.path("signed"))
        return {"mediaType": MEDIA, "verificationMaterial": {"publicKey": {"hint": hashlib.sha256(self.read(f"{key}.pub")).hexdigest()}, "tlogEntries": []},
                "dsseEnvelope": {"payload": base64.b64encode(text).decode(), "payloadType": payload_type,
                                 "signatures": [{"sig": base64.b64encode(signature).decode(), "keyid": ""}]}}

    def save_bundle(self, bundle, name="m.sig"):
        self.write(name, (bundle if isinstance(bundle, str) else json.dumps(bundle)).encode())

    def refuses_bundle(self, bundle, says):
        self.save_bundle(bundle)
        self.refused("verify", "models", "--key", "p256.pub", "--bundle", "m.sig", says=says)

    def refuses_statement(self, says, change):
        statement = self.statement()
        change(statement)
        self.refuses_bundle(self.bundle(statement), says)

    def test_kept_bundles_of_model_signing(self):
        kept = lambda name: os.path.join(KEPT, name)
        self.assertEqual(self.accepted("verify", "models", "--key", "kept_p256.pub", "--bundle", kept("folder.sig")), "models: 5 files signed by kept_p256.pub\n")
        self.assertEqual(self.accepted("verify", "models/a", "--key", "kept_p384.pub", "--bundle", kept("file.sig")), "models/a: signed by kept_p384.pub\n")
        self.accepted("verify", "models", "--key", "kept_p521.pub", "--bundle", kept("ignoring.sig"))
        self.unsigned("models: not signed by p256.pub", "models", "--key", "p256.pub", "--bundle", kept("folder.sig"))
        self.put("sub/b", "changed")
        self.put("empty", "changed")
        self.accepted("verify", "models", "--key", "kept_p521.pub", "--bundle", kept("ignoring.sig"))
        self.put("new", "")
        os.remove(self.path("models/a"))
        self.unsigned("models: not as kept_p256.pub signed it: changed: 'empty', 'sub/b'; missing: 'a'; added: 'new'", "models", "--key", "kept_p256.pub", "--bundle", kept("folder.sig"))
        self.unsigned("changed: '.'", "models/sub/b", "--key", "kept_p384.pub", "--bundle", kept("file.sig"))
        self.unsigned("missing: '.'; added: 'a.b'", "models", "--key", "kept_p384.pub", "--bundle", kept("file.sig"))

    def test_fields_are_those_of_model_signing(self):
        """Ours differs from the kept bundle only in the key, the signature, and the names that are ignored."""
        self.accepted("sign", "models", "--key", "p256.pem", "--bundle", "m.sig")
        with open(os.path.join(KEPT, "folder.sig"), encoding="utf-8") as file:
            both = [json.loads(self.read("m.sig")), json.load(file)]
        statements = [json.loads(base64.b64decode(b["dsseEnvelope"].pop("payload"))) for b in both]
        for bundle, statement in zip(both, statements):
            bundle["verificationMaterial"]["publicKey"]["hint"] = len(bundle["verificationMaterial"]["publicKey"]["hint"])
            del bundle["dsseEnvelope"]["signatures"][0]["sig"]
            ignored = statement["predicate"]["serialization"]["ignore_paths"]
            statement["predicate"]["serialization"]["ignore_paths"] = sorted(set(ignored) - {"model.sig"})
        self.assertEqual(*both)
        self.assertEqual(*statements)

    def test_openssl_agrees(self):
        for key, (_, hash_name) in CURVES.items():
            self.accepted("sign", "models", "--key", f"{key}.pem", "--bundle", "m.sig")
            envelope = json.loads(self.read("m.sig"))["dsseEnvelope"]
            payload = base64.b64decode(envelope["payload"])
            self.write("sig", base64.b64decode(envelope["signatures"][0]["sig"]))
            self.write("signed", b"DSSEv1 28 application/vnd.in-toto+json %d " % len(payload) + payload)
            self.assertIn(b"Verified OK", self.openssl("dgst", f"-{hash_name}", "-verify", f"{key}.pub", "-signature", "sig", "signed"))
            self.save_bundle(self.bundle(self.statement(), key))
            self.accepted("verify", "models", "--key", f"{key}.pub", "--bundle", "m.sig")

    def test_the_package_verifies_ours_and_signs_for_us(self):
        program = model_signing()
        if program is None:
            self.skipTest("the PyPI package model-signing is not installed (tools/test.sh installs it)")

        def package(*arguments):
            done = subprocess.run([program, *arguments], cwd=self.folder, capture_output=True, text=True)
            return done.returncode == 0, done.stdout + done.stderr

        for key in CURVES:
            for model in ("model.gart", "models"):
                for bundle in ("m.sig", "models/m.sig") if key == "p256" else ("m.sig",):
                    with self.subTest(key=key, model=model, bundle=bundle):
                        self.accepted("sign", model, "--key", f"{key}.pem", "--bundle", bundle)
                        done, text = package("verify", "key", model, "--signature", bundle, "--public_key", f"{key}.pub")
                        self.assertTrue(done, text)
                        self.accepted("verify", model, "--key", f"{key}.pub", "--bundle", bundle)
                        os.remove(self.path(bundle))
                        done, text = package("sign", "key", model, "--signature", bundle, "--private_key", f"{key}.pem")
                        self.assertTrue(done, text)
                        self.accepted("verify", model, "--key", f"{key}.pub", "--bundle", bundle)
                        os.remove(self.path(bundle))
        self.accepted("sign", "models", "--key", "p256.pem", "--bundle", "m.sig")
        for name, text in (("new", ""), ("a", "changed")):
            self.put(name, text)
            self.assertFalse(package("verify", "key", "models", "--signature", "m.sig", "--public_key", "p256.pub")[0])
            self.unsigned("models: not as p256.pub", "models", "--key", "p256.pub", "--bundle", "m.sig")

    def test_a_store_is_signed_as_it_is(self):
        shutil.rmtree(self.path("store"), ignore_errors=True)
        self.accepted("store", "add", "--store", "store", "--model", "m", "model.gart")
        self.accepted("sign", "store", "--key", "p256.pem", "--bundle", "store.sig")
        verify = ("store", "--key", "p256.pub", "--bundle", "store.sig")
        self.accepted("store", "verify", "--store", "store")
        self.accepted("run", "--store", "store", "--model", "m", "--random", "1")
        self.accepted("verify", *verify)
        self.accepted("store", "add", "--store", "store", "--model", "m", "model.gart")
        self.unsigned("changed: 'store.sqlite'", *verify)

    def test_artifacts_must_be_whole(self):
        whole = self.read("model.gart")
        self.write("damaged.gart", whole[:-1])
        self.write("models/damaged", whole[:-1])
        for model in ("damaged.gart", "models"):
            self.refused("sign", model, "--key", "p256.pem", "--bundle", "m.sig", says="damaged")
        os.remove(self.path("damaged.gart"))

    def test_links_and_devices_are_refused(self):
        os.symlink("/etc/passwd", self.path("models/link"))
        self.refused("sign", "models", "--key", "p256.pem", "--bundle", "m.sig", says="models/link is a symbolic link")
        self.save_bundle(self.bundle(self.statement()))
        self.refused("verify", "models", "--key", "p256.pub", "--bundle", "m.sig", says="models/link is a symbolic link")
        os.remove(self.path("models/link"))
        os.symlink("a", self.path("models/link"))
        statement = self.statement(**{**{n: t for n, t in FILES.items() if n[0] != "."}, "link": FILES["a"]})
        statement["predicate"]["serialization"]["allow_symlinks"] = True
        self.save_bundle(self.bundle(statement))
        self.accepted("verify", "models", "--key", "p256.pub", "--bundle", "m.sig")
        os.remove(self.path("models/link"))
        os.mkfifo(self.path("models/pipe"))
        self.refused("sign", "models", "--key", "p256.pem", "--bundle", "m.sig", says="models/pipe is not a file or a folder")

    def test_every_change_is_found(self):
        """Each changed byte of the statement and of the signature; torn bundles."""
        self.accepted("sign", "models", "--key", "p256.pem", "--bundle", "m.sig")
        whole = json.loads(self.read("m.sig"))
        envelope = whole["dsseEnvelope"]
        payload, signature = (base64.b64decode(t) for t in (envelope["payload"], envelope["signatures"][0]["sig"]))
        for at in range(0, len(payload), 97):
            changed = copy.deepcopy(whole)
            changed["dsseEnvelope"]["payload"] = base64.b64encode(payload[:at] + bytes([payload[at] ^ 1]) + payload[at + 1:]).decode()
            self.save_bundle(changed)
            self.unsigned("models: not signed by p256.pub", "models", "--key", "p256.pub", "--bundle", "m.sig")
        for at in range(len(signature)):
            changed = copy.deepcopy(whole)
            changed["dsseEnvelope"]["signatures"][0]["sig"] = base64.b64encode(signature[:at] + bytes([signature[at] ^ 1]) + signature[at + 1:]).decode()
            self.save_bundle(changed)
            self.unsigned("models: not signed by p256.pub", "models", "--key", "p256.pub", "--bundle", "m.sig")
        text = json.dumps(whole)
        for size in (0, 1, len(text) // 2, len(text) - 1):
            self.refuses_bundle(text[:size], "this is not JSON")

    def test_foreign_bundles(self):
        whole = self.bundle(self.statement())
        self.save_bundle(whole)
        self.accepted("verify", "models", "--key", "p256.pub", "--bundle", "m.sig")
        old = copy.deepcopy(whole)
        old["verificationMaterial"] = {"publicKey": {"rawBytes": "AA==", "keyDetails": "PKIX_ECDSA_P256_SHA_256"}}
        self.save_bundle(old)
        self.accepted("verify", "models", "--key", "p256.pub", "--bundle", "m.sig")
        other = copy.deepcopy(whole)
        other["verificationMaterial"]["publicKey"]["hint"] = "00" * 32
        self.save_bundle(other)
        self.unsigned("not signed by p256.pub", "models", "--key", "p256.pub", "--bundle", "m.sig")

        def refuses(says, change):
            changed = copy.deepcopy(whole)
            change(changed)
            self.refuses_bundle(changed, says)

        refuses("mediaType is 'application/vnd.dev.sigstore.bundle+json;version=0.2', expected", lambda b: b.update(mediaType="application/vnd.dev.sigstore.bundle+json;version=0.2"))
        refuses("the field 'mediaType' is missing", lambda b: b.pop("mediaType"))
        refuses("messageSignature", lambda b: b.update(messageSignature={}))
        refuses("the field 'more' is not known", lambda b: b.update(more=1))
        refuses("the field 'certificate'", lambda b: b["verificationMaterial"].update(certificate={"rawBytes": "AA=="}))
        refuses("the field 'publicKey' is missing", lambda b: b["verificationMaterial"].pop("publicKey"))
        refuses("signatures has 0 elements, expected 1", lambda b: b["dsseEnvelope"].update(signatures=[]))
        refuses("signatures has 2 elements, expected 1", lambda b: b["dsseEnvelope"]["signatures"].append(b["dsseEnvelope"]["signatures"][0]))
        refuses("signatures[0] is not an object", lambda b: b["dsseEnvelope"].update(signatures=[7]))
        refuses("the field 'sig' is not a text", lambda b: b["dsseEnvelope"]["signatures"][0].update(sig=7))
        refuses("payloadType is 'text/plain'", lambda b: b["dsseEnvelope"].update(payloadType="text/plain"))
        refuses("payload is not Base64", lambda b: b["dsseEnvelope"].update(payload=b["dsseEnvelope"]["payload"][:-1]))
        refuses("payload is not Base64", lambda b: b["dsseEnvelope"].update(payload=" " + b["dsseEnvelope"]["payload"]))
        refuses("sig is not Base64", lambda b: b["dsseEnvelope"]["signatures"][0].update(sig="===="))
        self.refuses_bundle(json.dumps(whole).replace('"payload":', '"payload": "AA==", "payload":'), "the field 'payload' twice")
        self.refuses_bundle("[]", "is not a JSON object")
        self.refuses_bundle("[" * 100_000, "nested more than 64 deep")
        with open(self.path("m.sig"), "wb") as huge:
            huge.truncate(1 << 40)
        self.refused("verify", "models", "--key", "p256.pub", "--bundle", "m.sig", says="the limit is 67108864")

    def test_foreign_statements(self):
        """Statements that the key's owner has signed, but that ask for something else."""
        files = lambda s: s["predicate"]["resources"]
        rules = lambda s: s["predicate"]["serialization"]
        refuses = self.refuses_statement
        refuses("_type is 'x', expected", lambda s: s.update(_type="x"))
        refuses("predicateType is 'https://model_signing/Digests/v0.1', expected", lambda s: s.update(predicateType="https://model_signing/Digests/v0.1"))
        refuses("subject has 2 elements", lambda s: s["subject"].append(s["subject"][0]))
        refuses("the digest of the subject", lambda s: s["subject"][0]["digest"].update(sha256="00" * 32))
        refuses("method is 'shards', expected 'files'", lambda s: rules(s).update(method="shards"))
        refuses("hash_type is 'blake3', expected 'sha256'", lambda s: rules(s).update(hash_type="blake3"))
        refuses("the field 'allow_symlinks' is not true or false", lambda s: rules(s).update(allow_symlinks="no"))
        refuses("resources[1]: algorithm is 'md5', expected 'sha256'", lambda s: files(s)[1].update(algorithm="md5"))
        refuses("digest is not 64 hexadecimal digits", lambda s: files(s)[0].update(digest="zz" * 32))
        refuses("digest is not 64 hexadecimal digits", lambda s: files(s)[0].update(digest="00"))
        refuses("resources[1]: the name occurs twice", lambda s: files(s)[1].update(name="a"))
        refuses("resources is empty", lambda s: files(s).clear())
        refuses("the field 'resources' is not a list", lambda s: s["predicate"].update(resources=3))
        for name in ("../a", "sub/../a", "/etc/passwd", "", ".", "./a", "sub//b", "sub/"):
            refuses("the name is not the path of a file", lambda s: files(s)[0].update(name=name))
        for path in (".", "..", "../models", "/", ""):
            refuses("ignore_paths is not the path of a file", lambda s: rules(s)["ignore_paths"].append(path))
        text = json.dumps(self.statement()).replace('"name": "a"', '"name": "a.b", "name": "a"')
        self.refuses_bundle(self.bundle(text), "the field 'name' twice")
        self.refuses_bundle(self.bundle("{"), "the statement: line 1")

    def test_faults_are_sentences(self):
        bundle = ("--bundle", "m.sig")
        self.save_bundle(self.bundle(self.statement()))
        self.openssl("genpkey", "-algorithm", "ed25519", "-out", "ed.pem")
        self.openssl("ecparam", "-name", "secp256k1", "-genkey", "-noout", "-out", "bitcoin.pem")
        for key in ("ed.pem", "bitcoin.pem", "p256.pub", "model.onnx"):
            self.refused("sign", "models", "--key", key, *bundle, says=f"{key} is not a PEM file with a private key of P-256, P-384 or P-521")
        self.refused("verify", "models", "--key", "p256.pem", *bundle, says="p256.pem is not a PEM file with a public key of P-256")
        self.refused("verify", "models", "--key", "none.pub", *bundle, says="none.pub")
        self.refused("verify", "models", "--key", "p256.pub", "--bundle", "none.sig", says="none.sig")
        self.refused("verify", "none", "--key", "p256.pub", *bundle, says="none")
        self.refused("sign", "none", "--key", "p256.pem", *bundle, says="none")
        self.refused("sign", "model.gart", "--key", "p256.pem", "--bundle", "model.gart", says="it is the file to sign")
        self.refused("sign", "model.gart", "--key", "p256.pem", "--bundle", "no/m.sig", says="no/m.sig")
        self.refused("sign", "model.gart", "--key", "p256.pem", *bundle, "--signature", "m.sig", says="--bundle")
        os.makedirs(self.path("hollow"), exist_ok=True)
        self.refused("sign", "hollow", "--key", "p256.pem", *bundle, says="there is no file in hollow")
        with open(os.path.join(self.folder.encode(), b"models", b"\xff"), "wb"):
            pass
        self.refused("sign", "models", "--key", "p256.pem", *bundle, says="is not UTF-8")


if __name__ == "__main__":
    unittest.main()
