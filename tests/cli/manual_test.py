#!/usr/bin/env python3
"""Help, the manual, completion, suggestions for misspelt words, and doctor."""
import json
import re
import shutil
import subprocess
import unittest

from cli_case import CliCase


class Manual(CliCase):
    def commands(self):
        return re.findall(r"^  (\w+)\s{2,}\S", self.accepted("--help").split("Subcommands:")[1], re.M)

    def options(self, *command):
        return set(re.findall(r"^  (?:-\w,)?(--[\w-]+)", self.accepted(*command, "--help"), re.M))

    def test_every_command_has_an_example_of_its_own_options(self):
        self.assertGreaterEqual(len(self.commands()), 12)
        for command in self.commands():
            text = self.accepted(command, "--help")
            example = re.search(r"Example:\n  (.*)\nExit codes: 0", text)
            self.assertTrue(example, command)
            words = example.group(1).split("|")[0].split()
            self.assertEqual(words[:2], ["gcc-graph", command])
            inner = set(re.findall(r"^  (\w+)\s{2,}\S", text.partition("Subcommands:")[2], re.M))
            given = self.options(*words[1:3]) if inner.intersection(words[2:3]) else self.options(command)
            self.assertLessEqual({w for w in words if w.startswith("--")}, given, command)

    def test_the_manual_has_every_option(self):
        manual = self.accepted("manual", "man").replace("\\-", "-")
        for command in self.commands():
            section = manual.split(f"\n.SH {command}\n")[1].split("\n.SH ")[0]
            for option in self.options(command):
                self.assertIn(option, section, command)
        if shutil.which("man"):
            done = subprocess.run(["man", "--warnings", "-l", "-"], input=self.accepted("manual", "man"), capture_output=True, text=True,
                                  env={"MANWIDTH": "100", "PATH": "/usr/bin:/bin"})
            self.assertEqual((done.returncode, done.stderr), (0, ""))

    def complete(self, *words):
        script = self.accepted("manual", "bash")
        self.write("completion", script.encode())
        line = " ".join(f"'{w}'" for w in words)
        done = subprocess.run(["bash", "-c", f"source completion; COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _gcc_graph; "
                               "printf '%s\\n' \"${COMPREPLY[@]}\""], cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(done.stderr, "")
        return set(done.stdout.split())

    def test_completion(self):
        self.assertEqual(self.complete("gcc-graph", "com"), {"compile", "compare"})
        self.assertEqual(self.complete("gcc-graph", "bench", "--pro"), {"--profile"})
        self.assertEqual(self.complete("gcc-graph", "run", "model.g"), {"model.gart"})
        self.assertEqual(self.complete("gcc-graph", "compile", "--"), self.options("compile"))

    def test_misspelt_words(self):
        self.refused("complie", says="'compile'")
        self.refused("inspect", "model.gart", "--kernel", says="the nearest: '--kernels'")

    def test_doctor(self):
        found = json.loads(self.accepted("doctor", "--json"))["findings"]
        self.assertIn("ok", {f["state"] for f in found if "x86-64-v3" in f["what"] and "right results" in f["what"]})
        self.assertNotIn("broken", {f["state"] for f in found})
        lines = self.accepted("doctor").splitlines()
        self.assertEqual(len([line for line in lines if not line.startswith(" ")]), len(found))


if __name__ == "__main__":
    unittest.main()
