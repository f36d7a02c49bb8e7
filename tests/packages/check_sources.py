#!/usr/bin/env python3
"""check_sources.py BUILD: source distributions have the same bytes from two folders, and hold what their wheel needs. The bill of
materials names each library that the products need, in valid SPDX 2.3 (pyspdxtools checks it too, where it is installed)."""
import glob
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = sys.argv.pop(1)
SCRIPTS = os.path.join("tools", "package")
TIME = "1700000000"


def written(script, *arguments, time=TIME):
    done = subprocess.run([sys.executable, script, *arguments], capture_output=True, text=True, env={**os.environ, "SOURCE_DATE_EPOCH": time})
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


class Sources(unittest.TestCase):
    def test_the_bytes_depend_on_the_tree_alone(self):
        with tempfile.TemporaryDirectory() as folder:
            first = written(os.path.join(TREE, SCRIPTS, "sdist.py"), os.path.join(folder, "first"))
            for path in first:
                with tarfile.open(path) as archive:
                    names = archive.getnames()
                    self.assertEqual({m.mtime for m in archive.getmembers()}, {int(TIME)})
                    archive.extractall(os.path.join(folder, "unpacked"))
                root = os.path.commonpath(names)
                self.assertEqual(os.path.basename(path), root + ".tar.gz")
                for needed in ("pyproject.toml", "PKG-INFO", "CMakeLists.txt", "LICENSE", "tools/python/gart/__init__.py", "runtime/api/load.cpp"):
                    self.assertIn(f"{root}/{needed}", names)
                self.assertFalse([n for n in names if n.startswith((f"{root}/build", f"{root}/tests"))])
            # An unpacked distribution is a tree that writes the same distributions, without git.
            again = written(os.path.join(folder, "unpacked", root, SCRIPTS, "sdist.py"), os.path.join(folder, "again"))
            self.assertEqual([self.digest(path) for path in first], [self.digest(path) for path in again])

    def test_paths_of_the_project_exist(self):
        with tempfile.TemporaryDirectory() as folder:
            for path in written(os.path.join(TREE, SCRIPTS, "sdist.py"), folder):
                with tarfile.open(path) as archive:
                    names = archive.getnames()
                    root = names[0].split("/")[0]
                    project = archive.extractfile(f"{root}/pyproject.toml").read().decode()
                package, = re.search(r'wheel.packages = \["(.*)"\]', project).groups()
                self.assertIn(f"{root}/{package}/__init__.py", names)
                self.assertNotIn("../", re.sub("#.*", "", project))

    @staticmethod
    def digest(path):
        with open(path, "rb") as file:
            return hashlib.sha256(file.read()).hexdigest()


@unittest.skipUnless(shutil.which("dpkg") and os.path.exists(os.path.join(BUILD, ".ninja_deps")), "needs dpkg and a build by Ninja")
class Bill(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path, = written(os.path.join(TREE, SCRIPTS, "sbom.py"), BUILD, os.path.join(self.folder.name, "s.spdx.json"))
        with open(self.path) as file:
            self.bill = json.load(file)
        self.packages = {p["name"]: p for p in self.bill["packages"]}

    def linked(self, product, kind):
        of = {p["SPDXID"]: name for name, p in self.packages.items()}
        return {of[r["relatedSpdxElement"]] for r in self.bill["relationships"]
                if r["spdxElementId"] == self.packages[product]["SPDXID"] and r["relationshipType"] == kind}

    def test_it_is_valid(self):
        self.assertEqual((self.bill["spdxVersion"], self.bill["dataLicense"], self.bill["SPDXID"]), ("SPDX-2.3", "CC0-1.0", "SPDXRef-DOCUMENT"))
        self.assertEqual(self.bill["creationInfo"]["created"], "2023-11-14T22:13:20Z")
        known = {"SPDXRef-DOCUMENT"} | {p["SPDXID"] for p in self.bill["packages"]}
        self.assertEqual(len(known), len(self.bill["packages"]) + 1, "identifiers are unique")
        for relation in self.bill["relationships"]:
            self.assertLessEqual({relation["spdxElementId"], relation["relatedSpdxElement"]}, known)
        for package in self.bill["packages"]:
            self.assertRegex(package["SPDXID"], r"^SPDXRef-[A-Za-z0-9.-]+$")
            self.assertTrue(package["versionInfo"] and package["licenseDeclared"] not in ("", "NOASSERTION"), package)
        checker = shutil.which("pyspdxtools")
        if checker:
            done = subprocess.run([checker, "-i", self.path], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_it_names_each_installed_file(self):
        """The oracle is an installation: its programs and libraries, by their first bytes."""
        prefix = os.path.join(self.folder.name, "installed")
        done = subprocess.run(["cmake", "--install", BUILD, "--prefix", prefix], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        installed = set()
        for folder, _, names in os.walk(prefix):
            for path in (os.path.join(folder, n) for n in names):
                if not os.path.islink(path):
                    with open(path, "rb") as file:
                        content = file.read()
                    if content.startswith((b"\x7fELF", b"!<arch>")):
                        installed.add(os.path.basename(path))
                        self.assertNotIn(TREE.encode() + b"/", content, f"{path} has the folder of the build")
        self.assertEqual(installed, {os.path.basename(name) for name, p in self.packages.items() if "packageFileName" in p})
        self.assertLessEqual({"libgart.so.0", "libgart_store.so.0" if "gcc-graph" in installed else "libgart.a"}, installed)

    def test_it_names_what_is_linked(self):
        if "bin/gcc-graph" not in self.packages:
            self.skipTest("the compiler is not built")
        self.assertLessEqual({"protobuf", "openssl", "hwloc", "sqlite3", "glibc"}, self.linked("bin/gcc-graph", "DYNAMIC_LINK"))
        held = {re.sub(r"-?[\d.]+$", "", name) for name in self.linked("bin/gcc-graph", "STATIC_LINK")}
        self.assertLessEqual({"llvm-toolchain", "nlohmann-json", "cli", "flatbuffers", "xxhash"}, held)
        self.assertEqual({re.sub(r"-?[\d.]+$", "", name) for name in self.linked("lib/libgart.so.0", "DYNAMIC_LINK")}, {"gcc", "glibc"})

    def test_the_files_are_those_of_the_build(self):
        for name, package in self.packages.items():
            for checksum in package.get("checksums", []):
                with open(os.path.join(BUILD, name), "rb") as file:
                    self.assertEqual(hashlib.sha256(file.read()).hexdigest(), checksum["checksumValue"])
        self.assertTrue(glob.glob(os.path.join(BUILD, "lib", "libgart.so.0")))

    def test_a_second_run_writes_the_same(self):
        other, = written(os.path.join(TREE, SCRIPTS, "sbom.py"), BUILD, os.path.join(self.folder.name, "other.json"))
        with open(self.path, "rb") as a, open(other, "rb") as b:
            self.assertEqual(a.read(), b.read())


if __name__ == "__main__":
    unittest.main()
